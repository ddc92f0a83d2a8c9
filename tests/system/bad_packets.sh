#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# Wrong packets are not delivered, are counted by reason, and do no harm.
#
#	h1, h4 --- Switch1 --- Switch2 --- h2        uib0: P_Key 0xffff on all, uib1: 0x8001 on h1 and h2
#	               \        /
#	                Switch3 --- h3
. "$(dirname "$0")/lib.sh"
need ping
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
topo_ring 4 3 >"$work/lab.topo"
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
{
	conf_hosts 4 "partitions = partitions.conf"
	conf_iface uib1 1 "pkey = 0x8001"
	conf_iface uib1 2 "pkey = 0x8001"
} >"$work/lab.conf"
lab_up
ping_all() {
	local a b
	for a in 1 2 3 4; do
		for b in 1 2 3 4; do
			[ $a = $b ] || ping_to h$a 10.4.0.$b || return 1
		done
	done
}
check "all reach all" ping_all

# --- packets with one error each, from every host to every queue pair

injected() { # FROM TO WRONG DELIVERED REASON: send 50 packets that are WRONG. Succeeds if DELIVERED of them arrive, and REASON is the only reason of drops
	u -j fabric inject "$1" "$2" "$3" count 50 >"$work/inject"
	cat "$work/inject"
	jq -e --arg reason "$5" --argjson delivered "$4" '[.. | objects | select(has("delivered"))][0] |
		.sent == 50 and .delivered == $delivered and
		if $reason == "" then .dropped == {} else .dropped == {($reason): 50} end' "$work/inject"
}
everywhere() { # WRONG DELIVERED REASON: call `injected` from each host to each other host
	local a b
	for a in 1 2 3 4; do
		for b in 1 2 3 4; do
			[ $a = $b ] || injected uib0@h$a uib0@h$b "$@" || return 1
		done
	done
}
check "right packets are delivered" everywhere nothing 50 ""
check "a wrong Q_Key: dropped and counted" everywhere qkey 0 qkey
check "a wrong P_Key: dropped by the first switch and counted" everywhere pkey 0 pkey-in
beside_others() { # send wrong packets while right packets flood the fabric; `injected` must count only the wrong ones
	local i pid status=0
	bx h3 ping -q -f 10.4.0.2 >/dev/null
	pid=$!
	for ((i = 0; i < 30 && status == 0; i++)); do injected uib0@h1 uib0@h2 pkey 0 pkey-in || status=1; done
	kill $pid
	return $status
}
check "what else is under way is not counted" beside_others
check "a wrong ICRC: dropped by the end port and counted" everywhere icrc 0 icrc
check "a wrong VCRC: dropped by the first switch and counted" everywhere vcrc 0 vcrc
check "a queue pair that is not there: dropped and counted" everywhere qpn 0 qpn
check "the same on 0x8001: right ones" injected uib1@h1 uib1@h2 nothing 50 ""
check "the same on 0x8001: a wrong Q_Key" injected uib1@h2 uib1@h1 qkey 0 qkey
check "from 0x8001 to a queue pair of 0xffff" injected uib1@h1 uib0@h2 nothing 0 pkey
violations() { u -j fabric port show Hca2/1 | jq -c '.port[0] | [.pkey_violations > 0, .qkey_violations > 0]'; }
check "the port counts violations" equal '[true,true]' "$(violations)"
check "all reach all" ping_all

# --- a cable that flips bits

csum_errors() { # HOST: print the number of checksum errors that the host's kernel found in packets from uipoib
	x "$1" cat /proc/net/snmp /proc/net/snmp6 | awk '
		/^Ip: / && !ip { split($0, n); ip = 1; next }
		/^Ip: / { split($0, v); for (i in n) if (n[i] == "InHdrErrors") sum += v[i] }
		/^Udp: / && !udp { split($0, m); udp = 1; next }
		/^Udp: / { split($0, v); for (i in m) if (m[i] == "InCsumErrors") sum += v[i] }
		/^(Ip6InHdrErrors|Udp6InCsumErrors|Icmp6InCsumErrors)/ { sum += $2 }
		END { print sum + 0 }'
}
drops() { # print the number of packets that HCAs and switches dropped. All reasons count, because a flipped bit can break any field
	u -j stats show | jq '[.stats[] | select(.drop and (.layer == "hca" or .layer == "switch")) | .value] | add // 0'
}
fault() { u -j fabric fault show | jq "[.fault[] | .$1] | add"; }

