#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The hook of `uipoib conform`: carries out a step on the machine, or in the namespace, in which it runs.

    conform_hook.py DEV STEP GROUP

DEV is the IPoIB interface. Steps: "join GROUP" and "leave GROUP" begin and end a membership, which ends after 50 s by itself;
"send GROUP" sends three datagrams to a group, or a broadcast address, a second apart. A status other than 0 says that the step was not done.

    --hook 'uipoib exec HOST examples/conform_hook.py uib0'         a host of uipoib
    --hook 'ssh dut /root/conform_hook.py ib0'                      another machine
"""
import os
import signal
import socket
import sys
import tempfile
import time


def note(dev, group):
    """The file that has the process id of a membership; each network namespace has its own."""
    space = os.stat("/proc/self/ns/net").st_ino
    return os.path.join(tempfile.gettempdir(), f"conform-hook-{os.getuid()}-{space}-{dev}-{group}")


def join(dev, group):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    index = socket.if_nametoindex(dev).to_bytes(4, sys.byteorder)
    if ":" in group:
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, group) + index)
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4) + index)
    with open(note(dev, group), "w") as f:
        f.write(str(os.getpid()))
    time.sleep(50)


def leave(dev, group):
    with open(note(dev, group)) as f:
        os.kill(int(f.read()), signal.SIGTERM)
    os.unlink(note(dev, group))


def send(dev, group):
    if ":" in group:
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 4)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(dev))
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 4)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, dev.encode())
    for _ in range(3):
        s.sendto(b"conform", (group, 9))
        time.sleep(1)


STEPS = {"join": join, "leave": leave, "send": send}

if len(sys.argv) != 4 or sys.argv[2] not in STEPS:
    sys.exit("usage: conform_hook.py DEV join|leave|send GROUP")
try:
    STEPS[sys.argv[2]](sys.argv[1], sys.argv[3])
except (OSError, ValueError) as error:
    sys.exit(f"conform_hook.py: {' '.join(sys.argv[1:])}: {error}")
