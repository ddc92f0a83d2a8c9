#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# `uipoib demo` prints true statements in less than 40 lines, and leaves nothing behind, however it ends.
#
#	uipoib demo
#	   +-- daemon      h1 .. h4 on a ring of 3 switches, made by itself
#	   |     +-- helper
#	   +-- children that enter the hosts: pings, multicast, a TCP flow
. "$(dirname "$0")/lib.sh"
need ping
checker=$TOOLS/pcap_check

check "the demo passes all its checks" u demo -n "$inst"
cp "$work/check.out" "$work/demo"
lines() { wc -l <"$work/demo"; }
check "in less than 40 lines" test "$(lines)" -lt 40
for claim in 'subnet up' 'broadcast group' 'link up' 'ping, all pairs' 'ping fe80::' 'path MTU' 'multicast' \
	'forged packets' 'capture' 'TCP flow' 'link cut'; do
	check "it shows: $claim" grep -q "^ ok .*$claim" "$work/demo"
done
check "all twelve pairs" grep -q '12 of 12 answered' "$work/demo"
gone() { # succeeds if no process of $lab_procs and no socket exists any more
	lab_gone && not test -e "$(lab_socket)"
}
check "nothing is left behind" eventually 10 gone

check "it is kept while it captures" u demo -n "$inst" --hosts 6 --capture "$work/demo.pcap"
captured() { # succeeds if all packets but the forged ones are right, and only the ICRCs of the forged ones are wrong
	"$checker" "$work/demo.pcap" >"$work/seen"
	grep -v '^{' "$work/seen" | grep -v 'ICRC is wrong' | head -5
	tail -1 "$work/seen"
	jq -es '.[0] | .bad == 100 and .packets > 500 and .arp > 5' <(tail -1 "$work/seen")
}
check "an independent reader finds the capture right but for the 100 forged" captured

printed() {
	(cd "$work" && "$UIPOIB" demo --print-config --hosts 5 | sh) && ls "$work/demo.topo" "$work/demo.conf" &&
		u run -n "$inst" -c "$work/demo.conf" -- sh -c '"$1" exec h5 ping -n -c 1 -w 60 10.4.0.1' - "$UIPOIB"
}
check "--print-config is a configuration that works" printed
topo_ring 3 4 >"$work/my.topo"
check "a topology of one's own" refuse 0 '3 hosts, 4 switches' u demo -n "$inst" --topology "$work/my.topo"
check "one host is too few" refuse 2 "--hosts '1': expected 2 to 200" u demo -n "$inst" --hosts 1
check "a topology that is not there" refuse 2 'nope.topo: No such file' u demo -n "$inst" --topology "$work/nope.topo"

# --- ways in which the demo ends

start_demo() {
	: >"$work/out" # so that the output of an earlier demo is not taken for the output of this one
	setsid env --default-signal=INT "$UIPOIB" demo -n "$inst" "$@" >"$work/out" 2>&1 &
	lab_pid=$!
}
remember() {
	local p
	lab_procs=''
	for p in $(descendants "$lab_pid"); do lab_procs+=" $p:$(identity "$p")"; done
}
ended() { # STATUS: succeeds if the demo ends with this status, and leaves nothing behind
	local status
	wait "$lab_pid"
	status=$?
	lab_pid=''
	[ "$status" = "$1" ] || { cat "$work/out"; echo "status $status, expected $1"; return 1; }
	eventually 10 gone
}
# interrupted TEXT: press Ctrl-C when TEXT is in the output; the demo must end with the status of an interrupted demo.
# The function returns 2 if the demo had already ended when the signal was sent. This can happen, because the demo does not
# wait until this script has read its output.
interrupted() {
	local status
	start_demo
	# On a busy machine the demo could end between two looks at its output, or during remember(). So tail(1) watches the output,
	# and the demo is stopped during remember().
	grep -q "$1" < <(tail -n +1 -f --pid="$lab_pid" "$work/out") || return 1
	kill -STOP -- "-$lab_pid"
	remember
	kill -INT -- "-$lab_pid"
	kill -CONT -- "-$lab_pid"
	wait "$lab_pid"
	status=$?
	lab_pid=''
	[ $status != 0 ] || ! grep -q 'all checks passed' "$work/out" || return 2
	[ $status = 130 ] || { cat "$work/out"; echo "status $status, expected 130"; return 1; }
	eventually 10 gone
}
ctrl_c() {
	local t try status
	for t in "ping, all" "path MTU" "forged" "TCP flow"; do
		for try in 1 2 3 4 5 6 7 8 9 10; do
			interrupted "$t"
			status=$?
			[ $status = 2 ] || break
		done
		[ $status = 0 ] || { echo "after $t, try $try"; return 1; }
	done
}
check "Ctrl-C at any time: status 130, nothing is left" ctrl_c

early() {
	local t
	for t in 0 0.01 0.03 0.1; do
		start_demo
		eventually 5 is_running "$lab_pid"
		sleep $t
		remember
		kill -INT -- "-$lab_pid" 2>/dev/null
		wait "$lab_pid"
		lab_pid=''
		eventually 10 gone || { echo "after $t s"; return 1; }
	done
}
check "Ctrl-C during the start: nothing is left" early

killed() {
	start_demo
	eventually 30 grep -q "path MTU" "$work/out" || return 1
	remember
	kill -KILL "$lab_pid"
	{ wait "$lab_pid"; } 2>/dev/null
	lab_pid=''
	eventually 10 gone
}
check "kill -9: nothing is left" killed

keep() {
	start_demo --keep
	eventually 40 grep -Eq '(exec|Ctrl-C)' "$work/out" && remember && reaches4 2 3 && u stop &&
		ended 0
}
check "--keep stays until it is stopped" keep

side_by_side() {
	u demo -n "$inst-a" >"$work/a" &
	local a=$!
	u demo -n "$inst-b" >"$work/b"
	local b=$?
	wait $a && [ $b = 0 ] || { cat "$work/a" "$work/b"; return 1; }
}
check "two at a time" side_by_side
finish
