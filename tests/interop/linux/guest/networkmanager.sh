#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs NetworkManager in a VM whose init is not systemd. The script does not return, because the shell becomes
# NetworkManager. NetworkManager waits for udevd to report that an interface is ready, and this VM has no udevd. With
# /sys read-only, as in a container, NetworkManager does not wait.
#
#	networkmanager.sh FOLDER	FOLDER has the connections (*.nmconnection)
set -eu
mkdir -p /run/dbus /run/NetworkManager/system-connections
cp "$1"/*.nmconnection /run/NetworkManager/system-connections/
chmod 600 /run/NetworkManager/system-connections/*
[ -s /etc/machine-id ] || printf '%032x\n' 0x7569706f6962 >/etc/machine-id
printf '[main]\nplugins=keyfile\nno-auto-default=*\ndhcp=internal\nrc-manager=unmanaged\n[keyfile]\nunmanaged-devices=except:type:infiniband\n' >/run/NetworkManager.conf
[ -S /run/dbus/system_bus_socket ] || dbus-daemon --system --fork
# NetworkManager writes the file `mode` of the interface (datagram or connected), so this file has its own mount, which
# remains writable.
exec unshare -m sh -c 'mount --bind /sys /sys &&
	for f in /sys/class/net/*/mode; do
		[ ! -e "$f" ] || { f=$(realpath "$f") && mount --bind "$f" "$f"; } || exit
	done
	mount -o remount,bind,ro /sys &&
	exec NetworkManager --debug --log-level=DEBUG --config=/run/NetworkManager.conf --config-dir=/nonexistent --system-config-dir=/nonexistent'
