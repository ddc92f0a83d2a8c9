#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A journal that takes entries at systemd's socket, and writes each entry as a line of JSON.

    journal.py FILE

The program reads fields in both forms: NAME=VALUE, and NAME with a length and a value. So if a line end in a value forged a field,
the output would show this field.
"""
import json
import os
import socket
import sys


def fields(data):
    found = {}
    while data:
        head, data = data.split(b"\n", 1)
        name, equals, value = head.partition(b"=")
        if not equals:
            size = int.from_bytes(data[:8], "little")
            value, end, data = data[8:8 + size], data[8 + size:9 + size], data[9 + size:]
            assert end == b"\n", "a field does not end where its length says"
        found.setdefault(name.decode(), []).append(value.decode())
    return found


where = "/run/systemd/journal/socket"
os.makedirs(os.path.dirname(where), exist_ok=True)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(where)
with open(sys.argv[1], "w", buffering=1) as out:
    while True:
        print(json.dumps(fields(s.recv(65536))), file=out)
