#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws the ratios in reports of the benchmark as an SVG, for a browser.

    plot.py [-o FILE] [--to ROW] [--figure FIGURE]... [--title TEXT] REPORT...

REPORT is a file of bench/net_report.py, such as build/bench/net.json. FILE is standard output by default. There is a chart for each
figure, and in it a group of bars for each ratio of two rows, with a bar for each REPORT, in the order in which they are given. So
several REPORTs show how a ratio has changed.

A bar is as long as the median of the ratios of all rounds. A line across its end shows the bounds of 90 % of the median
(net_report.py describes them); there is no line where there are too few rounds for bounds. The dashed line is at 1. Ratios to
veth are drawn only where a figure has no other ratio, or with --to veth. Each REPORT has the name of its file, without the
extension.
"""
import argparse
import json
import os
import sys
from xml.sax.saxutils import escape

NAMES = {
    "tcp": "TCP", "tcp_r": "TCP, the other way", "tcp4": "four flows of TCP", "tcp4_r": "four flows of TCP, the other way",
    "tcp6": "TCP over IPv6", "vm_tcp": "TCP of a virtual machine", "vm_tcp_r": "TCP of a virtual machine, the other way",
    "udp64": "UDP, datagrams of 64 octets", "udp64_rate": "UDP, datagrams of 64 octets at a fixed rate", "udp1400": "UDP, datagrams of 1400 octets",
    "vm_vm": "TCP from one virtual machine to another",
    "datagram": "one flow of datagrams of 64 octets, ns", "super_frame": "one flow of super-frames of TCP, ns",
    "rtt1_p50": "round trip on one CPU, median", "rtt1_p99": "round trip on one CPU, 99th percentile",
    "rtt2_p50": "round trip on two CPUs, median", "rtt2_p99": "round trip on two CPUs, 99th percentile",
}
WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 860, 190, 170, 14, 10, 40
STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif; fill: #1a1a1a; }
.title { font-size: 16px; font-weight: 600; }
.figure { font-weight: 600; }
.value { font-variant-numeric: tabular-nums; }
.one { stroke: #555; stroke-dasharray: 4 3; }
.spread { stroke: #1a1a1a; stroke-width: 1.5; fill: none; }
.r0 { fill: #3b6fb6; } .r1 { fill: #c9772b; } .r2 { fill: #3f8f5a; } .r3 { fill: #8a5aa8; } .r4 { fill: #7a7a7a; }
@media (prefers-color-scheme: dark) {
svg { background: #16181c; fill: #e6e6e6; }
.one { stroke: #aaa; }
.spread { stroke: #f2f2f2; }
.r0 { fill: #5f93da; } .r1 { fill: #d9893d; } .r2 { fill: #57a874; } .r3 { fill: #a67bc4; } .r4 { fill: #999; }
}
"""
COLOURS = 5


def figure_name(figure):
    if figure.endswith("_cpu"):
        return figure_name(figure[:-4]) + ": CPU (less is better)"
    return NAMES.get(figure, figure) + (" (less is better)" if figure.startswith("rtt") else "")


def ratios_of(report, to):
    """Yields (figure, label, ratio) of all ratios in a report that are drawn"""
    for row in report["rows"]:
        for figure, of in row["figures"].items():
            others = {o: r for o, r in of["ratio"].items() if o == to} if to else dict(of["ratio"])
            if not to and len(others) > 1:
                others.pop("veth", None)
            for other, ratio in others.items():
                yield figure, "%s / %s, MTU %d" % (row["row"], other, row["mtu"]), ratio


def charts_of(reports, to, figures):
    """{figure: {label: {number of the report: ratio}}}"""
    charts = {}
    for n, report in enumerate(reports):
        for figure, label, ratio in ratios_of(report, to):
            if not figures or figure in figures:
                charts.setdefault(figure, {}).setdefault(label, {})[n] = ratio
    return charts


class Picture:
    def __init__(self):
        self.parts, self.y = [], 0

    def text(self, x, y, words, css="", anchor="start"):
        self.parts.append('<text x="%g" y="%g" text-anchor="%s" class="%s">%s</text>' % (x, y, anchor, css, escape(words)))

    def one(self, figure, x, top, bottom):
        self.parts.append('<line class="one" data-figure="%s" x1="%.3f" y1="%g" x2="%.3f" y2="%g"/>' % (escape(figure), x, top, x, bottom))

    def bar(self, data, css, width, title):
        words = " ".join('data-%s="%s"' % (name, escape(value, {'"': "&quot;"})) for name, value in data.items())
        self.parts.append('<rect class="bar %s" %s x="%d" y="%g" width="%.3f" height="%d"><title>%s</title></rect>' % (
            css, words, LEFT, self.y, width, BAR, escape(title)))

    def svg(self, width, height, title, style):
        head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %g" width="%d" height="%g" role="img" aria-label="%s">' % (
            width, height, width, height, escape(title, {'"': "&quot;"}))
        return "\n".join([head, "<style>%s</style>" % style, *self.parts, "</svg>"]) + "\n"

    def spread(self, lower, upper, y):
        path = "M%.3f %gV%gM%.3f %gH%.3fM%.3f %gV%g" % (lower, y - 4, y + 4, lower, y, upper, upper, y - 4, y + 4)
        self.parts.append('<path class="spread" d="%s"/>' % path)


