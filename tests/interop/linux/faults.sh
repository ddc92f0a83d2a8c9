#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Traffic flows both ways between Linux and uipoib hosts. Meanwhile subnet managers restart, hand over and move. LIDs and
# P_Keys change, too. After each of these faults, IPv4, IPv6 and multicast are back in both directions within the time that
# doc/fidelity.md states. The SA that runs after the fault has all memberships. The script prints the times.
#
#	h1 --- Switch1 --- Switch2 --- h2
#	          |
#	       VM: ib0, ib0.8001
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
need opensm saquery
guid=0x02000000000fa001

cat >"$work/both.parts" <<-'END'
	Default=0x7fff, ipoib : ALL=full ;
	blue=0x0001, ipoib : ALL=full ;
END
echo "Default=0x7fff, ipoib : ALL=full ;" >"$work/one.parts"
cp "$work/both.parts" "$work/lab.parts"
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2 "partitions = lab.parts"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16" "address = fd05::1/64"
} >"$work/lab.conf"
lab_up
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --guid $guid
vm_wait a
g a 'ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 &&
	ip addr add 10.5.9.1/16 dev ib0.8001 && ip addr add fd05::901/64 dev ib0.8001 nodad && ip link set ib0.8001 up' ||
	echo "# no child interface"
probe_vm 7790 ib0 10.4.0.1 fd04::1
probe_host 7790 uib0 10.4.9.1 fd04::901 bx h1
probe_vm 7791 ib0.8001 10.5.0.1 fd05::1
probe_host 7791 uib1 10.5.9.1 fd05::901 bx h1
check "traffic flows both ways" eventually 60 flows 7790 46m
check "in the other partition, too" eventually 60 flows 7791 46m
vm_gid=$(g a cat /sys/class/infiniband/uib0/ports/1/gids/0)

# --- the SA's records of the groups in which the VM is a full member

six_at_least() { memberships >"$work/wanted" && test "$(wc -l <"$work/wanted")" -ge 6; }
check "the SA knows the VM's memberships" eventually 20 six_at_least
echo "# $(wc -l <"$work/wanted") memberships"

sm_is() { # NODE/PORT: succeeds if the embedded SM at this port is the master, and the VM's port has its LID as SM LID
	u -j fabric sm show | jq -e --arg p "$1" '.sm[] | select(.port == $p and .state == "master")' &&
		equal "$(u -j fabric port show "$1" | jq '.port[0].sm_lid')" "$(port_attr sm_lid)"
} >/dev/null

# --- subnet managers restart, hand over and are killed

smps() { u -j fabric sm show | jq '.sm[0].smps'; }
before=$(smps)
restarted() { # succeeds if the SA knows all members, and this or an earlier call has seen fewer SMPs than $before: a new SM counts from 0
	[ -e "$work/restarted" ] || { [ "$(smps)" -lt "$before" ] && touch "$work/restarted"; } && knows_all
}
check "the SM is restarted" fault "SM restarted" 46m 4 restarted u fabric sm restart
moved() { sm_is Switch2/0 && knows_all; }
check "a better SM comes" fault "handover to a better SM" 46m 4 moved u fabric sm start Switch2/0 priority 5
moved() { sm_is Switch1/0 && knows_all; }
check "it is killed" fault "SM killed, the standby takes over" 46m 9 moved u fabric sm stop Switch2/0
sm_lid=$(port_attr sm_lid)
moved() { equal 400 "$(port_attr sm_lid)" && knows_all; }
check "the SM's LID changes" fault "SM LID $sm_lid becomes 400" 46m 4 moved u fabric lid set Switch1/0 400
saquery_in_vm() { says "$(head -1 "$work/wanted")" g a saquery -g; }
check "Linux's own tools see the groups" eventually 20 saquery_in_vm

# --- the LIDs of ports change

moved() { equal 500 "$(port_attr lid)"; }
check "the VM's LID changes" fault "LID of the Linux end changed" 46m 4 moved u fabric lid set $guid 500
moved() { equal 501 "$(u -j link show dev uib0@h1 | jq '.link[0].lid')"; }
check "the host's LID changes" fault "LID of the uipoib end changed" 46m 4 moved u fabric lid set Hca1/1 501
check "all memberships are known" eventually 10 knows_all

# --- the P_Keys of ports change

child() { g a "cat /sys/class/net/ib0.8001/carrier"; }
load() { cp "$work/$1.parts" "$work/lab.parts" && u fabric partitions "$work/lab.parts"; }
down() {
	equal 0 "$(child)" && u -j link show dev uib1@h1 | jq -e '.link[0] | .state != "UP" and (.reason | test("P_Key"))'
}
gone=$(now)
before=$(carriers)
check "a P_Key is removed" load one
check "its interfaces go down at both ends" eventually 15 down
echo "# P_Key removed: both interfaces down after $(since "$gone") s"
check "the P_Key is not in the VM's table" not grep -qi 0x8001 <(vm_pkeys)
check "the other partition is not disturbed" undisturbed 7790 46m "$before"
back() { equal 1 "$(child)"; }
check "it is added" fault -p 7791 "P_Key added" 46m 6 back load both
check "the other partition was not disturbed" undisturbed 7790 46m "$before"
check "all memberships are known" eventually 10 knows_all

# --- OpenSM, also with other LMCs

osm() { osm_start exec h2 -p 8 -F "$work/osm.conf" -P "$work/lab.parts" "$@" && osm_wait_up; }
opensm() { equal "$(u -j link show dev uib0@h2 | jq '.link[0].lid')" "$(port_attr sm_lid)" && knows_all; }
check "OpenSM takes over" fault "handover to OpenSM" 46m 4 opensm osm
ours() { sm_is Switch1/0 && knows_all; }
check "OpenSM is killed" fault "OpenSM killed, ours takes over" 46m 9 ours osm_stop KILL
lmc() { equal 1 "$(port_attr lid_mask_count)" && opensm; }
check "OpenSM takes over and wants an LMC of 1" fault "handover to OpenSM, LMC 0 becomes 1" 46m 4 lmc osm -l 1
lmc() { equal 0 "$(port_attr lid_mask_count)" && ours; }
check "ours takes over again" fault "OpenSM killed, LMC 1 becomes 0" 46m 9 lmc osm_stop KILL
check "the other partition works, too" eventually 10 flows 7791 46m

check "nothing odd in the VM's log" vm_log_clean a
vm_stop a
finish
