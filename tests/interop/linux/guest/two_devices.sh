# SPDX-License-Identifier: BSD-2-Clause
#
# For scripts that run in a VM. Two devices of uib.ko, uib1 and uib2, with a cable between them replace the devices that
# the VM has. OpenSM manages this fabric.
#
#	two_devices		make the devices, and start OpenSM, whose pid is then $opensm
#	two_devices_ready	succeeds if both ports are Active and have their P_Keys

two_devices() {
	local params=/sys/module/uib/parameters n
	for n in 0 1 2; do
		[ ! -e /sys/class/infiniband/uib$n ] || echo uib$n >$params/remove || return 1
	done
	ip link set lo up
	for n in 1 2; do
		echo "uib$n listen=127.0.0.1:501$n peer=127.0.0.1:501$((3 - n)) guid=0x0002c9030000050$n" >$params/add || return 1
	done
	printf '%s\n' 'Default=0x7fff, ipoib: ALL=full;' 'Suite=0x0005: ALL=full;' >/tmp/partitions.conf
	opensm -g 0x0002c90300000501 -P /tmp/partitions.conf -f /tmp/opensm.log >/dev/null 2>&1 &
	opensm=$!
}

two_devices_ready() {
	local n
	for n in 1 2; do
		grep -q ACTIVE /sys/class/infiniband/uib$n/ports/1/state && [ "$(cat /sys/class/infiniband/uib$n/ports/1/pkeys/1)" = 0x8005 ] || return 1
	done
}
