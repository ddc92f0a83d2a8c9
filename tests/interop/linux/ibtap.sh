#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs guest/ibtap.sh in a VM with Debian's kernel. guest/ibtap.sh tests ibtap.ko alone. FUZZ_SECONDS (4) is the time
# for which it writes damaged frames.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 arping ethtool dumpcap
unset UIPOIB_NAME

"$UIPOIB" vm --timeout $((1200 + ${FUZZ_SECONDS:-4})) -- bash -c 'exec bash tests/interop/linux/guest/ibtap.sh \
	"$(ls "$0"/kmod/$(uname -r)/ibtap.ko)" "$0/unit/test_netdev_ibtap" '"${FUZZ_SECONDS:-4}" "$(dirname "$UIPOIB")" || failed=1
finish
