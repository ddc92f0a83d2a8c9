#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# A uipoib in a VM has interfaces on `port = verbs:uib0/1`, and OpenSM is the only SM of the fabric. OpenSM makes these
# changes while traffic flows in both directions:
# - When OpenSM is started again, it gives the port another LID, or another number of LIDs (LMC).
# - OpenSM removes a P_Key from the port's table, and adds the P_Key again.
# Traffic is back within the times that doc/fidelity.md states, and the SA knows the port's groups. The script prints
# the times. The kernel's own ib0 is down; ca_verbs.sh tests ib0 and uipoib on one port.
#
#	h1 --- Switch1 --- Switch2 --- h2 (OpenSM)
#	          |
#	       VM: uib0 10.4.9.11, uib1 10.5.9.11 (P_Key 0x8001) of uipoib
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
need opensm saquery
guid=0x02000000000fa001

echo "Default=0x7fff, ipoib : ALL=full ;" >"$work/one.parts"
cat "$work/one.parts" - >"$work/both.parts" <<<"blue=0x0001, ipoib : ALL=full ;"
cp "$work/both.parts" "$work/lab.parts"
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2 "sm = external"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16" "address = fd05::1/64"
} >"$work/lab.conf"
osm() { osm_start exec h2 -F "$work/osm.conf" -P "$work/lab.parts" "$@" && osm_wait_up $vm_patience; }
check "OpenSM brings the fabric up" eval 'lab_start && osm && u wait --timeout $patience && lab_remember'
vm_start a --cpus 1 --guid $guid --share "$work"
vm_wait a
g a 'modprobe tun; ip addr flush dev ib0; ip link set ib0 down'

printf '%s\n' '[interface uib0]' 'port = verbs:uib0/1' 'address = 10.4.9.11/16' 'address = fd04::911/64' \
	'[interface uib1]' 'port = verbs:uib0/1' 'pkey = 0x8001' 'address = 10.5.9.11/16' 'address = fd05::911/64' >"$work/v.conf"
start_at a "$work/v.log" "$UIPOIB" run -c "$work/v.conf" -n v
both_up() { grep -q 'uib0@: up$' "$work/v.log" && grep -q 'uib1@: up$' "$work/v.log"; }
check "two interfaces on the kernel's port come up under OpenSM" eventually 60 both_up
probe_vm 7790 uib0 10.4.0.1 fd04::1
probe_host 7790 uib0 10.4.9.11 fd04::911 bx h1
probe_vm 7791 uib1 10.5.0.1 fd05::1
probe_host 7791 uib1 10.5.9.11 fd05::911 bx h1
check "traffic flows both ways" eventually 60 flows 7790 46m
check "in the other partition, too" eventually 60 flows 7791 46m
vm_gid=$(g a cat /sys/class/infiniband/uib0/ports/1/gids/0)
# In each partition: the broadcast group, 224.0.0.1, ff02::1, the group of the probe, and the solicited-node groups of two IPv6 addresses
twelve() { memberships >"$work/wanted" && equal 12 "$(wc -l <"$work/wanted")"; }
check "the SA of OpenSM knows twelve memberships, six of each interface" eventually 20 twelve
# kept_up: succeeds if traffic of uib0 flows, and the log gives no reason why uib0 went down except that its port was
# Down. The port goes Down when the VM gets no CPU time for a while, and this is no failure
kept_up() { not grep -E 'uib0@: down: ' <(grep -v 'the port is Down' "$work/v.log") && eventually 10 flows 7790 46m; }

# --- LIDs. OpenSM is killed, and a new OpenSM reads other LIDs from its file. The port keeps its former LID until the
# new OpenSM has read the fabric

# again SED...: kill OpenSM, and change the file of LIDs for the next OpenSM. The fault begins when the next OpenSM starts
again() { osm_stop KILL && sed "$@" "$osm_dir/guid2lid" >"$work/guid2lid"; }
lid=$(port_attr lid)
check "OpenSM is killed, and its LID of the port is changed" again -E "s/^($guid) .*/\1 0x01f4 0x01f4/I"
check "the changed file has the port" grep -q "0x01f4 0x01f4" "$work/guid2lid"
moved() { equal 500 "$(port_attr lid)" && knows_all; }
check "it starts again" fault "LID $lid of the verbs port becomes 500" 46m 4 moved osm
check "in the other partition traffic flows, too" eventually 10 flows 7791 46m
rm "$work/guid2lid"
osm_stop KILL
lmc() { equal 1 "$(port_attr lid_mask_count)" && knows_all; }
check "another OpenSM wants an LMC of 1" fault "LMC 0 becomes 1" 46m 4 lmc osm -l 1
osm_stop KILL
lmc() { equal 0 "$(port_attr lid_mask_count)" && knows_all; }
check "and another one an LMC of 0" fault "LMC 1 becomes 0" 46m 4 lmc osm
check "in the other partition traffic flows, too" eventually 10 flows 7791 46m
check "the interface has not gone down" kept_up

# --- P_Keys. OpenSM reads its file of partitions again when it gets SIGHUP

load() { cp "$work/$1.parts" "$work/lab.parts" && kill -HUP "$osm_pid"; }
# state IF: print the state of an interface in the VM, and the reason if the interface is not up
state() { g a "$UIPOIB" -n v -j link show dev "$1@" | jq -r '.link[0] | "\(.state) \(.reason)"'; }
down() { [[ $(state uib1) =~ ^[^U].*P_Key ]]; }
most=$((4 + machine * $(stretch)))
gone=$(now)
check "OpenSM takes a P_Key away" load one
check "its interface goes down" eventually $most grep -q 'uib1@: down: .*P_Key' "$work/v.log"
took=$(awk -v a="$gone" -v b="$(stat -c %.Y "$work/v.log")" 'BEGIN { printf "%.2f", b - a }')
echo "# P_Key removed: the interface is down after $took s (stated: 4 s)"
in_time() { awk -v got="$took" -v most=$most 'BEGIN { exit !(got > 0 && got <= most) }'; }
check "in time" in_time
check "and says why" eventually 20 down
check "the P_Key is not in the port's table" not grep -qi 0x8001 <(vm_pkeys)
check "the interface of the other partition is not disturbed" kept_up
back() { both_up && [[ $(state uib1) == UP* ]]; }
check "OpenSM gives it back" fault -p 7791 "P_Key added" 46m 6 back load both
check "all memberships are known" eventually 10 knows_all
check "the interface of the other partition was not disturbed" kept_up

osm_stop
check "nothing in the kernel's log of the VM" vm_log_clean a
check "the VM ends" vm_stop a
finish
