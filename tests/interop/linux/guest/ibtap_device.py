# SPDX-License-Identifier: BSD-2-Clause
"""Tests ibtap.ko alone, in the VM of `uipoib vm`, and prints TAP.

    ibtap_device.py IBTAP.KO [SECONDS [REGEX]]

The tests are about devices, the output of tools about them, descriptors, groups, wrong frames, and traffic. The traffic is between two
devices in namespaces a and b, and this program forwards its frames. SECONDS (10) is the time for which the program writes randomly damaged
frames, and also the number of times that devices are removed under load. With REGEX, only the checks whose description
matches REGEX are run.

    namespace a: ta 10.7.0.1 fd07::1 --- Wire --- tb 10.7.0.2 fd07::2: namespace b
"""
import ctypes
import errno
import mmap
import os
import random
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import namedtuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ibtap  # noqa: E402
from ibtap import ARP, IP4, Tap, frame, group4, group6, parse, text, vnet  # noqa: E402
from ibtap_check import A, B, LIBC, PATIENCE, PKEY, STRANGER, Checks, counters, device, drain, eventually, exists, fails  # noqa: E402
from ibtap_check import ipv6, link, run  # noqa: E402
from ibtap_headers import RIGHT, wrong  # noqa: E402
from ibtap_lab import lab_checks  # noqa: E402
from ibtap_races import absent_argument, used_by_many  # noqa: E402

MODULE = sys.argv[1]
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
ROUNDS = min(12, max(6, SECONDS))
check = Checks(sys.argv[3] if len(sys.argv) > 3 else "")


# --- descriptors without a device, and ATTACH

def not_attached():
    t = Tap()
    fails(errno.EBADFD, t.read)
    fails(errno.EBADFD, t.write, bytes(100))
    fails(errno.EBADFD, t.set, ibtap.SET_CARRIER, 1)
    assert t.events() & (select.POLLERR | select.POLLHUP)
    fails(errno.EINVAL, t.attach, "t0", 0x80)
    fails(errno.EINVAL, t.attach, "a/b")
    fails(errno.EINVAL, t.attach, "%s")
    fails(errno.EINVAL, t.attach, "lo")
    fails(errno.EEXIST, t.attach, "lo", ibtap.EXCLUSIVE)
    t.attach("")
    assert t.name == "ibtap0", t.name
    fails(errno.EBUSY, t.attach, "t1")
    fails(errno.ENOTTY, t.set, 0x4004B763, 1)
    t.close()
    assert not exists("ibtap0")


def shown():
    t = device("t0")
    eventually(lambda: link("t0")["operstate"] == "UP")     # the kernel updates the state and the flags in a work item
    d = link("t0")
    assert d["link_type"] == "infiniband", d["link_type"]
    assert d["address"] == text(A) and d["broadcast"] == text(ibtap.broadcast(PKEY)), d
    assert d["linkinfo"]["info_kind"] == "ibtap", d["linkinfo"]
    assert (d["mtu"], d["min_mtu"], d["max_mtu"]) == (2044, 68, 4096), d
    assert {"BROADCAST", "MULTICAST", "UP", "LOWER_UP"} == set(d["flags"]), d["flags"]
    out = run("ip", "-d", "link", "show", "t0")
    assert "link/infiniband " + text(A) in out and "ibtap" in out, out
    sysfs = {f: open("/sys/class/net/t0/" + f).read().strip() for f in ("type", "addr_len")}
    assert sysfs == {"type": "32", "addr_len": "20"}, sysfs
    assert open("/sys/class/net/t0/pkey").read() == "0x%04x\n" % PKEY
    mode = os.open("/sys/class/net/t0/mode", os.O_RDWR)
    os.write(mode, b"datagram\n")
    fails(errno.EINVAL, os.write, mode, b"connected\n")
    assert os.pread(mode, 100, 0) == b"datagram\n"
    os.close(mode)
    assert "driver: ibtap" in run("ethtool", "-i", "t0")
    i = t.info()
    assert (i.name, i.ifindex, i.queues, i.carrier, i.mtu, i.max_mtu) == ("t0", t.ifindex, 1, 1, 2044, 4096), i
    assert (i.addr, i.broadcast, i.owner, i.group, i.persist) == (A, ibtap.broadcast(PKEY), ibtap.NONE, ibtap.NONE, 0), i
    t.close()


