#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""conform_fixtures.py DIR: prove that each fixture's fields tile its packet and have its values, and that its pcap file has it"""

import json
import os
import sys

PCAP_BEFORE_PACKET = 24 + 16 + 16  # headers of the file, of the record, and of ERF


def wrong(directory, entry):
    with open(os.path.join(directory, entry["json"]), encoding="utf-8") as f:
        d = json.load(f)
    with open(os.path.join(directory, entry["pcap"]), "rb") as f:
        packet = f.read()[PCAP_BEFORE_PACKET:]
    if packet.hex() != d["octets"]:
        return "the pcap file has another packet"
    number, total, pos = int.from_bytes(packet, "big"), 8 * len(packet), 0
    for f in d["fields"]:
        at = 8 * f["offset"] + f.get("bit", 0)
        if at != pos:
            return f"{f['field']} is at bit {at}, expected {pos}"
        pos += f["bits"]
        value = f["value"] if isinstance(f["value"], int) else int(f["value"], 16)
        if value != number >> (total - pos) & ((1 << f["bits"]) - 1):
            return f"{f['field']} has another value than the packet"
    return None if pos == total else f"the fields end at bit {pos} of {total}"


with open(os.path.join(sys.argv[1], "index.json"), encoding="utf-8") as index:
    fixtures = json.load(index)["fixtures"]
faults = [(e["name"], wrong(sys.argv[1], e)) for e in fixtures]
for name, fault in faults:
    if fault:
        print(f"{name}: {fault}")
names = {n for e in fixtures for n in (e["json"], e["pcap"])} | {"index.json"}
other = names ^ set(os.listdir(sys.argv[1]))
if other:
    print("in the index or in the directory only:", *sorted(other))
sys.exit(not fixtures or bool(other) or any(fault for _, fault in faults))
