#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# seeds.sh [COUNT]: run simulations of a whole fabric under ASan with many seeds:
#
#	tests/sim/test_all_lab.c	COUNT seeds, 2000 by default
#	tests/sim/test_all_soak.c	half as many; 200 interfaces of all profiles
#	tests/sim/test_all_partial.c	half as many; partial sweeps
#
# The first seed is made from the last commit's hash. The script prints one TAP line for each simulation. For each seed
# that fails, it also prints the command that repeats the seed.
set -u
cd "$(dirname "$0")/../.." || exit 1
count=${1:-2000}
first=$((16#$(git rev-parse --short=6 HEAD)))
make -s -j"$(nproc)" SAN=1 build/san/sim/test_all_{lab,soak,partial} || { echo "not ok - the simulations are built"; exit 1; }

# seeds TEST VARIABLE COUNT: run the test with the variable set to each seed
seeds() {
	local test=build/san/sim/$1 variable=$2 count=$3 failed s
	failed=$(seq "$first" $((first + count - 1)) |
		xargs -P "$(nproc)" -I{} sh -c "$variable={} timeout 600 $test >/dev/null 2>&1 || echo {}")
	for s in $failed; do echo "# $variable=$s $test"; done
	[ -z "$failed" ] || echo -n "not "
	echo "ok - $1: $count seeds from $first"
	[ -z "$failed" ]
}

status=0
seeds test_all_lab LAB_SEED "$count" || status=1
seeds test_all_soak SOAK_SEED $((count / 2)) || status=1
seeds test_all_partial PARTIAL_SEED $((count / 2)) || status=1
exit $status
