#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Several stations are behind one TAP. Linux's ib0 sees each station as a neighbour with its own link-layer address.
#
#	s1  s2				m1  m2  m3
#	 |  |    veth			 |   |   |    macvlan
#	 br0 (h1)	br0 (h2)	 uib0 (h3), stations = 2
#	  |		  |		  |
#	 uib0		 uib0		  |
#	  --- Switch1 -- Switch2 -- Switch1		a (VM, ib0)
. "$(dirname "$0")/lib.sh"
. tests/system/stations/stations.sh
. tests/system/dhcp/client.sh
need bridge iperf3 arping python3 dhcpd dnsmasq /lib/systemd/systemd-networkd
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
cp "$(command -v dhcpd)" "$work"/
linux_topo 3 >"$work/lab.topo"
{
	printf '[fabric lab]\ntopology = lab.topo\n'
	conf_iface uib0 1
	conf_iface uib0 2
	conf_iface uib0 3 "stations = 2"
} >"$work/lab.conf"
lab_up
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --share "$work"

# --- the stations are set up and reach Linux, and Linux reaches them

mac() { echo "52:54:00:00:00:$1"; }
bridge_at() { # HOST N: make the bridge br0 of HOST with the addresses 10.4.0.N and fd04::N, and uib0 as a port
	x "$1" ip link add br0 mtu 2044 type bridge && x "$1" ip link set br0 up && x "$1" ip addr add "10.4.0.$2/16" dev br0 &&
		x "$1" ip addr add "fd04::$2/64" dev br0 nodad && x "$1" ip link set uib0 master br0
}
veths() { veth_station s1 h1 11 "$(mac 11)" && veth_station s2 h1 12 "$(mac 12)"; }
macvlans() { macvlan_station m1 h3 31 "$(mac 31)" && macvlan_station m2 h3 32 "$(mac 32)"; }

# from PLACE CMD...: runs CMD in a station, in a host, or in the VM
from() {
	local place=$1
	shift
	if [ -n "${pid[$place]:-}" ]; then in_ "$place" "$@"; else at "$place" "$@"; fi
}
# pings PLACE N [OPTION...]: pings 10.4.0.N and fd04::N from PLACE; N 901 is the VM, 10.4.9.1
pings() {
	local place=$1 n=$2 ip4=10.4.0.$2
	shift 2
	[ "$n" != 901 ] || ip4=10.4.9.1
	from "$place" ping -n -c 2 -i 0.05 -W 5 "$@" "$ip4" && from "$place" ping -n -6 -c 2 -i 0.05 -W 5 "$@" "fd04::$n"
}
declare -A number=([s1]=11 [s2]=12 [m1]=31 [m2]=32 [h1]=1 [h2]=2) behind=([s1]=h1 [s2]=h1 [m1]=h3 [m2]=h3)

# linux_has ADDRESS: print the link-layer address that Linux has for the IP address, without the octet of flags
linux_has() { g a ip neigh show "$1" dev ib0 | grep -oE 'lladdr [0-9a-f:]+' | cut -d' ' -f2 | cut -d: -f2-; }
# lladdr STATION HOST: print the link-layer address that the station behind HOST has on the link
lladdr() { stations "uib0@$2" | awk -v mac="$(mac "${number[$1]}")" '$1 == mac { print $3 }' | cut -d: -f2-; }

check "a bridge with two stations behind h1" eval 'bridge_at h1 1 && veths'
check "an empty one behind h2" bridge_at h2 2
check "macvlans on h3" macvlans
vm_wait a
for s in s1 s2 m1 m2 h1 h2; do
	check "$s reaches Linux by IPv4 and IPv6" eventually 20 pings $s 901
	check "Linux reaches $s" eventually 20 pings a "${number[$s]}"
done

own_address() {
	local s n=${number[$1]} want
	want=$(lladdr "$1" "${behind[$1]}")
	[ -n "$want" ] && equal "$want" "$(linux_has "10.4.0.$n")" && equal "$want" "$(linux_has "fd04::$n")"
}
for s in s1 s2 m1 m2; do
	check "R46 R48: Linux has the address of $s's own queue pair, by ARP and ND" own_address $s
done
distinct() {
	local a
	a=$(for s in s1 s2 m1 m2 h1 h2; do linux_has "10.4.0.${number[$s]}"; done)
	echo "$a"
	equal 6 "$(sort -u <<<"$a" | wc -l)"
}
check "all addresses differ" distinct
check "2016 octets fit from a station to Linux" eventually 20 from s1 ping -n -c 1 -W 5 -M do -s 2016 10.4.9.1
check "2017 do not" not from s1 ping -n -c 1 -W 1 -M do -s 2017 10.4.9.1

# --- TCP and UDP

