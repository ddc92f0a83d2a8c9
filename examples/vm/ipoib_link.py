#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
A small program that test.sh tests. It uses rtnetlink with interfaces of IP over InfiniBand.

    ipoib_link.py show IF               print type, address, kind and P_Key
    ipoib_link.py add PARENT NAME PKEY  add a child interface, as `ip link add link PARENT name NAME type ipoib pkey PKEY` does
"""
import os
import socket
import struct
import sys

RTM_NEWLINK, RTM_GETLINK, NLMSG_ERROR = 16, 18, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINK, IFLA_LINKINFO = 1, 3, 4, 5, 18
IFLA_INFO_KIND, IFLA_INFO_DATA, IFLA_IPOIB_PKEY = 1, 2, 1


def attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def attrs(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def ask(kind, flags, ifindex, body):
    """Sends a request. Returns ifinfomsg and attributes of the answer, or None if the answer is an acknowledgement."""
    payload = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, ifindex, 0, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as s:
        s.send(struct.pack("=IHHII", 16 + len(payload), kind, flags | NLM_F_REQUEST, 1, 0) + payload)
        answer = s.recv(65536)
    if struct.unpack_from("=H", answer, 4)[0] == NLMSG_ERROR:
        (error,) = struct.unpack_from("=i", answer, 16)
        if error:
            raise OSError(-error, os.strerror(-error))
        return None
    return struct.unpack_from("=BxHiII", answer, 16), attrs(answer[32:])


def show(name):
    (_, device_type, _, _, _), link = ask(RTM_GETLINK, 0, 0, attr(IFLA_IFNAME, name.encode() + b"\0"))
    info = attrs(link.get(IFLA_LINKINFO, b""))
    data = attrs(info.get(IFLA_INFO_DATA, b""))
    (pkey,) = struct.unpack("=H", data[IFLA_IPOIB_PKEY])
    print(name, "type", device_type, "address", len(link[IFLA_ADDRESS]), "mtu", struct.unpack("=I", link[IFLA_MTU])[0],
          "kind", info[IFLA_INFO_KIND].rstrip(b"\0").decode(), "pkey 0x%04x" % pkey)


def add(parent, name, pkey):
    info = attr(IFLA_INFO_KIND, b"ipoib\0") + attr(IFLA_INFO_DATA, attr(IFLA_IPOIB_PKEY, struct.pack("=H", int(pkey, 0))))
    ask(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0,
        attr(IFLA_LINK, struct.pack("=I", socket.if_nametoindex(parent))) +
        attr(IFLA_IFNAME, name.encode() + b"\0") + attr(IFLA_LINKINFO, info))


verbs = {("show", 1): show, ("add", 3): add}
verb = verbs.get((sys.argv[1] if len(sys.argv) > 1 else "", len(sys.argv) - 2))
if not verb:
    sys.exit("usage: ipoib_link.py show IF | add PARENT NAME PKEY")
try:
    verb(*sys.argv[2:])
except OSError as e:
    sys.exit("ipoib_link.py: %s: %s" % (" ".join(sys.argv[2:]), e.strerror or e))
