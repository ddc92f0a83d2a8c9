# SPDX-License-Identifier: BSD-2-Clause
"""Compares regions of the page of `uipoib web` with the pictures in tests/system/page, in a headless Chromium.

    web_golden.py URL		GOLDEN=make in the environment makes the pictures again

Pictures of most regions have half the size of the region. Pictures are compared in blocks of 8 x 8 pixels: a block differs if the mean of
a colour differs by more than NEAR. So it makes no difference if another version of the browser draws the edges of letters in another way.
In a region, at most the share MAY_DIFFER of the blocks may differ. A change of the page that a reader would notice must exceed this share;
the test makes some such changes.
"""
import os
import sys

from browser import Browser, check, decode_png, eventually, status

FOLDER = "tests/system/page"
BLOCK, NEAR, MAY_DIFFER = 8, 14, 0.02
# The regions of a wide and of a narrow window: each name with the selector of its element
WIDE = {"header": "header", "zoom": "#zoom", "map": "#map", "legend": "#legend", "panel": "aside"}
SCALE = {"zoom": 1}  # scale of the picture in place of one half, which would give too few blocks
NARROW = {"header": "header", "map": "#map", "panel": "aside"}
# Replaces or stops everything that differs from run to run, so that the map is at rest.
REST = """
const m = uipoib.model;
m.update = () => {};
window.fetch = () => new Promise(() => {});
for (const l of m.links) {
	l.rate = [0, 0];
	l.errors = l.B && l.A.name === "Switch1" && l.B.name === "Switch2" ? [3, 0] : [0, 0];
}
"""
# Replaces texts. An answer of the server that was under way can change the texts again, so this script runs before each picture.
TEXTS = """
document.querySelectorAll("#sms small").forEach((e) => { e.textContent = e.textContent.replace(/\\d+ sweeps/, "2 sweeps"); });
document.getElementById("log").replaceChildren();
"""
RECT = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.left, r.top, r.right, Math.min(r.bottom, innerHeight)];"


def region(b, name, selector):
    b.js(TEXTS)
    b.settle()
    left, top, right, bottom = b.js(RECT, selector)
    return b.png(left, top, right - left, bottom - top, SCALE.get(name, 0.5))


def blocks(png):
    rows = decode_png(png)
    for y in range(0, len(rows), BLOCK):
        for x in range(0, len(rows[0]), BLOCK):
            some = [c for row in rows[y:y + BLOCK] for c in row[x:x + BLOCK]]
            yield [sum(c[k] for c in some) / len(some) for k in range(3)]


def share(png, golden):
    """The share of blocks that differ; 1 if the sizes differ"""
    a, b = list(blocks(png)), list(blocks(golden))
    if len(a) != len(b):
        return 1
    return sum(max(abs(p - q) for p, q in zip(c, d)) > NEAR for c, d in zip(a, b)) / len(a)


def judge(b, prefix, regions):
    for name, selector in regions.items():
        path, png = f"{FOLDER}/{prefix}-{name}.png", region(b, name, selector)
        if os.environ.get("GOLDEN") == "make":
            with open(path, "wb") as f:
                f.write(png)
        with open(path, "rb") as f:
            differ = share(png, f.read())
        if differ > MAY_DIFFER and (folder := os.environ.get("PICTURES")):
            with open(f"{folder}/{prefix}-{name}.png", "wb") as f:
                f.write(png)
        check(f"{prefix}: the region {name} looks as its picture", differ <= MAY_DIFFER, f"{differ:.1%} of the blocks differ")


def noticed(b, what, name, code, back):
    """Makes a change that a reader would notice, and checks that the comparison notices it, too."""
    golden = open(f"{FOLDER}/wide-light-{name}.png", "rb").read()
    b.js(code)
    b.settle()
    differ = share(region(b, name, WIDE[name]), golden)
    check(f"{what} is noticed", differ > MAY_DIFFER, f"{differ:.1%} of the blocks differ")
    b.js(back)
    b.settle()


