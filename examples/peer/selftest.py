# SPDX-License-Identifier: BSD-2-Clause
"""Tests without a link: CRCs are compared with their definition, and packets and the SMA are tested. Prints TAP."""
import random
from struct import pack, unpack_from

from peer import sma as sm
from peer.link import Timers
from peer.wire import Drop, Grh, Packet, check_link, decode, encode, icrc, masked, pkey_match, vcrc

# The sample packet of the IBTA specification, LRH to payload, and its CRCs.
SAMPLE = bytes.fromhex("7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000e"
                       "bb884d85fd5cfba4728bc0690ed40000")
SAMPLE_CRCS = bytes.fromhex("9625b75a45fa")


def bitwise(data, bits, polynomial):
    """Computes a CRC by the shift register of IBTA 7.8.1, which takes the bits in the order of the wire (low bit first)."""
    top, ones = 1 << bits - 1, (1 << bits) - 1
    register = ones
    for octet in data:
        for bit in range(8):
            feedback = bool(register & top) ^ (octet >> bit & 1)
            register = register << 1 & ones ^ (polynomial if feedback else 0)
    reflected = int(f"{register:0{bits}b}"[::-1], 2)
    return (reflected ^ ones).to_bytes(bits // 8, "little")


def bitwise_crcs(packet):
    """Returns ICRC and VCRC of a packet, given from LRH to pad."""
    first = bitwise(masked(packet), 32, 0x04C11DB7)
    return first + bitwise(bytes(packet) + first, 16, 0x100B)


def test_sample():
    assert icrc(SAMPLE) == SAMPLE_CRCS[:4]
    assert vcrc(SAMPLE + SAMPLE_CRCS[:4]) == SAMPLE_CRCS[4:]
    assert bitwise_crcs(SAMPLE) == SAMPLE_CRCS
    check_link(SAMPLE + SAMPLE_CRCS)


def some_packets():
    rng = random.Random(1)
    for length in (0, 1, 2, 3, 256, 1000, 4096):
        grh = Grh(rng.randrange(256), rng.randrange(1 << 20), 255, rng.randbytes(16), rng.randbytes(16))
        for g in (None, grh):
            yield Packet(rng.randrange(16), 3, 0xC001, 7, g, 0x8001, 0xFFFFFF, 0x0B1B, 0x400001,
                         rng.randbytes(length))


def test_packets():
    for p in some_packets():
        data = encode(p, psn=5)
        check_link(data)
        assert data[-6:] == bitwise_crcs(data[:-6])
        assert decode(data) == p


def dropped(check, data):
    try:
        check(data)
    except Drop:
        return True
    return False


def test_damage():
    data = encode(next(some_packets())._replace(payload=b"0123456789"))
    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        assert dropped(check_link, bytes(damaged)), bit
    for length in range(1, len(data)):
        assert dropped(check_link, data[:length]), length
    assert dropped(check_link, data + b"\0")
    invariant = bytearray(data[:-2])            # a switch that damages a packet recomputes the VCRC
    invariant[30] ^= 1
    assert dropped(decode, bytes(invariant) + vcrc(invariant))


def test_pkeys():
    assert pkey_match(0xFFFF, 0x7FFF) and pkey_match(0x8001, 0x8001)
    assert not pkey_match(0x7FFF, 0x7FFF) and not pkey_match(0x8000, 0x8000)
    assert not pkey_match(0xFFFF, 0x8001)


def smp(a, method, attribute, modifier=0, data=b"", key=0):
    """Returns the status and the data of the SMA's answer to a request."""
    mad = bytearray(pack(">BBBBHHQHHIQ", 1, 1, 1, method, 0, 0, 1, attribute, 0, modifier, key))
    mad = mad.ljust(64, b"\0") + bytearray(data.ljust(192, b"\0"))
    a.answer(mad)
    assert len(mad) == 256 and mad[3] == 0x81
    return unpack_from(">H", mad, 4)[0], bytes(mad[64:128])


def an_sma():
    a = sm.Sma(Timers(), 0xC099, "self-test")
    a.info[32] = a.info[32] & 0xF0 | sm.INIT
    return a


def port_info(state=0, lid=5, mtu=4, key=0, protect=0):
    i = bytearray(64)
    i[0:8], i[16:20] = pack(">Q", key), pack(">HH", lid, 1)
    i[32], i[34], i[36] = state, protect << 6, mtu << 4
    return bytes(i)


def test_attributes():
    a = an_sma()
    assert smp(a, sm.GET, 0x11)[1][2:4] == b"\1\1"
    assert smp(a, sm.GET, 0x10)[1].startswith(b"self-test")
    assert smp(a, sm.GET, 0x14)[1][:8] == pack(">Q", 0xC099)
    assert smp(a, sm.SET, 0x16, 0, pack(">HH", 0xFFFF, 0x8001))[0] == 0
    assert smp(a, sm.GET, 0x16)[1][:6] == pack(">HHH", 0xFFFF, 0x8001, 0)
    assert smp(a, sm.GET, 0x16, 1)[0] == sm.BAD_VALUE
    assert smp(a, sm.SET, 0x17, 0, bytes(range(8))) == (0, bytes(range(8)).ljust(64, b"\0"))
    assert smp(a, sm.SET, 0x18, 3 << 16, b"\1\7") == (0, b"\1\7".ljust(64, b"\0"))
    assert smp(a, sm.GET, 0x18, 5 << 16)[0] == sm.BAD_VALUE
    assert smp(a, sm.GET, 0x19)[0] == smp(a, sm.SET, 0x11)[0] == sm.BAD_ATTRIBUTE
    assert smp(a, 0x12, 0x11)[0] == sm.BAD_METHOD


def test_port_states():
    a = an_sma()
    assert smp(a, sm.SET, 0x15, 1, port_info(sm.ACTIVE))[0] == sm.BAD_VALUE
    assert smp(a, sm.SET, 0x15, 1, port_info(lid=0xC000))[0] == sm.BAD_VALUE
    assert smp(a, sm.SET, 0x15, 1, port_info(mtu=6))[0] == sm.BAD_VALUE
    assert smp(a, sm.SET, 0x15, 2, port_info())[0] == sm.BAD_VALUE
    assert a.lid == 0
    assert smp(a, sm.SET, 0x15, 1, port_info())[0] == 0 and a.state == sm.INIT and a.lid == 5
    for state in (sm.ARMED, sm.ACTIVE):
        status, info = smp(a, sm.SET, 0x15, 0x80000001, port_info(state, mtu=0))
        assert status == 0 and info[32] & 15 == a.state == state and a.mtu == 2048
    assert smp(a, sm.SET, 0x15, 1, port_info(sm.ARMED))[0] == sm.BAD_VALUE


def test_mkey():
    a = an_sma()
    assert smp(a, sm.SET, 0x15, 1, port_info(key=9, protect=1))[0] == 0
    assert smp(a, sm.GET, 0x15)[1][:8] == bytes(8)
    assert smp(a, sm.GET, 0x15, key=9)[1][:8] == pack(">Q", 9)
    assert dropped(lambda key: smp(a, sm.SET, 0x15, 1, port_info(), key), 8)
    assert smp(a, sm.SET, 0x15, 1, port_info(key=9, protect=2), key=9)[0] == 0
    assert dropped(lambda key: smp(a, sm.GET, 0x11, key=key), 8)


def self_test():
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                print(f"ok - {name[5:]}")
            except AssertionError as error:
                failed = 1
                print(f"not ok - {name[5:]}: line {error.__traceback__.tb_next.tb_lineno} {error}")
    return failed
