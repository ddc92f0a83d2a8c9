#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A hook of `uipoib conform`, which performs a step on the machine, or in the network namespace, in which it runs.

    conform_hook.py DEV STEP [GROUP [NAME]]

DEV is the IPoIB interface; if NAME is given, the step is for the interface NAME instead. These are the steps. join and router end by themselves
after 50 s, and dhcp after 75 s:

    join GROUP, leave GROUP     begin and end a membership
    send GROUP                  send three datagrams to a group, or a broadcast address, a second apart
    rarp                        send a RARP request
    dhcp, no-dhcp               start and end a DHCP client of this system, which sets no address: dhclient or udhcpc, or
                                systemd-networkd on a device of type 32, which the first two do not support
    unload                      remove ib_ipoib, the kernel's driver
    router, no-router           begin and stop routing multicasts from and to the interface, as a multicast router does

An exit status other than 0 means that the step was not done: 77 that this system cannot do the step, 78 that there is no interface NAME.

    --hook 'uipoib exec HOST examples/conform_hook.py uib0'         a host of uipoib
    --hook 'ssh dut /root/conform_hook.py ib0'                      another machine
"""
import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HOLD = 50
HOLD_DHCP = 75                              # a client starts slowly on an emulated processor
STALE = 300                                 # seconds; the step of an older note has ended


class Unable(Exception):
    """This system has no program that can perform the step."""


class NoInterface(Exception):
    """The suite names an interface that does not exist."""


class NotUnderWay(Exception):
    """No process performs the step that is to end."""


def note(dev, what):
    """Returns the path of the note of a step: a file with the process id. Each network namespace has its own notes."""
    space = os.stat("/proc/self/ns/net").st_ino
    return os.path.join(tempfile.gettempdir(), f"conform-hook-{os.getuid()}-{space}-{dev}-{what}")


def remove_stale_notes():
    """Removes old notes, which hooks that were killed have left. Their network namespaces may not exist any more."""
    for entry in os.scandir(tempfile.gettempdir()):
        if not entry.name.startswith(f"conform-hook-{os.getuid()}-") or not entry.is_file(follow_symlinks=False):
            continue
        try:
            if entry.stat(follow_symlinks=False).st_mtime < time.time() - STALE:
                os.unlink(entry)
        except FileNotFoundError:
            pass                            # another hook has removed it


def began(pid):
    """Returns the start time of a process in clock ticks since the machine started (proc(5), field 22 of stat); None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rpartition(")")[2].split()[19])     # the name, field 2, may have blanks and parentheses
    except (FileNotFoundError, ProcessLookupError):
        return None