def no_link_add():
    status, out = run("ip", "link", "add", "t0", "type", "ibtap", ok=False)
    assert status == 2 and "/dev/ibtap" in out, out
    assert not exists("t0")


def carrier():
    t = Tap("t0")
    run("ip", "link", "set", "t0", "up")
    eventually(lambda: "NO-CARRIER" in link("t0")["flags"])
    t.set(ibtap.SET_CARRIER, 1)
    eventually(lambda: link("t0")["operstate"] == "UP")
    t.set(ibtap.SET_CARRIER, 0)
    eventually(lambda: link("t0")["operstate"] == "DOWN")
    fails(errno.EINVAL, t.set, ibtap.SET_CARRIER, 2)
    t.close()


def mtu():
    t = device("t0")
    for n in (67, 4097):
        assert run("ip", "link", "set", "t0", "mtu", str(n), ok=False)[0] == 2
    run("ip", "link", "set", "t0", "mtu", "4096")
    t.set(ibtap.SET_MAX_MTU, 1500)
    assert link("t0")["mtu"] == 1500 and link("t0")["max_mtu"] == 1500
    for n in (67, 65521):
        fails(errno.EINVAL, t.set, ibtap.SET_MAX_MTU, n)
    t.set(ibtap.SET_MAX_MTU, 65520)
    run("ip", "link", "set", "t0", "mtu", "65520")
    t.close()


def addresses():
    t = device("t0")
    fails(errno.EADDRNOTAVAIL, t.set, ibtap.SET_ADDR, ibtap.broadcast(PKEY))
    fails(errno.EADDRNOTAVAIL, t.set, ibtap.SET_BROADCAST, A)
    status, _ = run("ip", "link", "set", "t0", "address", text(B), ok=False)
    assert status == 2                                      # only the owner can set the address, not the administrator
    mon = subprocess.Popen(["ip", "monitor", "link"], stdout=subprocess.PIPE, text=True)
    lines = []
    threading.Thread(target=lambda: lines.extend(iter(mon.stdout.readline, "")), daemon=True).start()

    def told():
        t.set(ibtap.SET_ADDR, B)
        t.set(ibtap.SET_ADDR, A)
        return any(text(B) in x for x in lines)
    eventually(told)
    mon.kill()
    mon.wait()
    t.close()


def offloads():
    t = device("t0")
    for bits in (32, ibtap.TSO4, ibtap.USO | ibtap.TSO6):
        fails(errno.EINVAL, t.set, ibtap.SET_OFFLOADS, bits)
    want = {"tx-checksum-ip-generic": 1, "tx-tcp-segmentation": 2, "tx-tcp6-segmentation": 4, "tx-tcp-ecn-segmentation": 8,
            "tx-udp-segmentation": 16}
    for bits in (0, 1, 3, 5, 11, 17, 31, 0):
        t.set(ibtap.SET_OFFLOADS, bits)
        said = dict(x.strip().split(": ")[:2] for x in run("ethtool", "-k", "t0").splitlines() if ": " in x)
        for name, bit in want.items():
            assert said[name].startswith("on" if bits & bit else "off"), (bits, name, said[name])
        assert t.info().offloads == bits
    t.close()


# --- persistent devices, owners, queues

def as_user(uid, gid, name, flags=0):
    """Lets the user UID with the group GID attach to the device NAME. Returns 0 or the errno."""
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
            Tap(name, flags).close()
            os._exit(0)
        except OSError as e:
            os._exit(e.errno)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def persistent():
    t = device("t0")
    t.set(ibtap.SET_OFFLOADS, ibtap.CSUM)
    t.set(ibtap.SET_PERSIST, 1)
    fails(errno.EBUSY, Tap, "t0")
    t.close()
    assert exists("t0")
    eventually(lambda: "NO-CARRIER" in link("t0")["flags"])  # the kernel updates the flag in a work item
    assert as_user(1000, 1000, "t0") == errno.EPERM         # neither owner nor group is set
    assert as_user(1000, 1000, "tnew") == errno.EPERM
    t = Tap("t0")
    assert t.info().persist == 1 and t.info().addr == A and t.info().offloads == 0
    t.set(ibtap.SET_OWNER, 1000)
    assert t.info().owner == 1000
    t.close()
    assert as_user(1000, 2000, "t0") == 0 and as_user(1001, 1000, "t0") == errno.EPERM
    t = Tap("t0")
    t.set(ibtap.SET_GROUP, 2000)
    t.close()
    assert as_user(1000, 2000, "t0") == 0 and as_user(1000, 1000, "t0") == errno.EPERM
    t = Tap("t0")
    t.set(ibtap.SET_OWNER, ibtap.NONE)
    t.close()
    assert as_user(1001, 2000, "t0") == 0 and as_user(1000, 1000, "t0") == errno.EPERM
    fails(errno.EINVAL, Tap, "t0", ibtap.MULTI_QUEUE)
    run("ip", "link", "delete", "t0")
    assert not exists("t0")
    t = device("t0")
    t.set(ibtap.SET_PERSIST, 1)
    t.set(ibtap.SET_PERSIST, 0)
    t.close()
    assert not exists("t0")


