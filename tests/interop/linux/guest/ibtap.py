# SPDX-License-Identifier: BSD-2-Clause
"""/dev/ibtap for Python: the interface of kmod/ibtap.h, and frames in the format of read() and write() on
/dev/ibtap."""
import fcntl
import os
import select
import struct
import threading
from collections import namedtuple

NAME, VNET, HLEN, ALEN = 16, 12, 44, 20
MULTI_QUEUE, EXCLUSIVE = 1, 2
CSUM, TSO4, TSO6, TSO_ECN, USO = 1, 2, 4, 8, 16
IP4, IP6, ARP = 0x0800, 0x86DD, 0x0806
NONE = 0xFFFFFFFF
GSO_TCP4, GSO_UFO, GSO_TCP6, GSO_UDP, GSO_ECN = 1, 3, 4, 5, 0x80


def _ioc(way, nr, size):
    return way << 30 | size << 16 | 0xB7 << 8 | nr


ATTACH = _ioc(3, 1, 24)
SET_ADDR, SET_BROADCAST = _ioc(1, 2, 20), _ioc(1, 3, 20)
SET_CARRIER, SET_MAX_MTU, SET_OFFLOADS = _ioc(1, 4, 4), _ioc(1, 5, 4), _ioc(1, 6, 4)
SET_PERSIST, SET_OWNER, SET_GROUP = _ioc(1, 7, 4), _ioc(1, 8, 4), _ioc(1, 9, 4)
GET_GROUPS, GET_INFO = _ioc(3, 10, 16), _ioc(2, 11, 96)

INFO = struct.Struct("=16s10I20s20s")
Info = namedtuple("Info", "name ifindex queues flags persist owner group offloads carrier mtu max_mtu addr broadcast")

assert INFO.size == 96


class Tap:
    """An open descriptor of /dev/ibtap, attached to the device NAME unless NAME is None."""

    all = set()

    def __init__(self, name=None, flags=0, block=False):
        self.fd = os.open("/dev/ibtap", os.O_RDWR | (0 if block else os.O_NONBLOCK))
        self.name = None
        self.all.add(self)
        if name is not None:
            try:
                self.attach(name, flags)
            except OSError:
                self.close()
                raise

    def attach(self, name, flags=0):
        arg = bytearray(struct.pack("=16sII", name.encode(), flags, 0))
        fcntl.ioctl(self.fd, ATTACH, arg)
        name, _, self.ifindex = struct.unpack("=16sII", arg)
        self.name = name.rstrip(b"\0").decode()

    def set(self, cmd, value):
        fcntl.ioctl(self.fd, cmd, value if isinstance(value, bytes) else struct.pack("=I", value))

    def info(self):
        arg = bytearray(96)
        fcntl.ioctl(self.fd, GET_INFO, arg)
        i = Info(*INFO.unpack(arg))
        return i._replace(name=i.name.rstrip(b"\0").decode())

    def groups(self, room=64):
        import ctypes
        buf = ctypes.create_string_buffer(room * ALEN + 1)
        arg = bytearray(struct.pack("=IIQ", 0, room, ctypes.addressof(buf)))
        fcntl.ioctl(self.fd, GET_GROUPS, arg)
        flags, count, _ = struct.unpack("=IIQ", arg)
        n = min(count, room)
        return flags, count, {buf.raw[i * ALEN:(i + 1) * ALEN] for i in range(n)}

    def events(self, ms=0):
        p = select.poll()
        p.register(self.fd, select.POLLIN | select.POLLPRI | select.POLLOUT)
        return dict(p.poll(ms)).get(self.fd, 0)

    def read(self, size=70000):
        return os.read(self.fd, size)

    def write(self, data):
        return os.write(self.fd, data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.all.discard(self)
        os.close(self.fd)


def addr(guid, qpn, flags=0):
    return struct.pack(">IQQ", flags << 24 | qpn, 0xFE80000000000000, guid)


def broadcast(pkey, scope=2):
    return struct.pack(">IHHHHQ", 0x00FFFFFF, 0xFF10 | scope, 0x401B, pkey, 0, 0xFFFFFFFF)


def group4(text, pkey, scope=2):
    low = struct.unpack(">I", bytes(int(x) for x in text.split(".")))[0] & 0x0FFFFFFF
    return struct.pack(">IHHHHQ", 0x00FFFFFF, 0xFF10 | scope, 0x401B, pkey, 0, low)


def group6(low80, pkey, scope=2):
    return struct.pack(">IHHH", 0x00FFFFFF, 0xFF10 | scope, 0x601B, pkey) + low80


def text(a):
    return ":".join("%02x" % o for o in a)


def vnet(flags=0, gso=0, hdr_len=0, size=0, start=0, offset=0):
    return struct.pack("=BBHHHHH", flags, gso, hdr_len, size, start, offset, 0)


Frame = namedtuple("Frame", "flags gso hdr_len size start offset source dest proto reserved payload")


def parse(data):
    flags, gso, hdr_len, size, start, offset, _ = struct.unpack_from("=BBHHHHH", data)
    source, dest, proto, reserved = struct.unpack_from(">20s20sHH", data, VNET)
    return Frame(flags, gso, hdr_len, size, start, offset, source, dest, proto, reserved, data[VNET + HLEN:])


def frame(source, dest, proto, payload, head=bytes(VNET)):
    return head + struct.pack(">20s20sHH", source, dest, proto, 0) + payload


class Wire(threading.Thread):
    """Copies each frame that is read from one of two descriptors to the other descriptor, until stop(). .seen gets, for
    each frame, the end that sent it ("a" or "b"), the frame with at most 128 octets of payload, and the length of the payload."""

    def __init__(self, a, b):
        super().__init__(daemon=True)
        self.ends = {a.fd: b.fd, b.fd: a.fd}
        self.names = {a.fd: "a", b.fd: "b"}
        self.seen = []
        self.errors = []
        self.wake_read, self.wake_write = os.pipe()
        self.start()

    def run(self):
        poll = select.epoll()
        for fd in (*self.ends, self.wake_read):
            poll.register(fd, select.EPOLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wake_read:
                    return
                self.move(fd)

    def move(self, fd):
        for _ in range(64):
            try:
                data = os.read(fd, 70000)
                f = parse(data)
                self.seen.append((self.names[fd], f._replace(payload=f.payload[:128]), len(f.payload)))
                os.write(self.ends[fd], data)
            except BlockingIOError:
                return
            except OSError as e:
                self.errors.append(e)
                return

    def stop(self):
        os.write(self.wake_write, b"x")
        self.join()
        os.close(self.wake_read)
        os.close(self.wake_write)
