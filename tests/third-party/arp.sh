#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# packages: arp-scan arping
# root: second
# works-with: arp-scan | a scan from ib0
# works-with: arping of Habets | requests from ib0
#
# Two programs that build ARP packets themselves, and refuse ib0, because they support only Ethernet. Debian's package `arping` conflicts with
# `iputils-arping`, so this script uses the second root file system.
#
#	h1 10.4.0.1 --- Switch1 --- a (VM) 10.4.9.1
. "$(dirname "$0")/lib.sh"
linux_lab 1
guest_start a --address 10.4.9.1/16
vm_wait a
check "the guest reaches h1" reach a 10.4.0.1

still "arp-scan ends because its filter is one of Ethernet" refuse 1 'pcap_compile' at a arp-scan -I ib0 10.4.0.1
tried "a scan from ib0" fails arp-scan

version=$(upstream arping)
still "arping ends because libnet does not know interfaces of InfiniBand" refuse 1 'libnet_init.* unknown physical layer type 0x20' \
	at a arping -i ib0 -c 2 -w 3 10.4.0.1
tried "requests from ib0" fails libnet

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
