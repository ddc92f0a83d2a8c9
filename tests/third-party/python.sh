#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# packages: python3-pyroute2 python3-scapy libpcap0.8 tcpdump
# works-with: pyroute2 | addresses, routes, namespaces, an interface in a partition
# works-with: pyroute2 | link addresses of ib0 and of its neighbours
# works-with: scapy | captures of ib0
# works-with: scapy | its own sockets on ib0
# works-with: scapy | IP packets sent and heard on ib0
#
# Two libraries of Python. An emulated processor takes long to load them, so one process makes several trials.
#
#	h1 10.4.0.1 fd04::1, and 10.5.0.1 in another partition --- Switch1 --- a (VM) 10.4.9.1 fd04::9:1
. "$(dirname "$0")/lib.sh"
partition_lab 2
guest_start a --address fd04::9:1/64
vm_wait a
python=$PWD/tests/third-party/python

# --- pyroute2

link() { at a python3 "$python/link.py" "$@"; }
check "pyroute2 configures ib0, and makes an interface in partition 0x8001" link "configure 10.4.9.1 16" "partition ib0.8001 0x8001" \
	"route 10.77.0.0/16 10.4.0.1"
check "h1 reaches ib0" reach h1 10.4.9.1
check "the route goes there" says '^10\.77\.1\.1 via 10\.4\.0\.1 dev ib0' g a ip route get 10.77.1.1
g a ip netns add pod
check "pyroute2 reads the P_Key and the mode, and moves the interface to a namespace" says '^pkey 0x8001 mode datagram' \
	link "show ib0.8001" "move ib0.8001 pod"
g a 'ip -n pod addr add 10.5.9.1/16 dev ib0.8001 && ip -n pod link set ib0.8001 up'
check "h1 reaches it in the partition" reach h1 10.5.9.1
g a 'ip -n pod link del ib0.8001; ip netns del pod'
tried "addresses, routes, namespaces, an interface in a partition" works
full=$(g a cat /sys/class/net/ib0/address)
cut6() { link "address ib0" >"$work/address" && equal "$(cut -d : -f 1-6 <<<"$full")" "$(cat "$work/address")"; }
still "pyroute2 gives the first 6 octets of ib0's address" cut6
still "it gives a neighbour's address of 20 octets as octets that it does not know" says 'unknown or invalid lladdr size' link "neighbour 10.4.0.1"
still "it cannot make a neighbour with an address of 20 octets" refuse 1 'illegal IP address string' link "resolve 10.4.0.77 $full"
tried "link addresses of ib0 and of its neighbours" fails pyroute2

# --- scapy

version=$(upstream python3-scapy)
start_at a "$work/tcpdump.log" tcpdump -Z root -U -c 4 -ni ib0 -w "$work/ib0.pcap" 'arp or icmp'
check "tcpdump starts" eventually 20 grep -q 'listening on ib0, link-type LINUX_SLL' "$work/tcpdump.log"
resolve() { g a ip neigh flush dev ib0 && g a ping -n -c 1 -W 5 10.4.0.1; }
check "the guest resolves h1" eventually 20 resolve
check "tcpdump has an ARP request, its reply, an ICMP request and its reply" eventually 20 grep -q '^4 packets captured' "$work/tcpdump.log"
start_at a "$work/scapy" python3 "$python/packets.py" "$work/ib0.pcap"
check "scapy ends its trials" eventually 600 grep -q '^end$' "$work/scapy"
scapy() { grep -Eq "$1" "$work/scapy" || { cat "$work/scapy"; return 1; }; } # REGEX: succeeds if packets.py has printed a line that matches
check "scapy reads a capture" scapy '^capture: .*CookedLinux / ARP who has 10\.4\.0\.1 says 10\.4\.9\.1.*CookedLinux / IP / ICMP 10\.4\.0\.1 > 10\.4\.9\.1 echo-reply'
check "the link addresses in the capture have 20 octets" scapy '^hwlen of ARP in the capture: \[20, 20'
tried "captures of ib0" works
still "scapy does not know the link address of ib0" scapy '^link address: .*Unsupported address family \(32\)'
still "sr1() gets no answer" scapy '^request: no answer'
still "scapy's own sniffer misreads packets of ib0" scapy '^listened: .*hopopt'
tried "its own sockets on ib0" fails scapy
check "a sniffer of libpcap hears a datagram and its answer" \
	scapy '^listened by libpcap: CookedLinux / IP / UDP 10\.4\.9\.1:.* > 10\.4\.0\.1:discard.*; CookedLinux / IP / ICMP 10\.4\.0\.1 > 10\.4\.9\.1 dest-unreach'
check "a packet of scapy, sent by L3RawSocket, is answered" \
	scapy '^sent by L3RawSocket: .*ICMP 10\.4\.9\.1 > 10\.4\.0\.1 echo-request.*; .*ICMP 10\.4\.0\.1 > 10\.4\.9\.1 echo-reply'
tried "IP packets sent and heard on ib0" 'works with L3RawSocket to send and `conf.use_pcap` to listen' scapy

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
