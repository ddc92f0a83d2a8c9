#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# profile = hld2002 (intel-ipoib-linux-hld-2002), with the lab of examples/: network devices appear and disappear with
# the P_Keys of a port, while the traffic of other devices continues.
#
#	h1 hld2002 --- Switch1 === Switch2 --- h3 hld2002, pkeys = 0x7fff,0x0016
#	h2 hld2002 --/                  \----- h4 rfc4391
. "$(dirname "$0")/lib.sh"
need ping ip jq
cp examples/lab.topo examples/hld2002-partitions.conf "$work"
sed 's/^devices = 4 .*/devices = 3/' examples/hld2002.conf >"$work/lab.conf"

# parts LINE...: set the manager's partitions to the default partition and these lines
parts() {
	printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' "$@" >"$work/parts.conf"
	u fabric partitions "$work/parts.conf"
}
blue='Blue=0x0014, ipoib : 0x100001=full, 0x100003=full;'
red='Red=0x0016, ipoib : ALL=full;'
# member N FLAGS: print a partition with the members h1 and h2
member() { printf 'P%x=0x%04x%s : 0x100001=full, 0x100003=full;' "$1" "$1" "$2"; }
devices() { x "$1" ls /sys/class/net | grep ^ib | sort | tr '\n' ' '; }
has() { equal "$2" "$(devices "$1")"; }
row() { u -j link show dev "$2@$1" | jq -r ".link[0].$3"; }
shows() { row "$1" "$2" "$3" | grep -q "$4"; }
rows() { equal "$2" "$(u -j link show | jq -r --arg h "$1" '[.link[] | select(.host == $h) | .ifname] | sort | join(" ")')"; }
reaches() { x "$1" ping -n -q -c 1 -W 1 "$2"; }
same_files() { equal "$fds" "$(lab_files)"; }
lost() { equal 1 "$(grep -c "$1" "$work/lab.log")"; }

lab_up
check "H11: devices of h1 and h2 have the names of their P_Keys" eventually 10 has h1 "ib0_1_14 ib0_1_7fff "
check "and those of h2" eventually 10 has h2 "ib0_1_14 ib0_1_7fff "
check "H31: h3 has those of its list only" eventually 10 has h3 "ib0_1_7fff "
check "the profile is shown" equal hld2002 "$(row h1 ib0_1_14 profile)"
check "two hosts reach each other over the device of a partition" eventually 10 reaches h1 10.5.0.2
check "and over the default partition" eventually 10 reaches h1 10.4.0.3
check "and a host of rfc4391" eventually 10 reaches h4 10.4.0.1

resolve() { # HOST DEVICE OTHER: HOST resolves the IPv4 address of OTHER, and pings all nodes by IPv6
	x "$1" ip neigh flush dev "$2" && reaches "$1" "$3" && reaches "$1" "ff02::1%$2"
}
octets() { # PKEY DEVICE: check the form of the packets that h1 sent with this P_Key
	/usr/bin/python3 -B tests/system/octets_rfc4391.py "$work/all.pcap" "$(row h1 "$2" lid)" "$(row h1 "$2" gid)" "$1"
}
both() { resolve h1 "$1" "$2" && resolve "$3" "$1" "$4" && octets "$5" "$1"; }
check "a capture" u capture start "$work/all.pcap"
check "every packet of h1 in the default partition is as RFC 4391 draws it" eventually 20 both ib0_1_7fff 10.4.0.3 h3 10.4.0.1 0xffff
check "and in the other one" eventually 20 both ib0_1_14 10.5.0.2 h2 10.5.0.1 0x8014
check "the capture ends" u capture stop 1
check "the MTU is the group's" equal 2044 "$(x h1 cat /sys/class/net/ib0_1_14/mtu)"

one() { for p in $(descendants "$lab_pid"); do grep -lx "$1" "/proc/$p/comm"; done 2>/dev/null | cut -d/ -f3 | head -1; }
check "the helper may enter no namespace: it has CAP_NET_ADMIN only" equal 0000000000001000 "$(awk '$1 == "CapEff:" { print $2 }' "/proc/$(one uipoib-helper)/status")"

