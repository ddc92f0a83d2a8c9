#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics of any size, as `ibnetdiscover` prints them.

    gen_topo.py fattree PODS LEAVES SPINES HOSTS UP      LEAVES and SPINES per pod, HOSTS per leaf, UP links to core switches per spine
    gen_topo.py dragonfly GROUPS ROUTERS HOSTS GLOBAL    ROUTERS per group, HOSTS and GLOBAL links per router
    gen_topo.py test | large | full                      1,000 HCAs; 1,000 switches and 10,000 HCAs; 48,000 LIDs

Options: --rate 4xEDR, --no-lids (as of a fabric that no SM has seen).
"""

import argparse
import sys

SIZES = {
    "test": ("fattree", 5, 10, 5, 20, 5),
    "large": ("fattree", 20, 20, 15, 25, 20),
    "full": ("fattree", 40, 25, 20, 46, 10),
}


class Fabric:
    def __init__(self):
        self.nodes = []  # [kind, guid, description, {port: (node, port)}]

    def add(self, kind, desc):
        n = len(self.nodes)
        base = 0x2C903_0000_0000 if kind == "S" else 0xE41D2_0000_0000
        self.nodes.append([kind, base + 0x10 * n, desc, {}])
        return n

    def link(self, a, b):
        pa, pb = (len(self.nodes[n][3]) + 1 for n in (a, b))
        self.nodes[a][3][pa] = (b, pb)
        self.nodes[b][3][pb] = (a, pa)


def fattree(pods, leaves, spines, hosts, up):
    f = Fabric()
    core = [f.add("S", f"MF0;core-{i + 1}:QM8700/U1") for i in range(spines * up)]
    leaf = []
    for p in range(pods):
        spine = [f.add("S", f"MF0;spine-{p + 1}-{i + 1}:QM8700/U1") for i in range(spines)]
        for i in range(leaves):
            l = f.add("S", f"MF0;leaf-{p + 1}-{i + 1}:QM8700/U1")
            leaf.append(l)
            for s in spine:
                f.link(l, s)
        for i, s in enumerate(spine):
            for k in range(up):
                f.link(s, core[i * up + k])
    for i, l in enumerate(leaf):
        for k in range(hosts):
            f.link(f.add("H", f"node{i * hosts + k + 1:05} mlx5_0"), l)
    return f


def dragonfly(groups, routers, hosts, glob):
    if groups > routers * glob + 1:
        sys.exit(f"gen_topo.py: {routers} x {glob} global links reach {routers * glob + 1} groups")
    f = Fabric()
    router = [[f.add("S", f"MF0;router-{g + 1}-{i + 1}:QM8700/U1") for i in range(routers)] for g in range(groups)]
    for group in router:
        for i, a in enumerate(group):
            for b in group[i + 1 :]:
                f.link(a, b)
    for a in range(groups):
        for b in range(a + 1, groups):
            f.link(router[a][(b - 1) // glob % routers], router[b][a // glob % routers])
    for g, group in enumerate(router):
        for i, r in enumerate(group):
            for k in range(hosts):
                f.link(f.add("H", f"node{(g * routers + i) * hosts + k + 1:05} mlx5_0"), r)
    return f


def show(f, rate, lids, out):
    lid = [n + 1 if lids else 0 for n in range(len(f.nodes))]
    name = [f'"{kind}-{guid:016x}"' for kind, guid, _, _ in f.nodes]
    first = next(n for n in f.nodes if n[0] == "H")
    out.write("#\n# Topology file: generated on Mon Jan  1 00:00:00 2024\n#\n")
    out.write(f"# Initiated from node {first[1]:016x} port {first[1]:016x}\n")
    for n, (kind, guid, desc, ports) in enumerate(f.nodes):
        sw = kind == "S"
        out.write(f"\nvendid=0x2c9\ndevid=0x{0xD2F0 if sw else 0x101B:x}\nsysimgguid=0x{guid:x}\n")
        if sw:
            size = max(40, len(ports))
            out.write(f"switchguid=0x{guid:x}({guid:x})\n")
            out.write(f'Switch\t{size} {name[n]}\t\t# "{desc}" enhanced port 0 lid {lid[n]} lmc 0\n')
        else:
            out.write(f"caguid=0x{guid:x}\nCa\t{max(ports)} {name[n]}\t\t# \"{desc}\"\n")
        for p, (m, q) in ports.items():
            peer = f.nodes[m]
            here = f"[{p}]" if sw else f"[{p}]({guid:x}) "
            there = f"{name[m]}[{q}]" + (f"({peer[1]:x}) " if peer[0] == "H" else "")
            own = "" if sw else f"lid {lid[n]} lmc 0 "
            out.write(f'{here}\t{there}\t\t# {own}"{peer[2]}" lid {lid[m]} {rate}\n')


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("shape", choices=["fattree", "dragonfly", *SIZES])
    a.add_argument("size", nargs="*", type=int)
    a.add_argument("--rate", default="4xEDR")
    a.add_argument("--no-lids", action="store_true")
    o = a.parse_args()
    shape, *size = SIZES.get(o.shape, (o.shape, *o.size))
    make = {"fattree": fattree, "dragonfly": dragonfly}[shape]
    if len(size) != make.__code__.co_argcount:
        a.error(f"{shape} takes {make.__code__.co_argcount} numbers")
    show(make(*size), o.rate, not o.no_lids, sys.stdout)


main()
