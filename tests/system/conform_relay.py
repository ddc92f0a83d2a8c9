#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A relay between `uipoib conform` and a DUT. The relay edits packets so that one clause is broken.

    conform_relay.py MUTANT HERE_DUT DUT HERE_SUITE SUITE       (ports of 127.0.0.1)

Datagrams from port DUT to port HERE_DUT are forwarded from port HERE_SUITE to port SUITE, and the other way round. MUTANTS
below has, for each mutant, the packets that it edits, and the change. The implementation in examples/peer computes the
CRCs again.
"""
import os
import selectors
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from peer import wire                       # noqa: E402

BROADCAST = bytes.fromhex("ff12401bffff000000000000ffffffff")
# The MGIDs of the broadcast groups of rfc4391, v4mc01 and v6ib00
BROADCASTS = (BROADCAST, bytes.fromhex("ff12") + bytes(10) + b"\xff" * 4, bytes.fromhex("ff123333") + bytes(11) + b"\1")


class Packet:
    """The octets of a datagram, and where its parts begin."""

    def __init__(self, data):
        self.data = bytearray(data)
        self.ok = len(data) >= 34
        self.grh = self.ok and data[1] & 3 == 3
        self.bth = 48 if self.grh else 8
        self.payload = self.bth + 20
        self.qp = int.from_bytes(data[self.bth + 5:self.bth + 8], "big") if self.ok else -1

    def is_data(self, ethertype=None):
        d = self.data[self.payload:self.payload + 2]
        return self.ok and self.qp > 1 and (ethertype is None or d == ethertype.to_bytes(2, "big"))

    def is_mad(self, mgmt_class, method, attribute):
        p = self.data[self.payload:]
        return self.ok and self.qp in (0, 1) and p[1] == mgmt_class and p[3] == method and \
            p[16:18] == attribute.to_bytes(2, "big")

    def is_join(self):
        return self.is_mad(3, 2, 0x38)

    def joins_broadcast(self):
        return self.is_join() and self.data[self.payload + 56:self.payload + 72] in BROADCASTS

    def joins_group(self, state):
        """Whether the packet is a join, with this JoinState, of a group other than the broadcast group. A join that creates the group does not count."""
        p = self.data[self.payload:]
        return self.is_join() and not self.joins_broadcast() and p[104] & 15 == state and not p[55] & 4

    def is_to_broadcast(self):
        return self.is_data() and self.grh and self.data[32:48] in BROADCASTS

    def set(self, at, octets):
        self.data[at:at + len(octets)] = octets

    def put(self, at, octets):
        """Sets octets at an offset from the payload."""
        self.set(self.payload + at, octets)

    def sealed(self):
        body = self.data[:-6]
        body += wire.icrc(body)
        return bytes(body + wire.vcrc(body))


def edit(condition, change):
    def mutant(p, _):
        if p.ok and condition(p):
            change(p)
            return [p.sealed()]
        return [bytes(p.data)]
    return mutant


def drop(condition):
    return lambda p, _: [] if p.ok and condition(p) else [bytes(p.data)]


def bad_icrc(p, _):
    if not p.is_data():
        return [bytes(p.data)]
    body = p.data[:-6] + b"\0\0\0\0"
    return [bytes(body + wire.vcrc(body))]


def too_early(p, state):
    """Sends a packet of IPoIB before the port is Active."""
    if p.is_mad(0x81, 0x81, 0x11) and not state:
        state.append(True)
        packet = wire.Packet(0, 0, 0xC001, 0, wire.Grh(0, 0, 0, bytes(16), BROADCAST), 0xFFFF, 0xFFFFFF, 0xB1B, 5,
                             bytes.fromhex("08000000" + "45" + 19 * "00"))
        return [wire.encode(packet), bytes(p.data)]
    return [bytes(p.data)]


def always(_):
    return True


def arp(p):
    return p.is_data(0x0806)


def ip4_unicast(p):
    return p.is_data(0x0800) and int.from_bytes(p.data[2:4], "big") < 0xC000


def nd(icmp_type):
    return lambda p: p.is_data(0x86DD) and len(p.data) > p.payload + 72 and p.data[p.payload + 44] == icmp_type


def send_only(p):
    return p.is_join() and p.data[p.payload + 104] & 15 == 4


def path_lid(p):
    lid = int.from_bytes(p.data[2:4], "big")
    p.set(2, (lid & ~1).to_bytes(2, "big"))


def creates(p):
    """Adds the parameters of the broadcast group to a join, which makes the join create its group."""
    p.put(54, bytes([p.data[p.payload + 54] | 0x70, p.data[p.payload + 55] | 0xF4]))
    p.put(88, b"\x80\xc0\xf0\xa1" + bytes(2) + b"\x84\x24\xff\xff")
    p.put(100, b"\x25\xa5\xa1\0")


def creates_at_once(p, state):
    """Makes the first join of 239.129.2.4, the group of the case, create this group."""
    if p.ok and not state and p.joins_group(1) and p.data[p.payload + 68:p.payload + 72] == bytes([239, 129, 2, 4]):
        state.append(True)
        creates(p)
        return [p.sealed()]
    return [bytes(p.data)]


def leaves_too(p, _):
    """Adds to each leave of a FullMember a leave of the broadcast group."""
    if not p.is_mad(3, 0x15, 0x38) or p.data[p.payload + 104] & 15 != 1:
        return [bytes(p.data)]
    first = bytes(p.data)
    p.put(56, BROADCASTS[1])
    return [first, p.sealed()]


def sender_creates(p):
    creates(p)
    p.put(104, b"\x29")


def is_ip6(p):
    """Whether this is an IPv6 packet without an encapsulation header."""
    return p.ok and p.qp > 1 and p.data[p.payload] >> 4 == 6


def option(icmp_type):
    return lambda p: is_ip6(p) and p.data[p.payload + 6] == 58 and p.data[p.payload + 40] == icmp_type and \
        len(p.data) >= p.payload + 64 + 32 + 6


def unicast6(p):
    return is_ip6(p) and int.from_bytes(p.data[2:4], "big") < 0xC000


def joins_3333(p):
    return p.is_join() and not p.joins_broadcast() and p.data[p.payload + 58:p.payload + 60] == b"\x33\x33"


def with_header(p, _):
    """Puts the encapsulation header of RFC 4391 before each IPv6 packet."""
    if not is_ip6(p):
        return [bytes(p.data)]
    p.data[p.payload:p.payload] = b"\x86\xdd\0\0"
    p.set(4, (int.from_bytes(p.data[4:6], "big") + 1).to_bytes(2, "big"))
    if p.grh:
        p.set(12, (int.from_bytes(p.data[12:14], "big") + 4).to_bytes(2, "big"))
    return [p.sealed()]


def ibarp(operation):
    """Returns a condition: an IBARP message of this operation behind the header of encaparp00."""
    return lambda p: p.ok and p.qp > 1 and p.data[p.payload + 2:p.payload + 6] == b"\x08\0\0\x20" and \
        p.data[p.payload + 11] == operation


def any_ibarp(p):
    return ibarp(1)(p) or ibarp(2)(p)


def ea_ip6(p):
    return p.ok and p.qp > 1 and p.data[p.payload + 2:p.payload + 4] == b"\x86\xdd"


def has_qkey(*octets):
    return lambda p: p.ok and p.qp > 1 and p.data[p.bth + 12:p.bth + 16] == bytes(octets)


def group_qkey(p):
    p.set(p.bth + 12, b"\x80\xc0\xf0\xa1")


def to_group(*octets):
    return lambda p: p.is_data(0x0800) and p.data[p.payload + 20:p.payload + 24] == bytes(octets)


def dhcp(*types):
    """Returns a condition: a DHCP message of a client, whose first option is the message type."""
    def condition(p):
        d = p.data[p.payload:]
        return p.is_data(0x0800) and len(d) > 275 and d[13] == 17 and d[26:28] == b"\0\x43" and d[272:274] == b"\x35\1" and d[274] in types
    return condition


def has_ciaddr(p):
    return any(p.data[p.payload + 44:p.payload + 48])


def other_client_id(p):
    at = p.data.find(b"\x3d\x0f\xff", p.payload + 272)
    if at > 0:
        p.set(at + 2, b"\1")


def has_pkey(octets):
    return lambda p: p.data[p.bth + 2:p.bth + 4] == octets


# --- the second partition (P_Key 0x8014) of a DUT with the link profile hld2002

PART, PART_QKEY, FIRST_QKEY = b"\x80\x14", bytes.fromhex("80c0f0b2"), bytes.fromhex("80c0f0a2")
SEEN = {}                                   # values that the two directions of a mutant share


def of_part(p):
    return p.is_data() and has_pkey(PART)(p)


def joins_part(p):
    return p.is_join() and p.data[p.payload + 56:p.payload + 72] == BROADCAST[:4] + PART + BROADCAST[6:]


def sets_pkeys(p):
    """Returns the entries of the P_Key table if the packet sets them."""
    return bytes(p.data[p.payload + 64:p.payload + 70]) if p.is_mad(0x81, 2, 0x16) else None


def is_echo_reply(p):
    return p.is_data(0x0800) and p.data[p.payload + 13] == 1 and p.data[p.payload + 24] == 0


def echo_reply(seq):
    return lambda p: is_echo_reply(p) and p.data[p.payload + 30:p.payload + 32] == seq.to_bytes(2, "big")


def held_order(p, state):
    """Sends the DUT's answer to ping 0x2200 only after its answer to ping 0x2201, so that their order is wrong."""
    if echo_reply(0x2200)(p):
        state.append(bytes(p.data))
        return []
    return [bytes(p.data)] + ([state.pop()] if state and echo_reply(0x2201)(p) else [])


