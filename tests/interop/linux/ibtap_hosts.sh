#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# With `netdev = ibtap`, the interface of a uipoib in a VM is a device of type 32. On the same link are
# the kernel's own ib_ipoib in another VM, and uipoib hosts whose interfaces are TAPs.
#
#	h1 --- Switch1 --- Switch2 --- h2
#	        |   |
#	        |   k (VM: uib.ko, ib_ipoib)
#	        a (VM: uipoib, ibtap)
. "$(dirname "$0")/lib.sh"
need iperf3 arping tshark dumpcap tcpdump keepalived
linux_lab 2
vm_start a --share "$work"
vm_start k --address 10.4.9.1/16 --address fd04::901/64 --share "$work"
vm_wait a k
declare -A ip4=([a]=10.4.9.2 [k]=10.4.9.1 [h1]=10.4.0.1 [h2]=10.4.0.2) ip6=([a]=fd04::902 [k]=fd04::901 [h1]=fd04::1 [h2]=fd04::2)
check "uipoib takes the place of ib_ipoib in VM a" vm_ibtap a "address = ${ip4[a]}/16" "address = ${ip6[a]}/64"

# --- tools see a device of type 32

octets20='([0-9a-f]{2}:){19}[0-9a-f]{2}'
address_a() { g a cat /sys/class/net/ib0/address; }
check "H12: its type is 32" equal 32 "$(g a cat /sys/class/net/ib0/type)"
check "H12: it has broadcast and multicast" says '<BROADCAST,MULTICAST,UP,LOWER_UP>' g a ip -d link show ib0
check "H16: ip -d link shows 20 octets, and the link's own broadcast address" \
	says "link/infiniband $octets20 brd 00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff" g a ip -d link show ib0
check "ip -d link shows its kind" says '^ +ibtap ' g a ip -d link show ib0
check "its MTU is the link's, and no larger one can be set" eval 'says "mtu 2044" g a ip link show ib0 && not g a ip link set ib0 mtu 2045'
lladdr() { g a "$UIPOIB" -j -n a link show | jq -r '.link[0] | "\(.netdev) \(.mac) \(.lladdr)"'; }
check "link show has the same address" equal "ibtap null $(address_a)" "$(lladdr)"

# --- everybody reaches everybody

for p in k h1 h2; do
	check "$p and a reach each other" eval 'reach a ${ip4[$p]} && reach a ${ip6[$p]} && reach $p ${ip4[a]} && reach $p ${ip6[a]}'
done
has_address() { # PLACE: succeeds if PLACE has a's 20-octet address for both of a's IP addresses
	local ip
	for ip in "${ip4[a]}" "${ip6[a]}"; do
		equal "00:$(address_a | cut -d: -f2-)" "$(g "$1" ip neigh show "$ip" dev ib0 | grep -oE "$octets20")" || return 1
	done
}
check "R46 H5: the kernel of k has a's 20 octets, by ARP and ND" eventually 20 eval 'reach k ${ip4[a]} && reach k ${ip6[a]} && has_address k'
a_knows() { # PLACE LLADDR: succeeds if both uipoib and the kernel of a have this address for PLACE
	equal "$2" "$(g a "$UIPOIB" -j -n a neigh show | jq -r --arg ip "${ip4[$1]}" '.neigh[] | select(.ip | index($ip)).lladdr')" &&
		equal "$2" "00:$(g a ip neigh show "${ip4[$1]}" dev ib0 | grep -oE "$octets20" | cut -d: -f2-)"
}
lladdr_of() { u -j link show dev "uib0@$1" | jq -r '.link[0].lladdr'; }
check "neigh show of a has what its kernel has: h1" eventually 20 a_knows h1 "$(lladdr_of h1)"
check "and k" eventually 20 a_knows k "00:$(g k cut -d: -f2- /sys/class/net/ib0/address)"

one_packet() { # FROM TO: succeeds if 2044 octets pass in one packet, and 2045 do not
	at "$1" ping -n -q -c 1 -W 10 -M do -s 2016 "$2" && not at "$1" ping -n -q -c 1 -W 1 -M do -s 2017 "$2"
}
for p in k h1; do
	check "R35: a packet of 2044 octets passes between a and $p, and no longer one" eventually 20 eval 'one_packet a ${ip4[$p]} && one_packet $p ${ip4[a]}'
	check "fragments pass" eval 'reach a -s 8000 ${ip4[$p]} && reach $p -s 8000 ${ip6[a]}'
	check "TCP in both directions at once brings the data undamaged: a and $p" both_ways right_tcp a $p
	check "so do datagrams of 2044 octets" both_ways right_udp a $p
