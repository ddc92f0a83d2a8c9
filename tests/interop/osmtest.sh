#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# osmtest, OpenSM's own test of a subnet administrator, runs unmodified on libuipoib-umad.so, against uipoib's SA and
# against OpenSM on the same fabric. Every flow (group of tests) that passes with OpenSM passes with uipoib's SA, and
# osmtest logs the same errors, except those in doc/osmtest.md.
#
#	h1: OpenSM	h2, h3: osmtest
. "$(dirname "$0")/lib.sh"
need opensm osmtest saquery
topo_ring 6 3 >"$work/lab.topo"
port_guid() { printf '0x10%04x' $((2 * $1 - 1)); } # N: print the GUID of HcaN's port, which is the GUID on ibsim, too

# osmtest_run HOST NAME OPTION...: run osmtest, which must print PASS; its log becomes $work/NAME.log
osmtest_run() {
	local host=$1 log=$work/$2.log out=$work/$2.out
	shift 2
	rm -f "$log"
	# -f q leaves a file qos.txt in the current folder.
	(cd "$work" && x "h$host" osmtest -g "$(port_guid "$host")" -i "$work/$manager.inventory" -l "$log" "$@") >"$out" 2>&1
	tail -1 "$out"
	tail -1 "$out" | grep -q ' PASS$' || { grep -h ERR "$log" | tail -20; return 1; }
}

# complaints NAME: print each error in the log of this run once, without the parts that differ between runs. How often
# an error occurs differs, too: for example, a lease may end a second sooner or later
complaints() {
	grep -h ' -> .*\(ERR\|[Ee]rror =\|Remote error\)' "$work/$1.log" |
		sed -E 's/^.*\] 0x[0-9a-f]+ -> //; s/osmt\.srvc\.[0-9.]+/NAME/g; s/(MGID|mgid)[:=][^ ]*/MGID/g; s/0x[0-9A-Fa-f]{8,}/GUID/g' | sort -u
}

# Errors after a Set of a record that a Set cannot change. uipoib's SA refuses such a Set. OpenSM 3.3.23 drops the Set,
# so osmtest waits until its time-out.
known='Remote error: 0x000C|UNSUP_METHOD_ATTR|IB_TIMEOUT|osmtest_(sminfo_record|informinfo)_request: ERR 008[C-F]|ERR 0003'

same_complaints() {
	diff <(complaints "opensm.$1" | grep -vE "$known") <(complaints "embedded.$1" | grep -vE "$known")
}

# The flow -f s takes as long as its leases of 10 s, so it runs at the same time as the flow -f a,
# on another host
services() { osmtest_run 3 "$manager.s" -f s >"$work/$manager.s.result" 2>&1 & services_pid=$!; }
services_passed() { wait "$services_pid"; local status=$?; cat "$work/$manager.s.result"; return $status; }

for manager in opensm embedded; do
	case $manager in
	opensm) conf_hosts 6 "sm = external" ;;
	embedded) conf_hosts 6 ;;
	esac >"$work/lab.conf"
	check "$manager: starts" lab_start
	[ $manager = embedded ] || osm_start exec h1
	check "$manager: all interfaces are up" u wait --timeout $patience
	lab_remember
	check "$manager: all hosts are in their groups, and have subscribed to traps" eventually 20 settled 6
	services
	check "$manager: -f c: the inventory" osmtest_run 2 $manager.c -f c
	check "$manager: -f t: traps 64 and 65" osmtest_run 2 $manager.t -f t
	check "$manager: -f q: SLtoVL and VL arbitration tables" osmtest_run 2 $manager.q -f q
	check "$manager: -f m -M 1: groups, counted" osmtest_run 2 $manager.m1 -f m -M 1
	check "$manager: -f m -M 2: groups" osmtest_run 2 $manager.m2 -f m -M 2
	check "$manager: -f v: the inventory is what there is" osmtest_run 2 $manager.v -f v
	check "$manager: -f a: everything" osmtest_run 2 $manager.a -f a
	check "$manager: -f s: services" services_passed
	osm_stop
	lab_down
done
for flow in m1 m2 v a s; do
	check "what -f ${flow/m/m -M } complains of is the same" same_complaints $flow
done
finish
