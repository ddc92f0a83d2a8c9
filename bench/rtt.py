#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Round trips of UDP datagrams of 64 octets.

    rtt.py echo CPU PORT            answer on all addresses, running on this CPU
    rtt.py ping CPU PORT ADDRESS    print "P50 P99" in us; status 1 if fewer than half of the datagrams are answered
"""
import os
import socket
import sys
import time

COUNT = 3000
WARM_UP = 300

what, cpu, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.sched_setaffinity(0, {cpu})
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

if what == "echo":
    s.bind(("0.0.0.0", port))
    while True:
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)

s.connect((sys.argv[4], port))
s.settimeout(0.5)
times = []
lost = 0
while len(times) < COUNT and lost < 20:
    began = time.perf_counter_ns()
    try:
        s.send(b"x" * 64)
        s.recv(2048)
    except OSError:
        lost += 1
        continue
    times.append(time.perf_counter_ns() - began)
times = sorted(times[WARM_UP:])
if len(times) < COUNT // 2:
    sys.exit("rtt: no answers")
print("%.1f %.1f" % (times[len(times) // 2] / 1000, times[len(times) * 99 // 100] / 1000))
