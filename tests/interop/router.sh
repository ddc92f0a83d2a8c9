#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# check.sh: all
#
# A router with smcrouted forwards multicast between two IPoIB links. smcrouted has configured routes, and joins no
# group itself. Groups with receivers on the sender's link are tested under the embedded SM and under OpenSM. Groups
# without receivers on this link are tested under the embedded SM only. The interfaces of the router have one of these
# settings:
# - `router = auto`: they detect by themselves that smcrouted starts and ends.
# - `router = yes`: they always behave as interfaces of a multicast router.
# - `router = no`: they never do, and no group is forwarded.
# At the end groups are also tested with `profile = encaparp00` and with `profile = v4mc01`. With v4mc01, packets to a
# group that has no receiver on the sender's link keep the MGID of this group. The router hears this MGID only if
# smcrouted joins the group.
#
#	link 0xffff 10.4/16                      link 0x8001 10.5/16
#	   h1 sends, h4 receives ---- h2 router ---- h3 receives
. "$(dirname "$0")/lib.sh"
need opensm ping python3 smcrouted
mcast=$TOOLS/mcast
topo_ring 4 3 >"$work/lab.topo"
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x0001, ipoib : ALL=full;' >"$work/partitions.conf"
printf '%s\n' 'phyint uib0 enable' 'phyint uib1 enable' 'mroute from uib0 group 239.9.8.0/28 to uib1' \
	'mroute from uib0 group ff05::4391 to uib1' 'mroute from uib0 group ff05::4392 to uib1' >"$work/smcroute.conf"

profile=rfc4391
config() { # ROUTER LINE...: print the configuration, with router = ROUTER
	local router=$1
	shift
	config_rfc4391 "$router" "$@" | case $profile in
	v4mc01) sed '/^\[interface uib0@/a profile = v4mc01\nsubnet-number = 1' | sed '/^\[interface uib1@/a profile = v4mc01\nsubnet-number = 2' ;;
	encaparp00) sed '/^\[interface /a profile = encaparp00' | sed '/^\[fabric /a sidr-server = yes' ;;
	*) cat ;;
	esac
}
config_rfc4391() {
	local router=$1
	shift
	printf '[fabric lab]\ntopology = lab.topo\n'
	printf '%s\n' "$@"
	for i in 1 2 4; do
		conf_iface uib0 $i "address = 10.4.0.$i/16" "address = fd04::$i/64"
	done | sed "/^\[interface uib0@h2\]/a router = $router"
	for i in 2 3; do
		conf_iface uib1 $i "pkey = 0x8001" "address = 10.5.0.$i/16" "address = fd05::$i/64"
	done | sed "/^\[interface uib1@h2\]/a router = $router"
}
start_opensm() {
	config "$1" "sm = external" >"$work/lab.conf"
	lab_start && osm_start exec h1 -P "$work/partitions.conf"
}
start_embedded() {
	config "$1" "partitions = partitions.conf" >"$work/lab.conf"
	lab_start
}

# routes: let h2 forward packets, and give h3 a route to the sender's link. Without this route the kernel of h3 may
# refuse packets from the sender's address
routes() {
	x h2 sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding' &&
		x h3 ip route add 10.4.0.0/16 via 10.5.0.2 && x h3 ip -6 route add fd04::/64 via fd05::2 &&
		x h1 ip route add 10.5.0.0/16 via 10.4.0.2 && ping_to h1 10.5.0.3
}
smc_start() {
	bx h2 smcrouted -n -N -f "$work/smcroute.conf" -P "$work/smc.pid" -u "$work/smc.sock" >"$work/smcrouted.out" 2>&1
	smc_pid=$!
	eventually 10 forwards
}
forwards() { # succeeds if the routing daemon has its interfaces
	x h2 sh -c 'grep -q uib1 /proc/net/ip_mr_vif && grep -q uib1 /proc/net/ip6_mr_vif'
}

send='import socket, sys
group, text, index = sys.argv[1], sys.argv[2], socket.if_nametoindex("uib0")
if ":" in group:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 8)
else:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.4.0.1"))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
for i in range(int(sys.argv[3])):
    s.sendto((text + "\n").encode(), (group, 5000))'
recv() { # LABEL HOST IF GROUP: start a receiver of the group, with its output in $work/recv.LABEL
	bx "$2" "$mcast" recv "$3" "$4" 5000 >"$work/recv.$1"
	receiver=$!
	eventually 10 grep -q ^ready "$work/recv.$1"
}
heard() { grep -q "^$2" "$work/recv.$1"; } # LABEL TEXT: succeeds if receiver LABEL has got TEXT
sent_and_heard() { # LABEL GROUP TEXT: succeeds if a datagram of h1 arrives at receiver LABEL
	x h1 /usr/bin/python3 -c "$send" "$2" "$3" 1 && within 2 heard "$1" "$3"
}
reaches() { eventually 30 sent_and_heard "$@"; } # repeats, because the router may not forward a new group yet

# not_forwarded LABEL GROUP: send ten datagrams to GROUP, and then pings. Succeeds if none of the datagrams has arrived
# when the pings have been answered
not_forwarded() {
	x h1 /usr/bin/python3 -c "$send" "$2" never 10 && eventually 20 x h1 ping -n -q -c 2 -W 5 10.5.0.3 && not heard "$1" never
}
is_non_member() { # MGID: succeeds if the router is a NonMember of the group
	u -j maddr show dev uib0@h2 | jq -e --arg g "$1" '.maddr[] | select(.mgid == $g) | .non_member'
}

