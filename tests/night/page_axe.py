# SPDX-License-Identifier: BSD-2-Clause
"""Examines the page of `uipoib web` with axe-core, in a headless Chromium, in the states that its users see.

    page_axe.py URL AXE		AXE: the file axe.min.js
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../system"))
from browser import Browser, check, eventually, status  # noqa: E402

RUN = """const done = arguments[0];
axe.run(document, { resultTypes: ["violations"], rules: { "label-content-name-mismatch": { enabled: true } } })
	.then((r) => done({ passes: r.passes.length, violations: r.violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.target.join(" "))]) }));"""


def examine(b, what):
    found = b.call("POST", "/execute/async", {"script": RUN, "args": []})
    check(f"axe-core has no finding: {what}", found["passes"] > 15 and not found["violations"], json.dumps(found)[:3000])


def states(b):
    """Brings the page into its states, one after the other"""
    yield "as it is loaded"
    b.js("uipoib.view.on.select(uipoib.model.nodes.find((n) => n.name === 'Hca1'))")
    yield "a node"
    b.js("document.querySelector('#selected-body .chips button').click()")
    eventually(lambda: b.js("return document.getElementById('selected-body').textContent.includes('xmit data')"))
    yield "a port and its counters"
    b.js("document.getElementById('from').value = 'h1'; document.getElementById('to').value = 'h2'; document.querySelector('#path button').click()")
    eventually(lambda: b.js("return document.querySelectorAll('#hops li').length > 1"))
    yield "a path"
    b.js("document.querySelector('#partitions button').click(); document.getElementById('table-of-links').open = true")
    eventually(lambda: b.js("return document.querySelectorAll('#rows tr').length > 0"))
    yield "a partition and the table of links"


b = Browser(sys.argv[1])
try:
    b.scheme("light")
    b.open()
    eventually(lambda: b.js("return document.getElementById('live').className === 'on' && uipoib.model.links.some((l) => l.state !== 'up')"))
    with open(sys.argv[2]) as f:
        b.js(f.read())
    for state in states(b):
        for scheme in "light", "dark":
            b.scheme(scheme)
            for width in 1200, 360:
                b.width(width, 850)
                examine(b, f"{state}, {scheme}, {width} pixels")
    # Make two faults, and check that axe-core finds them.
    b.js("document.getElementById('fit').setAttribute('aria-label', 'Whole fabric'); document.getElementById('from').closest('label').replaceWith(document.getElementById('from'))")
    found = {v[0] for v in b.call("POST", "/execute/async", {"script": RUN, "args": []})["violations"]}
    check("a name that lacks the visible text and an input without a label are found", {"label-content-name-mismatch", "label"} <= found, found)
finally:
    b.close()
sys.exit(status())