done
check "its arping is answered by h1" says "Received 1 response" g a arping -f -c 20 -I ib0 "${ip4[h1]}"
check "its arping is answered by k" says "Received 1 response" g a arping -f -c 20 -I ib0 "${ip4[k]}"
check "h1's arping is answered by a" says "Received 1 response" x h1 arping -f -c 20 -I uib0 "${ip4[a]}"
check "a finds k's address in use" refuse 1 "Received 1 response" g a arping -D -c 2 -w 10 -I ib0 "${ip4[k]}"

# --- on the wire: the packets that the kernel of a has written are unchanged

wire() { # FILTER FIELD...: prints fields of the packets from a
	tshark -r "$work/wire.pcapng" -Y "infiniband.lrh.slid == $lid_a && $1" -T fields "${@:2}" 2>/dev/null
}
lid_a=$(g a "$UIPOIB" -j -n a link show | jq '.link[0].lid')
capture=$(u -j capture start "$work/wire.pcapng" | jq '.capture[0].id')
g a 'ip neigh flush dev ib0; ip -6 neigh flush dev ib0'
reach a "${ip4[h1]}" >/dev/null && reach a "${ip6[h1]}" >/dev/null
u capture stop "$capture" >/dev/null
arp_on_wire() { equal $'32\t20\t4' "$(wire 'arp.opcode == 1' -e arp.hw.type -e arp.hw.size -e arp.proto.size | head -1)"; }
check "R56: ARP has hardware type 32 and addresses of 20 octets" arp_on_wire
nd_on_wire() { wire 'icmpv6.type == 135' -e icmpv6.opt.length | grep -qx 3; }
check "R57: the option of a neighbour solicitation has 24 octets" nd_on_wire

# --- the packets that programs see on the device

traffic() { reach a "${ip4[h1]}" >/dev/null; }
traffic_seen() {
	grep -qiE 'listening|capturing' "$work/sniffer" && traffic && packets && seen_there "${ip4[a]}" "${ip4[h1]}" && seen_there "${ip4[h1]}" "${ip4[a]}"
}
# packets: print the packets captured so far, as text. dumpcap, tshark's program for capturing, has written them in
# the VM. tshark reads them outside the VM, because it needs half a minute to start on an emulated processor.
packets() {
	cp "$work/sniffer" "$work/packets"
	[ ! -e "$work/dumpcap" ] || tshark -n -r "$work/dumpcap" >>"$work/packets" 2>/dev/null || true
}
seen_there() { grep -qE "${1//./\\.}.* ${2//./\\.}.*(ICMP|echo)" "$work/packets"; } # FROM TO: succeeds if the capture has a ping from FROM to TO
sniffer() { # PROGRAM...: captures ICMP. dumpcap reports its start too early, so pings are sent until the capture has one
	start_at a "$work/sniffer" "$@"
	eventually 60 traffic_seen
	local status=$?
	end_at a "$started"
	[ $status = 0 ] || cat "$work/packets"
	return $status
}
check "tcpdump sees packets of both directions on ib0" sniffer tcpdump -lni ib0 icmp
check "so does dumpcap, for tshark" sniffer dumpcap -q -i ib0 -f icmp -w "$work/dumpcap"

# --- multicast

