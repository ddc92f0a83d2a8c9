#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# Runs guest/ibtap_profiles.sh in a VM. That script tests `netdev = ibtap` with each link profile, and compares the
# throughput of ibtap with that of a TAP. MEGABYTES (10) is the amount of data of each measurement of throughput.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 iperf3
unset UIPOIB_NAME
"$UIPOIB" vm --timeout 1500 --memory 1024 -- bash -c 'UIPOIB=$1 TOOLS=$2 MEGABYTES=$3 exec bash tests/interop/linux/guest/ibtap_profiles.sh \
	"$(ls "$0"/kmod/$(uname -r)/ibtap.ko)"' "$(dirname "$UIPOIB")" "$UIPOIB" "$TOOLS" "${MEGABYTES:-10}" || failed=1
finish
