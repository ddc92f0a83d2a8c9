#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the path to an IP address, by libuipoib-path and ctypes:

    uipoib exec h1 examples/path_get.py 10.4.0.2

The variable LIBUIPOIB_PATH names the library if the dynamic linker does not find it.
"""
import ctypes
import ipaddress
import os
import socket
import sys


class PathInfo(ctypes.Structure):
    """struct ipoib_path_info. All numbers except the address family are in network byte order."""

    class Numbers(ctypes.BigEndianStructure):
        _fields_ = [
            ("dest_lid", ctypes.c_uint16),
            ("source_lid", ctypes.c_uint16),
            ("pad", ctypes.c_uint16),
            ("flow_label", ctypes.c_uint32),
            ("pkey", ctypes.c_uint16),
            ("service_level", ctypes.c_uint16),
            ("mtu", ctypes.c_uint16),
            ("static_rate", ctypes.c_uint16),
            ("packet_lifetime", ctypes.c_uint16),
            ("hop_limit", ctypes.c_uint8),
            ("tclass", ctypes.c_uint8),
        ]
        _pack_ = 2

    _fields_ = [
        ("family", ctypes.c_uint16),
        ("addr", ctypes.c_uint8 * 16),
        ("dest_gid", ctypes.c_uint8 * 16),
        ("source_gid", ctypes.c_uint8 * 16),
        ("n", Numbers),
    ]


def main():
    lib = ctypes.CDLL(os.environ.get("LIBUIPOIB_PATH", "libuipoib-path.so.0"), use_errno=True)
    lib.ipoib_path_open.restype = ctypes.c_void_p
    lib.ipoib_path_query.argtypes = [ctypes.c_void_p, ctypes.POINTER(PathInfo), ctypes.c_int]
    lib.ipoib_path_close.argtypes = [ctypes.c_void_p]

    address = ipaddress.ip_address(sys.argv[1])
    info = PathInfo()
    assert ctypes.sizeof(info) == 72
    info.family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    ctypes.memmove(info.addr, address.packed, len(address.packed))
    path = lib.ipoib_path_open(None, None)
    if not path:
        sys.exit("ipoib_path_open: " + os.strerror(ctypes.get_errno()))
    err = lib.ipoib_path_query(path, ctypes.byref(info), 0)
    lib.ipoib_path_close(path)
    if err:
        sys.exit(f"{address}: {os.strerror(err)}")
    gid = ipaddress.ip_address(bytes(info.dest_gid))
    print(f"{address}: GID {gid}, LID {info.n.dest_lid}, P_Key 0x{info.n.pkey:04x}, SL {info.n.service_level}")


if __name__ == "__main__":
    main()
