#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
#
# A test server for libuipoib-umad.so. It takes the place of the daemon in the protocol of src/umad/proto.h, and executes commands
# that it gets in MADs. It can also send messages that the daemon never sends.
#
#   umad_server.py SOCKET [SEED]
#
# With SEED, all messages of the server after its first message are random, but so similar to valid messages that the
# library examines their contents.
#
# The octets of a MAD from 40 on are a command: "echo", "header", "timeout", "long N", "burst N", "garbage", "shut" (which
# closes the connection), "die", "drop". The answer has the same first 24 octets as the MAD. The server prints "ready" when
# it listens.
import array
import errno
import os
import random
import selectors
import socket
import struct
import sys

HELLO, REGISTER, UNREGISTER, MAD, ATTR, CONTENT, RESULT = range(1, 8)
KIND_MAD, KIND_ISSM, KIND_ATTR = 1, 2, 3
INLINE_MAX, DATA_MAX = 65536, 96 << 20
MAD_SIZE = 76

TREE = {
    "class/infiniband/uipoib0/node_type": "1: CA\n",
    "class/infiniband/uipoib0/node_guid": "0002:c903:0000:0001\n",
    "class/infiniband/uipoib0/empty": "",
    "class/infiniband/uipoib0/ports/1/lid": "0x7\n",
    "class/infiniband/uipoib0/ports/1/state": "4: ACTIVE\n",
    "class/infiniband/uipoib0/ports/1/pkeys/0": "0xffff\n",
    "class/infiniband/uipoib0/ports/1/pkeys/1": "0x0000\n",
    "class/infiniband/uipoib1/node_type": "1: CA\n",
    "class/infiniband/uipoib1/ports/1/lid": "0x8\n",
    "class/infiniband_mad/abi_version": "5\n",
    "class/infiniband_mad/umad0/ibdev": "uipoib0\n",
    "class/infiniband_mad/umad0/port": "1\n",
    "class/infiniband_mad/issm0/ibdev": "uipoib0\n",
    "class/infiniband_mad/issm0/port": "1\n",
}


class Die(Exception):
    pass


def result(err, ident=0):
    return struct.pack("=IIiI", RESULT, 16, -err, ident)


def content(err=0, is_dir=0, data=b"", length=None):
    return struct.pack("=IIiII", CONTENT, 20 + len(data), -err, is_dir, len(data) if length is None else length) + data