def text_of(ratio):
    if ratio["lower90"] is None:
        return "%.2f" % ratio["median"]
    return "%.2f [%.2f, %.2f]" % (ratio["median"], ratio["lower90"], ratio["upper90"])


def draw_bar(p, scale, data, ratio, n):
    y = p.y + BAR / 2
    p.bar(data, "r%d" % (n % COLOURS), ratio["median"] * scale, "%s: %s, %d rounds" % (data["report"], text_of(ratio), ratio["rounds"]))
    if ratio["lower90"] is not None:
        p.spread(LEFT + ratio["lower90"] * scale, LEFT + ratio["upper90"] * scale, y)
    p.text(WIDTH - RIGHT + 10, y + 5, text_of(ratio), "value")
    p.y += BAR + 2


def longest(groups):
    return max([1.0] + [max(r["median"], r["upper90"] or 0) for bars in groups.values() for r in bars.values()])


def draw_chart(p, figure, groups, names):
    scale = (WIDTH - LEFT - RIGHT) / longest(groups)
    p.text(12, p.y + 16, figure_name(figure), "figure")
    p.y += 26
    top = p.y
    for label in sorted(groups):
        p.text(LEFT - 8, p.y + BAR - 2, label, anchor="end")
        for n, ratio in sorted(groups[label].items()):
            draw_bar(p, scale, {"figure": figure, "ratio": label, "report": names[n]}, ratio, n)
        p.y += GAP
    p.one(figure, LEFT + scale, top - 4, p.y - GAP + 2)
    p.text(LEFT + scale, p.y + 6, "1", anchor="middle")
    p.y += 28


def machine_of(report):
    machine = report["machine"]
    return "%s, %s cores, Linux %s, load %s to %s" % (
        machine["cpu"], machine["cores"], machine["kernel"], report.get("load_at_start", "?"), report.get("load_at_end", "?"))


def draw_legend(p, names, reports):
    for n, (name, report) in enumerate(zip(names, reports)):
        p.parts.append('<rect class="r%d" x="12" y="%g" width="12" height="12"/>' % (n % COLOURS, p.y))
        p.text(30, p.y + 11, "%s: %s" % (name, machine_of(report)))
        p.y += 20


def picture_of(reports, names, charts, title):
    p = Picture()
    p.text(12, 26, title, "title")
    p.y = HEAD
    draw_legend(p, names, reports)
    p.y += GAP
    for figure, groups in charts.items():
        draw_chart(p, figure, groups, names)
    return p.svg(WIDTH, p.y, title, STYLE)


def write(path, svg):
    """Writes the picture to the file, or to standard output if @path is None"""
    if not path:
        sys.stdout.write(svg)
        return
    with open(path, "w") as f:
        f.write(svg)


def read_report(path):
    try:
        with open(path) as f:
            report = json.load(f)
        report["rows"], report["machine"]
    except (OSError, ValueError, KeyError, TypeError) as e:
        sys.exit("plot: %s: not a report of the benchmark: %s" % (path, e))
    return report


def main():
    words = argparse.ArgumentParser(description="Draw the ratios in reports of the benchmark as an SVG")
    words.add_argument("-o", "--output", help="file of the picture (standard output)")
    words.add_argument("--to", metavar="ROW", help="only ratios to this row, as veth")
    words.add_argument("--figure", action="append", help="only this figure, as tcp; repeatable")
    words.add_argument("--title", default="Ratios of the benchmark: median and bounds of 90 %")
    words.add_argument("report", nargs="+")
    o = words.parse_args()
    reports = [read_report(path) for path in o.report]
    names = [os.path.splitext(os.path.basename(path))[0] for path in o.report]
    charts = charts_of(reports, o.to, o.figure)
    if not charts:
        sys.exit("plot: no ratio to draw: a ratio needs two rows of one run")
    write(o.output, picture_of(reports, names, charts, o.title))


if __name__ == "__main__":
    main()