def held_kept(p, state):
    """Adds, after the first reply to a ping 0x25NN, a reply to ping 0x2501. The DUT should have discarded this reply when the SA
    refused its request."""
    datagrams = [bytes(p.data)]
    if is_echo_reply(p) and p.data[p.payload + 30] == 0x25 and not state:
        state.append(True)
        p.put(30, b"\x25\1")
        datagrams.append(p.sealed())
    return datagrams


def part_early(p, state):
    if not joins_part(p) or state:
        return [bytes(p.data)]
    state.append(True)
    group = BROADCAST[:4] + PART + BROADCAST[6:]
    packet = wire.Packet(0, 0, 0xC001, 0x10, wire.Grh(0, 0, 0, bytes(16), group), 0x8014, 0xFFFFFF, 0xB1B, 5,
                         bytes.fromhex("08000000" + "45" + 19 * "00"))
    return [wire.encode(packet), bytes(p.data)]


def part_gives_up(p, state):
    """Drops every join of the second partition's group after the first one, so that the DUT seems to give up after a refusal."""
    if not joins_part(p):
        return [bytes(p.data)]
    state.append(True)
    return [bytes(p.data)] if len(state) == 1 else []


def part_one_link(p, state):
    """Drops the first link's IPv4 packets as soon as the second link has sent a packet, so that the first link seems to have stopped."""
    state += [True] if of_part(p) and not state else []
    return [] if state and p.is_data(0x0800) and has_pkey(b"\xff\xff")(p) else [bytes(p.data)]


