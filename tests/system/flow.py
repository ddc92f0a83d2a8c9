#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Both ends of a TCP flow that lasts as long as a test needs it. The receiver measures how long it got no data.

    flow.py recv ADDRESS PORT           one connection; prints "ready", "connected", and JSON when the sender has ended
    flow.py send ADDRESS PORT TO        from ADDRESS to TO, 160 Mb/s, until SIGTERM

The receiver looks for data every 10 ms. On a busy machine a look may be delayed, but still counts as one look. The JSON has the
numbers of octets ("octets"), of looks ("looks"), of looks that found no data ("silent"), and the largest number of these in a row
("longest").
"""
import json
import signal
import socket
import sys
import time

LOOK = 0.01
CHUNK = bytes(100_000)


def bound(address, port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    return s


def drain(connection):
    """Read all octets that have arrived. Return their number, and whether the sender has ended."""
    octets = 0
    try:
        while data := connection.recv(1 << 20):
            octets += len(data)
        return octets, True
    except BlockingIOError:
        return octets, False


def recv(address, port):
    listener = bound(address, int(port))
    listener.listen(1)
    print("ready", flush=True)
    connection, _ = listener.accept()
    print("connected", flush=True)
    connection.setblocking(False)
    octets = looks = silent = longest = row = 0
    ended = False
    while not ended:
        time.sleep(LOOK)
        some, ended = drain(connection)
        octets += some
        looks += 1
        row = 0 if some or ended else row + 1
        silent += row > 0
        longest = max(longest, row)
    print(json.dumps({"octets": octets, "looks": looks, "silent": silent, "longest": longest}))


def send(address, port, to):
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    s = bound(address, 0)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    s.connect((to, int(port)))
    while not over:
        s.sendall(CHUNK)
        time.sleep(LOOK / 2)
    s.shutdown(socket.SHUT_WR)
    s.recv(1)                           # returns when the receiver has read all data and closes


{"recv": recv, "send": send}[sys.argv[1]](*sys.argv[2:])
