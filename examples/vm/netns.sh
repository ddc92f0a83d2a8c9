#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A child of ib0 for a P_Key is moved to a network namespace, as container engines move an interface to a container. The namespace reaches the
# host of its partition, and not the host of the default partition. The script runs itself in a VM. The exit status is
# 0 if all checks pass.
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c lab.conf --address 10.4.0.100/16 -- sh ./netns.sh
fi

ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001
ip netns add blue
ip link set ib0.8001 netns blue
ip -n blue addr add 10.5.0.100/24 dev ib0.8001
ip -n blue link set ib0.8001 up

reaches() { # ADDRESS [CMD ...]: wait up to half a minute for an answer, because an interface that comes up joins its groups first
	address=$1
	shift
	for i in $(seq 30); do
		! "$@" ping -q -c 1 -W 1 "$address" >/dev/null 2>&1 || return 0
	done
	echo "$address is not reached" >&2
	return 1
}
reaches 10.5.0.1 ip netns exec blue
echo "ok: the namespace reaches 10.5.0.1 in partition 0x8001"
! ip netns exec blue ping -q -c 1 -W 1 10.4.0.1 >/dev/null 2>&1
echo "ok: the namespace does not reach 10.4.0.1"
[ ! -e /sys/class/net/ib0.8001 ]
reaches 10.4.0.1
echo "ok: outside, there is no ib0.8001, and 10.4.0.1 is reached"
ip netns del blue
for i in $(seq 100); do # the kernel removes a namespace in the background
	[ ! -e /sys/class/net/ib0.8001 ] || break
	sleep 0.1
done
[ -e /sys/class/net/ib0.8001 ]
echo "ok: the child is back when its namespace has ended"
