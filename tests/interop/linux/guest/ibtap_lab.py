# SPDX-License-Identifier: BSD-2-Clause
"""Traffic between two devices in two namespaces, whose frames ibtap.Wire forwards. See ibtap_device.py."""
import subprocess
import sys

from ibtap import ARP, IP4, IP6, Wire, group4, group6, text
from ibtap_check import A, B, PKEY, device, eventually, run


class Lab:
    def __enter__(self):
        self.taps = []
        for ns, address in (("a", A), ("b", B)):
            run("ip", "netns", "add", ns)
            t = device("t" + ns, address, up=False, offloads=31)
            run("ip", "link", "set", t.name, "netns", ns)
            n = "1" if ns == "a" else "2"
            run("ip", "-n", ns, "link", "set", "lo", "up")
            run("ip", "-n", ns, "address", "add", "10.7.0.%s/24" % n, "dev", t.name)
            run("ip", "-n", ns, "address", "add", "fd07::%s/64" % n, "dev", t.name)
            run("ip", "-n", ns, "link", "set", t.name, "up")
            self.taps.append(t)
        self.wire = Wire(*self.taps)
        return self

    def __exit__(self, *_):
        self.wire.stop()
        for t in self.taps:
            t.close()
        for ns in ("a", "b"):
            run("ip", "netns", "delete", ns)


def pings(lab):
    for ip in "10.7.0.2", "fd07::2":
        eventually(lambda: run("ping", "-c", "1", "-W", "5", ip, ns="a", ok=False)[0] == 0, "ping " + ip)
        run("ping", "-c", "5", "-i", "0.2", "-W", "20", "-s", "1900", ip, ns="a")
    for ip, dev in (("10.7.0.2", "ta"), ("fd07::2", "ta")):
        out = run("ip", "neigh", "show", ip, ns="a")
        assert text(B) in out, out
    # The link-local address is that of the GUID (RFC 4391 §8).
    out = run("ip", "-6", "address", "show", "dev", "ta", ns="a")
    assert "fe80::202:c903:0:1/64" in out, out


def arping(lab):
    out = run("arping", "-c", "2", "-w", "60", "-I", "ta", "10.7.0.2", ns="a")
    assert text(B).upper() in out.upper(), out


def neighbours_on_wire(lab):
    run("ip", "-n", "a", "neigh", "flush", "all")
    lab.wire.seen.clear()
    run("ping", "-c", "1", "-W", "20", "10.7.0.2", ns="a")
    run("ping", "-c", "1", "-W", "20", "fd07::2", ns="a")

    # Count neither replies to b's probes of its neighbour, nor duplicate address detection, which has the source address ::
    def arp():
        return [f for end, f, n in lab.wire.seen if end == "a" and f.proto == ARP and f.payload[6:8] == b"\0\1"]

    def solicitations():
        return [f for end, f, n in lab.wire.seen if end == "a" and f.proto == IP6 and f.payload[40] == 135 and f.payload[8:24] != bytes(16)]
    request = eventually(arp)[0]
    assert request.payload[:8] == bytes.fromhex("0020080014040001") and request.payload[8:28] == A
    solicit = eventually(solicitations)[0]
    # RFC 4391 §9.3: type 1, length 3 (times 8 octets), two octets of zero, the address
    assert solicit.payload[64:] == b"\1\3\0\0" + A and solicit.dest[6:8] == b"\x60\x1b", solicit