def neighbour(dev, ip="10.6.0.2", address=B):
    run("ip", "neigh", "replace", ip, "lladdr", text(address), "dev", dev, "nud", "permanent")


def udp_to(ip, n, port=9, size=10):
    for i in range(n):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(bytes(size), (ip, port + i))


def udp_frames(t):
    return [f for f in drain(t) if f.proto == IP4 and f.payload[9] == 17]


def queues():
    q = [device("t0", flags=ibtap.MULTI_QUEUE, ip="10.6.0.1/24")]
    q += [Tap("t0", ibtap.MULTI_QUEUE) for _ in range(15)]
    fails(errno.EBUSY, Tap, "t0", ibtap.MULTI_QUEUE)
    neighbour("t0")
    assert q[3].info().queues == 16 and len(os.listdir("/sys/class/net/t0/queues")) == 32
    udp_to("10.6.0.2", 200)
    had = [len(udp_frames(t)) for t in q]
    assert sum(had) == 200 and sum(1 for n in had if n) > 4, had
    for i in (0, 7, 12):                                    # the last queue takes the place of the closed queue
        q.pop(i).close()
    assert q[0].info().queues == 13
    udp_to("10.6.0.2", 200)
    had = [len(udp_frames(t)) for t in q]
    assert sum(had) == 200 and sum(1 for n in had if n) > 4, had
    for t in q:
        assert t.write(frame(B, A, ARP, bytes(56))) == 12 + 44 + 56
    for t in q[1:]:
        t.close()
    udp_to("10.6.0.2", 10)
    assert len(udp_frames(q[0])) == 10 and q[0].info().queues == 1
    q[0].close()
    assert not exists("t0")


# --- frames

def sent_frame():
    t = device("t0", ip="10.6.0.1/24")
    neighbour("t0")
    drain(t)
    before = counters("t0")
    udp_to("10.6.0.2", 1, size=100)
    f = udp_frames(t)[0]
    assert (f.source, f.dest, f.proto, f.reserved) == (A, B, IP4, 0), f
    assert len(f.payload) == 128 and (f.flags, f.gso) == (0, 0)
    after = counters("t0")
    assert after["tx_packets"] - before["tx_packets"] == 1 and after["tx_bytes"] - before["tx_bytes"] == 128
    # A broadcast is sent to the link's broadcast group, and an ARP request asks for an address of 20 octets.
    run("ping", "-c", "1", "-W", "1", "10.6.0.7", ok=False)
    arp = [f for f in drain(t) if f.proto == ARP][0]
    assert arp.dest == ibtap.broadcast(PKEY) and arp.source == A
    assert arp.payload[:8] == bytes.fromhex("0020080014040001") and arp.payload[8:28] == A and len(arp.payload) == 56
    t.set(ibtap.SET_OFFLOADS, ibtap.CSUM)
    udp_to("10.6.0.2", 1, size=100)
    f = udp_frames(t)[0]
    assert (f.flags, f.start, f.offset) == (1, 44 + 20, 6), f
    t.close()


