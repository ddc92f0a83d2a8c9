#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# One machine with a stock kernel has three cables. ib0 and ib1 lead to two switches of fabric A and form a bond, and
# ib2 leads to fabric B as a second rail. The script runs itself in a VM. If a command follows the name of the script,
# the script runs this command in the VM at the end, with the bond up.
#
#	sh examples/vm/rails.sh				the exit status is 0 if the bond and the rail work
#	sh examples/vm/rails.sh bash			gives a shell in the VM
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c rails.conf ${RAILS_NAME:+-n "$RAILS_NAME"} --port fabric:A/Switch1/2 --port fabric:A/Switch2/2 \
		--port fabric:B/Switch1/2 --address ib2=10.5.0.100/16 -- sh ./rails.sh "$@"
fi

# IPoIB's addresses belong to the ports, so the bond has the address of its active member (fail_over_mac). A member must be down when it
# becomes part of the bond.
ip link add bond0 type bond mode active-backup miimon 100 fail_over_mac active
for member in ib0 ib1; do
	ip link set "$member" down
	ip link set "$member" master bond0
done
ip link set bond0 up
ip addr add 10.4.0.100/16 dev bond0
echo ib0 >/sys/class/net/bond0/bonding/primary

reaches() { # IF ADDRESS: waits up to half a minute for an answer, because the members join their groups again
	for i in $(seq 30); do
		! ping -q -c 1 -W 1 -I "$1" "$2" >/dev/null 2>&1 || { echo "ok: $2 is reached over $1"; return; }
	done
	echo "$2 is not reached over $1" >&2
	exit 1
}
reaches bond0 10.4.0.1
reaches ib2 10.5.0.1
[ $# = 0 ] || exec "$@"
