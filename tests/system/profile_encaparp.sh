#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests profile = encaparp00 (draft-pelissier-ipoib-encaparp-00), with the lab of examples/: the traffic of the hosts'
# kernels on a link of this profile, and the packets on the wire. The subnet manager's node answers SIDR requests. h4 is
# on the same partition and has the default profile.
#
#	h1 encaparp00 --- Switch1 === Switch2 --- h3 encaparp00
#	h2 encaparp00 --/                  \----- h4 rfc4391
. "$(dirname "$0")/lib.sh"
need ping iperf3 python3 ss
mcast=$TOOLS/mcast
cp examples/lab.topo "$work"
sed "/^topology/a capture = $work/all.pcap" examples/encaparp00.conf >"$work/lab.conf"
lab_up

link() { u -j link show dev "uib0@$1" | jq -r ".link[0].$2"; }
tap_mtu() { x "$1" cat /sys/class/net/uib0/mtu; }

check "h1 has the profile" equal encaparp00 "$(link h1 profile)"
check "and h4 the default" equal rfc4391 "$(link h4 profile)"
check "P18: the group came by SIDR" equal ff12:401b:ffff::ffff:ffff "$(link h1 broadcast)"
check "P8: the MTU is 2048, less the encapsulation on paths of 2048" equal 2044 "$(tap_mtu h1)"
check "addresses are found unique" eventually 15 no_tentative 4
check "P13: the link-local address is that of the EUI-64" eval 'x h1 ip -6 -o addr show dev uib0 scope link | grep -Eq "inet6 fe80::2"'
check "all reach all, IPv4" all_pairs 3 reaches4
check "and IPv6" all_pairs 3 reaches6
check "packets of the whole MTU pass" ping_to h1 10.4.0.3 -M "do" -s 2016
check "and larger ones in fragments" ping_to h1 10.4.0.3 -s 9000
apart() {
	not x h1 ping -n -q -c 1 -W 2 10.4.0.4 && not x h4 ping -n -q -c 1 -W 2 10.4.0.1 &&
		not x h1 ping -n -q -c 1 -W 2 fd04::4 && not x h4 ping -n -q -c 1 -W 2 fd04::1
}
check "h4 does not understand them, nor they h4" apart

serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }
flow() { # PORT TARGET OPTION...: send TCP or UDP from h1 to TARGET on h3
	bx h3 iperf3 -s -1 -p "$1" >"$work/server" 2>&1
	eventually 10 serves h3 "$1" && x h1 iperf3 -c "$2" -p "$1" "${@:3}"
}
check "TCP with super-frames, IPv4" flow 5301 10.4.0.3 -n 4M
check "and IPv6" flow 5302 fd04::3 -n 4M
check "UDP" flow 5303 10.4.0.3 -u -b 20M -n 1M

listens() { grep -q ^ready "$work/recv.$1"; }
hears() { # GROUP PORT MGID: succeeds if h2 and h3 join the group, and receive the multicast that h1 sends
	local h
	for h in h2 h3; do
		bx $h "$mcast" recv uib0 "$1" "$2" >"$work/recv.$h"
	done
	eventually 10 listens h2 && eventually 10 listens h3 && eventually 20 heard "$1" "$2" &&
		u -j fabric group show | jq -e --arg g "$3" '[.group[].mgid] | index($g)'
}
heard() { x h1 "$mcast" send uib0 "$1" "$2" 1 from-h1 && within 5 grep -q ^from-h1 "$work/recv.h2" && within 5 grep -q ^from-h1 "$work/recv.h3"; }
check "a group of IPv4, as RFC 4391 maps it" hears 239.1.2.3 5000 ff12:401b:ffff::f01:203
check "a group of IPv6" hears ff15::1:2:3 5001 ff12:601b:ffff::1:2:3

