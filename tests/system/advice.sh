#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# If an interface is not up, or a command is refused, uipoib advises what the user should type. The script types what uipoib
# advises, and checks that it helps.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need ping
topo_ring 2 3 >"$work/lab.topo"
members() { printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' "blue=0x0001$1;" >"$work/partitions.conf"; }
advice() { u -j link show dev "$1" | jq -r '.link[0].advice'; }
# advises IF REGEX: succeeds if the advice about the interface matches REGEX
advises() {
	advice "$1" | grep -Eq -- "$2" || { advice "$1"; return 1; }
}
first_up() { equal "" "$(advice "$1")" && equal UP "$(u -j link show dev "$1" | jq -r '.link[0].state')"; }
# typed REGEX IF: search the advice about interface IF for REGEX, and run the text that matches as a command
typed() {
	local command
	command=$(advice "$2" | grep -oE -- "$1") || return 1
	u ${command#uipoib }
}

members ", ipoib : ALL=full"
{
	conf_hosts 2 "partitions = partitions.conf" "sm = external"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16"
} >"$work/lab.conf"
lab_start
manager='Start a subnet manager: uipoib fabric sm start Hca1/1'
check "without a manager, wait says how to start one" refuse 4 "uib0@h1: WAIT_PORT: .*$manager" u wait --timeout 1
check "and link show says it" advises uib0@h1 "^$manager"
check "this is typed" typed 'uipoib fabric sm start Hca1/1' uib0@h1
check "all interfaces come up" u wait --timeout 60
lab_remember
check "an interface that is up needs no advice" first_up uib0@h1
check "a second manager at the port: what to do" refuse 2 "Hca1/1 has a subnet manager already.*Stop it first, or choose another port" u fabric sm start Hca1/1

check "a cable is pulled" u fabric link set Hca2/1 down
check "what helps against it" eventually 10 advises uib0@h2 'type: uipoib fabric link set Hca2/1 up'
check "a trace from there says it, too" refuse 1 'uib0@h2 is not up. .*uipoib fabric link set Hca2/1 up' u trace h2 h1
check "this is typed, too" typed 'uipoib fabric link set Hca2/1 up' uib0@h2
check "the interface comes up by it" eventually 30 first_up uib0@h2

check "an interface is set down in its host" x h2 ip link set uib0 down
check "what sets it up" eventually 10 advises uib0@h2 '^Type: uipoib exec h2 ip link set uib0 up\.$'
check "it is typed" typed 'uipoib exec h2 ip link set uib0 up' uib0@h2
check "and the interface is up" eventually 30 first_up uib0@h2

parts() { u fabric partitions "$work/partitions.conf"; }
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' >"$work/partitions.conf"
check "a port loses a P_Key" parts
check "what gives it back" eventually 20 advises uib1@h1 "^Make Hca1/1 a member of this partition in the file of 'partitions =', and type: uipoib fabric partitions FILE"
members " : ALL=full"
check "the port is a member again, of a partition without a group" parts
check "what makes the group" eventually 40 advises uib1@h1 "^Add the word 'ipoib' to partition 0x8001"
members ", ipoib : ALL=full"
check "the partition has a group" parts
check "and all is well" eventually 60 first_up uib1@h1

check "an MTU above the link's" x h1 ip link set uib0 mtu 4000
check "the log says which one to set" eventually 5 grep -q 'MTU is 4000 now, but the link carries 2044 .*uipoib exec h1 ip link set uib0 mtu 2044' "$work/lab.log"
no_route() { u trace h2 10.77.0.1 | grep -q 'No packet was sent.*uipoib exec h2 ip route get'; }
check "a trace to an address without a route says where to look" no_route
far_down() { refuse 1 '^uib0@h2 is not up\. .*uipoib fabric link set Hca2/1 up' u trace h1 h2; }
check "a cable is pulled at the far end" u fabric link set Hca2/1 down
check "a trace to there says what helps" eventually 10 far_down
lab_down

# h1 does not reach h2, h3 or h6, although all of them are up: h2 is in another partition, h3 has another profile, and h6 has
# another scope. h4 and h5 do not reach each other, because both are limited members. At first h6 and h7 wait for their broadcast
# groups. The word 'ipoib' in the partitions file does not make the group of h7, because h7 has profile v4mc01.
topo_ring 7 3 >"$work/lab.topo"
groups() { # [WORDS OF THE DEFAULT PARTITION [A GROUP]]
	printf '%s\n' "Default=0x7fff, ipoib${1:-} : ${2:-} ALL=full, 0x100007=limited, 0x100009=limited;" 'blue=0x0001, ipoib : ALL=full;' >"$work/partitions.conf"
}
groups
conf_hosts 7 "partitions = partitions.conf" "sidr-server = yes" |
	sed -e '/Hca2/a pkey = 0x8001' -e '/Hca3/a profile = encaparp00' -e '/Hca6/a scope = 5' -e '/Hca7/a profile = v4mc01' >"$work/lab.conf"
lab_start
check "a link of another scope: what makes its group" eventually 30 advises uib0@h6 "^Add 'ipoib, scope=5' to partition 0xffff in the file"
check "a link of another profile: what makes its group" eventually 30 advises uib0@h7 "^Add the line 'mgid=ff12::ffff:ffff' to partition 0xffff in the file"
groups ", scope=2, scope=5" $'\nmgid=ff12::ffff:ffff\n'
check "both are made" parts
check "all interfaces come up by it" u wait --timeout 90
lab_remember
apart() { # REGEX A B [WORD...]: succeeds if a trace from A to B gets no answer, and gives a reason that matches REGEX
	refuse 1 "$1" u trace "${@:2}"
}
check "two partitions" apart '^uib0@h1 is in partition 0xffff and uib0@h2 in 0x8001, .*Give both the same .pkey.' h1 h2
check "two profiles" apart '^uib0@h1 has the profile rfc4391 and uib0@h3 has encaparp00, .*Give both the same .profile.' h1 h3
check "two limited members" apart '^Both are limited members .*Make one of them a full member in the file of .partitions =.*uipoib fabric partitions FILE' h4 h5
check "two scopes" apart '^Their broadcast groups are ff12:401b:ffff::ffff:ffff and ff15:401b:ffff::ffff:ffff' h1 h6
check "-j says it, too" eval 'u -j trace h1 h2 | jq -e ".trace[0].advice | startswith(\"uib0@h1 is in partition\")"'
check "one link: nothing is said against it" equal "" "$(u -j trace h1 h4 | jq -r '.trace[0].advice')"
nobody_listens() { apart 'refused: nobody listens' h1 h4 tcp 81 && equal refused: "$(tail -1 "$work/refuse.out" | grep -o refused:)"; }
check "and a refusal of the other end is the last word" eventually 10 nobody_listens
finish
