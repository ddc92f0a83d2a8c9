#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Two instances have an unreliable cable between them. relay.py forwards their datagrams, and loses, damages, duplicates
# and reorders some of them. All packets that are delivered are undamaged, and damaged packets are counted.
#
#	h1 -- Hca1 --+                               relay.py
#	             Switch1 port 7 == UDP ==  a. <-------------> b.  == UDP == HCA -- h3
#	h2 -- Hca2 --+
#	        first instance                                          second instance
. "$(dirname "$0")/lib.sh"
need python3 ping
seed=${SEED:-4391}

read -r near far relay_a relay_b < <(free_udp_ports 4)
relay_start "$seed" "$near" "$relay_a" "$far" "$relay_b"
near_and_far "$near" "$relay_a" "$far" "$relay_b"

ping_both() {
	x h1 ping -n -q -c "$1" -i 0.01 -W "${2:-2}" 10.4.0.3 && xf h3 ping -n -q -c "$1" -i 0.01 -W "${2:-2}" 10.4.0.2 &&
		xf h3 ping -n -q -c "$1" -i 0.01 -W "${2:-2}" fd04::1
}
check "a good cable: pings pass both ways, IPv4 and IPv6" eventually 10 ping_both 3
check "TCP, from here, then from there" tcp_flow "x h1" "xf h3" 10.4.0.1 10.4.0.3 4000000
bad='^drop_(bad_|too_short|oversized|truncated|link_version)'
check "nothing was damaged" equal "0 0" "$(counted u udp "$bad") $(counted uf udp "$bad")"

# --- the bad cable

# Print how often links went down and SA clients started again, at both ends
breaks() { echo "$(counted u udp '^downs') $(counted uf udp '^downs') $(counted u sac '^restarts') $(counted uf sac '^restarts')"; }
most_answered() { # FROM TO: succeeds if most of 300 pings are answered, with 4 % loss in each direction
	local got
	got=$($1 ping -n -c 300 -i 0.005 -W 10 "$2" | tee "$work/ping" | grep -o 'icmp_seq=[0-9]*' | sort -u | wc -l)
	tail -3 "$work/ping"
	[ "$got" -ge 240 ] || { echo "$got of 300"; return 1; }
}
before=$(breaks) late_before=$(relay_stats | jq .late)
cable loss 0.01 flip 0.01 duplicate 0.01 reorder 0.01
check "1 % each of loss, flips, duplicates, reordering (seed $seed): most pings from here" most_answered "x h1" 10.4.0.3
check "and from there" most_answered "xf h3" 10.4.0.2
check "TCP from here: all of it arrives and is right" tcp_flow "x h1" "xf h3" 10.4.0.1 10.4.0.3 3000000
check "TCP from there" tcp_flow "xf h3" "x h2" 10.4.0.3 10.4.0.2 3000000
check "UDP without checksums from here: at least 90 % arrive, none is wrong" \
	udp_flow "x h1" "xf h3" 10.4.0.1 10.4.0.3 3000 2700
check "UDP from there" udp_flow "xf h3" "x h2" 10.4.0.3 10.4.0.2 3000 2700
check "multicast from here" udp_flow "x h1" "xf h3" 10.4.0.1 10.4.0.3 1500 1350 239.4.3.91
check "multicast from there" udp_flow "xf h3" "x h2" 10.4.0.3 10.4.0.2 1500 1350 239.4.3.92
cable loss 0 flip 0 duplicate 0 reorder 0

caught() {
	local flips drops overrun
	flips=$(relay_stats | jq .flip) drops=$(($(counted u udp "$bad") + $(counted uf udp "$bad"))) overrun=$(overruns "$near" "$far")
	echo "flips $flips, dropped $drops, $overrun dropped by the kernel"
	[ "$flips" -gt 50 ] && [ "$drops" -le "$flips" ] && [ $((drops + overrun)) -ge "$flips" ]
}
check "each flip was dropped by the link that received it, and counted" eventually 5 caught
rcv_errors() { $1 -j fabric port show | jq '[.port[] | select(.peer // "" | startswith("udp:")) | .counters.rcv_errors] | add'; }
in_counters() { # succeeds if PortRcvErrors (IBTA 16.1.3.5) of both ends count the bad datagrams
	equal $(($(counted u udp "$bad") + $(counted uf udp "$bad"))) $(($(rcv_errors u) + $(rcv_errors uf)))
}
check "and is a PortRcvErrors of the port at the link" in_counters
check "no other damage was found behind the links" equal "0 0" \
	"$(counted u hca '^drop_hca_icrc') $(counted uf hca '^drop_hca_icrc')"
# stayed_up: succeeds if the links stayed up. A link also goes down when an end gets no CPU time for 3 s, which is no failure.
stayed_up() {
	local late
	late=$(relay_stats | jq .late)
	[ "$late" = "$late_before" ] || { echo "$((late - late_before)) times an end was not heard for 2 s: this machine is too busy"; return 0; }
	equal "$before" "$(breaks)"
}
check "the links stayed up, the interfaces joined" stayed_up
check "a good cable again: pings" eventually 10 ping_both 20

# --- cuts: in each direction, and in both

cut() { # WHAT...: cut the cable for longer than the time-out of a link
	local downs
	downs=$(($(counted u udp '^downs') + $(counted uf udp '^downs')))
	cable "$@"
	eventually 8 more_downs $downs || { echo "no link went down"; return 1; }
	cable loss 0
	started=${EPOCHREALTIME/./}
	eventually 15 ping_both 1 1 || return 1 # 4 s of silence, then a keepalive, a sweep of the SM, and the joins
	echo "ok after $(((${EPOCHREALTIME/./} - started) / 1000)) ms"
}
more_downs() { [ $(($(counted u udp '^downs') + $(counted uf udp '^downs'))) -gt "$1" ]; }
check "nothing comes from here for 3 s: pings after it" cut a.loss 1
check "nothing comes from there for 3 s" cut b.loss 1
check "nothing comes at all for 3 s" cut loss 1

check "the second instance ends" far_down
finish
