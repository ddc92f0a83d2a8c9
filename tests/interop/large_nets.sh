#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Runs the comparisons of opensm.sh and diags.sh with ibsim on fat trees instead of small nets. The fat tree for
# opensm.sh has 128 hosts, and the fat tree for diags.sh has 16 hosts.
cd "$(dirname "$0")/../.." || exit 1
status=0
for t in opensm diags; do
	NETS=fat-tree bash tests/interop/$t.sh || status=1
done
exit $status
