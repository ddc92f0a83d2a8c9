#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# The far end of a UDP link answers directed-route SMPs as if an endless subnet were behind it. Each route leads to a new
# switch with 254 ports. The hosts of the fabric come up nevertheless and stay up, and memory does not grow.
#
#	h1 -- Hca1 --+
#	             Switch1 port 7 == UDP == abyss.py
#	h2 -- Hca2 --+
#
# With HOSTILE_SECONDS=N the subnet manager sweeps again and again for N seconds, and tests/night/watch.sh makes further
# checks.
. "$(dirname "$0")/lib.sh"
[ -z "${HOSTILE_SECONDS:-}" ] || . tests/night/watch.sh
need python3 ping

read -r here there < <(free_udp_ports 2)
{
	printf '[fabric lab]\noutside-nodes = 512\ntopology = %s\n' "$PWD/examples/udp-link.topo"
	printf '\n[udp-link far]\nport = fabric:lab/Switch1/7\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' "$here" "$there"
	conf_iface uib0 1 "address = 10.4.0.1/24"
	conf_iface uib0 2 "address = 10.4.0.2/24"
} >"$work/lab.conf"
lab_up
rss() { # print the memory of all processes of the instance in KiB
	local p
	for p in $(descendants "$lab_pid"); do
		awk '/^VmRSS/ { print $2 }' "/proc/$p/status"
	done | awk '{ sum += $1 } END { print sum }'
}
sweep_of() { u -j fabric sm show | jq -e ".sm[0].last_sweep | $1" >/dev/null; }

check "h1 and h2 ping each other" eventually 10 x h1 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.2
# Hardware switches answer at once. So abyss.py gets a higher priority, with which it answers at once even on a busy
# machine. A switch that does not answer within the time-outs of the SM is left out, and a sweep that leaves out the first
# switch finds no other. If raising the priority is not permitted, nice runs the program with its
# normal priority.
abyss_start() {
	background nice -n -15 python3 -B tests/interop/abyss.py "127.0.0.1:$there" "127.0.0.1:$here" >"$work/abyss.out" 2>"$work/abyss.err"
	abyss=$!
}
number() { u -j fabric sm show | jq '.sm[0].last_sweep.number'; }
if [ -n "${HOSTILE_SECONDS:-}" ]; then
	sweep() {
		local was
		was=$(number)
		u fabric sweep && eventually 90 sweep_of ".left_out > 0 and .number > $was"
	}
	watch_before h1 10.4.0.2
	abyss_start
	check "a sweep with it ends, and counts what it left out" eventually 90 sweep_of '.left_out > 0 and .nodes > 3'
	watch_during h1 10.4.0.2 sweep
	kill -TERM $abyss
	wait $abyss
	echo "# it has been $(tail -1 "$work/abyss.out") switches, the sweeps took in $(u -j fabric sm show | jq '.sm[0].last_sweep.nodes') nodes each"
	watch_judge
	finish
fi
before=$(rss)
abyss_start
check "h1 and h2 exchange datagrams all the time" probe_start all h1 h2 10.4.0.2
check "a sweep with it ends, and counts what it left out" eventually 300 sweep_of '.left_out > 0 and .nodes > 3'
logged_once() { equal 1 "$(grep -c 'are more than 512 nodes' "$work/lab.log")"; }
check "the log says so, once" eventually 5 logged_once
check "it is a part of the subnet, within its bound" sweep_of '.nodes <= 3 + 512'
after=$(rss)

# If the peer got no CPU time during a sweep, the sweep has found none of the peer's switches. So sweep again.
sweeps_again() {
	u fabric sweep
	within 30 sweep_of ".left_out > 0 and .number > $was"
}
for i in 1 2 3; do
	was=$(number)
	check "sweep $i after it ends, too" eventually 30 sweeps_again
done
check "the traffic beside it has lost nothing" probe_lost_nothing all
later=$(rss)
echo "# memory: $before KiB before, $after KiB after the first sweep with it, $later KiB at the end"
grows() { [ "$1" -lt $(($2 + 65536)) ]; }
check "its nodes cost less than 64 MiB" grows "$after" "$before"
flat() { [ "$1" -lt $(($2 + 16384)) ]; }
check "and no more with each sweep" flat "$later" "$after"
kill -TERM $abyss
wait $abyss
echo "# it has been $(tail -1 "$work/abyss.out")"
finish
