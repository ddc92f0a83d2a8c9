#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HCA of examples/udp_peer.py, which also sends ARP requests to one host, each from a new forged sender.

    forged_senders.py LID QPN COUNT RATE OPTIONS...      (the options of udp_peer.py)

As soon as the HCA has joined the broadcast group, the program sends COUNT ARP requests to QP QPN of LID, RATE a second, each with
another IPv4 address and another QPN of the sender. The last 8192 requests, as many as a link has neighbours, have the GID of this
HCA. Of the requests before them, every second one has a GID that no port has. The program prints "sent COUNT".
"""
import ipaddress
import random
import socket
import sys
from struct import pack

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../../examples")
lid, qpn, count, rate = (int(word, 0) for word in sys.argv[1:5])
sys.argv[1:5] = []
import udp_peer                             # noqa: E402
from peer.link import say                   # noqa: E402
from peer.port import Hca                   # noqa: E402

RNG = random.Random(5)
TICK = 0.02


class Forger(Hca):
    sent = 0.0

    def forge(self, target):
        number = int(self.sent)
        gid = self.gid if number % 2 or number >= count - 8192 else self.sma.prefix + RNG.randbytes(8)
        source = ipaddress.ip_address("10.4.64.0") + number % 0x8000
        sender = pack(">I", 0x10000 + number % 0xE00000) + gid
        arp = pack(">HHBBH20s4s20s4s", 32, 0x0800, 20, 4, 1, sender, source.packed, bytes(20), target.packed)
        self.ipoib.send(lid, 0, qpn, 0x0806, arp)

    def tell(self, target):
        until = min(count, self.sent + rate * TICK)
        while self.sent < until:
            self.forge(target)
            self.sent += 1
        if self.sent < count:
            self.timers.enter(TICK, 0, self.tell, (target,))
        else:
            say(f"sent {count}")


def main():
    args = udp_peer.arguments()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.setblocking(False)
    sock.bind(args.listen)
    hca = Forger(args, sock)
    done, begun = hca.ipoib.join_done, []

    def joined(record):
        done(record)
        if not begun:
            begun.append(True)
            hca.timers.enter(0.1, 0, hca.tell, (ipaddress.ip_address("10.4.0.1"),))
    hca.ipoib.join_done = joined
    hca.run(lambda: False)


main()
