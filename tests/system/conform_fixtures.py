#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""conform_fixtures.py DIR: check each fixture: its fields cover its packet without gaps and have the packet's values, its pcap file has
the packet, and the CRCs are right.

conform_fixtures.py DIR OTHER: check that two runs made the same fixtures. Packets that the DUT sends when a timer ends may be
missing in one of the runs. Each field must be at the same offset in both runs, except DHCP options, which the client chooses.
"""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../examples"))
from fixtures.fields import fields, load    # noqa: E402
from peer import wire                       # noqa: E402 (CRCs that share nothing with the program)

PCAP_BEFORE_PACKET = 24 + 16 + 16  # headers of the file, of the record, and of ERF


def index(directory):
    return load(os.path.join(directory, "index.json"))["fixtures"]


def wrong_fields(description, packet):
    number, total, pos = int.from_bytes(packet, "big"), 8 * len(packet), 0
    for part, name, bit, bits, value in fields(description):
        if bit != pos:
            return f"{name} of {part['in']} is at bit {bit}, expected {pos}"
        pos += bits
        if value != number >> (total - pos) & ((1 << bits) - 1):
            return f"{name} of {part['in']} has another value than the packet"
    return None if pos == total else f"the fields end at bit {pos} of {total}"


def wrong(directory, entry):
    d = load(os.path.join(directory, entry["json"]))
    with open(os.path.join(directory, entry["pcap"]), "rb") as f:
        packet = f.read()[PCAP_BEFORE_PACKET:]
    if packet.hex() != d["octets"]:
        return "the pcap file has another packet"
    for crc, end in (wire.icrc, -6), (wire.vcrc, -2):
        if packet[end:][:len(crc(packet[:end]))] != crc(packet[:end]):
            return f"{crc.__name__} is wrong"
    return wrong_fields(d, packet)


def check(directory):
    fixtures = index(directory)
    for entry in fixtures:
        fault = wrong(directory, entry)
        if fault:
            yield f"{entry['name']}: {fault}"
    files = {n for e in fixtures for n in (e["json"], e["pcap"])} | {"index.json"}
    other = files ^ set(os.listdir(directory))
    if other:
        yield "in the index or in the directory only: " + " ".join(sorted(other))
    if not fixtures:
        yield "no fixtures"


def places(directory, entry):
    """All members of a fixture on which a parser's test relies, except the values."""
    d = load(os.path.join(directory, entry["json"]))
    free = ("DHCP option", "DHCP Pad option", "DHCP End option", "ICRC", "VCRC") if "DHCP" in entry["name"] else ()
    return ([(p["in"], p["document"], p["section"]) for p in d["parts"] if p["in"] not in free],
            [(p["in"], *f) for p, *f, _ in fields(d) if p["in"] not in free and f[0] != "Pad"])


def compare(a, b):
    first, second = ({e["name"]: e for e in index(d)} for d in (a, b))
    for name in sorted(first.keys() ^ second.keys()):
        if not (first.get(name) or second.get(name))["timed"]:
            yield f"{name} is in {a if name in first else b} only"
    for name in sorted(first.keys() & second.keys()):
        x, y = first[name], second[name]
        if x != y:
            yield f"{name} has another entry in the index"
        elif not x["timed"] and places(a, x) != places(b, y):
            yield f"{name}: the fields have other names or places"


faults = list(check(sys.argv[1]) if len(sys.argv) == 2 else compare(*sys.argv[1:]))
print("\n".join(faults), end="\n" if faults else "")
sys.exit(bool(faults))
