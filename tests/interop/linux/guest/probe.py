#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Keeps traffic flowing in both directions, and records when it flowed.

    probe.py run PORT IFNAME LOG IPV4_PEER IPV6_PEER
        Sends a datagram every 50 ms to both addresses of the other end, where the same program runs, and to a group. Each
        datagram has the numbers of the last ones received from the other end, by KIND: 4, 6 or m (group). When the other
        end confirms a new number, a line "TIME KIND" goes to LOG: both directions worked at that time of this end's
        clock. Interfaces may come and go.

    probe.py judge LOG KINDS SINCE
        Prints "BACK SILENCE KIND=BACK ..." in seconds. BACK is the time from SINCE to the end of the last silence of more
        than 1 s, of all KINDS (such as 46m) and of each KIND. SILENCE is the longest one. Status 1 unless traffic of all
        KINDS has flowed steadily for a second.
"""
import ipaddress
import json
import select
import socket
import struct
import sys
import time

GROUP = "239.9.9.9"
PERIOD = 0.05
GAP = 1.0
STEADY = 1.0


def sockets(port):
    s4 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    for s, any_addr in (s4, "0.0.0.0"), (s6, "::"):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((any_addr, port))
        s.setblocking(False)
    s4.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    return s4, s6


class Probe:
    def __init__(self, port, ifname, log, peer4, peer6):
        self.ifname, self.log = ifname, open(log, "w", buffering=1)
        self.peers = {"4": (peer4, port), "6": (peer6, port), "m": (GROUP, port)}
        self.sock4, self.sock6 = sockets(port)
        self.sock = {"4": self.sock4, "m": self.sock4, "6": self.sock6}
        self.member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.ifindex = 0
        # An end that was restarted continues with higher numbers than before.
        self.seq = int(time.time() * 1000)
        self.first = self.seq
        self.got = {k: 0 for k in self.peers}  # highest number received from the other end
        self.known = {k: 0 for k in self.peers}  # highest of our numbers that the other end has received
        self.peer_run = None

    def join(self):
        """Join again if the interface is a new one, because a membership ends with its interface."""
        try:
            index = socket.if_nametoindex(self.ifname)
        except OSError:
            return
        if index == self.ifindex:
            return
        mreq = struct.pack("=4s4si", socket.inet_aton(GROUP), bytes(4), index)
        try:
            self.member.close()
            self.member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, mreq)
            self.sock4.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, mreq)
        except OSError:
            return
        self.ifindex = index

    def send(self):
        self.seq += 1
        for kind, to in self.peers.items():
            msg = {"kind": kind, "run": self.first, "seq": self.seq, "got": self.got}
            try:
                self.sock[kind].sendto(json.dumps(msg).encode(), to)
            except OSError:
                pass

    def receive(self, s):
        try:
            data, addr = s.recvfrom(2048)
        except OSError:
            return
        # Only datagrams of the other end count, because the group has other senders, too.
        if ipaddress.ip_address(addr[0]) not in (ipaddress.ip_address(self.peers[k][0]) for k in "46"):
            return
        msg = json.loads(data)
        if msg["run"] != self.peer_run:
            self.peer_run = msg["run"]
            self.got = {k: 0 for k in self.peers}
        self.got[msg["kind"]] = max(self.got[msg["kind"]], msg["seq"])
        for kind, seq in msg["got"].items():
            if seq > max(self.known[kind], self.first):
                self.known[kind] = seq
                print("%.3f %s" % (time.time(), kind), file=self.log)

    def run(self):
        due = time.monotonic()
        print("%.3f start" % time.time(), file=self.log)
        while True:
            now = time.monotonic()
            if now >= due:
                self.join()
                self.send()
                due = max(due + PERIOD, now)
            ready, _, _ = select.select([self.sock4, self.sock6], [], [], max(0, due - time.monotonic()))
            for s in ready:
                self.receive(s)


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


if sys.argv[1] == "run":
    Probe(int(sys.argv[2]), *sys.argv[3:7]).run()
sys.exit(judge(sys.argv[2], sys.argv[3], float(sys.argv[4])))
