# SPDX-License-Identifier: BSD-2-Clause
"""
Checks the packets in the capture argv[1] that LID argv[2] sent to queue pairs of IPoIB: each must have the form that
draft-kashyap-ipoib-ipv4-multicast-01 specifies. M1, M2, ... are clauses of CONFORMANCE.md. argv[3] has the MLIDs of a group, of the
all-systems group and of the broadcast group. argv[4] has pairs GROUP=INDEX: a packet to GROUP must have been sent to the MLID with this
index. argv[5], if present, is the subnet number of the link, whose groups then have scope 14.
"""
import ipaddress
import sys
from struct import pack, unpack_from

sys.path.insert(0, sys.path[0] + "/..")
from sent import opcode, packets, sent  # noqa: E402

lid, qkey = int(sys.argv[2]), 0x80000B1B
subnet = int(sys.argv[5]) if len(sys.argv) > 5 else 0
SCOPE = bytes([0xFF, 0x1E if subnet else 0x12])


def mgid(kind, ip):
    if kind == 0x86DD:
        return SCOPE + bytes.fromhex("601bffff") + ip[30:40], None
    group = ip[16:20] if kind == 0x0800 and ip[16] >> 4 == 14 else b"\xff" * 4                  # M8
    return SCOPE + bytes(8) + pack(">H", subnet) + group, group                                 # M6, M7, M9-M11


def check(p, raw, seen):
    """Checks one packet. Returns 1 if it is a unicast, otherwise 0."""
    kind, reserved = unpack_from(">HH", p.payload)
    assert kind in (0x0800, 0x0806, 0x8035, 0x86DD) and reserved == 0, raw.hex()
    assert p.pkey == 0xFFFF and p.qkey == qkey
    if p.dest_qp != 0xFFFFFF:
        assert p.grh is None
        return 1
    assert p.grh is not None and p.dlid >= 0xC000                                               # M17
    want, group = mgid(kind, p.payload[4:])
    assert p.grh.dgid == want, raw.hex()
    if group:
        seen.add((str(ipaddress.ip_address(group)), p.dlid))
    return 0


def main():
    mlids = [int(m, 16) if m else 0 for m in sys.argv[3].split(",")]
    want = {(w.split("=")[0], mlids[int(w.split("=")[1])]) for w in sys.argv[4].split()}
    seen = set()
    assert all(opcode(raw) == 0x64 for raw in packets(sys.argv[1]))                             # M1: UD, SEND only
    unicasts = sum(check(p, raw, seen) for p, raw in sent(sys.argv[1], lid) if p.dest_qp > 1)
    print(sorted(seen), unicasts)
    assert unicasts and want <= seen, want - seen


main()
