#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends datagrams that an end of a UDP link must drop, because of their content or their sender.

    hostile.py FROM TO RATE SECONDS WHAT [KEY=VALUE ...]

FROM and TO are ADDRESS:PORT. RATE is the number of datagrams a second. WHAT is one of the following kinds, or "all", which
sends all kinds in turn: keepalive, garbage, short (1 to 29 octets of a right packet), long (longer than any packet), crc (a
packet with a wrong VCRC), down (a right SMP that sets the port Down), udp (a right IPoIB packet with a UDP datagram for an
application). The keys are values of the packets: dlid slid qpn qkey pkey ip_from ip_to port. The program prints the number of
datagrams of each kind as JSON.
"""
import collections
import errno
import ipaddress
import json
import random
import signal
import socket
import sys
import time
from struct import pack

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../../examples")
from peer.ipoib import checksum                     # noqa: E402
from peer.wire import Packet, encode                # noqa: E402

RNG = random.Random(3)


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def forged_down(_):
    mad = pack(">BBBBHBBQHHI8xHH28x", 1, 0x81, 1, 2, 0, 1, 1, RNG.getrandbits(63), 0x15, 0, 1, 0xFFFF, 0xFFFF)
    data = bytearray(64)
    data[32] = 1
    mad += bytes(data) + b"\0\1" + bytes(126)
    return encode(Packet(15, 0, 0xFFFF, 0xFFFF, None, 0xFFFF, 0, 0, 0, mad))


def forged_udp(keys):
    source, target = (ipaddress.ip_address(keys[k]).packed for k in ("ip_from", "ip_to"))
    payload = b"forged: not what its receiver would call right" + RNG.randbytes(20)
    udp = pack(">HHHH", 7, int(keys["port"]), 8 + len(payload), 0) + payload
    ip = bytearray(pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, source, target))
    ip[10:12] = pack(">H", checksum(ip))
    dlid, slid, qpn, qkey, pkey = (int(keys[k], 0) for k in ("dlid", "slid", "qpn", "qkey", "pkey"))
    return encode(Packet(0, 0, dlid, slid, None, pkey, qpn, qkey, 0x123456, pack(">HH", 0x0800, 0) + ip + udp))


def wrong_crc(keys):
    packet = bytearray(forged_udp(keys))
    packet[-RNG.randrange(1, 3)] ^= 1 << RNG.randrange(8)
    return bytes(packet)


KINDS = {
    "keepalive": lambda keys: b"",
    "garbage": lambda keys: RNG.randbytes(RNG.randrange(30, 4222)),
    "short": lambda keys: forged_udp(keys)[:RNG.randrange(1, 30)],
    "long": lambda keys: forged_udp(keys) + RNG.randbytes(RNG.randrange(4223, 9000)),
    "crc": wrong_crc,
    "down": forged_down,
    "udp": forged_udp,
}


def bind(sock, here):
    """Bind the socket. Try for 90 s, because another process may use the port until it ends; the packets of this
    program have to follow the last packets of that process at once. "waiting" on standard error means that this process
    waits for the port."""
    for attempt in range(9000):
        try:
            return sock.bind(here)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            if attempt == 0:
                print("waiting", file=sys.stderr, flush=True)
            time.sleep(0.01)
    sys.exit("hostile: the port is in use")


def main():
    if len(sys.argv) < 6 or sys.argv[5] not in (*KINDS, "all"):
        sys.exit(__doc__)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bind(sock, endpoint(sys.argv[1]))
    to, rate, seconds, what = endpoint(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    keys, sent = dict(word.split("=", 1) for word in sys.argv[6:]), collections.Counter()
    kinds, start = list(KINDS) if what == "all" else [what], time.monotonic()
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    for number in range(int(rate * seconds)):
        if over:
            break
        kind = kinds[number % len(kinds)]
        sock.sendto(KINDS[kind](keys), to)
        sent[kind] += 1
        time.sleep(max(0, start + number / rate - time.monotonic()))
    print(json.dumps({"sent": sum(sent.values()), **sent}))


main()
