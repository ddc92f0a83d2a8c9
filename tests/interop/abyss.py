#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The other end of a UDP link, which pretends that an endless subnet is behind it.

    abyss.py LISTEN PEER [PORTS]

The program answers each directed-route SMP, whatever its route, as a switch with PORTS ports (default: 254) would. All
ports are up, and each answer to Get(NodeInfo) has a new GUID. LISTEN and PEER are ADDRESS:PORT. SIGTERM ends the
program, which then prints the number of switches for which it has answered.
"""
import collections
import select
import signal
import socket
import sys
from struct import pack

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../../examples")
from peer.link import Link, Timers                  # noqa: E402
from peer.wire import Drop, Packet, decode, encode  # noqa: E402

PORTS = int(sys.argv[3]) if len(sys.argv) > 3 else 254
made, psn = 0, 0


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def node_info():
    global made
    made += 1
    guid = 0xAB155 << 40 | made
    return pack(">BBBBQQQHHIB3s", 1, 1, 2, PORTS, guid, guid, guid, 32, 1, 1, 1, b"\0\0\1")


def port_info():
    i = bytearray(64)
    i[28:34] = pack("6B", 1, 3, 3, 2, 7 << 4 | 4, 5 << 4 | 2)       # Active, LinkUp
    i[35:38] = pack("3B", 4 << 4 | 7, 5 << 4, 3 << 4)
    i[41], i[50] = 5, 1
    return bytes(i)


def answer(mad):
    """Change the SMP @mad into its answer. Return False if @mad gets no answer."""
    if mad[1] != 0x81 or mad[3] not in (1, 2) or mad[4] & 0x80:
        return False
    data = {0x10: lambda: b"abyss", 0x11: node_info, 0x15: port_info,
            0x12: lambda: pack(">HHHHBBBB", 0xBFFF, 0, 64, 0, 0, 0, 0, 0)}.get(mad[17])
    if data and mad[3] == 1:
        mad[64:128] = data().ljust(64, b"\0")
    mad[3], mad[4] = 0x81, 0x80     # 0x80: direction bit of a returning SMP; its hop pointer on the link is that of the request
    return True


def main():
    global psn
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.setblocking(False)
    sock.bind(endpoint(sys.argv[1]))
    timers = Timers()
    link = Link(timers, sock, endpoint(sys.argv[2]), collections.Counter(), lambda up: None)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            select.select([sock], [], [], timers.run(blocking=False))
            for data in link.receive():
                try:
                    packet = decode(data)
                except Drop:
                    continue
                mad = bytearray(packet.payload)
                if packet.dest_qp == 0 and len(mad) == 256 and answer(mad):
                    psn += 1
                    link.send(encode(Packet(15, 0, 0xFFFF, 0xFFFF, None, 0xFFFF, 0, 0, 0, bytes(mad)), psn), 0)
            link.flush()
    except KeyboardInterrupt:
        print(made)


main()
