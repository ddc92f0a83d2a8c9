#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM. The program SUITE has the tests of the interface src/ca/ca.h, and runs over the devices of two_devices.sh.
# SUITE calls this script to pull the cable, to change P_Keys, and to restore both. The cable is a UDP link over lo, so
# `link_down` takes lo down. `set_pkey` suspends OpenSM, which would write the old P_Keys again. `restore` resumes OpenSM.
#
#	ca_verbs.sh SUITE
#	ca_verbs.sh link_down | set_pkey DEVICE INDEX PKEY | restore
set -e
. "$(dirname "$0")/two_devices.sh"
patch=$(dirname "$0")/../../smp_patch.py
is() { grep -q "$2" "/sys/class/infiniband/$1/ports/1/$3"; }
ready() { two_devices_ready && is uib1 0x0000 pkeys/3 && is uib2 0x0000 pkeys/3; }
both_down() { is uib1 DOWN state && is uib2 DOWN state; }
has_pkey() { is "$1" "$3" "pkeys/$2"; }
# await CMD...: wait until CMD succeeds
await() {
	local i
	for ((i = 0; i < 600; i++)); do ! "$@" || return 0; sleep 0.1; done
	tail -20 /tmp/opensm.log
	cat /sys/class/infiniband/uib*/ports/1/{state,pkeys/1,pkeys/3}
	return 1
}
# write_pkey DEVICE INDEX PKEY: set an entry of DEVICE's P_Key table by an SMP from the other end of the cable
write_pkey() { IBDEV=uib$((3 - ${1#uib})) python3 -B "$patch" 0,1 0x16 0 "$((2 * $2))=$(($3 >> 8))" "$((2 * $2 + 1))=$(($3 & 255))"; }

case $1 in
link_down)
	ip link set lo down
	await both_down
	exit
	;;
set_pkey)
	kill -STOP "$(cat /tmp/opensm.pid)"
	write_pkey "${@:2}"
	await has_pkey "${@:2}"
	exit
	;;
restore)
	ip link set lo up
	if ! both_down; then
		for n in 1 2; do
			write_pkey uib$n 1 0x8005
			write_pkey uib$n 3 0
		done
	fi
	kill -CONT "$(cat /tmp/opensm.pid)"
	await ready
	exit
	;;
esac

two_devices
echo $opensm >/tmp/opensm.pid
# When the VM gets no CPU time for 3 s, the link goes down and packets are lost. So the script makes up to three
# attempts, and waits before each attempt until the ports are Active.
attempt() { await ready && "$1" uib1 uib2 "bash $0"; }
status=0
attempt "$1" >/tmp/suite 2>&1 || attempt "$1" >/tmp/suite 2>&1 || attempt "$1" >/tmp/suite 2>&1 || status=$?
cat /tmp/suite
kill $opensm
exit $status
