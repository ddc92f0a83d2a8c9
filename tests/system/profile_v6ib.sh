#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests profile = v6ib00 (draft-kashyap-ipoib-ipv6-over-ib-00), with the lab of examples/: the traffic of the hosts'
# kernels on a link of this profile, and the packets on the wire. h4 is on the same partition and has the default profile.
#
#	h1 v6ib00 --- Switch1 === Switch2 --- h3 v6ib00
#	h2 v6ib00 --/                  \----- h4 rfc4391
. "$(dirname "$0")/lib.sh"
need ping iperf3 python3 ss
mcast=$TOOLS/mcast
cp examples/lab.topo examples/v6ib00-partitions.conf "$work"
sed "/^topology/a capture = $work/all.pcap" examples/v6ib00.conf >"$work/lab.conf"
lab_up

link() { u -j link show dev "uib0@$1" | jq -r ".link[0].$2"; }
counter() { u -j stats show | jq --arg h "$1" --arg c "$2" '[.stats[] | select(.host == $h and .counter == $c) | .value] | add // 0'; }
counts() { [ "$(counter "$1" "$2")" -gt "$3" ]; } # HOST COUNTER MORE-THAN: succeeds if the counter of HOST is larger than MORE-THAN

check "h1 has the profile" equal v6ib00 "$(link h1 profile)"
check "and h4 the default" equal rfc4391 "$(link h4 profile)"
check "V16 V24: the link is that of ff12:3333::1" equal ff12:3333::1 "$(link h1 broadcast)"
check "V16: the MTU is the group's, of which no header takes a part" equal 2048 "$(x h1 cat /sys/class/net/uib0/mtu)"
check "addresses are found unique" eventually 15 no_tentative 4
check "all reach all" all_pairs 3 reaches6
check "packets of the whole MTU pass" ping_to h1 fd04::3 -M "do" -s 2000
check "h4 is on another link" eval '! x h4 ping -n -q -c 1 -W 2 fd04::1 && ! x h2 ping -n -q -c 1 -W 2 fd04::4'

serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }
tcp() {
	bx h3 iperf3 -s -1 -p 5301 >"$work/server" 2>&1
	eventually 10 serves h3 5301 && x h1 iperf3 -6 -c fd04::3 -p 5301 -n 4M
}
check "TCP with super-frames" tcp

listens() { grep -q ^ready "$work/recv.$1"; }
for h in h2 h3; do
	bx $h "$mcast" recv uib0 ff15::1:2:3 5000 >"$work/recv.$h"
done
heard() { # FROM: succeeds if h2 and h3 receive the multicast that FROM sends
	x "$1" "$mcast" send uib0 ff15::1:2:3 5000 1 "$1" && within 5 grep -q "^$1" "$work/recv.h2" && within 5 grep -q "^$1" "$work/recv.h3"
}
group_is_there() { u -j fabric group show | jq -e --arg g "$1" '[.group[].mgid] | index($g)'; }
check "h2 and h3 join a group" eval 'eventually 10 listens h2 && eventually 10 listens h3'
check "V4 V5 V6: as the group ff15:3333::1:2:3" eventually 10 group_is_there ff15:3333::1:2:3
check "and hear h1" eventually 20 heard h1

no_ipv4() {
	local before
	before=$(counter h1 drop_tap_ethertype)
	x h1 ip addr add 10.4.0.1/24 dev uib0 && ! x h1 ping -n -q -c 1 -W 2 10.4.0.4 && counts h1 drop_tap_ethertype "$before"
}
check "V20: IPv4 and ARP are dropped and counted" no_ipv4
check "no group of IPv4 is missed" eval '! grep -q "cannot be received" "$work/lab.log"'

says() { x h1 ip -6 neigh flush dev uib0 && u trace h1 h2 -6 >"$work/trace"; cat "$work/trace"; grep -Eq 'solicitation.* source LID [0-9]+ QPN 0x[0-9a-f]{6} Q_Key 0x80000b1b GID fe80::' "$work/trace"; }
check "V10 V11 V14: the trace has the option in words" eventually 10 says

ra_above() { advertised_mtu 1400 1400 && advertised_mtu 2048 2048 && advertised_mtu 4096 2048 && advertised_mtu 2049 2048; }
check "V18: an MTU in an advertisement that exceeds the group's is ignored" ra_above

of_eui64() { # PREFIX: print the address of h1 that is made of its EUI-64, whose u bit is set
	/usr/bin/python3 -c 'import ipaddress as i, sys
print(i.ip_address(int(i.ip_address(sys.argv[1])) | int(i.ip_address(sys.argv[2])) & (1 << 64) - 1 | 2 << 56))' "$1" "$(link h1 gid)"
}
addresses_in() { x h1 ip -6 -o addr show dev uib0 scope global dynamic | awk -v p="$1" 'index($4, p) == 1 { sub("/.*", "", $4); print $4 }'; }
configured() { advertise h2 prefix fd09:1:2:3:: && equal "$(of_eui64 fd09:1:2:3::)" "$(addresses_in fd09:)"; }
check "V9: h1 has the address of an advertised prefix and its EUI-64, and no other" eventually 10 configured
reached() { x h2 ping -n -q -c 1 -W 2 "$(of_eui64 fd09:1:2:3::)"; }
check "and is reached by it" eventually 10 reached

octets() { /usr/bin/python3 -B tests/system/octets_v6ib00.py "$work/all.pcap" "$(link h1 lid)" "$(link h1 gid)"; }
check "V1 V2 V10 V14 V17 V22: every packet of h1 is as the draft draws it" eventually 10 octets # packets reach the capture a moment later

# The administrator removes the group ff12:3333::1 from the partitions file, and the group ends with its last member. `link
# show` names the missing group as the reason why the link is down. The link is up again when the group exists again.
set_all() { local h; for h in 1 2 3; do x h$h ip link set uib0 "$1" || return 1; done; }
group_is_gone() { u -j fabric group show | jq -e '[.group[].mgid] | index("ff12:3333::1") == null'; }
printf 'Default=0x7fff, ipoib : ALL=full;\n' >"$work/without.conf"
down() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep "ff12:3333::1.*the group does not exist"; }
check "the group is taken away" eval 'u fabric partitions "$work/without.conf" && set_all down && eventually 10 group_is_gone && set_all up'
check "V19: nobody creates it, and the link says so" eventually 30 down
check "h4 has its link" x h4 cat /sys/class/net/uib0/carrier
check "the group is there again" u fabric partitions "$work/v6ib00-partitions.conf"
up_again() { # add the IPv6 addresses, which the kernel removed when the interfaces went down, and ping
	x h1 ip addr replace fd04::1/64 dev uib0 nodad && x h2 ip addr replace fd04::2/64 dev uib0 nodad && x h1 ping -n -q -c 1 -W 2 fd04::2
}
check "and the link" eventually 40 up_again
check "the lab ends" lab_down
finish
