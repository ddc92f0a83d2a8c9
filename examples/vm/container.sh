#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A container of podman gets an interface that is a child of ib0, for one P_Key. ib0 itself stays in the VM's own
# network namespace. The root file system of the container is that of the VM, so no image is needed. Needs the packages
# podman and crun. The script runs itself in a VM. The exit status is 0 if all checks pass.
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c lab.conf --address 10.4.0.100/16 --memory 768 -- sh ./container.sh
fi

# podman must use neither control groups nor this machine's storage
export CONTAINERS_CONF=/run/c.conf CONTAINERS_STORAGE_CONF=/run/s.conf
printf '%s\n' '[containers]' 'default_ulimits = []' '[engine]' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' >/run/c.conf
printf '%s\n' '[storage]' 'driver = "vfs"' 'runroot = "/run/containers/storage"' 'graphroot = "/run/containers/graph"' >/run/s.conf
root=/run/root
for d in proc sys dev run tmp usr etc; do mkdir -p $root/$d; done
mount --rbind /usr $root/usr
mount --bind /etc $root/etc
ln -s usr/bin usr/sbin usr/lib usr/lib64 $root/

podman run -d --name one --cgroups=disabled --network none --rootfs $root sleep 1000 >/run/id
pid=$(podman inspect -f '{{.State.Pid}}' one)
ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001
ip link set ib0.8001 netns "$pid"
n() { nsenter --net="/proc/$pid/ns/net" "$@"; }
n ip addr add 10.5.0.100/24 dev ib0.8001
n ip link set ib0.8001 up

reaches() { # ADDRESS [CMD ...]: wait up to half a minute for an answer, because an interface that comes up joins its groups first
	address=$1
	shift
	for i in $(seq 30); do
		! "$@" ping -q -c 1 -W 1 "$address" >/dev/null 2>&1 || return 0
	done
	echo "$address is not reached" >&2
	return 1
}
reaches 10.5.0.1 podman exec one
echo "ok: the container reaches 10.5.0.1 in partition 0x8001"
reaches 10.4.0.1
! podman exec one ping -q -c 1 -W 1 10.4.0.1 >/dev/null 2>&1
echo "ok: the machine reaches 10.4.0.1, and the container does not"
podman rm -f -t 0 one >/dev/null
for i in $(seq 100); do # the kernel removes a namespace in the background
	[ ! -e /sys/class/net/ib0.8001 ] || break
	sleep 0.1
done
[ -e /sys/class/net/ib0.8001 ]
echo "ok: the child is back when the container has ended"
