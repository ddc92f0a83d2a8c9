#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws a report of bench/flow.sh as an SVG, for a browser.

    plot_flow.py [-o FILE] REPORT

There is a panel for neighbours, groups, hops and hosts. Each has a line for each kind of frame: the median of the ns per frame
against the number. The numbers are placed at equal distances. A vertical line at a point shows the least and the largest value of
all rounds. FILE is standard output by default.
"""
import argparse
import re
import sys

from plot import STYLE, Picture, machine_of, read_report, write

KINDS = {"datagram": "datagram of 64 octets", "super_frame": "super-frame of 32 packets"}
PANEL, HEIGHT, GAP, LEFT, TOP = 400, 170, 40, 60, 30
COLUMNS = 2
LINES = """
.curve { fill: none; stroke-width: 2; }
.curve.s0, .range.s0 { stroke: #3b6fb6; } .curve.s1, .range.s1 { stroke: #c9772b; }
.range { stroke-width: 1.5; }
.axis { stroke: #999; }
"""


def panels_of(report):
    """{what: {number: {kind: figure}}}, in the order of the report"""
    panels = {}
    for row in report["rows"]:
        name = re.fullmatch("([a-z]+)([0-9]+)", row["row"])
        figures = {k: row["figures"][k] for k in KINDS if row["figures"].get(k, {}).get("median") is not None}
        if name and figures:
            panels.setdefault(name[1], {})[int(name[2])] = figures
    return panels


def ceiling(panels):
    """The largest value, rounded up to the next multiple of 200 ns"""
    top = max(f["max"] for numbers in panels.values() for figures in numbers.values() for f in figures.values())
    return -int(-top // 200) * 200


def draw_axes(p, left, bottom, top):
    for ns in range(0, top + 1, 200):
        y = bottom - HEIGHT * ns / top
        p.parts.append('<line class="axis" x1="%g" y1="%g" x2="%g" y2="%g" stroke-width="%s"/>' % (left, y, left + PANEL - LEFT, y, 0.3 if ns else 1))
        p.text(left - 6, y + 4, "%d" % ns, anchor="end")


def draw_line(p, what, kind, points, colour):
    for x, y, low, high, number, ns in points:
        p.parts.append('<line class="range s%d" x1="%.2f" y1="%.2f" x2="%.2f" y2="%.2f"/>' % (colour, x, low, x, high))
        p.parts.append('<circle class="point r%d" data-what="%s" data-number="%d" data-kind="%s" cx="%.2f" cy="%.2f" r="4"><title>%s %s, %s: %.0f ns</title></circle>' % (
            colour, what, number, kind, x, y, format(number, ","), what, KINDS[kind], ns))
    p.parts.append('<path class="curve s%d" d="M%s"/>' % (colour, "L".join("%.2f %.2f" % pt[:2] for pt in points)))


def draw_panel(p, what, numbers, left, top_y, top):
    bottom = top_y + TOP + HEIGHT
    step = (PANEL - LEFT) / len(numbers)
    p.text(left, top_y + 16, what, "figure")
    draw_axes(p, left, bottom, top)
    place = {n: left + step * (k + 0.5) for k, n in enumerate(sorted(numbers))}
    for n, x in place.items():
        p.text(x, bottom + 18, format(n, ","), anchor="middle")
    y = lambda ns: bottom - HEIGHT * ns / top
    for colour, kind in enumerate(KINDS):
        points = [(x, y(f["median"]), y(f["max"]), y(f["min"]), n, f["median"]) for n, x in place.items() if (f := numbers[n].get(kind))]
        if points:
            draw_line(p, what, kind, points, colour)


def picture_of(report, panels):
    p = Picture()
    p.text(12, 26, "ns per frame of one flow, against the number of ...", "title")
    for colour, words in enumerate(KINDS.values()):
        p.parts.append('<rect class="r%d" x="%d" y="40" width="12" height="12"/>' % (colour, 12 + 200 * colour))
        p.text(30 + 200 * colour, 51, words)
    p.text(12, 74, machine_of(report) + "; lines: least and largest value of all rounds")
    top = ceiling(panels)
    for k, (what, numbers) in enumerate(panels.items()):
        draw_panel(p, what, numbers, LEFT + PANEL * (k % COLUMNS), 90 + (HEIGHT + TOP + GAP) * (k // COLUMNS), top)
    rows = -(-len(panels) // COLUMNS)
    return p.svg(PANEL * COLUMNS + 20, 90 + (HEIGHT + TOP + GAP) * rows, "ns per frame of one flow", STYLE + LINES)


def main():
    words = argparse.ArgumentParser(description="Draw a report of bench/flow.sh as an SVG")
    words.add_argument("-o", "--output", help="file of the picture (standard output)")
    words.add_argument("report")
    o = words.parse_args()
    report = read_report(o.report)
    panels = panels_of(report)
    if not panels:
        sys.exit("plot: %s: not a report of bench/flow.sh" % o.report)
    write(o.output, picture_of(report, panels))


if __name__ == "__main__":
    main()
