#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Link profiles whose own group an administrator sets up, under OpenSM: it makes the group of a line mgid= in its
# partitions.conf. h1 and h2 have the profile v6ib00, h3 has rfc4391, all on one partition.
#
#	      h1             h2             h3
#	       |              |              |
#	      Switch1 ------ Switch2 ------ Switch3 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
need opensm ping
mcast=$TOOLS/mcast
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 "sm = external" "ibsim = $inst" | sed '/^address = 10\./d; /^\[interface uib0@h[12]\]/a profile = v6ib00' >"$work/lab.conf"
link() { u -j link show -d dev "uib0@$1" | jq -r ".link[0].$2"; }
is_up() { equal UP "$(link "$1" state)"; }
partitions() { printf 'Default=0x7fff, ipoib%s : %sALL=full;\n' "$1" "$2" >"$work/partitions.conf"; }

partitions "" ""
check "OpenSM starts, without the group of v6ib00" eval 'lab_start && osm_start lab Hca1 -Q -P "$work/partitions.conf"' # without -Q it ignores sl=
check "h3 has its link" eventually 30 is_up h3
lab_remember
no_group() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep 'ff12:3333::1.*the group does not exist'; }
check "V19: h1 has no link, and says why" eventually 20 no_group

partitions ", mtu=5" "mgid=ff12:3333::1, mtu=5, sl=2
"
osm_stop
check "OpenSM with the group, of MTU 4096" osm_start lab Hca1 -Q -P "$work/partitions.conf"
check "all interfaces are up" u wait --timeout $patience
check "V16: the MTU is the group's" equal "4096 4096" "$(link h1 mtu) $(link h1 group.mtu)"
check "V15: it has the SL of the file" equal 2 "$(link h1 group.sl)"
check "IPv6 addresses are found unique" eventually 15 no_tentative 3
check "h1 and h2 reach each other" eval 'eventually 20 x h1 ping -n -q -c 1 -W 2 fd04::2 && x h2 ping -n -q -c 1 -W 2 fd04::1'
check "with packets of the whole MTU" x h1 ping -n -q -c 2 -W 5 -M "do" -s 4048 fd04::2
check "and not h3" eval '! x h1 ping -n -q -c 1 -W 2 fd04::3'

listens() { grep -q ^ready "$work/recv"; }
bx h2 "$mcast" recv uib0 ff15::1:2:3 5000 >"$work/recv"
heard() { x h1 "$mcast" send uib0 ff15::1:2:3 5000 1 data && within 5 grep -q ^data "$work/recv"; }
check "h2 joins a group, which creates it" eventually 10 listens
check "and hears h1" eventually 20 heard
osm_stop
check "the lab ends" lab_down
finish
