#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM. Two devices of uib.ko with a cable between them, which OpenSM manages, replace uib0, and the tests of the
# interface src/ca/ca.h (SUITE) run over them.
#
#	ca_verbs.sh SUITE
set -e
params=/sys/module/uib/parameters
[ ! -e /sys/class/infiniband/uib0 ] || echo uib0 >$params/remove
ip link set lo up
for n in 1 2; do echo "uib$n listen=127.0.0.1:501$n peer=127.0.0.1:501$((3 - n)) guid=0x0002c9030000050$n" >$params/add; done
printf '%s\n' 'Default=0x7fff, ipoib: ALL=full;' 'Suite=0x0005: ALL=full;' >/tmp/partitions.conf
opensm -g 0x0002c90300000501 -P /tmp/partitions.conf -f /tmp/opensm.log >/dev/null 2>&1 &
opensm=$!
ready() {
	local n
	for n in 1 2; do
		grep -q ACTIVE /sys/class/infiniband/uib$n/ports/1/state && [ "$(cat /sys/class/infiniband/uib$n/ports/1/pkeys/1)" = 0x8005 ] || return 1
	done
}
# The link goes down when the VM gets no CPU time for 3 s, and then no packets arrive. So there are three attempts,
# each with ports that are Active.
attempt() {
	local i
	for ((i = 0; i < 600; i++)); do ! ready || break; sleep 0.1; done
	ready || { tail -20 /tmp/opensm.log; cat /sys/class/infiniband/uib*/ports/1/{state,pkeys/1}; return 1; }
	"$1" uib1 uib2
}
status=0
attempt "$1" >/tmp/suite 2>&1 || attempt "$1" >/tmp/suite 2>&1 || attempt "$1" >/tmp/suite 2>&1 || status=$?
cat /tmp/suite
kill $opensm
exit $status
