# SPDX-License-Identifier: BSD-2-Clause
"""Sends a frame to each of many queue pairs of a port, from a device of type 32.

    ibtap_spray.py DEV LLADDR FIRST NUMBER

LLADDR is the link-layer address of the port. The program uses NUMBER consecutive queue pair numbers, beginning with
0x100000 + FIRST. The frames are IPv6 packets without a payload.
"""
import socket
import sys

dev, lladdr = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", ""))
first, number = int(sys.argv[3]), int(sys.argv[4])
with open("/sys/class/net/%s/address" % dev, encoding="ascii") as f:
    own = bytes.fromhex(f.read().strip().replace(":", ""))
packet = b"\x60\0\0\0\0\0\x3b\x40" + socket.inet_pton(socket.AF_INET6, "fd04::1:1") + socket.inet_pton(socket.AF_INET6, "fd04::1:2")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind((dev, 0))
    for i in range(first, first + number):
        s.send(own + (0x100000 + i).to_bytes(4, "big") + lladdr[4:] + b"\x86\xdd\0\0" + packet)
