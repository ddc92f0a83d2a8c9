#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A Linux ib0 and interfaces of uipoib are on one link. Tested are the output of tools, unicast and broadcast packets of
# every size, a partition as a child interface, and flows of data. Each of these is tested from both sides.
#
#	h1 --- Switch1 --- Switch2 --- h2
#	         |
#	    a (VM, ib0)
. "$(dirname "$0")/lib.sh"
need iperf3
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2 "partitions = partitions.conf"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16" "address = fd05::1/64"
} >"$work/lab.conf"
lab_up
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --port Switch1/2 --share "$work"
vm_wait a
g a sysctl -qw net.core.rmem_max=16777216
vm="vm-Switch1-2 uib0"
declare -A ip4=([a]=10.4.9.1 [h1]=10.4.0.1 [h2]=10.4.0.2) ip6=([a]=fd04::901 [h1]=fd04::1 [h2]=fd04::2)


# --- the output of tools

octets20='([0-9a-f]{2}:){19}[0-9a-f]{2}'
check "its type is 32" equal 32 "$(g a cat /sys/class/net/ib0/type)"
check "ip -d link: a parent of P_Key 0xffff" says "ipoib pkey 0xffff mode datagram" g a ip -d link show ib0
check "rdma link" says "link uib0/1 .* lid [0-9]+ sm_lid 1 .* state ACTIVE physical_state LINK_UP" g a rdma link
check "ibstat" says "State: Active.Physical state: LinkUp.*SM lid: 1.*Link layer: InfiniBand" eval 'g a ibstat | tr "\n\t" ". " | tr -s "." | sed "s/\. */./g"'
nodes() { g a ibnetdiscover | sed -n 's/^\(Switch\|Ca\)\t.*# "\([^"]*\)".*/\1 \2/p' | sort; }
all_nodes_there() { equal "$(printf '%s\n' "Ca Hca1" "Ca Hca2" "Ca $vm" "Switch Switch1" "Switch Switch2")" "$(nodes)"; }
check "ibnetdiscover: the fabric" eventually 20 all_nodes_there
same_nodes() { equal "$(printf '%s\n' Hca1 Hca2 Switch1 Switch2 "$vm")" "$(g a saquery | sed -n 's/.*NodeDescription\.*//p' | sort)"; }
check "saquery: the same nodes" eventually 20 same_nodes
check "saquery -p: our path to it" eventually 20 says "dlid\.*$(g a cat /sys/class/infiniband/uib0/ports/1/lid | xargs printf '%d')$" \
	x h1 saquery -p --src-to-dst "1:$(g a cat /sys/class/infiniband/uib0/ports/1/lid | xargs printf '%d')"

# --- `uipoib check` in the guest, at the port of the kernel's ib0

# checked STATUS KIND WORD...: succeeds if the check ends with STATUS and reports the finding KIND. If KIND is "none",
# the check must report no finding
checked() {
	local want=$1 kind=$2 status
	shift 2
	g a "$UIPOIB" -j check uib0/1 "$@" >"$work/report"
	status=$?
	jq -r '.check | .facts.interface, (.findings[] | "\(.severity) \(.kind): \(.what)")' "$work/report"
	equal "$want" $status && jq -e --arg k "$kind" '.check.findings | if $k == "none" then length == 0 else any(.kind == $k) end' "$work/report" >/dev/null
}
check "uipoib check finds nothing at the port of ib0" eventually 20 checked 0 none
check "it sees what the kernel says" eval "jq -e '.check.facts.interface | test(\"^ib0: up, carrier, datagram mode, MTU 2044, P_Key 0xffff\")' '$work/report'"
check "ib0 knows the neighbour h1" reach a 10.4.0.1
check "nothing is found on the way to it" eventually 20 checked 0 none peer 10.4.0.1
check "its path is told" eval "jq -e '.check.facts | .path and .peer' '$work/report'"
check "nothing is found on the way to a GID" eventually 20 checked 0 none peer "$(x h2 cat /sys/class/infiniband/uipoib0/ports/1/gids/0)"
check "an IPv6 address of which the kernel has not heard" eventually 20 checked 0 neighbour-absent peer fd04::7777
unanswered() { ! at a ping -n -c 2 -i 0.2 -W 1 10.4.7.7 && checked 1 neighbour-unresolved peer 10.4.7.7; }
check "a neighbour that does not answer" eventually 20 unanswered
g a ip neigh replace 10.4.7.8 lladdr 00:00:00:48:fe:80:00:00:00:00:00:00:00:00:00:00:de:ad:be:ef dev ib0 nud reachable
check "a neighbour whose port is gone" eventually 20 checked 1 neighbour-stale peer 10.4.7.8
g a 'ip neigh del 10.4.7.8 dev ib0; ip link set ib0 mtu 1500'
check "a smaller MTU is no fault" eventually 20 checked 0 none
g a ip link set ib0 mtu 2044

# --- `uipoib fabric check --live` in the guest, through the umad device of its stock kernel

