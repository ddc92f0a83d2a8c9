#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# check.sh: all
#
# Link profiles under OpenSM, all on one partition. In the first lab:
# - h1 and h2 have the profile v6ib00. An administrator has to create the group of this profile, so partitions.conf gets
#   an entry mgid=, by which OpenSM creates the group.
# - h4 and h5 have encaparp00, which gets its group by SIDR.
# - h3 has rfc4391. It is the SIDR server, because OpenSM does not answer SIDR.
# In the second lab h1 and h2 have v4mc01, and in the third lab they have hld2002.
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
check "OpenSM starts, without the group of v6ib00" eval 'lab_start && osm_start lab Hca1 -Q -P "$work/partitions.conf"' # without -Q OpenSM ignores sl=
check "h3 has its link" eventually 30 is_up h3
lab_remember
check "P18: h4 and h5 have theirs, by what h3 answers" eval 'eventually 40 is_up h4 && eventually 40 is_up h5'
check "P8: with 2048 octets, less the encapsulation" equal 2044 "$(link h4 mtu)"
check "P20: they resolve IPv4 addresses" ping_to h4 10.4.0.5
no_group() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep 'ff12:3333::1.*the group does not exist'; }
check "V19: h1 has no link, and says why" eventually 20 no_group

partitions ", mtu=5" "mgid=ff12:3333::1, mtu=5, sl=2
"
osm_stop
check "OpenSM with the group, of MTU 4096" osm_start lab Hca1 -Q -P "$work/partitions.conf"
check "all interfaces are up" u wait --timeout $patience
check "V16: the MTU is the group's" equal "4096 4096" "$(link h1 mtu) $(link h1 group.mtu)"
check "V15: it has the SL of the file" equal 2 "$(link h1 group.sl)"
large() { equal "2048 4096" "$(link "$1" mtu) $(link "$1" group.mtu)"; } # succeeds when the SIDR server on h3 has answered again
check "P8: that of encaparp00 is 2048" eval 'eventually 40 large h4 && eventually 40 large h5'
check "IPv6 addresses are found unique" eventually 15 no_tentative 5
check "h4 and h5 reach each other, IPv4" ping_to h4 10.4.0.5 -M "do" -s 2020
check "and IPv6" ping_to h4 fd04::5 -M "do" -s 2000
check "and not h3" eval 'not x h4 ping -n -q -c 1 -W 2 10.4.0.3 && not x h4 ping -n -q -c 1 -W 2 fd04::3'
check "h1 and h2 reach each other" eval 'ping_to h1 fd04::2 && ping_to h2 fd04::1'
check "with packets of the whole MTU" ping_to h1 fd04::2 -M "do" -s 4048
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
check "h4 and h5 reach each other again" ping_to h4 10.4.0.5
osm_stop
check "the lab ends" lab_down

# --- h1 and h2 have the profile v4mc01

conf_hosts 3 "sm = external" "ibsim = $inst" | sed '/^\[interface uib0@h[12]\]/a profile = v4mc01' >"$work/lab.conf"
partitions ", mtu=5" ""
check "v4mc01: OpenSM starts, without its group" eval 'lab_start && osm_start lab Hca1 -Q -P "$work/partitions.conf"'
check "v4mc01: h3 has its link" eventually 30 is_up h3
no_broadcast() { [ "$(link h1 state)" = JOINING ] && link h1 reason | grep 'ff12::ffff:ffff.*the group does not exist'; }
check "M13: h1 has no link, and says why" eventually 20 no_broadcast

