#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# A super-frame crosses the fabric as one descriptor, but hosts and counters see the same as if each of its packets crossed
# the fabric alone. Octets and datagrams arrive unchanged, even if captures, faults and traces begin and end during a flow.
# The counters of all ports count packets, not super-frames.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need python3
here=$PWD/tests/system/trains.py
checker=$TOOLS/pcap_check
topo_ring 2 3 >"$work/lab.topo"

# flow KIND TO PORT ARG...: send from h1 to h2's address TO; fails unless h2 receives all octets. During the flow, the function
# whose name is in $meddle runs. A TCP flow lasts until this function has ended.
flow() {
	local kind=$1 to=$2 port=$3 receiver meddler status until=()
	rm -f "$work/meddled"
	[ "$kind" = udp ] || until=("$work/meddled")
	bx h2 python3 "$here" "$kind-recv" "$to" "$port" "${@:4}" >"$work/receiver" 2>&1
	receiver=$!
	eventually 20 grep -qx ready "$work/receiver" || { cat "$work/receiver"; return 1; }
	{
		"$meddle"
		status=$?
		: >"$work/meddled"
		exit $status
	} >"$work/meddle" 2>&1 &
	meddler=$!
	x h1 python3 "$here" "$kind-send" "$to" "$port" "${@:4}" "${until[@]}" >"$work/sender" || return 1
	wait "$receiver"
	status=$?
	wait "$meddler" || { cat "$work/meddle"; status=1; }
	cat "$work/receiver"
	equal "$(cat "$work/sender")" "$(sed 1d "$work/receiver")" || status=1
	return $status
}

nothing() { :; }

# filled FILE: succeeds if the capture is so long that it must contain more than 100 packets
filled() { [ "$(stat -c %s "$1")" -gt 300000 ]; }

# everything: three times, make a capture, then let a fault lose packets for 0.1 s, then run a trace. The first capture ends only
# when it is filled. So the flow has begun before the first fault.
everything() {
	local i
	rm -f "$work"/[123].pcap
	for i in 1 2 3; do
		u capture start "$work/$i.pcap" || return 1
		if [ $i = 1 ]; then eventually 60 filled "$work/1.pcap" || return 1; else sleep 0.1; fi
		u capture stop "$(u -j capture show | jq '.capture[0].id')" || return 1
		u fabric fault add Hca1/1 loss 0.1% data && sleep 0.1 && u fabric fault clear || return 1
		eventually 10 u trace h1 h2 || return 1
	done
}

# counters FILE: write the counters of all ports to FILE. grown PORT COUNTER: print by how much the counter has grown from
# $work/before to $work/after
counters() { u -j fabric port show >"$1"; }
grown() {
	jq -n --slurpfile a "$work/before" --slurpfile b "$work/after" --arg p "$1" --arg c "$2" \
		'[$b, $a] | map(.[0].port[] | select(.port == $p) | .counters[$c]) | .[0] - .[1]'
}

between() { # WHAT VALUE LEAST MOST: succeeds if VALUE is at least LEAST and at most MOST
	[ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || { echo "$1: $2, expected $3 to $4"; return 1; }
}

# packets: send 200 super-frames, and check that the counters of the ports on the way grow by the expected numbers. A super-frame
# has 40 datagrams: 39 of 1400 octets, and one of 77. IP and UDP add 28 octets to a datagram. LRH, BTH, DETH, the encapsulation and
# the ICRC add 36 octets, and packets are padded to words of 4 octets. Some MADs and neighbour messages may be counted, too.
packets() {
	local n=$((200 * 40)) words=$((200 * (39 * (1400 + 28 + 36) / 4 + (77 + 28 + 36 + 3) / 4))) p
	counters "$work/before"
	flow udp 10.4.0.2 5400 200 40 1400 || return 1
	counters "$work/after"
	between "Hca1/1 sent" "$(grown Hca1/1 xmit_pkts)" $n $((n + 200)) &&
		between "Hca2/1 received" "$(grown Hca2/1 rcv_pkts)" $n $((n + 200)) &&
		between "words of Hca1/1" "$(grown Hca1/1 xmit_data)" $words $((words + 15000)) &&
		between "words of Hca2/1" "$(grown Hca2/1 rcv_data)" $words $((words + 15000)) || return 1
	for p in Switch1/1 Switch2/1; do
		between "$p" $(($(grown $p xmit_pkts) + $(grown $p rcv_pkts))) $n $((n + 400)) || return 1
	done
}

right() { # FILE: succeeds if the capture has more than 100 packets, all of them right
	"$checker" "$1" >"$work/seen" || { tail -20 "$work/seen"; return 1; }
	jq -es '.[-1] | .bad == 0 and .packets > 100' "$work/seen" >/dev/null || { tail -1 "$work/seen"; return 1; }
}

all() { # CRC: run all checks with this value of the key crc
	conf_hosts 2 "crc = $1" >"$work/lab.conf"
	lab_up
	check "crc = $1: hosts reach each other" eventually 15 no_tentative 2
	meddle=nothing
	check "crc = $1: TCP over IPv4" flow tcp 10.4.0.2 5401 60000000
	check "crc = $1: TCP over IPv6" flow tcp fd04::2 5402 60000000
	check "crc = $1: datagrams over IPv4, and the counters of each port" packets
	check "crc = $1: datagrams over IPv6" flow udp fd04::2 5403 200 30 1000
	x h1 sysctl -qw net.ipv4.tcp_ecn=1
	x h2 sysctl -qw net.ipv4.tcp_ecn=1
	meddle=everything
	check "crc = $1: TCP with ECN, while captures, faults and traces come and go" flow tcp 10.4.0.2 5404 100000000
	meddle=nothing
	check "crc = $1: a capture in the middle of a flow has packets, and their CRCs" right "$work/1.pcap"
	lab_down
}
for crc in lazy full; do all $crc; done
finish
