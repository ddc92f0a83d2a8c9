#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# seeds.sh [COUNT]: run the simulation of a whole fabric (tests/sim/test_all_lab.c, ASan) with COUNT seeds, 2000 by
# default; the first seed is made from the last commit's hash. One TAP line; for a failing seed, the command that
# repeats it.
set -u
cd "$(dirname "$0")/../.." || exit 1
count=${1:-2000}
first=$((16#$(git rev-parse --short=6 HEAD)))
test=build/san/sim/test_all_lab
make -s -j"$(nproc)" SAN=1 $test || { echo "not ok - $test is built"; exit 1; }
failed=$(seq "$first" $((first + count - 1)) |
	xargs -P "$(nproc)" -I{} sh -c 'LAB_SEED={} timeout 600 "$0" >/dev/null 2>&1 || echo {}' $test)
for s in $failed; do echo "# LAB_SEED=$s $test"; done
[ -z "$failed" ] || echo -n "not "
echo "ok - $count seeds from $first"
[ -z "$failed" ]
