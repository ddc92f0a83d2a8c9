#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# The kernel's ib0 and an interface of uipoib are on the same port, so the subnet administrator (SA) sees them as one
# member of a group. When ib0 leaves groups that uipoib also uses, the SA ends the memberships of the port. uipoib joins
# its groups again every 60 s, and then receives multicasts and broadcasts again. ca_verbs.sh tests the reverse:
# uipoib leaves groups and ends, and the kernel's ib0 continues.
#
#	h1 --- Switch1 --- Switch2 --- h2 (a member of the group, too)
#	          |
#	       a (VM: ib0 10.4.9.1 of the kernel; v1: uib0 10.4.9.11 of uipoib)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
mcast=$TOOLS/mcast
group=239.17.4.1 udp_port=17041
linux_lab 2
vm_start a --cpus 1 --address 10.4.9.1/16 --address fd04::901/64 --share "$work"
vm_wait a

printf '%s\n' '[interface uib0@v1]' 'port = verbs:uib0/1' 'address = 10.4.9.11/16' 'address = fd04::911/64' >"$work/v.conf"
g a modprobe tun
start_at a "$work/v.log" "$UIPOIB" run -c "$work/v.conf" -n v
check "an interface beside ib0 comes up" eventually 60 grep -q 'uib0@v1: up$' "$work/v.log"
# daemon: print the pid of the process in the VM that has the verbs device open: the daemon of uipoib
daemon() { g a 'for p in /proc/[0-9]*; do ! readlink $p/fd/* 2>/dev/null | grep -q uverbs || echo ${p#/proc/}; done'; }
daemon=$(daemon)
check "one process has the port open" eval '[[ $daemon =~ ^[0-9]+$ ]]'
g a "\"$UIPOIB\" -n v exec v1 sleep 10000 </dev/null >/dev/null 2>&1 & echo \$! >/tmp/v1.pid"
in_v1() { [ "$(g a 'readlink /proc/$(cat /tmp/v1.pid)/ns/net')" != "$(g a readlink /proc/self/ns/net)" ]; }
eventually 30 in_v1
v1="nsenter -t $(g a cat /tmp/v1.pid) -n"

# --- ib0 and the interface of uipoib are members of the same groups

members() { # NAME IF CMD...: start a member of the group, whose log is $work/mcast.NAME; $started is its pid
	start_at a "$work/mcast.$1" "${@:3}" "$mcast" recv "$2" $group $udp_port
	eventually $vm_patience grep -q ready "$work/mcast.$1"
}
check "a program joins a group on ib0" members kernel ib0
kernel_member=$started
check "another one joins it on the interface" members v1 uib0 $v1
start_at h2 "$work/mcast.h2" "$mcast" recv uib0 $group $udp_port
check "and a soft host" eventually $vm_patience grep -q ready "$work/mcast.h2"

# The groups that both the kernel and uipoib use: broadcasts, 224.0.0.1, $group, and ff02::1
shared=(ff12:401b:ffff::ffff:ffff ff12:401b:ffff::1 ff12:401b:ffff::f11:401 ff12:601b:ffff::1)
sa_groups() { # print the groups of which the port is a full member, according to the SA
	u -j fabric group show -d | jq -r '.group[] | select(.members | any((.port // "" | test("^vm-")) and (.join | test("^full")))) | .mgid'
}
member_of() { # MGID...: succeeds if the port is a full member of each
	local m
	sa_groups >"$work/groups"
	for m; do grep -qx "$m" "$work/groups" || { echo "not in $m:"; cat "$work/groups"; return 1; }; done
}
member_of_none() {
	local m
	sa_groups >"$work/groups"
	for m; do ! grep -x "$m" "$work/groups" || return 1; done
}
check "the SA knows the port in the groups that both use" eventually 20 member_of "${shared[@]}"
n=0
hears() { # PLACE: succeeds if a datagram that h1 sends to the group now arrives at PLACE
	n=$((n + 1))
	x h1 "$mcast" send uib0 $group $udp_port 1 "text$n." && within 1 grep -q "text$n\." "$work/mcast.$1"
}
asked() { x h1 ip neigh flush dev uib0 && x h1 ping -n -c 1 -W 2 "$1"; } # h1 asks for this address by a broadcast
for p in kernel v1 h2; do check "what h1 sends to the group arrives at $p" eventually 20 hears $p; done
for a in 10.4.9.1 10.4.9.11; do check "h1 finds $a by a broadcast" eventually 20 asked $a; done

# --- the kernel leaves the groups. Meanwhile uipoib is stopped, so that uipoib cannot join again before the script asks
# the SA

# kernel_leaves CMD MGID...: stop uipoib, run CMD, by which the kernel leaves these groups, and let uipoib continue
kernel_leaves() {
	local cmd=$1 status
	shift
	g a kill -STOP $daemon && g a "$cmd" && eventually 20 member_of_none "$@"
	status=$?
	went_on=$(now)
	g a kill -CONT $daemon
	return $status
}
# back WHAT CMD...: succeeds if CMD succeeds within the sum of 60 s, J = 4 s (doc/fidelity.md) and the $machine seconds of
# faults_lib.sh
back() {
	within $((64 + machine * $(stretch))) "${@:2}" || return 1
	echo "# $1: back $(since "$went_on") s after uipoib went on (stated: 64 s)" >&3
}
check "the program on ib0 leaves the group, and the SA ends the membership of the port" kernel_leaves "kill $kernel_member" "${shared[2]}"
check "uipoib joins the group again" back "membership of the group" member_of "${shared[@]}"
check "and receives what h1 sends to the group" back "multicasts" hears v1
check "the program joins again" members kernel ib0
check "and both receive" eval 'eventually 20 hears kernel && eventually 20 hears v1'

check "ib0 goes down, and the SA ends the memberships of the port" kernel_leaves "ip link set ib0 down" "${shared[@]}"
check "uipoib joins these groups again" back "memberships" member_of "${shared[@]}"
check "h1 finds its address by a broadcast" back "broadcasts" asked 10.4.9.11
check "it receives what h1 sends to the group" back "multicasts" hears v1
check "h1 finds its IPv6 address" eventually 20 x h1 ping -n -c 1 -W 5 fd04::911
check "ib0 comes up again, and h1 finds both addresses" eval 'g a "ip link set ib0 up" && eventually 20 asked 10.4.9.1 && eventually 20 asked 10.4.9.11'
kept_up() { not grep -E 'uib0@v1: down: ' <(grep -v 'the port is Down' "$work/v.log"); }
check "the interface was up all the time" kept_up

check "nothing in the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
