#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Judges the log of tests/system/probe.c.

    probe_judge.py LOG KINDS SINCE
        Prints "BACK SILENCE KIND=BACK ..." in seconds. BACK is the time from SINCE to the end of the last silence of
        more than 1 s: the first BACK for all KINDS (such as 46m) together, the others for one KIND each. SILENCE is the
        longest silence. The exit status is 1 unless traffic of all KINDS has flowed for a second without a silence.
"""
import sys
import time

GAP = 1.0
STEADY = 1.0


def judge(log, kinds, since):
    now = time.time()
    times = {k: [since] for k in kinds}
    with open(log) as f:
        for line in f:
            words = line.split()
            if len(words) == 2 and words[1] in times and float(words[0]) > since:
                times[words[1]].append(float(words[0]))
    back, silence, steady = {}, 0.0, True
    for kind, t in times.items():
        back[kind] = 0.0
        for a, b in zip(t, t[1:]):
            silence = max(silence, b - a)
            if b - a > GAP:
                back[kind] = b - since
        if len(t) < 2 or now - t[-1] >= GAP:
            back[kind], steady = now - since, False
    last = max(back.values())
    print("%.2f %.2f" % (last, silence), *("%s=%.2f" % item for item in back.items()))
    return 0 if steady and now - since - last >= STEADY else 1


sys.exit(judge(sys.argv[1], sys.argv[2], float(sys.argv[3])))
