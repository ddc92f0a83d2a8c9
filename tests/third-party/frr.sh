#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: FRR | OSPFv2
# works-with: FRR | OSPFv3
# works-with: FRR | BGP
# works-with: FRR | BFD
# packages: frr
# check.sh: all
#
# FRR's daemons on the guest's ib0 and on h1's TAP are neighbours of each other. For OSPF the link is a broadcast network, so
# a designated router is elected, and OSPF uses the groups 224.0.0.5, 224.0.0.6, ff02::5 and ff02::6.
#
#	h1 10.4.0.1, 10.9.1.1 --- Switch1 --- a 10.4.9.1, 10.9.2.1 (VM)
. "$(dirname "$0")/lib.sh"
linux_lab 1
guest_start a --address 10.4.9.1/16 --address fd04::9:1/64
vm_wait a
daemons="zebra staticd bfdd ospfd ospf6d bgpd"

configuration() { # INTERFACE NUMBER NEIGHBOUR: print the configuration of FRR at end NUMBER
	printf '%s\n' "interface $1" ' ip ospf area 0' ' ip ospf hello-interval 1' ' ip ospf dead-interval 10' \
		' ipv6 ospf6 area 0' ' ipv6 ospf6 hello-interval 1' ' ipv6 ospf6 dead-interval 10' \
		'interface lo' ' ip ospf area 0' ' ipv6 ospf6 area 0' \
		'router ospf' " ospf router-id 10.9.$2.1" 'router ospf6' " ospf6 router-id 10.9.$2.1" \
		"ip route 10.8.$2.0/24 blackhole" \
		"router bgp 6500$2" " bgp router-id 10.9.$2.1" ' no bgp ebgp-requires-policy' " neighbor $3 remote-as external" \
		" neighbor $3 timers connect 2" " neighbor $3 bfd 5 1000 1000" \
		' address-family ipv4 unicast' "  network 10.8.$2.0/24"
}
vty() { at "$1" vtysh --vty_socket /run/frr "${@:2}"; }
declare -A bfdd
starts() { # PLACE NUMBER NEIGHBOUR: start FRR at PLACE, which is end NUMBER
	local d
	configuration "$(iface "$1")" "$2" "$3" >"$work/$1.conf"
	at "$1" sh -c "install -d -o frr -g frr /run/frr && ip link set lo up && ip addr add 10.9.$2.1/32 dev lo && ip addr add fd09::$2:1/128 dev lo"
	for d in $daemons; do
		start_at "$1" "$work/$1.$d" "/usr/lib/frr/$d" -f /dev/null -i /run/frr/$d.pid -z /run/frr/zserv.api --vty_socket /run/frr -A 127.0.0.1
		[ $d != bfdd ] || bfdd[$1]=$started
	done
	eventually 20 at "$1" sh -c "for d in $daemons; do [ -S /run/frr/\$d.vty ] || exit 1; done" && eventually 20 joined "$1" &&
		vty "$1" -f "$work/$1.conf"
}
# joined PLACE: succeeds if all other daemons of FRR are connected to zebra. If bgpd is configured before it is connected to zebra, it does
# not know the address of the interface yet. FRR 8.4.4 then never makes the BFD session.
joined() {
	local d
	vty "$1" -c "show zebra client summary" >"$work/clients"
	for d in ${daemons#zebra }; do grep -q "^${d%d} " "$work/clients" || { cat "$work/clients"; return 1; }; done
}
check "FRR starts on h1's TAP" starts h1 1 10.4.9.1
check "FRR starts in the guest" starts a 2 10.4.0.1

neighbour() { says "$3" vty "$1" -c "show $2 neighbor"; }
routes() { says "$3" at "$1" ip $2 route show; } # PLACE -4|-6 REGEX: succeeds if a route of PLACE matches
for p in h1 a; do
	check "OSPFv2: $p has the other as a full neighbour" eventually 60 neighbour $p "ip ospf" ' Full/'
done
check "OSPFv2: h1 has the route to the guest's loopback" eventually 30 routes h1 -4 '^10\.9\.2\.1 .*via 10\.4\.9\.1 dev uib0 proto ospf'
check "OSPFv2: the guest has that to h1's" eventually 30 routes a -4 '^10\.9\.1\.1 .*via 10\.4\.0\.1 dev ib0 proto ospf'
check "OSPFv2: h1 reaches the guest's loopback" reach h1 -I 10.9.1.1 10.9.2.1
tried OSPFv2 works

for p in h1 a; do
	check "OSPFv3: $p has the other as a full neighbour" eventually 60 neighbour $p "ipv6 ospf6" ' Full/'
done
check "OSPFv3: h1 has the route to the guest's loopback" eventually 30 routes h1 -6 '^fd09::2:1 .*dev uib0 proto ospf'
check "OSPFv3: the guest has that to h1's" eventually 30 routes a -6 '^fd09::1:1 .*dev ib0 proto ospf'
check "OSPFv3: h1 reaches the guest's loopback" reach h1 -I fd09::1:1 fd09::2:1
tried OSPFv3 works

check "BGP: h1 has the guest's network" eventually 60 says '10\.8\.2\.0/24 .*10\.4\.9\.1' vty h1 -c "show bgp ipv4 unicast"
check "BGP: the guest has h1's network" eventually 60 routes a -4 '^10\.8\.1\.0/24 .*via 10\.4\.0\.1 dev ib0 proto bgp'
tried BGP works

bfd() { says "$2" vty "$1" -c "show bfd peers brief"; }
for p in h1 a; do
	check "BFD: $p sees the other" eventually 60 bfd $p '10\.4\.[09]\.1 +up'
done
# BGP connects again within some seconds, so the route may be back before the script looks. So the script counts the sessions
# that have ended.
ended() { vty a -c "show bgp neighbors 10.4.0.1 json" | jq '.[].connectionsDropped'; }
before=$(ended)
end_at h1 "${bfdd[h1]}" KILL
check "BFD: the guest notices that h1's end is silent" eventually 60 bfd a '10\.4\.0\.1 +down'
one_more() { equal $((before + 1)) "$(ended)"; }
check "BFD: and BGP ends its session" eventually 60 one_more
tried BFD works

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