@contextlib.contextmanager
def noted(dev, what):
    """Writes the note of a step that lasts, and removes it at the end. The step must begin within this context, because release() may be
    called as soon as the suite sees what the step sends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    remove_stale_notes()
    name, text = note(dev, what), f"{os.getpid()} {began(os.getpid())}"
    try:
        with open(name, "w") as f:
            f.write(text)
        yield
    finally:
        try:
            with open(name) as f:
                own = f.read() == text      # the note may be that of a later hook
            if own:
                os.unlink(name)
        except FileNotFoundError:
            pass                            # release() has removed it


def release(dev, what):
    """Ends the hook that performs the step, which is within noted(), and returns its process id. Another process may have this id by now, so
    the start times are compared."""
    try:
        with open(note(dev, what)) as f:
            text = f.read()
        os.unlink(note(dev, what))
        pid, when = (int(word) for word in text.split())
    except (FileNotFoundError, ValueError):
        raise NotUnderWay(f"{what} is not under way on {dev}") from None
    if pid <= 0 or began(pid) != when:
        raise NotUnderWay(f"{what} is not under way on {dev}")
    os.kill(pid, signal.SIGTERM)
    return pid


def link(dev):
    """Returns link type (such as "infiniband"), address and broadcast address of the interface; the addresses are octets."""
    d = json.loads(subprocess.run(["ip", "-j", "link", "show", "dev", dev], check=True, stdout=subprocess.PIPE).stdout)[0]
    return d["link_type"], *(bytes.fromhex(d[k].replace(":", "")) for k in ("address", "broadcast"))


# --- multicast

def join(dev, group):
    index = socket.if_nametoindex(dev).to_bytes(4, sys.byteorder)
    with noted(dev, group):
        if ":" in group:
            s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, group) + index)
        else:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4) + index)
        time.sleep(HOLD)


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


def route_multicasts(index):
    """Makes the kernel route multicasts of an interface (linux/mroute.h). Returns the sockets; the kernel routes as long as they are open."""
    init, add = 200, 202                    # MRT_INIT, MRT_ADD_VIF; the options for IPv6 have the same numbers
    try:
        s4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP)
        s4.setsockopt(socket.IPPROTO_IP, init, 1)
        s4.setsockopt(socket.IPPROTO_IP, add, struct.pack("=HBBIiI", 0, 8, 1, 0, index, 0))     # VIFF_USE_IFINDEX
        s6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        s6.setsockopt(socket.IPPROTO_IPV6, init, 1)
        s6.setsockopt(socket.IPPROTO_IPV6, add, struct.pack("=HBBHxxI", 0, 0, 1, index, 0))
    except OSError as error:
        if error.errno in (errno.ENOPROTOOPT, errno.EAFNOSUPPORT):
            raise Unable("this kernel routes no multicasts") from error
        raise
    return s4, s6


def router(dev):
    with noted(dev, "router"):
        sockets = route_multicasts(socket.if_nametoindex(dev))  # noqa: F841, they are open until the step ends
        time.sleep(HOLD)


# --- RARP

def rarp(dev):
    """Sends a request for the interface's own IP address, with the interface's hardware type (RFC 903)."""
    kind, own, everybody = link(dev)
    size, index = len(own), socket.if_nametoindex(dev)
    head = struct.pack("!HHBBH", 32 if kind == "infiniband" else 1, 0x0800, size, 4, 3)
    data = head + own + bytes(4) + own + bytes(4)
    # A struct sockaddr_ll; Python's own sendto() takes no addresses of more than 8 octets
    to = struct.pack("=H2siHBB", socket.AF_PACKET, b"\x80\x35", index, 0, 0, size) + everybody.ljust(8, b"\0")
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as s:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.sendto(s.fileno(), data, len(data), 0, to, len(to)) < 0:
            raise OSError(ctypes.get_errno(), "sendto")


# --- DHCP

def dhclient(dev, program, folder):
    # Run a copy, because AppArmor recognizes the original by its path, and forbids it to use files
    # in this folder
    copy = shutil.copy(program, folder)
    with open(f"{folder}/conf", "w") as f:
        f.write("timeout 40; retry 2; initial-interval 1; initial-delay 0;\n")
    command = [copy, "-4", "-cf", f"{folder}/conf", "-lf", f"{folder}/leases", "-pf", f"{folder}/pid", "-sf", "/bin/true"]
    return command + ["-d", dev], command + ["-r", dev]


def udhcpc(dev, program, _):
    name = [program] if program.endswith("udhcpc") else [program, "udhcpc"]
    return name + ["-f", "-R", "-s", "/bin/true", "-i", dev], None


def networkd(dev, program, folder):
    """Starts networkd. Without udevd /sys is made read-only, because networkd then does not wait for udevd."""
    if os.path.isdir("/run/systemd/system"):
        raise Unable("systemd-networkd is this machine's own; let another hook set DHCP=ipv4")
    os.makedirs("/run/systemd/network", exist_ok=True)
    for part in ("leases", "links", "lldp"):
        os.makedirs(f"/run/systemd/netif/{part}", exist_ok=True)
    subprocess.run(["chown", "-R", "systemd-network:", "/run/systemd/netif"], check=True)
    if not os.path.exists("/etc/machine-id") or not os.path.getsize("/etc/machine-id"):
        with open("/etc/machine-id", "w") as f:
            f.write(f"{0x7569706f6962:032x}\n")
    with open("/run/systemd/network/conform.network", "w") as f:
        f.write(f"[Match]\nName={dev}\n[Network]\nDHCP=ipv4\nIPv6AcceptRA=no\nKeepConfiguration=static\n"
                "[DHCPv4]\nSendRelease=yes\nUseRoutes=no\nUseDNS=no\n")
    return ["unshare", "-m", "sh", "-c", "mount --bind /sys /sys && mount -o remount,bind,ro /sys && exec " + program], None


def dhcp_client(dev, folder):
    """Returns the commands that start and end a client; the second is None if a signal ends the client."""
    if link(dev)[0] == "infiniband":
        clients = ((networkd, "/lib/systemd/systemd-networkd"),)
    else:
        clients = ((dhclient, "dhclient"), (udhcpc, "udhcpc"), (udhcpc, "busybox"))
    for client, name in clients:
        program = shutil.which(name, path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
        if program:
            return client(dev, program, folder)
    raise Unable("no DHCP client")


def dhcp(dev):
    with tempfile.TemporaryDirectory(prefix="conform-hook-") as folder:
        start, stop = dhcp_client(dev, folder)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with noted(dev, "dhcp"):
            client = subprocess.Popen(start, **quiet)
            try:
                time.sleep(HOLD_DHCP)
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                if stop:
                    subprocess.run(stop, check=False, **quiet)
                client.terminate()
                client.wait()


def no_dhcp(dev):
    pid = release(dev, "dhcp")
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.1)


def unload(_):
    if not os.path.isdir("/sys/module/ib_ipoib"):
        raise Unable("no kernel driver makes the interface; let another hook end what does")
    subprocess.run(["modprobe", "-r", "ib_ipoib"], check=True)


STEPS = {"unload": unload, "rarp": rarp, "dhcp": dhcp, "no-dhcp": no_dhcp, "router": router, "no-router": lambda dev: release(dev, "router")}
GROUP_STEPS = {"join": join, "leave": release, "send": send}

def main(dev, step, group=None, name=None):
    if name and not os.path.isdir(f"/sys/class/net/{name}"):
        raise NoInterface(f"no interface {name}")
    if group:
        GROUP_STEPS[step](name or dev, group)
    else:
        STEPS[step](dev)


if (len(sys.argv) != 3 or sys.argv[2] not in STEPS) and (len(sys.argv) not in (4, 5) or sys.argv[2] not in GROUP_STEPS):
    sys.exit("usage: conform_hook.py DEV " + "|".join(STEPS) + ", or DEV " + "|".join(GROUP_STEPS) + " GROUP [NAME]")
try:
    main(*sys.argv[1:])
except Unable as error:
    print(f"conform_hook.py: {' '.join(sys.argv[1:])}: {error}", file=sys.stderr)
    sys.exit(77)
except NoInterface as error:
    print(f"conform_hook.py: {' '.join(sys.argv[1:])}: {error}", file=sys.stderr)
    sys.exit(78)
except NotUnderWay as error:
    sys.exit(f"conform_hook.py: {error}")
except (OSError, ValueError, subprocess.CalledProcessError) as error:
    sys.exit(f"conform_hook.py: {' '.join(sys.argv[1:])}: {error}")
