# SPDX-License-Identifier: BSD-2-Clause
"""IPoIB in datagram mode (RFC 4391). Of IPv4 it has only ARP and ping."""
import collections
import ipaddress
import random
import sys
import time
from struct import pack, unpack, unpack_from

from peer.link import say
from peer.sma import GET, SET
from peer.wire import QPN_MULTICAST, Drop, Grh, Packet, pkey_match


class Neighbour:
    def __init__(self):
        self.qpn = self.gid = self.path = None
        self.busy, self.held = False, collections.deque(maxlen=3)


class Ipoib:
    def __init__(self, hca, address, pkey):
        self.hca, self.address, self.pkey = hca, address, pkey | 0x8000
        self.mgid = pack(">HHHHHHHH", 0xFF12, 0x401B, self.pkey, 0, 0, 0, 0xFFFF, 0xFFFF)
        self.group, self.active, self.neighbours, self.on_reply = None, 0, {}, None

    def port_changed(self, active):
        """Join again and resolve all neighbours again, because the SM may have changed groups and LIDs."""
        self.neighbours.clear()
        self.group = None
        self.active += 1                                # answers to earlier requests no longer count
        if active:
            self.join(self.active)

    def join(self, active, delay=1):
        """Join the broadcast group as FullMember. Its parameters are those of the link (RFC 4391 §5)."""
        def joined(status, r):
            if active != self.active:
                return
            if status == 0:
                self.join_done(r)
                return
            say(f"join: {'no answer' if status is None else f'refused, status 0x{status:04x}'}")
            self.hca.timers.enter(delay, 0, self.join, (active, min(2 * delay, 16)))
        if active == self.active:
            record = self.mgid + self.hca.gid + pack(">8xH6xB3x", self.pkey, 1)
            self.hca.sa.ask(SET, 0x38, 0x10083, record, 3, joined)

    def join_done(self, r):
        qkey, mlid, mtu, tclass, _, _, _, sl_flow_hop = unpack_from(">IHBBHBBI", r, 32)
        grh = Grh(tclass, sl_flow_hop >> 8 & 0xFFFFF, sl_flow_hop & 0xFF, self.hca.gid, self.mgid)
        self.group = qkey, mlid, sl_flow_hop >> 28, grh
        self.mtu = min(128 << (mtu & 63), self.hca.sma.mtu) - 4
        say(f"joined MLID 0x{mlid:04x} Q_Key 0x{qkey:08x} MTU {self.mtu} LID {self.hca.sma.lid}")

    def receive(self, p, multicast):
        if not self.group:
            raise Drop("not-joined")
        if p.dest_qp != (QPN_MULTICAST if multicast else self.hca.qpn):
            raise Drop("qpn")
        if multicast and (not p.grh or p.grh.dgid != self.mgid):
            raise Drop("mgid")
        if not pkey_match(p.pkey, self.own_pkey()):
            raise Drop("pkey")
        if p.qkey != self.group[0]:
            raise Drop("qkey")
        if self.hca.is_own(p.slid) and p.src_qp == self.hca.qpn:
            raise Drop("own-echo")                      # multicast comes back to its sender
        if len(p.payload) < 4:
            raise Drop("encapsulation")
        kind, data = unpack_from(">H", p.payload)[0], p.payload[4:]
        if kind == 0x0806:
            self.receive_arp(data)
        elif kind == 0x0800:
            self.receive_ip(data)
        else:
            raise Drop("protocol")

    def own_pkey(self):
        return next((k for k in sorted(self.hca.sma.pkeys, reverse=True)
                     if (k ^ self.pkey) & 0x7FFF == 0), 0)

    def send(self, dlid, sl, qpn, kind, data, grh=None):
        self.hca.send(Packet(0, sl, dlid, 0, grh, self.own_pkey(), qpn, self.group[0], self.hca.qpn,
                             pack(">HH", kind, 0) + data))

    # RFC 4391 §9.1: hardware type 32, and addresses of 20 octets, which consist of flags, QPN and GID

    def arp(self, operation, address, target):
        own = pack(">I", self.hca.qpn) + self.hca.gid
        return pack(">HHBBH20s4s20s4s", 32, 0x0800, 20, 4, operation, own, self.address.ip.packed,
                    address, target.packed)

    def receive_arp(self, data):
        if len(data) < 56 or data[:6] != pack(">HHBB", 32, 0x0800, 20, 4):
            raise Drop("arp")
        operation, sender, ip, target = unpack_from(">H20s4s20x4s", data, 6)
        ip = ipaddress.ip_address(ip)
        if target != self.address.ip.packed or ip not in self.address.network:
            raise Drop("arp-other")
        n = self.neighbour(ip)
        qpn, gid = unpack(">I16s", sender)
        if (n.qpn, n.gid) != (qpn & 0xFFFFFF, gid):
            n.qpn, n.gid, n.path, n.busy = qpn & 0xFFFFFF, gid, None, False
        if operation == 1:
            self.send_to(ip, 0x0806, self.arp(2, sender, ip))
        else:
            self.resolve(ip, n)

    def neighbour(self, ip):
        if ip not in self.neighbours:
            if len(self.neighbours) >= 1024:
                raise Drop("neighbours")
            self.neighbours[ip] = Neighbour()
            self.hca.timers.enter(60, 0, self.neighbours.pop, (ip, None))    # removed after a minute, because LIDs and QPNs change
        return self.neighbours[ip]

    def send_to(self, ip, kind, data):
        if len(data) > self.mtu:
            raise Drop("mtu")
        n = self.neighbour(ip)
        if n.path:
            self.send(*n.path, n.qpn, kind, data)
        else:
            n.held.append((kind, data))
            self.resolve(ip, n)

    def resolve(self, ip, n):
        """Resolve IP to GID and QPN by ARP, then GID to LID and SL by a PathRecord, and then send the packets that were held back."""
        if n.path or n.busy:
            return
        n.busy = True
        if n.gid:
            record = pack(">8x16s16s8xBBH12x", n.gid, self.hca.gid, 0, 1, self.pkey)
            self.hca.sa.ask(GET, 0x35, 0x340C, record, 3,
                            lambda status, r, gid=n.gid: self.resolved(n, gid, status, r))
        else:
            self.ask_arp(ip, n, 3)

    def ask_arp(self, ip, n, tries):
        if n.gid or self.neighbours.get(ip) is not n:
            return                                      # the request was answered, or a new one has replaced it
        if tries == 0:
            n.busy = False
            n.held.clear()
            return
        _, mlid, sl, grh = self.group
        self.send(mlid, sl, QPN_MULTICAST, 0x0806, self.arp(1, bytes(20), ip), grh)
        self.hca.timers.enter(1, 0, self.ask_arp, (ip, n, tries - 1))

    def resolved(self, n, gid, status, r):
        if n.gid != gid:
            return                                      # the neighbour has another address by now
        n.busy = False
        if status == 0 and self.group:
            n.path = unpack_from(">H", r, 40)[0], r[53] & 15
            for kind, data in n.held:
                self.send(*n.path, n.qpn, kind, data)
        n.held.clear()

    def receive_ip(self, data):
        if len(data) < 28 or data[0] != 0x45 or checksum(data[:20]):
            raise Drop("ip")                            # this program does not support options
        length, fragment, protocol, source, target = unpack_from(">2xH2xH1xB2x4s4s", data)
        icmp = data[20:length]
        if target != self.address.ip.packed or protocol != 1 or fragment & 0x3FFF:
            raise Drop("ip-other")
        if len(icmp) < 8 or checksum(icmp):
            raise Drop("icmp")
        source = ipaddress.ip_address(source)
        if icmp[0] == 8 and source in self.address.network:
            self.send_icmp(source, 0, icmp[4:])
        elif icmp[0] == 0 and self.on_reply:
            self.on_reply(source, *unpack_from(">HH", icmp, 4))

    def send_icmp(self, target, kind, rest):
        icmp = bytearray(pack(">BBH", kind, 0, 0) + rest)
        icmp[2:4] = pack(">H", checksum(icmp))
        ip = bytearray(pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 0, 0x4000, 64, 1, 0,
                            self.address.ip.packed, target.packed))
        ip[10:12] = pack(">H", checksum(ip))
        self.send_to(target, 0x0800, bytes(ip + icmp))


