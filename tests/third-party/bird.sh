#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: BIRD | OSPFv2
# works-with: BIRD | OSPFv3
# works-with: BIRD | RIP
# works-with: BIRD | RIPng
# works-with: BIRD | Babel
# packages: bird2
#
# BIRD runs on the guest's ib0 and on h1's TAP. By each protocol, each end announces a network of its own to the other end.
#
#	h1 10.4.0.1 --- Switch1 --- a 10.4.9.1 (VM)
. "$(dirname "$0")/lib.sh"
linux_lab 1
guest_start a --address 10.4.9.1/16 --address fd04::9:1/64
vm_wait a

# The network of protocol I at end N is 10.2I.N.0/24 or fd2I:N::/64.
protocol() { # NAME I N ADDRESS-FAMILY PROTOCOL LINE...
	local net="10.2$2.$3.0/24" channel="$4 { import all; export where proto = \"net$2\"; };"
	[ "$4" = ipv4 ] || net="fd2$2:$3::/64"
	printf '%s\n' "protocol static net$2 { $4; route $net blackhole; }" "protocol $5 $1 {" "$channel" "${@:6}" '}'
}
configuration() { # INTERFACE N: print the configuration of BIRD at end N
	printf '%s\n' "router id 10.9.$2.1;" 'protocol device {}' \
		'protocol kernel { ipv4 { import none; export where source != RTS_STATIC; }; }' \
		'protocol kernel { ipv6 { import none; export where source != RTS_STATIC; }; }'
	protocol ospf2 1 "$2" ipv4 "ospf v2" "area 0 { interface \"$1\" { hello 1; dead 10; }; };"
	protocol ospf3 2 "$2" ipv6 "ospf v3" "area 0 { interface \"$1\" { hello 1; dead 10; }; };"
	protocol rip4 3 "$2" ipv4 rip "interface \"$1\" { update time 3; };"
	protocol rip6 4 "$2" ipv6 "rip ng" "interface \"$1\" { update time 3; };"
	protocol babel1 5 "$2" ipv6 babel "randomize router id no;" "interface \"$1\" { type wired; hello interval 1 s; update interval 3 s; };"
}
starts() { # PLACE N: start BIRD at PLACE, which is end N
	configuration "$(iface "$1")" "$2" >"$work/$1.conf"
	start_at "$1" "$work/$1.log" bird -f -c "$work/$1.conf" -s /run/bird.ctl -P /run/bird.pid
	eventually 20 at "$1" birdc -s /run/bird.ctl show status
}
check "BIRD starts on h1's TAP" starts h1 1
check "BIRD starts in the guest" starts a 2

route() { # PLACE PROTOCOL NETWORK INTERFACE: succeeds if BIRD has learnt the network by this protocol, and the kernel has the route
	local family=-4
	[[ $3 = *.* ]] || family=-6
	says "^$3 +unicast \[$2 .*" at "$1" birdc -s /run/bird.ctl show route protocol "$2" && says "dev $4 proto bird" at "$1" ip "$family" route show "$3"
}
both() { # WHAT PROTOCOL NETWORK-OF-H1 NETWORK-OF-GUEST: check that each end has the network of the other end
	check "$1: h1 has the guest's network" eventually 60 route h1 "$2" "$4" uib0
	check "$1: the guest has h1's network" eventually 60 route a "$2" "$3" ib0
	tried "$1" works
}
both OSPFv2 ospf2 10.21.1.0/24 10.21.2.0/24
both OSPFv3 ospf3 fd22:1::/64 fd22:2::/64
both RIP rip4 10.23.1.0/24 10.23.2.0/24
both RIPng rip6 fd24:1::/64 fd24:2::/64
both Babel babel1 fd25:1::/64 fd25:2::/64

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
