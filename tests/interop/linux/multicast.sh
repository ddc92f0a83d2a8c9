#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Multicast between Linux's ib0 and interfaces of uipoib. Each interface has each role: sender, member, sender that
# is no member, first to join, first to leave. Members get each datagram exactly once, and interfaces that are no
# members get no datagram.
#
#	h1, h3 --- Switch1 --- Switch2 --- h2, h4
#	              |
#	         a (VM, ib0)
. "$(dirname "$0")/lib.sh"
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
linux_lab 4
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --port Switch1/3 --share "$work"
vm_wait a
# An ib0 that only sends to a group leaves the group when the group's neighbour entry has been idle for 2 * gc_interval
# (by default 2 * 30 s).
g a sysctl -qw net.ipv4.neigh.default.gc_interval=1
# Make room for a burst of datagrams, because an emulated processor reads them late.
g a sysctl -qw net.core.rmem_max=16777216 net.core.rmem_default=16777216
x h2 ip route add default dev uib0 # without a default route Linux has no route to 255.255.255.255
linux_port="vm-Switch1-3 uib0/1"
port_of() { if is_vm "$1"; then echo "$linux_port"; else echo "Hca${1#h}/1"; fi; }

# member PLACE MGID JOIN: succeeds if the SA lists PLACE as a member with this JoinState
member() { sa_members "$2" | grep -qxF "$(port_of "$1"):$3"; }
no_member() { not member "$1" "$2" full; }

# only_sends PLACE MGID: succeeds if PLACE is in the SA's list with the JoinState of a sender. Linux joins as
# SendOnlyFullMember, which keeps the group in existence, and uipoib joins as SendOnlyNonMember
only_sends() {
	if is_vm "$1"; then member "$1" "$2" send-full; else member "$1" "$2" send; fi
}

lines() { grep -c "^$2 " "$1"; }
has() { grep -q "^$2" "$1"; }

# listen KIND PLACE GROUP PORT: starts `mcast recv` or `mcast sniff` at PLACE, with its output in $work/KIND.PLACE.PORT
declare -A listener
listen() {
	local file=$work/$1.$2.$4
	start_at "$2" "$file" "$mcast" "$1" "$(iface "$2")" "$3" "$4"
	listener[$1.$2.$4]=$started
	eventually 20 has "$file" ready || { echo "$1 at $2 does not start"; return 1; }
}
hush() { end_at "$2" "${listener[$1.$2.$3]}"; }

transmit() { at "$1" "$mcast" send "$(iface "$1")" "$2" "$3" "$4" "$5"; } # PLACE GROUP PORT N TEXT: send N datagrams with TEXT

declare -A ip4=([a]=10.4.9.1 [h1]=10.4.0.1 [h2]=10.4.0.2 [h3]=10.4.0.3 [h4]=10.4.0.4)

# --- groups in which one place is a full member, two places only send, and a stranger neither sends nor joins

roles() { sender=$1 member=$2 other=$3 stranger=$4 group=$5 port=$6 mgid=$7; }

joins() {
	listen sniff $member $group $port && listen sniff $sender $group $port && listen sniff $other $group $port &&
		listen sniff $stranger $group $port && listen recv $member $group $port
}

probe() {
	transmit $sender $group $port 1 probe
	has "$work/recv.$member.$port" probe
}

# Check that the member's socket and the member's interface see each datagram of FROM once.
each_once() { # FROM TEXT
	local file n=100
	transmit $1 $group $port $n $2 || return 1
	for file in "$work/recv.$member.$port" "$work/sniff.$member.$port"; do
		eventually 10 has "$file" "$2 $n" || { echo "${file##*/}: the last is missing"; tail -2 "$file"; return 1; }
		equal "$n $n" "$(lines "$file" $2) $(grep "^$2 " "$file" | sort -u | wc -l)" || { echo "${file##*/}"; return 1; }
	done
}

nothing_at() { # FROM PLACE...: succeeds if no datagram of FROM has arrived at these places
	local p
	fence "$@" || return 1
	for p in "${@:2}"; do
		equal ready "$(cat "$work/sniff.$p.$port")" || { echo "at $p"; return 1; }
	done
}

brings_nothing() {
	local file=$work/sniff.$member.$port before
	before=$(wc -l <"$file")
	transmit $sender $group $port 20 late && fence $sender $member && equal "$before" "$(wc -l <"$file")"
}

