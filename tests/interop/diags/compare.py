#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Compare the output of the tools on ibsim with their output on the fabric of uipoib.

    compare.py diff IBSIM-DIR LAB-DIR USED-FILE     compare the outputs of one net, and add the differences that occurred to USED-FILE
    compare.py names IBSIM-DIR LAB-DIR              print the names of the outputs with differences that DIFFERENCES does not list
    compare.py used USED-FILE VERSION DOC...        check that each difference has occurred with this VERSION of ibsim, and has a heading in DOC

An output is a file whose first line is "$ COMMAND". The outputs of both fabrics must be equal except for DIFFERENCES. A
difference names the commands that it concerns, and patterns of both outputs that are replaced before the outputs are compared.
The patterns contain the values on both fabrics where these values are known, so that a wrong value is not taken for a
listed difference. doc/ibsim-differences.md gives the reasons, under the same names.
"""
import difflib
import pathlib
import re
import sys

DOTS = r"\.+"
PORTINFO = r"smpquery .*portinfo|ibportstate"


def field(name, values):
    return rf"^({name}):{DOTS}(?:{values})$"


def counters(names):
    return rf"^({names}):{DOTS}\d+$"


def flags(names):
    return rf"^\t+(?:{names})\n"


ANY = r"\1: ..."
TIMEOUT = r"ibwarn: \[pid\] (?:_do_madrpc: recv failed: Connection timed out|mad_rpc(?:_rmpp)?: _do_madrpc failed; dport .*)\n"

# Each row has a name, a regular expression that matches the commands whose output differs, a list of (pattern, replacement) for
# the output on ibsim, and such a list for the output on uipoib. If the second list is None, the first list is used for both.
DIFFERENCES = [
    ("when", r".", [
        (r"^# Topology file: generated on .*$", "# Topology file: generated on ..."),
        (r"activity count \d+", "activity count ..."),
        (r"^ibwarn: \[\d+\]", "ibwarn: [pid]"),
    ], None),
    ("traffic", r"perfquery", [
        (counters("Port(?:Xmit|Rcv)(?:Data|Pkts)"), ANY),
        (field("PortUnicast(?:Xmit|Rcv)Pkts", "0"), ANY),
    ], [
        (counters("Port(?:Xmit|Rcv)(?:Data|Pkts)|PortUnicast(?:Xmit|Rcv)Pkts"), ANY),
    ]),
    ("traffic", r"ibqueryerrors --counters", [
        (r"\[(Port(?:Xmit|Rcv)(?:Data|Pkts)) == \d+ \([0-9.KMB]+\)\]", r"[\1 == ...]"),
        (r"\[(PortUnicast(?:Xmit|Rcv)Pkts) == 0 \(0\.000\)\]", r"[\1 == ...]"),
    ], [
        (r"\[(Port(?:Xmit|Rcv)(?:Data|Pkts)|PortUnicast(?:Xmit|Rcv)Pkts) == \d+ \([0-9.KMB]+\)\]", r"[\1 == ...]"),
    ]),
    ("supported", r"iblinkinfo", [
        (r"\((?:Could be (?:12X|10\.0 Gbps|53\.125 Gbps|106\.25 Gbps) ?)+\)", "( )"),
    ], []),
    ("supported", PORTINFO, [
        (field("LinkWidthSupported", "1X or 4X or 8X or 12X or 2X"), ANY),
        (field("LinkSpeedSupported", "2.5 Gbps or 5.0 Gbps or 10.0 Gbps"), ANY),
        (field("LinkSpeedExtSupported", "0|14.0625 Gbps or 25.78125 Gbps or 53.125 Gbps(?: or 106.25 Gbps)?"), ANY),
    ], [
        (field("LinkWidthSupported", "1X or 4X"), ANY),
        (field("LinkSpeedSupported", "2.5 Gbps(?: or 5.0 Gbps or 10.0 Gbps)?"), ANY),
        (field("LinkSpeedExtSupported", "0|14.0625 Gbps or 25.78125 Gbps"), ANY),
    ]),
    ("enabled", PORTINFO, [
        (field("LinkWidthEnabled", "4X|1X or 4X"), ANY),
    ], [
        (field("LinkWidthEnabled", "4X|1X or 4X"), ANY),
    ]),
    ("capabilities", PORTINFO, [
        (field("CapMask", "0x50c04a|0x50c048|0x10c048|0xc048|0x40c04a|0x40c048"), ANY),
        (field("CapabilityMask2", "0x30|0x430|0x0"), ANY),
        (flags("IsVendorClassSupported|IsCapabilityMaskNoticeSupported|IsLinkWidth2xSupported|IsLinkSpeed[HN]DRSupported"), ""),
    ], [
        (field("CapMask", "0x250c84a|0x250c848|0x4250d848"), ANY),
        (field("CapabilityMask2", "0x0"), ANY),
        (flags("IsVendorClassSupported|IsCapabilityMaskNoticeSupported|IsSystemImageGUIDsupported|"
               "IsClientRegistrationSupported|IsMulticastFDBTopSupported|IsPkeySwitchExternalPortTrapSupported"), ""),
    ]),
    ("capabilities", r"ibstat", [(r"^(\t\tCapability mask): 0x00[54]0c04a$", ANY)], [(r"^(\t\tCapability mask): 0x0250c84a$", ANY)]),
    ("capabilities", r"smpquery pie", [("(capability mask2 =) 0x(?:4?30|0)", r"\1 ...")], [("(capability mask2 =) 0x0", r"\1 ...")]),
    ("template", PORTINFO, [
        (field("MkeyLeasePeriod", "0|4089"), ANY),
        (field("SubnetTimeout", "0|31"), ANY),
        (field("RespTimeVal", "0|8"), ANY),
        (field("LocalPhysErr", "0|4"), ANY),
        (field("OverrunErr", "0"), ANY),
        (field("VLStallCount", "0|7"), ANY),
    ], [
        (field("MkeyLeasePeriod", "0"), ANY),
        (field("SubnetTimeout", "18"), ANY),
        (field("RespTimeVal", "16"), ANY),
        (field("LocalPhysErr", "0|8"), ANY),
        (field("OverrunErr", "0|8"), ANY),
        (field("VLStallCount", "7"), ANY),
    ]),
    ("unused-ca-port", r"smpquery portinfo", [], [
        (r"^(GidPrefix:\.+)0xfe80000000000000(\nLid:\.+0)$", r"\g<1>0x0000000000000000\2"),
    ]),
    ("port0-mtu", r"smpquery portinfo \d+ 0$", [
        (field("NeighborMTU", "256"), ANY), (field("MtuCap", "1024"), ANY),
    ], [
        (field("NeighborMTU", "2048"), ANY), (field("MtuCap", "2048"), ANY),
    ]),
    ("enforcement", r"smpquery .*portinfo", [
        (field("PartEnforce(?:Inb|Outb)", "0"), ANY),
    ], [
        (field("PartEnforce(?:Inb|Outb)", "0|1"), ANY),
    ]),
    ("enforcement", r"smpquery switchinfo", [
        (field("(?:Inbound|Outbound)PartEnf", "0"), ANY),
    ], [
        (field("(?:Inbound|Outbound)PartEnf", "1"), ANY),
    ]),
    ("local-port", r"smpquery nodeinfo", [], [
        (r"^(NodeType:\.+Switch\n[^\0]*^LocalPort:\.+)\d+$", r"\g<1>0"),
    ]),
    ("local-port", r"smpquery portinfo", [], [
        (r"^(LocalPort:\.+)\d+$(?=[^\0]*^GuidCap:\.+[01]$)", r"\g<1>0"),
    ]),
    ("partition-cap", r"smpquery .*nodeinfo", [(field("PartCap", "8"), ANY)], [(field("PartCap", "64"), ANY)]),
    ("partition-cap", r"smpquery pkeys", [
        (r"^8 (pkeys capacity for this port)$", r"... \1"),
    ], [
        (r"(?:^ +\d+:(?: 0x0000){8}\n){7}^64 (pkeys capacity for this port)$", r"... \1"),
    ]),
    ("lft-cap", r"smpquery switchinfo", [(field("LinearFdbCap", "30720|49152"), ANY)], [(field("LinearFdbCap", "49152"), ANY)]),
    ("mcast-default", r"smpquery switchinfo", [
        (field("DefMcast(?:Prim|NotPrim)Port", "0"), ANY),
    ], [
        (field("DefMcast(?:Prim|NotPrim)Port", "255"), ANY),
    ]),
    ("mcast-top", r"smpquery switchinfo", [(field("MulticastFDBTop", "0x0000"), ANY)], [(field("MulticastFDBTop", "0x0000|0xBFFF|0xbfff"), ANY)]),
    ("mcast-top", r"ibroute -M|dump_mfts|dump_fts -M", [
        (r"\[0xc000-0xc3ff\]", "[...]"),
    ], [
        (r"\[0xc000-0xbfff\]", "[...]"),
    ]),
    ("combined-route", r"ibportstate", [
        (TIMEOUT, ""), (r"^ibportstate: iberror: failed: smp query nodeinfo failed\n", "Peer ...\n"),
    ], [
        (r"^Peer PortInfo:\n# Port info: Lid \d+ DR path slid \d+; dlid \d+; 0,\d+ port \d+\n"
         r"LinkState:\.+Active\nPhysLinkState:\.+LinkUp\n(?:^[A-Za-z]+:.*\n)+", "Peer ...\n"),
    ]),
    ("optional-smp", r"smpquery mepi", [
        (r"^# MLNX ext Port info: Lid \d+ port \d+\nStateChangeEnable:\.+0x00\n(?:LinkSpeed\w+:\.+0x00\n){3}", "refused\n"),
    ], [
        (r"^smpquery: iberror: failed: operation mepi: Mellanox ext port info query failed\n", "refused\n"),
    ]),
    ("optional-smp", r"smpdump -t", [
        (TIMEOUT, ""), (r"\A(?!.*refused)[^\0]*\Z", "refused\n"),
    ], [
        (r"\A[0-9a-f \n]*SMP status: 0xc\n\Z", "refused\n"),
    ]),
    ("pma-zeros", r"perfquery .*--(?:oprcv|flowctl|vlop|vlxmitflow|vlxmitcounters)", [
        (r"\A# (Port\w+) counters: Lid \d+ port \d+\n(?:\w+:\.+(?:[0-9]|0x0+)\n)+\Z", r"no \1\n"),
    ], [
        (r"\Aperfquery: iberror: failed: cannot query (Port\w+)\n\Z", r"no \1\n"),
    ]),
    ("ca-ports", r"perfquery -x -t ", [
        (r"\Aperfquery: iberror: failed: perfextquery\n\Z", "another port of the CA\n"),
    ], [
        (r"\A# Port extended counters: Lid \d+ port (\d+) \(CapMask: 0x1200 CapMask2: 0x0000000\)\nPortSelect:\.+\1\n"
         r"(?:\w+:.*\n){9}\Z", "another port of the CA\n"),
    ]),
    ("pma-refusal", r"perfquery -t", [(TIMEOUT, "")], []),
    ("pma-more", r"perfquery .*-(?:X|S) ", [
        (r"^perfquery: iberror: failed: cannot query (Port\w+)\n", r"\1\n"),
    ], [
        (r"\A# (Port\w+) counters: Lid \d+ port (?:1|2)\nPortSelect:\.+[12]\nCounterSelect:\.+0x0000\n(?:\w+DataSL\d+:\.+\d+\n){16}\Z", r"\1\n"),
    ]),
    ("pma-more", r"perfquery .*-c ", [
        (r"^perfquery: iberror: failed: sampctlquery\n", "PortSamplesControl\n"),
    ], [
        (r"\A# (PortSamplesControl): Lid \d+ port [12]\n(?:\w+:\.+(?:0x)?[0-9a-f]+\n){30}\Z", r"\1\n"),
    ]),
    ("sminfo", r"sminfo -t", [(TIMEOUT, "")], []),
    ("ibping", r"ibping", [
        (TIMEOUT, ""),
        (r"\A\n---  \(Lid (\d+)\) ibping statistics ---\n1 packets transmitted, 0 received, 100% packet loss, time \d+ ms\n"
         r"rtt min/avg/max = 0\.000/0\.000/0\.000 ms\n\Z", r"Lid \1\n"),
    ], [
        (r"\APong from \S+ \(Lid (\d+)\): time \d+\.\d+ ms\n\n--- \S+ \(Lid \d+\) ibping statistics ---\n"
         r"1 packets transmitted, 1 received, 0% packet loss, time \d+ ms\nrtt min/avg/max = [\d./]+ ms\n\Z", r"Lid \1\n"),
    ]),
    ("other-classes", r"ibsysstat|ibccquery|vendstat", [
        (TIMEOUT, ""),
        (r"^ibsysstat: iberror: failed: ibsystat to Lid \d+: Connection timed out$", "sysstat ping succeeded"),
        (r"\A# CongestionInfo: Lid \d+\nCongestionInfo:\.+0x0000\nControlTableCap:\.+0\n\Z",
         "ibccquery: iberror: failed: operation CongestionInfo: congestion info query failed\n"),
    ], []),
]


def run(text, command, side, used):
    for name, commands, ibsim, lab in DIFFERENCES:
        if not re.search(commands, command):
            continue
        for pattern, repl in ibsim if side == "ibsim" or lab is None else lab:
            after = re.sub(pattern, repl, text, flags=re.M)
            if after != text:
                used.add(name)
            text = after
    return text


def read(path):
    command, _, text = path.read_text(errors="replace").partition("\n")
    return command[2:], text


def compare(ibsim_dir, lab_dir):
    """Yield name, command, both outputs after the replacements, and the differences that occurred (None if the outputs are equal)."""
    for path in sorted(pathlib.Path(ibsim_dir).iterdir()):
        command, a = read(path)
        other, b = read(pathlib.Path(lab_dir) / path.name)
        if command != other:
            sys.exit(f"{path.name}: {command} and {other}")
        used = set()
        if a == b:
            yield path.name, command, a, b, None
        else:
            yield path.name, command, run(a, command, "ibsim", used), run(b, command, "lab", used), used


def names(ibsim_dir, lab_dir):
    for name, _, a, b, _ in compare(ibsim_dir, lab_dir):
        if a != b:
            print(name)


def diff(ibsim_dir, lab_dir, used_file):
    bad = same = listed = 0
    used_all = set()
    for _, command, a, b, used in compare(ibsim_dir, lab_dir):
        if a == b and used is None:
            same += 1
        elif a == b:
            listed += 1
            used_all |= used
        else:
            bad += 1
            if bad <= 10:
                print(f"{command}:")
                print("\n".join(list(difflib.unified_diff(a.split("\n"), b.split("\n"), "ibsim", "lab", lineterm="", n=1))[:20]))
    with open(used_file, "a") as f:
        f.writelines(name + "\n" for name in sorted(used_all))
    print(f"{same} outputs equal, {listed} but for what is listed, {bad} different")
    return bad != 0


# differences that ibsim 0.12 (Debian 13) no longer has, because ibsim 0.12 behaves as uipoib does
NOT_SINCE_0_12 = {"lft-cap", "mcast-default", "mcast-top", "port0-mtu", "unused-ca-port"}


def used(used_file, version, docs):
    have = set(pathlib.Path(used_file).read_text().split())
    want = {d[0] for d in DIFFERENCES}
    if tuple(map(int, re.findall(r"\d+", version)[:2])) >= (0, 12):
        have |= NOT_SINCE_0_12
    headings = {h for d in docs for h in re.findall(r"^### (\S+)$", pathlib.Path(d).read_text(), flags=re.M)}
    for text, names in (("listed, and did not occur", want - have), ("without a reason in the document", want - headings),
                        ("in the document and not listed", headings - want)):
        if names:
            print(f"{text}: {' '.join(sorted(names))}")
    return have != want or headings != want


if __name__ == "__main__":
    sys.exit({"diff": lambda a: diff(*a), "names": lambda a: names(*a), "used": lambda a: used(a[0], a[1], a[2:])}[sys.argv[1]](sys.argv[2:]))
