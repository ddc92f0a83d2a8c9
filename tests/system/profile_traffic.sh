#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# Segmentation and coalescing of TCP, stations with their own queue pairs, and DHCP with unmodified Ethernet programs work
# with each link profile. v6ib00 carries IPv6 only, so it is not tested with DHCP for IPv4.
#
#	m1		h2, dhcpd
#	 | macvlan	 |
#	h1 -- Switch1 -- Switch2
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dhcp/client.sh"
. "$(dirname "$0")/stations/stations.sh"
need dhcpd iperf3
cp "$(command -v dhcpd)" "$work"/
topo_ring 2 2 >"$work/lab.topo"
# In some profiles the MGID of the link's group has no P_Key. Only an administrator can create such a group, here by mgid=.
cat >"$work/partitions.conf" <<-'EOF'
	Default=0x7fff, ipoib : mgid=ff12:3333::1
		mgid=ff12::255.255.255.255, Q_Key=0x80000b1b
		ALL=full;
EOF
printf '%s\n' 'default-lease-time 600; ping-check false;' 'subnet 10.4.0.0 netmask 255.255.0.0 { range 10.4.1.1 10.4.1.50; }' >"$work/dhcpd.conf"

conf_of() { # PROFILE: print the configuration of the lab with this profile
	local of='' name=uib0 h
	[ "$1" != hld2002 ] || { name=ib0 of=',pkey=0x7fff'; }
	printf '[fabric lab]\ntopology = lab.topo\npartitions = partitions.conf\nsidr-server = yes\n'
	for h in 1 2; do
		conf_iface $name $h "profile = $1" "stations = 2" "address = fd04::$h/64$of"
		[ "$1" = v6ib00 ] || printf 'address = 10.4.0.%d/16%s\n' $h "$of"
	done
}

flow() { # ADDRESS: succeeds if TCP from h1 to h2 travels in super-frames on both TAPs
	local server status segments coalesced
	segments=$(counter "$dev@h1" tx_segments) coalesced=$(coalesced)
	bx h2 iperf3 -s -1 --forceflush >"$work/iperf.server" 2>&1
	server=$!
	eventually 10 grep -q listening "$work/iperf.server" && x h1 iperf3 -c "$1" -C cubic -n 50M && wait $server
	status=$?
	kill_own $server
	echo "segments: $segments before, $(counter "$dev@h1" tx_segments) now; coalesced: $coalesced before, $(coalesced) now"
	[ $status = 0 ] && [ "$(counter "$dev@h1" tx_segments)" -gt $((segments + 5000)) ] && [ "$(coalesced)" -gt $((coalesced + 5000)) ]
}
# coalesced: print the number of packets that were coalesced with other packets at h2
coalesced() { echo $(($(counter "$dev@h2" rx_packets) - $(counter "$dev@h2" rx_frames))); }

station() { # ADDRESS...: succeeds if m1 behind h1 has its own queue pair, and h2 reaches m1 at these addresses
	local a
	macvlan_station m1 h1 11 52:54:00:00:00:11 || return 1
	for a; do
		eventually 10 x h2 ping -n -c 1 -W 5 "$a" || return 1
	done
	[ -n "$(qpn "$dev@h1" 52:54:00:00:00:11)" ] && not equal "$(link_qpn)" "$(qpn "$dev@h1" 52:54:00:00:00:11)"
}
link_qpn() { u -j link show dev "$dev@h1" | jq -r '.link[0].qpn'; }

dhcp() {
	: >"$work/dhcpd.leases" && rm -f "$work/h1.leases"
	bx h2 "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/dhcpd.conf" -lf "$work/dhcpd.leases" -pf "$work/dhcpd.pid" "$dev" >"$work/dhcpd.log" 2>&1
	eventually 10 grep -q 'Server starting service' "$work/dhcpd.log" || { cat "$work/dhcpd.log"; return 1; }
	x h1 ip -4 addr flush dev "$dev" && client h1 '' "$UIPOIB" exec h1 && eventually 20 event h1 BOUND &&
		reaches4 1 2
}

for profile in rfc4391 linux hld2002 encaparp00 v4mc01 v6ib00; do
	dev=uib0
	[ $profile != hld2002 ] || dev=ib0_1_7fff
	conf_of $profile >"$work/lab.conf"
	lab_up
	check "$profile: the hosts reach each other by IPv6" reaches6 1 2
	if [ $profile = v6ib00 ]; then
		check "$profile: TCP in super-frames" flow fd04::2
		check "$profile: a station" station fd04::11
	else
		check "$profile: TCP in super-frames" flow 10.4.0.2
		check "$profile: a station" station 10.4.0.11 fd04::11
		check "$profile: DHCP" dhcp
	fi
	check "$profile: the lab ends" lab_down
	end_jobs
done
finish