def part_one_qp(p, _):
    """Makes packets of the second link come from the queue pair of the first one."""
    if p.is_data() and has_pkey(b"\xff\xff")(p):
        SEEN["qp"] = bytes(p.data[p.bth + 17:p.bth + 20])
    if not of_part(p):
        return [bytes(p.data)]
    SEEN["part"] = bytes(p.data[p.bth + 17:p.bth + 20])
    p.set(p.bth + 17, SEEN["qp"])
    if arp(p):
        p.put(13, SEEN["qp"])
    return [p.sealed()]


def to_part_qp(p, _):
    if not of_part(p) or p.data[p.bth + 5:p.bth + 8] != SEEN.get("qp"):
        return [bytes(p.data)]
    p.set(p.bth + 5, SEEN["part"])
    return [p.sealed()]


def any_part(p):
    """Whether the packet has the P_Key of one link and the Q_Key of the other. The Q_Key shows to which link's queue pair it is sent."""
    return p.is_data() and (has_qkey(*PART_QKEY)(p) and not of_part(p) or has_qkey(*FIRST_QKEY)(p) and of_part(p))


def fix_part(p):
    p.set(p.bth + 2, PART if has_qkey(*PART_QKEY)(p) else b"\xff\xff")


def by_first_link(p):
    p.set(p.bth + 2, b"\xff\xff")
    p.set(p.bth + 12, FIRST_QKEY)
    p.set(36, b"\xff\xff")                  # in the DGID


