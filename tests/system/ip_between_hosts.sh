#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Ping, ARP, neighbour discovery, TCP and UDP work between any two hosts, on the default partition and on a second one.
#
#	  h1 uib0 10.4.0.1  fd04::1        h2 uib0 10.4.0.2        (h3 and h4 have the numbers 3 and 4)
#	     uib1 10.5.0.1  fd05::1           uib1 10.5.0.2
#	   |                              |
#	 Switch1 ---------------------- Switch2
#	     \                          /
#	      ------- Switch3 ---------           uib0: P_Key 0xffff, uib1: P_Key 0x8001
#	                 |
#	                h3                        (h4 on Switch1)
. "$(dirname "$0")/lib.sh"
need ping arping ndisc6 iperf3 ss
topo_ring 4 3 >"$work/lab.topo"
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
{
	conf_hosts 4 "partitions = partitions.conf"
	for i in 1 2 3 4; do
		conf_iface uib1 $i "pkey = 0x8001" "address = 10.5.0.$i/16" "address = fd05::$i/64"
	done
} >"$work/lab.conf"
lab_up

link_local() { # HOST IF: print the link-local address of the interface
	x "$1" ip -6 -o addr show dev "$2" scope link | awk '{ sub("/.*", "", $4); print $4 }'
}

ping4() { ping_to "h$1" "$3.$2"; }
ping6() { ping_to "h$1" "$3::$2"; }
ping_ll() { ping_to "h$1" "$(link_local "h$2" "$3")%$3"; }

serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }

# iperf FROM TO ADDRESS PORT OPTION...: run iperf3; its JSON report is $work/iperf.json
iperf() {
	local to=$2 server
	bx "$to" iperf3 -s -1 -p "$4" >"$work/iperf.server" 2>&1
	server=$!
	eventually 10 serves "$to" "$4" || return 1
	x "$1" iperf3 -c "$3" -p "$4" "${@:5}" -J >"$work/iperf.json" || { cat "$work/iperf.json"; return 1; }
	wait $server
}

tcp() { # FROM TO ADDRESS PORT: succeeds if TCP carries 10 MB or more
	local got
	iperf "$@" -n 20M || return 1
	got=$(jq .end.sum_received.bytes "$work/iperf.json")
	echo "$got octets received"
	[ "$got" -gt 10000000 ]
}

udp() { # FROM TO ADDRESS PORT: send 800 datagrams or more; at most 1 % may be lost, not counting those for which the receiver's socket had no room
	local late
	late=$(late_datagrams "$2")
	iperf "$@" -u -b 10M -l 1400 -k 800 || return 1
	late=$(($(late_datagrams "$2") - late))
	jq -c .end.sum "$work/iperf.json"
	jq -e --argjson late "$late" '.end.sum | .packets >= 800 and .lost_packets <= $late + .packets / 100' "$work/iperf.json"
}

suite() { # IF NET4 NET6 PORT LABEL: test one partition; LABEL names it in the checks
	local if=$1 n4=$2 n6=$3 port=$4 on=$5
	check "$on: ping between all hosts" all_pairs 4 ping4 "$n4"
	check "$on: ping -6 to global addresses of all hosts" all_pairs 4 ping6 "$n6"
	check "$on: ping -6 to link-local addresses of all hosts" all_pairs 4 ping_ll "$if"
	check "$on: the largest packet that need not be fragmented is 2044 octets" \
		ping_to h1 "$n4.2" -M "do" -s 2016
	check "$on: one octet more is refused" refuse 1 '[Mm]essage too long' \
		x h1 ping -n -c 1 -W 5 -M do -s 2017 "$n4.2"
	check "$on: the same of IPv6" ping_to h1 "$n6::3" -M "do" -s 1996
	check "$on: one octet more is refused of IPv6 as well" refuse 1 '[Mm]essage too long' \
		x h1 ping -n -6 -c 1 -W 5 -M do -s 1997 "$n6::3"
	check "$on: fragments of 60000 octets arrive" ping_to h4 "$n4.3" -s 60000
	check "$on: arping is answered" eventually 10 refuse 0 'Unicast reply from' x h1 arping -c 2 -w 5 -I "$if" "$n4.3"
	check "$on: arping of an address nobody has is not" refuse 1 'Received 0 response' \
		x h1 arping -c 1 -w 1 -I "$if" "$n4.99"
	check "$on: ndisc6 is answered" eventually 10 refuse 0 'Target link-layer address: ([0-9A-F]{2}:){5}' \
		x h1 ndisc6 -1 "$(link_local h3 "$if")" "$if"
	check "$on: TCP over IPv4" tcp h1 h2 "$n4.2" "$port"
	check "$on: TCP over IPv6" tcp h3 h4 "$n6::4" "$port"
	check "$on: UDP over IPv4" udp h2 h3 "$n4.3" "$port"
	check "$on: UDP over IPv6" udp h4 h1 "$n6::1" "$port"
}

check "IPv6 addresses are found unique" eventually 15 no_tentative 4
suite uib0 10.4.0 fd04 5201 "P_Key 0xffff"
suite uib1 10.5.0 fd05 5202 "P_Key 0x8001"
broadcast() { u -j link show dev "$1@h1" | jq -r '.link[0].broadcast'; }
check "the broadcast group of 0xffff" equal ff12:401b:ffff::ffff:ffff "$(broadcast uib0)"
check "the broadcast group of 0x8001" equal ff12:401b:8001::ffff:ffff "$(broadcast uib1)"
finish
