#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# packages: nftables iproute2 conntrack wireguard-tools wireguard-go tcpdump iputils-arping fping
# works-with: nftables | filters and NAT of packets of ib0
# works-with: nftables | arp saddr ip and arp daddr ip of packets of ib0
# works-with: tc | queueing disciplines and filters of ib0
# works-with: tc | arp_sip and arp_tip of flower, of packets of ib0
# works-with: conntrack | flows of ib0
# works-with: WireGuard | a tunnel over ib0
# works-with: tcpdump | capture and decoding on ib0
# works-with: tcpdump | filters "ether broadcast" and "ether multicast" on ib0
# works-with: arping of iputils | request, detection of duplicates, announcement on ib0
# works-with: fping | IPv4 and IPv6 from ib0
#
# Programs that look at packets, select them, send or change them.
#
#	h1 10.4.0.1 --- Switch1 --- a (VM) 10.4.9.1
#	h2 10.4.0.2 --- Switch2
. "$(dirname "$0")/lib.sh"
linux_lab 2
guest_start a --address 10.4.9.1/16 --address fd04::9:1/64
vm_wait a
link_address='([0-9A-Fa-f]{2}:){19}[0-9A-Fa-f]{2}' # 20 octets

# --- arping of iputils

version=$(upstream iputils-arping)
check "arping of the guest prints h1's address of 20 octets" eventually 20 says "reply from 10\.4\.0\.1 \[$link_address\]" at a arping -c 1 -w 5 -I ib0 10.4.0.1
check "arping of h1 gets the guest's answer" eventually 20 says 'reply from 10\.4\.9\.1' at h1 arping -c 1 -w 5 -I uib0 10.4.9.1
check "the guest finds the address of h1 in use" eventually 20 refuse 1 'reply from 10\.4\.0\.1' at a arping -D -c 2 -w 5 -I ib0 10.4.0.1
check "and an address free that nobody has" refuse 0 'Received 0 response' at a arping -D -c 2 -w 3 -I ib0 10.4.9.200
# An address moves from h2 to the guest, and the guest's announcement must tell h1 so
h1_neighbour() { x h1 ip neigh show "$1" dev uib0 | grep -oE '([0-9a-f]{2}:){5}[0-9a-f]{2}'; }
same_neighbour() { equal "$(h1_neighbour "$1")" "$(h1_neighbour "$2")"; }
announced() { g a arping "$1" -c 1 -I ib0 10.4.9.60 && same_neighbour 10.4.9.1 10.4.9.60; }
moved() { # OPTION: the guest takes 10.4.9.60 from h2
	x h1 ip neigh flush dev uib0
	g a ip addr del 10.4.9.60/16 dev ib0
	x h2 ip addr add 10.4.9.60/16 dev uib0 && reach h1 10.4.9.60 && reach h1 10.4.0.2 && reach h1 10.4.9.1 &&
		same_neighbour 10.4.0.2 10.4.9.60 && x h2 ip addr del 10.4.9.60/16 dev uib0 && g a ip addr add 10.4.9.60/16 dev ib0 &&
		eventually 20 announced "$1"
}
x h1 sysctl -qw net.ipv4.neigh.uib0.base_reachable_time_ms=3600000
check "an ARP request of the guest (-U) tells h1 of an address that has moved" moved -U
check "so does an ARP reply (-A)" moved -A
g a ip addr del 10.4.9.60/16 dev ib0
tried "request, detection of duplicates, announcement on ib0" works

# --- fping

version=$(upstream fping)
check "fping reaches both hosts" eventually 20 at a fping -r 3 10.4.0.1 10.4.0.2
check "by IPv6, too" eventually 20 at a fping -6 -r 3 fd04::1 fd04::2
tried "IPv4 and IPv6 from ib0" works

# --- tcpdump

version=$(upstream tcpdump)
start_at a "$work/tcpdump" tcpdump -lnei ib0
check "tcpdump starts" eventually 20 grep -q '^listening on ib0, link-type LINUX_SLL' "$work/tcpdump"
resolve() { g a ip neigh flush dev ib0 && g a ping -n -c 1 -W 5 10.4.0.1 && g a ping -n -c 1 -W 5 fd04::1; }
check "the guest resolves h1" eventually 20 resolve
for text in 'Out ethertype ARP .*: Request who-has 10\.4\.0\.1 tell 10\.4\.9\.1' "In ethertype ARP .*: Reply 10\.4\.0\.1 is-at $link_address" \
	'In ethertype IPv4 .* 10\.4\.0\.1 > 10\.4\.9\.1: ICMP echo reply' 'In ethertype IPv6 .* fd04::1 > fd04::9:1: ICMP6, echo reply'; do
	check "it prints: $text" eventually 20 grep -Eq "$text" "$work/tcpdump"
