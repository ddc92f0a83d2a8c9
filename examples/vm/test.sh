#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests ipoib_link.py, a netlink program, with a stock kernel's own ib0. The script runs itself in a VM. The exit status
# is 0 if the test passes; `uipoib vm` passes this status on.
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c lab.conf --address 10.4.0.100/16 -- sh ./test.sh
fi

expect() { # WHAT WANT GOT: end with status 1 unless both are equal
	[ "$2" = "$3" ] || { echo "$1: expected '$2', got '$3'" >&2; exit 1; }
	echo "ok: $1"
}
link='/usr/bin/python3 ./ipoib_link.py'

expect "ib0" "ib0 type 32 address 20 mtu 2044 kind ipoib pkey 0xffff" "$($link show ib0)"
ping -q -c 1 -W 10 10.4.0.1 >/dev/null
echo "ok: h1 is reached"
$link add ib0 ib0.8001 0x8001
ip addr add 10.5.0.100/24 dev ib0.8001
ip link set ib0.8001 up
for i in $(seq 300); do # wait until the interface has joined its broadcast group
	[ "$(cat /sys/class/net/ib0.8001/carrier)" = 0 ] || break
	sleep 0.1
done
expect "its child" "ib0.8001 type 32 address 20 mtu 4092 kind ipoib pkey 0x8001" "$($link show ib0.8001)"
ping -q -c 1 -W 10 -M do -s 4064 10.5.0.1 >/dev/null
echo "ok: h1 is reached in its partition, with packets of 4092 octets"
expect "a second one is refused" "ipoib_link.py: ib0 ib0.8001 0x8001: File exists" "$($link add ib0 ib0.8001 0x8001 2>&1 || true)"
