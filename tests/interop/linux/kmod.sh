#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# Runs guest/kmod.sh in a VM with Debian's kernel. guest/kmod.sh tests uib.ko. FUZZ_SECONDS (4) is the duration of the
# fuzzing.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64
unset UIPOIB_NAME

"$UIPOIB" vm --timeout $((1200 + ${FUZZ_SECONDS:-4})) -- bash -c 'exec bash tests/interop/linux/guest/kmod.sh \
	"$(ls "$0"/kmod/$(uname -r)/uib.ko)" '"${FUZZ_SECONDS:-4}" "$(dirname "$UIPOIB")" || failed=1
finish