flipping() { # GROUP: succeeds if the datagrams to the group that arrive at h2 over the bad cable are unchanged
	local got wrong
	bx h2 "$mcast" recv uib0 "$1" 7500 >"$work/got"
	eventually 5 grep -q ready "$work/got" && eventually 10 probed "$1" || return 1
	u fabric fault add Switch2/1 corrupt 5% data || return 1
	x h1 "$mcast" send uib0 "$1" 7500 2000 "a line that must not change" || return 1
	eventually 10 fenced "$1" || return 1
	u -j fabric fault show | jq -c .fault
	got=$(grep -c '^a line' "$work/got")
	wrong=$(grep -Ev '^(ready|probe 1|fence 1|a line that must not change [0-9]+)$' "$work/got" | wc -l)
	echo "$got of 2000 came, $wrong of them wrong"
	[ "$wrong" = 0 ] && [ "$got" -gt 1700 ] && [ "$got" -lt 1990 ]
}
fenced() { # send one more datagram and wait for it; all earlier datagrams have then arrived, or are lost
	x h1 "$mcast" send uib0 "$1" 7500 1 fence
	within 1 grep -q fence "$work/got"
}
probed() {
	x h1 "$mcast" send uib0 "$1" 7500 1 probe
	grep -q probe "$work/got"
}
wrong() { echo "$(csum_errors h1) $(csum_errors h2) $(csum_errors h3) $(csum_errors h4)"; }
before=$(drops) seen=$(wrong) # not 0, because the hosts' kernels have counted the injected packets of the checks above, which are not valid IP
check "a cable that flips bits of 5 %: only the rest comes, and unchanged" flipping 239.7.7.7
balance() { # succeeds if as many packets were dropped as the fault has hit; repeated, because a packet between the two readings makes it fail
	local hit dropped
	hit=$(fault hit)
	dropped=$(($(drops) - before))
	echo "$hit hit, $dropped dropped"
	[ "$hit" -gt 0 ] && [ "$hit" = "$dropped" ]
}
check "what was hit is what was dropped, and counted" eventually 10 balance
check "the kernel never saw a wrong one" equal "$seen" "$(wrong)"
for id in $(u -j fabric fault show | jq '.fault[].id'); do u fabric fault del "$id"; done
check "the fault is gone" equal 0 "$(u -j fabric fault show | jq '.fault | length')"
check "all reach all" eventually 10 ping_all

# --- bit errors on every cable in both directions, in all packets, including management packets

ports=$(u -j fabric port show | jq -r '.port[] | select(.link == "up") | .port')
storm() {
	local p h pings=''
	for p in $ports; do
		u fabric fault add "$p" corrupt 30% all && u fabric fault add "$p" duplicate 10% all || return 1
	done
	for h in 1 2 3 4; do
		# Echo replies that wait until a neighbour is resolved could use up the kernel's memory for the echo replies
		# of all namespaces (doc/platform/icmp-shared.c), so limit the octets that may wait.
		x h$h sh -c 'echo 4096 >/proc/sys/net/ipv4/neigh/uib0/unres_qlen_bytes' || return 1
		bx h$h ping -q -n -f -w 3 -s 1400 10.4.0.$((h % 4 + 1))
		pings+=" $!"
	done
	u fabric sweep
	x h1 ip link set uib0 down && x h1 ip link set uib0 up
	u fabric link set Switch1/4 down && sleep 0.5 && u fabric link set Switch1/4 up
	wait $pings
	[ "$(fault hit)" -gt 100 ]
}
check "a storm of wrong packets on every cable" storm
for id in $(u -j fabric fault show | jq '.fault[].id'); do u fabric fault del "$id"; done
check "the lab lives" kill -0 "$lab_pid"
check "all interfaces come up again" u wait --timeout $patience
check "all reach all" eventually 40 ping_all
check "no kernel saw a wrong one" equal "$seen" "$(wrong)"
finish
