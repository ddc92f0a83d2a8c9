#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# packages: nfs-kernel-server libnfs-utils ifupdown lldpd avahi-daemon avahi-utils podman crun containernetworking-plugins dbus
# works-with: ifupdown | ib0 and an interface in a partition
# works-with: NFS | a server of version 3 on ib0
# works-with: NFS | a server of version 4 on ib0
# works-with: NFS | Linux's client of version 4, on an IPoIB interface
# works-with: podman | a container with an IPoIB interface of its own
# works-with: podman | a macvlan network above ib0
# works-with: avahi | names of .local on ib0
# works-with: lldpd | ib0
#
# Programs that configure ib0, and services on it.
#
#	h1 10.4.0.1, and 10.5.0.1 in another partition --- Switch1 --- a (VM) 10.4.9.1
. "$(dirname "$0")/lib.sh"
partition_lab 2
guest_start a
vm_wait a

# --- ifupdown, which configures ib0 for the rest of this script

version=$(upstream ifupdown)
cat >"$work/interfaces" <<'EOF'
iface ib0 inet static
	address 10.4.9.1/16
	mtu 2000
iface ib0 inet6 static
	address fd04::9:1/64
iface ib0.8001 inet static
	address 10.5.9.1/16
EOF
check "ifup configures ib0" g a "mkdir -p /run/network && ip link set ib0 down && cp $work/interfaces /etc/network/interfaces && ifup ib0"
check "h1 reaches its IPv4 address" reach h1 10.4.9.1
check "h1 reaches its IPv6 address" reach h1 fd04::9:1
check "the MTU is that of the file" equal 2000 "$(g a cat /sys/class/net/ib0/mtu)"
check "ifup makes and configures an interface in partition 0x8001" g a ifup ib0.8001
check "the interface has the P_Key" equal 0x8001 "$(g a cat /sys/class/net/ib0.8001/pkey)"
check "h1 reaches its address in the partition" reach h1 10.5.9.1
check "ifdown removes it" g a 'ifdown ib0.8001 && ! ip link show ib0.8001'
check "ifdown removes the addresses of ib0, and ifup sets them again" g a '{ ifdown ib0 && ! ip -4 addr show dev ib0 | grep inet && ifup ib0; }'
check "h1 reaches ib0 again" reach h1 10.4.9.1
tried "ib0 and an interface in a partition" works

# --- NFS: the server is that of the guest's kernel. The client is libnfs in h1, because this machine's kernel may have no client

version=$(upstream nfs-kernel-server)
check "the guest's kernel serves a folder" g a "modprobe nfsd && mkdir -p /srv/nfs /run/rpcbind && mount -t tmpfs tmpfs /srv/nfs &&
	mount -t nfsd nfsd /proc/fs/nfsd && echo '/srv/nfs 10.4.0.0/16(rw,no_root_squash,insecure,no_subtree_check,fsid=0)' >/etc/exports &&
	rpcbind -w && exportfs -ra && rpc.nfsd 2 && rpc.mountd && head -c 2000000 /dev/urandom >/srv/nfs/file"
check "h1 sees the file" eventually 20 says '2000000 file' at h1 nfs-ls nfs://10.4.9.1/srv/nfs
check "h1 copies it" at h1 nfs-cp nfs://10.4.9.1/srv/nfs/file "$work/file"
check "h1 writes a file" at h1 nfs-cp "$work/file" nfs://10.4.9.1/srv/nfs/copy
check "the files are the same" at a cmp /srv/nfs/file /srv/nfs/copy
tried "a server of version 3 on ib0" works

# With fsid=0 the folder is the root that a client of version 4 sees. After its start the server waits 90 s for clients that
# had files open before a restart. There are no such clients, so the wait is ended.
check "the server does not wait" g a 'echo Y >/proc/fs/nfsd/v4_end_grace && mkdir /srv/nfs/d && cp /srv/nfs/file /srv/nfs/d/'
check "h1 sees the file by version 4" eventually 20 says '2000000 file' at h1 nfs-ls 'nfs://10.4.9.1/d?version=4'
check "h1 copies it" at h1 nfs-cp 'nfs://10.4.9.1/d/file?version=4' "$work/file.4"
check "the files are the same" at a cmp /srv/nfs/file "$work/file.4"
tried "a server of version 4 on ib0" works

# Now the guest's kernel is the client, too. It uses another IPoIB interface, in a network namespace, so that its packets cross the
# fabric.
check "a namespace has an IPoIB interface" g a 'ip netns add client && ip link add link ib0 name ib0.2 type ipoib pkey 0xffff &&
	ip link set ib0.2 netns client && ip -n client addr add 10.4.9.31/16 dev ib0.2 && ip -n client link set ib0.2 up'
