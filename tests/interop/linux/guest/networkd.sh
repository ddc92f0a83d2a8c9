#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# systemd-networkd in a VM whose init is not systemd, with nothing but the network files in the folder NETWORK:
#
#	networkd.sh NETWORK		becomes it
#
# There is no udevd that says when an interface is ready. It does not wait for one where /sys is read-only, as in a container.
set -eu
mkdir -p /run/systemd/network /run/systemd/netif/{leases,links,lldp}
rm -f /run/systemd/network/*
cp "$1"/*.network /run/systemd/network/
chown -R systemd-network: /run/systemd/netif
[ -s /etc/machine-id ] || printf '%032x\n' 0x7569706f6962 >/etc/machine-id
exec unshare -m sh -c 'mount --bind /sys /sys && mount -o remount,bind,ro /sys && exec /lib/systemd/systemd-networkd'
