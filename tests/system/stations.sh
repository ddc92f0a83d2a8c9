#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# Several stations are behind one TAP. Each has its own queue pair, and therefore its own link-layer address.
#
#	s1  s2				m1  m2  m3
#	 |  |    veth			 |   |   |    macvlan
#	 br0 (h1)		h2	 uib0 (h3), stations = 2
#	  |			|	  |
#	 uib0			uib0	  |
#	  ---- Switch1 -- Switch2 --------
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/stations/stations.sh"
need bridge iperf3 tshark
mcast=$TOOLS/mcast
[ -x "$mcast" ] || { echo "not ok - $mcast is built"; exit 1; }
topo_ring 3 2 >"$work/lab.topo"
{
	printf '[fabric lab]\ntopology = lab.topo\n'
	conf_iface uib0 1
	conf_iface uib0 2 "address = 10.4.0.2/16" "address = fd04::2/64"
	conf_iface uib0 3 "stations = 2"
} >"$work/lab.conf"
lab_up

bridge_h1() {
	x h1 ip link add br0 mtu 2044 type bridge &&
		x h1 ip link set br0 up &&
		x h1 ip addr add 10.4.0.1/16 dev br0 &&
		x h1 ip addr add fd04::1/64 dev br0 nodad &&
		veth_station s1 h1 11 52:54:00:00:00:11 &&
		veth_station s2 h1 12 52:54:00:00:00:12
}

macvlans_h3() {
	macvlan_station m1 h3 31 52:54:00:00:00:31 && macvlan_station m2 h3 32 52:54:00:00:00:32
}

enslave() { x h1 ip link set uib0 master br0; }

# --- stations and hosts reach each other

at() { # WHERE CMD...: run the command at a station or a host
	local w=$1
	shift
	case $w in h*) x "$w" "$@" ;; *) in_ "$w" "$@" ;; esac
}

pings() { # FROM TO OPTION...: station or host FROM pings the address whose last octet is TO
	local from=$1 to=$2
	shift 2
	eventually 20 at "$from" ping -n -c 2 -i 0.02 -W 5 "$@" "10.4.0.$to" && eventually 20 at "$from" ping -n -6 -c 2 -i 0.02 -W 5 "$@" "fd04::$to"
}

everybody() { # succeeds if each host and station reaches each address
	local from to
	for from in s1 s2 m1 m2 h1 h2; do
		for to in 1 2 11 12 31 32; do
			pings $from $to || { echo "$from does not reach $to"; return 1; }
		done
	done
}

largest() {
	eventually 20 at "$1" ping -n -c 1 -W 5 -M do -s 2016 "10.4.0.$2" && not at "$1" ping -n -c 1 -W 1 -M do -s 2017 "10.4.0.$2"
}

flow() { # FROM TO ADDRESS OPTION...: send data by iperf3 from FROM to ADDRESS, which belongs to TO
	local from=$1 to=$2 address=$3 server status
	shift 3
	rm -f "$work/iperf.server"
	at "$to" iperf3 -s -1 -B "$address" --forceflush >"$work/iperf.server" 2>&1 &
	server=$!
	eventually 10 grep -q listening "$work/iperf.server" &&
		at "$from" iperf3 -c "$address" -C cubic "$@" && wait $server
	status=$?
	kill_own $server
	return $status
}

# --- multicast

has() { grep -q "^$2" "$1"; }

member() { # LABEL WHERE IF GROUP PORT: start a receiver of the group at WHERE, with its output in $work/LABEL
	local label=$1 w=$2
	shift 2
	case $w in
	h*) bx "$w" "$mcast" recv "$@" >"$work/$label" ;;
	*) background nsenter -t "${pid[$w]}" -n "$mcast" recv "$@" >"$work/$label" ;;
	esac
	eventually 10 has "$work/$label" ready
}

reached() { # FILE FROM IF GROUP PORT: succeeds if one datagram of FROM arrives at the receiver with the output FILE
	local file=$1 from=$2
	shift 2
	at "$from" "$mcast" send "$@" 1 probe && within 1 has "$work/$file" probe
}

each_once() { # FILE FROM IF GROUP PORT: succeeds if the receiver with the output FILE gets each of 100 datagrams once
	local file=$1 from=$2
	shift 2
	at "$from" "$mcast" send "$@" 100 data || return 1
	eventually 5 has "$work/$file" "data 100" || return 1
	equal "100 100" "$(grep -c '^data ' "$work/$file") $(grep '^data ' "$work/$file" | sort -u | wc -l)"
}

knows_groups() { # IF MAC N: succeeds if uipoib knows at least N groups of the station
	u -j link show dev "$1" | jq -e ".link[0].stations[] | select(.mac == \"$2\" and .groups >= $3)"
}

# --- packets on the wire

