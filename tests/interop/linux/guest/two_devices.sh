# SPDX-License-Identifier: BSD-2-Clause
#
# For scripts that run in a VM. Two devices of uib.ko, uib1 and uib2, with a cable between them replace the devices that
# the VM has. OpenSM manages this fabric.
#
#	two_devices [CABLE]	make the devices, and start OpenSM, whose pid is then $opensm. CABLE is lo4 (the default) or
#				lo6: the loopback interface with IPv4 or IPv6; or veth4 or veth6: a veth pair with an MTU of
#				1500 between the namespaces cable1 and cable2, with IPv4 or IPv6
#	two_devices_ready	succeeds if both ports are Active and have their P_Keys

two_devices_veth() { # make the namespaces, unless they exist
	local n
	[ ! -e /run/netns/cable1 ] || return 0
	modprobe -q veth # fails if the kernel has veth built in
	ip netns add cable1 && ip netns add cable2 || return 1
	ip link add cable1 netns cable1 mtu 1500 type veth peer name cable2 netns cable2 mtu 1500 || return 1
	for n in 1 2; do
		ip -n cable$n addr add 10.0.0.$n/24 dev cable$n
		ip -n cable$n addr add fd00::$n/64 dev cable$n nodad
		ip -n cable$n link set cable$n up || return 1
	done
}

two_devices() {
	local params=/sys/module/uib/parameters n cable=${1:-lo4} ns=/proc/self/ns/net
	local -a at # the addresses of uib1 and uib2, at the indexes 1 and 2
	case $cable in
	lo4) at=('' 127.0.0.1 127.0.0.1) ;;
	lo6) at=('' '[::1]' '[::1]') ;;
	veth4) at=('' 10.0.0.1 10.0.0.2) ;;
	veth6) at=('' '[fd00::1]' '[fd00::2]') ;;
	esac
	for n in 0 1 2; do
		[ ! -e /sys/class/infiniband/uib$n ] || echo uib$n >$params/remove || return 1
	done
	ip link set lo up
	case $cable in veth?) two_devices_veth || return 1 ;; esac
	for n in 1 2; do
		case $cable in veth?) ns=/run/netns/cable$n ;; esac
		echo "uib$n netns=3 listen=${at[n]}:501$n peer=${at[3 - n]}:501$((3 - n)) guid=0x0002c9030000050$n silence=0" 3<$ns >$params/add || return 1
	done
	printf '%s\n' 'Default=0x7fff, ipoib: ALL=full;' 'Suite=0x0005: ALL=full;' >/tmp/partitions.conf
	opensm -g 0x0002c90300000501 -P /tmp/partitions.conf -f /tmp/opensm.log >/dev/null 2>&1 &
	opensm=$!
}

two_devices_ready() {
	local n
	for n in 1 2; do
		grep -q ACTIVE /sys/class/infiniband/uib$n/ports/1/state && [ "$(cat /sys/class/infiniband/uib$n/ports/1/pkeys/1)" = 0x8005 ] || return 1
	done
}
