# SPDX-License-Identifier: BSD-2-Clause
"""The packets that a port has sent, from a capture of `uipoib capture start` or of the key `capture`. Programs in other folders of
tests import this file:

    sys.path.insert(0, sys.path[0] + "/..")     # the folder of this file
    from sent import packets, sent
"""
import os
import sys
from struct import unpack_from

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../examples")
from peer.wire import Drop, decode  # noqa: E402  (CRCs and the headers below IPoIB)


def packets(path):
    """Yields the octets of each packet, from LRH to VCRC."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        length, = unpack_from("<8xI", data, at)
        yield data[at + 32:at + 16 + length]        # without the ERF header
        at += 16 + length


def opcode(raw):
    """Returns the opcode, which is the octet after LRH and GRH. 0x64 means UD, SEND only."""
    return raw[48 if raw[1] & 3 == 3 else 8]


def sent(path, lid):
    """Yields each UD packet that LID has sent, decoded, and its octets."""
    for raw in packets(path):
        try:
            p = decode(raw)
        except Drop:
            continue
        if p.slid == lid:
            yield p, raw