distinct_qpns() {
	local n
	[ "$(stations uib0@h1 | wc -l)" -ge 2 ] || return 1
	u capture start "$work/wire.pcap" >/dev/null || return 1
	for n in s1 s2 h1; do
		eventually 20 at $n ping -n -c 1 -W 5 10.4.0.2 || return 1
	done
	u capture stop "$(u -j capture show | jq '.capture[-1].id')" >/dev/null || return 1
	tshark -n -r "$work/wire.pcap" -Y 'icmp.type == 8' -T fields -e ip.src -e infiniband.deth.srcqp >"$work/wire" 2>/dev/null
	cat "$work/wire"
	equal 3 "$(cut -f2 "$work/wire" | sort -u | wc -l)"
	equal "$(($(qpn uib0@h1 52:54:00:00:00:11)))" \
		"$(($(awk '$1 == "10.4.0.11" { print $2 }' "$work/wire")))"
}

# --- s1 joined its groups before the TAP was a port of the bridge, so the TAP has not received the membership reports

check "a bridge with two stations behind h1" bridge_h1
check "s1 joins a group of IPv4" member early4 s1 e0 239.4.4.4 7001
check "s1 joins a group of IPv6" member early6 s1 e0 ff15::4:4 7002
# The kernel of s1 reports a join twice, up to a second apart (RFC 3376 §8.11, RFC 3810 §9.11). Nothing shows when it has
# sent the second report, so wait for a fixed time.
sleep 2.5
check "the TAP becomes a port of the bridge" enslave
check "s1 reaches h2 by IPv4 and IPv6" pings s1 2
check "I30: s1 is asked, and its groups are known" eventually 10 knows_groups uib0@h1 52:54:00:00:00:11 2
check "h2's multicast reaches s1 (IPv4)" eventually 10 reached early4 h2 uib0 239.4.4.4 7001
check "h2's multicast reaches s1 (IPv6)" eventually 10 reached early6 h2 uib0 ff15::4:4 7002
check "each datagram comes once (IPv4)" each_once early4 h2 uib0 239.4.4.4 7001
check "each datagram comes once (IPv6)" each_once early6 h2 uib0 ff15::4:4 7002
check "s2 joins, too" member late4 s2 e0 239.4.4.5 7003
check "s1's multicast reaches s2 once" each_once late4 s1 e0 239.4.4.5 7003
check "h2 joins" member h2 h2 uib0 239.4.4.6 7004
check "s1's multicast reaches h2" eventually 10 reached h2 s1 e0 239.4.4.6 7004
check "each datagram of s1 comes once" each_once h2 s1 e0 239.4.4.6 7004

check "macvlans on h3" macvlans_h3
check "everybody reaches everybody by IPv4 and IPv6" everybody
check "2016 octets fit between stations, 2017 do not" largest s1 31
check "TCP from a bridge's station to a macvlan" flow s1 m1 10.4.0.31 -n 30M
check "TCP the other way, IPv6" flow m1 s1 fd04::11 -n 30M
check "TCP from a plain host to a station" flow h2 s2 10.4.0.12 -n 30M
check "UDP between stations" flow s2 m2 10.4.0.32 -u -b 20M -n 2M
check "each station has a QPN of its own on the wire" distinct_qpns
check "link show tells of stations" eventually 10 sh -c "\"$UIPOIB\" -d link show dev uib0@h1 | grep -q 52:54:00:00:00:11"

# Let m1 and m2 send all the time, because the third station would take the place of a station that was idle for 10 s.
busy=''
for m in m1 m2; do
	at $m ping -n -i 0.5 10.4.0.2 >"$work/busy.$m" &
	busy+=" $!"
done
check "m1 and m2 send" eval 'eventually 10 grep -q "bytes from" "$work/busy.m1" && eventually 10 grep -q "bytes from" "$work/busy.m2"'
check "a third station is one too many on h3" macvlan_station m3 h3 33 52:54:00:00:00:33
check "it is refused, and counted" not at m3 ping -n -c 1 -W 1 10.4.0.2
check "under its reason" test "$(counter uib0@h3 drop_tap_station_limit)" -gt 0
check "the others go on" pings m1 2
# shellcheck disable=SC2046
for pid in $busy; do kill $(descendants "$pid"); done

# --- s2 moves: a machine with the same MAC and address starts behind h2 and announces itself

check "h2 talks to m2" pings h2 32
check "m2 ends" kill_station m2 h3
check "m2 starts again behind h1" veth_station m2b h1 32 52:54:00:00:00:32
announced() {
	in_ m2b arping -q -c 1 -U -I e0 10.4.0.32
	at h2 ping -n -c 1 -W 1 10.4.0.32
}
check "h2 reaches it there once it is announced" eventually 5 announced
check "I29: and its neighbour entry is the new place's" equal "$(qpn uib0@h1 52:54:00:00:00:32)" \
	"$(u -j neigh show dev uib0@h2 | jq -r '.neigh[] | select(.ip | index("10.4.0.32")) | .qpn')"

# --- after a restart the stations have the same addresses

stations uib0@h1 | grep ' *52:54' >"$work/before"
check "the lab ends" lab_down
end_jobs
check "nothing is left behind" eventually 10 lab_gone
lab_up
check "the bridge again" bridge_h1
check "with the TAP" enslave
check "s1 is back" pings s1 2
check "s2 is back" pings s2 2
check "with the link-layer addresses that they had" equal "$(grep -E ':1[12]	' "$work/before")" \
	"$(stations uib0@h1 | grep -E '52:54.*:1[12]	')"
finish
