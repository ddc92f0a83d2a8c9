#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# Traffic flows both ways between Linux and uipoib hosts while one end fails: the VM is killed and boots again, its module
# is removed and loaded, and hosts are restarted with the same or another QPN. After each of these faults IPv4, IPv6 and
# multicast are back in both directions within the time that doc/fidelity.md states. guest/faults_lib.sh has a drawing of
# the lab.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
guid=0x02000000000fa003
restartable_lab

# --- the VM is killed, and its module is loaded again

old=$(lladdr)
check "the VM's log is clean" vm_log_clean a
vm_kill a
boot
another() { [ "$(lladdr)" != "$old" ]; }
# After each boot ib0 has the same QPN. Loading the driver once more gives ib0 the next QPN.
g a "modprobe -r ib_ipoib && modprobe ib_ipoib && ip addr add 10.4.9.1/16 dev ib0 && ip addr add fd04::901/64 dev ib0 && ip link set ib0 up" ||
	echo "# ib_ipoib is not loaded again"
# The VM speaks when it has both IPv6 addresses for good. Otherwise its first ND request may come from its link-local address.
# Then Linux learns the address of h2, and sends no ND request from fd04::901. So h2 keeps the old link-layer address of fd04::901
# for up to 50 s, as in F19.
addresses_ready() { g a "ip -6 addr show dev ib0 | grep -q fe80 && ! ip -6 addr show dev ib0 tentative | grep -q inet6"; }
check "duplicate address detection ends" eventually $vm_patience addresses_ready
talk
check "the VM is killed and is back with another QPN" fault "VM booted again with another QPN, from when it speaks" 46m 6 another true
check "the far host has it back, too" eventually 10 flows 7791 46m

old=$(lladdr)
module=$(ls "$(dirname "$UIPOIB")"/kmod/*/uib.ko | sort -V | tail -1)
reload() {
	g a "rmmod uib && [ ! -e /sys/class/net/ib0 ] && insmod $module \
		add='\"uib0 netns=3 listen=192.0.2.2:5001 peer=192.0.2.1:5001 guid=$guid\"' 3</run/uipoib-vm/cable && modprobe -r ib_ipoib && modprobe ib_ipoib &&
		ip addr add 10.4.9.1/16 dev ib0 && ip addr add fd04::901/64 dev ib0 && ip link set ib0 up"
}
check "the module is removed and loaded again" fault "uib.ko removed and loaded again" 46m 14 active reload
check "the far host has it back, too" eventually 10 flows 7791 46m

# --- uipoib hosts are restarted

far_again() { far_down && far_up; }
far_lladdr() { uf -j -d link show | jq -r '.link[0].lladdr'; }
old=$(far_lladdr)
same() { equal "$old" "$(far_lladdr)"; }
before=$(carriers)
check "a host is restarted" fault -p 7791 "host restarted, QPN kept" 46m 14 same far_again
far_conf "qpn = 0x123456"
another() { far_lladdr | grep -qi 12:34:56; }
check "a host is restarted with another QPN" fault -p 7791 "host restarted, QPN changed" 46m 14 another far_again

# A host restarts with another link-layer address, and does not announce this address. Linux sends to the old address
# until the probes of its neighbour entry have failed. By default the kernel trusts an entry for up to 45 s before
# it probes the neighbour. In this test the kernel trusts an entry for at most 1.5 s; after this time there are
# a delay of 1 s and 3 unicast probes of 1 s each.
silent_again() {
	kill "$far_probe"
	far_conf "qpn = 0x123457"
	far_again
}
quick_neigh() { # make the kernel of the VM probe neighbours early; existing entries are removed, because they keep their old time
	g a 'for f in /proc/sys/net/ipv[46]/neigh/ib0; do echo 1000 >$f/base_reachable_time_ms; echo 1 >$f/delay_first_probe_time; done
		ip neigh flush dev ib0'
}
quick_neigh
check "Linux asks again for all neighbours" eventually 10 flows 7791 46m
check "a silent host is restarted with another QPN" silent_again
start=$(now)
check "Linux finds it, IPv4" within $((8 + machine * $(stretch))) g a ping -q -c 1 -W 1 10.4.0.3
echo "# silent host restarted, QPN changed: found by IPv4 after $(since "$start") s (stated: 8 s)"
check "and IPv6" within $((8 + machine * $(stretch))) g a ping -q -c 1 -W 1 fd04::3
echo "# by IPv6 after $(since "$start") s"
check "nothing else was disturbed" undisturbed 7790 46m "$before"

check "nothing odd in the VM's log" vm_log_clean a
vm_stop a
check "the far host ends" far_down
finish
