#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The far end of an HCA's UDP link, with an SM and SA. It brings the HCA's port up, and then sends wrong packets.

    fuzz.py LISTEN SECONDS [SEED [QPN [RATE]]]

LISTEN is ADDRESS:PORT, and the first sender of a datagram is the peer. The program sends SMPs and GMPs of every class with
random methods, attributes and contents, IPoIB packets to QPN (hexadecimal) and to the broadcast group, headers with flipped
bits, and packets whose lengths contradict each other. All packets have right CRCs. The program prints the numbers of packets
that it sent and received as JSON.
"""
import collections
import json
import random
import socket
import sys
import time
from struct import pack, pack_into, unpack_from

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0] + "/../../../../examples")
from peer.wire import (Drop, Grh, Packet, check_link, decode, encode, icrc, vcrc)    # noqa: E402

LID, SM_LID, MLID, QKEY, PKEY = 5, 1, 0xC000, 0x80000B1B, 0xFFFF
PREFIX, GUID = 0xFE80000000000000, 0x00ACE0000000C099
MGID = bytes.fromhex("ff12401bffff000000000000ffffffff")
SMP_ATTRS = (0x02, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x20, 0x30, 0x31, 0xFF00)
GMP_CLASSES = (0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x10, 0x20, 0x30, 0x32, 0x4F, 0x50, 0x81, 0xFF)
METHODS = (1, 2, 3, 5, 6, 7, 0x81, 0x12, 0x13, 0x14, 0x15, 0x92, 0x94, 0x95, 0x86)
PORT_DOWN, PORT_INIT, PORT_ARMED, PORT_ACTIVE = 1, 2, 3, 4


def seal(packet):
    """Returns the packet, given from LRH to pad, with PktLen and CRCs."""
    p = bytearray(packet)
    pack_into(">H", p, 4, (len(p) + 4) // 4 & 0x7FF)
    p += icrc(p) if len(p) >= 72 or (len(p) >= 28 and p[1] & 3 != 3) else bytes(4)
    return bytes(p + vcrc(p))


class Far:
    def __init__(self, listen, seed, qpn):
        host, _, port = listen.rpartition(":")
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.sock.bind((host, int(port)))
        self.sock.setblocking(False)
        self.random, self.qpn = random.Random(seed), qpn
        self.peer, self.spoken, self.heard, self.tid = None, 0.0, 0.0, 1
        self.state, self.asked, self.count = 0, 0.0, collections.Counter()
        self.honest, self.joined, self.traps = False, 0, []
        self.hold, self.lid, self.sm_lid, self.answers = False, LID, SM_LID, {}

    # --- the link, the SM and the SA

    def send(self, data):
        if not self.peer:
            return
        try:
            self.sock.sendto(data, self.peer)
        except BlockingIOError:
            time.sleep(0.001)

    def smp(self, method, attr, mod, data=bytes(64), mkey=0):
        self.tid += 1
        mad = pack(">BBBBHBBQHHIQHH28x", 1, 0x81, 1, method, 0, 1, 1, self.tid, attr, 0, mod, mkey, 0xFFFF, 0xFFFF)
        mad += data.ljust(64, b"\0") + b"\0\1" + bytes(126)
        self.send(encode(Packet(15, 0, 0xFFFF, 0xFFFF, None, 0xFFFF, 0, 0, 0, mad)))

    def set_port(self, state, mkey=0, protect=0, prefix=PREFIX, reregister=True):
        """Send a Set(PortInfo). It sets the M_Key to 0 by default, so that the next Set is accepted, too."""
        data = bytearray(64)
        pack_into(">QQHH", data, 0, mkey, prefix, self.lid, self.sm_lid)
        data[32], data[34], data[36], data[50] = state, protect << 6, 0x40, 0x40
        data[51] = 0x12 | (0x80 if reregister else 0)
        self.smp(2, 0x15, 1, bytes(data), mkey)

    def manage(self, now):
        """Send the next request by which an SM brings the port up, and a keepalive each second."""
        if now - self.spoken > 1:
            self.spoken = now
            self.send(b"")
        if now - self.asked < 0.3 or now - self.heard > 3:
            return
        self.asked = now
        if self.hold:
            self.smp(1, 0x15, 1)
            return
        if self.state == PORT_INIT:
            self.set_port(0)
            self.set_port(PORT_ARMED)
        else:       # also undoes the changes of random Sets
            self.set_port(PORT_ACTIVE if self.state == PORT_ARMED else 0)
        table = bytearray(64)
        pack_into(">H", table, 0, PKEY)
        if self.random.random() < 0.2:
            self.smp(2, 0x16, 0, bytes(table))
        self.smp(1, 0x15, 1)

    def receive(self):
        try:
            data, sender = self.sock.recvfrom(65536)
        except BlockingIOError:
            return False
        self.peer = self.peer or sender
        if sender == self.peer:
            self.heard = time.monotonic()
            if data:
                self.take(data)
        return True

    def take(self, data):
        try:
            check_link(data)
            p = decode(data)
        except Drop as why:
            self.count[f"received bad {why}"] += 1
            return
        mad = p.payload
        self.count[f"received qp{min(p.dest_qp, 2)}"] += 1
        if p.dest_qp == 0 and mad[3:6] == b"\x81\x80\0" and unpack_from(">H", mad, 16)[0] == 0x15:
            self.state = mad[64 + 32] & 15
            self.count[f"port state {self.state}"] += 1
        self.answers[mad[8:16]] = bytes(mad)
        if p.dest_qp == 0 and mad[3] == 5:
            self.traps.append((unpack_from(">H", mad, 68)[0], bytes(mad)))
        if p.dest_qp == 1 and mad[1] == 3 and mad[3] == 2 and unpack_from(">H", mad, 16)[0] == 0x38:
            self.join(p)

    def join(self, p):
        answer = bytearray(p.payload)
        answer[3] = 0x81
        pack_into(">IHBBHBB", answer, 56 + 32, QKEY, MLID, 0x84, 0, PKEY, 0x83, 0x80)
        answer[56 + 48] = 0x20 | answer[56 + 48] & 15
        self.joined += 1
        if not self.honest and self.random.random() < 0.2:      # the SA's answers may be wrong, too
            answer[self.random.randrange(256)] ^= 1 << self.random.randrange(8)
        self.send(encode(p._replace(dlid=p.slid, slid=p.dlid, dest_qp=p.src_qp, src_qp=1, payload=bytes(answer))))

    # --- wrong packets

    def bytes(self, n):
        return self.random.randbytes(n)

    def pick(self, values, odds=0.1):
        """Return one of the values, or now and then any other octet."""
        return self.random.randrange(256) if self.random.random() < odds else self.random.choice(values)

    def port_info(self):
        """Return the content of a Set(PortInfo). Now and then it takes the port down, or sets an M_Key that expires after a second."""
        data = bytearray(self.bytes(64))
        if self.random.random() < 0.95:
            data[0:8] = bytes(8)
        else:
            data[26:28], data[34] = b"\0\1", 0x80
        if self.random.random() < 0.7:
            pack_into(">HH", data, 16, LID, SM_LID)
            data[34] = 0
        data[32] = self.random.choice((0, 0, 0, PORT_ARMED, PORT_ACTIVE, self.random.randrange(256)))
        data[33] &= 0x0F
        if self.random.random() < 0.002:
            data[32] = PORT_DOWN
        return bytes(data)

    def random_smp(self):
        attr = self.random.choice(SMP_ATTRS) if self.random.random() < 0.95 else self.random.randrange(65536)
        hops = self.pick((1, 1, 1, 0, 2, 63, 64), 0.05)
        data = self.port_info() if attr == 0x15 else self.bytes(64)
        if attr == 0x16 and self.random.random() < 0.9:
            data = pack(">H", PKEY) + data[2:]
        mad = pack(">BBBBHBBQHHI8xHH28x", self.pick((1,), 0.02), self.pick((0x81, 0x01), 0.02), self.pick((1,), 0.02),
                   self.pick((1, 2), 0.1), self.pick((0,), 0.05) << 8, self.pick((hops,), 0.1), hops, self.tid, attr, 0,
                   self.random.choice((0, 1, 1, 2, 0x10000, 0x10001, 0x30001, self.random.getrandbits(32))),
                   0xFFFF, 0xFFFF)
        dlid = 0xFFFF if mad[1] == 0x81 else LID
        return encode(Packet(15, 0, dlid, SM_LID if dlid == LID else 0xFFFF, None, 0xFFFF, 0, 0, 0,
                             mad + data + self.bytes(128)))

    def random_gmp(self):
        mad = pack(">BBBBHHQHHI", self.pick((1,), 0.05), self.pick(GMP_CLASSES), self.pick((1, 2), 0.1),
                   self.pick(METHODS), self.pick((0,)), 0, self.random.choice((self.tid, self.random.getrandbits(64))),
                   self.random.choice((1, 0x10, 0x11, 0x12, 0x15, 0x1D, 0x35, 0x36, 0x38, self.random.getrandbits(16))),
                   0, self.random.getrandbits(32))
        mad += self.bytes(232)
        if mad[1] == 4 and self.random.random() < 0.8:
            mad = mad[:65] + b"\1" + mad[66:]
        return encode(Packet(0, self.pick((0,)) & 15, LID, SM_LID, None, PKEY, 1, 0x80010000,
                             self.random.choice((1, 0x40)), mad))

    def random_ipoib(self):
        kind = self.random.choice((0x0800, 0x0806, 0x86DD, 0x8035, self.random.getrandbits(16)))
        payload = pack(">HH", kind, 0)
        if kind == 0x0806:
            payload += pack(">HHBBH", 32, 0x0800, 20, 4, self.random.randrange(4))
        elif kind == 0x0800:
            payload += b"\x45"
        elif kind == 0x86DD:
            payload += b"\x60\0\0\0"
        payload = (payload + self.bytes(self.random.choice((0, 8, 48, 300, 2044, 4092))))[:4096]
        if self.random.random() < 0.05:
            payload = payload[:self.random.randrange(8)]
        grh = None
        dlid, qpn = LID, self.qpn
        if self.random.random() < 0.3:
            dlid, qpn = MLID, 0xFFFFFF
        if dlid == MLID or self.random.random() < 0.3:
            dgid = MGID if dlid == MLID else pack(">QQ", PREFIX, GUID)
            grh = Grh(0, 0, 0, pack(">QQ", PREFIX, self.random.getrandbits(64)), dgid)
        return encode(Packet(0, 0, dlid, self.random.randrange(1, 10), grh, PKEY, qpn, QKEY,
                             self.random.getrandbits(24), payload))

    def flipped(self):
        """Return a right packet with some bits of its headers changed."""
        p = bytearray(self.random.choice((self.random_smp, self.random_gmp, self.random_ipoib))()[:-6])
        for _ in range(self.random.randrange(1, 4)):
            p[self.random.randrange(min(len(p), 72))] ^= 1 << self.random.randrange(8)
        p[0] &= 0xF0
        return seal(p)

    def odd_length(self):
        """Return a packet that is cut or lengthened to a whole number of words, with the PktLen of its new length."""
        p = self.random.choice((self.random_smp, self.random_gmp, self.random_ipoib))()[:-6]
        n = self.random.choice((8, 12, 20, 24, 28, 32, 48, 68, 72, 4208, 4216, self.random.randrange(8, 4216))) & ~3
        return seal((p + self.bytes(max(0, n - len(p))))[:n])

    def enough(self, kinds):
        return self.count["port state 4"] and all(self.count[f"sent {kind.__name__}"] >= 20 for kind in kinds)

    def run(self, seconds, rate):
        end, due = time.monotonic() + seconds, time.monotonic()
        kinds = (self.random_smp, self.random_gmp, self.random_ipoib, self.random_ipoib, self.flipped, self.odd_length)
        patience = due + 60         # a slow machine gets more time, until enough packets of each kind were sent
        while (now := time.monotonic()) < end or (now < patience and not self.enough(kinds)):
            while self.receive():
                pass
            self.manage(now)
            if now < due or self.state < PORT_INIT:
                time.sleep(0.001)
                continue
            due = max(due, now - 0.01) + 1 / rate
            kind = self.random.choice(kinds)
            self.send(kind())
            self.count[f"sent {kind.__name__}"] += 1


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    far = Far(sys.argv[1], seed, int(sys.argv[4], 16) if len(sys.argv) > 4 else 0x40)
    far.run(float(sys.argv[2]), float(sys.argv[5]) if len(sys.argv) > 5 else 1000)
    print(json.dumps({"seed": seed, **far.count}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
