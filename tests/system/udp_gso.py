#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Captures the datagrams of a link over UDP and reports them.

    udp_gso.py DEVICE PORT IP_PORT   print "ready", capture until SIGTERM, then print a report as JSON

The report is about the datagrams that leave by DEVICE to PORT. Each of them has to be empty, or one packet as doc/udp-link.md specifies it.
"flow" is the number of IPoIB packets that contain UDP datagrams to IP_PORT. "digest" is a digest of these packets, in their order, without
the fields that differ from run to run: PSN, identification, source port, and the checksums and CRCs over them. "not_behind" counts packets
whose PSN is not higher than that of the packet before from the same queue pair.
"""
import hashlib
import json
import os
import select
import signal
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../examples"))
from peer.wire import icrc, vcrc    # noqa: E402

SO_RCVBUFFORCE = 33
ETH_P_IP = 0x0800
GRH, IPOIB = 40, 28     # length of a GRH; offset of the encapsulation header in a packet without a GRH


def datagrams(device, port):
    """Yields the UDP payloads that leave by DEVICE, until SIGTERM has come and all packets that were captured before it have been read."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))   # ETH_P_ALL, which includes packets that are sent
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
    s.bind((device, 3))
    # A handler that raised an exception could lose the packet that recvfrom() has just returned, so SIGTERM only wakes select().
    r, w = os.pipe()
    os.set_blocking(w, False)
    signal.set_wakeup_fd(w)
    signal.signal(signal.SIGTERM, lambda *_: None)
    s.setblocking(False)
    print("ready", flush=True)
    frames = []
    ended = False
    while not ended:
        ended = r in select.select([s, r], [], [])[0]
        try:
            while True:
                frames.append(s.recvfrom(1 << 17))
        except BlockingIOError:
            pass
    udp = b""
    for frame, address in frames:
        ip = frame[14:]
        if address[2] != socket.PACKET_OUTGOING or address[1] != ETH_P_IP or ip[9] != 17:
            continue
        fragment = int.from_bytes(ip[6:8], "big")       # MF and the offset, in units of 8 octets
        if (fragment & 0x1FFF) * 8 != (len(udp) if fragment & 0x1FFF else 0):
            sys.exit("a fragment is missing")
        udp = (udp if fragment & 0x1FFF else b"") + ip[(ip[0] & 15) * 4:int.from_bytes(ip[2:4], "big")]
        if not fragment & 0x2000 and int.from_bytes(udp[2:4], "big") == port:
            yield udp[8:int.from_bytes(udp[4:6], "big")]


def judge(p):
    if len(p) < 14 or len(p) > 4222 or len(p) != 4 * (int.from_bytes(p[4:6], "big") & 0x7FF) + 2:
        sys.exit(f"a datagram of {len(p)} octets is not one packet: {p[:16].hex()}")
    if p[-2:] != vcrc(p[:-2]):
        sys.exit(f"VCRC of {p[:68].hex()}")
    if p[-6:-2] != icrc(p[:-6]):
        sys.exit(f"ICRC of {p[:68].hex()}")


def without_variables(p, at):
    p = bytearray(p[:-6])
    p[at - 11:at - 8] = bytes(3)            # PSN
    p[at + 8:at + 10] = bytes(2)            # IPv4 identification, header checksum, UDP source port and checksum
    p[at + 14:at + 16] = bytes(2)
    p[at + 24:at + 26] = bytes(2)
    p[at + 30:at + 32] = bytes(2)
    return p


def main(device, port, ip_port):
    seen = {"packets": 0, "keepalives": 0, "flow": 0, "not_behind": 0}
    digest, psns = hashlib.sha256(), {}
    for p in datagrams(device, int(port)):
        if not p:
            seen["keepalives"] += 1
            continue
        seen["packets"] += 1
        judge(p)
        at = IPOIB + (GRH if p[1] & 3 == 3 else 0)
        qp, psn = p[at - 3:at], int.from_bytes(p[at - 11:at - 8], "big")
        # A queue pair also sends packets to groups that have no members at this link. These packets are missing on
        # the link, so PSNs can have gaps, but must not decrease. The SM can send MADs (QP0 and QP1) at any moment. Their PSNs
        # are not checked, because they are all 0.
        if qp > b"\0\0\1":
            seen["not_behind"] += not 0 < (psn - psns.get(qp, psn - 1) & 0xFFFFFF) < 1 << 23
            psns[qp] = psn
        if p[at:at + 2] == b"\x08\x00" and p[at + 4] == 0x45 and p[at + 13] == 17 and \
                int.from_bytes(p[at + 26:at + 28], "big") == int(ip_port):
            seen["flow"] += 1
            digest.update(without_variables(p, at))
    print(json.dumps(seen | {"digest": digest.hexdigest()}))


main(*sys.argv[1:])