begin() { # MANAGER ROUTER: start the lab and smcrouted
	check "$1, router = $2: starts" start_$1 "$2"
	check "$1, router = $2: all interfaces are up" u wait --timeout $patience
	lab_remember
	check "$1, router = $2: IPv6 addresses are found unique" eventually 15 no_tentative 4
	check "$1, router = $2: routes" routes
	check "$1, router = $2: smcrouted runs" smc_start
	check "$1, router = $2: h3 joins groups" eval 'recv h3.7 h3 uib1 239.9.8.7 && recv h3.6 h3 uib1 239.9.8.6 &&
		recv h3.91 h3 uib1 ff05::4391 && recv h3.92 h3 uib1 ff05::4392'
	check "$1, router = $2: h4 joins two of them on the sender's link" eval 'recv h4.6 h4 uib0 239.9.8.6 && h4_6=$receiver && recv h4.92 h4 uib0 ff05::4392'
	check "$1, router = $2: and hears h1" eval 'reaches h4.6 239.9.8.6 local && reaches h4.92 ff05::4392 local'
}
end() {
	kill "$smc_pid" && wait "$smc_pid"
	osm_stop
	lab_down
}

routers_are() { # true|false: succeeds if both interfaces of h2 are, or are not, those of a multicast router
	u -j link show | jq -e --argjson is "$1" '[.link[] | select(.host == "h2") | .router == $is] | length == 2 and all'
}
is_no_non_member() { u -j maddr show | jq -e '[.maddr[] | select(.non_member)] == []'; }

both_links() { # MANAGER: test groups with receivers on both links
	check "$1, R70: a group with receivers on both links is forwarded" reaches h3.6 239.9.8.6 both
	check "$1, R70: also IPv6" reaches h3.92 ff05::4392 both
	check "$1, R70: the router is a NonMember of them" eval 'eventually 10 is_non_member ff12:401b:ffff::f09:806 && eventually 10 is_non_member ff12:601b:ffff::4392'
}

begin embedded auto
check "R70: the interfaces notice that the host routes multicast" eventually 10 routers_are true
both_links embedded
check "R61 R70: a group without receivers on the sender's link is forwarded" reaches h3.7 239.9.8.7 far
check "R61 R70: also IPv6" reaches h3.91 ff05::4391 far
kill "$smc_pid" && wait "$smc_pid"
check "R70: they notice that it does not any more" eventually 10 routers_are false
check "and leave the groups" eventually 10 is_no_non_member
check "R70: smcrouted again" smc_start
check "R70: and they are routers again" eventually 10 routers_are true
check "R70: and forward" reaches h3.6 239.9.8.6 again
end
begin embedded no
check "they are no routers" routers_are false
check "then nothing is forwarded" eval 'not_forwarded h3.6 239.9.8.6 && not_forwarded h3.92 ff05::4392 &&
	not_forwarded h3.7 239.9.8.7'
end
begin opensm yes
check "opensm: they are routers by the configuration" routers_are true
both_links opensm
end

# --- encaparp00, whose groups have the MGIDs of RFC 4391

profile=encaparp00
begin embedded auto
check "encaparp00: the interfaces notice that the host routes multicast" eventually 10 routers_are true
both_links "encaparp00"
check "encaparp00, R61 R70: a group without receivers on the sender's link is forwarded" reaches h3.7 239.9.8.7 far
end

# --- v4mc01: two links on one port have different subnet numbers, and scope 14

profile=v4mc01
v4mc_partitions() { # Q_KEY: write the partitions file for v4mc01
	printf "%s, ipoib, mtu=4, Q_Key=$1, scope=14 : mgid=ff1e::%s:ffff:ffff, mtu=4, Q_Key=$1\nALL=full;\n" \
		Default=0x7fff 1 Lab=0x0001 2 >"$work/partitions.conf"
}
v4mc_links() { # MANAGER: test two links of v4mc01
	check "$1, v4mc01, M20: a group with receivers on both links is forwarded" reaches h3.6 239.9.8.6 both
	check "$1, v4mc01, M20: the router is a NonMember of it" eventually 10 is_non_member ff1e::1:ef09:806
	check "$1, v4mc01, M20: what smcrouted joins itself is forwarded" reaches h3.7 239.9.8.7 far
	check "$1, v4mc01, M26: nobody is left in a group" eval 'kill "$h4_6" && eventually 10 is_no_member ff1e::1:ef09:806'
}
is_no_member() { u -j maddr show dev uib0@h2 | jq -e --arg g "$1" '[.maddr[] | select(.mgid == $g and (.non_member or .attached))] == []'; }
printf '%s\n' 'mgroup from uib0 group 239.9.8.7' >>"$work/smcroute.conf"
v4mc_partitions 0x80000b1b
begin embedded auto
check "v4mc01: the interfaces notice that the host routes multicast" eventually 10 routers_are true
v4mc_links embedded
check "v4mc01: IPv6, too" reaches h3.92 ff05::4392 both
check "v4mc01: with the groups of RFC 4391" eventually 10 is_non_member ff1e:601b:ffff::4392
end
# OpenSM 3.3.23 refuses groups of IPv6 in this fabric, because it makes no broadcast group of RFC 4391 with scope 14. So
# packets to these groups reach h4 by the LID of v4mc01's own broadcast group.
v4mc_partitions 0xb1b
begin opensm yes
v4mc_links opensm
end
finish
