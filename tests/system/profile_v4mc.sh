#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# Tests profile = v4mc01 (draft-kashyap-ipoib-ipv4-multicast-01), with the lab of examples/: the traffic of the hosts'
# kernels on a link of this profile, and the packets on the wire. h4 is on the same partition and has the default
# profile. In a second lab the MTU is 4096, and no host can join the InfiniBand group for 224.0.0.1.
#
#	h1 v4mc01 --- Switch1 === Switch2 --- h3 v4mc01
#	h2 v4mc01 --/                  \----- h4 rfc4391
. "$(dirname "$0")/lib.sh"
need ping iperf3 python3 ss
. "$(dirname "$0")/dhcp/client.sh"
need dhcpd
cp "$(command -v dhcpd)" "$work"/
mcast=$TOOLS/mcast
cp examples/lab.topo "$work"
# A port of 40 Gb/s cannot join a group of 120 Gb/s (rate 10), so every port is refused as a member of 227.1.1.1.
sed '/224.0.0.2/a\	mgid=ff12::227.1.1.1, mtu=4, rate=10, Q_Key=0x80000b1b' examples/v4mc01-partitions.conf >"$work/v4mc01-partitions.conf"
sed "/^topology/a capture = $work/all.pcap" examples/v4mc01.conf >"$work/lab.conf"
lab_up

link() { u -j link show -d dev "uib0@$1" | jq -r ".link[0].$2"; }
group() { u -j fabric group show | jq -r --arg g "$1" ".group[] | select(.mgid == \$g) | .$2"; }
group_is_there() { [ -n "$(group "$1" mgid)" ]; }
mlid() { group "$1" mlid; }

check "h1 has the profile" equal v4mc01 "$(link h1 profile)"
check "M8 M10 M14: the link is that of ff12::255.255.255.255" equal ff12::ffff:ffff "$(link h1 broadcast)"
check "M14: the MTU is the group's, less the header" equal 2044 "$(x h1 cat /sys/class/net/uib0/mtu)"
check "addresses are found unique" eventually 15 no_tentative 4
check "all reach all" all_pairs 3 reaches4
check "also by IPv6" all_pairs 3 reaches6
check "packets of the whole MTU pass" ping_to h1 10.4.0.3 -M "do" -s 2016
check "a longer one does not" not x h1 ping -n -q -c 1 -W 2 -M "do" -s 2017 10.4.0.3
check "for IPv4 h4 is on another link" eval '! x h4 ping -n -q -c 1 -W 2 10.4.0.1 && ! x h2 ping -n -q -c 1 -W 2 10.4.0.4'
check "for IPv6 it is on this one" reaches6 4 1

serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }
tcp() {
	bx h3 iperf3 -s -1 -p 5301 >"$work/server" 2>&1
	eventually 10 serves h3 5301 && x h1 iperf3 -c 10.4.0.3 -p 5301 -n 4M
}
check "TCP with super-frames" tcp
says() { x h1 ip neigh flush dev uib0 && u trace h1 h2 -4 >"$work/trace"; cat "$work/trace"; grep -q "ff12::ffff:ffff" "$work/trace" && grep -q "ARP who-has 10.4.0.2 tell 10.4.0.1" "$work/trace"; }
check "M8: the trace has the broadcast in words" eventually 10 says

# --- DHCP: its messages are broadcasts

dhcp() {
	printf '%s\n' 'default-lease-time 600;' 'subnet 10.4.0.0 netmask 255.255.255.0 { range 10.4.0.100 10.4.0.120; }' >"$work/dhcpd.conf"
	: >"$work/dhcpd.leases"
	bx h1 "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/dhcpd.conf" -lf "$work/dhcpd.leases" -pf "$work/dhcpd.pid" uib0 >"$work/dhcpd.log" 2>&1
	eventually 10 grep -q 'Server starting service' "$work/dhcpd.log" && client h2 '' "$UIPOIB" exec h2 && eventually 20 event h2 BOUND
}
check "M8: DHCP works" dhcp

# --- groups

declare -A receiver=()
recv() { # LABEL HOST GROUP: start a receiver of the group on HOST, with its output in $work/recv.LABEL
	bx "$2" "$mcast" recv uib0 "$3" 5000 >"$work/recv.$1"
	receiver[$1]=$!
	eventually 10 grep -q ^ready "$work/recv.$1"
}
send() { x "$1" "$mcast" send uib0 "$2" 5000 1 "$3"; } # FROM GROUP TEXT: send one datagram
heard() { grep -q "^$2" "$work/recv.$1"; } # LABEL TEXT: succeeds if receiver LABEL has got TEXT
sent_and_heard() { send "$2" "$3" "$4" && within 2 heard "$1" "$4"; } # LABEL FROM GROUP TEXT: succeeds if the datagram arrives at receiver LABEL
reaches() { eventually 30 sent_and_heard "$@"; }

