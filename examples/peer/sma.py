# SPDX-License-Identifier: BSD-2-Clause
"""The subnet management agent, with the attributes that the subnet manager reads and writes (IBTA volume 1, 14.2.5)."""
from struct import pack, unpack, unpack_from

from peer.link import say
from peer.wire import LID_MULTICAST, Drop

MTU_CAP = 5                                             # code 5: 4096 octets
DOWN, INIT, ARMED, ACTIVE = 1, 2, 3, 4                  # PortState
POLLING, DISABLED, LINK_UP = 2, 3, 5                    # PortPhysicalState
GET, SET, RESPONSE = 0x01, 0x02, 0x80
BAD_METHOD, BAD_ATTRIBUTE, BAD_VALUE = 0x08, 0x0C, 0x1C


class Sma:
    """The attributes of the port, as octets in the layout of the SMP (14.2.5)."""

    def __init__(self, timers, guid, description):
        self.timers, self.lease = timers, None
        self.description = description.encode()[:64]
        self.node_info = pack(">BBBBQQQHHIB3s", 1, 1, 1, 1, guid, guid, guid, 32, 1, 1, 1,
                              b"\0\0\1")
        self.guids, self.sl2vl = pack(">Q56x", guid), bytearray(8)
        self.pkeys = [0xFFFF] + [0] * 31
        self.vlarb = {n: bytes(64) for n in (1, 2, 3, 4)}
        self.info = i = bytearray(64)                   # PortInfo
        i[8:16] = pack(">Q", 0xFE80 << 48)
        i[20:24] = pack(">I", 1 << 11 | 1 << 25)        # SystemImageGUID, ClientReregister
        i[28:34] = pack("6B", 1, 3, 3, 2, 7 << 4 | DOWN, POLLING << 4 | POLLING)    # 1x or 4x; QDR
        i[35:38] = pack("3B", 4 << 4 | 7, MTU_CAP << 4, 3 << 4) # NeighborMTU; VLs 0 to 3
        i[39:44] = pack("5B", 64, 64, MTU_CAP, 0, 3 << 4)       # VL arbitration entries
        i[50] = 1                                       # GUIDCap
        self.attributes = {                             # functions for Get and Set
            0x10: (lambda n: self.description, None),
            0x11: (lambda n: self.node_info, None),
            0x14: (lambda n: self.block(n, self.guids), lambda n, d: self.block(n, d)),
            0x15: (self.get_port_info, self.set_port_info),
            0x16: (lambda n: pack(">32H", *self.block(n, self.pkeys)), self.set_pkeys),
            0x17: (lambda n: self.sl2vl, self.set_sl2vl),
            0x18: (self.get_vlarb, self.set_vlarb),
        }

    state = property(lambda self: self.info[32] & 15)
    prefix = property(lambda self: bytes(self.info[8:16]))
    lid = property(lambda self: unpack_from(">H", self.info, 16)[0])
    lmc = property(lambda self: self.info[34] & 7)
    sm_lid = property(lambda self: unpack_from(">H", self.info, 18)[0])
    sm_sl = property(lambda self: self.info[36] & 15)
    mtu = property(lambda self: 128 << (self.info[36] >> 4))

    def set_state(self, state):
        self.info[32] = self.info[32] & 0xF0 | state
        self.info[33] = self.info[33] & 0x0F | (POLLING if state == DOWN else LINK_UP) << 4
        say(f"port {('Down', 'Init', 'Armed', 'Active')[state - 1]}")

    def vl(self, sl):
        return self.sl2vl[sl // 2] >> (0 if sl & 1 else 4) & 15

    def answer(self, mad):
        """Turns the request into its response, in place. Raises Drop if there is no response."""
        method, attribute, modifier = mad[3], *unpack_from(">HxxI", mad, 16)
        get, put = self.attributes.get(attribute, (None, None))
        self.check_mkey(method, mad[24:32])
        status = 0
        if method not in (GET, SET):
            status = BAD_METHOD
        elif not get or method == SET and not put:
            status = BAD_ATTRIBUTE
        else:
            try:
                if method == SET:
                    put(modifier, bytes(mad[64:128]))
                mad[64:128] = get(modifier).ljust(64, b"\0")
            except ValueError:
                status = BAD_VALUE
        if attribute == 0x15 and self.info[34] >> 6 == 1 and mad[24:32] != self.info[0:8]:
            mad[64:72] = bytes(8)                       # requests without the M_Key do not get it
        mad[3], mad[4:6] = GET | RESPONSE, pack(">H", status)

    def check_mkey(self, method, key):
        """Checks the M_Key (14.2.4). A wrong key gets no answer. When the SM is lost, the lease ends the protection."""
        if not any(self.info[0:8]) or key == self.info[0:8]:
            self.timers.stop(self.lease)
            self.lease = None
            return
        if method == GET and self.info[34] >> 6 < 2:
            return
        (seconds,), (violations,) = unpack_from(">H", self.info, 26), unpack_from(">H", self.info, 44)
        self.info[44:46] = pack(">H", min(violations + 1, 0xFFFF))
        if seconds and not self.lease:
            self.lease = self.timers.enter(seconds, 0, self.end_lease)
        raise Drop("mkey")

    def end_lease(self):
        self.info[34] &= 0x3F
        self.lease = None

    def block(self, modifier, data):
        if modifier:                                    # every table has one block only
            raise ValueError
        return data

    def get_port_info(self, modifier):
        if modifier & 0x7FFFFFFF > 1:                   # bit 31 means that the SM supports extended speeds
            raise ValueError
        return bytes(self.info)

    def set_port_info(self, modifier, d):
        i, state, phys, mtu = self.info, d[32] & 15, d[33] >> 4, d[36] >> 4
        self.get_port_info(modifier)
        if (unpack_from(">H", d, 16)[0] >= LID_MULTICAST or mtu > MTU_CAP or phys > DISABLED
                or state not in (0, DOWN, ARMED, ACTIVE) or d[43] >> 4 > i[37] >> 4
                or state == ARMED and self.state != INIT or state == ACTIVE and self.state != ARMED
                or d[29] != 0xFF and d[29] & ~i[30] or d[35] & 15 != 15 and d[35] & 15 & ~(i[32] >> 4)):
            raise ValueError
        i[0:20], i[26:28] = d[0:20], d[26:28]           # M_Key, GidPrefix, LID, MasterSMLID; lease period
        i[29] = i[30] if d[29] == 0xFF else d[29] or i[29]      # in many fields 0 means no change
        i[33] = i[33] & 0xF0 | (d[33] & 15 or i[33] & 15)
        i[34] = d[34] & 0xC7
        i[35] = i[35] & 0xF0 | (i[32] >> 4 if d[35] & 15 == 15 else d[35] & 15 or i[35] & 15)
        i[36] = (mtu or i[36] >> 4) << 4 | d[36] & 15
        i[38] = d[38]
        i[43] = (d[43] >> 4 or i[43] >> 4) << 4
        i[44:50] = d[44:50]                             # counters of violations
        i[51], i[53] = d[51], d[53]                     # the answer echoes ClientReregister; Hca clears it afterwards
        if state in (ARMED, ACTIVE):
            self.set_state(state)

    def set_pkeys(self, modifier, d):
        self.pkeys = list(unpack(">32H", self.block(modifier, d)))

    def set_sl2vl(self, modifier, d):
        self.sl2vl = bytearray(d[:8])

    def get_vlarb(self, modifier):
        if modifier >> 16 not in self.vlarb:
            raise ValueError
        return self.vlarb[modifier >> 16]

    def set_vlarb(self, modifier, d):
        self.get_vlarb(modifier)
        self.vlarb[modifier >> 16] = d

