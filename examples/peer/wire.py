# SPDX-License-Identifier: BSD-2-Clause
"""Packets from LRH to VCRC, and their CRCs (IBTA volume 1, chapters 7 and 9)."""
import collections
from struct import pack, unpack_from

LID_PERMISSIVE, LID_MULTICAST = 0xFFFF, 0xC000
QPN_MULTICAST, QP1_QKEY = 0xFFFFFF, 0x80010000


class Drop(Exception):
    """Raised to drop a packet. The argument is the reason under which the drop is counted."""


# --- CRCs (IBTA volume 1, 7.8)

def crc_table(polynomial):
    table = list(range(256))
    for _ in range(8):
        table = [c >> 1 ^ (polynomial if c & 1 else 0) for c in table]
    return table


CRC32, CRC16 = crc_table(0xEDB88320), crc_table(0xD008)


def crc(table, ones, data):
    value = ones
    for octet in data:
        value = value >> 8 ^ table[(value ^ octet) & 0xFF]
    return value ^ ones


def masked(packet):
    """Returns the octets from LRH to pad for the ICRC, with ones in place of the fields that switches and routers may change."""
    p = bytearray(packet)
    bth = 8
    if p[1] & 3 == 3:                                   # with a GRH these are all of the LRH, TClass,
        p[0:8], p[9:12], p[15] = b"\xff" * 8, b"\xff" * 3, 0xFF     # FlowLabel and HopLmt
        p[8] |= 0x0F
        bth = 48
    else:
        p[0] |= 0xF0                                    # without a GRH only the VL
    p[bth + 4] = 0xFF                                   # BTH.Resv8a
    return p


def icrc(packet):
    return crc(CRC32, 0xFFFFFFFF, masked(packet)).to_bytes(4, "little")


def vcrc(packet):
    return crc(CRC16, 0xFFFF, packet).to_bytes(2, "little")


# --- packets: LRH [GRH] BTH DETH payload pad ICRC VCRC

Grh = collections.namedtuple("Grh", "tclass flow hop_limit sgid dgid")
Packet = collections.namedtuple("Packet", "vl sl dlid slid grh pkey dest_qp qkey src_qp payload")


def encode(p, psn=0):
    pad = -len(p.payload) % 4
    body = pack(">BBHIIII", 0x64, pad << 4, p.pkey, p.dest_qp, psn & 0xFFFFFF, p.qkey, p.src_qp)
    body += p.payload + bytes(pad)
    if p.grh:
        word = 6 << 28 | p.grh.tclass << 20 | p.grh.flow
        body = pack(">IHBB16s16s", word, len(body) + 4, 0x1B, p.grh.hop_limit, p.grh.sgid,
                    p.grh.dgid) + body
    words = (8 + len(body) + 4) // 4                    # LRH .. ICRC
    lnh = 3 if p.grh else 2
    packet = pack(">BBHHH", p.vl << 4, p.sl << 4 | lnh, p.dlid, words, p.slid) + body
    packet += icrc(packet)
    return packet + vcrc(packet)


def check_link(data):
    """Makes the checks of the receiving end of a link."""
    if not 14 <= len(data) <= 4222:
        raise Drop("length")
    if data[0] & 15:
        raise Drop("lver")
    if (unpack_from(">H", data, 4)[0] & 0x7FF) * 4 + 2 != len(data):
        raise Drop("pktlen")
    if vcrc(data[:-2]) != data[-2:]:
        raise Drop("vcrc")


def decode(data):
    """Makes the checks of an end port, and returns the fields of the packet."""
    lnh, grh, at = data[1] & 3, None, 8
    if lnh not in (2, 3) or len(data) < (34 if lnh == 2 else 74):
        raise Drop("transport")
    if icrc(data[:-6]) != data[-6:-2]:
        raise Drop("icrc")
    if lnh == 3:
        word, length, next_header, hop_limit, sgid, dgid = unpack_from(">IHBB16s16s", data, 8)
        if word >> 28 != 6 or next_header != 0x1B or length != len(data) - 50:
            raise Drop("grh")
        grh, at = Grh(word >> 20 & 0xFF, word & 0xFFFFF, hop_limit, sgid, dgid), 48
    opcode, flags, pkey, dest_qp, _, qkey, src_qp = unpack_from(">BBHIIII", data, at)
    end = len(data) - 6 - (flags >> 4 & 3)
    if opcode != 0x64 or flags & 15 or end < at + 20:   # UD SEND-only, TVer 0
        raise Drop("transport")
    _, _, dlid, _, slid = unpack_from(">BBHHH", data)
    return Packet(data[0] >> 4, data[1] >> 4, dlid, slid, grh, pkey, dest_qp & 0xFFFFFF, qkey,
                  src_qp & 0xFFFFFF, data[at + 20:end])



def pkey_match(a, b):
    """Tells whether two P_Keys match (10.9.3): they are of the same partition, and not both of limited members."""
    return (a ^ b) & 0x7FFF == 0 and a & 0x7FFF != 0 and (a | b) & 0x8000 != 0
