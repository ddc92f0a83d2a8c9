#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# NetworkManager configures ib0 and makes an interface in a partition. NetworkManager runs with dbus and udev, but
# without systemd, whose boot takes longer (see service.sh). Needs the packages network-manager and dbus. The script
# runs itself in a VM. The exit status is 0 if all checks pass.
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c lab.conf --memory 512 -- sh ./networkmanager.sh
fi

# until_ok CMD ...: repeat the command for up to a minute, without its output, until it succeeds
until_ok() {
	for i in $(seq 300); do
		! "$@" >/tmp/last 2>&1 || return 0
		sleep 0.2
	done
	cat /tmp/last >&2
	return 1
}

# The VM sees the files of this machine, but NetworkManager in the VM must not use this machine's connections.
mkdir -p /run/dbus /run/NetworkManager /tmp/connections
[ -s /etc/machine-id ] || printf '%032x\n' 1 >/etc/machine-id
printf '%s\n' '[main]' plugins=keyfile 'no-auto-default=*' '[keyfile]' path=/tmp/connections \
	'unmanaged-devices=except:type:infiniband' >/tmp/nm.conf
dbus-daemon --system --fork
/lib/systemd/systemd-udevd --daemon 2>/dev/null # NetworkManager waits until udev has reported an interface
udevadm trigger -c add -s net
udevadm settle
NetworkManager --config=/tmp/nm.conf --config-dir=/nonexistent --system-config-dir=/nonexistent

is() { nmcli -t -f DEVICE,TYPE,STATE device | grep -qx "$1"; }
until_ok is 'ib0:infiniband:.*'
nmcli connection add type infiniband ifname ib0 con-name one transport-mode datagram ipv4.method manual ipv4.addresses 10.4.0.100/16 >/tmp/added
nmcli connection add type infiniband con-name part infiniband.parent ib0 infiniband.p-key 0x8001 transport-mode datagram \
	ipv4.method manual ipv4.addresses 10.5.0.100/24 >>/tmp/added
until_ok nmcli connection up one
until_ok ping -q -c 1 -W 2 10.4.0.1
echo "ok: with NetworkManager's connection on ib0, 10.4.0.1 is reached"
until_ok nmcli connection up part
until_ok ping -q -c 1 -W 2 10.5.0.1
echo "ok: with its connection in partition 0x8001, 10.5.0.1 is reached over $(nmcli -t -f NAME,DEVICE connection show --active | sed -n 's/^part://p')"
