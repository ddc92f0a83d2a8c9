#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# ARP and ND between Linux's ib0 and interfaces of uipoib. For each node, all other nodes learn the same link-layer address;
# neighbours are probed, duplicate addresses are detected, neighbours are removed, and addresses move with and without an
# announcement. Each of these properties is checked from both sides.
#
#	h1 --- Switch1 --- Switch2 --- h2
#	         |
#	    a (VM, ib0, ib0.8001)
. "$(dirname "$0")/lib.sh"
need tshark arping
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2 "partitions = partitions.conf"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16"
} >"$work/lab.conf"
lab_up
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --share "$work"
vm_wait a
declare -A ip4=([a]=10.4.9.1 [h1]=10.4.0.1 [h2]=10.4.0.2) ip6=([a]=fd04::901 [h1]=fd04::1 [h2]=fd04::2)

# --- all nodes have the same link-layer address for a node

# The link-layer address of each node, as the node itself reports it. In Linux's own address the reserved octet contains
# RFC 4755's flags; in the tables of other nodes this octet is 0.
declare -A link_address
link_address[a]=00:$(g a cut -d: -f2- /sys/class/net/ib0/address)
for p in h1 h2; do link_address[$p]=$(u -j link show dev uib0@$p | jq -r '.link[0].lladdr'); done

# linux_has, we_have: print "ADDRESS LLADDR" for each neighbour, from Linux's table and from uipoib's
linux_has() { g a ip neigh show dev ib0 | sed -n 's/^\(.*\) lladdr \([^ ]*\).*/\1 \2/p'; }
we_have() { u -j neigh show dev "uib0@$1" | jq -r '.neigh[] | .lladdr as $a | .ip | arrays // split(" ") | .[] | "\(.) \($a)"'; } # HOST: the same from uipoib's table of HOST
same_address() {
	local p
	linux_has >"$work/neigh.a" && we_have h1 >"$work/neigh.h1" && we_have h2 >"$work/neigh.h2" || return 1
	for p in h1 h2; do
		grep -qx "${ip4[$p]} ${link_address[$p]}" "$work/neigh.a" && grep -qx "${ip6[$p]} ${link_address[$p]}" "$work/neigh.a" &&
			grep -qx "${ip4[a]} ${link_address[a]}" "$work/neigh.$p" && grep -qx "${ip6[a]} ${link_address[a]}" "$work/neigh.$p" ||
			{ tail -n +1 "$work"/neigh.*; return 1; }
	done
	grep -qx "${ip4[h2]} ${link_address[h2]}" "$work/neigh.h1"
}
all_reach() { reach a ${ip4[$1]} && reach a ${ip6[$1]} && reach h1 ${ip4[h2]}; } # HOST: Linux reaches HOST, and h1 reaches h2
for p in h1 h2; do
	check "Linux and $p reach each other" all_reach $p
done
# The kernel deletes an entry whose node has not answered for 3 s, which happens on a busy machine. So all nodes reach each
# other again before the tables are compared.
all_same_address() { all_reach h1 && all_reach h2 && same_address; }
check "both sides have the same 20 octets of everybody" eventually 20 all_same_address

# --- probes

