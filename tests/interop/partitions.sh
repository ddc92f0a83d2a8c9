#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# One partitions.conf has the same effect under OpenSM and under the embedded SM. Interfaces come up with exactly the
# parameters of their partition's group. Neither limited members nor hosts of different partitions reach each other. When
# a partition is removed, its interfaces go down and show the reason.
#
#	Default 0x7fff	all			uib0	10.4.0.N
#	Lab     0x0001	h1 h2 full, h3 h4 limited	uib1	10.5.0.N	MTU 4096, 2.5 Gb/s, SL 2, controlled Q_Key
#	Other   0x0002	h5 h6 full		uib1	10.5.0.N	MTU 2048, SL 3
#
#	      h1  h4         h2  h5         h3  h6
#	       \  /           \  /           \  /
#	      Switch1 ------ Switch2 ------ Switch3 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
need opensm ping
topo_ring 6 3 >"$work/lab.topo"
guid() { printf '0x10%04x' $((2 * $1 - 1)); } # N: print the GUID of HcaN's port, which is the GUID on ibsim, too

partitions() { # [other]: print the partitions file, with the partition Other if there is an argument
	echo "Default=0x7fff, ipoib : ALL=full;"
	echo "Lab=0x0001, ipoib, mtu=5, rate=2, sl=2, Q_Key=0x80010b1b : $(guid 1)=full, $(guid 2)=full, $(guid 3)=limited, $(guid 4)=limited;"
	[ $# = 0 ] || echo "Other=0x0002, ipoib, mtu=4, sl=3 : $(guid 5)=full, $(guid 6)=full;"
}

config() { # LINE...: print the configuration, with these lines in [fabric lab]
	local i
	conf_hosts 6 "$@"
	for i in 1 2 3 4 5 6; do
		case $i in 1 | 2) key=0x8001 ;; 3 | 4) key=0x0001 ;; *) key=0x8002 ;; esac
		conf_iface uib1 $i "pkey = $key" "address = 10.5.0.$i/16" "address = fd05::$i/64"
	done
}

link() { u -j link show -d dev "$1" | jq -r ".link[0].$2"; }

# parameters IF@HOST WANT: succeeds if WANT lists the MTU of the interface, and the MTU, rate, SL, Q_Key, MGID and P_Key
# of its group
parameters() {
	equal "$2" "$(u -j -d link show dev "$1" | jq -r '.link[0] | [.mtu, .group.mtu, .group.rate_mbps, .group.sl,
		.group.qkey, .group.mgid, .group.pkey] | join(" ")')"
}

# reach PAIR...: succeeds if the hosts of each pair ping each other by IPv4 and IPv6. A manager answers a join before the switches have
# the new tree, so the first requests of ARP and neighbour discovery may be lost
reach() {
	local p
	for p; do
		ping_to h${p%-*} 10.5.0.${p#*-} && ping_to h${p%-*} fd05::${p#*-} || return 1
	done
}

apart() {
	refuse 1 ' 0 received|100% packet loss' x h$1 ping -n -c 2 -i 0.1 -W 1 10.5.0.$2
}

# large: succeeds if packets of full size pass in a group of MTU 4096
large() {
	ping_to h1 10.5.0.2 -M do -s $((4092 - 28)) &&
		refuse 1 '[Mm]essage too long' x h1 ping -n -c 1 -W 5 -M do -s $((4092 - 27)) 10.5.0.2
}

is_down() { # IF@HOST REASON: succeeds if the interface is down for this reason
	echo "$(link "$1" state) $(link "$1" carrier): $(link "$1" reason)"
	[ "$(link "$1" state)" != UP ] && [ "$(link "$1" carrier)" = false ] && link "$1" reason | grep -q "$2"
}

is_up() { equal UP "$(link "$1" state)"; }

reload_opensm() {
	partitions "$@" >"$work/partitions.conf"
	kill -HUP "$osm_pid"
}
reload_embedded() {
	partitions "$@" >"$work/partitions.conf"
	u fabric partitions "$work/partitions.conf"
}

start_opensm() {
	config "sm = external" "ibsim = $inst" >"$work/lab.conf"
	lab_start && osm_start lab Hca1 -Q -P "$work/partitions.conf" # without -Q OpenSM ignores sl=
}
start_embedded() {
	config "partitions = partitions.conf" >"$work/lab.conf"
	lab_start
}

for manager in opensm embedded; do
	# OpenSM's default Q_Key is not controlled (bit 31 is 0), and the embedded SM's default Q_Key
	# is controlled
	case $manager in opensm) qkey=0x00000b1b ;; *) qkey=0x80000b1b ;; esac
	partitions other >"$work/partitions.conf"
	check "$manager: starts" start_$manager
	check "$manager: all interfaces are up" u wait --timeout $patience
	lab_remember
	check "$manager: the default partition's parameters" \
		parameters uib0@h1 "2044 2048 10000 0 $qkey ff12:401b:ffff::ffff:ffff 0xffff"
	check "$manager: a full member has Lab's parameters" \
		parameters uib1@h1 "4092 4096 2500 2 0x80010b1b ff12:401b:8001::ffff:ffff 0x8001"
	check "$manager: a limited member too" \
		parameters uib1@h3 "4092 4096 2500 2 0x80010b1b ff12:401b:8001::ffff:ffff 0x8001"
	check "$manager: Other's parameters" \
		parameters uib1@h5 "2044 2048 10000 3 $qkey ff12:401b:8002::ffff:ffff 0x8002"
	check "$manager: IPv6 addresses are found unique" eventually 15 no_tentative 6
	check "$manager: full members reach each other" reach 1-2 2-1 5-6 6-5
	check "$manager: limited members and full members reach each other" reach 3-1 1-3 4-2 2-4
	check "$manager: packets of 4092 octets pass, larger ones are refused" large
	check "$manager: limited members do not reach each other" apart 3 4
	check "$manager: nothing crosses between partitions" apart 1 5
	check "$manager: nor to a limited member" apart 6 3
	check "$manager: Other is taken away" reload_$manager
	check "$manager: its interfaces go down, the reason names the P_Key" eventually 20 is_down uib1@h5 'P_Key 0x8002'
	check "$manager: both of them" eventually 20 is_down uib1@h6 'P_Key 0x8002'
	check "$manager: they are apart" apart 5 6
	check "$manager: the others stay" eval 'is_up uib1@h1 && is_up uib1@h2 && is_up uib1@h3 && reach 1-2 3-1'
	check "$manager: the default partition of those hosts stays" eval 'is_up uib0@h5 && ping_to h5 10.4.0.6'
	check "$manager: Other comes back" reload_$manager other
	check "$manager: so do its interfaces" eventually 30 is_up uib1@h5
	check "$manager: and" eventually 30 is_up uib1@h6
	check "$manager: and their traffic" reach 5-6
	osm_stop
	lab_down
done
finish
