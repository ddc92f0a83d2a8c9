#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# The suite of tests of the interface src/ca/ca.h (tests/unit/ca_suite.c) runs in a VM over Debian's libibverbs and two devices of uib.ko with a
# cable between them, under OpenSM. The suite pulls the cable and changes P_Keys, too.
. "$(dirname "$0")/lib.sh"
need ibv_devinfo opensm make
unset CMOCKA_MESSAGE_OUTPUT # check.sh sets it for its own programs, and the virtual machine would have it, too
suite=$(dirname "$UIPOIB")/unit/test_verbs_suite
make -s "O=${suite%/unit/*}" "$suite" >/dev/null || { echo "not ok - $suite is built"; exit 1; }
linux_lab 1
vm_start a --cpus 1 --port Switch1/2 --share "$work"
vm_wait a
# On an idle machine the suite takes a minute, and it may be run three times.
vm_patience=900 g a bash "$PWD/tests/interop/linux/guest/ca_verbs.sh" "$suite" >"$work/suite" 2>&1
passes() {
	grep -q 'PASSED.* 26 test' "$work/suite" && ! grep -E 'FAILED|SKIPPED|ERROR|cannot be destroyed|does not restart' "$work/suite" || { cat "$work/suite"; return 1; }
}
check "all 26 cases of the suite pass" passes
check "nothing in the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