flow() { # STATION ADDRESS OPTION...: run iperf3 from the station to a server at ADDRESS
	local station=$1 address=$2 status
	shift 2
	start_at a "$work/iperf.server" iperf3 -s -1 -B "$address" --forceflush
	eventually 20 grep -q listening "$work/iperf.server" && in_ "$station" iperf3 -c "$address" -C cubic "$@"
	status=$?
	end_at a "$started" # the next server listens on the same port
	return $status
}
check "TCP from a bridge's station to Linux" flow s1 10.4.9.1 -n 5M
check "TCP to it, IPv6" flow s1 fd04::901 -n 5M -R
check "TCP from a macvlan" flow m1 10.4.9.1 -n 5M
check "UDP to a station" flow s2 10.4.9.1 -u -b 5M -n 200K -R

# --- multicast

has() { grep -q "^$2" "$1"; }
member() { # LABEL PLACE GROUP PORT: start a receiver of the group at PLACE, with its output in $work/LABEL
	if is_vm "$2"; then
		start_at a "$work/$1" "$mcast" recv ib0 "$3" "$4"
	else
		: >"$work/$1"
		background nsenter -t "${pid[$2]}" -n "$mcast" recv e0 "$3" "$4" >"$work/$1"
	fi
	eventually 20 has "$work/$1" ready
}
transmit() { # PLACE GROUP PORT N TEXT: PLACE sends N datagrams with TEXT
	local dev=e0
	is_vm "$1" && dev=ib0
	from "$1" "$mcast" send "$dev" "$2" "$3" "$4" "$5"
}
reached() { # LABEL PLACE GROUP PORT: succeeds if one datagram of PLACE arrives at receiver LABEL
	transmit "$2" "$3" "$4" 1 probe && within 1 has "$work/$1" probe
}
each_once() { # LABEL PLACE GROUP PORT: succeeds if receiver LABEL gets each of 100 datagrams once
	transmit "$2" "$3" "$4" 100 data || return 1
	eventually 10 has "$work/$1" "data 100" || return 1
	equal "100 100" "$(grep -c '^data ' "$work/$1") $(grep '^data ' "$work/$1" | sort -u | wc -l)"
}
# Make room for a burst of datagrams, because an emulated processor reads them late.
g a sysctl -qw net.core.rmem_max=4194304 net.core.rmem_default=4194304
check "s1 joins a group of IPv4" member s1-4 s1 239.4.4.4 7001
check "Linux's multicast reaches s1" eventually 15 reached s1-4 a 239.4.4.4 7001
check "each datagram once" each_once s1-4 a 239.4.4.4 7001
check "m2 joins one of IPv6" member m2-6 m2 ff15::4:4 7002
check "Linux's multicast reaches m2" eventually 15 reached m2-6 a ff15::4:4 7002
check "each datagram once" each_once m2-6 a ff15::4:4 7002
check "Linux joins" member a-4 a 239.4.4.6 7003
check "a station's multicast reaches it" eventually 15 reached a-4 s2 239.4.4.6 7003
check "each datagram once" each_once a-4 s2 239.4.4.6 7003

# --- DHCP through the bridge, first with the server on Linux's side, then with the client there

lease_of() { awk '/^BOUND/ { print $2; exit }' "$work/$1.events"; }
dhcp_from_linux() {
	local first second
	start_at a "$work/dhcpd-ib0.log" dnsmasq -d -C /dev/null --port=0 --user=root --bind-dynamic --interface=ib0 --no-ping \
		--dhcp-leasefile="$work/ib0.leases" --dhcp-authoritative --dhcp-range=10.4.2.1,10.4.2.50,2m
	eventually 20 grep -q 'sockets bound' "$work/dhcpd-ib0.log" || return 1
	dev=e0 client d1 '' nsenter -t "${pid[s1]}" -n
	dev=e0 client d2 'send dhcp-client-identifier = hardware;' nsenter -t "${pid[s2]}" -n
	eventually 30 event d1 BOUND && eventually 30 event d2 BOUND || return 1
	first=$(lease_of d1) second=$(lease_of d2)
	not equal "$first" "$second" && reach a "$first" && reach a "$second" &&
		equal "$(lladdr s1 h1)" "$(linux_has "$first")" && equal "$(lladdr s2 h1)" "$(linux_has "$second")"
}
check "D4: two stations get leases from Linux, and are reached by them" dhcp_from_linux
end_at a "$started"
for s in 1 2; do
	dev=e0 release d$s nsenter -t "${pid[s$s]}" -n >/dev/null 2>&1
done

dhcp_to_linux() {
	cat >"$work/dhcpd.conf" <<-E
		default-lease-time 120; max-lease-time 120; ping-check false; authoritative;
		subnet 10.4.0.0 netmask 255.255.0.0 { range 10.4.3.1 10.4.3.50; }
	E
	: >"$work/dhcpd.leases"
	background nsenter -t "${pid[s2]}" -n "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/dhcpd.conf" \
		-lf "$work/dhcpd.leases" -pf "$work/dhcpd.pid" e0 >"$work/dhcpd.log" 2>&1
	dhcpd=$!
	eventually 10 grep -q 'Server starting service' "$work/dhcpd.log" || { cat "$work/dhcpd.log"; return 1; }
	mkdir -p "$work/net"
	printf '[Match]\nName=ib0\n[Network]\nDHCP=ipv4\nIPv6AcceptRA=no\nKeepConfiguration=static\n' >"$work/net/ib0.network"
	start_at a "$work/networkd.log" bash "$PWD/tests/interop/linux/guest/networkd.sh" "$work/net"
	eventually 30 grep -q '^ib0: DHCPv4 address 10.4.3.' "$work/networkd.log" ||
		{ tail "$work/networkd.log" "$work/dhcpd.log"; return 1; }
}
check "D4: Linux gets one from a station" dhcp_to_linux
end_at a "$started"
kill "$dhcpd"
g a 'ip addr replace 10.4.9.1/16 dev ib0; ip addr replace fd04::901/64 dev ib0 nodad'
check "Linux reaches it as before" eventually 10 pings a 12

