#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: NetworkManager | a connection on ib0
# works-with: NetworkManager | a connection in a partition
# works-with: NetworkManager | a bond of ib0
# packages: network-manager dbus
# check.sh: all
#
# NetworkManager manages three interfaces: ib0; then an interface in a partition, which it makes and removes itself; then a bond, whose
# only port is ib0.
#
#	h1 10.4.0.1, 10.5.0.1 in another partition --- Switch1 --- a (VM: NetworkManager)
. "$(dirname "$0")/lib.sh"
partition_lab 2
guest_start a
vm_wait a

connection() { # NAME TYPE INTERFACE ADDRESS LINE...: write a connection file of NetworkManager
	printf '%s\n' '[connection]' "id=$1" "uuid=$(</proc/sys/kernel/random/uuid)" "type=$2" "interface-name=$3" autoconnect=false "${@:5}" \
		'[ipv4]' method=manual "address1=$4/16" '[ipv6]' method=link-local >"$work/nm/$1.nmconnection"
}
mkdir "$work/nm"
connection one infiniband ib0 10.4.9.7 '[infiniband]' transport-mode=datagram
connection part infiniband ib0.8001 10.5.9.7 '[infiniband]' transport-mode=datagram p-key=0x8001 parent=ib0
connection bond bond bond0 10.4.9.8 '[bond]' mode=active-backup miimon=100
printf '%s\n' '[connection]' id=port "uuid=$(</proc/sys/kernel/random/uuid)" type=infiniband interface-name=ib0 master=bond0 slave-type=bond autoconnect=false \
	'[infiniband]' transport-mode=datagram >"$work/nm/port.nmconnection"
# NetworkManager waits for udev to report each interface, so udevd is started. Booting systemd instead would take half a minute longer on an emulated processor.
printf '%s\n' '[main]' plugins=keyfile 'no-auto-default=*' '[keyfile]' 'unmanaged-devices=except:type:infiniband;except:type:bond' >"$work/nm.conf"
g a "mkdir -p /run/dbus /run/NetworkManager && install -D -m 600 -t /etc/NetworkManager/system-connections $work/nm/* && mkdir -p /etc/NetworkManager/conf.d &&
	{ [ -s /etc/machine-id ] || printf '%032x\n' 0x7569706f6962 >/etc/machine-id; }
	dbus-daemon --system --fork && /lib/systemd/systemd-udevd --daemon && udevadm trigger -c add -s net && udevadm settle"
start_at a "$work/nm.log" NetworkManager --debug --log-level=INFO --config="$work/nm.conf" --config-dir=/nonexistent --system-config-dir=/nonexistent
device() { says "^$1\$" g a nmcli -t -f DEVICE,TYPE,STATE,CONNECTION device; }
check "NetworkManager takes ib0 for an InfiniBand device" eventually 60 device 'ib0:infiniband:.*'
nm_up() { # NAME DEVICE: succeeds if the connection comes up on DEVICE
	g a nmcli connection up "$1" && device "$2:$1"
}
no_address() { # ADDRESS: succeeds if no interface of the guest has this address
	local out
	out=$(g a ip -4 -o addr show to "$1") && [ -z "$out" ]
}

check "nmcli brings a connection up on ib0" eventually 30 nm_up one ib0:infiniband:connected
check "h1 reaches its address" reach h1 10.4.9.7
check "nmcli ends the connection" g a nmcli connection down one
check "the address is gone" eventually 20 no_address 10.4.9.7
tried "a connection on ib0" works

check "nmcli brings a connection up in partition 0x8001, whose interface NetworkManager makes" eventually 30 nm_up part ib0.8001:infiniband:connected
check "the interface has the P_Key" equal 0x8001 "$(g a cat /sys/class/net/ib0.8001/pkey)"
check "h1 reaches its address in this partition" reach h1 10.5.9.7
check "nmcli ends the connection" g a nmcli connection down part
tried "a connection in a partition" works

g a nmcli connection up bond >/dev/null
check "nmcli brings ib0 up as a port of a bond" eventually 30 nm_up port ib0:infiniband:connected
check "the bond has the address" eventually 30 device bond0:bond:connected:bond
check "h1 reaches it" reach h1 10.4.9.8
check "nmcli ends the bond" g a nmcli connection down bond
tried "a bond of ib0" works

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