# The member joins before the sender sends.
receiver_first() { # WHAT
	check "$1: a member joins" joins || return
	check "$1: the SA has it as full member" eventually 20 member $member $mgid full
	check "$1: it is reached" eventually 20 probe
	check "$1: it gets each datagram exactly once" each_once $sender data
	check "$1: the SA has the sender as one who only sends" eventually 20 only_sends $sender $mgid
	check "$1: one more sender: each exactly once" each_once $other more
	check "$1: who only sends gets nothing, of itself and of the other" nothing_at $other $sender
	check "$1: nor does the other, or who did not join" nothing_at $sender $other $stranger
	hush recv $member $port
	check "$1: the member leaves: the SA no longer has it" eventually 20 no_member $member $mgid
	check "$1: and its interface gets nothing" eventually 20 brings_nothing
}

# The sender sends before there is a member.
sender_first() { # WHAT
	local file=$work/flow.$port flow
	start_at $sender "$file" "$mcast" send "$(iface $sender)" $group $port 1000000 flow 5000
	flow=$started
	if is_vm $sender; then
		check "$1: Linux joins by itself, and makes the group" eventually 20 only_sends $sender $mgid
	else
		check "$1: ours finds no group, and makes none" eventually 20 absent
	fi
	check "$1: nobody's interface gets what nobody wants" no_flow
	check "$1: a member joins later" listen recv $member $group $port
	check "$1: the flow reaches it" eventually 30 has "$work/recv.$member.$port" flow
	hush recv $member $port
	check "$1: and no longer when it leaves" eventually 30 flow_stops
	end_at $sender "$flow"
	check "$1: nothing to say" equal '' "$(cat "$file")"
	for p in $member $sender $other $stranger; do hush sniff $p $port; done
	check "$1: when all have left, the group is gone at the SA" eventually 60 sa_gone $mgid
}

absent() {
	sa_gone "$mgid" && equal absent "$(u -j maddr show dev uib0@$sender | jq -r --arg m "$mgid" '.maddr[] | select(.mgid == $m).state')"
}

no_flow() {
	local p before=() i=0
	for p in $member $stranger; do before+=("$(wc -l <"$work/sniff.$p.$port")"); done
	fence $sender $member $stranger || return 1
	for p in $member $stranger; do equal "${before[i++]}" "$(wc -l <"$work/sniff.$p.$port")" || { echo "at $p"; return 1; }; done
}

flow_stops() {
	local file=$work/sniff.$member.$port before
	before=$(wc -l <"$file")
	fence $sender $member $member && equal "$before" "$(wc -l <"$file")"
}

suite() { # WHAT ROLES...: test the group with these roles
	roles "${@:2}"
	receiver_first "$1, member first"
	sender_first "$1, sender first"
}

suite "IPv4, Linux receives" h1 a h2 h4 239.1.2.4 7020 ff12:401b:ffff::f01:204
suite "IPv6, Linux receives" h2 a h1 h3 ff15::1:2:4 7040 ff12:601b:ffff::1:2:4
suite "IPv4, Linux sends" a h1 h2 h3 239.1.2.3 7010 ff12:401b:ffff::f01:203
suite "IPv6, Linux sends" a h2 h1 h4 ff15::1:2:3 7030 ff12:601b:ffff::1:2:3

# --- groups of which all interfaces are members

everybody_once() { # FROM ADDRESS PORT: succeeds if all others receive each datagram of FROM once
	local p n=20 to=()
	for p in a h1 h2; do
		[ $p = $1 ] || to+=("$p")
	done
	for p in "${to[@]}"; do listen sniff $p $2 $3 || return 1; done
	transmit $1 $2 $3 $n all || return 1
	for p in "${to[@]}"; do
		eventually 10 has "$work/sniff.$p.$3" "all $n" && equal $n "$(lines "$work/sniff.$p.$3" all)" || { echo "at $p"; return 1; }
		hush sniff $p $3
	done
}
check "224.0.0.1 of Linux reaches everybody once" everybody_once a 224.0.0.1 7050
check "224.0.0.1 of ours reaches Linux, and ours, once" everybody_once h1 224.0.0.1 7051
check "ff02::1 of Linux reaches everybody once" everybody_once a ff02::1 7052
check "ff02::1 of ours reaches Linux, and ours, once" everybody_once h1 ff02::1 7053
check "a broadcast of Linux reaches everybody once" everybody_once a 10.4.255.255 7054
check "a broadcast of ours reaches Linux, and ours, once" everybody_once h2 255.255.255.255 7055

check "saquery -g of Linux: what has been left is not there" not eval 'g a saquery -g | grep -Ei "ff12:[46]01b:ffff::(f01|1:2):"'
check "saquery -g of Linux: what has members is" eventually 20 eval 'g a saquery -g | grep -Eiq "MGID.*ff12:401b:ffff::1$"'
check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