class Conn:
    def __init__(self, server, sock):
        self.server, self.sock = server, sock
        self.kind = None
        self.agents = set()

    def send(self, data, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([data], control, socket.MSG_NOSIGNAL)

    def hello(self, msg):
        version, self.kind, dev = struct.unpack_from("=III", msg, 8)
        err = 0
        if len(msg) != 148 or version != 1:
            err = errno.EINVAL
        elif self.kind != KIND_ATTR and dev != 0:
            err = errno.ENOENT if dev != 5 else errno.EACCES
        elif self.kind == KIND_ISSM:
            if self.server.issm:
                err = errno.EAGAIN
            else:
                self.server.issm = self
        self.send(result(err))

    def register(self, msg, reply):
        qpn, flags, m0, m1, oui, mclass, cver, rmpp, _ = struct.unpack_from("=IIQQIBBBB", msg, 8)
        self.server.last = (qpn, flags, m0, m1, oui, mclass, cver, rmpp)
        free = [i for i in range(32) if i not in self.agents]
        if not free:
            reply.send(result(errno.ENOMEM))
        elif mclass == 0x66:  # a program makes this registration only to read it back by the command "header", so refuse it
            reply.send(result(errno.EINVAL))
        else:
            self.agents.add(free[0])
            reply.send(result(0, free[0]))

    def unregister(self, msg, reply):
        ident = struct.unpack_from("=I", msg, 8)[0]
        reply.send(result(0 if ident in self.agents else errno.EINVAL))
        self.agents.discard(ident)

    def mad(self, head, data, status=0, ident=None):
        """Send a MAD to the program, with the header fields of @head, a whole struct umad_mad."""
        if ident is None:
            ident = struct.unpack_from("=I", head, 12)[0]
        inline = len(data) <= INLINE_MAX
        length = struct.unpack_from("=I", head, 28)[0]
        size = MAD_SIZE + (len(data) if inline else 0)
        msg = struct.pack("=8I", MAD, size, len(data), ident, status, 0, 0, length) + head[32:MAD_SIZE]
        if inline:
            self.send(msg + data)
            return
        fd = os.memfd_create("mad")
        os.pwrite(fd, data, 0)
        self.send(msg, [fd])
        os.close(fd)

    def garbage(self, head):
        fd = os.memfd_create("short")
        os.pwrite(fd, b"x" * 1000, 0)
        read_end, write_end = os.pipe()

        def raw(kind, length, data_len, tail=b""):
            return struct.pack("=III", kind, length, data_len) + head[12:MAD_SIZE] + tail

        self.send(b"x")
        self.send(b"y" * 75)
        self.send(struct.pack("=II", MAD, 8))
        self.send(raw(RESULT, MAD_SIZE, 256))
        self.send(raw(MAD, MAD_SIZE, 256))  # the header says 256 octets, but none follow
        self.send(raw(MAD, MAD_SIZE + 10, 10, b"z" * 10))  # shorter than a MAD
        self.send(raw(MAD, 1, 256, b"z" * 256))
        self.send(raw(MAD, 0xFFFFFFFF, 0xFFFFFFFF, b"z" * 256))
        self.send(raw(MAD, MAD_SIZE, 100000))  # a long MAD without its memfd
        self.send(raw(MAD, MAD_SIZE, DATA_MAX + 1), [fd])
        self.send(raw(MAD, MAD_SIZE + 256, 256, b"g" * 256), [fd, read_end])  # a short MAD, which needs no descriptors
        for f in (fd, read_end, write_end):
            os.close(f)

    def bad_memfd(self, head, pipe):
        """Send a MAD whose header has a large length, with a descriptor from which fewer octets can be read."""
        msg = struct.pack("=III", MAD, MAD_SIZE, 100000) + head[12:MAD_SIZE]
        if pipe:
            fds = list(os.pipe())
        else:
            fds = [os.memfd_create("short")]
            os.pwrite(fds[0], b"x" * 1000, 0)
        self.send(msg, fds)
        for f in fds:
            os.close(f)

    def command(self, msg, fds):
        data_len = struct.unpack_from("=I", msg, 8)[0]
        if data_len > INLINE_MAX:
            data = os.pread(fds[0], data_len, 0)
        else:
            data = msg[MAD_SIZE:]
        if len(data) != data_len or len(msg) != struct.unpack_from("=I", msg, 4)[0]:
            print("a message of the wrong length", flush=True)
            raise Die
        words = data[40:72].split(b"\0")[0].decode().split() or ["echo"]
        back = data[:24]
        if words[0] == "echo":
            self.mad(msg, data)
        elif words[0] == "header":  # answer with the header of this message and the last registration
            reg = struct.pack("=IIQQIBBB", *self.server.last)
            self.mad(msg, back + msg[12:MAD_SIZE] + reg + bytes(256 - 24 - 64 - len(reg)))
        elif words[0] == "timeout":
            self.mad(msg, back, status=errno.ETIMEDOUT)
        elif words[0] == "long":
            n = int(words[1])
            pattern = bytes(range(251)) * (n // 251 + 1)
            self.mad(msg, (back + pattern)[:n])
        elif words[0] == "burst":
            for i in range(int(words[1])):
                self.mad(msg, back + struct.pack("=I", i) + bytes(228))
        elif words[0] == "garbage":
            self.garbage(msg)
            self.mad(msg, data)
        elif words[0] in ("short", "pipe"):
            self.bad_memfd(msg, words[0] == "pipe")
        elif words[0] == "shut":
            self.server.close(self)
        elif words[0] == "die":
            raise Die

    def attr(self, msg):
        path = msg[8:].split(b"\0")[0].decode()
        self.server.paths.append(path)
        tail = path.rsplit("/", 1)[-1]
        children = sorted({p[len(path) + 1:].split("/")[0] for p in TREE if p.startswith(path + "/")})
        if path == "class/infiniband/uipoib0/counter":
            self.server.counter += 1
            self.send(content(data=b"%d\n" % self.server.counter))
        elif path in TREE:
            self.send(content(data=TREE[path].encode()))
        elif children:
            self.send(content(is_dir=1, data=b"".join(c.encode() + b"\0" for c in children)))
        elif tail == "secret":
            self.send(content(errno.EACCES))
        elif tail == "evil_len":
            self.send(content(data=b"abc", length=4000000000))
        elif tail == "evil_short":
            self.send(b"abc")
        elif tail == "evil_err":
            self.send(struct.pack("=IIiII", CONTENT, 20, 77, 0, 0))
        elif tail == "evil_type":
            self.send(result(0))
        elif tail == "evil_silent":
            pass
        elif tail == "evil_dir":
            self.send(content(is_dir=1, data=b"ok\0\0a/b\0" + b"n" * 300 + b"\0last-without-zero"))
        elif tail == "evil_big":
            self.send(content(data=b"b" * 65536))
        else:
            self.send(content(errno.ENOENT))
        self.server.close(self)

    def receive(self):
        try:
            msg, control, _, _ = self.sock.recvmsg(INLINE_MAX + 4096, socket.CMSG_SPACE(16))
        except ConnectionResetError:
            msg, control = b"", []
        if not msg:
            self.server.close(self)
            return
        fds = []
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds += array.array("i", data)
        kind = struct.unpack_from("=I", msg)[0]
        try:
            if kind == HELLO:
                self.hello(msg)
            elif kind == ATTR and self.kind == KIND_ATTR:
                self.attr(msg)
            elif kind in (REGISTER, UNREGISTER):
                reply = socket.socket(fileno=fds.pop())
                (self.register if kind == REGISTER else self.unregister)(msg, reply)
                reply.close()
            elif kind == MAD and self.kind == KIND_MAD:
                self.command(msg, fds)
        except (BrokenPipeError, ConnectionResetError):
            self.server.close(self)
        finally:
            for f in fds:
                os.close(f)


class RandomConn(Conn):
    """A connection that sends messages of all types, whose lengths, errors and descriptors may be right or wrong."""

    def noise(self, kind):
        r = self.server.random
        size = r.choice([1, 7, 8, 16, 20, 76, 77, 100, 332, 400, 5000, 60000])
        msg = bytearray(r.randbytes(size))
        if size >= 8:
            struct.pack_into("=II", msg, 0, kind if r.random() < 0.9 else r.randrange(9), size)
        if kind == MAD and size >= MAD_SIZE:
            lengths = [size - MAD_SIZE] * 4 + [100000, 24, 0, 2**32 - 1, DATA_MAX]
            struct.pack_into("=III", msg, 8, r.choice(lengths), 0, r.choice([0, 0, errno.ETIMEDOUT]))
        elif kind == CONTENT and size >= 20:
            struct.pack_into("=iII", msg, 8, r.choice([0, 0, -2, 5, -5000]), r.randrange(3),
                             r.choice([size - 20, size - 20, size, 0, 2**31]))
        elif kind == RESULT and size >= 16:
            struct.pack_into("=iI", msg, 8, r.choice([0, 0, 0, -2, -22, 9, -99999]), r.randrange(40))
        fds = []
        if r.random() < 0.4:
            fd = os.memfd_create("noise")
            os.truncate(fd, r.choice([0, 100, 256, 100000, DATA_MAX]))
            fds = [fd] * r.randrange(1, 4)
        return bytes(msg), fds

    def say(self, kind, sock=None):
        msg, fds = self.noise(kind)
        try:
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            (sock or self.sock).sendmsg([msg], control, socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        finally:
            for fd in set(fds):
                os.close(fd)

    def hello(self, msg):
        self.kind = struct.unpack_from("=I", msg, 12)[0]
        if self.server.random.random() < 0.9:
            self.send(result(0))
        else:
            self.say(RESULT)

    def register(self, msg, reply):
        self.say(RESULT, reply)

    unregister = register

    def command(self, msg, fds):
        for _ in range(self.server.random.randrange(4)):
            self.say(MAD)

    def attr(self, msg):
        self.say(CONTENT)
        self.server.close(self)


class Server:
    def __init__(self, path, seed=None):
        self.random = random.Random(seed)
        self.conn = Conn if seed is None else RandomConn
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(64)
        self.poll = selectors.DefaultSelector()
        self.poll.register(self.listener, selectors.EVENT_READ)
        self.issm = None
        self.last = (0,) * 8
        self.counter = 0
        self.paths = []

    def close(self, conn):
        if conn.sock.fileno() < 0:
            return
        self.poll.unregister(conn.sock)
        conn.sock.close()
        if self.issm is conn:
            self.issm = None

    def run(self):
        while True:
            for key, _ in self.poll.select():
                if key.data:
                    key.data.receive()
                    continue
                sock, _ = self.listener.accept()
                self.poll.register(sock, selectors.EVENT_READ, self.conn(self, sock))


if __name__ == "__main__":
    server = Server(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
    print("ready", flush=True)
    try:
        server.run()
    except (Die, KeyboardInterrupt):
        pass
    os.unlink(sys.argv[1])