# surveyed STATUS KIND REGEX [OPTION...]: succeeds if the check ends with STATUS, has read two switches and three CAs
# with their tables, and reports a fault of KIND that matches REGEX. If KIND is "none", the check must report no finding
surveyed() {
	local want=$1 kind=$2 regex=$3 status
	shift 3
	g a "$UIPOIB" -j fabric check --live uib0/1 --seconds 0 "$@" >"$work/report"
	status=$?
	jq -r '.check | "\(.switches) switches, \(.cas) CAs", (.findings[] | "\(.severity) \(.kind) \(.where): \(.what)")' "$work/report"
	equal "$want" $status && jq -e --arg k "$kind" --arg r "$regex" '.check | .switches == 2 and .cas == 3 and .tables and (.findings |
		if $k == "none" then length == 0 else any(.kind == $k and .severity == "fault" and ("\(.where): \(.what)" | test($r))) end)' "$work/report" >/dev/null
}
check "uipoib fabric check --live finds nothing in a healthy fabric" eventually 20 surveyed 0 none ''
check "nor with the partitions of the subnet manager" eventually 20 surveyed 0 none '' --partitions "$work/partitions.conf"
echo 'Blue=0x8003 : "Hca2"=full;' | cat "$work/partitions.conf" - >"$work/blue.conf"
check "a P_Key that a port should have is named" eventually 20 surveyed 1 pkey-missing '^Hca2/1: should be a full member of partition Blue' --partitions "$work/blue.conf"
lid2=$(u -j fabric port show Hca2/1 | jq '.port[0].lid')
# hole: remove h2's LID from the forwarding table of Switch1 by an SMP from the guest, and succeed if the check reports
# this LID. The subnet manager verifies the tables from time to time, and may restore the entry before the check reads
# the table, so callers repeat this function
hole() { g a "IBDEV=uib0 python3 -B $PWD/tests/interop/smp_patch.py 0,1 0x19 $((lid2 / 64)) $((lid2 % 64))=255" && surveyed 1 lft-hole "^Switch1: has no route to 1 LID: $lid2 \(Hca2/1\)"; }
check "a hole in the table of a switch is named" eventually 20 hole
check "the subnet manager fills it, and nothing is found any more" eventually 80 surveyed 0 none ''

# --- unicast

# reach_all IPV4 IPV6: ping both addresses with packets of all sizes; runs at the sender
reach_all='
set -ex
one() { ping -n -q -c 2 -i 0.01 -W 10 "$@"; }
too_long() { ping -n -c 1 -W 1 -M do "$@" 2>&1 | grep -i "message too long"; }
one $1
one -M do -s 2016 $1
too_long -s 2017 $1
one -s 8000 $1
one $2
one -M do -s 1996 $2
too_long -s 1997 $2
one -s 8000 $2'
for pair in "a h1" "a h2" "h1 a" "h2 a"; do
	read -r from to <<<"$pair"
	check "$from reaches $to: IPv4, IPv6, 2044 octets in one packet and no more, 8000 in fragments" \
		eventually 20 at $from bash -c "$reach_all" reach_all ${ip4[$to]} ${ip6[$to]}
done
link_local() { at "$1" ip -6 -o addr show dev "$(iface "$1")" scope link | grep -o 'fe80::[0-9a-f:]*'; }
check "Linux pings our link-local address" reach a "$(link_local h1)%ib0"
check "ours pings Linux's link-local address" reach h1 "$(link_local a)%uib0"

# --- broadcast and all nodes

answering() { # PLACE...: make only these places answer broadcasts
	local p no
	for p in a h1 h2; do
		no=1
		[[ " $* " != *" $p "* ]] || no=0
		at $p sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=$no
	done
}
from_each() { # FROM ADDRESS PLACE...: succeeds if each PLACE answers a ping to ADDRESS; $work/twice has a record of duplicate answers
	local p out n
	answering "${@:3}"
	out=$(at "$1" ping -n -b -c 3 -i 0.5 -W 10 -I "$(iface "$1")" "$2" 2>&1)
	for p in "${@:3}"; do
		n=$(grep -c "from ${ip4[$p]}: icmp_seq=2" <<<"$out")
		[ "$n" -le 1 ] || echo "$p: $out" >>"$work/twice"
		equal 1 "$n" || { echo "$p: $out"; return 1; }
	done
}
x h1 ip route add default dev uib0 # without a default route Linux has no route to 255.255.255.255
for address in 10.4.255.255 255.255.255.255 224.0.0.1; do
	check "Linux pings $address: each of ours answers once" eventually 20 from_each a $address h1 h2
	check "ours pings $address: Linux and ours answer once" eventually 20 from_each h1 $address a h2
done
check "nobody has ever answered twice" not cat "$work/twice"
all_nodes() { # FROM PLACE...: succeeds if each PLACE answers a ping of FROM to ff02::1
	local p out
	out=$(at "$1" ping -n -c 3 -i 0.5 -W 10 "ff02::1%$(iface "$1")" 2>&1)
	for p in "${@:2}"; do
		grep -q "from $(link_local $p)%.*icmp_seq=2" <<<"$out" || { echo "$p: $out"; return 1; }
	done
}
check "Linux pings ff02::1: each of ours answers" eventually 20 all_nodes a h1 h2
check "ours pings ff02::1: Linux and ours answer" eventually 20 all_nodes h1 a h2

