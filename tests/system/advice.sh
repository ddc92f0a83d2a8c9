#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# An interface that is not up, and a command that is refused, say what to type. What they say is typed here, and helps.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need ping
topo_ring 2 3 >"$work/lab.topo"
members() { printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' "blue=0x0001$1;" >"$work/partitions.conf"; }
advice() { u -j link show dev "$1" | jq -r '.link[0].advice'; }
# advises IF REGEX: its advice matches
advises() {
	advice "$1" | grep -Eq -- "$2" || { advice "$1"; return 1; }
}
first_up() { equal "" "$(advice "$1")" && equal UP "$(u -j link show dev "$1" | jq -r '.link[0].state')"; }
# typed REGEX IF: run the part of the advice that matches
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
finish
