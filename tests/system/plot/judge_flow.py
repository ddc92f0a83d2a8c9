# SPDX-License-Identifier: BSD-2-Clause
"""Compares a picture of bench/plot_flow.py with the report that it shows.

    judge_flow.py PICTURE REPORT

Each median of the report must have a point, and the heights of the points must be those of one scale for the whole picture: in a panel,
the height above the axis is proportional to the value.
"""
import json
import re
import sys
import xml.etree.ElementTree as ET

picture, report = sys.argv[1:]
want = {}
for row in json.load(open(report))["rows"]:
    what, number = re.fullmatch("([a-z]+)([0-9]+)", row["row"]).groups()
    for kind in "datagram", "super_frame":
        if kind in row["figures"]:
            want[what, int(number), kind] = row["figures"][kind]["median"]
parts = list(ET.parse(picture).getroot())
points = [e for e in parts if "point" in e.get("class", "").split()]
seen = {(e.get("data-what"), int(e.get("data-number")), e.get("data-kind")): e for e in points}
assert len(seen) == len(points) and seen.keys() == want.keys(), seen.keys() ^ want.keys()

# The thick axis of a panel is at 0. It is the nearest one below a point.
axes = sorted(float(e.get("y1")) for e in parts if e.get("class") == "axis" and e.get("stroke-width") == "1")
scales = []
for key, ns in want.items():
    y = float(seen[key].get("cy"))
    scales.append((min(a for a in axes if a >= y) - y) / ns)
assert max(scales) - min(scales) < 1e-3 * max(scales), scales

# To the right, the numbers of a panel become larger.
for what in {w for w, _, _ in want}:
    for kind in "datagram", "super_frame":
        of = sorted((number, float(e.get("cx"))) for (w, number, k), e in seen.items() if (w, k) == (what, kind))
        assert of == sorted(of, key=lambda n: n[1]), of
print(f"{len(want)} points")
