# SPDX-License-Identifier: BSD-2-Clause
"""A hostile client of the daemon's umad socket. It sends invalid messages and wrong descriptors, and opens more
connections than are allowed. Then it sends a flood of requests until SIGTERM. It prints "done" if the daemon refused what
it must refuse, and served the program afterwards."""
import array
import os
import random
import signal
import socket
import struct
import sys

HELLO, REGISTER, UNREGISTER, MAD, ATTR, CONTENT, RESULT = range(1, 8)
path = sys.argv[1]
rng = random.Random(1)


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(path)
    return s


def hello(s, kind=1, dev=0, host=b"h1"):
    s.send(struct.pack("=IIIII64s64s", HELLO, 148, 1, kind, dev, host, b""))
    return struct.unpack("=IIiI", s.recv(64))[2]


def opened():
    s = connect()
    err = hello(s)
    assert err == 0, err
    return s


def register(s, mgmt_class, version, rmpp=0, methods=0):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    msg = struct.pack("=IIIIQQIBBBB", REGISTER, 40, 1, 0, methods, 0, 0, mgmt_class, version, rmpp, 0)
    socket.send_fds(s, [msg], [theirs.fileno()])
    theirs.close()
    ours.settimeout(60)
    err, ident = struct.unpack("=IIiI", ours.recv(64))[2:]
    assert err == 0, err
    return ident


def mad(mgmt_class, version, method, attr, tid):
    return struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, method, 0, 0, tid, attr, 0, 0) + bytes(232)


def umad(ident, lid, timeout, data, data_len=None, inline=True):
    n = len(data) if data_len is None else data_len
    head = struct.pack("=IIIIII", n, ident, 0, timeout, 0, 0) + struct.pack(">IIH", 1, 0x80010000, lid) + bytes(34)
    body = head + (data if inline else b"")
    return struct.pack("=II", MAD, 8 + len(body)) + body


def dropped(s):
    """Tell whether the daemon closes the connection."""
    try:
        while True:
            if not s.recv(1 << 17):
                return True
    except ConnectionResetError:
        return True
    except socket.timeout:
        return False


def gone(send):
    s = opened()
    try:
        send(s)
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert dropped(s), send
    s.close()


def nonsense():
    gone(lambda s: s.send(b"x"))
    gone(lambda s: s.send(struct.pack("=II", 99, 8)))
    gone(lambda s: s.send(struct.pack("=II", MAD, 0xFFFFFFFF)))
    gone(lambda s: s.send(struct.pack("=II", REGISTER, 40) + bytes(32)))  # a registration without the socket for its answer
    gone(lambda s: s.send(bytes(70000)))
    for _ in range(300):
        n = rng.randrange(1, 400)
        gone(lambda s: s.send(struct.pack("=II", rng.randrange(8, 1 << 32), n) + rng.randbytes(n)))
    s = connect()
    assert hello(s, host=b"nobody") < 0
    assert dropped(s)


def file_of(size):
    fd = os.memfd_create("x")
    os.ftruncate(fd, size)
    os.pwrite(fd, mad(3, 2, 0x12, 0x11, 1)[:24] + b"\1\1\1" + bytes(9), 0)
    return fd


def with_fd(s, ident, fd, size):
    socket.send_fds(s, [umad(ident, 1, 100, b"", size, False)], [fd])


def descriptors():
    """Send other descriptors in place of a memfd, and memfds with the wrong length."""
    r, w = os.pipe()
    for fd in (os.open("/dev/zero", os.O_RDONLY), os.open("/proc/self/mem", os.O_RDONLY), r,
               os.open("/", os.O_RDONLY), os.memfd_create("empty"), file_of(200 << 20)):
        s = opened()
        ident = register(s, 3, 2, 1)
        with_fd(s, ident, fd, 100000)
        assert dropped(s), fd
    # One memfd shrinks while the daemon reads it, and another has a length that differs from the length in the
    # message.
    s = opened()
    ident = register(s, 3, 2, 1)
    fd = file_of(8 << 20)
    for _ in range(30):
        os.ftruncate(fd, 8 << 20)
        try:
            with_fd(s, ident, fd, 8 << 20)
        except (BrokenPipeError, ConnectionResetError):  # the file had shrunk before the daemon read it, so the daemon dropped the client
            s = opened()
            ident = register(s, 3, 2, 1)
        os.ftruncate(fd, 100)
    os.close(fd)
    s = opened()
    ident = register(s, 3, 2, 1)
    with_fd(s, ident, file_of(90000), 80000)
    assert dropped(s)
    # Many descriptors in one message
    s = opened()
    fds = [os.memfd_create("x") for _ in range(200)]
    socket.send_fds(s, [umad(0, 1, 100, b"", 100000, False)], fds)
    assert dropped(s)
    for fd in fds:
        os.close(fd)


def crowd():
    """Open more connections than are allowed, so that the daemon refuses some. After the connections are closed, it
    accepts new connections."""
    socks, refused = [], 0
    for _ in range(400):
        s = connect()
        try:
            if hello(s) == 0:
                socks.append(s)
        except (ConnectionResetError, BrokenPipeError, struct.error):
            refused += 1
    assert 100 < len(socks) < 400 and refused > 0, (len(socks), refused)
    for s in socks:
        s.close()
    for _ in range(100):
        s = connect()
        try:
            if hello(s) == 0:
                return
        except (ConnectionResetError, BrokenPipeError, struct.error):
            pass
    assert False, "no room"


def flood():
    """Send requests to a LID that exists and to a LID that does not exist, until SIGTERM, and read no answers."""
    stop = []
    signal.signal(signal.SIGTERM, lambda *a: stop.append(1))
    socks = [opened() for _ in range(4)]
    idents = [register(s, 4, 1) for s in socks]
    for s in socks:
        s.setblocking(False)
    print("flooding", flush=True)
    tid = 0
    while not stop:
        for s, ident in zip(socks, idents):
            for lid in (1, 0x4000):
                tid += 1
                try:
                    s.send(umad(ident, lid, 3600000, mad(4, 1, 1, 1, tid)))
                except BlockingIOError:
                    pass
    print(tid, "MADs")


nonsense()
descriptors()
crowd()
flood()
s = opened()
ident = register(s, 4, 1)
s.send(umad(ident, 1, 1000, mad(4, 1, 1, 1, 7)))
got = s.recv(4096)
assert struct.unpack("=IIIII", got[:20])[3:] == (ident, 0), got[:20]
print("done")