done
end_at a "$started"
tried "capture and decoding on ib0" works
still "it refuses a filter for broadcasts" refuse 1 'not a broadcast link' at a tcpdump -ni ib0 ether broadcast
still "it refuses a filter for multicasts" refuse 1 'link-layer multicast filters supported only on' at a tcpdump -ni ib0 ether multicast
tried 'filters "ether broadcast" and "ether multicast" on ib0' fails libpcap

# --- nftables and conntrack

version=$(upstream nftables)
cat >"$work/inet.nft" <<'EOF'
table inet f {
	counter dropped { }
	counter typed { }
	chain input {
		type filter hook input priority 0
		meta iiftype 32 counter name typed
		iifname "ib0" ip saddr 10.4.0.1 icmp type echo-request counter name dropped drop
	}
	chain post {
		type nat hook postrouting priority 100
		oifname "ib0" ip daddr 10.4.0.2 snat ip to 10.4.9.77
	}
}
table netdev n {
	counter arps { }
	counter h1 { }
	chain ingress {
		type filter hook ingress device "ib0" priority 0
		meta protocol arp counter name arps
		ip saddr 10.4.0.1 counter name h1
	}
}
table arp a {
	counter requests { }
	counter octets { }
	counter sender { }
	counter target { }
	chain input {
		type filter hook input priority 0
		arp operation request arp hlen 20 counter name requests
		@nh,224,32 0x0a040001 counter name octets
		arp saddr ip 10.4.0.1 counter name sender
		arp daddr ip 10.4.9.1 counter name target
	}
}
EOF
hits() { g a nft -j list counters | jq -r --arg name "$1" '.nftables[].counter? | select(.name == $name).packets'; }
counted() { [ "$(hits "$1")" -gt 0 ]; }
check "nft loads rules for ib0" at a nft -f "$work/inet.nft"
check "h1's pings are dropped" not x h1 ping -n -c 2 -W 2 10.4.9.1
check "the rule counts them" counted dropped
check "so does the rule of the ingress hook" counted h1
check "and a rule of InfiniBand interfaces" counted typed
check "h2's are not" reach h2 10.4.9.1
asked() { at h1 arping -c 1 -w 5 -I uib0 10.4.9.1; }
check "h1 asks by ARP" eventually 20 asked
for name in requests octets arps; do
	check "nft counts ARP: $name" counted $name
done
g a ip addr add 10.4.9.77/16 dev ib0
check "the guest reaches h2 with a translated address" reach a 10.4.0.2
translated() { g a ping -n -c 1 -W 5 10.4.0.2 && says 'src=10\.4\.9\.1 dst=10\.4\.0\.2 .*src=10\.4\.0\.2 dst=10\.4\.9\.77' at a conntrack -L -p icmp --src-nat; }
check "the translation is seen by conntrack" eventually 20 translated
tried "filters and NAT of packets of ib0" works
still "the sender of an ARP packet is not matched" equal 0 "$(hits sender)"
still "its target is not matched" equal 0 "$(hits target)"
still "nft does not know the word for the type of interface" refuse 1 'Could not parse network interface type' at a nft add rule inet f input iiftype infiniband accept
tried "arp saddr ip and arp daddr ip of packets of ib0" fails nftables

version=$(upstream conntrack)
sees() { # OPTION...: succeeds if conntrack shows the TCP flow that exists
	says 'ESTABLISHED src=10\.4\.9\.1 dst=10\.4\.0\.1 .*dport=7777 ' at a conntrack -L -p tcp "$@"
}
start_at h1 "$work/server" python3 -uc 'import socket
s = socket.create_server(("10.4.0.1", 7777))
print("ready")
c = s.accept()[0]
c.recv(1)'
check "h1 has a server" eventually 20 grep -q ready "$work/server"
start_at a "$work/client" python3 -c 'import socket, time
c = socket.create_connection(("10.4.0.1", 7777))
time.sleep(1000)'
check "conntrack lists the connection" eventually 20 sees
check "conntrack deletes it" at a conntrack -D -p tcp --dport 7777
end_at a "$started"
check "the rules are removed" at a nft flush ruleset
tried "flows of ib0" works

