#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# Runs guest/ibtap_conform.sh in a VM: `uipoib conform` with uipoib hosts whose interfaces are devices of type 32, for each profile in
# PROFILES.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 python3 jq
unset UIPOIB_NAME
profiles=${PROFILES:-rfc4391 linux hld2002 v4mc01 v6ib00 encaparp00}
mkdir "$work/reports"
# shellcheck disable=SC2016,SC2086
"$UIPOIB" vm --timeout 1500 --memory 1500 --share "$work/reports" -- bash -c 'dir=$0 && export UIPOIB=$1 && shift && bash tests/interop/linux/guest/ibtap_conform.sh \
	"$1" "$(ls "$dir"/kmod/$(uname -r)/ibtap.ko)" "${@:2}"; s=$?; echo "# $(head -1 /proc/stat)"; exit $s' "$(dirname "$UIPOIB")" "$UIPOIB" "$work/reports" $profiles || failed=1
# If networkd is too slow to release its lease before networkd ends, the result of D1/release is NA. Such a result is not compared.
documented() { # PROFILE
	jq '.conform |= map(select(.case != "D1/release" or .result != "NA"))' "$work/reports/$1.json" >"$work/report" &&
		python3 doc/conform-table.py "$1" "uipoib, ibtap=$work/report"
}
for p in $profiles; do
	check "$p: doc/conform.md has these results" documented "$p"
done
finish
