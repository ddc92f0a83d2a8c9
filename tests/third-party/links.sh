#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# packages: iproute2 kmod
# works-with: bonding | active-backup: failover between two interfaces
# works-with: bonding | any other mode
# works-with: VRF | ib0 in a VRF
# works-with: VXLAN | over ib0, by unicast, by multicast and in a bridge
# works-with: bridge | ib0 as a port of a bridge
# works-with: macvlan | a macvlan above ib0
# works-with: ipvlan | an ipvlan above ib0
# works-with: VLAN | a VLAN above ib0
#
# The script makes interfaces of several kinds above ib0, or with ib0 as a port. Some kinds work with Ethernet devices only, and Linux
# refuses to make them on any InfiniBand device. The script checks Linux's messages.
#
#	h1 10.4.0.1 --- Switch1 --- a (VM) 10.4.9.1
. "$(dirname "$0")/lib.sh"
linux_lab 2
guest_start a --address 10.4.9.1/16
vm_wait a
version=$(g a uname -r | grep -oE '^[0-9]+\.[0-9]+')
is_known() { [ "$version" = 6.1 ]; } # the programs are parts of the kernel

# --- what Linux refuses

# refused WHAT MESSAGE ARG...: check that ip with these arguments fails with this message
refused() { still "the kernel refuses $1" refuse 2 "$2" at a ip "${@:3}"; }
invalid='^RTNETLINK answers: Invalid argument$'
check "there is a bridge" at a ip link add br0 type bridge
refused "ib0 as its port" "$invalid" link set ib0 master br0
check "the bridge is removed" at a ip link del br0
tried "ib0 as a port of a bridge" refused Linux
for mode in bridge passthru private vepa; do
	refused "a macvlan above ib0, mode $mode" "$invalid" link add m0 link ib0 type macvlan mode $mode
done
refused "a macvtap above ib0" "$invalid" link add m0 link ib0 type macvtap
tried "a macvlan above ib0" refused Linux
for mode in l2 l3 l3s; do
	refused "an ipvlan above ib0, mode $mode" "$invalid" link add i0 link ib0 type ipvlan mode $mode
done
still "the kernel's log has the reason" eventually 20 grep -q 'ib0: Master is either lo or non-ether device' "$work/a.err"
tried "an ipvlan above ib0" refused Linux
refused "a VLAN above ib0" '^Error: 8021q: VLANs not supported on device\.$' link add link ib0 name ib0.5 type vlan id 5
tried "a VLAN above ib0" refused Linux

# --- VXLAN: Ethernet frames in UDP. A VXLAN interface may be the port of a bridge.

vxlan() { # PLACE LAST: make interface vx1, which sends to the other place, and vx2, which sends to a group. LAST is 1 on h1, 2 in the guest
	local other=10.4.9.1
	[ "$1" = h1 ] || other=10.4.0.1
	at "$1" ip link add vx1 type vxlan id 41 dev "$(iface "$1")" remote $other dstport 4789 &&
		at "$1" ip link add vx2 type vxlan id 42 dev "$(iface "$1")" group 239.1.1.1 dstport 4789 &&
		at "$1" ip addr add "192.168.41.$2/24" dev vx1 && at "$1" ip link set vx1 up && at "$1" ip link set vx2 up
}
check "h1 has two VXLAN interfaces" vxlan h1 1
check "h1 has an address on the second" at h1 ip addr add 192.168.42.1/24 dev vx2
check "so has the guest" vxlan a 2
check "the guest's second is the port of a bridge with the address" g a 'ip link add br0 type bridge && ip link set vx2 master br0 &&
	ip addr add 192.168.42.2/24 dev br0 && ip link set br0 up'
check "the VXLAN interfaces have 50 octets less than ib0's MTU" equal "$(($(g a cat /sys/class/net/ib0/mtu) - 50))" "$(g a cat /sys/class/net/vx1/mtu)"
check "the guest reaches h1 by unicast" reach a 192.168.41.1
check "with packets of the MTU" reach a -M 'do' -s "$(($(g a cat /sys/class/net/vx1/mtu) - 28))" 192.168.41.1
check "the guest reaches h1 by multicast" reach a 192.168.42.1
both_joined() { equal 2 "$(sa_members ff12:401b:ffff::f01:101 | wc -l)"; }
check "the group of 239.1.1.1 has both as members" eventually 20 both_joined
g a 'ip link del br0; ip link del vx1; ip link del vx2'
x h1 ip link del vx1
x h1 ip link del vx2
tried "over ib0, by unicast, by multicast and in a bridge" works

