#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A link over UDP sends several packets by one call (UDP_SEGMENT). The peer sees no difference, because every datagram on
# the wire is one packet with right CRCs. The same packets are sent if the kernel refuses UDP_SEGMENT, as it does when the
# device's MTU is smaller than the datagrams.
#
#	h1 --- Switch1 7|==== UDP, w1 === w2 ====| h2		two processes in two network namespaces
. "$(dirname "$0")/lib.sh"
need ethtool python3 jq
here=$PWD/tests/system

cat >"$work/lab.topo" <<-'TOPO'
	Switch 8 "Switch1"
	[1] "Hca1"[1]

	Hca 1 "Hca1"
	[1] "Switch1"[1]
TOPO
{
	conf_hosts 1 "crc = ${CRC:-lazy}"
	printf '\n[udp-link far]\nport = fabric:lab/Switch1/7\nlisten = 10.77.0.1:5001\npeer = 10.77.0.2:5002\n'
} >"$work/lab.conf"
printf '[interface uib0@h2]\nport = udp:10.77.0.1:5001,guid=0x0002c90300000021,listen=10.77.0.2:5002\naddress = 10.4.0.2/16\naddress = fd04::2/64\n' \
	>"$work/far.conf"

far=$inst-far
ip netns add far && ip link add w1 mtu 9000 type veth peer name w2 mtu 9000 netns far &&
	ip addr add 10.77.0.1/24 dev w1 && ip link set w1 up &&
	ip -n far addr add 10.77.0.2/24 dev w2 && ip -n far link set w2 up || exit 1
on_cleanup=stop_far
stop_far() {
	kill "$far_pid" && wait "$far_pid"
	ip netns del far
} 2>/dev/null
lab_up
ip netns exec far "$UIPOIB" run -c "$work/far.conf" -n "$far" >>"$work/far.log" 2>&1 &
far_pid=$!

sock() { # NAME: print this counter of the sending end
	u -j stats show | jq "[.stats[] | select(.layer == \"udp\" and .counter == \"$1\") | .value] | add // 0"
}
field() { u -j fabric udp show | jq -r ".udp[0].$1"; }

# flow KIND ARG...: send a flow (trains.py) from h1 to h2; fails if the receiver fails
flow() {
	local receiver status
	background "$UIPOIB" -n "$far" exec h2 python3 "$here/trains.py" "$1-recv" 10.4.0.2 "${@:2}" >"$work/receiver" 2>&1
	receiver=$!
	eventually 20 grep -qx ready "$work/receiver" || { cat "$work/receiver"; return 1; }
	x h1 python3 "$here/trains.py" "$1-send" 10.4.0.2 "${@:2}"
	wait "$receiver"
	status=$?
	cat "$work/receiver"
	return $status
}
udp_flow() { flow udp 5400 20 40 1400; } # 20 super-frames of 39 datagrams of 1400 octets and one of 77

# captured NAME: run the flow, and write a report of the packets on the wire (udp_gso.py) to $work/NAME.json
captured() {
	local capture
	python3 -B "$here/udp_gso.py" w1 5002 5400 >"$work/$1.json" 2>"$work/$1.err" &
	capture=$!
	eventually 20 grep -qx ready "$work/$1.json" || { cat "$work/$1.err"; return 1; }
	udp_flow || return 1
	kill "$capture"
	wait "$capture" || { cat "$work/$1.err"; return 1; }
	sed -i 1d "$work/$1.json"
	cat "$work/$1.json"
	equal "800 0" "$(jq -r '"\(.flow) \(.not_behind)"' "$work/$1.json")"
}
# counters: print how many packets, and how many messages, the link has sent. A message is what the link hands to the kernel for one
# sending: one packet, or several packets with UDP_SEGMENT.
# sent_by_flow: run the flow, and set $packets and $msgs to the numbers of packets and messages that the link sent meanwhile
counters() { u -j stats show | jq -r '[.stats[] | select(.layer == "udp") | {(.counter): .value}] | add | "\(.tx_packets) \(.send_msgs)"'; }
sent_by_flow() {
	local p m
	read -r p m < <(counters)
	udp_flow || return 1
	read -r packets msgs < <(counters)
	packets=$((packets - p)) msgs=$((msgs - m))
	echo "$packets packets, $msgs messages"
	[ "$packets" -ge 800 ]
}
# few_messages: succeeds if the 800 packets of the flow were sent in fewer than 80 messages. The link also sends other packets; the
# function assumes that each of them was a message of its own
few_messages() { sent_by_flow && [ $(((msgs - (packets - 800)) * 10)) -lt 800 ]; }
as_many_messages() { sent_by_flow && equal "$packets" "$msgs"; }
said() { grep -c 'udp link far: .*UDP_SEGMENT' "$work/lab.log"; }

check "the other process answers" eventually 20 u -n "$far" instance show
check "its HCA is up" u -n "$far" wait --timeout "$patience"
check "the hosts reach each other" reaches4 1 2
check "UDP_SEGMENT: few messages" few_messages
check "the link shows it" equal "true true" "$(field gso) $(field gro)"
check "TCP comes whole" flow tcp 5401 20000000
# With tx-udp-segmentation off, the kernel splits each message into datagrams before it hands them to w1, so the capture on w1 has the
# datagrams as they are on the wire.
check "the device does not cut by itself" ethtool -K w1 tx-udp-segmentation off
check "every datagram is one packet with right CRCs" captured with
check "nothing was refused" equal "true 0 0" "$(field gso) $(sock gso_refused) $(said)"
check "the device's MTU becomes smaller" ip link set w1 mtu 1300
check "the same flow, one datagram a message" captured without
refused_once() { equal "false 1 1" "$(field gso) $(sock gso_refused) $(said)"; }
check "UDP_SEGMENT was refused, which is counted and logged once" eventually 5 refused_once
check "the packets are the same" equal "$(jq -c '[.flow, .digest]' "$work/with.json")" "$(jq -c '[.flow, .digest]' "$work/without.json")"
check "each packet is a message" as_many_messages
check "TCP comes whole without it" flow tcp 5402 5000000
check "it stays so when the MTU is large again" eval 'ip link set w1 mtu 9000 && as_many_messages'
check "no datagram was dropped at the far end" equal 0 \
	"$(u -n "$far" -j fabric udp show | jq '.udp[0].drops | del(.silent) | add')"
finish
