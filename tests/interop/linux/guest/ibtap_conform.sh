#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs `uipoib conform` in a VM, with a uipoib host whose interface is a device of type 32, and prints TAP. Two profiles
# are judged at the same time, each in its own namespaces, because a run waits most of the time. Six profiles at a time
# were too many: on an emulated processor that got little CPU time, hooks did not end within their 60 s.
#
#	ibtap_conform.sh REPORTS IBTAP.KO PROFILE...		REPORTS/PROFILE.json are the reports
reports=$1 module=$2
shift 2
[ -e /dev/ibtap ] || insmod "$module" || exit 1
if [ $# -gt 1 ]; then
	printf '%s\n' "$@" | xargs -P 2 -I '{}' sh -c 'bash "$0" bash "$1" "$2" "$3" "$4" >"/tmp/out.$4" 2>&1' \
		"$(dirname "$0")/../../../isolate.sh" "$0" "$reports" "$module" '{}'
	status=$?
	for profile; do cat "/tmp/out.$profile"; done
	exit $status
fi
set -- "$reports" "$module" "$@"
. "$(dirname "$0")/../../../system/lib.sh"
. tests/system/conform_rig.bash
dut_netdev=ibtap dut_seconds=1200 # on an emulated processor
hook_server 1 "$3"
# systemd-networkd is the only DHCP client that supports devices of type 32. Its messages differ from RFC 4390
# (doc/fidelity.md), and uipoib corrects the messages. If networkd is too slow to release its lease before networkd
# ends, the result of D1/release is NA.
check "$3: what applies passes" passes 1 "$3"
tail -1 "$work/out.1" | sed 's/^/# /'
cp "$work/report.1" "$1/$3.json"
end_all
finish