# probe PLACE ADDRESS: make the kernel of PLACE send unicast probes to a neighbour, which must answer. The kernel
# deletes an entry if no answer comes within 3 s, which happens on a busy machine, so the probing is repeated.
probe() { eventually 20 probe_once "$@"; }
probe_once() { # PLACE ADDRESS: make one such attempt
	reach "$@" >/dev/null && at "$1" ip neigh change "$2" dev "$(iface "$1")" nud probe && within 10 says REACHABLE at "$1" ip neigh show "$2"
}
capture=$(u -j capture start "$work/probes.pcap" | jq '.capture[0].id')
check "Linux probes ours by ARP" probe a ${ip4[h1]}
check "ours probes Linux by ARP" probe h1 ${ip4[a]}
check "Linux probes ours by a neighbour solicitation" probe a ${ip6[h1]}
check "ours probes Linux by a neighbour solicitation" probe h1 ${ip6[a]}
u capture stop "$capture" >/dev/null
lid_h1=$(u -j link show dev uib0@h1 | jq '.link[0].lid') lid_a=$(($(g a cat /sys/class/infiniband/uib0/ports/1/lid)))
tshark -r "$work/probes.pcap" -T fields -e infiniband.lrh.slid -e infiniband.lrh.dlid -e arp.opcode -e icmpv6.type >"$work/probes" 2>/dev/null
seen() { grep -q "^$1"$'\t'"$2"$'\t'"$3$" "$work/probes" || { echo "no packet from LID $1 to $2: $3"; return 1; }; } # FROM TO REGEX: succeeds if the capture has such a probe from LID FROM to LID TO
unicast_both_ways() {
	seen $lid_a $lid_h1 "$1" && seen $lid_h1 $lid_a "$1" && seen $lid_a $lid_h1 "$2" && seen $lid_h1 $lid_a "$2"
}
check "ARP: requests and replies went by unicast both ways" unicast_both_ways $'1\t' $'2\t'
check "IPv6: solicitations and advertisements went by unicast both ways" \
	unicast_both_ways $'\t135' $'\t136'
check "Linux's arping is answered by ours" says "Received 1 response" g a arping -f -c 20 -I ib0 ${ip4[h1]}
check "our arping is answered by Linux" says "Received 1 response" x h1 arping -f -c 20 -I uib0 ${ip4[a]}
check "Linux finds our address in use" refuse 1 "Received 1 response" g a arping -D -c 2 -w 10 -I ib0 ${ip4[h2]}
check "ours finds Linux's in use" refuse 1 "Received 1 response" x h1 arping -D -c 2 -w 10 -I uib0 ${ip4[a]}

# --- a node removes neighbours from its table and finds them again; addresses move with and without an
# announcement

for p in a h1 h2; do
	at $p sysctl -qw "net.ipv4.neigh.$(iface $p).base_reachable_time_ms=500" "net.ipv6.neigh.$(iface $p).base_reachable_time_ms=500" \
		"net.ipv4.neigh.$(iface $p).delay_first_probe_time=1" "net.ipv6.neigh.$(iface $p).delay_first_probe_time=1" \
		"net.ipv4.neigh.$(iface $p).retrans_time_ms=200" "net.ipv6.neigh.$(iface $p).retrans_time_ms=200"
done
forgets() { # PLACE TO: flush the neighbours of PLACE, and reach TO again
	at $1 ip neigh flush dev "$(iface $1)" && at $1 ip -6 neigh flush dev "$(iface $1)" &&
		reach $1 ${ip4[$2]} && reach $1 ${ip6[$2]}
}
check "Linux forgets its neighbours: they are found again" forgets a h1
check "ours forgets its neighbours: they are found again" forgets h1 a

