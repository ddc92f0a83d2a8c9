#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: night
# packages: ibverbs-utils ibverbs-providers rdma-core python3-pyverbs rdmacm-utils perftest infiniband-diags python3 iproute2 iputils-ping procps kmod
# root: trixie
# release: trixie
#
# The programs of Debian 13, whose rdma-core is of 2025, run on /dev/infiniband/uverbs0 of uib.ko in two VMs
# (verbs/programs.sh). The tests of pyverbs run there, too (verbs/pyverbs.sh). The VMs boot this machine's kernel. The
# programs are in a root file system, which tests/third-party/root.sh makes once and uses again in later runs.

# Make the root file system before lib.sh is sourced: lib.sh moves the script into a network namespace from which
# Debian's archive cannot be reached.
if [ -z "${TEST_ISOLATED:-}" ]; then
	bash "$(dirname "$0")/../../third-party/root.sh" trixie
	case $? in
	0) ;;
	3 | 4) echo "ok - ${0##*/} # SKIP there is no root file system with Debian 13"; exit 0 ;;
	*) exit 1 ;;
	esac
fi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/verbs/programs.sh"
. "$(dirname "$0")/verbs/pyverbs.sh"
root=$(realpath "${KEEP:-build/third-party}/trixie")
programs_start
programs_run '56.1-1 25.01.0+0.80-1'
pyverbs_run test_get_pkey_index
for n in a b; do check "$n: nothing in the kernel's log" vm_log_clean $n; done
finish