def read_forms():
    t = device("t0", ip="10.6.0.1/24")
    neighbour("t0")
    drain(t)
    fails(errno.EAGAIN, t.read)
    assert not t.events() & select.POLLIN and t.events() & select.POLLOUT
    udp_to("10.6.0.2", 1)
    assert t.events() & select.POLLIN
    vecs = [bytearray(n) for n in (12, 20, 20, 4, 1000)]
    assert os.readv(t.fd, vecs) == 12 + 44 + 38 and vecs[2] == B
    before = counters("t0")
    udp_to("10.6.0.2", 3)
    fails(errno.EMSGSIZE, t.read, 12 + 44 + 37)             # the frame is lost
    n = LIBC.read(t.fd, ctypes.c_void_p(8), ctypes.c_size_t(4000))
    assert n == -1 and ctypes.get_errno() == errno.EFAULT
    assert len(t.read(12 + 44 + 38)) == 12 + 44 + 38
    after = counters("t0")
    assert after["tx_drop_too_long"] - before["tx_drop_too_long"] == 1
    assert after["tx_drop_fault"] - before["tx_drop_fault"] == 1
    assert after["tx_packets"] - before["tx_packets"] == 1
    t.close()


def write_forms():
    t = device("t0", ip="10.6.0.1/24")
    before = counters("t0")
    data = frame(B, A, ARP, bytes(56))
    assert os.writev(t.fd, [data[:5], data[5:30], data[30:]]) == len(data)
    fails(errno.EINVAL, t.write, data[:55])
    fails(errno.EMSGSIZE, t.write, data[:56] + bytes(65536))
    assert t.write(data[:56] + bytes(65535)) == 56 + 65535
    n = LIBC.write(t.fd, ctypes.c_void_p(8), ctypes.c_size_t(400))
    assert n == -1 and ctypes.get_errno() == errno.EFAULT
    after = counters("t0")
    assert after["rx_packets"] - before["rx_packets"] == 2
    assert after["rx_drop_length"] - before["rx_drop_length"] == 2
    assert after["rx_drop_fault"] - before["rx_drop_fault"] == 1
    s = link("t0")["stats64"]["rx"]
    assert s["packets"] == after["rx_packets"] and s["errors"] >= 3, s
    run("ip", "link", "set", "t0", "down")
    fails(errno.EIO, t.write, data)
    assert counters("t0")["rx_drop_down"] == 1
    t.close()


Sll = namedtuple("Sll", "family proto ifindex hatype kind halen addr")


def receive(s):
    """Calls recvfrom() of an AF_PACKET socket, because Python's own function returns only 8 octets of an address."""
    assert select.select([s], [], [], PATIENCE)[0], "nothing is received"
    data, sll = ctypes.create_string_buffer(70000), ctypes.create_string_buffer(44)
    size = ctypes.c_uint(44)
    n = LIBC.recvfrom(s.fileno(), data, 70000, 0, sll, ctypes.byref(size))
    assert n >= 0
    a = Sll(*struct.unpack_from("=HHiHBB32s", sll.raw))
    return data.raw[:n], a._replace(proto=socket.ntohs(a.proto), addr=a.addr[:a.halen])


# Sockets of AF_PACKET. SOCK_RAW sockets send and receive frames with their header of 44 octets. SOCK_DGRAM sockets accept
# destination addresses of 20 octets. As with ib_ipoib, recvfrom() returns no source address, because the kernel's
# structures for this address have room for only 8 octets.
def packet_sockets():
    t = device("t0", ip="10.6.0.1/24")
    raw, other, dgram = (socket.socket(socket.AF_PACKET, kind, socket.htons(3))
                         for kind in (socket.SOCK_RAW, socket.SOCK_RAW, socket.SOCK_DGRAM))
    for s in raw, other, dgram:
        s.bind(("t0", 3))

    def got(s, proto, kind):
        while True:
            data, a = receive(s)
            if a.proto == proto and a.kind == kind:
                assert a.hatype == 32
                return data, a.addr
    payload = b"\x45" + bytes(40)
    for dest, kind in ((A, socket.PACKET_HOST), (b"\x80" + A[1:], socket.PACKET_HOST),
                       (STRANGER, socket.PACKET_OTHERHOST), (ibtap.broadcast(PKEY), socket.PACKET_BROADCAST),
                       (group4("224.0.0.9", PKEY), socket.PACKET_MULTICAST)):
        data = frame(B, dest, 0x88B5, payload)
        t.write(data)
        seen, a = got(raw, 0x88B5, kind)
        assert seen == data[12:] and not a, (seen, a)
        seen, a = got(dgram, 0x88B5, kind)
        assert seen == payload and not a, (seen, a)
    drain(t)
    data = frame(A, STRANGER, 0x88B5, payload)
    raw.send(data[12:])
    assert parse(t.read()) == parse(data)
    seen, a = got(other, 0x88B5, socket.PACKET_OUTGOING)
    assert seen == data[12:] and not a, (seen, a)
    raw.send(data[12 + 20:])                                # a frame without a source, as for ib_ipoib
    assert parse(t.read()) == parse(data)
    fails(errno.EINVAL, raw.send, data[12:12 + 43])         # no whole header
    for dest, want in ((STRANGER, STRANGER), (b"\xff" * 20, ibtap.broadcast(PKEY))):
        sll = struct.pack("=HHiHBB20s", socket.AF_PACKET, socket.htons(0x88B5), t.ifindex, 0, 0, 20, dest)
        assert LIBC.sendto(dgram.fileno(), payload, len(payload), 0, sll, len(sll)) == len(payload)
        f = parse(t.read())
        assert (f.source, f.dest, f.proto, f.payload) == (A, want, 0x88B5, payload), f
    for s in raw, other, dgram:
        s.close()
    t.close()


