# SPDX-License-Identifier: BSD-2-Clause
"""
Checks the packets in the capture argv[1] that LID argv[2] sent to queue pairs of IPoIB: each must have the form that
draft-pelissier-ipoib-encaparp-00 specifies. argv[3] is the GID of the sending port. P1, P2, ... are clauses of CONFORMANCE.md.
"""
import ipaddress
import sys
from struct import pack, unpack_from

sys.path.insert(0, sys.path[0] + "/..")
from sent import opcode, packets, sent  # noqa: E402

lid, gid, qkey = int(sys.argv[2]), ipaddress.ip_address(sys.argv[3]).packed, 0x80000B1B
kinds = dict.fromkeys(("sidr", "request", "reply", "option", "ipv4", "ipv6", "multicast"), 0)


def hardware(p):
    """P14, P20: EUI-64, Reserved8 QPN24, Q_Key32, GID with its first word twice"""
    return pack(">8sII4s16s", gid[8:], p.src_qp, qkey, gid[:4], gid)


def check_ibarp(p, raw, body):
    assert len(p.payload) == 92, p.payload.hex()                                                # P20
    assert len(raw) == (68 if p.grh else 28) + 92 + 6                                           # P21, corrected as in CONFORMANCE.md
    op, = unpack_from(">6xH", body)
    assert body[:6] == bytes.fromhex("002008002004") and op in (1, 2)                           # P23
    who = body[8:44] if op == 1 else body[48:84]                                                # P26, P27: a reply has its own values in the Target fields
    assert who == hardware(p), body.hex()
    assert (op == 1) == (p.dest_qp == 0xFFFFFF)                                                 # P16
    kinds["request" if op == 1 else "reply"] += 1


def check(p, raw):
    reserved, kind = unpack_from(">HH", p.payload)
    body = p.payload[4:]
    assert reserved == 0 and kind in (0x0800, 0x86DD), p.payload.hex()                          # P2-P4, P22
    assert p.pkey == 0xFFFF and p.qkey == qkey
    if p.dest_qp == 0xFFFFFF:
        assert p.grh.dgid[:6] == bytes.fromhex("ff12401bffff" if kind == 0x0800 else "ff12601bffff")
        kinds["multicast"] += 1
    else:
        assert p.grh is None
    if kind == 0x0800 and body[0] >> 4 != 4:
        check_ibarp(p, raw, body)
        return
    kinds["ipv4" if kind == 0x0800 else "ipv6"] += 1
    if kind == 0x86DD and body[6] == 58 and body[40] in (135, 136) and body[64:65] in (b"\1", b"\2"):
        assert body[64:] == pack(">BBH", 1 if body[40] == 135 else 2, 5, 0) + hardware(p), body.hex()  # P14
        kinds["option"] += 1


def main():
    assert all(opcode(raw) == 0x64 for raw in packets(sys.argv[1]))                             # P1: UD, SEND only
    for p, raw in sent(sys.argv[1], lid):
        if p.dest_qp == 1 and p.payload[1] == 7:                                                # P18: SIDR_REQ
            assert unpack_from(">BBBB12xH", p.payload) == (1, 7, 2, 3, 0x17), p.payload.hex()
            kinds["sidr"] += 1
        elif p.dest_qp > 1:
            check(p, raw)
    print(kinds)
    assert all(kinds.values())


main()