check "h1 reaches it" reach h1 10.4.9.31
mounted() { g a 'mkdir -p /mnt/nfs && nsenter --net=/run/netns/client mount -t nfs4 -o vers=4.2 10.4.9.1:/ /mnt/nfs'; }
check "the namespace mounts the folder" eventually 20 mounted
check "the client speaks version 4.2 from its address" says 'vers=4\.2.*clientaddr=10\.4\.9\.31' at a grep ' /mnt/nfs ' /proc/mounts
check "it writes a file" g a 'cp /srv/nfs/file /mnt/nfs/copied && sync -f /mnt/nfs'
check "the files are the same" at a cmp /srv/nfs/file /srv/nfs/copied
check "the folder is unmounted" g a 'umount /mnt/nfs && ip -n client link del ib0.2 && ip netns del client'
tried "Linux's client of version 4, on an IPoIB interface" works

# --- podman. The root file system of the container is that of the guest, so that no image is needed.

version=$(upstream podman)
cat >"$work/ib.conflist" <<'EOF'
{ "cniVersion": "0.4.0", "name": "ib", "plugins": [
	{ "type": "host-device", "device": "ib0.1", "ipam": { "type": "static", "addresses": [ { "address": "10.4.9.30/16" } ] } } ] }
EOF
printf '%s\n' '[engine]' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' '[network]' 'network_backend = "cni"' >"$work/containers.conf"
printf '%s\n' '[storage]' 'driver = "vfs"' 'runroot = "/run/containers/storage"' 'graphroot = "/run/containers/graph"' >"$work/storage.conf"
check "the guest has one IPoIB interface more, and a network of podman with it" g a "mkdir -p /etc/cni/net.d /etc/containers &&
	cp $work/ib.conflist /etc/cni/net.d/ && cp $work/*.conf /etc/containers/ && mkdir -p /run/c/proc /run/c/sys /run/c/dev /run/c/run /run/c/tmp /run/c/usr /run/c/etc &&
	mount --rbind /usr /run/c/usr && mount --bind /etc /run/c/etc && ln -s usr/bin usr/sbin usr/lib usr/lib64 /run/c/ &&
	ip link add link ib0 name ib0.1 type ipoib pkey 0xffff"
contain() { g a timeout 100 podman run --rm --cgroups=disabled --network "$1" --rootfs /run/c "${@:2}"; }
start_at a "$work/container" podman run --rm --name c --cgroups=disabled --network ib --rootfs /run/c sleep 1000
check "h1 reaches the container" reach h1 10.4.9.30
check "the guest itself does not have the interface meanwhile" not at a ip link show ib0.1
check "the container ends" at a podman rm -f -t 0 c
check "the guest has it again when the container has ended" eventually 20 at a ip link show ib0.1
check "a container with the host's network sees ib0" eventually 20 says '10\.4\.9\.1/16' contain host ip -o addr show dev ib0
tried "a container with an IPoIB interface of its own" works
check "podman makes a macvlan network" at a podman network create -d macvlan -o parent=ib0 --subnet 10.4.0.0/16 mv
still "a container cannot use it" refuse 126 'failed to create macvlan: invalid argument' contain mv true
tried "a macvlan network above ib0" fails Linux

# --- avahi

version=$(upstream avahi-daemon)
avahi() { # PLACE NAME: start D-Bus and avahi at PLACE, with the host name NAME
	printf '%s\n' '[server]' "host-name=$2" "allow-interfaces=$(iface "$1")" '[publish]' publish-hinfo=no >"$work/avahi.$1"
	at "$1" sh -c 'mkdir -p /run/dbus /run/avahi-daemon; [ -s /etc/machine-id ] || printf "%032x\n" 0x7569706f6962 >/etc/machine-id' &&
		at "$1" sh -c 'exec dbus-daemon --system --fork --print-pid' >"$work/bus.$1" &&
		start_at "$1" "$work/avahi.$1.log" avahi-daemon --no-drop-root --no-chroot --no-rlimits -f "$work/avahi.$1"
}
check "the guest has avahi" avahi a guest
check "so has h1" avahi h1 hone
check "the guest finds h1's IPv4 address" eventually 30 says 'hone\.local[[:space:]]+10\.4\.0\.1' at a timeout 6 avahi-resolve -4 -n hone.local
check "h1 finds the guest's" eventually 30 says 'guest\.local[[:space:]]+10\.4\.9\.1' at h1 timeout 6 avahi-resolve -4 -n guest.local
check "h1 finds the guest's IPv6 address" eventually 30 says 'guest\.local[[:space:]]+f' at h1 timeout 6 avahi-resolve -6 -n guest.local
check "h1 finds the name of the address" eventually 30 says 'guest\.local' at h1 timeout 6 avahi-resolve -a 10.4.9.1
end_at h1 "$started"
kill "$(cat "$work/bus.h1")"
tried "names of .local on ib0" works

# --- lldpd

version=$(upstream lldpd)
start_at a "$work/lldpd" lldpd -d -I ib0,d0
check "there is an Ethernet interface for comparison" g a 'ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up'
check "lldpd takes the Ethernet interface" eventually 30 says 'Interface: +d0' at a lldpcli show interfaces
still "lldpd does not take ib0" not says 'Interface: +ib0' at a lldpcli show interfaces
end_at a "$started"
tried "ib0" "is ignored" lldpd

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
