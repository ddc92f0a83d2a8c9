#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# Runs the recipes of examples/vm unchanged. Each recipe starts its own VM. The recipe test.sh is tested by usage.sh,
# and rails.sh by ports.sh.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 ibstat diff NetworkManager networkctl podman
unset UIPOIB_NAME
export UIPOIB
patience=600 # seconds for a recipe, on a busy machine

recipe() { timeout $patience sh "$@" >"$work/out" 2>"$work/err"; }

# works SCRIPT OUTPUT: succeeds if the script succeeds, prints this output, and prints nothing on standard error
works() {
	recipe "examples/vm/$1"
	check "$1 ends well" equal 0 $?
	check "$1 says what it saw" equal "$2" "$(cat "$work/out")"
	check "$1 prints nothing else" equal "" "$(cat "$work/err")"
}
works netns.sh "ok: the namespace reaches 10.5.0.1 in partition 0x8001
ok: the namespace does not reach 10.4.0.1
ok: outside, there is no ib0.8001, and 10.4.0.1 is reached
ok: the child is back when its namespace has ended"
works peer.sh "ok: the peer answers"
works networkmanager.sh "ok: with NetworkManager's connection on ib0, 10.4.0.1 is reached
ok: with its connection in partition 0x8001, 10.5.0.1 is reached over ib0.8001"
works service.sh "ok: networkd has configured ib0: configured
ok: the unit that waits for the network has ended well: success"
works container.sh "ok: the container reaches 10.5.0.1 in partition 0x8001
ok: the machine reaches 10.4.0.1, and the container does not
ok: the child is back when the container has ended"

recipe examples/vm/golden.sh
check "golden.sh ends well" equal 0 $?
check "each output is that of its file" equal "ok: ip-link ok: ip-address ok: ibstat" "$(xargs <"$work/out")"

# The recipe golden.sh must fail if the output in the VM differs from the file golden/ibstat.txt.
cp -r examples/vm "$work/other"
sed -i 's/Active/Down/' "$work/other/golden/ibstat.txt"
recipe "$work/other/golden.sh"
check "a file that differs is a failure" equal 1 $?
check "which the output shows" grep -q -- '-.*Down' "$work/out"

scripts() { sed -n 's/^| `sh examples\/vm\/\(.*\)` |.*/\1/p' examples/vm/README.md | sort; }
check "the page names each recipe" equal "$(cd examples/vm && echo *.sh | xargs -n 1 | sort)" "$(scripts)"
finish
