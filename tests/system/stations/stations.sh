# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions for stations behind a host's TAP. Scripts source this file after lib.sh. Each station is a network namespace with one interface, e0.
#
#	check "s1 behind a bridge" veth_station s1 h1 11 52:54:00:00:00:11		s1 has 10.4.0.11 and fd04::11, and is behind h1's bridge br0
#	check "s1 has an address" in_ s1 ip addr
#	qpn uib0@h1 52:54:00:00:00:11

declare -A pid
in_() { local s=$1; shift; nsenter -t "${pid[$s]}" -n "$@"; }

new_space() { # STATION HOST: make the network namespace of the station, as a child of a process in HOST
	local p
	bx "$2" unshare -n sleep 1000
	p=$!
	pid[$1]=$p
	eventually 5 has_own_space "$p" "$2"
}
has_own_space() {
	[ "$(readlink "/proc/$1/exe")" = "$(realpath "$(command -v sleep)")" ] &&
		[ "$(readlink "/proc/$1/ns/net")" != "$(x "$2" readlink /proc/self/ns/net)" ]
}

# address STATION N [MAC]: set the interface up with 10.4.0.N and fd04::N, without duplicate address detection
address() {
	in_ "$1" ip link set lo up &&
		{ [ -z "${3:-}" ] || in_ "$1" ip link set e0 address "$3"; } &&
		in_ "$1" ip link set e0 mtu 2044 &&
		in_ "$1" ip link set e0 up &&
		in_ "$1" ip addr add "10.4.0.$2/16" dev e0 &&
		in_ "$1" ip addr add "fd04::$2/64" dev e0 nodad
}

veth_station() { # STATION HOST N [MAC]: make a station behind the bridge br0 of HOST
	new_space "$1" "$2" &&
		x "$2" ip link add "$1" mtu 2044 type veth peer name e0 netns "${pid[$1]}" &&
		x "$2" ip link set "$1" master br0 &&
		x "$2" ip link set "$1" up &&
		address "$1" "$3" "${4:-}"
}

macvlan_station() { # STATION HOST N [MAC]: make a station with a macvlan of the interface of HOST
	new_space "$1" "$2" &&
		x "$2" ip link add link "${dev:-uib0}" name "$1" type macvlan mode bridge &&
		x "$2" ip link set "$1" netns "${pid[$1]}" &&
		in_ "$1" ip link set "$1" name e0 &&
		address "$1" "$3" "${4:-}"
}

# stations IF: print "MAC QPN ADDRESS" for each station, one in a line
stations() { u -j link show dev "$1" | jq -r '.link[0].stations[] | [.mac, .qpn, .lladdr] | @tsv' | sort; }
qpn() { stations "$1" | awk -v mac="$2" '$1 == mac { print $2 }'; }
counter() { u -j -d stats show dev "$1" | jq "[.stats[] | select(.counter == \"$2\") | .value] | add"; }

kill_station() { # STATION HOST: end the station and remove its interface
	kill "${pid[$1]}" && eventually 5 not test -d "/proc/${pid[$1]}"
	x "$2" ip link del "$1" 2>/dev/null || true
}
