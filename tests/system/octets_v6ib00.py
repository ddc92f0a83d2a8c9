# SPDX-License-Identifier: BSD-2-Clause
"""
Checks the packets in the capture argv[1] that LID argv[2] sent to queue pairs of IPoIB: each must have the form that
draft-kashyap-ipoib-ipv6-over-ib-00 specifies. argv[3] is the GID of the sending port. V1, V2, ... are clauses of CONFORMANCE.md.
"""
import ipaddress
import sys
from struct import pack, unpack_from

sys.path.insert(0, sys.path[0] + "/..")
from sent import opcode, packets, sent  # noqa: E402

lid, gid, qkey = int(sys.argv[2]), ipaddress.ip_address(sys.argv[3]).packed, 0x80000B1B
kinds = dict.fromkeys(("multicast", "unicast", "option"), 0)


def check(p):
    ip = p.payload
    assert ip[0] >> 4 == 6 and 40 + unpack_from(">H", ip, 4)[0] == len(ip), ip.hex()            # V20
    assert p.pkey == 0xFFFF and p.qkey == qkey                                                  # V14, V17
    if p.dest_qp == 0xFFFFFF:                                                                   # V22
        group = ip[24:40]
        assert p.grh.dgid == bytes([0xFF, 0x10 | group[1] & 15, 0x33, 0x33]) + group[4:], p.grh.dgid.hex()  # V4-V6
        kinds["multicast"] += 1
    else:
        assert p.grh is None                                                                    # V2, V21
        kinds["unicast"] += 1
    if ip[6] == 58 and ip[40] in (135, 136) and ip[64:65] in (b"\1", b"\2"):
        kind = 1 if ip[40] == 135 else 2
        # V10, section 5.1: Type, Length, LID (16 bits), flags (8), QPN (24), Q_Key (32), GID (128), padding
        assert ip[64:] == pack(">BBHII", kind, 4, lid, p.src_qp, qkey) + gid + bytes(4), ip.hex()
        kinds["option"] += 1


def main():
    assert all(opcode(raw) == 0x64 for raw in packets(sys.argv[1]))                             # V1: UD, SEND only
    for p, _ in sent(sys.argv[1], lid):
        if p.dest_qp > 1:
            check(p)
    print(kinds)
    assert all(kinds.values())


main()
