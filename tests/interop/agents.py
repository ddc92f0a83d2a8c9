#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Test the answers of the SMA and the PMA of an HCA at the far end of a UDP link.

    agents.py HERE THERE

HERE and THERE are the ends of the link as ADDRESS:PORT. This program is at HERE, and the HCA at THERE. The HCA has one
port, which no other program manages. The program prints a TAP line for each case. The same cases run against a uipoib
interface with `port = udp:...` (tests/interop/agents.sh) and against uib.ko (tests/interop/linux/kmod.sh), so that both
give the same answers. At the end the port is Disabled.
"""
import os
import socket
import sys
import time
from struct import pack, pack_into, unpack_from

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../examples")
from peer.wire import Drop, Packet, check_link, decode, encode      # noqa: E402

GET, SET, TRAP, REPRESS, RESPONSE = 1, 2, 5, 7, 0x81
NOTICE, NODE_DESC, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO = 2, 0x10, 0x11, 0x12, 0x14, 0x15
PKEYS, SLTOVL, VLARB, LFT, LED = 0x16, 0x17, 0x18, 0x19, 0x31
CLASS_PORT_INFO, CONTROL, RESULT, COUNTERS, EXTENDED = 1, 0x10, 0x11, 0x12, 0x1D
BAD_VERSION, BAD_METHOD, BAD_ATTRIBUTE, BAD_VALUE = 0x04, 0x08, 0x0C, 0x1C
DOWN, INIT, ARMED, ACTIVE = 1, 2, 3, 4
POLLING, DISABLED = 2, 3
LID, SM_LID, PREFIX, PORT = 5, 1, 0xFE80000000000000, 1
PATIENCE = 20       # seconds for an answer that must come, on a machine that is busy
ABSENCE = 1         # seconds to wait for an answer that must not come


class Link:
    """This program's end of the link, without an SMA: sends keepalives and MADs, and collects answers and traps."""

    def __init__(self, here, there):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(here)
        self.there, self.spoken, self.heard = there, 0.0, None
        self.answers, self.traps, self.tid = {}, [], 0x1000

    def turn(self, seconds):
        """Send a keepalive if the last one was sent 0.5 s ago, and handle a datagram if it arrives within SECONDS."""
        if time.monotonic() - self.spoken >= 0.5:
            self.spoken = time.monotonic()
            self.sock.sendto(b"", self.there)
        self.sock.settimeout(seconds)
        try:
            data, sender = self.sock.recvfrom(65536)
        except (TimeoutError, ConnectionError):
            return
        if sender != self.there:
            return
        self.heard = time.monotonic()
        if data:
            self.take(data)

    def take(self, data):
        try:
            check_link(data)
            packet = decode(data)
        except Drop as why:
            sys.exit(f"a packet that is not right: {why}: {data.hex()}")
        mad = packet.payload
        if packet.dest_qp == 0 and mad[3] == TRAP:
            self.traps.append(mad)
        elif mad[3] == RESPONSE:
            self.answers[unpack_from(">Q", mad, 8)[0]] = mad

    def until(self, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while not what():
            if time.monotonic() > end:
                return False
            self.turn(0.05)
        return True


class Smp:
    """The SMA's answer to a request."""

    def __init__(self, mad):
        self.mad = mad
        self.status = unpack_from(">H", mad, 4)[0] & 0x7FFF
        self.data = mad[64:128]


class Hca:
    def __init__(self, link):
        self.link, self.mkey = link, 0

    def send(self, mad, management):
        if management:
            directed = mad[1] == 0x81
            lids = (0xFFFF, 0xFFFF) if directed else (LID, SM_LID)
            packet = Packet(15, 0, *lids, None, 0xFFFF, 0, 0, 0, mad)
        else:
            packet = Packet(0, 0, LID, SM_LID, None, 0xFFFF, 1, 0x80010000, 1, mad)
        self.link.sock.sendto(encode(packet), self.link.there)

    def request(self, mad, management, answered=True):
        """Send the MAD and return its answer, or None if no answer comes in time."""
        tid = unpack_from(">Q", mad, 8)[0]
        self.send(mad, management)
        if not self.link.until(lambda: tid in self.link.answers, PATIENCE if answered else ABSENCE):
            return None
        return self.link.answers.pop(tid)

    def smp(self, method, attribute, modifier=0, data=b"", answered=True, directed=True, version=1):
        self.link.tid += 1
        hops = (0x81, 1, 1) if directed else (0x01, 0, 0)
        mad = pack(">BBBBHBBQHHIQHH28x", 1, hops[0], version, method, 0, hops[1], hops[2], self.link.tid, attribute, 0,
                   modifier, self.mkey, 0xFFFF if directed else 0, 0xFFFF if directed else 0)
        mad += data.ljust(64, b"\0") + (b"\0\1" if directed else b"\0\0") + bytes(126)
        answer = self.request(mad, True, answered)
        if answered and not answer:
            raise Failure("no answer")
        return answer and Smp(answer)

    def status(self, *args, **kwargs):
        return self.smp(*args, **kwargs).status

    def get(self, attribute, modifier=0):
        answer = self.smp(GET, attribute, modifier)
        equal(answer.status, 0, "status")
        return answer.data

    def pma(self, method, attribute, data=b"\0\1", version=1):
        self.link.tid += 1
        mad = pack(">BBBBHHQHHI", 1, 4, version, method, 0, 0, self.link.tid, attribute, 0, 0).ljust(64, b"\0")
        answer = self.request(mad + data.ljust(192, b"\0"), False)
        if not answer:
            raise Failure("no answer")
        return unpack_from(">H", answer, 4)[0], answer[64:]

    def port_info(self):
        return PortInfo(self.get(PORT_INFO, PORT))

    def set_port(self, expected=0, **fields):
        """Send a Set(PortInfo) that changes only the given fields, and return the content of the answer."""
        info = self.port_info().nop()
        for name, value in fields.items():
            info[name] = value
        answer = self.smp(SET, PORT_INFO, PORT, bytes(info.data))
        equal(answer.status, expected, f"status of a Set with {fields}")
        return PortInfo(answer.data)


class PortInfo:
    """A PortInfo whose fields are read and set by name. FIELDS has octet, shift and bits of each field (IBTA 14.2.5.6)."""
    FIELDS = {
        "mkey": (0, 0, 64), "prefix": (8, 0, 64), "lid": (16, 0, 16), "sm_lid": (18, 0, 16), "capabilities": (20, 0, 32),
        "lease": (26, 0, 16), "local_port": (28, 0, 8), "width_enabled": (29, 0, 8), "width_supported": (30, 0, 8),
        "width_active": (31, 0, 8), "speed_supported": (32, 4, 4), "state": (32, 0, 4), "physical": (33, 4, 4),
        "down_default": (33, 0, 4), "protect": (34, 6, 2), "lmc": (34, 0, 3), "speed_active": (35, 4, 4),
        "speed_enabled": (35, 0, 4), "mtu": (36, 4, 4), "sm_sl": (36, 0, 4), "vl_cap": (37, 4, 4), "high_limit": (38, 0, 8),
        "mtu_cap": (41, 0, 4), "vls": (43, 4, 4), "mkey_violations": (44, 0, 16), "pkey_violations": (46, 0, 16),
        "qkey_violations": (48, 0, 16), "guid_cap": (50, 0, 8), "reregister": (51, 7, 1), "suppress": (51, 5, 2),
        "subnet_timeout": (51, 0, 5), "credit_hint": (54, 0, 16), "latency": (57, 0, 24), "speed_ext_enabled": (63, 0, 5),
    }

    def __init__(self, data):
        self.data = bytearray(data)

    def __getitem__(self, name):
        at, shift, bits = self.FIELDS[name]
        size = max(bits // 8, 1)
        return int.from_bytes(self.data[at:at + size], "big") >> shift & (1 << bits) - 1

    def __setitem__(self, name, value):
        at, shift, bits = self.FIELDS[name]
        size = max(bits // 8, 1)
        old = int.from_bytes(self.data[at:at + size], "big")
        new = old & ~(((1 << bits) - 1) << shift) | value << shift
        self.data[at:at + size] = new.to_bytes(size, "big")

    def nop(self):
        for name in ("state", "physical", "down_default", "width_enabled", "speed_enabled", "speed_ext_enabled", "vls",
                     "reregister"):
            self[name] = 0
        return self


# --- TAP

class Failure(Exception):
    pass


def equal(got, want, what):
    if got != want:
        shown = [v.hex() if isinstance(v, (bytes, bytearray)) else repr(v) for v in (want, got)]
        raise Failure(f"{what}: expected {shown[0]}, got {shown[1]}")


def run(hca):
    failed = False
    for name, case in [(n, f) for n, f in globals().items() if n.startswith("case_")]:
        title = (case.__doc__ or name).strip()
        try:
            case(hca)
            print(f"ok - {title}", flush=True)
        except Failure as why:
            failed = True
            print(f"not ok - {title}\n#   {why}", flush=True)
    return failed


# --- cases. They run in this order, because each needs the port state that the case before it leaves. The states are
# Down, Init, Active, and at the end Disabled

def case_init(hca):
    """the link comes up and the port is Init"""
    if not hca.link.until(lambda: hca.link.heard):
        raise Failure("nothing is heard")
    info = hca.port_info()
    equal((info["state"], info["physical"], info["lid"], info["local_port"]), (INIT, 5, 0, PORT), "state, LID and port")


def case_capabilities(hca):
    """PortInfo says what the port can do"""
    info = hca.port_info()
    # IsTrap, IsSLMapping, IsSystemImageGUID, IsExtendedSpeeds, IsCapabilityMask2, IsVendorClass, IsCapabilityMaskNotice,
    # IsClientReregistration; a kernel with ib_cm adds IsCM.
    equal(info["capabilities"] & ~0x00010000, 0x0250C848, "CapabilityMask")
    equal([info[n] for n in ("width_supported", "width_active", "vl_cap", "vls", "guid_cap", "down_default", "subnet_timeout")],
          [3, 2, 4, 4, 32, POLLING, 18], "widths, VLs, GUIDs, time-outs")
    # uib.ko runs at SDR, and the HCA of uipoib at the rate in its topology.
    if not info["speed_active"] & info["speed_enabled"] & info["speed_supported"]:
        raise Failure("LinkSpeedActive is not enabled")


def case_node_info(hca):
    """NodeInfo is that of a CA with one port"""
    data = hca.get(NODE_INFO)
    equal(bytes(data[:4]), b"\1\1\1\1", "versions, type and ports")
    equal(data[12:20], data[20:28], "node and port GUID")
    equal(unpack_from(">H", data, 28)[0], 64, "PartitionCap")
    equal(data[36], PORT, "LocalPortNum")
    if hca.get(NODE_DESC).strip(b"\0") == b"":
        raise Failure("NodeDescription is empty")


def case_refused(hca):
    """what an SMA does not have is refused by the status that says so"""
    for attribute in (SWITCH_INFO, LFT, LED, 0x1B, 0xFF00):
        equal(hca.status(GET, attribute), BAD_ATTRIBUTE, f"status of Get({attribute:#x})")
        equal(hca.status(SET, attribute), BAD_ATTRIBUTE, f"status of Set({attribute:#x})")
    equal(hca.status(SET, NODE_INFO), BAD_ATTRIBUTE, "status of Set(NodeInfo)")
    equal(hca.status(SET, NODE_DESC), BAD_ATTRIBUTE, "status of Set(NodeDescription)")
    equal(hca.status(0x12, NODE_INFO), BAD_METHOD, "status of method 0x12")
    equal(hca.status(GET, NODE_INFO, version=2), BAD_VERSION, "status of class version 2")


def case_modifiers(hca):
    """a modifier that names a port or block that is not there is refused"""
    for attribute, modifiers in ((PORT_INFO, (2, 0x100, 0xFFFFFFFF)), (PKEYS, (2, 0x20000, 0xFFFF)),
                                 (GUID_INFO, (4, 0x20000000, 0x80000001, 0xFFFFFFFF)), (SLTOVL, (2, 0x200)),
                                 (VLARB, (0, 1, 0x20001, 0x40001, 0x50001, 0x10002))):
        for modifier in modifiers:
            for method in (GET, SET):
                equal(hca.status(method, attribute, modifier), BAD_VALUE, f"method {method} of {attribute:#x}, {modifier:#x}")
    for modifier in (0, 1, 0x80000001):         # bit 31: the SM supports extended speeds
        equal(hca.status(GET, PORT_INFO, modifier), 0, f"Get(PortInfo), {modifier:#x}")


def case_values(hca):
    """Set(PortInfo) with a value that is not possible is refused, and changes nothing"""
    before = hca.port_info()
    for fields in ({"lid": 0xC000}, {"lid": 0xBFFF, "lmc": 1}, {"sm_lid": 0xC000}, {"mtu": 6}, {"vls": 5},
                   {"width_enabled": 4}, {"speed_enabled": 8}, {"speed_ext_enabled": 1}, {"down_default": 3},
                   {"state": ACTIVE}, {"state": INIT}, {"state": 5}, {"physical": 4}, {"state": ARMED, "physical": POLLING}):
        hca.set_port(BAD_VALUE, **fields)
    equal(hca.port_info().data, before.data, "PortInfo")


def case_set_up(hca):
    """the port goes Armed and Active, by directed route and by LID"""
    info = hca.set_port(lid=LID, sm_lid=SM_LID, prefix=PREFIX, state=ARMED)
    equal((info["lid"], info["sm_lid"], info["state"]), (LID, SM_LID, ARMED), "the answer")
    hca.set_port(BAD_VALUE, state=ARMED)
    equal(hca.smp(GET, PORT_INFO, PORT, directed=False).status, 0, "status by LID")
    equal(hca.set_port(state=ACTIVE)["state"], ACTIVE, "PortState")


def case_fields(hca):
    """Set(PortInfo) keeps what an SM may write, echoes ClientReregister, and clears counters only"""
    info = hca.set_port(credit_hint=0x1234, latency=0xABCDEF, suppress=3, high_limit=9, reregister=1, qkey_violations=7)
    equal(info["reregister"], 1, "ClientReregister in the answer")
    info = hca.port_info()
    equal([info[n] for n in ("credit_hint", "latency", "suppress", "high_limit", "reregister", "qkey_violations")],
          [0x1234, 0xABCDEF, 3, 9, 0, 0], "the fields")
    equal(hca.set_port(width_enabled=0xFF, suppress=0)["width_enabled"], 3, "LinkWidthEnabled, all that is supported")
    hca.set_port(width_enabled=2)


def case_route(hca):
    """a directed route comes back with its direction and its return path"""
    mad = hca.smp(GET, NODE_INFO).mad
    equal((mad[4] & 0x80, mad[6], mad[7]), (0x80, 1, 1), "direction, hop pointer and count")
    equal(bytes(mad[193:195]), b"\1\0", "return path")


def case_pkeys(hca):
    """the P_Key table is written and read by blocks"""
    table = pack(">HHH", 0xFFFF, 0x8001, 0x0002)
    equal(hca.smp(SET, PKEYS, 0, table).data[:8], table + b"\0\0", "the answer")
    last = bytes(62) + b"\x80\x03"
    equal(hca.smp(SET, PKEYS, 1, last).data, last, "block 1")
    equal(hca.get(PKEYS, 0x10000)[:8], table + b"\0\0", "block 0 of port 1")
    hca.smp(SET, PKEYS, 1)
    equal(hca.smp(SET, PKEYS, 0, b"\xff\xff").data, b"\xff\xff" + bytes(62), "block 0 again")


def case_guids(hca):
    """the GUID table is written and read by blocks, and the port GUID is read-only"""
    own = hca.get(NODE_INFO)[20:28]
    table = b"".join(pack(">Q", 0x0200000000000000 + i) for i in range(8))
    equal(hca.smp(SET, GUID_INFO, 0, table).data, own + table[8:], "block 0")
    equal(hca.smp(SET, GUID_INFO, 3, table).data, table, "block 3")
    equal(hca.get(GUID_INFO, 0)[:8], own, "the port GUID")
    hca.smp(SET, GUID_INFO, 0)
    equal(hca.smp(SET, GUID_INFO, 3).data, bytes(64), "block 3 again")


def case_lanes(hca):
    """SLtoVL and VL arbitration tables are kept, without reserved bits"""
    equal(bytes(hca.get(SLTOVL)[:8]), bytes.fromhex("0123456789abcde7"), "SLtoVL before an SM writes it")
    table = bytes.fromhex("0011223344556677")
    equal(hca.smp(SET, SLTOVL, 0, table + b"\xff" * 8).data, table + bytes(56), "SLtoVL")
    equal(bytes(hca.get(VLARB, 0x10001)[:6]), bytes.fromhex("000001040204"), "VLArb, low priority, before an SM writes it")
    equal(bytes(hca.get(VLARB, 0x30001)[:6]), bytes.fromhex("000401000200"), "VLArb, high priority")
    wrote = hca.smp(SET, VLARB, 0x10001, b"\xf1\x40\xf2\x20").data
    equal(bytes(wrote[:4]), b"\1\x40\2\x20", "VLArb")


def case_mkey(hca):
    """the M_Key protects, hides itself, is reported by trap 256, and its lease ends"""
    hca.set_port(mkey=7, protect=1, lease=0)
    equal(hca.port_info()["mkey"], 0, "the M_Key that is shown to who does not have it")
    if hca.smp(SET, PORT_INFO, PORT, answered=False):
        raise Failure("a Set without the M_Key is answered")
    if not hca.link.until(lambda: any(unpack_from(">H", t, 68)[0] == 256 for t in hca.link.traps)):
        raise Failure("no trap 256")
    trap = hca.link.traps[-1]
    equal((trap[64] & 0x7F, unpack_from(">H", trap, 70)[0], unpack_from(">H", trap, 76)[0]), (2, LID, LID), "type and LIDs")
    equal((trap[80], unpack_from(">H", trap, 82)[0], unpack_from(">I", trap, 84)[0]), (SET, PORT_INFO, PORT), "request")
    equal((trap[97], trap[98]), (0x81, 1), "directed route of one hop, its return path")
    equal(hca.get(NOTICE)[:6], trap[64:70], "Get(Notice) until it is acknowledged")
    hca.mkey = 7
    equal(hca.port_info()["mkey"], 7, "the M_Key that is shown to who has it")
    if hca.port_info()["mkey_violations"] < 1:
        raise Failure("M_KeyViolations is 0")
    equal(hca.status(SET, NOTICE, 0, bytes(trap[64:128])), 0, "status of Set(Notice), which acknowledges it")
    equal(hca.get(NOTICE), bytes(64), "Get(Notice) when there is none")
    hca.set_port(mkey=7, protect=2, lease=1)
    hca.mkey = 0
    if hca.smp(GET, PORT_INFO, PORT, answered=False):
        raise Failure("a Get without the M_Key is answered at protection 2")
    if not hca.link.until(lambda: hca.smp(GET, PORT_INFO, PORT, answered=False)):
        raise Failure("the lease of one second does not end")
    hca.mkey = 7
    hca.set_port(mkey=0, protect=0, lease=0, mkey_violations=0)
    hca.mkey = 0


def case_traps_end(hca):
    """TrapRepress ends the repetition of a trap"""
    end = time.monotonic() + 3 * PATIENCE
    while time.monotonic() < end:
        hca.link.traps.clear()
        hca.link.until(lambda: hca.link.traps, 4)
        if not hca.link.traps:
            return
        repress = bytearray(hca.link.traps[-1])
        repress[3] = REPRESS
        hca.send(bytes(repress), True)
    raise Failure("they go on")


def case_pma_info(hca):
    """PMA: ClassPortInfo, and what is refused"""
    status, data = hca.pma(GET, CLASS_PORT_INFO)
    equal((status, bytes(data[:4]), data[7]), (0, b"\1\1\x12\0", 16), "ClassPortInfo")
    equal(hca.pma(SET, CLASS_PORT_INFO)[0], BAD_ATTRIBUTE, "Set(ClassPortInfo)")
    equal(hca.pma(GET, 0x35)[0], BAD_ATTRIBUTE, "an attribute that is none")
    equal(hca.pma(0x12, COUNTERS)[0], BAD_METHOD, "a method that is none")
    equal(hca.pma(GET, COUNTERS, version=2)[0], BAD_VERSION, "class version 2")
    for attribute in (COUNTERS, EXTENDED, 0x15, 0x16, 0x36, 0x37, CONTROL):
        for port in (0, 2, 255):
            equal(hca.pma(GET, attribute, bytes((0, port)))[0], BAD_VALUE, f"port {port} of {attribute:#x}")
        if attribute != CONTROL:
            equal(hca.pma(GET, attribute, b"\xff\1")[1][0], 0, f"the reserved octet of {attribute:#x}")


def case_pma_counters(hca):
    """PMA: counters count, are cleared each for itself, and take values"""
    def received(attribute):
        status, data = hca.pma(GET, attribute)
        equal(status, 0, "status")
        return unpack_from(">Q", data, 32)[0] if attribute == EXTENDED else unpack_from(">I", data, 36)[0]
    before = received(COUNTERS), received(EXTENDED)
    for _ in range(10):
        hca.get(NODE_INFO)
    after = received(COUNTERS), received(EXTENDED)
    if after[0] - before[0] < 12 or after[1] - before[1] < 12:
        raise Failure(f"PortRcvPkts grew from {before} to {after} by 10 SMPs and 2 GMPs")
    equal(hca.pma(SET, COUNTERS, b"\0\1\x80\0")[0], 0, "clearing PortRcvPkts")     # CounterSelect: bit 15
    cleared = received(COUNTERS), received(EXTENDED)
    if cleared[0] > 8 or cleared[1] <= after[1]:
        raise Failure(f"PortRcvPkts {after} became {cleared}: one of the two attributes was cleared")
    status, data = hca.pma(SET, COUNTERS, pack(">BBH", 0, PORT, 4).ljust(7, b"\0") + b"\xfe")
    equal((status, data[7]), (0, 0xFE), "LinkDownedCounter takes a value")
    equal(hca.pma(SET, COUNTERS, pack(">BBH", 0, PORT, 4))[1][7], 0, "and is cleared")


def case_pma_samples(hca):
    """PMA: a measurement of PortRcvPkts"""
    def control(**v):
        data = (bytes((0, PORT)).ljust(28, b"\0") + pack(">IIH", v.get("start", 0), v.get("interval", 0), v.get("tag", 0)) +
                b"".join(pack(">H", s) for s in v.get("select", ()))).ljust(80, b"\0")
        return hca.pma(SET, CONTROL, data)
    equal(control(select=(6,))[0], BAD_VALUE, "a counter that is none")
    equal(hca.pma(SET, RESULT)[0], BAD_ATTRIBUTE, "Set(PortSamplesResult)")
    equal(control(interval=50000000, tag=0xBEEF, select=(4,))[0], 0, "status")
    if not hca.link.until(lambda: hca.pma(GET, RESULT)[1][3] == 0):
        raise Failure("it does not end")
    data = hca.pma(GET, RESULT)[1]
    equal(bytes(data[:2]), b"\xbe\xef", "tag")
    if not unpack_from(">I", data, 4)[0]:
        raise Failure("nothing was counted")


def case_disabled(hca):
    """Set(Disabled) is answered, and then the port is silent"""
    info = hca.set_port(state=DOWN, physical=DISABLED)
    equal((info["state"], info["physical"]), (DOWN, DISABLED), "the answer")
    quiet = time.monotonic()
    while time.monotonic() < quiet + 2:         # reads the datagrams that are still under way
        hca.link.turn(0.1)
    before = hca.link.heard
    while time.monotonic() < quiet + 8:
        hca.link.turn(0.1)
    equal(hca.link.heard, before, "when it was heard last")


def endpoint(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(run(Hca(Link(endpoint(sys.argv[1]), endpoint(sys.argv[2])))))


if __name__ == "__main__":
    main()
