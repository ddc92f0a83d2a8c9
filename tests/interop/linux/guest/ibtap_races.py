# SPDX-License-Identifier: BSD-2-Clause
"""Programs that use /dev/ibtap at the same time and disturb each other. See ibtap_device.py."""
import ctypes
import errno
import fcntl
import mmap
import os
import random
import select
import struct
import subprocess
import threading
import time
import traceback

import ibtap
from ibtap import Tap, frame, vnet
from ibtap_check import A, B, LIBC, PATIENCE, device, drain, exists, run
from ibtap_headers import RIGHT, wrong


# --- memory whose first access waits

class Absent:
    """A page whose first reader or writer waits until close(). The class uses userfaultfd(2); any user can do the same
    by FUSE."""

    API, REGISTER = 0xC018AA3F, 0xC020AA00      # ioctls of linux/userfaultfd.h for x86

    def __init__(self):
        self.page = mmap.mmap(-1, mmap.PAGESIZE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.fd = LIBC.syscall(323, os.O_CLOEXEC | os.O_NONBLOCK)
        assert self.fd >= 0, os.strerror(ctypes.get_errno())
        fcntl.ioctl(self.fd, self.API, bytearray(struct.pack("=QQQ", 0xAA, 0, 0)))
        fcntl.ioctl(self.fd, self.REGISTER, bytearray(struct.pack("=QQQQ", self.address, mmap.PAGESIZE, 1, 0)))

    def wanted(self):
        return bool(select.select([self.fd], [], [], PATIENCE)[0])

    def close(self):
        os.close(self.fd)                       # accesses that waited get zeros


def absent_argument():
    """Tests that other programs can change interfaces while an ioctl waits for the memory of its argument."""
    for cmd in ibtap.ATTACH, ibtap.SET_ADDR, ibtap.SET_CARRIER, ibtap.GET_GROUPS, ibtap.GET_INFO:
        t = Tap() if cmd == ibtap.ATTACH else device("t0")
        absent, result = Absent(), []
        th = threading.Thread(target=lambda: result.append(LIBC.ioctl(t.fd, ctypes.c_ulong(cmd), ctypes.c_void_p(absent.address))))
        th.start()
        try:
            assert absent.wanted(), "nobody reads the argument"
            other = subprocess.Popen(("ip", "link", "set", "lo", "up"))
            try:
                assert other.wait(PATIENCE / 4) == 0
            except subprocess.TimeoutExpired:
                raise AssertionError("ioctl %#x holds RTNL while its argument is not there" % cmd) from None
        finally:
            absent.close()
            th.join(PATIENCE)
            t.close()
        assert not th.is_alive() and len(result) == 1


# --- devices that are made and removed while they are used

EXPECTED = {errno.EBUSY, errno.EINVAL, errno.EIO, errno.EAGAIN, errno.EADDRNOTAVAIL, errno.EMSGSIZE, errno.EEXIST, errno.ENODEV}


def use(t, rng, frames):
    """Uses the descriptor T in random ways, for a number of steps or until the device is gone."""
    steps = (lambda: t.write(rng.choice(frames)), lambda: drain(t), t.info, t.groups, t.events,
             lambda: t.set(ibtap.SET_BROADCAST, ibtap.broadcast(0x9001, rng.choice((2, 5)))),
             lambda: t.set(ibtap.SET_ADDR, rng.choice((A, B))), lambda: t.set(ibtap.SET_OFFLOADS, rng.choice((0, 1, 31, 2))),
             lambda: t.set(ibtap.SET_CARRIER, 1), lambda: t.set(ibtap.SET_MAX_MTU, rng.choice((100, 2044, 65520))),
             lambda: t.set(ibtap.SET_PERSIST, rng.randrange(2)))
    for _ in range(rng.randrange(60)):
        rng.choice(steps[:2] if rng.random() < 0.7 else steps)()


def user(seed, stop):
    """The process of a user, which runs until the pipe STOP is closed. The exit status is 0 if all errors were expected
    and the process attached at least once."""
    rng, lives = random.Random(seed), 0
    frames = [frame(B, A, p, d, vnet(**h)) for p, d, h in RIGHT.values()] + [frame(B, A, p, d, vnet(**h)) for _, p, d, h in wrong()]
    while not select.select([stop], [], [], 0)[0]:
        try:
            with Tap("t0", ibtap.MULTI_QUEUE) as t:
                lives += 1
                use(t, rng, frames)
        except OSError as e:
            if e.errno not in EXPECTED:
                traceback.print_exc()
                return 1
    return 0 if lives else 2


def used_by_many(seconds):
    """Runs four users, and an administrator who deletes the device, moves it to a namespace that ends, and sets it down."""
    end, pids = time.monotonic() + seconds, []
    stop, running = os.pipe()
    for seed in range(4):
        pid = os.fork()
        if not pid:
            os.close(running)
            try:
                os._exit(user(seed, stop))
            finally:
                traceback.print_exc()
                os._exit(3)
        pids.append(pid)
    acts = (("link", "set", "t0", "up"), ("link", "set", "t0", "up"), ("link", "set", "t0", "down"), ("link", "delete", "t0"),
            ("address", "replace", "10.6.0.1/24", "dev", "t0"), ("neigh", "replace", "10.6.0.2", "lladdr", ibtap.text(B), "dev", "t0", "nud", "permanent"),
            ("link", "set", "t0", "txqueuelen", "3"), ("link", "set", "t0", "netns", "c"))
    ping = subprocess.Popen(["sh", "-c", "while :; do timeout 1 ping -q -f -l 20 10.6.0.2; sleep 0.1; done"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)
    rng, done = random.Random(99), set()
    while time.monotonic() < end or done != set(acts) and time.monotonic() < end + 5 * PATIENCE:  # a command may take seconds under KASAN
        run("ip", "netns", "add", "c", ok=False)
        for _ in range(12):
            act = rng.choice(acts)
            if run("ip", *act, ok=False)[0] == 0:
                done.add(act)
        run("ip", "netns", "delete", "c", ok=False)
    os.close(running)
    os.close(stop)
    status = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    os.killpg(ping.pid, 9)
    ping.wait()
    run("ip", "link", "delete", "t0", ok=False)         # a user may have left it persistent
    assert status == [0] * 4, status
    assert done == set(acts), set(acts) - done
    assert not exists("t0")
