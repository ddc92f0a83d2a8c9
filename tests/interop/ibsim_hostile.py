# SPDX-License-Identifier: BSD-2-Clause
"""A hostile client of ibsim's protocol. It sends random octets and forged numbers to the control socket, connects more
clients than are allowed, and then sends a flood of MADs of all kinds, whose answers it does not read. It prints "done" if
the server refused what it must refuse and served the client afterwards. The argument is the name of the sockets."""
import os
import random
import socket
import struct
import sys
import time

NAME = sys.argv[1]
QUEUE_MAX = 65536  # IBSIM_QUEUE_MAX
SECONDS = 2
ERROR, CONNECT, DISCONNECT, GET_PORT, GET_VENDOR, GET_GID, GET_GUID, GET_NODE, GET_PI, SET_ISSM, GET_PKEYS = range(11)
rng = random.Random(1)


def address(what):
    return "\0%s:%s\0" % (NAME, what)  # libumad2sim's names end with a zero


class Client:
    """A client with two sockets whose names contain a number; libumad2sim uses the pid of the process as the number."""

    def __init__(self, number):
        self.number, self.id = number, None
        self.ctl = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ctl.settimeout(60)
        self.ctl.bind(address("ctl%d" % number))
        self.ctl.connect(address("ctl"))
        self.mads = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.mads.bind(address("in%d" % number))

    def ask(self, kind, data=b"", number=None, length=None):
        number = self.id or 0 if number is None else number
        self.ctl.send(struct.pack("=IIII64s", 0xDEADBEEF, number, kind, len(data) if length is None else length, data))
        magic, number, kind, length, data = struct.unpack("=IIII64s", self.ctl.recv(200))
        assert magic == 0xDEADBEEF
        return kind, data

    def connect(self, node=b"", issm=0, number=None):
        number = self.number if number is None else number
        kind, data = self.ask(CONNECT, struct.pack("=III32s", number, 0, issm, node))
        if kind != CONNECT:
            return False
        self.id = struct.unpack_from("=I", data)[0]
        self.mads.connect(address("out%d" % self.id))
        return True

    def close(self):
        self.ctl.close()
        self.mads.close()


def flood(c, until):
    """Send at least 1000 random MADs as fast as the server accepts them. Return the number of MADs that were sent and
    the number that were refused."""
    c.mads.setblocking(False)
    sent = full = 0
    while time.monotonic() < until or sent <= 1000:
        mad = bytearray(rng.randbytes(256))
        if rng.random() < 0.8:  # most MADs belong to classes that exist
            mad[0:4] = 1, rng.choice((1, 0x81, 3, 4, 0x32)), rng.choice((1, 2)), rng.choice((1, 2, 5, 7, 0x12, 0x81))
            mad[4:8] = 0, 0, rng.choice((0, 0, 1)), rng.choice((0, 1, 2, 3, 64))
            mad[16:18] = rng.choice((b"\0\x11", b"\0\x15", b"\0\x20", b"\0\x35", b"\0\x38", b"\0\x02"))
        head = struct.pack(">HHHHIIIIQ", rng.choice((0xFFFF, 1, 2, 5, 0, 0xC000)), 0, rng.choice((0xFFFF, 0)), 0,
                           rng.choice((0, 1)), rng.choice((0, 1)), 0, 0, rng.choice((256, 256, 256, 24, 0, 1 << 40)))
        try:
            c.mads.send(head + mad if rng.random() < 0.95 else rng.randbytes(rng.randrange(0, 400)))
            sent += 1
        except BlockingIOError:
            full += 1
    return sent, full


def ask_without_reading(c, n):
    """Send n requests for the NodeInfo of the own node. Each is answered, but no answer is read."""
    c.mads.setblocking(True)
    for tid in range(n):
        mad = struct.pack(">BBBBHBBQHH", 1, 0x81, 1, 1, 0, 0, 0, tid, 0x11, 0).ljust(256, b"\0")
        c.mads.send(struct.pack(">HHHHIIIIQ", 0xFFFF, 0, 0xFFFF, 0, 0, 0, 0, 0, 256) + mad)


def main():
    me = Client(os.getpid())
    for n in list(range(0, 100)) + [1000, 60000]:  # messages of these lengths get no answer
        me.ctl.send(rng.randbytes(n))
    assert me.ask(GET_NODE)[0] == ERROR, "not connected"
    for number in (0, 1, 7, 255, 256, 1 << 31, 0xFFFFFFFF):  # one of these is OpenSM's id, which only OpenSM may use
        for kind in (DISCONNECT, SET_ISSM, GET_PI):
            assert me.ask(kind, b"\1\0\0\0", number)[0] == ERROR, number
    assert not me.connect(b"no such node")
    assert not me.connect(number=1), "another's number"
    assert not me.connect(number=0xFFFFFFFF)
    assert me.ask(CONNECT, b"x" * 64)[0] == ERROR
    assert me.ask(77)[0] == ERROR
    assert me.connect(b"Hca4")

    crowd = []
    for i in range(40):
        c = Client(os.getpid() * 1000 + i)
        if not c.connect(b"Hca4"):
            break
        crowd.append(c)
    assert len(crowd) == 15, len(crowd)  # besides this client
    sent, full = flood(me, time.monotonic() + SECONDS)
    ask_without_reading(me, QUEUE_MAX + 1)  # this fills the queue, even if the flood was slow
    for c in crowd:
        c.close()  # without sending the message by which a client ends
    again = Client(os.getpid() + 1000000)
    deadline = time.monotonic() + 60
    while not again.connect(b"Hca4"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert again.ask(GET_NODE)[0] == GET_NODE
    print("sent %d MADs, it was full %d times" % (sent, full))
    print("done")


main()
