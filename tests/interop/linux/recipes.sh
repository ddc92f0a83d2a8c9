#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# The recipes of examples/vm, typed as they stand, each of which starts its own VM: a child interface in a network namespace, and golden
# outputs. usage.sh and ports.sh type the other ones.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 ibstat diff
unset UIPOIB_NAME
export UIPOIB
patience=300 # seconds for a recipe, on a busy machine

recipe() { timeout $patience sh "$@" >"$work/out" 2>"$work/err"; }

recipe examples/vm/netns.sh
check "netns.sh ends well" equal 0 $?
check "it says what it saw" equal "ok: the namespace reaches 10.5.0.1 in partition 0x8001
ok: the namespace does not reach 10.4.0.1
ok: outside, there is no ib0.8001, and 10.4.0.1 is reached
ok: the child is back when its namespace has ended" "$(cat "$work/out")"
check "and nothing else" equal "" "$(cat "$work/err")"

recipe examples/vm/golden.sh
check "golden.sh ends well" equal 0 $?
check "each output is that of its file" equal "ok: ip-link ok: ip-address ok: ibstat" "$(xargs <"$work/out")"

# Another output is found.
cp -r examples/vm "$work/other"
sed -i 's/Active/Down/' "$work/other/golden/ibstat.txt"
recipe "$work/other/golden.sh"
check "a file that differs is a failure" equal 1 $?
check "which the output shows" grep -q -- '-.*Down' "$work/out"

scripts() { sed -n 's/^| `sh examples\/vm\/\(.*\)` |.*/\1/p' examples/vm/README.md | sort; }
check "the page names each recipe" equal "$(cd examples/vm && echo *.sh | xargs -n 1 | sort)" "$(scripts)"
finish