# --- tc

version=$(upstream iproute2)
check "netem delays what ib0 sends" at a tc qdisc replace dev ib0 root netem delay 200ms
late() { says 'time=([2-9][0-9]{2}|[0-9]{4,})([. ]|$)' at a ping -n -c 1 -W 10 10.4.0.1; }
check "a ping takes 200 ms at least" eventually 20 late
check "htb has two classes" g a 'tc qdisc replace dev ib0 root handle 1: htb default 1 && tc class add dev ib0 parent 1: classid 1:1 htb rate 8mbit &&
	tc class add dev ib0 parent 1: classid 1:2 htb rate 1mbit && tc filter add dev ib0 parent 1: protocol ip flower dst_ip 10.4.0.2 classid 1:2'
sent() { says '^ Sent [1-9][0-9]* bytes' g a "tc -s class show dev ib0 | grep -A 1 'class htb $1 '"; } # CLASS: succeeds if packets were sent in this class of tc
check "the guest reaches h1 and h2" eval 'reach a 10.4.0.1 && reach a 10.4.0.2'
check "the packets to h1 are in the first class" sent 1:1
check "those to h2 are in the class of the filter" sent 1:2
check "a filter of ib0's input drops what h1 sends, and copies the rest" g a 'tc qdisc del dev ib0 root && ip link add d0 type dummy && ip link set d0 up &&
	tc qdisc add dev ib0 clsact && tc filter add dev ib0 ingress protocol ip prio 1 flower src_ip 10.4.0.1 action drop &&
	tc filter add dev ib0 ingress protocol ip prio 2 matchall action mirred egress mirror dev d0'
check "h1 gets no answer" not x h1 ping -n -c 2 -W 2 10.4.9.1
check "h2 gets one" reach h2 10.4.9.1
check "there are copies of h2's packets" [ "$(g a cat /sys/class/net/d0/statistics/tx_packets)" -gt 0 ]
tried "queueing disciplines and filters of ib0" works

check "tc has filters for ARP" g a 'tc filter del dev ib0 ingress && tc filter add dev ib0 ingress protocol arp prio 1 flower arp_sip 10.4.0.1 action pass &&
	tc filter add dev ib0 ingress protocol arp prio 2 flower arp_tip 10.4.9.1 action pass && tc filter add dev ib0 ingress protocol arp prio 3 flower action pass'
check "h1 asks by ARP" eventually 20 asked
matched() { g a tc -s filter show dev ib0 ingress prio "$1" | awk '$1 == "Sent" { print $4 }'; }
check "the filter without an address counts the ARP packets" [ "$(matched 3)" -gt 0 ]
still "the sender of an ARP packet is not matched" equal 0 "$(matched 1)"
still "its target is not matched" equal 0 "$(matched 2)"
g a tc qdisc del dev ib0 clsact
tried "arp_sip and arp_tip of flower, of packets of ib0" fails Linux

# --- WireGuard: the guest uses its kernel's driver. h1 uses the program wireguard-go, because this machine's kernel may have no driver

version=$(upstream wireguard-tools)
wireguard() { # PLACE LAST OTHER PEER: give wg0 the address 10.9.0.LAST and the peer OTHER, which is at the address PEER
	at "$1" wg set wg0 private-key "$work/$1.key" listen-port 51820 peer "$(cat "$work/$3.pub")" allowed-ips 10.9.0.0/24 endpoint "$4:51820" &&
		at "$1" ip addr add "10.9.0.$2/24" dev wg0 && at "$1" ip link set wg0 up
}
for place in a h1; do
	at "$place" wg genkey >"$work/$place.key"
	at "$place" sh -c "wg pubkey <$work/$place.key" >"$work/$place.pub"
done
check "the guest's kernel has WireGuard" at a ip link add wg0 type wireguard
start_at h1 "$work/wireguard" wireguard-go -f wg0
check "h1 has an interface of wireguard-go" eventually 20 x h1 ip link show wg0
check "h1's end is configured" eventually 20 wireguard h1 1 a 10.4.9.1
check "the guest's end is configured" wireguard a 2 h1 10.4.0.1
check "h1 is reached through the tunnel" reach a 10.9.0.1
check "the guest is reached" reach h1 10.9.0.2
check "with packets of the tunnel's MTU" reach a -M 'do' -s 1392 10.9.0.1
end_at h1 "$started"
tried "a tunnel over ib0" works

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
