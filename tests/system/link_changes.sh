#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Interfaces go down and up, and cables are pulled and plugged in; traffic is re-routed over the other side of the ring.
#
#	 h1, h4             h2
#	   |                |
#	Switch1 -[4]--[3]- Switch2
#	     \ [3]         / [4]
#	      \           /
#	   [4] -- Switch3 -- [3]
#	            |
#	            h3
. "$(dirname "$0")/lib.sh"
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
need ping python3
topo_ring 4 3 >"$work/lab.topo"
conf_hosts 4 >"$work/lab.conf"
lab_up

state() { u -j link show dev "uib0@$1" | jq -r '.link[0].state'; }
reason() { u -j link show dev "uib0@$1" | jq -r '.link[0].reason'; }
is_state() { equal "$2" "$(state "$1")"; }
port() { u -j fabric port show "$1" | jq -r ".port[0].$2"; }
flags() { x "$1" cat /sys/class/net/uib0/carrier; }
carrier() { x "$1" ip -o link show uib0 | grep -q LOWER_UP; }

more_at() { # PORT COUNTER BEFORE: succeeds if the counter of the port is larger than BEFORE
	local now
	now=$(port "$1" "$2")
	echo "$1 $2: before $3, now $now"
	[ "$now" -gt "$3" ]
}

# --- the interface goes down and up

check "before: h1 reaches h2" reaches4 1 2
check "h2 and h4 exchange datagrams all the time" probe_start others h2 h4 10.4.0.4
x h1 ip link set uib0 down
check "an interface that is set down goes down" eventually 5 is_state h1 DOWN
check "the reason is said" equal "administratively down" "$(reason h1)"
check "a host whose interface is down is not reached" not x h2 ping -n -c 1 -W 1 10.4.0.1
x h1 ip link set uib0 up
check "set up again, it comes up" eventually 10 is_state h1 UP
# The kernel of h1 removed its neighbours and IPv6 addresses, while h2 noticed nothing.
check "it reaches h2 again" reaches4 1 2
check "and is reached" reaches4 3 1
ll=$(x h2 ip -6 -o addr show dev uib0 scope link | awk '{ sub("/.*", "", $4); print $4 }')
check "with IPv6 too" ping_to h1 "$ll%uib0"

churn() {
	local k
	for k in 1 2 3 4 5 6 7 8 9 10; do
		x h3 ip link set uib0 down && x h3 ip link set uib0 up || return 1
	done
	eventually 10 is_state h3 UP && reaches4 3 4
}
check "down and up ten times in a row" churn

# --- the cable of a host

sm_links() { u -j fabric sm show | jq '.sm[0].last_sweep.links'; }
sm_sees() { equal "$1" "$(sm_links)"; }
wired=$(sm_links)
check "a host's cable is pulled" u fabric link set Hca3/1 down
check "its interface goes down" eventually 10 is_state h3 WAIT_PORT
check "the kernel sees that there is no carrier" eventually 5 not carrier h3
check "the SM knows that it is gone" eventually 10 sm_sees $((wired - 1))
check "it is plugged in again" u fabric link set Hca3/1 up
check "the interface comes up" eventually 15 is_state h3 UP
check "with carrier" eventually 5 carrier h3
check "it reaches others" reaches4 3 1
check "and is reached" reaches4 2 3
check "others went on all the time" probe_lost_nothing others

# --- a cable of the ring, under traffic

direct=Switch1/4 around=Switch1/3
check "a TCP flow from h1 to h2" flow_start h1 h2 10.4.0.1 10.4.0.2
check "and datagrams that are sent back" probe_start flow h1 h2 10.4.0.2
tx=$(port $direct counters.ucast_xmit)
check "a TCP flow takes the direct cable" eventually 5 more_at $direct counters.ucast_xmit $((tx + 1000))
tx=$(port $around counters.ucast_xmit)
check "the direct cable is pulled" u fabric link set $direct down
check "the flow moves to the other way round" eventually 10 more_at $around counters.ucast_xmit $((tx + 1000))
check "new flows take it too" reaches4 4 2

# Members on both sides of the pulled cable still get each datagram once.
group_once() {
	local f=$work/group
	bx h2 "$mcast" recv uib0 239.5.5.5 7200 >"$f"
	eventually 5 grep -q ready "$f" && eventually 10 group_probe || return 1
	x h1 "$mcast" send uib0 239.5.5.5 7200 100 data || return 1
	eventually 5 grep -q 'data 100$' "$f" || return 1
	equal 100 "$(grep -c '^data' "$f")"
}
group_probe() {
	x h1 "$mcast" send uib0 239.5.5.5 7200 1 probe
	grep -q probe "$work/group"
}
check "multicast too: each datagram once" group_once
tx=$(port $direct counters.ucast_xmit)
check "the cable is plugged in again" u fabric link set $direct up
check "the flow uses it again" eventually 10 more_at $direct counters.ucast_xmit $((tx + 1000))

# The flow may be interrupted for up to a second, because TCP waits before it retransmits the packets that were lost when the
# cable was pulled. The receiver looks for data every 10 ms, so a second is 100 looks.
check "the TCP flow went on all the time" flow_stop '.longest <= 100'

probe_went_on() {
	probe_end flow
	sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/\1 \2/p' "$work/probe.flow" | awk '{ exit !($2 > 20 && $2 >= $1 * 0.8) }' &&
		equal "" "$(sed -n 's/^\(seq=[0-9]*\) time=.*/\1/p' "$work/probe.flow" | sort | uniq -d)"
}
check "few datagrams were lost, and none came twice" probe_went_on
check "nothing is routed in circles" equal 0 "$(u -j stats show | jq '[.stats[] |
	select(.counter == "drop_hop_limit") | .value] | add // 0')"
finish
