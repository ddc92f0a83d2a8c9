#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# systemd is the first process of the VM, so services run in the VM as on any machine. networkd configures ib0 from a
# file, and a unit that waits for the network uses ib0. The script runs itself in a VM. The exit status is 0 if all
# checks pass.
set -eu
cd "$(dirname "$0")"
if [ ! -e /sys/class/net/ib0 ]; then
	exec "${UIPOIB:-../../build/uipoib}" vm -c lab.conf --systemd --memory 768 -- sh ./service.sh
fi

mkdir -p /run/systemd/network /run/systemd/system
printf '%s\n' '[Match]' Name=ib0 '[Network]' Address=10.4.0.100/16 >/run/systemd/network/ib0.network
printf '%s\n' '[Unit]' 'Description=What you want to test' 'After=network-online.target' 'Wants=network-online.target' \
	'[Service]' Type=oneshot 'ExecStart=ping -q -c 3 -i 0.2 -W 10 10.4.0.1' >/run/systemd/system/yours.service
systemctl daemon-reload
systemctl start systemd-networkd
systemctl start systemd-networkd-wait-online
echo "ok: networkd has configured ib0: $(networkctl --no-legend --no-pager list | awk '$2 == "ib0" { print $5 }')"
systemctl start yours
echo "ok: the unit that waits for the network has ended well: $(systemctl show -P Result yours)"
