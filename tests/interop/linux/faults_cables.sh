#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Traffic flows both ways between Linux and uipoib hosts while a cable is pulled, a cable loses all packets, and the
# instance of the fabric is killed. After each of these faults IPv4, IPv6 and multicast are back in both directions within
# the time that doc/fidelity.md states. guest/faults_lib.sh has a drawing of the lab.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
guid=0x02000000000fa002
restartable_lab

# --- a cable is pulled, or loses packets

cable_of_switches() { u -j fabric port show Switch1/6 | jq -e '.port[0].state == "Active"'; }
ups() { u -j fabric udp show | jq '.udp[] | select(.link == "vm") | .ups'; }
not_flows() { not flows 7790 46m; }
u fabric link set Switch1/6 down
check "a cable between switches is pulled: nothing passes" eventually 5 not_flows
check "the VM's port stays Active" active
check "it is plugged" fault "cable between switches plugged" 46m 4 cable_of_switches u fabric link set Switch1/6 up

down() { vm_is DOWN; }
u fabric link set Switch1/3 down
check "the VM's link is taken down: its port goes Down" within $((3 + machine * $(stretch))) down
check "it is plugged" fault "VM's link plugged" 46m 14 active u fabric link set Switch1/3 up
check "the far host has it back, too" eventually 10 flows 7791 46m

# The cable loses every packet, and no port reports this. A loss of less than 3 s must not take the link down. On a busy
# machine the loss of 2 s in this case may last longer, so the case is tried again.
before=$(ups)
cut_for() { cable loss 1; sleep "$1"; cable loss 0; }
cut_shortly() {
	local try
	for try in 1 2 3; do
		before=$(ups)
		fault "2 s of silence on the VM's link" 46m 3 active cut_for 2 || return 1
		[ "$(ups)" != "$before" ] || return 0
		awk -v s="$silence_seen" 'BEGIN { exit !(s > 2.9) }' || { echo "the link went down after $silence_seen s"; return 1; }
	done
}
check "2 s of silence take nothing down" cut_shortly
again() { active && [ "$(ups)" -gt "$before" ]; }
before=$(ups)
check "10 s of silence take the link down" fault "10 s of silence on the VM's link, from its beginning" 46m 17 again cut_for 10

# --- the instance of the fabric is killed

# parts_end PID...: succeeds when all processes of the instance have ended after the test has killed one of
# them. The instance's sockets are then free.
parts_end() {
	local p
	for p in "$@"; do
		[ ! -d "/proc/$p" ] || { echo "$p is still there"; return 1; }
	done
}
lab_again() {
	local parts
	parts=$(descendants "$lab_pid")
	{ kill_own -KILL "$lab_pid"; wait "$lab_pid"; } 2>/dev/null
	eventually 10 parts_end $parts && lab_start && u wait --timeout 30 && lab_remember
}
check "the instance of the fabric is killed and started again" fault "instance killed and started again" 46m 14 active lab_again
check "the far host has it back, too" eventually 10 flows 7791 46m

check "nothing odd in the VM's log" vm_log_clean a
vm_stop a
check "the far host ends" far_down
finish
