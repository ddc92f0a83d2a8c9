#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# profile = v6ib00 (draft-kashyap-ipoib-ipv6-over-ib-00), with the lab of examples/: what the hosts' kernels do with such
# a link, and what is on the wire. h4 is on the same partition and has the default profile.
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
counts() { [ "$(counter "$1" "$2")" -gt "$3" ]; } # HOST COUNTER MORE-THAN

check "h1 has the profile" equal v6ib00 "$(link h1 profile)"
check "and h4 the default" equal rfc4391 "$(link h4 profile)"
check "V16 V24: the link is that of ff12:3333::1" equal ff12:3333::1 "$(link h1 broadcast)"
check "V16: the MTU is the group's, of which no header takes a part" equal 2048 "$(x h1 cat /sys/class/net/uib0/mtu)"
check "addresses are found unique" eventually 15 no_tentative 4
check "all reach all" all_pairs 3 reaches6
check "packets of the whole MTU pass" x h1 ping -n -q -c 3 -W 5 -M "do" -s 2000 fd04::3
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
heard() { # FROM: h2 and h3 receive the multicast that FROM sends
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

cat >"$work/ra.py" <<-'END'
	"""Sends a router advertisement with the MTU argv[1] on uib0."""
	import socket
	import struct
	import sys
	s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
	s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
	mtu = struct.pack(">BBHI", 5, 1, 0, int(sys.argv[1]))
	s.sendto(struct.pack(">BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0) + mtu, ("ff02::1", 0, 0, socket.if_nametoindex("uib0")))
END
heard_ras() { x h1 awk '$1 == "Icmp6InRouterAdvertisements" { print $2 }' /proc/net/snmp6; }
ra_came() { [ "$(heard_ras)" -gt "$1" ]; }
advertised() { # SENT WANT: h1 gets an advertisement of the MTU SENT, and then has WANT for IPv6
	local before
	before=$(heard_ras)
	x h2 /usr/bin/python3 "$work/ra.py" "$1" && eventually 5 ra_came "$before" &&
		equal "$2" "$(x h1 cat /proc/sys/net/ipv6/conf/uib0/mtu)"
}
ra_above() { advertised 1400 1400 && advertised 2048 2048 && advertised 4096 2048 && advertised 2049 2048; }
check "V18: an MTU in an advertisement that exceeds the group's is ignored" ra_above

cat >"$work/prefix.py" <<-'END'
	"""Advertises the prefix argv[1]/64 on uib0, for autonomous configuration."""
	import ipaddress
	import socket
	import struct
	import sys
	s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
	s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
	prefix = struct.pack(">BBBBIII", 3, 4, 64, 0xC0, 86400, 14400, 0) + ipaddress.ip_address(sys.argv[1]).packed
	s.sendto(struct.pack(">BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0) + prefix, ("ff02::1", 0, 0, socket.if_nametoindex("uib0")))
END
of_eui64() { # PREFIX: the address of h1 with its EUI-64, whose u bit is set
	/usr/bin/python3 -c 'import ipaddress as i, sys
print(i.ip_address(int(i.ip_address(sys.argv[1])) | int(i.ip_address(sys.argv[2])) & (1 << 64) - 1 | 2 << 56))' "$1" "$(link h1 gid)"
}
addresses_in() { x h1 ip -6 -o addr show dev uib0 scope global dynamic | awk -v p="$1" 'index($4, p) == 1 { sub("/.*", "", $4); print $4 }'; }
configured() { x h2 /usr/bin/python3 "$work/prefix.py" fd09:1:2:3:: && equal "$(of_eui64 fd09:1:2:3::)" "$(addresses_in fd09:)"; }
check "V9: h1 has the address of an advertised prefix and its EUI-64, and no other" eventually 10 configured
reached() { x h2 ping -n -q -c 1 -W 2 "$(of_eui64 fd09:1:2:3::)"; }
check "and is reached by it" eventually 10 reached

cat >"$work/octets.py" <<-'END'
	"""Every packet of LID argv[2] to a QP of IPoIB in the capture argv[1] is as the draft draws it. argv[3] is the port's GID."""
	import ipaddress
	import sys
	from struct import pack, unpack_from
	sys.path.insert(0, "examples")
	from peer.wire import Drop, decode
	lid, gid, qkey = int(sys.argv[2]), ipaddress.ip_address(sys.argv[3]).packed, 0x80000B1B
	multicasts = unicasts = options = 0
	data, at = open(sys.argv[1], "rb").read(), 24
	while at + 16 <= len(data):
	    length, = unpack_from("<8xI", data, at)
	    raw = data[at + 32:at + 16 + length]            # without the ERF header
	    at += 16 + length
	    assert raw[48 if raw[1] & 3 == 3 else 8] == 0x64                                            # V1: UD, SEND only
	    try:
	        p = decode(raw)
	    except Drop:
	        continue
	    if p.slid != lid or p.dest_qp <= 1:
	        continue
	    ip = p.payload
	    assert ip[0] >> 4 == 6 and 40 + unpack_from(">H", ip, 4)[0] == len(ip), ip.hex()            # V20
	    assert p.pkey == 0xFFFF and p.qkey == qkey                                                  # V14, V17
	    group = ip[24:40]
	    if p.dest_qp == 0xFFFFFF:                                                                   # V22
	        assert p.grh.dgid == bytes([0xFF, 0x10 | group[1] & 15, 0x33, 0x33]) + group[4:], raw.hex()  # V4-V6
	        multicasts += 1
	    else:
	        assert p.grh is None                                                                    # V2, V21
	        unicasts += 1
	    if ip[6] == 58 and ip[40] in (135, 136) and ip[64:65] in (b"\1", b"\2"):
	        kind = 1 if ip[40] == 135 else 2
	        # V10, §5.1: Type, Length, LID16, flags8 QPN24, Q_Key32, GID128, padding
	        assert ip[64:] == pack(">BBHII", kind, 4, lid, p.src_qp, qkey) + gid + bytes(4), ip.hex()
	        options += 1
	print(multicasts, unicasts, options)
	assert multicasts and unicasts and options
END
octets() { /usr/bin/python3 -B "$work/octets.py" "$work/all.pcap" "$(link h1 lid)" "$(link h1 gid)"; }
check "V1 V2 V10 V14 V17 V22: every packet of h1 is as the draft draws it" octets

# The administrator removes the group from the configuration, and the group ends with its last member. The link shows that as its
# reason, and is up again when the group exists again.
set_all() { local h; for h in 1 2 3; do x h$h ip link set uib0 "$1" || return 1; done; }
group_is_gone() { u -j fabric group show | jq -e '[.group[].mgid] | index("ff12:3333::1") == null'; }
printf 'Default=0x7fff, ipoib : ALL=full;\n' >"$work/without.conf"
down() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep "ff12:3333::1.*the group does not exist"; }
check "the group is taken away" eval 'u fabric partitions "$work/without.conf" && set_all down && eventually 10 group_is_gone && set_all up'
check "V19: nobody creates it, and the link says so" eventually 30 down
check "h4 has its link" x h4 cat /sys/class/net/uib0/carrier
check "the group is there again" u fabric partitions "$work/v6ib00-partitions.conf"
up_again() { # the kernel has removed the addresses of interfaces that were down
	x h1 ip addr replace fd04::1/64 dev uib0 nodad && x h2 ip addr replace fd04::2/64 dev uib0 nodad && x h1 ping -n -q -c 1 -W 2 fd04::2
}
check "and the link" eventually 40 up_again
check "the lab ends" lab_down
finish
