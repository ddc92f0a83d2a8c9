#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# With the key `lmc`, each port of an HCA has several LIDs. Hosts reach each other as with one LID. A value of lmc for which
# the subnet has not enough LIDs is refused.
. "$(dirname "$0")/lib.sh"
need ping jq
topo_ring 4 3 >"$work/lab.topo"
{
	printf '[fabric lab]\ntopology = lab.topo\nlmc = 2\n'
	for i in 1 2 3 4; do conf_iface uib0 $i "address = 10.4.0.$i/24" "address = fd04::$i/64"; done
} >"$work/lab.conf"

lmcs() { u -j fabric port show | jq -c '[.port[] | select(.port | startswith("Hca")) | select((.lid // 0) > 0) | [.lmc, .lid % 4]] | unique'; }
lab_up
check "each port of an HCA has 4 LIDs" equal '[[2,0]]' "$(lmcs)"
for i in 2 3 4; do
	check "h1 reaches h$i by IPv4" ping_to h1 10.4.0.$i
	check "h1 reaches h$i by IPv6" ping_to h1 fd04::$i
done
check "fabric check finds nothing" eventually 10 u fabric check # repeated, because hosts may still be joining groups
check "stop" lab_down

topo_ring 400 40 >"$work/lab.topo"
sed -i 's/^lmc = 2/lmc = 7/' "$work/lab.conf"
check "an LMC with which the LIDs do not suffice is refused" refuse 2 'lmc 7: 128 LIDs for each of 400 ports of HCAs, and 40 switches, are more' \
	u run -n "$inst" -c "$work/lab.conf" --timeout 2 -- true
sed -i 's/^lmc = 7/lmc = 6/' "$work/lab.conf"
lab_up
check "the next smaller one is not" ping_to h1 10.4.0.2
check "stop" lab_down
finish
