#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Gets a subnet management attribute by a directed route, through the kernel's umad.

    umad.py DEVICE ATTRIBUTE MODIFIER [PORT...]

The route leaves DEVICE by the first PORT; without a PORT the program asks DEVICE itself. The program prints the 64
octets of the attribute in hexadecimal. The exit status is 1 if no answer comes. Unlike infiniband-diags 56, the program
also works with ports that are Down.
"""
import fcntl
import glob
import os
import select
import sys
from struct import pack, unpack_from

REGISTER, ENABLE_PKEY = 0xC01C1B01, 0x1B03      # <rdma/ib_user_mad.h>
CLASS_DIRECTED, GET, PERMISSIVE = 0x81, 1, 0xFFFF
TIMEOUT_MS, HEADER = 200, 64


def open_device(name):
    for folder in glob.glob("/sys/class/infiniband_mad/umad*"):
        with open(folder + "/ibdev", encoding="ascii") as f:
            if f.read().strip() == name:
                return os.open("/dev/infiniband/" + os.path.basename(folder), os.O_RDWR)
    sys.exit(f"{name}: no umad device")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    attribute, modifier, *path = [int(word, 0) for word in sys.argv[2:]]
    fd = open_device(sys.argv[1])
    fcntl.ioctl(fd, ENABLE_PKEY)
    request = bytearray(pack("=I16xBBB4x", 0, 0, CLASS_DIRECTED, 1).ljust(28, b"\0"))
    fcntl.ioctl(fd, REGISTER, request)
    agent, = unpack_from("=I", request)
    header = pack("=IIIII", agent, 0, TIMEOUT_MS, 0, 0) + pack(">IIH", 0, 0, PERMISSIVE)
    mad = pack(">BBBBHBBQHHIQHH28x", 1, CLASS_DIRECTED, 1, GET, 0, 0, len(path), 1, attribute, 0, modifier, 0, PERMISSIVE,
               PERMISSIVE) + bytes(65) + bytes(path)
    os.write(fd, header.ljust(HEADER, b"\0") + mad.ljust(256, b"\0"))
    if not select.select([fd], [], [], 10)[0]:
        sys.exit(1)
    answer = os.read(fd, HEADER + 256)
    if unpack_from("=I", answer, 4)[0]:
        sys.exit(1)
    print(answer[HEADER + 64:HEADER + 128].hex())


main()
