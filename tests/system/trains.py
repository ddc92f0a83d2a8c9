#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Both ends of flows whose senders give the kernel super-frames.

    trains.py tcp-recv ADDRESS PORT OCTETS              accepts one connection; fails unless OCTETS or more arrive unchanged; prints the number of octets
    trains.py tcp-send TO PORT OCTETS [FILE]            sends OCTETS, then more at a lower rate until FILE exists; prints the number of octets
    trains.py udp-recv ADDRESS PORT FRAMES COUNT SIZE   receives datagrams; fails unless all arrive, in order, each with its own length
    trains.py udp-send TO PORT FRAMES COUNT SIZE        sends FRAMES super-frames of COUNT datagrams of SIZE octets, the last one shorter

A receiver prints "ready" when its socket can receive.
"""
import hashlib
import itertools
import os
import socket
import sys
import time

SO_RCVBUFFORCE = 33
UDP_SEGMENT = 103
LAST = 77  # octets of the last datagram of a super-frame


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


PIECE = 1 << 16


def text():
    """Yields the octets of a TCP flow, in pieces, without end."""
    for at in itertools.count(0, PIECE):
        yield hashlib.shake_128(at.to_bytes(8, "big")).digest(PIECE)


def datagram(frame, index, size):
    head = frame.to_bytes(4, "big") + index.to_bytes(4, "big")
    return head + bytes((frame + index + i) & 0xFF for i in range(size - len(head)))


def datagrams(frame, count, size):
    return [datagram(frame, i, size if i + 1 < count else LAST) for i in range(count)]


def tcp_recv(address, port, octets):
    listener = socket.create_server((address, int(port)), family=family(address))
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.settimeout(60)
    want, got = hashlib.sha256(), hashlib.sha256()
    total = 0
    while data := connection.recv(1 << 20):
        got.update(data)
        total += len(data)
    for at, piece in zip(range(0, total, PIECE), text()):
        want.update(piece[:total - at])
    if total < int(octets) or got.digest() != want.digest():
        sys.exit(f"{total} octets of {octets} came, or other ones")
    print(total)


def tcp_send(to, port, octets, file=None):
    total = 0
    with socket.create_connection((to, int(port)), 60) as s:
        for piece in text():
            if total >= int(octets):
                if not file or os.path.exists(file):
                    break
                time.sleep(0.001)
            s.sendall(piece)
            total += len(piece)
    print(total)


def udp_recv(address, port, frames, count, size):
    s = socket.socket(family(address), socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    s.bind((address, int(port)))
    s.settimeout(30)
    print("ready", flush=True)
    for frame in range(int(frames)):
        for index, want in enumerate(datagrams(frame, int(count), int(size))):
            got = s.recv(1 << 16)
            if got != want:
                sys.exit(f"frame {frame}, datagram {index}: {len(got)} octets, {got[:8].hex()}")


def udp_send(to, port, frames, count, size):
    s = socket.socket(family(to), socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_UDP, UDP_SEGMENT, int(size))
    s.connect((to, int(port)))
    for frame in range(int(frames)):
        s.send(b"".join(datagrams(frame, int(count), int(size))))
        time.sleep(0.001)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
