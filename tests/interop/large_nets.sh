#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# opensm.sh and diags.sh compare the fabric of uipoib with the fabric of ibsim. They do so on small nets by default. This
# script lets them do so on fat trees. The fat tree for opensm.sh has 128 hosts, and the fat tree for diags.sh has 16.
cd "$(dirname "$0")/../.." || exit 1
status=0
for t in opensm diags; do
	NETS=fat-tree bash tests/interop/$t.sh || status=1
done
exit $status
