# SPDX-License-Identifier: BSD-2-Clause
"""Functions that the checks of ibtap.ko share: they run programs, make devices, and wait."""
import ctypes
import errno
import json
import os
import re
import subprocess
import time
import traceback

import ibtap
from ibtap import Tap, parse

PATIENCE = 120
LIBC = ctypes.CDLL(None, use_errno=True)
A, B, STRANGER = ibtap.addr(0x2C90300000001, 0x101), ibtap.addr(0x2C90300000002, 0x102), ibtap.addr(0x2C90300000003, 0x103)
PKEY = 0x8123


class Checks:
    """Runs checks whose description matches a regular expression, and prints a line of TAP for each."""

    def __init__(self, only):
        self.only = only
        self.failed = 0

    def __call__(self, what, fn, *args):
        if not re.search(self.only, what):
            return
        mine = set(Tap.all)
        try:
            fn(*args)
            print("ok - " + what, flush=True)
        except Exception:                                   # noqa: BLE001
            self.failed = 1
            lines = traceback.format_exc().strip().splitlines()
            print("\n".join(["not ok - " + what] + ["#   " + x for x in lines[-20:]]), flush=True)
            for t in Tap.all - mine:
                t.close()
            subprocess.run(("ip", "link", "delete", "t0"), stderr=subprocess.DEVNULL)


def run(*cmd, ok=True, ns=None):
    if ns:
        cmd = ("ip", "netns", "exec", ns) + cmd
    r = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert not ok or r.returncode == 0, "%s: %d: %s" % (cmd, r.returncode, r.stdout)
    return r.stdout if ok else (r.returncode, r.stdout)


def eventually(fn, what=""):
    deadline = time.monotonic() + PATIENCE
    while True:
        r = fn()
        if r:
            return r
        assert time.monotonic() < deadline, "never happened: %s" % (what or fn)
        time.sleep(0.1)


def fails(err, fn, *args):
    try:
        r = fn(*args)
    except OSError as e:
        assert e.errno == err, "expected %s, got %s" % (errno.errorcode[err], errno.errorcode[e.errno])
        return
    raise AssertionError("expected %s, got %r" % (errno.errorcode[err], r))


def counters(dev, ns=None):
    lines = run("ethtool", "-S", dev, ns=ns).splitlines()[1:]
    return {k.strip(): int(v) for k, v in (x.split(":") for x in lines)}


def link(dev, ns=None):
    return json.loads(run("ip", "-d", "-s", "-j", "link", "show", dev, ns=ns))[0]


def device(name, address=A, up=True, flags=0, ip=None, offloads=0, **kw):
    t = Tap(name, flags, **kw)
    t.set(ibtap.SET_ADDR, address)
    t.set(ibtap.SET_BROADCAST, ibtap.broadcast(PKEY))
    t.set(ibtap.SET_OFFLOADS, offloads)
    t.set(ibtap.SET_CARRIER, 1)
    if ip:
        run("ip", "address", "add", ip, "dev", t.name)
    if up:
        run("ip", "link", "set", t.name, "up")
    return t


def ipv6(on):
    """Sets whether new devices of this namespace have IPv6"""
    run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=%d" % (not on))


def exists(name):
    return os.path.exists("/sys/class/net/" + name)


def drain(t):
    frames = []
    try:
        while True:
            frames.append(parse(t.read()))
    except BlockingIOError:
        return frames