# --- a second partition: in the VM it is a child interface of ib0, and on a uipoib host it is a
# separate interface

g a ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001
g a 'ip link set ib0.8001 up; ip addr add 10.5.0.9/16 dev ib0.8001; ip addr add fd05::9/64 dev ib0.8001 nodad'
check "ib0.8001 is up" eventually 20 says "state UP" g a ip link show ib0.8001
check "its broadcast group is that of the P_Key" says "brd 00:ff:ff:ff:ff:12:40:1b:80:01:00:.*ipoib pkey +0x8001" \
	eval 'g a ip -d link show ib0.8001 | tr "\n" " "'
check "Linux pings ours in the partition" reach a -I ib0.8001 10.5.0.1
check "ours pings Linux in the partition" reach h1 -I uib1 10.5.0.9
check "over IPv6, both ways" eval 'reach a -I ib0.8001 fd05::1 && reach h1 -I uib1 fd05::9'
check "8000 octets, both ways" eval 'reach a -s 8000 10.5.0.1 && reach h1 -s 8000 10.5.0.9'

g a 'ip link add link ib0 name ib0.8007 type ipoib pkey 0x8007; ip link set ib0.8007 up; ip addr add 10.7.0.9/16 dev ib0.8007'
check "a partition that is not there: the child has no carrier" says "NO-CARRIER" g a ip link show ib0.8007
check "and the kernel says why" eventually 10 grep -q 'ib0.8007: P_Key 0x8007 is not found' "$work/a.err"
check "uipoib check says why: the P_Key" eventually 20 checked 1 pkey-missing dev ib0.8007
check "a P_Key that this interface does not have" refuse 2 "has P_Key 0x8007" g a "$UIPOIB" check uib0/1 pkey 0x8001 dev ib0.8007
check "uipoib check finds nothing at the child of 0x8001" eventually 20 checked 0 none pkey 0x8001
g a ip link set ib0.8001 down
check "that the child is down" eventually 20 checked 1 if-down pkey 0x8001
g a ip link set ib0.8001 up
check "that it is up again" eventually 20 checked 0 none pkey 0x8001
{ cat "$work/partitions.conf"; echo 'Late=0x8007, ipoib : ALL=full;'; } >"$work/more.conf"
u fabric partitions "$work/more.conf" >/dev/null
check "when it is made, the child comes up" eventually 30 says "state UP" g a ip link show ib0.8007

# --- flows

rx() { # FROM TO OPTION...: run iperf3 for one second; its report is $work/flow.json
	start_at "$2" "$work/iperf3" iperf3 -s -1 -B ${ip4[$2]} --forceflush
	eventually 20 grep -q listening "$work/iperf3" || { cat "$work/iperf3"; return 1; }
	at "$1" timeout 60 iperf3 -J -c ${ip4[$2]} -t 1 "${@:3}" >"$work/flow.json"
	local status=$?
	end_at "$2" "$started" # the next server listens on the same port
	[ $status = 0 ] || { cat "$work/flow.json"; return 1; }
}
tcp() { # FROM TO FLOWS: succeeds if each of the TCP flows transports data
	rx $1 $2 -P $3 && jq -e '.end | .sum_received.bytes > 250000 and all(.streams[]; .receiver.bytes > 0)' "$work/flow.json" ||
		{ jq -c '.end.streams[].receiver' "$work/flow.json"; false; }
}
udp() { # FROM TO FLOWS: succeeds if most datagrams arrive, at a rate that an emulated processor can receive
	rx $1 $2 -P $3 -u -b 1M && jq -e '.end.sum | .packets > 20 and .lost_percent < 50' "$work/flow.json" || { jq -c .end.sum "$work/flow.json"; false; }
}
for n in 1 4; do
	check "TCP, $n: Linux to ours" eventually 20 tcp a h1 $n
	check "TCP, $n: ours to Linux" eventually 20 tcp h2 a $n
	check "UDP, $n: Linux to ours" eventually 20 udp a h2 $n
	check "UDP, $n: ours to Linux" eventually 20 udp h1 a $n
done

check "what arrived is what was sent, TCP, both ways" both_ways right_tcp a h1
check "what arrived is what was sent, UDP, both ways" both_ways right_udp a h1

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a

# --- `uipoib vm` without options, which makes its own fabric

typed() {
	env -u UIPOIB_NAME "$UIPOIB" vm -- ip -d link show ib0 >"$work/typed" 2>&1 &&
		tr '\n' ' ' <"$work/typed" |
		grep -Eq "link/infiniband $octets20 brd 00:ff:ff:ff:ff:12:40:1b:ff:ff:(00:){6}ff:ff:ff:ff .*ipoib pkey +0xffff mode datagram" ||
		{ cat "$work/typed"; return 1; }
}
check "uipoib vm -- ip -d link show ib0" typed
finish
