#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A fabric without hosts, as in the action for CI, has nobody who answers ib0. The peer is a second interface of ib0's partition, in a
# network namespace of the VM. Both interfaces are at one port, so the kernel's driver passes unicast packets from one to the
# other without the fabric. The script runs itself in a VM. The exit status is 0 if the peer answers.
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c ../../packaging/image/ib0.conf --address 10.4.0.100/16 -- sh ./peer.sh
fi

ip netns add peer
ip link add link ib0 name ib0.1 type ipoib pkey 0xffff
ip link set ib0.1 netns peer
ip -n peer addr add 10.4.0.101/16 dev ib0.1
ip -n peer link set ib0.1 up
for i in $(seq 30); do # an interface that comes up joins its groups first
	if ping -q -c 1 -W 1 10.4.0.101 >/dev/null 2>&1; then
		echo "ok: the peer answers"
		exit
	fi
done
echo "the peer does not answer" >&2
exit 1
