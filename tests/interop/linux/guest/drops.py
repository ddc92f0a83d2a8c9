#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What uib.ko discards, and what it counts it under.

    drops.py LISTEN STATS

LISTEN is ADDRESS:PORT, the peer of a device's link, STATS the file with its counters. Brings the port up, sends one
datagram for each reason, and prints a TAP line for each: that counter has gone up by one, and no other reason's.
"""
import socket
import sys
import time
from struct import pack

sys.dont_write_bytecode = True
from fuzz import LID, MGID, MLID, PKEY, PREFIX, QKEY, Far, seal       # noqa: E402
from peer.wire import Grh, Packet, encode                              # noqa: E402

GUID = 0x00ACE0000000C099


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


def revcrc(packet):
    from peer.wire import vcrc
    return bytes(packet) + vcrc(packet)


def read(path):
    with open(path, encoding="ascii") as f:
        return {k: int(v) for k, v in (line.split() for line in f) if k.startswith("drop_") and "_tx_" not in k}


def settle(far, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        far.manage(time.monotonic())
        while far.receive():
            pass
        time.sleep(0.005)


def tell(ok, what, got=""):
    print(f"{'ok' if ok else 'not ok'} - {what}" + ("" if ok else f": {got}"), flush=True)
    return ok


def expect(far, path, reason, send):
    before, name, got = read(path), f"drop_{reason}", {}
    send()
    for _ in range(100):
        settle(far, 0.02)
        now = read(path)
        got = {k: now[k] - before[k] for k in now if now[k] != before[k]}
        if got:
            break
    ok = got == {name: 1}
    return tell(ok, f"uib.ko counts {name}", got)


def check_trap(far, number, key):
    """It comes again with its TID until TrapRepress, which is for the first only: the next one has another TID."""
    settle(far, 2.5)
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
    settle(far, 3)
    again = {m[8:16] for trap, m in far.traps if trap == number}
    return good & tell(not again & tids and len(again) == 1, f"trap {number} repressed, and what came meanwhile", again)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    far, path = Far(sys.argv[1], 1, 0x40), sys.argv[2]
    far.honest = True
    end = time.monotonic() + 30
    while (far.state != 4 or not far.joined) and time.monotonic() < end:
        settle(far, 0.1)
    good = tell(far.state == 4, "the port is Active", far.state)
    settle(far, 1)
    for reason, data in cases(far):
        good &= expect(far, path, reason, lambda data=data: far.send(data))
    stray = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stray.bind((sys.argv[1].rpartition(":")[0], 0))
    good &= expect(far, path, "stray_port", lambda: stray.sendto(b"", far.peer))
    stray = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stray.bind(("127.0.0.9", 0))
    good &= expect(far, path, "stray_address", lambda: stray.sendto(b"", far.peer))
    good &= check_trap(far, 257, 0x8055)
    good &= check_trap(far, 258, QKEY + 1)
    sys.exit(not good)


if __name__ == "__main__":
    main()