says4() { x h1 ip neigh flush dev uib0 && u trace h1 h2 >"$work/trace"; cat "$work/trace"; grep -Eq 'IBARP who-has 10.4.0.2 tell 10.4.0.1 at EUI-64 [0-9a-f]{16} QPN 0x[0-9a-f]{6} Q_Key 0x80000b1b GID fe80::' "$work/trace"; }
says6() { x h1 ip -6 neigh flush dev uib0 && u trace h1 h2 -6 >"$work/trace"; cat "$work/trace"; grep -Eq 'solicitation.* source EUI-64 [0-9a-f]{16} QPN 0x[0-9a-f]{6} Q_Key 0x80000b1b GID fe80::' "$work/trace"; }
check "P20: the trace has IBARP in words" eventually 10 says4
check "P14: and the option of Neighbour Discovery" eventually 10 says6

ra_within() { advertised_mtu 1400 1400 && advertised_mtu 2044 2044; }
ra_above() { advertised_mtu 4096 2044 && advertised_mtu 2045 2044; }
check "P9: an MTU in an advertisement makes it less" ra_within
check "P10: a larger one is ignored" ra_above
check "and is in the log" eventually 5 grep -q 'router advertisement with MTU 4096, more than the link.s 2044: ignored' "$work/lab.log"
manual() { # set the MTU of the TAP, as a DHCP client does with an MTU from its lease
	x h1 ip link set uib0 mtu 1400 && advertised_mtu 1500 1400 && ping_to h1 10.4.0.2 -M "do" -s 1372 &&
		refuse 1 '[Mm]essage too long' x h1 ping -n -c 1 -W 5 -M "do" -s 1373 10.4.0.2 && x h1 ip link set uib0 mtu 2044
}
check "P9 P11: one that DHCP or somebody sets, too, and it bounds those of advertisements" manual

check "h1 is asked for its address" asks h2 10.4.0.1
octets() { /usr/bin/python3 -B tests/system/octets_encaparp00.py "$work/all.pcap" "$(link h1 lid)" "$(link h1 gid)"; }
check "P1-P4 P14 P16 P18 P20-P23 P26 P27: every packet of h1 is as the draft draws it" eventually 10 octets # packets reach the capture a moment later

shows() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep "$1"; }
up() { equal UP "$(link "$1" state)"; }
printf 'Default=0x7fff, ipoib, mtu=3 : ALL=full;\n' >"$work/small.conf"
printf 'Default=0x7fff, ipoib, mtu=5 : ALL=full;\n' >"$work/large.conf"
check "the lab ends" lab_down

sed "/^topology/a partitions = small.conf" examples/encaparp00.conf >"$work/lab.conf"
check "a lab with groups of 1024 octets" lab_start
check "P7: it has no such link, which says why" eventually 30 shows "MTU 1024, which no link of profile encaparp00 has"
check "h4 has its link" eventually 30 up h4
check "the administrator makes the groups larger" eval 'u fabric partitions "$work/large.conf" && for h in 1 2 3 4; do x h$h ip link set uib0 down; done'
check "now there is a link" eval 'for h in 1 2 3 4; do x h$h ip link set uib0 up || break; done; eventually 60 up h1 && eventually 60 up h2'
check "P8: of 2048 octets, though its paths have 4096" equal 2048 "$(tap_mtu h1)"
whole() { x h1 ip addr replace 10.4.0.1/24 dev uib0 && x h2 ip addr replace 10.4.0.2/24 dev uib0 && x h1 ping -n -q -c 1 -W 5 -M "do" -s 2020 10.4.0.2; }
check "which pass whole" eventually 20 whole
check "the lab ends" lab_down

sed "/^sidr-server/d" examples/encaparp00.conf >"$work/lab.conf"
check "a lab in which nobody answers SIDR" lab_start
check "P18: there is no link, which says why" eventually 30 shows "ServiceRecord"
check "h4 has its link" eventually 30 up h4
check "the lab ends" lab_down
finish
