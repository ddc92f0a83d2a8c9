#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: dhcpcd | a DHCPv4 lease on ib0
# works-with: udhcpc | a lease on ib0
# packages: dhcpcd-base udhcpc dnsmasq-base
#
# Two DHCP clients try to get a lease on ib0 from dnsmasq on h1's TAP, and neither of them gets one. dhcpcd knows the hardware type of
# InfiniBand, but has no packet filter for such an interface, so it cannot open its socket. busybox' udhcpc gives the kernel 6 octets as
# the destination address of a frame, and the kernel refuses the frame, because ib0's addresses have 20 octets.
#
#	h1 10.4.0.1 (dnsmasq) --- Switch1 --- a (VM)
. "$(dirname "$0")/lib.sh"
linux_lab 1
guest_start a
vm_wait a
start_at h1 "$work/dnsmasq.log" dnsmasq -k -C /dev/null -p 0 --dhcp-range=10.4.1.1,10.4.1.50 -i uib0 --log-dhcp --log-facility=- --dhcp-leasefile="$work/leases"
check "dnsmasq serves h1's TAP" eventually 20 grep -q 'DHCP, IP range' "$work/dnsmasq.log"
unheard() { not grep -q DHCPDISCOVER "$work/dnsmasq.log" && says '^$' g a ip -4 -o addr show dev ib0; }

start_at a "$work/dhcpcd.log" dhcpcd -4 -1 -B -d --noarp -t 60 ib0
client=$started
still "dhcpcd cannot open its socket" eventually 60 grep -q 'bpf_open: Invalid argument' "$work/dhcpcd.log"
still "no request comes to h1, and ib0 has no address" unheard
end_at a "$client"
version=$(upstream dhcpcd-base)
tried "a DHCPv4 lease on ib0" fails dhcpcd

start_at a "$work/udhcpc.log" udhcpc -i ib0 -n -q -f -t 3 -T 1 -B
still "udhcpc cannot send" eventually 60 grep -q 'no lease, failing' "$work/udhcpc.log"
still "the kernel refuses each of its frames" equal 3 "$(grep -c 'sendto: Invalid argument' "$work/udhcpc.log")"
still "no request comes to h1, and ib0 has no address" unheard
version=$(upstream udhcpc)
tried "a lease on ib0" fails udhcpc

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
