#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Multicast on two partitions: every member gets each datagram exactly once, and no other interface gets any. The switches
# form a loop.
#
#	   h1 sends      h4 member
#	        \        /
#	         Switch1 ------------ Switch2 -- h2 member, h5 member
#	               \              /
#	                --- Switch3 --             uib0: P_Key 0xffff, uib1: P_Key 0x8001
#	                    /     \
#	          h3 not a member  h6 not a member
. "$(dirname "$0")/lib.sh"
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
topo_ring 6 3 >"$work/lab.topo"
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
{
	conf_hosts 6 "partitions = partitions.conf"
	for i in 1 2 3 4 5 6; do
		conf_iface uib1 $i "pkey = 0x8001" "address = 10.5.0.$i/16" "address = fd05::$i/64"
	done
} >"$work/lab.conf"
lab_up

lines() { grep -c "^$2 " "$1"; }
has() { grep -q "^$2" "$1"; }

# listen LABEL IF GROUP PORT: at each member, start a program that joins the group and receives from a socket. At h2 to h6, also
# start a program that prints the datagrams to the group that arrive at the interface, even if no socket has joined
listen() {
	local h
	members=
	for h in 2 4 5; do
		bx h$h "$mcast" recv "$2" "$3" "$4" >"$work/$1.recv$h"
		members+=" $!"
	done
	for h in 2 3 4 5 6; do
		bx h$h "$mcast" sniff "$2" "$3" "$4" >"$work/$1.sniff$h"
	done
	for h in "$work/$1".*; do
		eventually 10 has "$h" ready || { echo "${h##*/} does not start"; return 1; }
	done
}

# fence IF: ping all hosts. When they have answered, all datagrams that were sent before have arrived, or are lost.
fence() { # IF
	local h n=10.4.0
	[ "$1" = uib0 ] || n=10.5.0
	for h in 2 3 4 5 6; do
		ping_to h1 $n.$h || return 1
	done
}

# The SM and the switches handle a join some time after the socket has joined, so wait until a probe arrives.
probe() { # LABEL IF GROUP PORT
	local h
	x h1 "$mcast" send "$2" "$3" "$4" 1 probe && fence "$2" >/dev/null || return 1
	for h in 2 4 5; do
		has "$work/$1.recv$h" probe || { echo "h$h got no probe"; return 1; }
	done
}

each_once() { # LABEL IF GROUP PORT: succeeds if each member gets each of 200 datagrams once, at its socket and at its interface
	local h file n=200
	x h1 "$mcast" send "$2" "$3" "$4" $n data || return 1
	for h in 2 4 5; do
		for file in "$work/$1.recv$h" "$work/$1.sniff$h"; do
			eventually 5 has "$file" "data $n" || { echo "${file##*/}: the last is missing"; return 1; }
			equal "$n $n" "$(lines "$file" data) $(grep '^data ' "$file" | sort -u | wc -l)" ||
				{ echo "${file##*/}: datagrams, different ones"; return 1; }
		done
	done
}

others_nothing() { # LABEL IF: succeeds if no datagram arrived at the interfaces of h3 and h6
	local h
	fence "$2" || return 1
	for h in 3 6; do
		equal 0 "$(grep -vc '^ready' "$work/$1.sniff$h")" || { echo "at h$h"; return 1; }
	done
}

brings_nothing() { # LABEL IF GROUP PORT: succeeds if datagrams to a group without members arrive at no interface
	local before
	before=$(cat "$work/$1".sniff* | wc -l)
	x h1 "$mcast" send "$2" "$3" "$4" 20 late && fence "$2" || return 1
	equal "$before" "$(cat "$work/$1".sniff* | wc -l)"
}

suite() { # LABEL IF GROUP PORT: run all checks with one group
	local what="$3 on $2"
	check "$what: members join" listen "$@" || return
	check "$what: members are reached" eventually 15 probe "$@"
	check "$what: each member gets each datagram exactly once" each_once "$@"
	check "$what: nobody else's interface sees one" others_nothing "$1" "$2"
	kill $members
	check "$what: after all have left nobody's does" eventually 15 brings_nothing "$@"
}

everybody_once() { # IF ADDRESS PORT: send to an address that every host receives; succeeds if each host gets each datagram once
	local h f=$work/all-$3 n=50
	for h in 2 3 4 5 6; do
		bx h$h "$mcast" sniff "$1" "$2" "$3" >"$f.$h"
	done
	for h in 2 3 4 5 6; do
		eventually 10 has "$f.$h" ready || return 1
	done
	x h1 "$mcast" send "$1" "$2" "$3" $n data && fence "$1" || return 1
	for h in 2 3 4 5 6; do
		eventually 5 has "$f.$h" "data $n" || return 1
		equal $n "$(lines "$f.$h" data)" || { echo "at h$h"; return 1; }
	done
}

check "IPv6 addresses are found unique" eventually 15 no_tentative 6
suite v4 uib0 239.1.2.3 7001
suite v6 uib0 ff15::1:2:3 7002
suite v4p uib1 239.1.2.3 7003
suite v6p uib1 ff15::1:2:3 7004
check "224.0.0.1 reaches every host once" everybody_once uib0 224.0.0.1 7005
check "a broadcast reaches every host once" everybody_once uib0 10.4.255.255 7006
check "224.0.0.1 reaches every host once on 0x8001" everybody_once uib1 224.0.0.1 7007
check "a broadcast reaches every host once on 0x8001" everybody_once uib1 10.5.255.255 7008
finish
