#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds packets in a capture that show how Linux's ib_ipoib differs from RFC 4391.

    differences.py find CAPTURE LID WHAT        print the first packet from LID that shows WHAT, in hexadecimal; status 1: none does
    differences.py count CAPTURE LID WHAT       print the number of packets from LID that show WHAT
    differences.py peer HERE PEER FLAGS         be an HCA at a UDP link, 10.4.6.6, whose link-layer address begins with FLAGS

CAPTURE is a file of `uipoib capture start`. WHAT is a name in KINDS below. A name that ends in - is about
packets that must not be sent.
"""
import ipaddress
import socket
import sys
import types
from struct import unpack_from

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../..")
from sent import sent                                   # noqa: E402

SA, SET, DELETE, MCMEMBER, INFORM = 3, 2, 0x15, 0x38, 0x03
FULL, NON, SEND_ONLY_NON, SEND_ONLY_FULL = 1, 2, 4, 8
PEER_GUID = 0x00ACE000000D1FF0


def ethertype(p):
    return unpack_from(">H", p.payload)[0] if p.dest_qp > 1 and len(p.payload) >= 4 else None


def sa(p, method, attribute):
    """Returns the record in the packet if the packet is a request to the SA with this method and attribute, otherwise
    None."""
    mad = p.payload
    ok = p.dest_qp == 1 and mad[1] == SA and mad[3] == method and unpack_from(">H", mad, 16)[0] == attribute
    return mad[56:] if ok else None


def join(p, method=SET):
    """Returns (MGID, JoinState, ComponentMask) of a Set or Delete of MCMemberRecord."""
    record = sa(p, method, MCMEMBER)
    return record and (record[:16], record[48] & 15, unpack_from(">Q", p.payload, 48)[0])


def arp_flags(p):
    """An ARP packet in which the reserved octet of the sender's link-layer address is not 0"""
    return ethertype(p) == 0x0806 and p.payload[4 + 8] != 0


def nd_flags(p):
    """A neighbour solicitation or advertisement whose link-layer address option has a reserved octet that is not 0"""
    ip = p.payload[4:]
    if ethertype(p) != 0x86DD or ip[6] != 58 or ip[40] not in (135, 136):
        return False
    option = ip[64:88]
    return len(option) == 24 and option[:4] in (b"\1\3\0\0", b"\2\3\0\0") and option[4] != 0


def send_only_creates(p):
    """A join as SendOnlyFullMember that contains all values needed to create the group (Q_Key, TClass, FlowLabel,
    SL)."""
    got = join(p)
    return got and got[1] == SEND_ONLY_FULL and got[2] & 0x30C4 == 0x30C4


def send_only_non_member(p):
    got = join(p)
    return got and got[1] == SEND_ONLY_NON


def subscription(p):
    return sa(p, SET, INFORM)


def non_member(p):
    got = join(p)
    return got and got[1] & NON


def foreign_type(p):
    return ethertype(p) not in (None, 0x0800, 0x0806, 0x8035, 0x86DD)


def all_routers(p):
    """An IPv4 packet whose MGID is not the MGID of its destination address"""
    return ethertype(p) == 0x0800 and p.grh and p.payload[20] >> 4 == 14 and \
        p.grh.dgid[12:] != bytes([p.payload[20] & 15]) + p.payload[21:24] and p.grh.dgid[2:4] == b"\x40\x1b"


def mgid_of(kind, ip):
    """Returns the MGID of an IP packet's destination by RFC 4391 (R10 to R14 of CONFORMANCE.md), from octet 2 on; None if it is no group."""
    if kind == 0x86DD and ip[24] == 0xFF:
        return b"\x60\x1b\xff\xff" + ip[30:40]
    if kind == 0x0800 and ip[16:20] == b"\xff" * 4:
        return b"\x40\x1b\xff\xff" + bytes(6) + b"\xff" * 4
    if kind == 0x0800 and ip[16] >> 4 == 14:
        return b"\x40\x1b\xff\xff" + bytes(6) + bytes([ip[16] & 15]) + ip[17:20]
    return None


def breaks(p):
    """The packet breaks a clause of RFC 4391 about IPoIB packets: R5, R6, R10 to R15, R30, R33, R52 or R56 of CONFORMANCE.md.
    The link has P_Key 0xFFFF and Q_Key 0x80000b1b."""
    kind, group = ethertype(p), p.dest_qp == 0xFFFFFF
    if kind is None:
        return False
    ip = p.payload[4:]
    want = mgid_of(kind, ip)
    return p.payload[2:4] != bytes(2) or p.qkey != 0x80000B1B or p.pkey != 0xFFFF or \
        (group and (not p.grh or p.grh.dgid[:2] != b"\xff\x12")) or \
        (want is not None and (not group or p.grh.dgid[2:] != want)) or \
        (kind == 0x0806 and (len(ip) != 56 or ip[:6] != b"\0\x20\x08\0\x14\4"))


def parameters_differ(p):
    """A join that would create a group with another P_Key, Q_Key, SL, MTU or HopLimit than the link has (R68)"""
    got, mad = join(p), p.payload
    if not got or not got[2] & 4:
        return False
    qkey, mtu, pkey, sl_flow_hop = unpack_from(">I", mad, 88)[0], mad[94], unpack_from(">H", mad, 96)[0], mad[100:104]
    return (qkey, mtu, pkey, sl_flow_hop) != (0x80000B1B, 2 << 6 | 4, 0xFFFF, bytes(4)) or got[2] & 0x50B0 != 0x50B0


def leaves(p):
    got = join(p, DELETE)
    return got and got[1] == FULL


KINDS = {
    "breaks-": breaks,
    "parameters-differ-": parameters_differ,
    "leaves": leaves,
    "anything": lambda p: True,
    "arp-flags": arp_flags,
    "nd-flags": nd_flags,
    "send-only-creates": send_only_creates,
    "send-only-non-member-": send_only_non_member,
    "all-routers-": all_routers,
    "subscription-": subscription,
    "non-member-": non_member,
    "foreign-type": foreign_type,
}


def hexdump(raw):
    for at in range(0, len(raw), 32):
        print(raw[at:at + 32].hex(" ", -4))


def find(path, lid, what):
    for p, raw in sent(path, int(lid, 0)):
        if KINDS[what](p):
            hexdump(raw)
            return 0
    return 1


def count(path, lid, what):
    print(sum(bool(KINDS[what](p)) for p, _ in sent(path, int(lid, 0))))
    return 0


def peer(here, there, flags):
    from peer.ipoib import Ipoib
    from peer.port import Hca

    def endpoint(text):
        host, _, port = text.rpartition(":")
        return host, int(port)

    class Flagged(Ipoib):
        def arp(self, operation, address, target):
            data = bytearray(super().arp(operation, address, target))
            data[8] = int(flags, 0)
            return bytes(data)

    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind(endpoint(here))
    hca = Hca(types.SimpleNamespace(guid=PEER_GUID, address=ipaddress.ip_interface("10.4.6.6/16"), pkey=0xFFFF,
                                    peer=endpoint(there)), sock)
    flagged = Flagged(hca, hca.ipoib.address, 0xFFFF)
    hca.ipoib = flagged
    hca.run(lambda: False)


def main():
    verbs = {"find": find, "count": count, "peer": peer}
    if len(sys.argv) != 5 or sys.argv[1] not in verbs or (sys.argv[1] != "peer" and sys.argv[4] not in KINDS):
        sys.exit(__doc__)
    sys.exit(verbs[sys.argv[1]](*sys.argv[2:]))


main()