mcast=$TOOLS/mcast
member() { # PLACE GROUP: start a receiver of the group at PLACE
	start_at "$1" "$work/member" "$mcast" recv "$(iface "$1")" "$2" 7400
	eventually 20 grep -q ready "$work/member"
}
transmit() { at "$1" "$mcast" send "$(iface "$1")" "$2" 7400 "$3" "$4"; } # FROM GROUP N TEXT: send N datagrams with TEXT to the group
reached() { transmit "$1" "$2" 1 first && grep -q first "$work/member"; }
all_arrived() { equal 20 "$(grep -c all "$work/member")"; }
# hears FROM GROUP: waits until a datagram reaches the member, which may still be joining, and succeeds if 20 more all arrive
hears() { eventually 20 reached "$1" "$2" && transmit "$1" "$2" 20 all && eventually 10 all_arrived; }
multicast() { # FROM TO GROUP: succeeds if TO, as a member, gets all datagrams of FROM
	local status
	member "$2" "$3" && hears "$1" "$3"
	status=$?
	end_at "$2" "$started"
	return $status
}
for group in 239.1.2.3 ff15::1:2:3; do
	for pair in "a h1" "h1 a" "a k" "k a"; do
		read -r from to <<<"$pair"
		check "$group from $from to $to: each datagram once" multicast $from $to $group
	done
done
mgid=ff12:401b:ffff::f01:203
check "when members and senders have left, the group is gone at the SA" eventually 60 sa_gone $mgid

# --- failover by VRRP, with gratuitous ARP of InfiniBand that keepalived writes itself

vip=10.4.9.100
keepalived_starts() { # PLACE PRIORITY: start keepalived at PLACE, with this priority for the virtual address
	printf 'vrrp_instance one {\n interface ib0\n virtual_router_id 51\n priority %s\n advert_int 1\n virtual_ipaddress {\n  %s/16 dev ib0\n }\n}\n' \
		"$2" $vip >"$work/keepalived.$1.conf"
	start_at "$1" "$work/keepalived.$1" keepalived -n -l -D -f "$work/keepalived.$1.conf" -p /run/k.pid -r /run/kv.pid
	keepalived[$1]=$started
}
declare -A keepalived
vip_at() { says "$vip/" g "$1" ip -4 -o addr show dev ib0; }
vip_mac() { x h1 ip neigh show $vip dev uib0 | grep -oE '([0-9a-f]{2}:){5}[0-9a-f]{2}'; }
mac_of() { u -j neigh show dev uib0@h1 | jq -r --arg ip "${ip4[$1]}" '.neigh[] | select(.ip | index($ip)).token'; }
# follows PLACE: succeeds if h1 has the MAC of PLACE for the virtual address, and reaches the address. The MAC is
# checked first, because h1 must learn it from the gratuitous ARP and not from an answer to its own packets.
follows() { equal "$(mac_of "$1")" "$(vip_mac)" && x h1 ping -n -q -c 1 -W 1 $vip; }
# With the default of this setting, h1 would probe its neighbour, and learn the MAC from the answer.
x h1 sysctl -qw net.ipv4.neigh.uib0.base_reachable_time_ms=3600000
reach h1 "${ip4[a]}" >/dev/null && reach h1 "${ip4[k]}" >/dev/null
keepalived_starts k 100
check "keepalived of k has the virtual address, as on every ib0" eventually 30 vip_at k
check "h1 reaches it there" eventually 20 eval 'x h1 ping -n -q -c 1 -W 1 $vip && follows k'
keepalived_starts a 150
check "keepalived of a takes it, with a higher priority" eventually 30 vip_at a
check "k gives it up" eventually 30 not vip_at k
check "h1 is told by gratuitous ARP" eventually 20 follows a
end_at a "${keepalived[a]}"
check "a ends: k has it again" eventually 30 vip_at k
check "and h1 is told" eventually 20 follows k
end_at k "${keepalived[k]}"

# --- a kernel that is a router. Only a VM has a first network namespace whose settings a test may change.

{
	printf '[fabric pair]\ntopology = %s\n' "$work/lab.topo"
	conf_iface uib0 1 | sed s/fabric:lab/fabric:pair/
} >"$work/pair.conf"
forwarding="sysctl -n net.ipv4.ip_forward"
check "VM a has TAPs, and forwards packets" says "ip_forward = 1" g a "modprobe tun && sysctl -w net.ipv4.ip_forward=1"
check "so does a namespace that ip makes" equal 1 "$(g a "ip netns add made && ip netns exec made $forwarding")"
check "the host of a uipoib there does not" equal 0 "$(g a "$UIPOIB run -c $work/pair.conf -n pair -- $UIPOIB -n pair exec h1 $forwarding")"

check "the kernel's log of VM a" vm_log_clean a
check "VM a ends" vm_stop a
check "VM k ends" vm_stop k
finish