def part_stays(p, state):
    """Keeps the second P_Key in the table after it has been there once."""
    pkeys = sets_pkeys(p)
    if pkeys and PART in (pkeys[2:4], pkeys[4:6]):
        state.append(True)
    elif pkeys and state:
        p.put(66, PART)
        return [p.sealed()]
    return [bytes(p.data)]


def sees_third(p, _):
    SEEN["third"] = SEEN.get("third") or (sets_pkeys(p) or b"")[2:4] == b"\x80\x15"
    return [bytes(p.data)]


def part_outside(p, _):
    """Adds a join for the third P_Key."""
    datagrams = [bytes(p.data)]
    if joins_part(p) and SEEN.pop("third", False):
        p.put(8, b"\x77")                   # a transaction of its own, which the DUT does not know
        p.put(60, b"\x80\x15")
        p.put(94, b"\x80\x15")
        datagrams.append(p.sealed())
    return datagrams


def part_slow(p, state):
    """Drops the DUT's packets on the second link for 10 s after each join of its broadcast group, as if the link became usable only then."""
    if joins_part(p):
        state[:] = [time.monotonic() + 10]
    return [] if state and of_part(p) and time.monotonic() < state[0] else [bytes(p.data)]


def fewer_tries(p, state):
    """Drops the second try of each join."""
    if joins_part(p):
        state.append(bytes(p.data[p.payload + 8:p.payload + 16]))
        if state.count(state[-1]) == 2:
            return []
    return [bytes(p.data)]


def leaves_all_systems(p):
    return p.is_mad(3, 0x15, 0x38) and p.data[p.payload + 56:p.payload + 72] == BROADCAST[:12] + b"\0\0\0\1"


