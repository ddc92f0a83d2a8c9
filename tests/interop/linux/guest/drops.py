#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests which packets uib.ko discards, and under which reason it counts them.

    drops.py NAME LISTEN FAR

The program makes the device NAME, whose link is at LISTEN (ADDRESS:PORT). This program, at FAR, is the peer of the
link, and the SM and SA of the device. The program brings the port up step by step, sends wrong packets, and makes
uib_test.ko send packets that must be discarded. It prints a TAP line for each reason to discard a packet: only the
counter of this reason must have grown, by the right number. Then it tests asynchronous events, traps, and samples of
the PMA.
"""
import socket
import subprocess
import sys
import time
from struct import pack, pack_into, unpack_from

sys.dont_write_bytecode = True
from fuzz import LID, MGID, MLID, PKEY, PREFIX, QKEY, Far, seal       # noqa: E402
from peer.wire import Grh, Packet, encode                              # noqa: E402

GUID = 0x00ACE0000000C099
DEBUG = "/sys/kernel/debug"
PATIENCE = 60


def ipoib(far, **changes):
    p = Packet(0, 0, LID, 9, None, PKEY, far.qpn, QKEY, 0x123, pack(">HH", 0x0806, 0) + bytes(56))
    return p._replace(**changes)


def multicast(far, mgid=MGID):
    grh = Grh(0, 0, 0, pack(">QQ", PREFIX, 7), mgid)
    return ipoib(far, dlid=MLID, dest_qp=0xFFFFFF, grh=grh)


def patched(packet, at, octet, crc=True):
    p = bytearray(packet[:-6] if crc else packet)
    p[at] = octet
    return seal(p) if crc else bytes(p)


def cases(far):
    right = encode(ipoib(far))
    mad = pack(">BBBBHHQHHI", 1, 4, 1, 1, 0, 0, 9, 0x12, 0, 0) + bytes(232)
    smp = Packet(15, 0, 0xFFFF, 0xFFFF, None, 0xFFFF, 0, 0, 0, mad)
    bad_icrc = bytearray(right[:-2])
    bad_icrc[-1] ^= 1
    yield "too_short", bytes(13)
    yield "oversized", bytes(4223)
    yield "link_version", patched(right, 0, 1)
    yield "length", right + b"\0"
    yield "vcrc", patched(right, len(right) - 1, right[-1] ^ 1, crc=False)
    yield "icrc", revcrc(bad_icrc)
    yield "version", patched(right, 8, 0x60)            # opcode: UD is 0x64
    yield "version", patched(right, 1, 1)               # LNH: raw, IPv6
    yield "length", patched(encode(multicast(far)), 12, 9)      # PayLen
    yield "vl15", encode(ipoib(far, vl=15))
    yield "vl15", encode(smp._replace(vl=0, dlid=LID))
    yield "dlid", encode(ipoib(far, dlid=LID + 1))
    yield "dgid", encode(ipoib(far, grh=Grh(0, 0, 0, bytes(16), pack(">QQ", PREFIX, GUID + 1))))
    yield "no_grh", encode(multicast(far)._replace(grh=None))
    yield "mgid", encode(multicast(far, MGID[:-1] + b"\7"))
    yield "qpn", encode(ipoib(far, dest_qp=far.qpn + 1000))
    yield "qpn", encode(multicast(far)._replace(dest_qp=far.qpn))
    yield "pkey", encode(ipoib(far, pkey=0x8055))
    yield "pkey", encode(ipoib(far, pkey=0x8000))
    yield "qkey", encode(ipoib(far, qkey=QKEY + 1))
    yield "qkey", encode(ipoib(far, dest_qp=1, payload=mad))
    yield "length", encode(ipoib(far, dest_qp=1, qkey=0x80010000, payload=mad + bytes(4)))
    yield "mtu", encode(ipoib(far, payload=bytes(2052)))


# Cases of uib_test.ko, and the numbers of packets that uib.ko discards in each case, by reason
VERBS = (("loopback", {}), ("limits", {}), ("queues", {}), ("keys", {"no_receive": 5}), ("flush", {}), ("notify", {}),
         ("no_receive", {"no_receive": 1}), ("small_receive", {"no_receive": 1}), ("qp_state", {"qp_state": 1}), ("cq_full", {"cq_full": 2}),
         ("tx_mtu", {"tx_mtu": 1}), ("tx_pkey", {"tx_pkey": 1}), ("tx_vl15", {"tx_vl15": 1}), ("large_send", {"tx_mtu": 2}),
         ("checksums", {}))


def revcrc(packet):
    from peer.wire import vcrc
    return bytes(packet) + vcrc(packet)


def read(name):
    with open(f"{DEBUG}/uib/{name}/stats", encoding="ascii") as f:
        return {k[5:]: int(v) for k, v in (line.split() for line in f) if k.startswith("drop_")}


def events(name):
    with open(f"{DEBUG}/uib_test/{name}/events", encoding="ascii") as f:
        return {k.strip(): int(n) for n, k in (line.split(" ", 1) for line in f)}


def gid(name):
    with open(f"/sys/class/infiniband/{name}/ports/1/gids/0", encoding="ascii") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def grown(before, now):
    return {k: now[k] - before[k] for k in now if now[k] != before[k]}


def settle(far, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        far.manage(time.monotonic())
        while far.receive():
            pass
        time.sleep(0.005)


def tell(ok, what, got=""):
    ok = bool(ok)
    print(f"{'ok' if ok else 'not ok'} - {what}" + ("" if ok else f": {got}"), flush=True)
    return ok


def eventually(far, seconds, what):
    """Wait until what() is true, for at least PATIENCE seconds, because the machine may be busy."""
    end = time.monotonic() + max(seconds, PATIENCE)
    while not what():
        if time.monotonic() > end:
            return False
        settle(far, 0.02)
    return True


def expect(far, name, want, send):
    before = read(name)
    send()

    def got():
        return grown(before, read(name))
    ok = eventually(far, 10, lambda: sum(got().values()) >= sum(want.values())) and got() == want
    return tell(ok, "uib.ko counts " + ", ".join(f"{n} drop_{k}" for k, n in want.items()), got())


def expect_verbs(far, name, case, want):
    before, failed = read(name), None
    try:
        write(f"{DEBUG}/uib_test/{name}/run", case)
    except OSError as e:
        failed = e
    settle(far, 0.05)
    got = grown(before, read(name))
    return tell(not failed and got == want, f"verbs: {case}, {want or 'nothing'} discarded", (failed, got))


def expect_events(far, name, want, do, what=None):
    """Check that do() raises exactly the events in want, each once."""
    before = events(name)
    do()

    def got():
        return grown(before, events(name))
    eventually(far, 15, lambda: len(got()) >= len(want))
    settle(far, 0.3)
    return tell(got() == dict.fromkeys(want, 1), "event: " + (what or ", ".join(want)), got())


# --- the steps

def make(far, name, listen):
    """Add the device, which is silent for 2 s. If the machine was too slow to send a datagram within these 2 s, add the
    device again."""
    host, _, port = listen.rpartition(":")
    far.peer = (host, int(port))
    for _ in range(5):
        write("/sys/module/uib/parameters/add",
              f"{name} listen={listen} peer={far.name} guid={GUID:#x} mtu=2048 silence=2000")
        far.send(b"")
        if read(name)["silent"] == 1:
            return True
        write("/sys/module/uib/parameters/remove", name)
    return False


def drain(far):
    while True:
        try:
            far.sock.recvfrom(65536)
        except BlockingIOError:
            return


def first_keepalive(far):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            return far.sock.recvfrom(65536) and True
        except BlockingIOError:
            time.sleep(0.01)
    return False


def check_down(far, name):
    """Test the device before it has received anything, so that its port is still Down."""
    good = tell(first_keepalive(far), "it speaks after its silence")
    before = read(name)
    write(f"{DEBUG}/uib_test/{name}/run", "tx_state")
    good &= tell(grown(before, read(name)) == {"tx_state": 1}, "verbs: tx_state, 1 drop_tx_state", read(name))
    before = read(name)
    subprocess.run([sys.executable, "umad.py", name, "0x11", "0", "1"], capture_output=True, check=False)
    got = grown(before, read(name))
    return good & tell(set(got) == {"tx_link_down"}, "an SMP by a link that is down: drop_tx_link_down", got)


def check_init(far, name):
    far.hold = True
    good = tell(eventually(far, 20, lambda: far.state == 2), "the port is Init", far.state)
    return good & expect(far, name, {"port_state": 1}, lambda: far.send(encode(ipoib(far))))


def check_active(far, name):
    """Test that a packet makes an Armed port Active."""
    before = events(name)
    far.set_port(0)
    far.set_port(3)
    # Each of the two requests causes an event, which the kernel may deliver after the answer.
    eventually(far, 20, lambda: far.state == 3 and grown(before, events(name)).get("client reregister", 0) == 2)
    good = expect_events(far, name, ["port active"], lambda: far.send(encode(ipoib(far, dest_qp=0x30))),
                         "port active, by a packet in Armed")
    good &= tell(eventually(far, 5, lambda: far.state == 4), "the port is Active", far.state)
    # Write P_Keys and SLtoVL before the SA answers the join of ib_ipoib.
    far.smp(2, 0x16, 0, pack(">H", PKEY))
    far.smp(2, 0x17, 0, bytes((0x01, 0x23, 0x45, 0x6F)))
    far.hold = False
    return good & tell(eventually(far, 60, lambda: far.joined), "ib_ipoib joins its group")


def check_mkey(far, name):
    far.hold, far.asked = True, time.monotonic() + 3600     # send no Gets without the key during this check
    settle(far, 0.5)
    far.set_port(0, mkey=7, protect=2, reregister=False)
    settle(far, 0.5)
    good = expect(far, name, {"mkey": 1}, lambda: far.smp(1, 0x15, 1))
    good &= tell(eventually(far, 10, lambda: any(t == 256 for t, _ in far.traps)), "trap 256")
    data = bytearray(64)
    pack_into(">QQHH", data, 0, 0, PREFIX, far.lid, far.sm_lid)
    data[36], data[50], data[51] = 0x40, 0x40, 0x12
    far.smp(2, 0x15, 1, bytes(data), 7)
    far.asked, far.hold = 0.0, False
    return good


def check_events(far, name):
    """Test Sets of PortInfo and P_Keys, each of which changes one value and raises one event."""
    far.hold = True
    settle(far, 0.5)

    def port(**changes):
        for k, v in changes.items():
            setattr(far, k, v)
        far.set_port(0, reregister=False)
    good = expect_events(far, name, ["LID change"], lambda: port(lid=6))
    good &= expect_events(far, name, ["LID change"], lambda: port(lid=LID), "LID change, back")
    good &= expect_events(far, name, ["SM change"], lambda: port(sm_lid=2))
    good &= expect_events(far, name, ["SM change"], lambda: port(sm_lid=1), "SM change, back")
    good &= expect_events(far, name, [], port, "none by a Set that changes nothing")
    good &= expect_events(far, name, ["P_key change"],
                          lambda: far.smp(2, 0x16, 0, pack(">HH", PKEY, 0x8001)))
    good &= expect_events(far, name, ["P_key change"], lambda: far.smp(2, 0x16, 0, pack(">H", PKEY)), "P_key change, back")
    # ib_core does not pass GID_CHANGE on to consumers, but reads the GIDs again.
    far.set_port(0, prefix=PREFIX + 1, reregister=False)
    good &= tell(eventually(far, 15, lambda: gid(name).startswith("fe80:0000:0000:0001:")), "event: GID change", gid(name))
    port()
    good &= tell(eventually(far, 15, lambda: gid(name).startswith("fe80:0000:0000:0000:")), "event: GID change, back")
    joined = far.joined
    good &= expect_events(far, name, ["client reregister"], lambda: far.set_port(0))
    good &= tell(eventually(far, 30, lambda: far.joined > joined), "ib_ipoib joins anew after it")
    return good


def check_retrain(far, name):
    """Test that the silence after a retrain lasts 4 s, although the device was added with a shorter first silence."""
    begin = time.monotonic()
    good = expect_events(far, name, ["port error"], lambda: far.set_port(1, reregister=False))
    drain(far)
    silent = first_keepalive(far) and time.monotonic() - begin
    good &= tell(silent and silent > 3.9, "the link is silent for 4 s after a retrain", silent)
    before = events(name)["port active"]
    far.hold, far.state, far.heard = False, 0, time.monotonic()
    good &= tell(eventually(far, 30, lambda: events(name)["port active"] == before + 1), "event: port active, again")
    return good


def pma(far, method, attr, data):
    far.tid += 1
    mad = pack(">BBBBHHQHHI", 1, 4, 1, method, 0, 0, far.tid, attr, 0, 0).ljust(64, b"\0") + data.ljust(192, b"\0")
    far.send(encode(Packet(0, 0, LID, 1, None, PKEY, 1, 0x80010000, 1, mad)))
    key = pack(">Q", far.tid)
    eventually(far, 10, lambda: key in far.answers)
    answer = far.answers.pop(key, bytes(256))
    return unpack_from(">H", answer, 4)[0], answer[64:]


def samples_control(start=0, interval=0, tag=0, select=(), port=1):
    return (bytes((0, port)).ljust(28, b"\0") + pack(">IIH", start, interval, tag) +
            b"".join(pack(">H", s) for s in select)).ljust(80, b"\0")


def check_samples(far):
    """Test a measurement (IBTA 16.1.3.2) that waits for 0.5 s and counts for 2 s, in ticks of 4 ns."""
    status, c = pma(far, 1, 0x10, samples_control())
    good = tell(not status and c[3] == 4 and c[11] == 0 and unpack_from(">I", c, 4)[0] == 0o11111 << 15,
                "PMA: PortSamplesControl", c[:16].hex())
    good &= tell(pma(far, 2, 0x10, samples_control(select=(6,)))[0] == 0x1C and
                 pma(far, 2, 0x10, samples_control(select=(0, 0, 0, 0, 0, 1)))[0] == 0x1C and
                 pma(far, 1, 0x10, samples_control(port=2))[0] == 0x1C and
                 pma(far, 2, 0x11, bytes(64))[0] == 0x0C, "PMA: what cannot be sampled is refused")
    status, c = pma(far, 2, 0x10, samples_control(125000000, 500000000, 0xBEEF, (4, 2, 5)))
    good &= tell(not status and c[11] in (1, 2) and c[36:38] == b"\xbe\xef", "PMA: a measurement starts", c[:40].hex())
    status, c = pma(far, 2, 0x10, samples_control(1, 1, 0xAAAA))
    good &= tell(not status and c[36:38] == b"\xbe\xef", "PMA: while it runs another one changes nothing", c[:40].hex())
    eventually(far, 20, lambda: pma(far, 1, 0x11, b"")[1][3] != 1)
    sent = 0
    end = time.monotonic() + 20
    while pma(far, 1, 0x11, b"")[1][3] == 2 and time.monotonic() < end:
        sent += 1       # each question is a packet of 72 words that the port receives
    status, r = pma(far, 1, 0x11, b"")
    packets, words, wait = unpack_from(">III", r, 4)
    good &= tell(r[3] == 0 and r[:2] == b"\xbe\xef" and packets >= sent and words >= 72 * sent and not wait and sent,
                 "PMA: what came in the interval is the result", (sent, packets, words, wait, r[:4].hex()))
    settle(far, 0.5)
    return good & tell(pma(far, 1, 0x11, b"")[1][4:16] == r[4:16], "PMA: and stays")


def check_trap(far, number, key):
    """Test that a trap is repeated with the same TID until TrapRepress, and that a notice which was queued meanwhile is then sent with a new TID."""
    eventually(far, 10, lambda: sum(trap == number for trap, _ in far.traps) >= 2)
    mads = [mad for trap, mad in far.traps if trap == number]
    tids = {mad[8:16] for mad in mads}
    good = tell(len(mads) >= 2 and len(tids) == 1, f"trap {number} is repeated, with one TID", [m.hex() for m in mads])
    want = pack(">HHHI", LID, 9, LID, key)      # issuer; LIDs; key
    mad = mads[0] if mads else bytes(256)
    good &= tell(mad[70:72] + mad[76:84] == want, f"trap {number} says who and which key", mad[64:128].hex())
    repress = bytearray(mad)
    repress[3] = 7
    far.send(encode(Packet(15, 0, LID, 1, None, 0xFFFF, 0, 0, 0, bytes(repress))))
    settle(far, 0.5)
    far.traps.clear()
    eventually(far, 10, lambda: any(trap == number for trap, _ in far.traps))
    settle(far, 2)
    again = {m[8:16] for trap, m in far.traps if trap == number}
    return good & tell(not again & tids and len(again) == 1, f"trap {number} repressed, and what came meanwhile", again)


def check_strays(far, name):
    stray = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stray.bind((far.name.rpartition(":")[0], 0))
    good = expect(far, name, {"stray_port": 1}, lambda: stray.sendto(b"", far.peer))
    stray = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stray.bind(("127.0.0.9", 0))
    return good & expect(far, name, {"stray_address": 1}, lambda: stray.sendto(b"", far.peer))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    name, listen, here = sys.argv[1:]
    far = Far(here, 1, 0x40)
    far.honest, far.name = True, here
    good = tell(make(far, name, listen), "uib.ko counts 1 drop_silent")
    far.qpn = ipoib_qpn(name)
    for step in (check_down, check_init, check_active):
        good &= step(far, name)
    settle(far, 1)
    for reason, data in cases(far):
        good &= expect(far, name, {reason: 1}, lambda data=data: far.send(data))
    good &= check_strays(far, name)
    for case, want in VERBS:
        good &= expect_verbs(far, name, case, want)
    good &= check_trap(far, 257, 0x8055)
    good &= check_trap(far, 258, QKEY + 1)
    good &= check_samples(far)
    good &= check_mkey(far, name)
    good &= check_events(far, name)
    good &= check_retrain(far, name)
    sys.exit(not good)


def ipoib_qpn(name):
    """Set ib_ipoib's interface on the device up, and return its QPN."""
    for _ in range(100):
        nets = subprocess.run(["ls", f"/sys/class/infiniband/{name}/device/net", "/sys/class/net"], capture_output=True,
                              text=True, check=False).stdout.split()
        for net in nets:
            try:
                with open(f"/sys/class/net/{net}/address", encoding="ascii") as f:
                    address = bytes.fromhex(f.read().strip().replace(":", ""))
            except OSError:
                continue
            if len(address) == 20 and address[12:] == pack(">Q", GUID):
                subprocess.run(["ip", "link", "set", net, "up"], check=True)
                return unpack_from(">I", address)[0] & 0xFFFFFF
        time.sleep(0.1)
    sys.exit("no interface of ib_ipoib")


if __name__ == "__main__":
    main()