# --- VRF. The kernel removes the IPv6 addresses of ib0 when ib0 is moved to the VRF, so the test adds them after the move.

check "ib0 is moved to a VRF" g a 'ip link add red type vrf table 10 && ip link set red up && ip link set ib0 master red && ip addr add fd04::9:1/64 dev ib0'
check "h1 reaches the guest by IPv4" reach h1 10.4.9.1
check "h1 reaches the guest by IPv6" reach h1 fd04::9:1
check "the guest reaches h1 from the VRF" eventually 20 at a ip vrf exec red ping -n -c 1 -W 10 10.4.0.1
check "by IPv6, too" eventually 20 at a ip vrf exec red ping -n -c 1 -W 10 fd04::1
check "outside the VRF there is no route" refuse 2 'Network is unreachable' at a ping -n -c 1 10.4.0.1
check "the VRF is removed" g a 'ip link del red && ip addr flush dev ib0'
tried "ib0 in a VRF" works

# --- bonding: two more interfaces at the port of ib0, in the same partition

child() { at a ip link add link ib0 name "ib0.$1" type ipoib pkey 0xffff; }
check "the guest has a second interface in ib0's partition" child 1
check "and a third" child 2
for mode in balance-rr balance-xor broadcast balance-tlb balance-alb; do
	at a ip link add bond0 type bond mode $mode
	refused "a port of a bond, mode $mode" '^Error: Only active-backup mode is supported for infiniband slaves\.$' link set ib0.1 master bond0
	at a ip link del bond0
done
at a ip link add bond0 type bond mode 802.3ad
refused "a port of a bond, mode 802.3ad" '^Error: 8023AD mode requires Ethernet devices\.$' link set ib0.1 master bond0
at a ip link del bond0
tried "any other mode" refused Linux

check "the guest has a bond of the two" g a 'ip link add bond0 type bond mode active-backup miimon 100 && ip link set ib0.1 master bond0 &&
	ip link set ib0.2 master bond0 && ip link set bond0 up mtu 2044 && ip addr add 10.4.9.20/16 dev bond0 && ip addr add fd04::9:20/64 dev bond0'
active() { equal "$1" "$(g a cat /sys/class/net/bond0/bonding/active_slave)"; }
qpn() { g a cat "/sys/class/net/$1/address" | tr -d : | sed -E 's/^..(.{6}).*/0x\1/'; }
# knows INTERFACE ADDRESS: succeeds if h1 sends packets for the address to the QPN of this interface
knows() { equal "$(qpn "$1")" "$(u -j neigh show dev uib0@h1 | jq -r --arg ip "$2" '.neigh[] | select(.ip | index($ip)).qpn')"; }
x h1 sysctl -qw net.ipv4.neigh.uib0.base_reachable_time_ms=3600000 net.ipv6.neigh.uib0.base_reachable_time_ms=3600000
check "it begins with the first" eventually 20 active ib0.1
check "h1 reaches it" reach h1 10.4.9.20
check "h1 reaches it with packets of the MTU" reach h1 -M 'do' -s 2016 10.4.9.20
check "h1 reaches it by IPv6" reach h1 fd04::9:20
check "h1 sends to the QPN of the first" knows ib0.1 10.4.9.20
check "the first goes down" at a ip link set ib0.1 down
check "the bond takes the second" eventually 20 active ib0.2
check "h1 is told so by a gratuitous ARP" eventually 20 knows ib0.2 10.4.9.20
check "and by a neighbour advertisement" eventually 20 knows ib0.2 fd04::9:20
check "h1 reaches the bond" reach h1 10.4.9.20
check "h1 reaches the bond by IPv6" reach h1 fd04::9:20
tried "active-backup: failover between two interfaces" works

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
