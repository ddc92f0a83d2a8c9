#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# tshark decodes a capture of all packets from the start to the end of a lab. All packets are InfiniBand, ARP has the
# format of IPoIB, tshark knows the type of each management datagram, and no packet is malformed.
#
#	h1, h4 --- Switch1 --- Switch2 --- h2
#	               \        /
#	                Switch3 --- h3
. "$(dirname "$0")/../system/lib.sh"
need tshark ping arping ndisc6
mcast=$TOOLS/mcast
topo_ring 4 3 >"$work/lab.topo"
conf_hosts 4 "capture = lab.pcap" >"$work/lab.conf"
lab_up
traffic() {
	eventually 15 no_tentative 4 &&
		eventually 10 x h1 ping -q -n -c 2 -i 0.01 -W 5 10.4.0.2 &&
		eventually 10 x h2 ping -q -n -c 1 -W 5 -s 5000 10.4.0.3 &&
		eventually 10 x h3 ping -q -n -6 -c 2 -i 0.01 -W 5 fd04::4 &&
		x h4 arping -q -c 1 -w $patience -I uib0 10.4.0.1 &&
		eventually 10 x h4 ndisc6 -q -1 fd04::1 uib0 || return 1
	bx h3 "$mcast" recv uib0 239.1.1.1 7400 >"$work/got"
	receiver=$!
	eventually 10 reaches || return 1
	kill $receiver
	eventually 10 left
}
left() { u -j maddr show dev uib0@h3 | jq -e '[.maddr[] | select(.group == "239.1.1.1")] == []'; }
reaches() {
	x h1 "$mcast" send uib0 239.1.1.1 7400 1 data
	grep -q data "$work/got"
}
check "pings, ARP, neighbour discovery, multicast" traffic
pull() {
	u fabric link set Switch1/4 down && eventually 10 x h1 ping -q -n -c 1 -W 1 10.4.0.2 &&
		u fabric link set Switch1/4 up && eventually 10 x h1 ping -q -n -c 1 -W 1 10.4.0.2
}
check "a cable is pulled, plugged" pull
lab_down

cap=$work/lab.pcap
count() { tshark -r "$cap" -Y "$1" -T fields -e frame.number 2>/dev/null | wc -l; }
all=$(count frame)
echo "# $all packets"
check "there are packets" test "$all" -gt 300
check "every packet is InfiniBand" equal "$all" "$(count 'infiniband && infiniband.lrh && infiniband.bth')"
# tshark decodes MCMemberRecord (attribute 0x38) with wrong lengths, and shows no CRCs of such packets.
check "every packet has its CRCs" equal 0 "$(count '!infiniband.variant.crc && !(infiniband.mad.attributeid == 0x38)')"
malformed() { tshark -r "$cap" -Y '_ws.malformed || _ws.expert.severity == error' 2>/dev/null | grep . && return 1 || return 0; }
check "none is malformed" malformed
check "all that is not management is IPoIB of a known type" equal 0 \
	"$(count '!(infiniband.mad) && !arp && !ip && !ipv6')"

# fields FILTER FIELD...: print the different values of these fields in the capture
fields() {
	local filter=$1 args=() f
	shift
	for f; do args+=(-e "$f"); done
	tshark -r "$cap" -Y "$filter" -T fields -E separator=' ' "${args[@]}" 2>/dev/null | sort -u
}
check "ARP has hardware type 32 and addresses of 20 octets" equal "32 20 0x0800 4" \
	"$(fields arp arp.hw.type arp.hw.size arp.proto.type arp.proto.size)"
check "ARP requests and replies" equal "1 2 " "$(fields arp arp.opcode | tr '\n' ' ')"
lladdr() { # succeeds if the address in ARP replies consists of flags, QPN and GID
	tshark -r "$cap" -Y 'arp.opcode == 2' -V 2>/dev/null | grep -Eq 'Sender hardware address: 00[0-9a-f]{6}fe80000000000000[0-9a-f]{16}$'
}
check "ARP carries QPN and GID" lladdr
nd_len() { # succeeds if the option has length 3, in units of 8 octets (RFC 4391 9.3)
	equal "3" "$(tshark -r "$cap" -Y 'icmpv6.opt.linkaddr && icmpv6.type == 136' -T fields -e icmpv6.opt.length 2>/dev/null | sort -u)"
}
check "the link-layer address option of neighbour discovery is 24 octets" nd_len

tshark -r "$cap" 2>/dev/null >"$work/list"
for mad in 'SubnGet(NodeInfo)' 'SubnGetResp(NodeInfo)' 'SubnGet(NodeDescription)' 'SubnGet(SwitchInfo)' \
	'SubnGet(PortInfo)' 'SubnSet(PortInfo)' 'SubnGetResp(PortInfo)' 'SubnGet(P_KeyTable)' \
	'SubnSet(LinearForwardingTable)' 'SubnSet(MulticastForwardingTable)' 'SubnTrap(Notice)' \
	'SubnAdmSet(MCMemberRecord)' 'SubnAdmGetResp(MCMemberRecord)' 'SubnAdmDelete(MCMemberRecord)' \
	'SubnAdmDeleteResp(MCMemberRecord)' 'SubnAdmGet(PathRecord)' 'SubnAdmGetResp(PathRecord)' \
	'SubnAdmSet(InformInfo)' 'SubnAdmReport(Notice)' 'SubnAdmReportResp(Notice)'; do
	check "by name: $mad" grep -qF "$mad" "$work/list"
done
check "no management datagram is unknown" not grep -Ei 'unknown|Attribute:? *0x' "$work/list"
check "the broadcast group's MGID" test "$(count 'infiniband.grh.dgid == ff12:401b:ffff::ffff:ffff')" -gt 0
check "a multicast group's MGID" test "$(count 'infiniband.grh.dgid == ff12:401b:ffff::f01:101')" -gt 0
check "directed-route SMPs are on VL 15, with permissive LIDs" equal "0x0f 65535 65535" \
	"$(fields 'infiniband.mad.mgmtclass == 0x81' infiniband.lrh.vl infiniband.lrh.dlid infiniband.lrh.slid)"
check "IP fragments are put together" test "$(count 'icmp.type == 8 && ip.reassembled.length')" -gt 0
finish
