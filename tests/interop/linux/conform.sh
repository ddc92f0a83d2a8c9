#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# `uipoib conform` with the kernel's own IPoIB in a VM as the DUT. The only cases that fail are about
# differences between Linux and the documents. doc/fidelity.md lists these differences.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 python3 jq
. tests/system/conform_rig.bash
unset UIPOIB_NAME
mkfifo "$work/steps"
sleep 1200 >"$work/steps" &
# The input of the VM has a line "NUMBER STEP [GROUP]" for each step. "done NUMBER" in its output means that the step has
# ended.
"$UIPOIB" vm --timeout 1100 --port udp:127.0.0.1:5001,guid=0x2,listen=127.0.0.1:6001 --no-wait --address 10.9.0.1/24 --address fd09::1/64 -- \
	sh -c 'cd tests/system && mkfifo /run/steps || exit 1
		python3 hook_server.py ib0 /run/steps &
		uname -r
		while read -r number step; do { sh hook_step /run/steps $step; echo "done $number"; } & done' <"$work/steps" >"$work/vm.log" 2>&1 &
vm=$!
# Wait until the VM has booted, and only then start the suite, because the suite expects the first datagram of its DUT within 13 s.
eventually 300 grep -q . "$work/vm.log"
STEPS=$work/steps LOG=$work/vm.log suite 1 --hook 'step() { echo $$ $* >$STEPS; until grep -q "^done $$\$" $LOG; do sleep 0.1; done; }; step'
equal 1 $? || tail "$work/out.1" "$work/vm.log"
kill $vm
wait $vm

tail -1 "$work/out.1" | sed 's/^/# /'
# The expected failures are L1 and L2 of doc/fidelity.md (clause R47), L4 (R62, R63), L5 (R61), L6 (R65), L8 (R70),
# and those of networkd (D1, D3). On an emulated processor networkd may be too slow to release its lease before
# networkd ends. Then D1/release is NA.
fails() {
	equal "D3/clear R47/nd R47/sent R61 R62 R63 R65 R70/list " \
		"$(results 1 '.result == "FAIL" and .case != "D1/release"' | tr ' ' '\n' | sort | grep . | tr '\n' ' ')" &&
		equal "D1/release " "$(results 1 '.case == "D1/release" and (.result == "FAIL" or .result == "NA")')" && return
	grep -A8 '^FAIL  [^ ]*: ' "$work/out.1"
	return 1
}
check "Linux fails what doc/fidelity.md names, and nothing else" fails
version=$(grep -oE '^[0-9]+\.[0-9]+' "$work/vm.log" | head -1)
if [ -w /dev/kvm ] && grep -q "^| Case .* | Linux $version |" doc/conform.md; then # the page has one kernel
	check "doc/conform.md has these results" documented 1 rfc4391 "Linux $version"
fi
end_all
finish
