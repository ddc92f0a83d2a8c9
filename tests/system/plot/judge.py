# SPDX-License-Identifier: BSD-2-Clause
"""Compares a picture of bench/plot.py with the reports that it shows.

    judge.py PICTURE [--figure FIGURE] [--to ROW] REPORT...
"""
import argparse
import json
import os
import re
import xml.etree.ElementTree as ET

words = argparse.ArgumentParser()
words.add_argument("picture")
words.add_argument("--figure")
words.add_argument("--to")
words.add_argument("report", nargs="+")
o = words.parse_args()

want = {}
for path in o.report:
    for row in json.load(open(path))["rows"]:
        for figure, of in row["figures"].items():
            for other, ratio in of["ratio"].items():
                drawn = other == o.to if o.to else other != "veth" or len(of["ratio"]) == 1
                if drawn and o.figure in (None, figure):
                    name = os.path.basename(path).removesuffix(".json")
                    want[figure, f"{row['row']} / {other}, MTU {row['mtu']}", name] = ratio
assert want, "the reports have nothing to draw"

parts = list(ET.parse(o.picture).getroot())
kind = lambda e, name: name in e.get("class", "").split()
ones = {e.get("data-figure"): float(e.get("x1")) for e in parts if kind(e, "one")}
seen = {}
for k, e in enumerate(parts):
    if not kind(e, "bar"):
        continue
    key = tuple(e.get(f"data-{n}") for n in ("figure", "ratio", "report"))
    assert key not in seen, f"{key} is drawn twice"
    left, y, height = (float(e.get(n)) for n in ("x", "y", "height"))
    unit = ones[key[0]] - left
    # In the SVG file, the spread (if there is one) and then the text follow the bar.
    spread = [float(n) for n in re.findall(r"-?[0-9.]+", parts[k + 1].get("d"))] if kind(parts[k + 1], "spread") else None
    text = parts[k + 2 if spread else k + 1]
    seen[key] = {
        "median": float(e.get("width")) / unit,
        "bounds": [(spread[0] - left) / unit, (spread[5] - left) / unit] if spread else None,
        "text": [float(n) for n in re.findall(r"[0-9.]+", text.text)],
        "beside": y < float(text.get("y")) < y + height and (not spread or y < spread[4] < y + height),
    }
assert seen.keys() == want.keys(), seen.keys() ^ want.keys()

close = lambda a, b, by: abs(a - b) <= by
for key, ratio in want.items():
    got = seen[key]
    bounds = [ratio["lower90"], ratio["upper90"]] if ratio["lower90"] is not None else []
    assert close(got["median"], ratio["median"], 1e-3), (key, ratio, got)
    assert len(got["bounds"] or []) == len(bounds), (key, ratio, got)
    assert all(close(a, b, 1e-3) for a, b in zip(got["bounds"] or [], bounds)), (key, ratio, got)
    numbers = [ratio["median"], *bounds]
    assert len(got["text"]) == len(numbers) and all(close(a, b, 0.0051) for a, b in zip(got["text"], numbers)), (key, ratio, got)
    assert got["beside"], (key, got)
print(f"{len(want)} ratios")
