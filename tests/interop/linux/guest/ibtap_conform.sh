#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM: `uipoib conform` with a uipoib host whose interface is a device of type 32. Prints TAP.
#
#	ibtap_conform.sh IBTAP.KO PROFILE...
[ -e /dev/ibtap ] || insmod "$1" || exit 1
shift
. "$(dirname "$0")/../../../system/lib.sh"
. tests/system/conform_rig.bash
dut_netdev=ibtap dut_seconds=600 # on an emulated processor
n=1
# systemd-networkd is the only DHCP client that knows devices of type 32. Where it differs from RFC 4390 is in doc/fidelity.md. If it is too
# slow to release its lease before it ends, D1/release is NA.
networkd="D3/clear D1/release "
for profile; do
	check "$profile: what applies passes" passes $n "$profile" "$([ "$profile" = v6ib00 ] || echo "$networkd")"
	tail -1 "$work/out.$n" | sed 's/^/# /'
	n=$((n + 1))
done
end_all
finish