# For each mutant, the change that it makes to packets of the DUT
MUTANTS = {
    # one clause is broken
    "reserved": edit(lambda p: p.is_data(), lambda p: p.put(2, b"\0\1")),
    "exchanged": edit(lambda p: p.is_data(), lambda p: p.put(0, bytes(2) + bytes(p.data[p.payload:p.payload + 2]))),
    "ethertype": edit(lambda p: p.is_data(0x86DD), lambda p: p.put(0, b"\x86\xde")),
    "qkey": edit(lambda p: p.is_data(), lambda p: p.set(p.bth + 12, b"\0")),
    "pkey": edit(lambda p: p.is_data(), lambda p: p.set(p.bth + 2, b"\x7f")),
    "sl": edit(Packet.is_to_broadcast, lambda p: p.set(1, bytes([p.data[1] & 15]))),
    "mlid": edit(Packet.is_to_broadcast, lambda p: p.set(2, b"\xc0\0")),
    "flow-label": edit(Packet.is_to_broadcast, lambda p: p.set(10, b"\0\0")),
    "icrc": bad_icrc,
    "early": too_early,
    "vl": edit(lambda p: p.qp == 0, lambda p: p.set(0, bytes([p.data[0] & 15]))),
    "return-path": edit(lambda p: p.is_mad(0x81, 0x81, 0x11), lambda p: p.put(193, b"\2")),
    "skip-init": edit(lambda p: p.is_mad(0x81, 0x81, 0x15) and p.data[p.payload + 5] == 0x1C, lambda p: p.put(5, b"\0")),
    "reregister": edit(lambda p: p.is_mad(0x81, 0x81, 0x15),
                       lambda p: p.put(115, bytes([p.data[p.payload + 115] & 0x7F]))),
    "mask": edit(Packet.joins_broadcast, lambda p: p.put(55, bytes([p.data[p.payload + 55] & ~2]))),
    "join-state": edit(Packet.joins_broadcast, lambda p: p.put(104, b"\x22")),
    "t-flag": edit(Packet.joins_broadcast, lambda p: p.put(57, b"\x02")),
    "scope": edit(Packet.joins_broadcast, lambda p: p.put(57, b"\x15")),
    "signature": edit(Packet.joins_broadcast, lambda p: p.put(58, b"\x40\x1c")),
    "mgid-pkey": edit(Packet.joins_broadcast, lambda p: p.put(60, b"\x7f")),
    "group-id": edit(Packet.joins_broadcast, lambda p: p.put(68, b"\x0f")),
    "port-gid": edit(Packet.joins_broadcast, lambda p: p.put(87, b"\x77")),
    "silent-subscriber": drop(lambda p: p.is_mad(3, 2, 3)),
    "hardware-type": edit(arp, lambda p: p.put(4, b"\0\1")),
    "lladdr-reserved": edit(arp, lambda p: p.put(12, b"\x80")),
    "lladdr-qpn": edit(arp, lambda p: p.put(13, b"\x77")),
    "arp-to-lid": edit(lambda p: arp(p) and p.data[p.payload + 11] == 2, lambda p: p.put(36, b"\x05")),
    "option-length": edit(nd(136), lambda p: p.put(69, b"\2")),
    "option-zeros": edit(nd(136), lambda p: p.put(70, b"\0\2")),
    "option-reserved": edit(nd(136), lambda p: p.put(72, b"\x80")),
    "path-lid": edit(ip4_unicast, path_lid),
    "path-sl": edit(ip4_unicast, lambda p: p.set(1, bytes([p.data[1] & 15 | 0x20]))),
    "path-mask": edit(lambda p: p.is_mad(3, 1, 0x35), lambda p: p.put(55, bytes([p.data[p.payload + 55] & ~8]))),
    "create-sl": edit(lambda p: p.is_join() and not p.joins_broadcast(), lambda p: p.put(100, b"\x15")),
    "full-member-sender": edit(send_only, lambda p: p.put(104, b"\x21")),
    "no-leave": drop(lambda p: p.is_mad(3, 0x15, 0x38)),
    "mgid-word": edit(Packet.joins_broadcast, lambda p: p.put(62, b"\1")),
    "28-bits": edit(lambda p: p.is_join() and p.data[p.payload + 68] >> 4 == 14,
                    lambda p: p.put(68, bytes([p.data[p.payload + 68] & 15]))),
    "fallback-mgid": edit(lambda p: to_group(239, 7, 0, 4)(p) and p.data[44:48] == bytes([239, 7, 0, 4]),
                          lambda p: p.set(44, b"\xff" * 4)),
    "creates-at-once": creates_at_once,
    "sender-creates": edit(lambda p: p.joins_group(4) and p.data[p.payload + 68:p.payload + 72] == bytes([239, 7, 0, 6]),
                           sender_creates),
    "other-lender": edit(to_group(239, 7, 0, 4), lambda p: p.set(2, b"\xc0\2")),
    "leave-bits": edit(lambda p: p.is_mad(3, 0x15, 0x38), lambda p: p.put(104, b"\x2b")),
    "leaves-broadcast": leaves_too,
    "group-word": edit(Packet.joins_broadcast, lambda p: p.put(70, b"\1")),
    "signature-3333": edit(joins_3333, lambda p: p.put(59, b"\x34")),
    "t-flag-3333": edit(joins_3333, lambda p: p.put(57, bytes([p.data[p.payload + 57] & 15]))),
    "scope-3333": edit(joins_3333, lambda p: p.put(57, b"\x12")),
    "v6-option-length": edit(option(136), lambda p: p.put(65, b"\3")),
    "v6-option-lid": edit(option(136), lambda p: p.put(66, b"\0\7")),
    "v6-option-flags": edit(option(136), lambda p: p.put(68, b"\4")),
    "v6-option-qkey": edit(option(136), lambda p: p.put(72, b"\0\0\0\1")),
    "v6-qkey": edit(lambda p: p.data[p.bth + 12:p.bth + 16] == b"\x14\0\xc0\xf0",
                    lambda p: p.set(p.bth + 12, b"\x80\xc0\xf0\xa1")),
    "v6-sl": edit(unicast6, lambda p: p.set(1, bytes([p.data[1] & 15 | 0x10]))),
    "v6-header": with_header,
    "ea-exchanged": edit(lambda p: p.is_data(), lambda p: p.put(0, bytes(p.data[p.payload + 2:p.payload + 4]) + bytes(2))),
    "ea-reserved": edit(lambda p: p.is_data(), lambda p: p.put(0, b"\0\1")),
    "ea-ethertype": edit(ea_ip6, lambda p: p.put(2, b"\x86\xde")),
    "ea-ibarp-type": edit(any_ibarp, lambda p: p.put(2, b"\x08\6")),
    "ea-hlen": edit(any_ibarp, lambda p: p.put(8, b"\x24")),
    "ea-target": edit(ibarp(2), lambda p: p.put(61, b"\x77")),
    "ea-sender": edit(ibarp(1), lambda p: p.put(12, b"\x77")),
    "ea-reply-qkey": edit(has_qkey(0x15, 0, 0xC0, 0xF0), group_qkey),
    "ea-peer-qkey": edit(has_qkey(0x16, 0, 0xC0, 0xF0), group_qkey),
    "ea-option": edit(lambda p: ea_ip6(p) and p.data[p.payload + 44] == 136 and p.data[p.payload + 69] == 5,
                      lambda p: p.put(69, b"\3")),
    "ea-sidr": edit(lambda p: p.is_mad(7, 3, 0x17), lambda p: p.put(39, b"\x77")),
    "ea-tclass": edit(Packet.is_to_broadcast, lambda p: p.set(8, b"\x60")),
    "rarp-type": edit(lambda p: p.is_data(0x8035), lambda p: p.put(4, b"\0\1")),
    "pma-sl": edit(lambda p: p.is_mad(4, 0x81, 1), lambda p: p.set(1, bytes([p.data[1] & 15 | 0x40]))),
    "pma-dgid": edit(lambda p: p.grh and p.is_mad(4, 0x81, 1), lambda p: p.set(47, b"\x77")),
    "pma-attribute": edit(lambda p: p.is_mad(4, 0x81, 0x7F7F), lambda p: p.put(4, b"\0\0")),
    "pma-frozen": edit(lambda p: p.is_mad(4, 0x81, 0x12), lambda p: p.put(96, bytes(4))),
    "dhcp-htype": edit(dhcp(1, 3), lambda p: p.put(33, b"\1")),
    "dhcp-release": edit(dhcp(7), lambda p: p.put(60, b"\x80")),
    "dhcp-id": edit(dhcp(1, 3), other_client_id),
    "dhcp-no-flag": edit(lambda p: dhcp(1, 3)(p) and not has_ciaddr(p), lambda p: p.put(42, b"\0")),
    "dhcp-flag": edit(lambda p: dhcp(3)(p) and has_ciaddr(p), lambda p: p.put(42, b"\x80")),
    "router-full": edit(lambda p: p.joins_group(2), lambda p: p.put(104, b"\x21")),
    "limited-mgid": edit(lambda p: p.joins_broadcast() and has_pkey(b"\x7f\xff")(p), lambda p: p.put(60, b"\x7f")),
    "limited-pkey": edit(lambda p: p.is_data() and has_pkey(b"\x7f\xff")(p), lambda p: p.set(p.bth + 2, b"\xff")),
    "keeps-mtu": drop(lambda p: p.is_data() and len(p.data) > 2200),
    "held-order": held_order,
    "held-kept": held_kept,
    "part-join-state": edit(joins_part, lambda p: p.put(104, b"\x22")),
    "part-creates": edit(joins_part, creates),
    "part-early": part_early,
    "part-gives-up": part_gives_up,
    "part-one-link": part_one_link,
    "part-one-qp": part_one_qp,
    "part-mtu": drop(lambda p: of_part(p) and len(p.data) > 700),
    "part-name": edit(to_group(239, 20, 0, 1), by_first_link),
    "part-outside": part_outside,
    "part-slow": part_slow,
    "fewer-tries": fewer_tries,
    "no-release": drop(leaves_all_systems),
    # nothing visible is broken
    "none": edit(always, lambda p: None),
    "psn": edit(lambda p: p.qp > 1, lambda p: p.set(p.bth + 9, b"\x12\x34\x56")),
    "solicited": edit(lambda p: p.qp > 1, lambda p: p.set(p.bth + 1, bytes([p.data[p.bth + 1] | 0x80]))),
    "transits": edit(always, lambda p: p.set(p.bth + 4, b"\x05")),
    "description": edit(lambda p: p.is_mad(0x81, 0x81, 0x10), lambda p: p.put(64, b"another")),
    "twice": lambda p, _: [bytes(p.data)] * (2 if p.is_data() else 1),
    "keepalives": lambda p, _: [b"", bytes(p.data), b""],
}