# Links of this topology have 10 Gb/s, so OpenSM refuses a group of 120 Gb/s (rate 10).
v4mc_groups() {
	printf 'mgid=ff12::%s, mtu=5%s, Q_Key=0xb1b\n' 255.255.255.255 '' "224.0.0.1" "$1" 224.0.0.2 '' 227.1.1.1 ', rate=10'
}
v4mc_starts() { # RATE-OF-ALL-SYSTEMS: start OpenSM with the groups of v4mc01
	osm_stop
	partitions ", mtu=5" "$(v4mc_groups "$1")
"
	osm_start lab Hca1 -Q -P "$work/partitions.conf"
}
pings() { x h1 ping -n -q -c 1 -W 2 "$@"; }
maddr() { u -j maddr show dev "uib0@$1" | jq -r --arg g "$2" ".maddr[] | select(.mgid == \$g) | .$3"; }
recv() { # LABEL GROUP: start a receiver of the group on h2, with its output in $work/recv.LABEL
	bx h2 "$mcast" recv uib0 "$2" 5000 >"$work/recv.$1"
	eventually 10 grep -q ^ready "$work/recv.$1"
}
sent_and_heard() { x h1 "$mcast" send uib0 "$2" 5000 1 "$3" && within 2 grep -q "^$3" "$work/recv.$1"; } # LABEL GROUP TEXT: succeeds if a datagram of h1 arrives at receiver LABEL
reaches() { eventually 30 sent_and_heard "$@"; }
goes_by() { x h1 "$mcast" send uib0 "$1" 5000 1 data && equal "$(maddr h1 "$3" mlid)" "$(maddr h1 "$2" mlid)"; } # GROUP MGID MGID-OF-THE-LID: succeeds if h1 sends to the group with the MLID of the other MGID
check "v4mc01: OpenSM with its groups" v4mc_starts ""
check "v4mc01: all interfaces are up" u wait --timeout $patience
check "M14: the MTU is the group's, less the header" equal "4092 4096" "$(link h1 mtu) $(link h1 group.mtu)"
check "v4mc01: h1 and h2 reach each other" eventually 20 pings 10.4.0.2
check "with packets of the whole MTU" eventually 20 pings -M "do" -s 4064 10.4.0.2
check "and not h3, by IPv4" eval '! pings 10.4.0.3'
check "IPv6 has RFC 4391's groups, and reaches h3" eventually 20 pings fd04::3
is_full() { equal true "$(maddr "$1" "$2" full_member)"; }
check "M16: h1 and h2 are in all-systems" eval 'eventually 10 is_full h1 ff12::e000:1 && eventually 10 is_full h2 ff12::e000:1'
check "M19: h2 joins a group, which creates it" eval 'recv own 225.1.1.1 && eventually 10 is_full h2 ff12::e101:101'
check "M21: and hears h1" reaches own 225.1.1.1 own
check "M21: which joined it to send" equal "true false" "$(maddr h1 ff12::e101:101 send_only) $(maddr h1 ff12::e101:101 full_member)"
check "M22: to a group that is not there h1 sends by the LID of all-systems" eventually 10 goes_by 226.1.1.1 ff12::e201:101 ff12::e000:1
check "M20: it is still not there" equal absent "$(maddr h1 ff12::e201:101 state)"
refused() { equal "failed true" "$(maddr h2 ff12::e301:101 state) $(maddr h2 ff12::e301:101 attached)"; }
check "M22: OpenSM refuses h2 a group that is too fast" eval 'recv refused 227.1.1.1 && eventually 10 refused'
check "and the log says what" eventually 10 grep -q 'uib0@h2: join of ff12::e301:101: status 0x' "$work/lab.log"
check "M22: it hears the group by the LID of all-systems" reaches refused 227.1.1.1 refused

check "v4mc01: OpenSM with a group of all-systems that is too fast" v4mc_starts ", rate=10"
no_systems() { equal "failed true" "$(maddr h2 ff12::e000:1 state) $(maddr h2 ff12::e000:1 attached)"; }
check "M22: it refuses all-systems" eventually 40 no_systems
check "v4mc01: all interfaces are up again" u wait --timeout $patience
check "M22: then the LID is that of the broadcast group" eventually 20 goes_by 226.1.1.1 ff12::e201:101 ff12::ffff:ffff
check "M22: by which h2 hears the group that it is refused" reaches refused 227.1.1.1 again
osm_stop
check "v4mc01: the lab ends" lab_down

# --- h1 and h2 have the profile hld2002
conf_hosts 3 "sm = external" "ibsim = $inst" | sed 's/^\[interface uib0@h\([12]\)\]/[interface ib0@h\1]/
	/^address = fd04::[12].64/d; s,^address = \(10.4.0.[12]\)/16,profile = hld2002\naddress = \1/16\,pkey=0x7fff\naddress = \1/16\,pkey=0x14,; s,10.4.0.\([12]\)/16\,pkey=0x14,10.5.0.\1/16\,pkey=0x14,' >"$work/lab.conf"
has() { equal "$2" "$(x "$1" ls /sys/class/net | grep ^ib | tr '\n' ' ')"; }
parts() { printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' "$@" >"$work/partitions.conf"; }
again() { osm_stop; osm_start lab Hca1 -Q -P "$work/partitions.conf"; }
parts 'Bare=0x0014 : ALL=full;'
check "hld2002: OpenSM starts" eval 'lab_start && osm_start lab Hca1 -Q -P "$work/partitions.conf"'
check "H11 H30: the default partition has a device, and the one without a broadcast group has none" eventually 30 has h1 "ib0_1_7fff "
lab_remember
why() { u -j link show dev ib0_1_14@h1 | jq -r '.link[0].reason' | grep "the group does not exist"; }
check "which says why" eventually 20 why
parts 'Blue=0x0014, ipoib : ALL=full;'
check "OpenSM with its broadcast group" again
check "H30: the device comes" eventually 60 has h1 "ib0_1_14 ib0_1_7fff "
check "two hosts reach each other over it" ping_to h1 10.5.0.2
check "and a host of rfc4391 over the default partition" ping_to h1 10.4.0.3
parts
check "OpenSM without the partition" again
check "H30: the device goes" eventually 60 has h1 "ib0_1_7fff "
check "h3 is reached still" ping_to h1 10.4.0.3
osm_stop
check "the lab ends again" lab_down
finish
