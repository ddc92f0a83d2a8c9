#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# A third party sends datagrams to both ends of a UDP link that is in use. None of these datagrams is delivered, the flow
# over the link continues without loss, and each datagram is counted under its reason. The forged packets are valid except
# for their sender. To prove this, the last case sends the same packets from the peer's own port.
#
#	h1 -- Switch1 port 7 == UDP ==  relay.py  == UDP == HCA -- h3
#	                  ^                              ^
#	                  +---------- hostile.py --------+
. "$(dirname "$0")/lib.sh"
need python3 ping
hostile="python3 -B $PWD/tests/interop/hostile.py"

read -r near far relay_a relay_b stranger < <(free_udp_ports 5)
relay_start 7 "$near" "$relay_a" "$far" "$relay_b"
near_and_far "$near" "$relay_a" "$far" "$relay_b"
check "h1 and h3 ping each other" eventually 10 x h1 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.3

# Print the LIDs, QPNs and keys that a forger must know.
link_of() { # u|uf KEY...: print these values of the instance's first interface
	local u=$1
	shift
	$u -j -d link show | jq -r '.link[0] | "'"$(printf '\\(.%s) ' "$@")"'"'
}
read -r lid qpn qkey < <(link_of uf lid qpn qkey)
read -r from_lid < <(link_of u lid)
keys="dlid=$lid slid=$from_lid qpn=$qpn qkey=$qkey pkey=0xffff ip_from=10.4.0.1 ip_to=10.4.0.3 port=7777"

udp() { counted "$1" udp "$2"; } # u|uf REGEX: print the sum of these counters of the first (u) or the second (uf) instance
of_both() { echo $(($(udp u "$1") + $(udp uf "$1"))); }
short='^drop_(too_short|truncated)' long='^drop_oversized' bad='^drop_(bad_|link_v|too_s|trunc|over)'
# undisturbed REGEX CMD...: run CMD while traffic flows in both directions. All packets of the traffic must arrive, and
# no other packets, and the links must stay up. There are up to three attempts, because a link also goes down when one
# of its ends gets no CPU time for 3 s on a busy machine. Before CMD starts, $seen is set to the sum of the far end's
# counters whose names match REGEX. $seen_bad is set to the numbers of wrong datagrams, and $relayed to the counts of
# the relay.
undisturbed() {
	local try
	for try in 1 2 3; do
		seen=$(udp uf "$1") seen_overruns=$(overruns "$far")
		seen_bad="$(of_both "$short") $(of_both "$long") $(of_both "$bad")" relayed=$(relay_stats)
		undisturbed_once "${@:2}" && return 0
		echo "try $try failed"
		eventually 30 x h1 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.3
	done
	return 1
}
undisturbed_once() {
	local downs sender status
	downs="$(udp u '^downs') $(udp uf '^downs')"
	"$@" >"$work/hostile.out" 2>&1 &
	sender=$!
	udp_flow "x h1" "xf h3" 10.4.0.1 10.4.0.3 2000 2000 && udp_flow "xf h3" "x h1" 10.4.0.3 10.4.0.1 2000 2000
	status=$?
	kill -0 $sender || { echo "it ended before the flow"; status=1; }
	kill $sender
	wait $sender || status=1
	cat "$work/hostile.out"
	equal "$downs" "$(udp u '^downs') $(udp uf '^downs')" || status=1
	return $status
}
sent() { jq -r ".$1" "$work/hostile.out"; }
# counted_all REGEX KIND: succeeds if the far end has counted every datagram of KIND that hostile.py sent, except those
# that the far end's kernel dropped. The count is the growth, since $seen was set, of the counters whose names match
# REGEX
counted_all() {
	local counted overrun
	counted=$(($(udp uf "$1") - seen)) overrun=$(($(overruns "$far") - seen_overruns))
	echo "sent $(sent "$2"), counted $counted, the kernel dropped $overrun"
	[ $((counted + overrun)) = "$(sent "$2")" ]
}

# --- datagrams from another address

storm() { exec $hostile "$1" "127.0.0.1:$far" 1000 "${2:-120}" "${3:-all}" $keys; } # runs until undisturbed() ends it
check "1000/s of every kind from another port: the flow is whole, nothing is delivered" \
	undisturbed '^drop_stray_port' storm "127.0.0.1:$stranger"
check "each was counted as from a stray port" eventually 5 counted_all '^drop_stray_port' sent
check "1000/s from another address, with the peer's port" undisturbed '^drop_stray_address' storm "127.0.0.2:$relay_b"
check "each was counted as from a stray address" eventually 5 counted_all '^drop_stray_address' sent

# --- wrong datagrams from the peer's address, between right ones

inject() { # RATE...: let the relay send wrong datagrams until this function's process is ended
	trap 'cable truncate 0 extend 0 garbage 0 garble 0; relay_stats; exit' TERM
	cable "$@"
	while :; do sleep 0.1; done
}
check "truncated, oversized, garbage and garbled copies from the peer: the flow is whole" \
	undisturbed '^drop_bad' inject truncate 0.2 extend 0.2 garbage 0.2 garble 0.2
by_reason() { # succeeds if the numbers of dropped datagrams of each kind are those of the relay
	local now before
	now="$(of_both "$short") $(of_both "$long") $(of_both "$bad")"
	read -ra before <<<"$seen_bad"
	read -ra now <<<"$now"
	echo "before: $relayed, then $(cat "$work/hostile.out") counted: short, long, all: $seen_bad, then ${now[*]}"
	jq -e --argjson was "$relayed" --argjson short $((now[0] - before[0])) --argjson long $((now[1] - before[1])) \
		--argjson bad $((now[2] - before[2])) 'with_entries(.value -= $was[.key]) |
		.truncate > 200 and .extend > 200 and $short >= .truncate and $long >= .extend and
		$bad == .truncate + .extend + .garbage + .garble' "$work/hostile.out"
}
check "each was counted by its reason" eventually 5 by_reason

# --- the same packets from the peer's own port are delivered

receiver() {
	bxf h3 $integrity udp-recv 10.4.0.3 7777 >"$work/control"
	receiver_pid=$!
	eventually 10 grep -q ready "$work/control"
}
# control: hostile.py waits until the relay has ended and the relay's port is free. Then it sends at once, because the
# link goes down 3 s after the end of the relay. On a busy machine hostile.py may be too late, so there are up to three
# attempts, each with a new relay.
control() {
	local try
	for try in 1 2 3; do
		control_once && return 0
		echo "try $try failed"
		relay_start 7 "$near" "$relay_a" "$far" "$relay_b"
		eventually 30 x h1 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.3
	done
	return 1
}
control_once() {
	receiver || return 1
	storm "127.0.0.1:$relay_b" 0.5 udp 2>"$work/storm.err" &
	storm_pid=$!
	eventually 10 grep -q waiting "$work/storm.err" && kill $relay_pid && wait $relay_pid
	wait $storm_pid
	kill -TERM $receiver_pid
	wait $receiver_pid
	tail -1 "$work/control"
	tail -1 "$work/control" | jq -e '.corrupt > 400'
}
check "the same forged packets from the peer's own port are delivered: who has it, has the cable" control

check "the second instance ends" far_down
finish
