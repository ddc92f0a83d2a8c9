#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Data whose receiver knows whether it is what was sent, whatever checksums on the way say.

    integrity.py udp-recv ADDRESS PORT [GROUP]          until SIGTERM; prints "ready", "first", JSON
    integrity.py udp-send ADDRESS PORT TO COUNT SIZE    from ADDRESS to TO, without UDP checksums
    integrity.py tcp-recv ADDRESS PORT                  one connection; prints "ready", in the end JSON
    integrity.py tcp-send ADDRESS PORT TO OCTETS

A UDP datagram is a number of 8 octets, a SHA-256 over it and the rest, and the rest. IPv4 lets UDP go
without checksum (SO_NO_CHECK), so that nothing but the link's own CRCs protects it. A TCP stream ends
with its SHA-256.
"""
import hashlib
import json
import os
import random
import signal
import socket
import sys
import time

SO_NO_CHECK = 11
SO_RCVBUFFORCE = 33                              # for root, beyond the limit of the machine
PACE = float(os.environ.get("PACE", 0.0003))     # seconds between datagrams
LAST = 0.5                                       # seconds without data after which no more is expected


def bound(kind, address, port):
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    return s


def udp_recv(address, port, group=None):
    s = bound(socket.SOCK_DGRAM, group or address, int(port))
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    if group:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(address))
    seen, count = set(), {"got": 0, "corrupt": 0}

    def take(data):
        count["got"] += 1
        if hashlib.sha256(data[:8] + data[40:]).digest() != data[8:40]:
            count["corrupt"] += 1
            return
        if not seen:
            print("first", flush=True)
        seen.add(data[:8])

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print("ready", flush=True)
        while True:
            take(s.recv(65536))
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    s.settimeout(LAST)
    try:
        while True:     # read data that is still in the socket, and datagrams that are still under way
            take(s.recv(65536))
    except TimeoutError:
        print(json.dumps({"got": count["got"], "different": len(seen), "corrupt": count["corrupt"]}))


def udp_send(address, port, to, count, size):
    s = bound(socket.SOCK_DGRAM, address, 0)
    s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
    rng = random.Random(1)
    for number in range(int(count)):
        head, rest = number.to_bytes(8, "big"), rng.randbytes(int(size) - 40)
        s.sendto(head + hashlib.sha256(head + rest).digest() + rest, (to, int(port)))
        time.sleep(PACE)


def tcp_recv(address, port):
    listener = bound(socket.SOCK_STREAM, address, int(port))
    listener.listen(1)
    print("ready", flush=True)
    connection, _ = listener.accept()
    data = bytearray()
    while chunk := connection.recv(1 << 16):
        data += chunk
    right = hashlib.sha256(data[:-32]).digest() == data[-32:]
    connection.sendall(b"y" if right else b"n")
    print(json.dumps({"octets": len(data) - 32, "right": right}))


def tcp_send(address, port, to, octets):
    s = bound(socket.SOCK_STREAM, address, 0)
    s.settimeout(60)
    s.connect((to, int(port)))
    data = random.Random(2).randbytes(int(octets))
    s.sendall(data + hashlib.sha256(data).digest())
    s.shutdown(socket.SHUT_WR)
    sys.exit(0 if s.recv(1) == b"y" else "integrity: the receiver has something else")


{"udp-recv": udp_recv, "udp-send": udp_send, "tcp-recv": tcp_recv, "tcp-send": tcp_send}[sys.argv[1]](*sys.argv[2:])
