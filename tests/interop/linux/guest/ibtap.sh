#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests ibtap.ko in a VM, and prints TAP. First come the functions of src/netdev that use the module, then the module itself.
#
#	ibtap.sh IBTAP.KO TEST_NETDEV_IBTAP [SECONDS [REGEX]]	with REGEX, run only the module's checks that REGEX matches
set -u
module=$1 unit=$2
failed=0

insmod "$module"
out=$("$unit" 2>&1)
if [ $? = 0 ] && ! grep -q SKIPPED <<<"$out"; then
	echo "ok - ibtap: test_netdev_ibtap, $(grep -c ' OK ' <<<"$out") cases"
else
	failed=1
	echo "not ok - ibtap: test_netdev_ibtap"
	tail -30 <<<"$out" | sed 's/^/#   /'
fi
rmmod ibtap
/usr/bin/python3 -IS "$(dirname "$0")/ibtap_device.py" "$module" "${3:-10}" "${4:-}" || failed=1
exit $failed
