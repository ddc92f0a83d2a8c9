#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An unreliable cable, which forwards UDP datagrams between two ends without knowing their format.

    relay.py COMMANDS SEED HERE_A END_A HERE_B END_B        (the last four are ADDRESS:PORT)

Datagrams from END_A to HERE_A are forwarded from HERE_B to END_B, and the other way round. Datagrams from other senders
are ignored. COMMANDS is a FIFO. The relay ends at the end of the FIFO, which has these lines:

    set KIND RATE ...       set the rate of a fault in both directions; with "a." or "b." before KIND, only for datagrams from
                            END_A or END_B
    stats                   print as JSON the numbers of datagrams that came ("seen") and that could not be sent ("refused"),
                            the number of faults of each kind in both directions, and how often an end was not heard for two
                            seconds ("late"): each end sends once a second, so the end or the relay got no CPU time

For each datagram and kind, chance decides whether the fault happens. Some kinds affect the datagram itself: loss, flip (one bit),
duplicate, reorder (the datagram waits for the next two, or for 20 ms). Others send a second datagram in addition: truncate (a
copy of the first 1 to 29 octets), extend (a copy made longer than any packet), garbage (random octets), garble (a copy whose
CRCs cannot be right).
"""
import collections
import json
import os
import random
import selectors
import socket
import sys
import time

KINDS = ("loss", "flip", "duplicate", "reorder", "truncate", "extend", "garbage", "garble")
HOLD = 0.02
LATE = 2.0
FORCED_BUFFERS = 32, 33     # SO_SNDBUFFORCE, SO_RCVBUFFORCE: root may exceed the machine's limit


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


class Direction:
    def __init__(self, rng, source, end, out, to):
        self.rng, self.source, self.end, self.out, self.to = rng, source, end, out, to
        self.rates, self.done = dict.fromkeys(KINDS, 0.0), collections.Counter()
        self.held = collections.deque()         # (deadline, number of later datagrams that must still pass first, data)
        self.heard = None

    def chance(self, kind):
        if self.rates[kind] == 0 or self.rng.random() >= self.rates[kind]:
            return False
        self.done[kind] += 1
        return True

    def emit(self, data):
        try:
            self.out.sendto(data, self.to)
        except OSError:                         # treated as the loss of this datagram
            self.done["refused"] += 1

    def forward(self, data):
        rng = self.rng
        self.done["seen"] += 1
        if self.chance("truncate"):
            self.emit(data[:rng.randrange(1, 30)] or b"\0")
        if self.chance("extend"):
            self.emit(data + rng.randbytes(rng.randrange(4223, 9000)))
        if self.chance("garbage"):
            self.emit(rng.randbytes(rng.randrange(1, 5000)))
        if len(data) > 8 and self.chance("garble"):
            self.emit(data[:-8] + bytes(octet ^ 0x55 for octet in data[-8:]))
        if self.chance("loss"):
            return
        flipped = data and self.chance("flip")
        if flipped:
            bit = rng.randrange(8 * len(data))
            data = data[:bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1:]
        if self.chance("reorder"):
            self.held.append([time.monotonic() + HOLD, 2, data])
            return
        self.emit(data)
        if not flipped and self.chance("duplicate"):    # a damaged datagram is not duplicated, so that each flip makes one wrong datagram
            self.emit(data)
        for waiting in self.held:
            waiting[1] -= 1
        self.release()

    def release(self):
        while self.held and (self.held[0][1] <= 0 or self.held[0][0] <= time.monotonic()):
            self.emit(self.held.popleft()[2])

    def receive(self):
        for _ in range(64):
            try:
                data, sender = self.source.recvfrom(65536)
            except (BlockingIOError, ConnectionRefusedError):
                return
            if sender == self.end:
                now = time.monotonic()
                self.done["late"] += self.heard is not None and now - self.heard > LATE
                self.heard = now
                self.forward(data)


def command(line, directions):
    words = line.split()
    if words[:1] == ["set"]:
        for name, rate in zip(words[1::2], words[2::2]):
            side, _, kind = name.rpartition(".")
            for d in [directions[side]] if side else directions.values():
                if kind not in KINDS:
                    sys.exit(f"relay: unknown kind {kind}")
                d.rates[kind] = float(rate)
    elif words == ["stats"]:
        total = sum((d.done for d in directions.values()), collections.Counter())
        print(json.dumps({kind: total[kind] for kind in ("seen", "refused", "late", *KINDS)}), flush=True)
    else:
        sys.exit(f"relay: what is {line!r}?")


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    rng, fifo = random.Random(int(sys.argv[2])), os.open(sys.argv[1], os.O_RDONLY)
    ends, socks = [endpoint(sys.argv[4]), endpoint(sys.argv[6])], []
    for here in sys.argv[3], sys.argv[5]:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in FORCED_BUFFERS:
            sock.setsockopt(socket.SOL_SOCKET, option, 16 << 20)
        sock.setblocking(False)
        sock.bind(endpoint(here))
        socks.append(sock)
    directions = {"a": Direction(rng, socks[0], ends[0], socks[1], ends[1]),
                  "b": Direction(rng, socks[1], ends[1], socks[0], ends[0])}
    selector, commands = selectors.DefaultSelector(), b""
    for d in directions.values():
        selector.register(d.source, selectors.EVENT_READ, d)
    selector.register(fifo, selectors.EVENT_READ, None)
    while True:
        held = [d.held[0][0] for d in directions.values() if d.held]
        for key, _ in selector.select(max(0, min(held) - time.monotonic()) if held else None):
            if key.data:
                key.data.receive()
                continue
            read = os.read(fifo, 4096)
            if not read:
                return
            *lines, commands = (commands + read).split(b"\n")
            for line in lines:
                command(line.decode(), directions)
        for d in directions.values():
            d.release()


main()
