#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs systemd-networkd in a VM whose init is not systemd. networkd reads only the network files of the folder
# NETWORK.
#
#	networkd.sh NETWORK		does not return, because the shell becomes networkd
#
# networkd waits for udevd to report that an interface is ready, and this VM has no udevd. With /sys read-only, as in
# a container, networkd does not wait.
set -eu
mkdir -p /run/systemd/network /run/systemd/netif/{leases,links,lldp}
rm -f /run/systemd/network/*
cp "$1"/*.network /run/systemd/network/
chown -R systemd-network: /run/systemd/netif
[ -s /etc/machine-id ] || printf '%032x\n' 0x7569706f6962 >/etc/machine-id
exec unshare -m sh -c 'mount --bind /sys /sys && mount -o remount,bind,ro /sys && exec /lib/systemd/systemd-networkd'
