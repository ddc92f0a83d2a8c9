#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM, for ../offloads.sh: TCP from ib0 to ib1, which are interfaces of ib_ipoib at two devices of uib.ko. The cable
# between the devices is a UDP link over the loopback interface, and then over a veth pair whose MTU is less than a packet.
# A burst of uib.ko stays one buffer until the other uib.ko receives it, or until it is cut into fragments.
TEST_ISOLATED=1 # the devices belong to the VM
. "$(dirname "$0")/../../../system/lib.sh"
. "$(dirname "$0")/two_devices.sh"
octets=3000000

counter() { awk -v n="$2" '$1 == n { print $2 }' "/sys/kernel/debug/uib/$1/stats"; }
in_ns() { nsenter --net="/run/netns/$1" "${@:2}"; }
cable_packets() { # print the number of buffers that both ends have sent; the two ends of veth count each other's as received
	local name=lo
	local -a enter=()
	case $cable in veth?) name=cable1 enter=(in_ns cable1) ;; esac
	"${enter[@]}" awk -v n="$name:" -v both="${#enter[@]}" '$1 == n { print $11 + (both ? $3 : 0) }' /proc/net/dev
}
both_sent() { echo $(($(counter uib1 xmit_pkts) + $(counter uib2 xmit_pkts))); }
# ib_ipoib names its interfaces in the order of the devices. Each interface gets a namespace, because otherwise the kernel
# would not send packets from one to the other.
set_up() {
	local n ifname
	for n in 1 2; do
		ip netns add ib$n 2>/dev/null
		ifname=$(ls /sys/class/infiniband/uib$n/device/net) && ip link set "$ifname" netns ib$n name ipoib &&
			ip -n ib$n addr add 10.9.0.$n/24 dev ipoib && ip -n ib$n addr add fd09::$n/64 dev ipoib nodad && ip -n ib$n link set ipoib up || return 1
	done
}
offers() {
	local f
	for f in tcp-segmentation-offload tx-checksum-ipv4 rx-checksumming; do
		in_ns ib1 ethtool -k ipoib | grep "$f: on" || { in_ns ib1 ethtool -k ipoib; return 1; }
	done
}
reach() { in_ns ib1 ping -q -n -c 1 -W 2 10.9.0.2 && in_ns ib1 ping -q -n -c 1 -W 2 fd09::2; }
stream() { # FROM TO: send a stream whose receiver checks the contents
	local pid
	in_ns ib$2 "$TOOLS/integrity" tcp-recv 10.9.0.$2 7777 >/tmp/recv 2>&1 &
	pid=$!
	eventually 60 grep -q ready /tmp/recv && in_ns ib$1 "$TOOLS/integrity" tcp-send 10.9.0.$1 7777 10.9.0.$2 $octets && wait $pid &&
		grep -q '"right": true' /tmp/recv || { cat /tmp/recv; return 1; }
}
joined() { # the packets of a stream, and of its acknowledgements, share buffers; on veth, they are fragments
	local buffers=$(cable_packets) packets=$(both_sent)
	stream 1 2 || return 1
	buffers=$(($(cable_packets) - buffers)) packets=$(($(both_sent) - packets))
	echo "$packets packets in $buffers buffers"
	case $cable in lo?) [ $((2 * buffers)) -lt $packets ] ;; veth?) [ $buffers -gt $packets ] ;; esac
}
# The devices discarded no packets since their start, except before they were ready, multicast packets to others, and packets for which a
# slow receiver had no buffer.
no_drops() {
	local d
	for d in uib1 uib2; do
		! grep '^drop_' "/sys/kernel/debug/uib/$d/stats" | grep -v ' 0$' | grep -v 'drop_silent\|drop_tx_state\|drop_port_state\|drop_mgid\|drop_no_receive' || return 1
	done
}

for cable in lo4 lo6 veth4 veth6; do
	check "$cable: two devices" two_devices $cable
	check "$cable: OpenSM makes their ports Active" eventually 60 two_devices_ready
	check "$cable: interfaces of ib_ipoib" set_up
	check "$cable: with TSO and checksums of IPv4" offers
	check "$cable: IPv4 and IPv6 pass" eventually 60 reach
	check "$cable: large sends leave in bursts, and no octet changes" joined
	check "$cable: and back" stream 2 1
	in_ns ib1 ethtool -K ipoib tso off tx off rx off gso off
	check "$cable: the same without the offloads" stream 1 2
	check "$cable: no packet is discarded" no_drops
	# While OpenSM answers, the interfaces leave their groups at once. Without OpenSM this takes half a minute.
	for n in 1 2; do ip -n ib$n link set ipoib down; done
	kill $opensm
	wait $opensm 2>/dev/null
done
finish
