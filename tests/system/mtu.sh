#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# The MTU of a link is the MTU of the broadcast group less 4 octets, but no more than the configuration and the cables
# allow. The TAP has the same MTU.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need ping
topo_ring 2 3 >"$work/lab.topo"

lab() { # MTU_CODE LINE...: start the lab with this MTU of the partition, and these lines in [fabric]
	echo "Default=0x7fff, ipoib, mtu=$1 : ALL=full;" >"$work/partitions.conf"
	shift
	conf_hosts 2 "partitions = partitions.conf" "$@" >"$work/lab.conf"
	[ -z "$iface_line" ] || sed -i "s/^port.*/&\n$iface_line/" "$work/lab.conf"
	lab_up
}

# link_mtu N: succeeds if link and TAP have MTU N, packets of N octets arrive, and packets of N + 1 octets are refused
link_mtu() {
	equal "$1" "$(u -j link show dev uib0@h1 | jq '.link[0].mtu')" &&
		equal "$1" "$(x h1 cat /sys/class/net/uib0/mtu)" &&
		ping_to h1 10.4.0.2 -M "do" -s $(($1 - 28)) &&
		refuse 1 '[Mm]essage too long' x h1 ping -n -c 1 -W 5 -M do -s $(($1 - 27)) 10.4.0.2 &&
		ping_to h2 10.4.0.1 -s 9000
}

iface_line=''
lab 5
check "a group of 4096: 4092" link_mtu 4092
lab_down
lab 4
check "a group of 2048: 2044" link_mtu 2044
lab_down
lab 3
check "a group of 1024: 1020" link_mtu 1020
lab_down
lab 1
check "a group of 256: 252" link_mtu 252
lab_down
lab 5 "mtu = 2048"
check "a group larger than the ports' MTU: made smaller" link_mtu 2044
check "and that is said" eventually 5 grep -Eq 'group MTU 2048 instead of 4096' "$work/lab.log"
lab_down

# --- the MTU falls below 1280, so that Linux removes the IPv6 addresses, and rises again

lab 4
linklocal() { x h1 ip -6 -o addr show dev uib0 scope link | grep -oE 'fe80::[0-9a-f:]+'; }
own=$(linklocal)
group() { echo "Default=0x7fff, ipoib, mtu=$1 : ALL=full;" >"$work/partitions.conf" && u fabric partitions "$work/partitions.conf"; }
check "the interface has one fe80:: address" equal 1 "$(wc -l <<<"$own")"
check "the group of a running fabric becomes one of 1024: 1020" eval 'group 3 && eventually 10 link_mtu 1020'
check "Linux takes the IPv6 addresses" equal "" "$(linklocal)"
check "it becomes one of 2048 again: 2044" eval 'group 4 && eventually 10 link_mtu 2044'
same() { equal "$own" "$(linklocal)"; }
check "the interface has the same fe80:: address, and no other" eventually 10 same
check "it is reached by that" ping_to h2 "$own%uib0"
check "the kernel makes none of the MAC" eval 'x h1 ip -d link show uib0 | grep -q "addrgenmode none"'
check "and forms other addresses with the interface's identifier" eval 'x h1 ip token get dev uib0 | grep -q "token ::${own#fe80::} "'
lab_down

iface_line='mtu = 1500'
lab 4
check "the configuration asks for less: that" link_mtu 1500
lab_down
iface_line='mtu = 4092'
lab 4
check "the configuration asks for more than the group has: the group's" link_mtu 2044
finish
