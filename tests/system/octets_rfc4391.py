# SPDX-License-Identifier: BSD-2-Clause
"""
Checks the packets in the capture argv[1] that LID argv[2] sent with P_Key argv[4] to queue pairs of IPoIB: each must have the form of
the figures of RFC 4391. argv[3] is the GID of the sending port. The expected octets are made here from the figures, without code of uipoib:

    section 6, figure 3:    16 bits Type, 16 bits Reserved, which are zero
    section 4, figure 2:    MGID = FF12, 401B or 601B, P_Key, then the low 28 bits of an IPv4 group
                            (all 32 bits of 255.255.255.255), or the low 80 bits of an IPv6 group
    section 9.1.1, figure 5: address = 8 bits Reserved, 24 bits QPN, 128 bits GID
    section 9.2:            ARP of RFC 826 with hardware type 32 and addresses of 20 and 4 octets
    section 9.3:            option = Type, Length 3, two octets of zero, address
"""
import ipaddress
import sys
from struct import pack, unpack_from

sys.path.insert(0, sys.path[0] + "/..")
from sent import sent  # noqa: E402

lid, gid, pkey = int(sys.argv[2]), ipaddress.ip_address(sys.argv[3]).packed, int(sys.argv[4], 0)
IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
BROADCAST, ROUTERS4, ROUTERS6 = bytes([255] * 4), bytes([224, 0, 0, 2]), bytes.fromhex("ff02" + "00" * 13 + "02")


def mgid(group):
    if len(group) == 16:
        return pack(">HHH", 0xFF12, 0x601B, pkey) + group[6:]
    low = int.from_bytes(group, "big")
    return pack(">HHH6xI", 0xFF12, 0x401B, pkey, low if group == BROADCAST else low & 0x0FFFFFFF)


def check_multicast(p, group):
    routers = ROUTERS6 if len(group) == 16 else ROUTERS4    # for a group that does not exist (section 10)
    assert p.grh.dgid in (mgid(group), mgid(routers)), p.grh.dgid.hex()
    assert p.grh.sgid == gid


def check(p, kinds):
    address = pack(">BBH", 0, p.src_qp >> 16, p.src_qp & 0xFFFF) + gid
    kind, reserved = unpack_from(">HH", p.payload)
    ip = p.payload[4:]
    assert reserved == 0 and kind in (IPV4, ARP, IPV6), p.payload.hex()
    multicast = p.dest_qp == 0xFFFFFF
    assert multicast == (p.grh is not None)
    if kind == ARP:
        op, = unpack_from(">6xH", ip)
        assert len(ip) == 56 and ip[:6] == bytes.fromhex("002008001404") and op in (1, 2), ip.hex()
        assert ip[8:28] == address, ip.hex()
        if multicast:
            check_multicast(p, BROADCAST)
        kinds["request" if op == 1 else "reply"] += 1
        return
    assert ip[0] >> 4 == (4 if kind == IPV4 else 6), ip.hex()
    if multicast:
        check_multicast(p, ip[16:20] if kind == IPV4 else ip[24:40])
    kinds["multicast" if multicast else "ipv4" if kind == IPV4 else "ipv6"] += 1
    if kind == IPV6 and ip[6] == 58 and ip[40] in (135, 136) and ip[64:65] in (b"\1", b"\2"):
        assert ip[64:] == pack(">BBH", 1 if ip[40] == 135 else 2, 3, 0) + address, ip.hex()
        kinds["option"] += 1


def main():
    kinds = dict.fromkeys(("ipv4", "ipv6", "multicast", "request", "reply", "option"), 0)
    for p, _ in sent(sys.argv[1], lid):
        if p.dest_qp > 1 and p.pkey == pkey:
            check(p, kinds)
    print(kinds)
    assert all(kinds.values())


main()