def transfer(lab):
    code = """if 1:
        import hashlib, socket, sys
        s = socket.create_server((sys.argv[1], 5000), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
        print("ready", flush=True)
        c = s.accept()[0]
        h = hashlib.sha256()
        for d in iter(lambda: c.recv(1 << 16), b""):
            h.update(d)
        c.sendall(h.digest())"""
    send = """if 1:
        import hashlib, random, socket, sys
        s = socket.create_connection((sys.argv[1], 5000))
        d = random.Random(1).randbytes(1 << 20) * 6
        s.sendall(d)
        s.shutdown(1)
        got = b""
        while len(got) < 32:
            x = s.recv(32)
            assert x
            got += x
        assert got == hashlib.sha256(d).digest()"""
    lab.wire.seen.clear()
    for frm, to, ip, gso in (("a", "b", "10.7.0.2", 1), ("b", "a", "10.7.0.1", 1), ("a", "b", "fd07::2", 4), ("b", "a", "fd07::1", 4)):
        server = subprocess.Popen(["ip", "netns", "exec", to, sys.executable, "-c", code, ip], stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        run(sys.executable, "-c", send, ip, ns=frm)
        server.wait()
        big = [n for end, f, n in lab.wire.seen if end == frm and f.gso & 0x7F == gso and n > 2044]
        assert big, "no super-frame of kind %d from %s" % (gso, frm)


def segments(lab):
    recv = """if 1:
        import socket, sys
        s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((sys.argv[1], 5001))
        s.settimeout(100)
        print("ready", flush=True)
        d = [s.recv(70000) for _ in range(10)]
        assert [len(x) for x in d] == [1000] * 9 + [500], [len(x) for x in d]
        assert b"".join(d) == bytes(i % 251 for i in range(9500))"""
    send = """if 1:
        import socket, sys
        s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(17, 103, 1000)
        s.sendto(bytes(i % 251 for i in range(9500)), (sys.argv[1], 5001))"""
    for ip, proto in (("10.7.0.2", IP4), ("fd07::2", IP6)):
        server = subprocess.Popen(["ip", "netns", "exec", "b", sys.executable, "-c", recv, ip], stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        lab.wire.seen.clear()
        run(sys.executable, "-c", send, ip, ns="a")
        assert server.wait() == 0
        one = [f for end, f, n in lab.wire.seen if f.proto == proto and f.gso == 5]
        assert len(one) == 1 and one[0].size == 1000, one


def multicast(lab):
    recv = """if 1:
        import socket, struct, sys
        six = ":" in sys.argv[1]
        s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("", 5002))
        if six:
            s.setsockopt(41, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, sys.argv[1]) + struct.pack("@I", socket.if_nametoindex("tb")))
        else:
            s.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(sys.argv[1]) + socket.inet_aton("10.7.0.2"))
        s.settimeout(100)
        print("ready", flush=True)
        assert s.recv(100) == b"to the group"
        """
    send = """if 1:
        import socket, struct, sys
        six = ":" in sys.argv[1]
        s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
        if six:
            s.setsockopt(41, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("ta"))
        else:
            s.setsockopt(0, socket.IP_MULTICAST_IF, socket.inet_aton("10.7.0.1"))
        s.sendto(b"to the group", (sys.argv[1], 5002))"""
    for ip, dest in (("239.1.2.3", group4("239.1.2.3", PKEY)), ("ff05::1:3", group6(bytes(6) + b"\0\1\0\3", PKEY))):
        server = subprocess.Popen(["ip", "netns", "exec", "b", sys.executable, "-c", recv, ip], stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        assert dest in lab.taps[1].groups()[2], [text(g) for g in lab.taps[1].groups()[2]]
        lab.wire.seen.clear()
        run(sys.executable, "-c", send, ip, ns="a")
        assert server.wait() == 0
        assert [f for end, f, n in lab.wire.seen if end == "a" and f.dest == dest], lab.wire.seen


def captured(lab):
    p = subprocess.Popen(["ip", "netns", "exec", "a", "dumpcap", "-q", "-i", "ta", "-c", "4", "-w", "/dev/shm/cap", "-f", "icmp"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: run("ping", "-c", "2", "-i", "0.2", "-W", "10", "10.7.0.2", ns="a", ok=False) and p.poll() is not None, "4 packets")
    out = run("tshark", "-r", "/dev/shm/cap", "-T", "fields", "-e", "ip.src", "-e", "icmp.type", "-e", "frame.protocols")
    assert out.count("10.7.0.1\t8") == 2 and out.count("10.7.0.2\t0") == 2, out


def no_errors(lab):
    assert not lab.wire.errors, lab.wire.errors


def lab_checks(check):
    with Lab() as lab:
        check("ibtap: two devices in two namespaces: ping of both families", pings, lab)
        check("ibtap: arping", arping, lab)
        check("ibtap: ARP and ND of the kernel on the wire", neighbours_on_wire, lab)
        check("ibtap: TCP both ways in super-frames arrives undamaged", transfer, lab)
        check("ibtap: UDP segments of one super-frame", segments, lab)
        check("ibtap: multicast of both families", multicast, lab)
        check("ibtap: a capture", captured, lab)
        check("ibtap: no frame of these was refused", no_errors, lab)