# --- a station moves: s2 ends behind h1, starts behind h2 with the same MAC, and announces itself

check "s2 ends" kill_station s2 h1
check "s2 starts again behind h2" veth_station s2b h2 12 "$(mac 12)"
moved() {
	in_ s2b arping -q -c 1 -U -I e0 10.4.0.12
	equal "$(lladdr s2 h2)" "$(linux_has 10.4.0.12)"
}
check "I29: Linux follows its announcement" eventually 15 moved
check "and reaches it there" reach a 10.4.0.12
check "by IPv6 it follows the first packet" eval 'eventually 20 pings s2b 901 && reach a fd04::12 &&
	equal "$(lladdr s2 h2)" "$(linux_has fd04::12)"'

# --- one station too many is refused, until a station that was idle for long is removed

check "m1 is busy" eval 'background nsenter -t "${pid[m1]}" -n ping -n -i 0.5 10.4.9.1 >"$work/m1.busy"; m1_busy=$!; eventually 20 grep -q "bytes from" "$work/m1.busy"'
check "m2 is busy" eval 'background nsenter -t "${pid[m2]}" -n ping -n -i 0.5 10.4.9.1 >"$work/m2.busy"; m2_busy=$!; eventually 20 grep -q "bytes from" "$work/m2.busy"'
check "a third station is one too many on h3" macvlan_station m3 h3 33 "$(mac 33)"
check "it is refused" not from m3 ping -n -c 2 -W 1 10.4.9.1
check "and counted" test "$(counter uib0@h3 drop_tap_station_limit)" -gt 0
check "m1 and m2 go on" eventually 20 eval 'pings m1 901 && pings m2 901'
m2_was=$(qpn uib0@h3 "$(mac 32)")
aged=$(counter uib0@h3 stations_aged)
kill "$m2_busy"
check "m2 is silent" in_ m2 ip link set e0 down
check "m3 takes its place" eventually 30 pings m3 901
one_aged() { equal $((aged + 1)) "$(counter uib0@h3 stations_aged)" && equal '' "$(qpn uib0@h3 "$(mac 32)")"; }
check "m2 has expired" one_aged
no_qp() { u -j -d stats show | jq '[.. | objects | select(.counter == "drop_hca_qpn") | .value] | add // 0'; }
before=$(no_qp)
to_m2() { g a ping -n -c 1 -W 1 10.4.0.32; [ "$(no_qp)" -gt "$before" ]; }
g a "ip neigh replace 10.4.0.32 dev ib0 nud permanent lladdr \"00:$(printf '%06x' "$m2_was" | sed 's/../&:/g')$(lladdr m1 h3 | cut -d: -f4-)\""
check "its queue pair is gone: what Linux still sends there is dropped as that" eventually 10 to_m2
g a ip neigh del 10.4.0.32 dev ib0
kill "$m1_busy"
check "m1 is silent" in_ m1 ip link set e0 down
check "m2 comes back" in_ m2 ip link set e0 up
check "and has a queue pair again" eventually 30 from m2 ping -n -c 1 -W 2 10.4.9.1
check "the one that it had" equal "$m2_was" "$(qpn uib0@h3 "$(mac 32)")"
check "Linux reaches it" eventually 10 g a ping -n -c 1 -W 2 10.4.0.32

# --- frames with a VLAN tag are dropped, and Linux refuses VLANs on ib0, because InfiniBand has partitions instead

check "no VLAN on ib0" refuse 2 'VLANs not supported' g a ip link add link ib0 name ib0.v10 type vlan id 10
check "no macvlan either: what these TAPs add" refuse 2 'Invalid argument' g a ip link add link ib0 name mv0 type macvlan
vlan() { # send an ARP request with a VLAN tag
	in_ s1 python3 -c 'if True:
		import socket
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind(("e0", 0))
		mac = bytes.fromhex("525400000011")
		s.send(b"\xff" * 6 + mac + bytes.fromhex("8100000a08060001080006040001") + mac + bytes([10, 4, 0, 11]) + bytes(6) +
		       bytes([10, 4, 9, 1]) + bytes(18))'
	test "$(counter uib0@h1 drop_tap_vlan)" -gt 0
}
check "R32: a VLAN behind the bridge does not pass, and is counted as that" eventually 5 vlan

check "the kernel's log is clean" vm_log_clean a
check "the VM ends" vm_stop a
finish
