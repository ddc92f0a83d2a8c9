#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# uipoib conform with a uipoib host whose interface is a device of type 32: guest/ibtap_conform.sh in a VM. PROFILES are the profiles (rfc4391);
# each takes one to three minutes on an emulated processor.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 python3 jq
unset UIPOIB_NAME
"$UIPOIB" vm --timeout 1500 --mem 1024 -- bash -c 'dir=$0 && export UIPOIB=$1 && shift && exec bash tests/interop/linux/guest/ibtap_conform.sh \
	"$(ls "$dir"/kmod/$(uname -r)/ibtap.ko)" "$@"' "$(dirname "$UIPOIB")" "$UIPOIB" ${PROFILES:-rfc4391} || failed=1
finish
