# SPDX-License-Identifier: BSD-2-Clause
"""
Sends a router advertisement (RFC 4861, section 4.2) on uib0. Its lifetime is 0, so no host uses the sender as its default router.

    ra.py mtu N             with the MTU N
    ra.py prefix P [P]...   with prefixes of 64 bits for autonomous configuration, valid for a day
"""
import ipaddress
import socket
import struct
import sys


def prefix(address):
    return struct.pack(">BBBBIII", 3, 4, 64, 0xC0, 86400, 14400, 0) + ipaddress.ip_address(address).packed


def mtu(octets):
    return struct.pack(">BBHI", 5, 1, 0, int(octets))


options = b"".join({"mtu": mtu, "prefix": prefix}[sys.argv[1]](value) for value in sys.argv[2:])
index = socket.if_nametoindex("uib0")
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
s.sendto(struct.pack(">BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0) + options, ("ff02::1", 0, 0, index))