def checksum(data):
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class Pinger:
    """For --ping: sends COUNT echo requests when the group is joined."""

    def __init__(self, hca, target, count, interval, patience):
        self.hca, self.target, self.count, self.interval = hca, target, count, interval
        self.ident, self.sent, self.got, self.status = random.getrandbits(16), {}, set(), None
        hca.ipoib.on_reply = self.reply
        hca.timers.enter(0, 0, self.start, (time.monotonic() + patience,))

    def start(self, deadline):
        if self.hca.ipoib.group:
            self.request(1)
        elif time.monotonic() >= deadline:
            print("udp_peer: not joined in time", file=sys.stderr)
            self.status = 4
        else:
            self.hca.timers.enter(0.05, 0, self.start, (deadline,))

    def request(self, number):
        if number > self.count:
            self.hca.timers.enter(2, 0, self.end)
            return
        self.sent[number] = time.monotonic()
        try:
            if self.hca.ipoib.group:
                echo = pack(">HH", self.ident, number) + bytes(range(48))
                self.hca.ipoib.send_icmp(self.target, 8, echo)
        except Drop as drop:
            self.hca.count[f"drop-{drop}"] += 1
        self.hca.timers.enter(self.interval, 0, self.request, (number + 1,))

    def reply(self, source, ident, number):
        if (source, ident) == (self.target, self.ident) and number in self.sent.keys() - self.got:
            self.got.add(number)
            ms = (time.monotonic() - self.sent[number]) * 1e3
            say(f"reply from {source}: seq={number} time={ms:.2f} ms")
            if len(self.got) == self.count:
                self.end()

    def end(self):
        say(f"{self.count} sent, {len(self.got)} received")
        self.status = 0 if len(self.got) == self.count else 1