check "M16: all-systems and all-routers are there" eval 'group_is_there ff12::e000:1 && group_is_there ff12::e000:2'
check "h2 and h3 join groups" eval 'recv two h2 225.1.1.1 && recv three h3 224.1.1.1'
two_groups() { group_is_there ff12::e101:101 && group_is_there ff12::e001:101 && [ "$(mlid ff12::e101:101)" != "$(mlid ff12::e001:101)" ]; }
check "M9: two groups, whose addresses differ in the first octet" eventually 10 two_groups
check "h2 hears the one" reaches two h1 225.1.1.1 to-h2
check "h3 hears the other" reaches three h1 224.1.1.1 to-h3
check "and neither hears what is not for it" eval '! heard two to-h3 && ! heard three to-h2'
absent() { u -j maddr show dev uib0@h1 | jq -e '.maddr[] | select(.mgid == "ff12::e201:101") | .state == "absent"'; }
check "M20: a sender makes no group" eval 'send h1 226.1.1.1 nobody && eventually 10 absent && not group_is_there ff12::e201:101'
refused() { u -j maddr show dev uib0@h2 | jq -e '.maddr[] | select(.mgid == "ff12::e301:101") | .state == "failed" and .attached and (.full_member | not)'; }
check "M22: the SA refuses h2 a group" eval 'recv refused h2 227.1.1.1 && eventually 10 refused'
check "M22: which hears it by the LID of all-systems" reaches refused h1 227.1.1.1 by-all-systems
sent=$(mlid ff12::e101:101),$(mlid ff12::e000:1),$(mlid ff12::ffff:ffff)
check "M25: a group ends with its receivers" eval 'kill "${receiver[two]}" && eventually 10 not group_is_there ff12::e101:101'
check "M27: an administrator's group does not" group_is_there ff12::e000:1

octets() { /usr/bin/python3 -B tests/system/octets_v4mc01.py "$work/all.pcap" "$(link h1 lid)" "$sent" "$@"; }
check "M1 M7 M9 M17: every packet of h1 is as the draft draws it" eventually 10 octets "255.255.255.255=2"
check "M21 M22: members' LID, or the LID of all-systems" eventually 10 octets "225.1.1.1=0 226.1.1.1=1 227.1.1.1=1"

# --- the administrator removes the broadcast group, and the group ends when its last member leaves

set_all() { local h; for h in 1 2 3; do x h$h ip link set uib0 "$1" || return 1; done; }
printf 'Default=0x7fff, ipoib : ALL=full;\n' >"$work/without.conf"
down() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep "ff12::ffff:ffff.*the group does not exist"; }
check "the group is taken away" eval 'u fabric partitions "$work/without.conf" && set_all down && eventually 10 not group_is_there ff12::ffff:ffff && set_all up'
check "M13: nobody creates it, and the link says so" eventually 30 down
check "the group is there again" u fabric partitions "$work/v4mc01-partitions.conf"
check "and the link" eventually 40 reaches4 1 3
check "the first lab ends" lab_down

# --- MTU 4096, a subnet number, and a group 224.0.0.1 that no host can join

cat >"$work/partitions.conf" <<-'END'
	Default=0x7fff, ipoib, scope=14, mtu=5 :
		mgid=ff1e::7:ffff:ffff, mtu=5, Q_Key=0x80000b1b
		mgid=ff1e::7:e000:1, mtu=5, rate=10, Q_Key=0x80000b1b
		ALL=full;
END
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 "partitions = partitions.conf" "capture = $work/second.pcap" |
	sed '/^\[interface uib0@h[12]\]/a profile = v4mc01\nsubnet-number = 7' | sed '/^\[interface uib0@h3\]/a profile = v4mc01\nsubnet-number = 8' >"$work/lab.conf"
check "the second lab starts" lab_start
both_up() { equal "UP UP" "$(link h1 state) $(link h2 state)"; }
check "h1 and h2 are up" eventually 30 both_up
lab_remember
check "M6 M11: their link has the subnet number" equal ff1e::7:ffff:ffff "$(link h1 broadcast)"
check "M14: the MTU is the group's, less the header" equal 4092 "$(x h1 cat /sys/class/net/uib0/mtu)"
check "h1 and h2 reach each other" reaches4 1 2
check "with packets of the whole MTU" ping_to h1 10.4.0.2 -M "do" -s 4064
no_group() { [ "$(link h3 state)" = JOINING ] && link h3 reason | grep "ff1e::8:ffff:ffff.*the group does not exist"; }
check "M6: h3 has another number, for which there is no group" eventually 20 no_group
no_systems() { u -j maddr show dev uib0@h2 | jq -e '.maddr[] | select(.mgid == "ff1e::7:e000:1") | .state == "failed" and .attached'; }
check "the SA refuses all-systems" eventually 20 no_systems
check "h2 joins a group" recv last h2 225.1.1.1
check "M19: with the number, too" eventually 10 group_is_there ff1e::7:e101:101
check "and hears h1" reaches last h1 225.1.1.1 joined
check "h2 listens to all-systems" recv systems h2 224.0.0.1
check "M22: and hears it by the LID of the broadcast group" reaches systems h1 224.0.0.1 by-broadcast
sent=$(mlid ff1e::7:e101:101),$(mlid ff1e::7:e000:1),$(mlid ff1e::7:ffff:ffff)
check "nobody is there to hear 226.1.1.1" send h1 226.1.1.1 nobody
mv "$work/second.pcap" "$work/all.pcap"
check "M22 M11: members' LID, or the broadcast LID" eventually 10 octets "225.1.1.1=0 224.0.0.1=2 226.1.1.1=2" 7
check "the lab ends" lab_down
finish
