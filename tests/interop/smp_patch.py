#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Changes octets of an attribute of subnet management, as a faulty subnet manager could.

    uipoib exec HOST python3 smp_patch.py ROUTE ATTRIBUTE MODIFIER OFFSET=VALUE...

ROUTE is a directed route such as 0,1,3. The program reads the attribute by a Get, and writes it by a Set with the
octets at the OFFSETs changed. The MADs pass through the umad device of the HCA that the variable IBDEV names
(default: the first umad device that the program sees).
"""
import ctypes
import glob
import os
import select
import struct
import sys

ENABLE_PKEY = 0x1B03
REGISTER = 0xC01C1B01
libc = ctypes.CDLL(None, use_errno=True)


def ioctl(fd, request, arg):
    if libc.ioctl(fd, ctypes.c_ulong(request), arg) < 0:
        raise OSError(ctypes.get_errno(), "ioctl")


def umad_of(device):
    """Returns the umad device of an HCA that the kernel has, such as uib1."""
    for folder in glob.glob("/sys/class/infiniband_mad/umad*"):
        with open(folder + "/ibdev") as f:
            if f.read().strip() == device:
                return os.path.basename(folder)
    sys.exit(f"{device}: no umad device")


def main():
    route = [int(x) for x in sys.argv[1].split(",")]
    attribute, modifier = int(sys.argv[2], 0), int(sys.argv[3], 0)
    libc.open.restype = ctypes.c_int
    umad = umad_of(os.environ["IBDEV"]) if "IBDEV" in os.environ else "umad0"
    fd = libc.open(f"/dev/infiniband/{umad}".encode(), os.O_RDWR)
    if fd < 0:
        sys.exit(f"no {umad}")
    ioctl(fd, ENABLE_PKEY, None)
    agent = ctypes.create_string_buffer(28)
    # id, method_mask[4], qpn, mgmt_class, mgmt_class_version, oui[3], rmpp_version
    struct.pack_into("=I4IBBB3sB", agent, 0, 0, 0, 0, 0, 0, 0, 0x81, 1, b"", 0)
    ioctl(fd, REGISTER, agent)

    def call(method, data):
        mad = bytearray(256)
        struct.pack_into(">BBBBHBBQHHI", mad, 0, 1, 0x81, 1, method, 0, 0, len(route) - 1, 1, attribute, 0, modifier)
        struct.pack_into(">HH", mad, 32, 0xFFFF, 0xFFFF)
        mad[64:128] = data
        mad[128:128 + len(route)] = bytes(route)
        head = struct.pack("=5I4s4s2s", 0, 0, 1000, 3, 0, bytes(4), bytes(4), b"\xff\xff").ljust(64, b"\0")
        msg = head + bytes(mad)
        if libc.write(fd, msg, len(msg)) != len(msg):
            sys.exit("write: " + os.strerror(ctypes.get_errno()))
        select.select([fd], [], [], 20)
        buf = ctypes.create_string_buffer(64 + 256)
        if libc.read(fd, buf, len(buf)) < 0 or struct.unpack_from("=I", buf, 4)[0]:
            sys.exit("no answer")
        status = struct.unpack_from(">H", buf, 64 + 4)[0] & 0x7FFF
        if status:
            sys.exit(f"status 0x{status:x}")
        return bytearray(buf.raw[64 + 64:64 + 128])

    data = call(1, bytes(64))
    for change in sys.argv[4:]:
        at, value = change.split("=")
        data[int(at)] = int(value, 0)
    call(2, bytes(data))


main()