def packet_ring():
    """Tests the ring of a capturing program (TPACKET_V2). The ring has room for an address of only 8 octets before each
    frame."""
    t = device("t0", ip="10.6.0.1/24")
    sol, version, rx_ring, size, block = 263, 10, 5, 2048, 16384
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.setsockopt(sol, version, 1)
        s.setsockopt(sol, rx_ring, struct.pack("IIII", block, 1, size, block // size))
        ring = mmap.mmap(s.fileno(), block)
        s.bind(("t0", 3))
        data = frame(B, A, 0x88B5, bytes(range(100)))
        t.write(data)

        def seen():
            for at in range(0, block, size):
                status, _, n, mac = struct.unpack_from("=IIIH", ring, at)
                if status & 1 and ring[at + mac + 40:at + mac + 42] == b"\x88\xb5":
                    return ring[at + mac:at + mac + n]
            return None
        assert eventually(seen) == data[12:], (seen(), data[12:])
        ring.close()
    t.close()


# --- groups

def groups():
    ipv6(True)
    t = device("t0", ip="10.6.0.1/24")
    ipv6(False)
    eventually(lambda: "fe80" in run("ip", "-6", "address", "show", "t0") and "tentative" not in run("ip", "-6", "address", "show", "t0"))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    t.groups()
    assert not t.events() & select.POLLPRI
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.2.3") + socket.inet_aton("10.6.0.1"))
    assert t.events(PATIENCE * 1000) & select.POLLPRI
    flags, count, members = t.groups()
    want = {group4("239.1.2.3", PKEY), group4("224.0.0.1", PKEY), group6(bytes(9) + b"\1", PKEY)}
    assert want <= members and count == len(members) and not flags, [text(m) for m in members]
    assert all(m[4:6] == b"\xff\x12" and m[8:10] == struct.pack(">H", PKEY) for m in members), [text(m) for m in members]
    assert not t.events() & select.POLLPRI
    _, n, some = t.groups(1)
    assert n == count and len(some) == 1
    assert t.groups(0)[1] == count
    # The link's broadcast address changes while the device is up, and the addresses of all groups change with it.
    t.set(ibtap.SET_BROADCAST, ibtap.broadcast(0x9001, 5))
    assert t.events() & select.POLLPRI
    members = t.groups()[2]
    want = {group4("239.1.2.3", 0x9001, 5), group4("224.0.0.1", 0x9001, 5), group6(bytes(9) + b"\1", 0x9001, 5)}
    assert want <= members and all(m[8:10] == b"\x90\x01" for m in members), [text(m) for m in members]
    s.close()                                               # the kernel leaves the group with the new address
    assert group4("239.1.2.3", 0x9001, 5) not in t.groups()[2] and count - 1 == t.groups()[1]
    drain(t)
    run("ping", "-c", "1", "-W", "1", "10.6.0.7", ok=False)
    assert [f for f in drain(t) if f.proto == ARP][0].dest == ibtap.broadcast(0x9001, 5)
    run("ip", "link", "set", "t0", "allmulticast", "on")
    assert t.groups()[0] == 1
    run("ip", "link", "set", "t0", "promisc", "on")
    assert t.groups()[0] & 2
    t.close()


# --- virtio-net headers that are right, wrong, and damaged

def right_headers():
    ipv6(True)
    t = device("t0", ip="10.6.0.1/24")
    ipv6(False)
    run("ip", "address", "add", "fe80::1/64", "dev", "t0", "nodad")
    for name, (proto, payload, h) in RIGHT.items():
        before = counters("t0")["rx_packets"]
        data = frame(B, A, proto, payload, vnet(**h))
        try:
            assert t.write(data) == len(data) and counters("t0")["rx_packets"] == before + 1, name
        except OSError as e:
            raise AssertionError(name) from e
    t.close()


def wrong_headers():
    t = device("t0", ip="10.6.0.1/24")
    for name, proto, payload, h in wrong():
        before = counters("t0")
        try:
            t.write(frame(B, A, proto, payload, vnet(**h)))
            raise AssertionError(name + " is taken")
        except OSError as e:
            assert e.errno == errno.EINVAL, (name, e)
        after = counters("t0")
        assert after["rx_drop_vnet_header"] == before["rx_drop_vnet_header"] + 1, name
        assert after["rx_packets"] == before["rx_packets"], name
    t.close()


def damaged():
    ipv6(True)
    t = device("t0", ip="10.6.0.1/24", offloads=31)
    ipv6(False)
    for f in ("ipv4.ip_forward", "ipv6.conf.all.forwarding"):
        run("sysctl", "-qw", "net.%s=1" % f)                # the kernel forwards segments back through the device
    neighbour("t0", "10.6.0.9", STRANGER)
    rng, end, took = random.Random(1), time.monotonic() + SECONDS, 0
    base = [frame(B, A, p, d.replace(b"\x0a\6\0\1", b"\x0a\6\0\x09"), vnet(**h)) for p, d, h in RIGHT.values()]
    base += [frame(B, A, p, bytes(n)) for p in (0, 4, 0x8100, 0x88A8, 0x8847, 0x88E5, 0xFFFF) for n in (0, 3, 100)]
    while time.monotonic() < end:
        data = bytearray(rng.choice(base))
        for _ in range(rng.randrange(4)):
            where = rng.choice(((0, 12), (12, 56), (56, 96), (96, 130)))
            data[rng.randrange(*where) % len(data)] = rng.choice((0, 1, 255, rng.randrange(256)))
        if rng.random() < 0.1:
            data = data[:rng.randrange(len(data))]
        try:
            t.write(bytes(data))
            took += 1
        except OSError as e:
            assert e.errno in (errno.EINVAL, errno.EMSGSIZE, errno.ENOMEM), e
        if rng.random() < 0.2:
            drain(t)
    c = counters("t0")
    assert took > 20 and c["rx_drop_vnet_header"] > 20 and c["rx_drop_length"] > 0, (took, c)
    for f in ("ipv4.ip_forward", "ipv6.conf.all.forwarding"):
        run("sysctl", "-qw", "net.%s=0" % f)
    t.close()


# --- a queue that is full, or that nobody reads

def full_queue():
    t = device("t0", ip="10.6.0.1/24")
    neighbour("t0")
    run("ip", "link", "set", "t0", "txqueuelen", "20")
    run("tc", "qdisc", "replace", "dev", "t0", "root", "pfifo", "limit", "1000")
    drain(t)
    udp_to("10.6.0.2", 100)
    got = len(udp_frames(t))                                # the stack continues to send as the queue drains, and loses nothing
    deadline = time.monotonic() + PATIENCE
    while got < 100 and time.monotonic() < deadline:
        t.events(100)
        got += len(udp_frames(t))
    assert got == 100, got
    c = counters("t0")
    assert not c["tx_drop_timeout"] and not c["tx_drop_no_queue"], c
    t.close()


def nobody_reads():
    with open("/sys/module/ibtap/parameters/timeout", "w") as f:
        f.write("300")
    t = device("t0", ip="10.6.0.1/24")
    with open("/sys/module/ibtap/parameters/timeout", "w") as f:
        f.write("60000")
    neighbour("t0")
    run("ip", "link", "set", "t0", "txqueuelen", "10")
    udp_to("10.6.0.2", 30)
    eventually(lambda: counters("t0")["tx_drop_timeout"] >= 10)
    drain(t)
    udp_to("10.6.0.2", 3, 4000)
    eventually(lambda: any(f.payload[22:24] == struct.pack(">H", 4002) for f in udp_frames(t)))
    run("ip", "link", "set", "t0", "txqueuelen", "500")
    udp_to("10.6.0.2", 5)
    run("ip", "link", "set", "t0", "down")
    assert counters("t0")["tx_drop_down"] >= 5
    fails(errno.EAGAIN, t.read)
    t.set(ibtap.SET_PERSIST, 1)
    run("ip", "link", "set", "t0", "up")
    t.close()
    run("ip", "link", "delete", "t0")


# --- removal

def removed_while_read():
    for flags in (0, ibtap.MULTI_QUEUE):
        t = device("t0", block=True, flags=flags)
        os.set_blocking(t.fd, False)
        drain(t)
        os.set_blocking(t.fd, True)
        result = []

        def reader():
            try:
                while True:
                    t.read()
            except OSError as e:
                result.append(e.errno)
        th = threading.Thread(target=reader)
        th.start()
        time.sleep(0.2)
        assert th.is_alive()
        run("ip", "link", "delete", "t0")
        th.join(PATIENCE)
        assert result == [errno.EBUSY], result
        fails(errno.EBUSY, t.write, frame(B, A, ARP, bytes(56)))
        fails(errno.EBUSY, t.info)
        fails(errno.EBUSY, t.attach, "t0")
        assert t.events() & select.POLLERR and t.events() & select.POLLHUP
        status, out = run("rmmod", "ibtap", ok=False)
        assert status and "in use" in out, out
        t.close()


def removed_under_load():
    for i in range(ROUNDS):
        q = [device("t0", flags=ibtap.MULTI_QUEUE, ip="10.6.0.1/24", offloads=31, block=True)]
        q += [Tap("t0", ibtap.MULTI_QUEUE, block=True) for _ in range(3)]
        neighbour("t0")
        ended, started = [], threading.Barrier(9)

        def load(fn):
            started.wait()
            try:
                while True:
                    fn()
            except OSError as e:
                ended.append(e.errno)
        data = frame(B, A, *RIGHT["TCP over IPv4"][:2], vnet(**RIGHT["TCP over IPv4"][2]))
        threads = [threading.Thread(target=load, args=(fn,)) for t in q for fn in (t.read, lambda t=t: t.write(data))]
        for th in threads:
            th.start()
        ping = subprocess.Popen(["ping", "-q", "-f", "-l", "50", "10.6.0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started.wait()
        time.sleep(0.05 + 0.03 * i)
        if i % 3 == 2:
            q[1].set(ibtap.SET_BROADCAST, ibtap.broadcast(0x9001, 5))
        run("ip", "link", "delete", "t0")
        for th in threads:
            th.join(PATIENCE)
        # The kernel sets the device down just before it removes the device; a writer that writes at this
        # moment gets EIO and stops.
        assert len(ended) == 8 and set(ended) <= {errno.EBUSY, errno.EIO}, ended
        ping.kill()
        ping.wait()
        for t in q:
            t.close()


def closed_under_load():
    for _ in range(ROUNDS):
        q = [device("t0", flags=ibtap.MULTI_QUEUE, ip="10.6.0.1/24")]
        q += [Tap("t0", ibtap.MULTI_QUEUE) for _ in range(5)]
        neighbour("t0")
        pings = [subprocess.Popen(["ping", "-q", "-f", "-l", "20", "10.6.0.2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for _ in range(2)]
        time.sleep(0.1)
        for i in (3, 0, 2, 1, 1, 0):
            q.pop(i).close()                                # frames are in all queues
        assert not exists("t0")
        for p in pings:
            p.kill()
            p.wait()


# --- namespaces, and the module itself

def namespace_ends():
    run("ip", "netns", "add", "c")
    t = device("t0", up=False)
    run("ip", "link", "set", "t0", "netns", "c")
    run("ip", "-n", "c", "link", "set", "t0", "up")
    assert t.write(frame(B, A, ARP, bytes(56))) and t.info().name == "t0"
    run("ip", "netns", "delete", "c")

    def gone():
        try:
            t.info()
        except OSError as e:
            assert e.errno == errno.EBUSY
            return True
    eventually(gone)
    fails(errno.EBUSY, t.read)
    t.close()


def opened_in_a_namespace():
    run("ip", "netns", "add", "c")
    back = os.open("/proc/self/ns/net", os.O_RDONLY)
    ns = os.open("/run/netns/c", os.O_RDONLY)
    assert LIBC.setns(ns, 0) == 0
    t = Tap()
    assert LIBC.setns(back, 0) == 0
    os.close(ns)
    t.attach("t0")
    assert not exists("t0") and link("t0", ns="c")["address"]
    t.close()
    assert run("ip", "link", "show", "t0", ns="c", ok=False)[0] == 1
    run("ip", "netns", "delete", "c")


def unloaded():
    t = device("t0")
    t.set(ibtap.SET_PERSIST, 1)
    t.close()
    run("rmmod", "ibtap")
    assert not exists("t0") and not os.path.exists("/dev/ibtap")
    run("insmod", MODULE)
    assert os.stat("/dev/ibtap").st_mode & 0o777 == 0o666
    device("t0").close()
    run("rmmod", "ibtap")


def log_clean():
    bad = re.compile(r"WARNING:|\bBUG:|Oops|general protection|Call Trace|refcount_t|possible .* deadlock|KASAN:|list_(add|del) corruption"
                     "|bad partial csum|suspicious RCU|unregister_netdevice: waiting")
    lines = run("dmesg").splitlines()
    hits = [i for i, x in enumerate(lines) if bad.search(x)]
    assert not hits, "\n".join(lines[max(hits[0] - 2, 0):hits[0] + 30])


def main():
    run("insmod", MODULE)
    ipv6(False)                                             # reports and solicitations of IPv6 would be among the frames
    check("ibtap: a descriptor without a device answers EBADFD, and wrong names and flags are refused", not_attached)
    check("H12 H16 ibtap: ip -d link, sysfs and ethtool show type 32, 20 octets, the broadcast address and the flags", shown)
    check("ibtap: ip link add says where such devices come from", no_link_add)
    check("ibtap: carrier", carrier)
    check("ibtap: smallest and largest MTU", mtu)
    check("ibtap: addresses are the owner's, and changes are announced", addresses)
    check("ibtap: offloads are what the owner accepts", offloads)
    check("ibtap: persistent devices, owner and group", persistent)
    check("ibtap: 16 queues, of which some are closed", queues)
    check("H13 H21 ibtap: a frame that is sent has source, destination and encapsulation", sent_frame)
    check("ibtap: read() into pieces, too short buffers, bad buffers", read_forms)
    check("ibtap: write() from pieces, of wrong lengths, from bad buffers, while the device is down", write_forms)
    check("H4 H16 H20 ibtap: AF_PACKET sockets see type and direction of packets, and 44 octets both ways", packet_sockets)
    check("ibtap: a program that captures by a ring sees the frame's octets", packet_ring)
    check("H18 ibtap: the list of groups, and its change with the broadcast address", groups)
    check("ibtap: %d right virtio-net headers are taken" % len(RIGHT), right_headers)
    check("ibtap: %d wrong virtio-net headers are refused and counted" % len(list(wrong())), wrong_headers)
    check("ibtap: frames damaged at random, for %d s" % SECONDS, damaged)
    check("ibtap: a full queue stops the sender, and nothing is lost", full_queue)
    check("H18 ibtap: a queue that nobody reads is emptied by the watchdog", nobody_reads)
    check("ibtap: removed with a blocked reader", removed_while_read)
    check("ibtap: removed under load", removed_under_load)
    check("ibtap: queues closed under load", closed_under_load)
    check("ibtap: an ioctl whose argument is not there yet holds up nobody", absent_argument)
    check("ibtap: used by four processes while it is deleted, moved, shut and made again", used_by_many, max(6, SECONDS // 2))
    check("ibtap: a device is made where its descriptor was opened", opened_in_a_namespace)
    check("ibtap: a namespace takes its device along", namespace_ends)
    lab_checks(check)
    check("ibtap: the module takes persistent devices along", unloaded)
    check("ibtap: nothing in the kernel's log", log_clean)
    sys.exit(check.failed)


main()
