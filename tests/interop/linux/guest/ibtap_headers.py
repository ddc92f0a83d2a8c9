# SPDX-License-Identifier: BSD-2-Clause
"""Payloads with virtio-net headers that ibtap.ko accepts (RIGHT) and refuses (wrong())."""
import struct

from ibtap import ARP, IP4, IP6


def ip4(proto, rest, tot=0, ihl=5, frag=0):
    return struct.pack(">BBHHHBBH4s4s", 0x40 | ihl, 0, tot or 20 + len(rest), 1, frag, 64, proto, 0, b"\x0a\6\0\2", b"\x0a\6\0\1") + rest


def ip6(proto, rest, plen=0):
    return struct.pack(">IHBB16s16s", 6 << 28, plen or len(rest), proto, 64, b"\xfe\x80" + bytes(13) + b"\2", b"\xfe\x80" + bytes(13) + b"\1") + rest


def tcp(n=4000, doff=5):
    return struct.pack(">HHIIBBHHH", 5, 6, 1, 1, doff << 4, 0x10, 100, 0, 0) + bytes(n)


def udp(n=4000, length=0):
    return struct.pack(">HHHH", 5, 6, length or n + 8, 0) + bytes(n)


RIGHT = {
    "TCP over IPv4": (IP4, ip4(6, tcp()), dict(flags=1, gso=1, size=1000, start=64, offset=16)),
    "TCP over IPv4 with ECN": (IP4, ip4(6, tcp()), dict(flags=1, gso=0x81, size=1000, start=64, offset=16)),
    "TCP over IPv6": (IP6, ip6(6, tcp()), dict(flags=1, gso=4, size=1000, start=84, offset=16)),
    "TCP over IPv6 behind an extension": (IP6, ip6(0, b"\6\0" + bytes(6) + tcp()), dict(flags=1, gso=4, size=1000, start=92, offset=16)),
    "UDP over IPv4": (IP4, ip4(17, udp()), dict(flags=1, gso=5, size=1000, start=64, offset=6)),
    "UDP over IPv6": (IP6, ip6(17, udp()), dict(flags=1, gso=5, size=1000, start=84, offset=6)),
    "one segment": (IP4, ip4(6, tcp(999)), dict(flags=1, gso=1, size=1000, start=64, offset=16)),
    "128 segments of UDP": (IP4, ip4(17, udp(1280)), dict(flags=1, gso=5, size=10, start=64, offset=6)),
    "partial checksum": (IP4, ip4(17, udp(100)), dict(flags=1, start=64, offset=6)),
    "partial checksum of ARP's octets": (ARP, bytes(56), dict(flags=1, start=44, offset=54)),
    "checksum is right": (IP4, ip4(17, udp(100)), dict(flags=2)),
    "as long as IP can be": (IP4, ip4(6, tcp(65495)), dict(flags=1, gso=1, size=2000, start=64, offset=16)),
}


def wrong():
    t4, h = RIGHT["TCP over IPv4"][1:]
    t6, h6 = RIGHT["TCP over IPv6"][1:]
    u4, hu = RIGHT["UDP over IPv4"][1:]
    yield "an unknown flag", IP4, t4, dict(h, flags=0x81)
    yield "UFO", IP4, u4, dict(hu, gso=3)
    yield "an unknown kind of GSO", IP4, t4, dict(h, gso=7)
    yield "ECN alone", IP4, t4, dict(h, gso=0x80)
    yield "GSO without a partial checksum", IP4, t4, dict(h, flags=0)
    yield "GSO with a checksum that is right", IP4, t4, dict(h, flags=2)
    yield "segments of 0 octets", IP4, t4, dict(h, size=0)
    yield "segments of 7 octets", IP4, t4, dict(h, size=7)
    yield "TCP6 on IPv4", IP4, t4, dict(h, gso=4)
    yield "TCP4 on IPv6", IP6, t6, dict(h6, gso=1)
    yield "UDP on TCP", IP4, t4, dict(h, gso=5)
    yield "TCP on UDP", IP4, u4, dict(hu, gso=1)
    yield "UDP with ECN", IP4, u4, dict(hu, gso=0x85)
    yield "GSO of ARP", ARP, t4, h
    yield "IPv6 said to be IPv4", IP4, t6, h
    yield "IPv4 said to be IPv6", IP6, t4, dict(h, gso=4)
    yield "csum_start one octet off", IP4, t4, dict(h, start=65)
    yield "csum_start counted from the IP header", IP4, t4, dict(h, start=20)
    yield "csum_start in the pseudo header", IP4, t4, dict(flags=1, start=43, offset=0)
    yield "csum_offset of UDP on TCP", IP4, t4, dict(h, offset=6)
    yield "csum_start behind the frame", IP4, t4, dict(h, start=44 + len(t4))
    yield "a checksum half behind the frame", IP4, t4, dict(flags=1, start=44, offset=len(t4) - 1)
    yield "csum_offset behind the frame", IP4, t4, dict(h, offset=65535)
    yield "an IP length that is too small", IP4, ip4(6, tcp(), 4039), h
    yield "an IP length that is too large", IP4, ip4(6, tcp(), 4041), h
    yield "IHL 4", IP4, ip4(6, tcp(), ihl=4), dict(h, start=60)
    yield "IHL behind the frame", IP4, ip4(6, b"", ihl=15), dict(h, start=62, offset=0)
    yield "a fragment", IP4, ip4(6, tcp(), frag=0x2000), h
    yield "the end of a fragment", IP4, ip4(6, tcp(), frag=0x0010), h
    yield "data offset 4", IP4, ip4(6, tcp(doff=4)), h
    yield "data offset behind the frame", IP4, ip4(6, tcp(20, doff=15)), h
    yield "half a TCP header", IP4, ip4(6, tcp()[:18]), h
    yield "no transport header", IP4, ip4(6, b""), dict(h, start=62, offset=0)
    yield "half an IP header", IP4, t4[:10], dict(flags=1, gso=1, size=1000, start=44, offset=0)
    yield "a payload length that is too small", IP6, ip6(6, tcp(), 4019), h6
    yield "payload length 1", IP6, ip6(6, tcp(), 1), h6
    yield "an extension that is longer than the frame", IP6, ip6(0, b"\6\xff" + bytes(6)), dict(h6, start=44, offset=0)
    yield "a fragment of IPv6", IP6, ip6(44, b"\6\0\0\1\0\0\0\1" + tcp()), dict(h6, start=92)
    yield "ICMP", IP4, ip4(1, tcp()), h
    yield "a UDP length that is too small", IP4, ip4(17, udp(4000, 4007)), hu
    yield "129 segments of UDP", IP4, ip4(17, udp(1281)), dict(hu, size=10)
