#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Differences between Linux's ib_ipoib and RFC 4391. doc/fidelity.md lists them ("Linux's driver and the RFC"). This script
# makes Linux show each difference, and finds the difference in a capture. So the script proves the list for the kernel
# that the VM boots.
#
#	h1 10.4.0.1 -- Hca1 -- Switch1 -6--6- Switch2 -- Hca2 -- h2
#	       VM 10.4.9.1 == UDP == 2            2 == UDP == differences.py peer 10.4.6.6
#
# SHOW=1 prints the packets. KEEP=FOLDER keeps the capture in FOLDER.
. "$(dirname "$0")/lib.sh"
need python3
python=/usr/bin/python3
differences="$python -B $PWD/tests/interop/linux/differences.py"

read -r peer_port link_port < <(free_udp_ports 2)
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2 "capture = $work/all.pcap" # a capture from the start, because hosts ask the SA as soon as they are up
	printf '\n[udp-link peer]\nport = fabric:lab/Switch2/2\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' \
		"$link_port" "$peer_port"
} >"$work/lab.conf"
lab_up
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --port Switch1/2
vm_wait a
vm_lid=$(($(g a cat /sys/class/infiniband/uib0/ports/1/lid)))
h1_lid=$(u -j link show | jq '.link[] | select(.host == "h1") | .lid')

# shown ID LID WHAT: succeeds if a packet from LID shows WHAT, which is the difference ID of doc/fidelity.md
shown() {
	$differences find "$work/all.pcap" "$2" "$3" >"$work/packet" || { echo "no such packet"; return 1; }
	[ -z "${SHOW-}" ] || sed "s/^/# $1 /" "$work/packet" >&3
}
# never ID LID WHAT: succeeds if LID has sent packets, but no packet that shows WHAT
never() {
	sent "$2" anything >/dev/null || { echo "the capture has nothing of LID $2"; return 1; }
	equal 0 "$($differences count "$work/all.pcap" "$2" "$3")"
}
sent() { $differences find "$work/all.pcap" "$1" "$2"; } # LID WHAT: succeeds if a packet from LID shows WHAT
exec 3>&1

# --- L1 and L2 of doc/fidelity.md: the reserved octet of Linux's link-layer address (RFC 4391 9.1.1: zero on sending)

check "the VM pings h1, IPv4 and IPv6" eventually 20 eval 'g a ping -n -q -c 1 -W 2 10.4.0.1 && g a ping -n -q -c 1 -W 2 fd04::1'
check "R47: its reserved octet is not 0 in ARP" eventually 10 shown L1 "$vm_lid" arp-flags
check "R47: nor in ND" eventually 10 shown L2 "$vm_lid" nd-flags
check "ours is, in both" eval 'not sent $h1_lid arp-flags && not sent $h1_lid nd-flags'

# --- L3 of doc/fidelity.md: how Linux treats the reserved octet of another node's link-layer address (RFC 4391 9.1.1)

neighbour() { g a ip neigh show 10.4.6.6 dev ib0 | grep -q "lladdr $1:"; }
peer_says() { # FLAGS: start the peer with this octet of flags, and let Linux resolve its address
	background $differences peer "127.0.0.1:$peer_port" "127.0.0.1:$link_port" "$1" >"$work/peer"
	peer=$!
	eventually 30 grep -q '^joined' "$work/peer" || { cat "$work/peer"; return 1; }
	g a ip neigh flush dev ib0
	eventually 20 g a ping -n -q -c 1 -W 2 10.4.6.6 && g a ip neigh show 10.4.6.6 dev ib0
}
check "a peer whose reserved octet is 0x55 is reached" peer_says 0x55
seen_as() { eventually 5 neighbour "$2"; } # ID OCTET: succeeds if Linux has an entry for the peer with this reserved octet
check "R47: Linux keeps that octet as part of the address" seen_as L3 55
check "ours ignores it" eventually 10 eval 'x h1 ping -n -q -c 1 -W 2 10.4.6.6 && u -j neigh show dev uib0@h1 | jq -e ".neigh[] | select(.ip | index(\"10.4.6.6\")) | .lladdr | startswith(\"00:\")"'
kill "$peer"

# --- L4 and L5 of doc/fidelity.md: Linux sends to a group that does not exist, and leaves the group again without
# having been a full member

