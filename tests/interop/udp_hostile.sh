#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A live UDP link, and somebody who sends to its ends what is not for them: nothing of it is delivered, the flow goes
# on without loss, each datagram is counted by its reason. The forged packets are right in all but their sender, as
# the last case shows: it sends them from the peer's own port.
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

# What a forger has to know.
link_of() { # u|uf KEY...: values of its first interface
	local u=$1
	shift
	$u -j -d link show | jq -r '.link[0] | "'"$(printf '\\(.%s) ' "$@")"'"'
}
read -r lid qpn qkey < <(link_of uf lid qpn qkey)
read -r from_lid < <(link_of u lid)
keys="dlid=$lid slid=$from_lid qpn=$qpn qkey=$qkey pkey=0xffff ip_from=10.4.0.1 ip_to=10.4.0.3 port=7777"

udp() { counted "$1" udp "$2"; } # u|uf REGEX
undisturbed() { # CMD...: a flow both ways beside it: everything arrives, nothing else does, and the links stay up
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
# counted_all REGEX KIND: since $seen, the far end has counted as many as were sent
counted_all() {
	echo "sent $(sent "$2"), counted $(($(udp uf "$1") - seen))"
	[ $(($(udp uf "$1") - seen)) = "$(sent "$2")" ]
}

# --- from elsewhere

storm() { exec $hostile "$1" "127.0.0.1:$far" 1000 "${2:-120}" "${3:-all}" $keys; } # until it is told to end
seen=$(udp uf '^drop_stray_port')
check "1000/s of every kind from another port: the flow is whole, nothing is delivered" \
	undisturbed storm "127.0.0.1:$stranger"
check "each was counted as from a stray port" eventually 5 counted_all '^drop_stray_port' sent
seen=$(udp uf '^drop_stray_address')
check "1000/s from another address, with the peer's port" undisturbed storm "127.0.0.2:$relay_b"
check "each was counted as from a stray address" eventually 5 counted_all '^drop_stray_address' sent

# --- from the peer, between right ones

inject() { # RATE...: until it is told to end
	trap 'cable truncate 0 extend 0 garbage 0 garble 0; relay_stats; exit' TERM
	cable "$@"
	while :; do sleep 0.1; done
}
check "truncated, oversized, garbage and garbled copies from the peer: the flow is whole" \
	undisturbed inject truncate 0.2 extend 0.2 garbage 0.2 garble 0.2
by_reason() { # how many of each kind; what is too long or short says so by its length
	local short long bad
	short=$(($(udp u '^drop_(too_short|truncated)') + $(udp uf '^drop_(too_short|truncated)')))
	long=$(($(udp u '^drop_oversized') + $(udp uf '^drop_oversized')))
	bad=$(($(udp u '^drop_(bad_|link_v|too_s|trunc|over)') + $(udp uf '^drop_(bad_|link_v|too_s|trunc|over)')))
	echo "$(cat "$work/hostile.out") counted: short $short, long $long, all $bad"
	jq -e --argjson short "$short" --argjson long "$long" --argjson bad "$bad" '
		.truncate > 200 and .extend > 200 and $short >= .truncate and $long >= .extend and
		$bad == .truncate + .extend + .garbage + .garble' "$work/hostile.out"
}
check "each was counted by its reason" eventually 5 by_reason

# --- the control: from the peer's own port they are delivered

receiver() {
	bxf h3 $integrity udp-recv 10.4.0.3 7777 >"$work/control"
	receiver_pid=$!
	eventually 10 grep -q ready "$work/control"
}
control() {
	receiver || return 1
	kill $relay_pid && wait $relay_pid
	(storm "127.0.0.1:$relay_b" 0.5 udp)
	kill -TERM $receiver_pid
	wait $receiver_pid
	tail -1 "$work/control"
	tail -1 "$work/control" | jq -e '.corrupt > 400'
}
check "the same forged packets from the peer's own port are delivered: who has it, has the cable" control

check "the second instance ends" far_down
finish
