#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An HCA at the far end of a UDP link. It brings its port up like any other HCA, and then sends packets that no real HCA would send.

    attacker.py HERE PEER WORLD SECONDS [SEED [RATE]]

HERE and PEER are ADDRESS:PORT of the link. WORLD is a JSON file:

    corpus      a capture (`uipoib capture start`) with right packets, which the program changes
    qkey        the Q_Key of the link
    targets     [{"name", "lid", "lladdr", "ip", "ip6", "path"}], the nodes. lladdr has 20 octets in hexadecimal, ip may be null,
                and path has the ports on the way to the node behind the first switch

The program attacks when its link is up and it has joined the broadcast group. It sends SMPs and GMPs of all classes, ARP, ND,
IGMP, MLD, IPv4 and IPv6 to the targets and to groups, and changes each packet several times. Every packet has right CRCs, and
most have right lengths. The same SEED, RATE and corpus make the same packets. The program prints the numbers of packets as JSON.
"""
import collections
import ipaddress
import json
import os
import random
import socket
import sys
import time
import types
import zlib
from struct import pack, pack_into, unpack_from

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/guest", HERE + "/../../../examples"]
from fuzz import GMP_CLASSES, METHODS, SMP_ATTRS            # noqa: E402
from peer.ipoib import checksum                             # noqa: E402
from peer.port import Hca                                   # noqa: E402
from peer.wire import masked, vcrc                          # noqa: E402

OWN_ADDRESS, GUID, BURST = "10.4.6.6/16", 0x00ACE000000E0111, 0.01
GET, SET, DOWN, PORT_INFO, PKEY_TABLE = 1, 2, 1, 0x15, 0x16
TABLES = (0x12, 0x17, 0x19, 0x1A, 0x1B)      # SwitchInfo, SLtoVL, linear, random and multicast forwarding
EDGES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 20, 24, 31, 32, 63, 64, 127, 128, 192, 253, 254, 255)
IP_PROTOCOLS = (0, 1, 2, 6, 17, 43, 44, 51, 58, 59, 60, 103, 132, 255)


def read_corpus(path):
    """Returns each different packet of the capture once, from LRH to pad, sorted so that the order does not depend on
    time."""
    data, at, packets = open(path, "rb").read(), 24, set()
    while at + 16 <= len(data):
        length, = unpack_from("<8xI", data, at)
        packets.add(data[at + 32:at + 16 + length - 6])     # skip the ERF header
        at += 16 + length
    return sorted(p for p in packets if len(p) >= 28)


def icrc(packet):
    """Returns the ICRC of a packet. The packet may be shorter than the headers that its LNH announces."""
    whole = len(packet) >= (53 if packet[1] & 3 == 3 else 13)
    return zlib.crc32(masked(packet) if whole else packet).to_bytes(4, "little")


class Frame:
    """A packet whose parts may be wrong: LRH, optional GRH, BTH and DETH, payload."""

    def __init__(self, raw):
        n = 48 if raw[1] & 3 == 3 else 8
        pad = raw[n + 1] >> 4 & 3
        self.lrh, self.grh = bytearray(raw[:8]), bytearray(raw[8:n])
        self.bth, self.payload = bytearray(raw[n:n + 20]), bytearray(raw[n + 20:len(raw) - pad])

    is_group = property(lambda self: 0xC000 <= unpack_from(">H", self.lrh, 2)[0] < 0xFFFF)
    qpn = property(lambda self: unpack_from(">I", self.bth, 4)[0] & 0xFFFFFF)

    def kind(self):
        if self.lrh[0] >> 4 == 15:
            return "smp"
        return "gmp" if self.qpn == 1 else "ipoib"

    def seal(self, lie):
        """Returns the octets of the packet with right lengths, pad and CRCs, except for one wrong length, which @lie
        names."""
        payload = bytes(self.payload[:4096])
        pad = -len(payload) % 4
        self.bth[1] = self.bth[1] & 0xCF | (pad ^ (lie == "pad")) << 4
        body = self.bth + payload + bytes(pad)
        if self.grh:
            pack_into(">H", self.grh, 4, (len(body) + 4 + (4 if lie == "paylen" else 0)) & 0xFFFF)
        self.lrh[1] = self.lrh[1] & 0xFC | (3 if self.grh else 2)
        if lie == "lnh":
            self.lrh[1] ^= 1
        packet = bytearray(self.lrh + self.grh + body)
        pack_into(">H", packet, 4, (len(packet) // 4 + 1) & 0x7FF)
        packet += icrc(packet)
        return bytes(packet + vcrc(packet))


class Attacker:
    def __init__(self, hca, world, seed, rate):
        self.hca, self.rate, self.rng, self.count = hca, rate, random.Random(seed), collections.Counter()
        self.targets, self.qkey = world["targets"], int(world["qkey"], 0)
        for t in self.targets:
            t["lladdr"] = bytes.fromhex(t["lladdr"].replace(":", ""))
            t["qpn"] = unpack_from(">I", t["lladdr"])[0] & 0xFFFFFF
        self.corpus, self.groups = collections.defaultdict(list), []
        for raw in read_corpus(world["corpus"]):
            frame = Frame(raw)
            self.corpus[frame.kind()].append(raw)
            if frame.is_group and frame.grh:
                self.groups.append((unpack_from(">H", raw, 2)[0], bytes(frame.grh[24:40])))
        self.mutations = [getattr(self, name) for name in dir(self) if name.startswith("mutate_")]
        self.due, self.ends = None, None

    # --- random choices

    def one(self, values):
        return self.rng.choice(values)

    def often(self, p):
        return self.rng.random() < p

    def bits(self, n):
        return self.rng.getrandbits(n)

    def edge(self, n):
        """Returns a random number of n bits, often one at an end or in the middle of the range."""
        return self.one((0, 1, (1 << n) - 1, 1 << n - 1, (1 << n - 1) - 1, self.bits(n), self.bits(n)))

    # --- destinations

    @staticmethod
    def gid(target):
        return target["lladdr"][4:]

    def aim(self, f, t):
        """Address the packet to the target, with this HCA as its source. A multicast packet may keep its group."""
        pack_into(">H", f.lrh, 6, self.hca.sma.lid if self.often(0.85) else self.one(self.targets)["lid"])
        kind = f.kind()
        if kind == "smp":
            self.aim_smp(f, t)
            return
        if kind == "ipoib" and self.groups and self.often(0.3):
            lid, mgid = self.one(self.groups)
            f.grh = f.grh or bytearray(pack(">IHBB", 6 << 28, 0, 0x1B, 0) + bytes(32))
            f.grh[8:40] = self.hca.gid + mgid
            pack_into(">H", f.lrh, 2, lid)
            pack_into(">I", f.bth, 4, 0xFFFFFF)
        else:
            pack_into(">H", f.lrh, 2, t["lid"])
            pack_into(">I", f.bth, 4, 1 if kind == "gmp" else t["qpn"])
            if f.grh:
                f.grh[8:40] = self.hca.gid + self.gid(t)
        pack_into(">II", f.bth, 12, 0x80010000 if kind == "gmp" else self.qkey, 1 if kind == "gmp" else self.hca.qpn)

    def aim_smp(self, f, t):
        mad = f.payload
        if self.often(0.5):
            mad[1], mad[6], mad[7] = 0x81, 1, len(t["path"]) + 1        # hop pointer and count as uipoib's SMI would send them
            mad[32:36] = b"\xff" * 4
            mad[128:256] = (bytes([0, 1] + t["path"]) + bytes(64))[:64] + bytes(64)
            pack_into(">HHH", f.lrh, 2, 0xFFFF, 0, 0xFFFF)
        else:
            mad[1] = 1
            pack_into(">H", f.lrh, 2, t["lid"])

    # --- packets to mutate: packets of the capture, and packets of kinds that no capture contains

    def smp(self):
        f = Frame(self.one(self.corpus["smp"]))
        f.payload[3] = self.one((1, 1, 2, 2, 5, 7, 0x81, self.bits(8)))
        f.payload[4:6] = bytes(2)
        f.payload[8:16] = self.rng.randbytes(8)
        if self.often(0.8):
            pack_into(">HxxI", f.payload, 16, self.one(SMP_ATTRS), self.one((0, 1, 2, 0x10000, 0x10001, self.bits(32))))
        if self.often(0.3):
            f.payload[64:128] = self.rng.randbytes(64)
        return f

    def gmp(self):
        f = Frame(self.one(self.corpus["gmp"]))
        if self.often(0.5):
            f.payload[1:4] = bytes([self.one(GMP_CLASSES), self.one((1, 2)), self.one(METHODS)])
            pack_into(">QHxxI", f.payload, 8, self.bits(64), self.edge(16), self.edge(32))
        if self.often(0.3):
            f.payload[24:36] = bytes([1, self.one((1, 2, 3, 4, 5)), self.bits(8), self.one((0, 0, 20, 127, 255))]) + \
                pack(">II", self.edge(32), self.edge(32))
        return f

    def captured(self):
        return Frame(self.one(self.corpus["ipoib"]))

    def ipoib(self, kind, data):
        f = self.captured()
        f.payload = bytearray(pack(">HH", kind, 0 if self.often(0.8) else self.bits(16)) + data)
        return f

    def lladdr(self):
        t = self.one(self.targets)
        return pack(">I", self.one((t["qpn"], self.bits(32), self.hca.qpn))) + \
            self.one((self.gid(t), self.hca.gid, bytes(16), self.rng.randbytes(16), b"\xff\x12" + bytes(14)))

    def ip4(self):
        return self.one([ipaddress.ip_address(t["ip"]).packed for t in self.targets if t["ip"]] +
                        [b"\x0a\x04\6\6", b"\xff" * 4, bytes(4), b"\x7f\0\0\1", b"\xe0\0\0\1", pack(">I", self.bits(32))])

    def ip6(self):
        return self.one([ipaddress.ip_address(t["ip6"]).packed for t in self.targets if t["ip6"]] +
                        [bytes(16), b"\xff\2" + bytes(13) + b"\1", self.hca.gid, self.rng.randbytes(16),
                         bytes(15) + b"\1"])

    def arp(self):
        hw, proto, hlen, plen = self.one(((32, 0x0800, 20, 4),) * 6 + ((1, 0x0800, 6, 4), (32, 0x0800, 20, 16),
                                         (32, 0x0800, 255, 255), (self.bits(16), self.bits(16), self.bits(8), self.bits(8))))
        data = pack(">HHBBH", hw, proto, hlen, plen, self.one((1, 2, 2, 3, 4, 8, 9, self.edge(16))))
        data += self.lladdr() + self.ip4() + self.lladdr() + self.ip4()
        return self.ipoib(self.one((0x0806, 0x0806, 0x8035)), data)

    def nd(self):
        kind = self.one((133, 134, 135, 135, 136, 136, 137, 130, 131, 132, 143, 128))
        body = self.rng.randbytes(4)
        # A host that is told to use a retransmission timer of days never recovers, so only short timers are advertised.
        body += {133: b"", 134: pack(">II", self.edge(32), self.one((0, 1, 100, 1000))), 137: self.ip6() + self.ip6()}.get(kind, self.ip6())
        for _ in range(self.rng.randrange(3)):
            option = self.one((bytes(2) + self.lladdr(), self.rng.randbytes(22), self.rng.randbytes(6)))
            body += bytes([self.one((1, 2, 3, 4, 5, 14, 25, self.bits(8))),
                           self.one((len(option) // 8 + 1,) * 3 + (0, 1, 2, 4, 255))]) + option
        source, target, hops = self.ip6(), self.ip6(), self.one((255, 255, 255, 1, 64))
        return self.ipoib(0x86DD, self.ipv6(source, target, 58, bytes([kind, 0, 0, 0]) + body, hops))

    def ipv6(self, source, target, protocol, data, hops=64):
        data = bytearray(data)
        if protocol == 58:
            data[2:4] = pack(">H", checksum(source + target + pack(">II", len(data), 58) + data))
        return pack(">IHBB", 6 << 28, len(data), protocol, hops) + source + target + bytes(data)

    def ipv4(self):
        """Makes an IPv4 packet with IGMP, ICMP errors and other protocols. The checksum of the header is right."""
        protocol, data = self.one(IP_PROTOCOLS), bytearray(self.rng.randbytes(self.one(EDGES)))
        if protocol in (1, 2) and len(data) >= 8:
            data[0] = self.one((0x11, 0x12, 0x16, 0x17, 0x22, 3, 5, 8, 11, 12))
            data[2:4] = b"\0\0"
            data[2:4] = pack(">H", checksum(data))
        words = self.one((5, 5, 5, 6, 15, self.bits(4)))
        options = self.rng.randbytes(max(0, words - 5) * 4)
        head = bytearray(pack(">BBHHHBBH4s4s", 0x40 | words, self.bits(8), 20 + len(options) + len(data), self.bits(16),
                              self.one((0, 0, 0x4000, 0x2000, self.bits(16))), self.one((1, 64, 255)), protocol, 0,
                              self.ip4(), self.ip4()) + options)
        head[10:12] = pack(">H", checksum(head))
        return self.ipoib(0x0800, bytes(head + data))

    def extensions(self):
        """Makes an IPv6 packet with extension headers in unusual chains."""
        data, following = self.rng.randbytes(self.one(EDGES)), self.one(IP_PROTOCOLS)
        for _ in range(self.rng.randrange(1, 6)):
            this = self.one((0, 43, 44, 51, 60))
            data = bytes([following, self.one((0, 0, 1, 255))]) + self.rng.randbytes(6) + data
            following = this
        return self.ipoib(0x86DD, self.ipv6(self.ip6(), self.ip6(), following, data))

    # --- mutations

    def mutate_bits(self, f):
        part = self.one((f.payload, f.payload, f.payload, f.bth, f.grh or f.payload))
        for _ in range(self.one((1, 1, 2, 8))):
            if part:
                part[self.rng.randrange(len(part))] ^= 1 << self.rng.randrange(8)

    def mutate_edge(self, f):
        size = self.one((1, 2, 4))
        if len(f.payload) >= size:
            at = self.rng.randrange(min(len(f.payload) - size + 1, 128))
            f.payload[at:at + size] = self.edge(8 * size).to_bytes(size, "big")

    def mutate_length(self, f):
        n = self.one(EDGES + (256, 300, 512, 1280, 2044, 2048, 2052, 4092, 4096))
        f.payload = (f.payload + self.rng.randbytes(max(0, n - len(f.payload))))[:n]

    def mutate_splice(self, f):
        other = Frame(self.one(self.corpus[self.one(("smp", "gmp", "ipoib"))])).payload
        at = self.rng.randrange(len(f.payload) + 1)
        f.payload = f.payload[:at] + other[at:]

    def mutate_pkey(self, f):
        pack_into(">H", f.bth, 2, self.one((0x7FFF, 0, 0x8000, 0x8001, 1, 0xFFFE, self.bits(16))))

    def mutate_qkey(self, f):
        pack_into(">I", f.bth, 12, self.one((0, self.qkey ^ 1, 0x80010000, 0x0B1B, self.bits(32))))

    def mutate_qpn(self, f):
        pack_into(">I", f.bth, 4, self.one((0, 1, 2, 3, 0xFFFFFF, f.qpn ^ 1, self.one(self.targets)["qpn"], self.bits(32))))

    def mutate_source(self, f):
        pack_into(">I", f.bth, 16, self.one((0, 1, 0xFFFFFF, self.one(self.targets)["qpn"], self.bits(24))))
        pack_into(">H", f.lrh, 6, self.one((0, 0xFFFF, 0xC000, 0xBFFF, self.bits(16))))

    def mutate_destination(self, f):
        pack_into(">H", f.lrh, 2, self.one((0, 0xFFFF, 0xC000, 0xC001, 0xFFFE, 0xBFFF, self.bits(16),
                                            self.one(self.targets)["lid"])))

    def mutate_lanes(self, f):
        f.lrh[0] = self.one((0, 1, 7, 8, 15, self.bits(4))) << 4
        f.lrh[1] = self.bits(4) << 4 | self.one((0, 0, 0, self.bits(2))) << 2

    def mutate_bth(self, f):
        at = self.one((0, 1, 1, 4, 8))
        f.bth[at] = self.one((0x64, 0x65, 0x04, 0x24, 0x80, self.bits(8)))

    def mutate_grh(self, f):
        """Add a GRH, remove it, or change a field of it."""
        if not f.grh:
            f.grh = bytearray(pack(">IHBB", 6 << 28, 0, 0x1B, self.one((0, 1, 64, 255))) + self.hca.gid +
                              self.gid(self.one(self.targets)))
        elif self.often(0.2):
            f.grh = bytearray()
        else:
            at, data = self.one(((0, pack(">I", self.bits(32))), (6, b"\6"), (7, b"\0"), (8, self.rng.randbytes(16)),
                                 (24, self.rng.randbytes(16)), (24, self.one(self.groups)[1]), (24, bytes(16)),
                                 (8, self.one(self.groups)[1])))
            f.grh[at:at + len(data)] = data

    def tame(self, f):
        """
        Undo changes from which the fabric would not recover, because no M_Key protects the nodes and the SM reads some attributes
        only once. Tables of switches are read and not written, and P_Key tables keep the default P_Key. No port is set
        Disabled, or gets other widths and speeds or an M_Key. A port is set Down now and then.
        """
        mad = f.payload
        if f.qpn or len(mad) < 128 or mad[3] != SET:
            return
        attribute = unpack_from(">H", mad, 16)[0]
        if attribute in TABLES:
            mad[3] = GET
        elif attribute == PKEY_TABLE:
            mad[64:66] = b"\xff\xff"
        elif attribute == PORT_INFO:
            mad[64:72] = bytes(8)
            mad[64 + 29], mad[64 + 33], mad[64 + 35] = 0, 0, mad[64 + 35] & 0xF0
            if mad[64 + 32] & 15 == DOWN and not self.often(0.02):
                mad[64 + 32] &= 0xF0

    # --- the attack

    def make(self):
        kind = self.one((self.smp, self.gmp, self.captured, self.captured, self.arp, self.nd, self.ipv4, self.extensions))
        f, target = kind(), self.one(self.targets)
        self.aim(f, target)
        for _ in range(self.one((0, 1, 1, 2, 4))):
            self.one(self.mutations)(f)
        self.tame(f)
        lie = self.one(("pad", "paylen", "lnh")) if self.often(0.03) else None
        return f"{kind.__name__} to {target['name']}", f.seal(lie)

    def burst(self):
        now = time.monotonic()
        if self.due is not None and self.hca.link.state == "up":
            while self.due < now:
                self.due = max(self.due, now - 0.05) + 1 / self.rate
                what, packet = self.make()
                self.hca.link.transmit(packet)
                self.count[what] += 1
        self.hca.timers.enter(BURST, 0, self.burst)

    def over(self, seconds):
        """Whether the attack has ended. It begins when the group is joined."""
        if self.ends is None and self.hca.ipoib.group:
            self.due = time.monotonic()
            self.ends = self.due + seconds
        return self.ends is not None and time.monotonic() >= self.ends


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def main():
    if not 5 <= len(sys.argv) <= 7:
        sys.exit(__doc__)
    here, peer, world, seconds = endpoint(sys.argv[1]), endpoint(sys.argv[2]), json.load(open(sys.argv[3])), float(sys.argv[4])
    seed, rate = int(sys.argv[5]) if len(sys.argv) > 5 else 1, float(sys.argv[6]) if len(sys.argv) > 6 else 1000
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.setblocking(False)
    sock.bind(here)
    args = types.SimpleNamespace(guid=GUID, address=ipaddress.ip_interface(OWN_ADDRESS), pkey=0xFFFF, peer=peer)
    attacker = Attacker(Hca(args, sock), world, seed, rate)
    attacker.hca.timers.enter(0, 0, attacker.burst)
    attacker.hca.run(lambda: attacker.over(seconds))
    print(json.dumps({"seed": seed, "sent": sum(attacker.count.values()), "corpus": sum(map(len, attacker.corpus.values())),
                      **attacker.count}, sort_keys=True))


if __name__ == "__main__":
    main()
