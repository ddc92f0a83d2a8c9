#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Link profiles under OpenSM, all on one partition. h1 and h2 have v6ib00, whose own group an administrator sets up: OpenSM
# makes it from a line mgid= in its partitions.conf. h4 and h5 have encaparp00, whose group comes by SIDR. OpenSM does not
# answer that, so h3, which has rfc4391, does.
#
#	    h1   h4         h2   h5           h3
#	     |   |           |   |            |
#	    Switch1 ------- Switch2 ------- Switch3 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
need opensm ping
mcast=$TOOLS/mcast
topo_ring 5 3 >"$work/lab.topo"
conf_hosts 5 "sm = external" "ibsim = $inst" | sed '/^address = 10\.4\.0\.[12]\//d; /^\[interface uib0@h[12]\]/a profile = v6ib00
	/^\[interface uib0@h3\]/a sidr-server = yes
	/^\[interface uib0@h[45]\]/a profile = encaparp00' >"$work/lab.conf"
link() { u -j link show -d dev "uib0@$1" | jq -r ".link[0].$2"; }
is_up() { equal UP "$(link "$1" state)"; }
partitions() { printf 'Default=0x7fff, ipoib%s : %sALL=full;\n' "$1" "$2" >"$work/partitions.conf"; }

partitions "" ""
check "OpenSM starts, without the group of v6ib00" eval 'lab_start && osm_start lab Hca1 -Q -P "$work/partitions.conf"' # without -Q it ignores sl=
check "h3 has its link" eventually 30 is_up h3
lab_remember
check "P18: h4 and h5 have theirs, by what h3 answers" eval 'eventually 40 is_up h4 && eventually 40 is_up h5'
check "P8: with 2048 octets, less the encapsulation" equal 2044 "$(link h4 mtu)"
check "P20: they resolve IPv4 addresses" x h4 ping -n -q -c 2 -W 5 10.4.0.5
no_group() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep 'ff12:3333::1.*the group does not exist'; }
check "V19: h1 has no link, and says why" eventually 20 no_group

partitions ", mtu=5" "mgid=ff12:3333::1, mtu=5, sl=2
"
osm_stop
check "OpenSM with the group, of MTU 4096" osm_start lab Hca1 -Q -P "$work/partitions.conf"
check "all interfaces are up" u wait --timeout $patience
check "V16: the MTU is the group's" equal "4096 4096" "$(link h1 mtu) $(link h1 group.mtu)"
check "V15: it has the SL of the file" equal 2 "$(link h1 group.sl)"
large() { equal "2048 4096" "$(link h4 mtu) $(link h4 group.mtu)"; } # once h3 has answered again
check "P8: that of encaparp00 is 2048" eventually 40 large
check "IPv6 addresses are found unique" eventually 15 no_tentative 5
check "h4 and h5 reach each other, IPv4" x h4 ping -n -q -c 2 -W 5 -M "do" -s 2020 10.4.0.5
check "and IPv6" eventually 20 x h4 ping -n -q -c 1 -W 2 -M "do" -s 2000 fd04::5
check "and not h3" eval 'not x h4 ping -n -q -c 1 -W 2 10.4.0.3 && not x h4 ping -n -q -c 1 -W 2 fd04::3'
check "h1 and h2 reach each other" eval 'eventually 20 x h1 ping -n -q -c 1 -W 2 fd04::2 && x h2 ping -n -q -c 1 -W 2 fd04::1'
check "with packets of the whole MTU" x h1 ping -n -q -c 2 -W 5 -M "do" -s 4048 fd04::2
check "and not h3" eval '! x h1 ping -n -q -c 1 -W 2 fd04::3'

listens() { grep -q ^ready "$work/recv"; }
bx h2 "$mcast" recv uib0 ff15::1:2:3 5000 >"$work/recv"
heard() { x h1 "$mcast" send uib0 ff15::1:2:3 5000 1 data && within 5 grep -q ^data "$work/recv"; }
check "h2 joins a group, which creates it" eventually 10 listens
check "and hears h1" eventually 20 heard

x h3 ip link set uib0 down
osm_stop
check "P18: a new OpenSM, and nobody answers SIDR: h4 says so" eval 'osm_start lab Hca1 -Q -P "$work/partitions.conf" && eventually 60 eval "link h4 reason | grep ServiceRecord"'
x h3 ip link set uib0 up
check "h3 answers again" eventually 60 is_up h4
check "h4 and h5 reach each other again" eventually 60 x h4 ping -n -q -c 1 -W 2 10.4.0.5
osm_stop
check "the lab ends" lab_down
finish
