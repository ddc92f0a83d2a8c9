#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Statistics of bench/net.sh, bench/fabrics.sh, bench/flow.sh, bench/linux.sh and bench/verbs.sh.

    net_report.py VALUES JSON NAME=VALUE...

VALUES has a JSON object per line: row, mtu, round, figure, value (null: the measurement failed). The report is printed and, with
the values of all rounds and the NAME=VALUEs, written to JSON.

A ratio to another row is the median of the ratios of single rounds, so that a time in which the machine was slow changes both
values of a ratio. The one-sided bounds of 90 % of the median come from order statistics and assume no distribution: if n rounds
are independent, the number of ratios below the true median is binomial with probability 1/2, so the k-th smallest ratio is at
most the true median with a probability of at least 0.9 for the largest k with P(Bin(n, 1/2) < k) <= 0.1. The k-th largest is
the upper bound. Fewer than four rounds have no bound; five have k = 1, ten have 3, fifteen have 5.
"""
import json
import math
import os
import re
import statistics
import sys

RATIO_COLUMNS = 6  # at most this number in a table of ratios
# For each row, the rows that do the same work (modes of the relay, the kernel's driver, or uipoib in another shape),
# beginning with the most similar row
MATCHING = {
    "lazy": ["whole", "segment"],
    "lazy1": ["whole", "segment"],
    "full": ["crc"],
    "full1": ["crc"],
    "whole2": ["whole"],
    "segment2": ["segment"],
    "crc2": ["crc"],
    "udp": ["crc"],
    "uipoib": ["kernel"],
    "linux": ["old"],
    "two": ["one"],
    **{f"{crc}{switches}": [f"{crc}1"] for crc in ("lazy", "full") for switches in range(2, 10)},
}
# For each table: its heading, its figures (one per column), and the format of its numbers
TABLES = [
    ("TCP, Gb/s", ["tcp", "tcp_r", "tcp4", "tcp4_r", "tcp6"], "%.2f"),
    ("TCP, Mb/s", ["vm_tcp", "vm_tcp_r", "vm_vm"], "%.0f"),
    ("CPU of the relaying processes, ms per Gb of TCP", ["tcp_cpu", "tcp_r_cpu", "tcp4_cpu", "tcp4_r_cpu", "tcp6_cpu"], "%.1f"),
    ("UDP, thousand datagrams a second received", ["udp64", "udp64_recv", "udp64_gro", "udp64_rate", "udp1400"], "%.0f"),
    ("UDP, per cent of the datagrams lost", ["udp64_lost", "udp64_recv_lost", "udp64_gro_lost", "udp64_rate_lost", "udp1400_lost"], "%.1f"),
    ("CPU of the relaying processes, us per datagram received", ["udp64_cpu", "udp64_recv_cpu", "udp64_gro_cpu", "udp64_rate_cpu", "udp1400_cpu"], "%.2f"),
    ("ns per frame of one flow", ["datagram", "super_frame"], "%.0f"),
    ("CPU time of the longest periodic work, us", ["pause"], "%.0f"),
    ("round trip, us (rtt1: on one CPU, rtt2: on two)", ["rtt1_p50", "rtt1_p99", "rtt2_p50", "rtt2_p99"], "%.1f"),
]


def matching(row, rows):
    """The rows that do the same work as a row; a row of bench/flow.sh is compared with that of the least number"""
    if row in MATCHING:
        return MATCHING[row]
    name = re.fullmatch("(neighbours|groups|hops|hosts)([0-9]+)", row)
    numbers = [int(r[len(name[1]):]) for r in rows if re.fullmatch(name[1] + "[0-9]+", r)] if name else []
    return [name[1] + str(min(numbers))] if numbers and int(name[2]) != min(numbers) else []


def bound_rank(n):
    """The largest k with P(Bin(n, 1/2) < k) <= 0.1; 0 if there is none"""
    below, k = 0, 0
    while k < n:
        below += math.comb(n, k)
        if below > 0.1 * 2**n:
            break
        k += 1
    return k


def ratio_of(mine, other):
    """mine, other: values by round"""
    pairs = sorted(mine[r] / other[r] for r in mine if other.get(r))  # no ratio if the other measurement failed or is zero
    if not pairs:
        return None
    k = bound_rank(len(pairs))
    return {
        "rounds": len(pairs),
        "median": statistics.median(pairs),
        "lower90": pairs[k - 1] if k else None,
        "upper90": pairs[-k] if k else None,
    }


def figure_of(values, row, mtu, figure):
    """What the JSON file has about a figure of a row; None if it was not measured"""
    mine = values.get((row, mtu, figure))
    if mine is None:
        return None
    good = {r: v for r, v in mine.items() if v is not None}
    out = {"values": [mine[r] for r in sorted(mine)], "failed": len(mine) - len(good)}
    for name, f in ("median", statistics.median), ("min", min), ("max", max):
        out[name] = f(good.values()) if good else None
    out["ratio"] = {}
    if figure.endswith("_lost") or figure == "pause":  # the ratio of two values near zero has no meaning
        return out
    for other in ["veth"] + matching(row, {r for r, _, _ in values}):
        theirs = values.get((other, mtu, figure))
        ratio = theirs and other != row and ratio_of(good, theirs)
        if ratio:
            out["ratio"][other] = ratio
    return out


def read_values(path):
    values, keys, figures = {}, [], []
    with open(path) as f:
        for line in f:
            v = json.loads(line)
            key = (v["row"], v["mtu"])
            if key not in keys:
                keys.append(key)
            if v["figure"] not in figures:
                figures.append(v["figure"])
            values.setdefault((*key, v["figure"]), {})[v["round"]] = v["value"]
    return values, keys, figures


def cell(figure, form):
    if not figure or figure["median"] is None:
        return "-"
    text = form % figure["median"]
    if "veth" in figure["ratio"]:
        text += " (%.2f)" % figure["ratio"]["veth"]["median"]
    return text


def name_of(row):
    return "%s %d" % (row["row"], row["mtu"])


def any_veth(rows, columns):
    return any("veth" in row["figures"].get(c, {"ratio": {}})["ratio"] for row in rows for c in columns)


def print_tables(rows):
    width = max([14] + [len(name_of(row)) for row in rows])
    for heading, columns, form in TABLES:
        columns = [c for c in columns if any(c in row["figures"] for row in rows)]
        if not columns:
            continue
        print("\n%s: median%s" % (heading, " (ratio to veth)" if any_veth(rows, columns) else ""))
        print(" " * width + "".join("%18s" % c for c in columns))
        for row in rows:
            cells = [cell(row["figures"].get(c), form) for c in columns]
            if any(c != "-" for c in cells):
                print("%-*s" % (width, name_of(row)) + "".join("%18s" % c for c in cells))


def ratio_cell(ratio):
    if not ratio:
        return "-"
    bounds = ["-" if ratio[b] is None else "%.2f" % ratio[b] for b in ("lower90", "upper90")]
    return "%.2f [%s, %s]" % (ratio["median"], *bounds)


def print_ratio_table(columns, figures):
    names = [row["row"] + " / " + other for row, other in columns]
    widths = [max(21, len(n) + 2) for n in names]
    print("%-16s" % "" + "".join("%*s" % column for column in zip(widths, names)))
    for f in figures:
        cells = [ratio_cell(row["figures"].get(f, {"ratio": {}})["ratio"].get(other)) for row, other in columns]
        if any(c != "-" for c in cells):
            print("%-16s" % f + "".join("%*s" % column for column in zip(widths, cells)))


def print_ratios(rows, figures):
    there = {(row["row"], row["mtu"]) for row in rows}
    columns = [(row, other) for row in rows for other in matching(row["row"], {r for r, _ in there}) if (other, row["mtu"]) in there]
    for mtu in sorted({row["mtu"] for row, _ in columns}):
        of = [c for c in columns if c[0]["mtu"] == mtu]
        print("\nratios to the row that does the same, MTU %d: median of the rounds [bounds of 90 %%]" % mtu)
        for first in range(0, len(of), RATIO_COLUMNS):
            print_ratio_table(of[first:first + RATIO_COLUMNS], figures)


def cpu_model():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


def main():
    path, out, *notes = sys.argv[1:]
    values, keys, figures = read_values(path)
    rows = []
    for row, mtu in sorted(keys, key=lambda k: k[1]):
        of = {f: figure_of(values, row, mtu, f) for f in figures}
        rows.append({"row": row, "mtu": mtu, "figures": {f: v for f, v in of.items() if v}})
    report = {
        "machine": {"cpu": cpu_model(), "cores": os.cpu_count(), "kernel": os.uname().release},
        **dict(n.split("=", 1) for n in notes),
        "rows": rows,
    }
    for name in "rounds", "setups", "seconds_each", "rate_kpps":
        if name in report:
            report[name] = int(report[name])
    with open(out, "w") as f:
        json.dump(report, f, indent=1)
        f.write("\n")
    print_tables(rows)
    print_ratios(rows, [f for _, columns, _ in TABLES for f in columns])
    print("\n%s, %d cores, Linux %s" % (cpu_model(), os.cpu_count(), os.uname().release))
    print("load at the start %s, at the end %s; all values are in %s" % (report["load_at_start"], report["load_at_end"], out))


main()
