# SPDX-License-Identifier: BSD-2-Clause
"""The port with its checks, QP0, QP1 and one UD QP (IBTA volume 1, 9.6, 13.5, 14.2.2, 15.2)."""
import collections
import itertools
import random
import select
from struct import pack, unpack_from

from peer.ipoib import Ipoib
from peer.link import Link, Timers
from peer.sma import (ACTIVE, ARMED, DISABLED, DOWN, GET, INIT, RESPONSE, SET, Sma)
from peer.wire import (LID_MULTICAST, LID_PERMISSIVE, QP1_QKEY, Drop, Packet, decode, encode,
                       pkey_match)

DEFAULT_PREFIX = b"\xfe\x80" + bytes(6)

class Hca:
    def __init__(self, args, sock):
        self.timers, self.count = Timers(), collections.Counter()
        self.guid = args.guid
        self.qpn = 0x400000 | args.guid & 0x3FFFFF      # the same QPN after a restart
        self.psn = itertools.count()
        self.sma = Sma(self.timers, args.guid, f"udp_peer {args.address.ip}")
        self.sa = SaClient(self)
        self.ipoib = Ipoib(self, args.address, args.pkey)
        self.link = Link(self.timers, sock, args.peer, self.count, self.link_changed)

    gid = property(lambda self: self.sma.prefix + self.guid.to_bytes(8, "big"))

    def link_changed(self, up):
        if up != (self.sma.state != DOWN):
            self.sma.set_state(INIT if up else DOWN)
            self.ipoib.port_changed(False)

    def send(self, p):
        """Send a packet with the VL of its SL and the port's LID. Packets of VL15 may be sent in any state but Down, others only
        in Active."""
        if p.vl != 15:
            p = p._replace(vl=self.sma.vl(p.sl), slid=self.sma.lid)
            if self.sma.state != ACTIVE or p.vl == 15:
                self.count["send-state"] += 1
                return
        self.link.send(encode(p, next(self.psn)), 0 if p.dest_qp < 2 else 1)

    def receive(self, data):
        try:
            p = decode(data)
            if p.dest_qp == 0:
                self.receive_smp(p)
                return
            if self.sma.state < ARMED or p.vl == 15:
                raise Drop("state")
            if self.sma.state == ARMED:                 # 7.2.7: data traffic shows that the fabric is ready
                self.sma.set_state(ACTIVE)
                self.ipoib.port_changed(True)
            multicast = LID_MULTICAST <= p.dlid < LID_PERMISSIVE
            if not multicast and not self.is_own(p.dlid):
                raise Drop("dlid")
            if not multicast and p.grh and p.grh.dgid not in self.gids():
                raise Drop("dgid")
            if p.dest_qp == 1 and not multicast:
                self.receive_gmp(p)
            else:
                self.ipoib.receive(p, multicast)
        except Drop as drop:
            self.count[f"drop-{drop}"] += 1

    def gids(self):
        return self.gid, DEFAULT_PREFIX + self.gid[8:]

    def is_own(self, lid):
        return self.sma.lid != 0 and lid >> self.sma.lmc == self.sma.lid >> self.sma.lmc

    def receive_smp(self, p):
        mad = bytearray(p.payload)
        if p.vl != 15 or p.grh or len(mad) != 256 or mad[0] != 1 or mad[1] not in (0x01, 0x81):
            raise Drop("smp")
        if mad[3] & RESPONSE or mad[3] == 0x07:         # we send no requests, so responses and TrapRepress are ignored
            raise Drop("response")
        directed, dlid, slid = mad[1] == 0x81, p.slid, self.sma.lid
        if directed:
            pointer, hops, dr_dlid = mad[6], mad[7], unpack_from(">H", mad, 34)[0]
            if mad[4] & 0x80:
                raise Drop("response")
            if 0 < pointer == hops < 64 and dr_dlid == LID_PERMISSIVE:
                mad[192 + hops] = 1                     # ReturnPath leads by our only port
                dlid = slid = LID_PERMISSIVE            # the hop pointer stays: it grows by one here, and shrinks by one for the answer
            elif pointer != hops + 1 or dr_dlid == LID_PERMISSIVE:
                raise Drop("route")                     # otherwise the last part of the route is by LID, also for the answer
        if p.dlid != LID_PERMISSIVE if slid == LID_PERMISSIVE else not self.is_own(p.dlid):
            raise Drop("dlid")
        asked, old = bytes(mad), (self.sma.lid, self.sma.sm_lid, self.sma.state)
        self.sma.answer(mad)
        if directed:
            mad[4] |= 0x80                              # the direction bit marks a returning SMP
        self.send(Packet(15, 0, dlid, slid, None, 0xFFFF, 0, 0, 0, bytes(mad)))
        if asked[3] == SET and asked[16:18] == b"\0\x15" and not mad[5]:
            self.port_set(asked[64:128], old)

    def port_set(self, wanted, old):
        """Do what must follow a Set(PortInfo), after its answer was sent."""
        reregister, self.sma.info[51] = self.sma.info[51] & 0x80, self.sma.info[51] & 0x7F
        if wanted[32] & 15 == DOWN or wanted[33] >> 4:
            self.link.flush()                           # send the answer first
            self.link.go_silent(0 if wanted[33] >> 4 == DISABLED else Link.SILENCE)
        elif reregister or old != (self.sma.lid, self.sma.sm_lid, self.sma.state):
            self.ipoib.port_changed(self.sma.state == ACTIVE)

    def receive_gmp(self, p):
        if p.qkey != QP1_QKEY or len(p.payload) != 256:
            raise Drop("gmp")
        if not any(pkey_match(p.pkey, k) for k in self.sma.pkeys):
            raise Drop("pkey")
        self.sa.receive(p.payload)

    def run(self, done):
        while not done():
            wait = self.timers.run(blocking=False)
            self.link.flush()
            busy = any(self.link.queues)
            select.select([self.link.sock], [self.link.sock] if busy else [], [], wait)
            for data in self.link.receive():
                self.receive(data)


class SaClient:
    """Sends Get and Set of one record to the subnet administrator (15.2), and repeats a request each second."""

    def __init__(self, hca):
        self.hca, self.open = hca, {}
        self.tids = itertools.count(random.getrandbits(31) << 32)

    def ask(self, method, attribute, mask, record, tries, answered):
        tid = next(self.tids)
        mad = pack(">BBBBHHQHHI", 1, 3, 2, method, 0, 0, tid, attribute, 0, 0)
        mad += pack(">12xQHHQ", 0, 0, 0, mask) + record         # RMPP, SM_Key, ComponentMask
        self.open[tid] = answered
        self.attempt(tid, mad.ljust(256, b"\0"), tries)

    def attempt(self, tid, mad, tries):
        sma = self.hca.sma
        if tid not in self.open:
            return
        if not tries:
            self.open.pop(tid)(None, None)
            return
        pkey = next((k for k in sma.pkeys if k & 0x7FFF == 0x7FFF), 0xFFFF)
        self.hca.send(Packet(0, sma.sm_sl, sma.sm_lid, 0, None, pkey, 1, QP1_QKEY, 1, mad))
        self.hca.timers.enter(1, 0, self.attempt, (tid, mad, tries - 1))

    def receive(self, mad):
        status, tid = unpack_from(">HxxQ", mad, 4)
        if mad[1] != 3 or mad[3] != GET | RESPONSE or tid not in self.open:
            raise Drop("mad")
        self.open.pop(tid)(status, mad[56:])