check "nobody writes secrets, because no interface has one" equal "" "$(one uipoib-writer)"

# --- H30: no device without a broadcast group
check "H30: a partition without a broadcast group has an interface that waits" eventually 10 shows h1 ib0_1_15 reason "the group does not exist"
check "and no device" has h1 "ib0_1_14 ib0_1_7fff "
check "which nobody waits for" u wait --timeout $patience

check "h1 and h3 exchange datagrams all the time" probe_start h1 h1 h3 10.4.0.3
check "h4 and h2, too" probe_start h4 h4 h2 10.4.0.2
timeout 3000 "$UIPOIB" -j monitor >"$work/monitor" 2>&1 &
monitor=$!
# connected: cause an event, and succeed if the monitor has shown an event, which means that the monitor is connected
connected() { u fabric sweep && [ -s "$work/monitor" ]; }
check "a monitor" eventually 10 connected
event() { grep '"interface"' "$work/monitor" | grep "\"$1\"" | grep -q "\"$2\""; }

parts "$blue" "$(member 21 ', ipoib')"
check "H30: trap 66 tells of the group: the device comes" eventually 20 has h1 "ib0_1_14 ib0_1_15 ib0_1_7fff "
fds=$(lab_files)

# --- P_Keys are added and removed, twice
for round in first second; do
	parts "$red"
	check "$round time: devices of partitions that are gone go" eventually 20 has h1 "ib0_1_16 ib0_1_7fff "
	check "$round time: and so do their rows" eventually 10 rows h1 "ib0_1_16 ib0_1_7fff"
	check "$round time: h3 has the P_Key of its list" eventually 20 has h3 "ib0_1_16 ib0_1_7fff "
	check "$round time: and its address" eventually 10 eval 'x h3 ip -o -4 addr show dev ib0_1_16 | grep -q 10.6.0.3/24'
	parts "$blue" "$(member 21 ', ipoib')"
	check "$round time: others come" eventually 20 has h1 "ib0_1_14 ib0_1_15 ib0_1_7fff "
	check "$round time: with their addresses" eventually 10 reaches h1 10.5.0.2
	check "$round time: no descriptor is left over" eventually 10 same_files
	check "$round time: fe80:: addresses reach each other" eventually 10 eval 'x h1 ping -n -q -6 -c 1 -W 1 ff02::1%ib0_1_15'
done
check "monitor shows what comes" eventually 5 event added ib0_1_16
check "and what goes" eventually 5 event removed ib0_1_16
kill $monitor
wait $monitor 2>/dev/null

# --- more P_Keys than network devices: with devices = 3, h2 has devices for only three of its five P_Keys
parts "$blue" "$(member 21 ', ipoib')" "$(member 22 ', ipoib')" "$(member 23 ', ipoib')"
full() { has h1 "ib0_1_14 ib0_1_15 ib0_1_16 ib0_1_17 ib0_1_7fff " && has h2 "ib0_1_14 ib0_1_15 ib0_1_7fff "; }
check "h2 has no more devices than it may" eventually 20 full
check "the log says so" eventually 5 eval 'grep -q "ib0_1_16@h2: no network device is left.*devices = 3" "$work/lab.log"'
check "and link show" eventually 10 shows h2 ib0_1_16 reason "all network devices of the section are in use"
check "which nobody waits for, either" u wait --timeout $patience
parts "$(member 22 ', ipoib')" "$(member 23 ', ipoib')"
check "they get a device when one is free" eventually 20 has h2 "ib0_1_16 ib0_1_17 ib0_1_7fff "

