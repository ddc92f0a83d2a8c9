#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HCA of examples/udp_peer.py, which then sends forged datagrams to a queue pair.

    verbs_forger.py LID QPN IPV4 COUNT OPTIONS...      (the options of udp_peer.py)

As soon as the HCA has joined the broadcast group, the program sends COUNT datagrams with a wrong Q_Key, COUNT with a
wrong P_Key and COUNT with a wrong ICRC. Then it sends right datagrams, five a second, until SIGTERM. When a right
datagram arrives, all forged datagrams that pass have arrived before. Each datagram is sent by IPv4 and UDP to port
9000, and its text is qkey, pkey, icrc or right.
"""
import ipaddress
import signal
import socket
import sys
from struct import pack

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../../../examples")
lid, qpn, target, count = int(sys.argv[1], 0), int(sys.argv[2], 0), ipaddress.ip_address(sys.argv[3]), int(sys.argv[4])
sys.argv[1:5] = []
import udp_peer                             # noqa: E402
from peer.ipoib import checksum             # noqa: E402
from peer.link import say                   # noqa: E402
from peer.port import Hca                   # noqa: E402
from peer.wire import Packet, encode, vcrc  # noqa: E402

PACE, WRONG = 0.003, ("qkey", "pkey", "icrc")


class Forger(Hca):
    def datagram(self, text):
        udp = pack(">HHHH", 9000, 9000, 8 + len(text), 0) + text        # 0: there is no checksum
        ip = bytearray(pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0,
                            self.ipoib.address.ip.packed, target.packed))
        ip[10:12] = pack(">H", checksum(ip))
        return pack(">HH", 0x0800, 0) + bytes(ip) + udp

    def shoot(self, what):
        qkey, _, sl, _ = self.ipoib.group
        pkey = self.ipoib.own_pkey()
        packet = bytearray(encode(Packet(self.sma.vl(sl), sl, lid, self.sma.lid, None, pkey ^ (0x1234 if what == "pkey" else 0), qpn,
                                         qkey ^ (0x5555 if what == "qkey" else 0), self.qpn, self.datagram(what.encode())), next(self.psn)))
        if what == "icrc":
            packet[-6] ^= 1
            packet[-2:] = vcrc(packet[:-2])     # a right VCRC, so that no switch drops the packet
        self.link.send(bytes(packet), 1)

    def forge(self, number=0):
        if number < count * len(WRONG):
            self.shoot(WRONG[number // count])
            self.timers.enter(PACE, 0, self.forge, (number + 1,))
            return
        if number == count * len(WRONG):
            say("forged %d" % number)
        self.shoot("right")
        self.timers.enter(0.2, 0, self.forge, (number + 1,))


def main():
    args = udp_peer.arguments()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind(args.listen)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    hca = Forger(args, sock)
    done, begun = hca.ipoib.join_done, []

    def joined(record):
        done(record)
        if not begun:
            begun.append(True)
            hca.timers.enter(0.1, 0, hca.forge, ())
    hca.ipoib.join_done = joined
    try:
        hca.run(lambda: False)
    except KeyboardInterrupt:
        pass


main()