send_to() { # GROUP: sends one datagram to the group
	g a "$python -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 32, socket.inet_aton(\"10.4.9.1\")); s.setsockopt(0, 33, 8); s.sendto(b\"x\", (\"$1\", 9))'"
}
group_is_there() { u -j fabric group show | jq -e --arg g "$1" '[.group[].mgid] | index($g)'; }
check "the VM sends to a group that nobody has" send_to 239.9.8.7
check "the group comes into being" eventually 10 group_is_there ff12:401b:ffff::f09:807
check "R62, R63: it joins as a SendOnlyFullMember, which creates the group" eventually 10 shown L4 "$vm_lid" send-only-creates
check "R61, R63: it never joins as a SendOnlyNonMember, and nothing goes to the all-routers group" \
	eval 'never L4 $vm_lid send-only-non-member- && never L5 $vm_lid all-routers-'
no_group() { u -j stats show dev uib0@h1 | jq '[.stats[] | select(.counter == "drop_no_group") | .value] | add // 0'; }
one_more() { [ "$(no_group)" -gt "$1" ]; }
ours_sends() { # succeeds if a uipoib host drops a datagram to the group because the group does not exist
	local before=$(no_group)
	x h1 $python -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 32, socket.inet_aton("10.4.0.1")); s.setsockopt(0, 33, 8); s.sendto(b"x", ("239.9.8.6", 9))'
	eventually 5 one_more "$before"
}
check "ours creates none" eval 'ours_sends && not group_is_there ff12:401b:ffff::f09:806'

# --- L6 of doc/fidelity.md: subscriptions to the creation and deletion of groups

check "R65: Linux never subscribes to traps 66 and 67" never L6 "$vm_lid" subscription-
check "ours does" eventually 10 sent "$h1_lid" subscription-

# --- L7 of doc/fidelity.md: an ethertype that is none of the four that RFC 4391 names

foreign() {
	g a "$python -c 'import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((\"ib0\", 0)); s.send(bytes.fromhex(open(\"/sys/class/net/ib0/broadcast\").read().replace(\":\", \"\")) + bytes.fromhex(\"88ca0000\") + b\"not IP\" * 8)'"
}
check "the VM sends a frame of ethertype 0x88ca (TIPC)" foreign
check "R31: it goes out" eventually 5 shown L7 "$vm_lid" foreign-type
type_drops() { u -j stats show dev uib0@h1 | jq -e '[.stats[] | select(.counter == "drop_rx_ethertype") | .value] | add > 0'; }
check "R32: ours drops and counts it" eventually 5 type_drops

# --- L8 of doc/fidelity.md: promiscuous mode

promiscuous() { g a ip link set ib0 promisc on && g a ip link set ib0 allmulticast on && send_to 239.9.8.5 && eventually 10 group_is_there ff12:401b:ffff::f09:805; }
check "the VM's ib0 is promiscuous, and sends once more" promiscuous
check "R70: Linux joins nothing as a NonMember for it" never L8 "$vm_lid" non-member-

# --- clauses of the RFC that Linux follows

multicast_of_all_kinds() {
	send_to 239.137.8.7 && g a ping -n -q -c 1 -W 1 -I ib0 ff05::4391
	g a ping -n -q -c 1 -W 1 -b 255.255.255.255
	g a "$python -c 'import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); m = socket.inet_aton(\"239.9.8.4\") + socket.inet_aton(\"10.4.9.1\"); s.setsockopt(0, 35, m); time.sleep(1); s.setsockopt(0, 36, m)'"
	eventually 10 group_is_there ff12:401b:ffff::f89:807 && eventually 10 group_is_there ff12:601b:ffff::4391
}
check "groups of all kinds" multicast_of_all_kinds
check "R69: it leaves as a full member" eventually 10 sent "$vm_lid" leaves
check "R5, R6, R10 to R15, R30, R33, R52, R56: no packet breaks these" never - "$vm_lid" breaks-
check "R68: no join has parameters that are not the link's" never - "$vm_lid" parameters-differ-

# --- doc/fidelity.md lists exactly the differences of this script

documented() { grep -oE '^\| L[0-9]+ \|' doc/fidelity.md | tr -d '| ' | sort -u; }
proved() { grep -oE '(shown|never|seen_as) L[0-9]+' tests/interop/linux/differences.sh | sed 's/.* //' | sort -u; }
check "doc/fidelity.md lists these and no others" equal "$(documented)" "$(proved)"
check "nothing in the VM's log" vm_log_clean a
check "the VM ends" vm_stop a
[ -z "${KEEP-}" ] || cp "$work/all.pcap" "$KEEP/"
finish