# --- an administrator of the host changes the devices
x h1 ip link set ib0_1_16 down
x h1 ip link set ib0_1_16 name blue0
x h1 ip link del ib0_1_17
parts "$blue"
check "a device that was renamed goes, too; one that was deleted is lost" eventually 20 has h1 "ib0_1_14 ib0_1_7fff "
check "the log says so once" eventually 5 lost 'ib0@h1.*there is a network device less'
gone() { [ ! -e "/proc/$1" ]; }
not_blue() { ! x h1 ip link show blue0; }
check "nothing of it is left" eventually 10 not_blue
x h1 ip tuntap add ib0_1_16 mode tap
parts "$blue" "$red"
check "a name that is taken: the device waits" eventually 20 eval 'shows h1 ib0_1_16 reason "not in the network namespace" && shows h1 ib0_1_16 state UP'
check "the log says so" eventually 5 eval 'grep -q "ib0_1_16@h1: putting the TAP into the namespace: .*busy" "$work/lab.log"'
x h1 ip tuntap del ib0_1_16 mode tap
comes() { x h1 ip link show ib0_1_16 | grep -q LOWER_UP; }
check "until it is free" eventually 20 comes
parts "$blue"
check "and it goes" eventually 20 has h1 "ib0_1_14 ib0_1_7fff "

check "traffic on another partition lost nothing" probe_lost_nothing h1
check "nor did that of h4" probe_lost_nothing h4

# --- the instance ends in the middle of a change
parts "$red" "$blue"
parts "$(member 21 ', ipoib')" "$(member 22 ', ipoib')"
check "stop in the middle" lab_down

# --- a host whose namespace has a name, and one whose devices have stable identifiers
space=hld-$$
sed -i "/^.interface ib0@h2.$/a ip6-iid = stable\nip6-secret = 5d3a91c2f0e84b76a1d4c3b2e5f60718" "$work/lab.conf"
sed -i "/^.interface ib0@h1.$/a netns = $space" "$work/lab.conf"
inside() { ip netns exec "$space" "$@"; }
lab_up
check "in a named namespace" eventually 10 eval 'inside ip link show ib0_1_14 && inside ping -n -q -c 1 -W 1 10.5.0.2'
stable() { x h2 ip -6 addr show dev ib0_1_14 scope link | grep -q stable-privacy; }
check "the device of a P_Key has a stable identifier" eventually 10 stable
check "which a process of its own wrote" test -n "$(one uipoib-writer)"

# --- an attacker who has taken over the daemon sends requests to its helper. The numbers of the TAPs are 1 to 8 for h1, 9 to 11
# for h2, 12 to 19 for h3, and 20 for uib0 of h4
daemon=$(cat /proc/"$lab_pid"/task/*/children | awk '{ print $1 }')
refused() { equal "$1" "$("$TOOLS/inject" "$daemon" "${@:2}")"; }
check "an attacker has no device of a name that means something" refused -1 place 1 8 eth0
check "nor of another CA" refused -1 place 1 8 ib1_1_15
check "nor with a secret, if the section has none" refused -1 place 1 8 ib0_1_15 stable
check "nor the TAP of another host" refused -19 place 1 9 ib0_1_15
check "gives a secret to no other interface" refused -1 place 2 9 lo stable
check "renames no device" refused -114 place 2 9 ib0_1_15
check "places no TAP of a configured interface" refused -1 place 4 20 ib0_1_15
check "nor takes it out of its host" refused -1 park 4 20
check "nothing of that had an effect" equal "ib0_1_14 ib0_1_7fff " "$(devices h2)"
check "and h4 has its interface" eventually 10 reaches h4 10.4.0.2
ip netns del "$space"
check "the named namespace is deleted" eventually 20 shows h1 ib0_1_14 reason "namespace is gone"
parts "$(member 21 ', ipoib')"
check "P_Keys change meanwhile" eventually 20 rows h1 "ib0_1_15 ib0_1_7fff"
ip netns add "$space"
back() { equal "ib0_1_15 ib0_1_7fff " "$(inside ls /sys/class/net | grep ^ib | sort | tr '\n' ' ')" && inside ping -n -q -c 1 -W 1 10.4.0.2; }
check "and made again: the devices are those of the P_Keys now" eventually 20 back
parts "$blue"
blue_again() { inside ping -n -q -c 1 -W 1 10.5.0.2; }
check "and they come and go there" eventually 20 blue_again
check "stop" lab_down
ip netns del "$space"
finish