def error_mark(b):
    """Checks that the mark of errors is in the middle of its link."""
    x, y, colour = b.js("""const v = uipoib.view, r = v.map.getBoundingClientRect(), [x, y] = v.bend(uipoib.model.links.find((l) => l.errors[0]));
        return [r.left + x, r.top + y, getComputedStyle(document.documentElement).getPropertyValue('--error').trim()];""")
    want = [int(colour[k:k + 2], 16) for k in (1, 3, 5)]
    seen = {c for row in decode_png(b.png(round(x) - 1, round(y) - 1, 3, 3)) for c in row}
    check("the mark of errors is on its link", all(abs(p - q) < 8 for c in seen for p, q in zip(c, want)), (seen, want))


def label_covers(b, scheme):
    """Checks that the label of the pulled cable is in the middle of the link, and hides the link: above its letters, the label has the colour of the map."""
    x, y, colour = b.js("""const v = uipoib.view, r = v.map.getBoundingClientRect(), [x, y] = v.bend(uipoib.model.links.find((l) => l.state !== "up"));
        return [r.left + x, r.top + Math.round(y - 9), getComputedStyle(document.documentElement).getPropertyValue('--surface').trim()];""")
    want = [int(colour[k:k + 2], 16) for k in (1, 3, 5)]
    seen = {c for row in decode_png(b.png(round(x) - 15, round(y) + 1, 30, 1)) for c in row}
    check(f"{scheme}: the link is not seen behind its label", all(abs(p - q) < 8 for c in seen for p, q in zip(c, want)), (seen, want))


# A scroll bar is shown for a moment only. Without --hide-scrollbars, some pictures would have a scroll bar.
b = Browser(sys.argv[1], "--hide-scrollbars", FONTCONFIG_FILE=os.path.abspath(f"{FOLDER}/fonts.conf"))
try:
    b.scheme("light")
    b.width(1200, 850)
    b.open()
    rest = eventually(lambda: b.js("""const m = uipoib.model; return document.getElementById('live').className === 'on' && m.sms.length === 1
        && m.links.filter((l) => l.state === 'up').length === m.links.length - 1 && m.partitions.length === 1
        && m.partitions[0].full_members.length === 7 && m.groups.length === 1 && m.nodes.some((n) => n.sm)"""))
    check("one cable is pulled, and all others are up", rest, b.js("return uipoib.model.links.map((l) => l.state)"))
    b.js(REST)
    b.js("uipoib.view.on.select(uipoib.model.nodes.find((n) => n.name === 'Switch2')); uipoib.view.fit();")
    for scheme in "light", "dark":
        b.scheme(scheme)
        for shape, regions, size in ("wide", WIDE, (1200, 850)), ("narrow", NARROW, (360, 1500)):
            b.width(*size)
            b.js("uipoib.view.fit()")
            b.settle()
            judge(b, f"{shape}-{scheme}", regions)
            if shape == "wide":
                label_covers(b, scheme)
    b.scheme("light")
    b.width(1200, 850)
    b.js("uipoib.view.fit()")
    b.settle()
    error_mark(b)
    noticed(b, "a missing button", "zoom", "document.getElementById('closer').style.visibility = 'hidden'", "document.getElementById('closer').style.visibility = ''")
    # A CSS rule also applies to elements that the page makes anew meanwhile.
    rule = "const s = new CSSStyleSheet(); s.replaceSync('%s { display: none }'); document.adoptedStyleSheets = [s]"
    noticed(b, "a missing summary", "header", rule % "#summary", "document.adoptedStyleSheets = []")
    noticed(b, "a panel without ports", "panel", rule % "#selected-body .chips", "document.adoptedStyleSheets = []")
    noticed(b, "a map that is not fitted", "map", "uipoib.view.zoom(0.8)", "uipoib.view.fit()")
    noticed(b, "a legend in another colour", "legend", "document.documentElement.style.setProperty('--muted', 'red')",
            "document.documentElement.style.removeProperty('--muted')")
finally:
    b.close()
sys.exit(status())