add_address() { at "$1" ip addr add "$2" dev "$(iface "$1")" $([[ $2 != *:* ]] || echo nodad); }
move() { # FROM TO ADDRESS/LENGTH: take the address from FROM and give it to TO
	at $1 ip addr del $3 dev "$(iface $1)" && add_address $2 $3
}
# address_of: print the link-layer address of PLACE in the form that the kernel of OBSERVER must have. Linux has all 20
# octets. The kernel of a uipoib host has a MAC, which uipoib has made from the 20 octets.
address_of() { # OBSERVER PLACE
	if is_vm $1; then
		echo "${link_address[$2]}"
	else
		u -j neigh show dev "uib0@$1" | jq -r --arg a "${link_address[$2]}" '.neigh[] | select(.lladdr == $a).token'
	fi
}
kernel_has() { at "$1" ip neigh show "$2" dev "$(iface "$1")" | grep -oE 'lladdr [0-9a-f:]+' | cut -d' ' -f2; } # PLACE ADDRESS: print the link-layer address that the kernel of PLACE has for ADDRESS
points_to() { equal "$(address_of $1 $2)" "$(kernel_has $1 ${3%/*})"; } # OBSERVER PLACE ADDRESS: succeeds if OBSERVER has the link-layer address of PLACE for ADDRESS
found() { at $1 ping -n -q -c 1 -W 1 ${2%/*}; } # OBSERVER ADDRESS/LENGTH: OBSERVER pings the address once
announce() { # PLACE ADDRESS/LENGTH: announces the address twice, because a neighbour cache may be locked against changes for a second
	at $1 arping -q $arping -c 1 -I "$(iface $1)" -s ${2%/*} ${2%/*}
	points_to $observer $1 $2
}
settled() { # OBSERVER FROM TO ADDRESS/LENGTH KIND: succeeds if OBSERVER reaches the address at FROM
	found $1 $4 && points_to $1 $2 $4 || return 1
	# Make the entry stale, so that the kernel does not probe and remove it before the announcement: an announcement
	# changes existing entries only.
	[ $5 = silent ] || at $1 ip neigh change ${4%/*} dev "$(iface $1)" nud stale
}
moves() { # OBSERVER FROM TO ADDRESS/LENGTH silent|arping|na: move the address, with no announcement, one by arping, or one by the kernel (na); succeeds if OBSERVER follows
	local observer=$1
	eventually 20 settled "$@" || { echo "it is not at $2 yet"; return 1; }
	at $3 sysctl -qw "net.ipv6.conf.$(iface $3).ndisc_notify=$([ $5 = na ] && echo 1 || echo 0)"
	if [ $5 = na ]; then
		at $2 ip addr del $4 dev "$(iface $2)" && at $3 ip addr add $4 dev "$(iface $3)" || return 1
	else
		move $2 $3 $4 || return 1
	fi
	case $5 in
	silent) eventually 30 found $1 $4 && eventually 20 points_to $1 $3 $4 ;;
	arping) eventually 20 announce $3 $4 && eventually 20 found $1 $4 ;;
	na) eventually 20 points_to $1 $3 $4 && eventually 20 found $1 $4 ;;
	esac
}
add_address h1 10.4.7.7/16
add_address h1 fd04::77/64
arping=-U
check "an address moves, ours announces it: Linux follows" moves a h1 h2 10.4.7.7/16 arping
check "an address moves, nobody says so: Linux follows" moves a h2 h1 10.4.7.7/16 silent
check "an address moves to Linux, which announces it: ours follows" moves h2 h1 a 10.4.7.7/16 arping
check "an address moves away from Linux, nobody says so: ours follows" moves h2 a h1 10.4.7.7/16 silent
arping=-A
check "an announcement that is a reply: Linux follows ours" moves a h1 h2 10.4.7.7/16 arping
check "an announcement that is a reply: ours follows Linux" moves h1 h2 a 10.4.7.7/16 arping
check "an IPv6 address moves, ours advertises it: Linux follows" moves a h1 h2 fd04::77/64 na
check "an IPv6 address moves, nobody says so: Linux follows" moves a h2 h1 fd04::77/64 silent
check "an IPv6 address moves to Linux, which advertises it: ours follows" moves h2 h1 a fd04::77/64 na
check "an IPv6 address moves away from Linux, nobody says so: ours follows" moves h2 a h1 fd04::77/64 silent

# --- a child interface that is made again has another queue pair

g a 'ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001; ip link set ib0.8001 up; ip addr add 10.5.0.9/16 dev ib0.8001'
qpn() { g a cat /sys/class/net/ib0.8001/address | cut -d: -f2-4; }
again() {
	local before
	reach h1 10.5.0.9 >/dev/null && before=$(qpn) || return 1
	g a 'ip link del ib0.8001; ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001
		ip link set ib0.8001 up; ip addr add 10.5.0.9/16 dev ib0.8001'
	[ "$before" != "$(qpn)" ] || { echo "the queue pair is the same"; return 1; }
	eventually 60 x h1 ping -n -q -c 1 -W 1 10.5.0.9
}
x h1 sysctl -qw net.ipv4.neigh.uib1.base_reachable_time_ms=500 net.ipv4.neigh.uib1.delay_first_probe_time=1 net.ipv4.neigh.uib1.retrans_time_ms=200
check "a child that is made again has another queue pair: ours finds it" again

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