def fix_qkey(p):
    p.set(p.bth + 12, b"\x80\xc0\xf0\xa1")


def fix_pkey(p):
    p.set(p.bth + 2, b"\xff\xff")


def wrong_qkey(p):
    return p.is_data() and p.data[p.bth + 12:p.bth + 16] == b"\x80\xc0\xf0\xb1"


# Changes to packets that are sent to the DUT. Each change makes the DUT look as if it broke a clause. For example, a packet that
# the DUT must ignore is made acceptable, or a packet that the DUT must accept is removed.
MUTANTS_IN = {
    "any-qkey": edit(wrong_qkey, fix_qkey),
    "any-pkey": edit(lambda p: p.is_data() and p.data[p.bth + 2] == 0x81, fix_pkey),
    "needs-grh": drop(lambda p: p.is_data() and not p.grh),
    "needs-zero": drop(lambda p: p.is_data() and p.data[p.payload + 2:p.payload + 4] != b"\0\0"),
    "minds-flags": drop(lambda p: arp(p) and p.data[p.payload + 12] != 0),
    "small-mtu": drop(lambda p: p.is_data() and len(p.data) > 1600),
    "any-hardware": edit(lambda p: arp(p), lambda p: p.put(4, b"\0\x20")),
    "v6-short": drop(lambda p: option(136)(p) and p.data[p.payload + 65] == 5),
    "v6-needs-no-flags": drop(lambda p: option(136)(p) and p.data[p.payload + 68] != 0),
    "ea-needs-copy": drop(lambda p: ibarp(1)(p) and len(p.data) == p.payload + 84 + 6),
    "keeps-pkey": edit(lambda p: p.is_mad(0x81, 2, 0x16), lambda p: p.put(64, b"\xff\xff")),
    "pma-clears-all": edit(lambda p: p.is_mad(4, 2, 0x12), lambda p: p.put(66, b"\xff\xff")),
    "dhcp-no-offer": drop(lambda p: p.is_data(0x0800) and p.data[p.payload + 24:p.payload + 28] == b"\0\x43\0\x44"),
    "router-deaf": drop(lambda p: p.is_mad(3, 6, 2) and bytes([15, 70, 0, 2]) in p.data),
    "any-limited": edit(lambda p: p.is_data() and has_pkey(b"\x7f\xff")(p), fix_pkey),
    "any-type": edit(lambda p: p.is_data() and p.data[p.payload + 4] == 0x45, lambda p: p.put(0, b"\x08\0")),
    "part-one-qp": to_part_qp,
    "any-part": edit(any_part, fix_part),
    "part-stays": part_stays,
    "part-outside": sees_third,
    "any-mkey": edit(lambda p: p.qp == 0 and p.is_mad(0x81, 2, 0x15) and p.data[p.payload + 31] == 1,
                     lambda p: p.put(31, b"\0")),
}


def main():
    name = sys.argv[1]
    here_dut, dut, here_suite, suite = (("127.0.0.1", int(p)) for p in sys.argv[2:])
    out, into = MUTANTS.get(name, MUTANTS["none"]), MUTANTS_IN.get(name, MUTANTS["none"])
    if name not in MUTANTS and name not in MUTANTS_IN:
        sys.exit(f"no mutant {name}")
    select, ends = selectors.DefaultSelector(), []
    for address in (here_dut, here_suite):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        s.bind(address)
        ends.append(s)
    select.register(ends[0], selectors.EVENT_READ, (dut, ends[1], suite, out, []))
    select.register(ends[1], selectors.EVENT_READ, (suite, ends[0], dut, into, []))
    print("ready", flush=True)
    while True:
        for key, _ in select.select():
            source, other, to, mutant, state = key.data
            data, sender = key.fileobj.recvfrom(65536)
            if sender != source:
                continue
            for datagram in mutant(Packet(data), state) if data else [data]:
                other.sendto(datagram, to)


main()
