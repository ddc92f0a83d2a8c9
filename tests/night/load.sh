#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# load.sh [RUNS] [AT_A_TIME]: run the system and interop scripts of `make check` and `make check-all` RUNS times (default: 10), with
# AT_A_TIME (default: 5) whole runs at the same time, so that each run is a load for the others. The results show whether a test
# fails because the machine is busy. The script prints one TAP line for each run. If the run failed, lines below it name
# the checks and scripts that failed. The output of these scripts is in the folder KEEP (default: build/load), in a
# folder for each run.
#
# The last commit is tested, not the working tree. It is built once and copied to a folder in TMPDIR, which is removed at the end.
# SYSTEM_JOBS in the environment is the number of scripts that each run starts at a time, and STEPS has the steps of tests/check.sh
# (default: "system system-all").
set -u
cd "$(dirname "$0")/../.." || exit 1
tree=$PWD
runs=${1:-10} at_a_time=${2:-5}
steps=${STEPS:-system system-all}
[ "$(id -u)" = 0 ] || { echo "ok - load.sh # SKIP it needs root"; exit 0; }
keep=$(realpath -m "${KEEP:-build/load}")
rm -rf "$keep" && mkdir -p "$keep" || exit 1
base=$(mktemp -d "${TMPDIR:-/tmp}/uipoib-load.XXXXXX") || exit 1
cleanup() {
	local p
	trap - EXIT INT TERM
	for p in $(jobs -rp); do kill "$p"; done
	wait
	while IFS=: read -r f value; do echo "$value" >"$f"; done <<<"$neigh_were"
	rm -rf --one-file-system "$base"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 130' INT TERM

# run I: run the tests in a copy of the built tree. The output is $base/I.out, the status $base/I.status.
run() {
	local start=$SECONDS
	cp -a "$base/built" "$base/$1" && cd "$base/$1" || return
	# shellcheck disable=SC2086
	SCRIPT_TIMEOUT=3600 bash tests/check.sh $steps </dev/null >"$base/$1.out" 2>&1 &
	trap 'kill $!; wait; exit 130' TERM
	wait $!
	echo "$? $((SECONDS - start))" >"$base/$1.new"
	mkdir -p "$keep/$1" && cp "$base/$1.out" "$keep/$1/out"
	sed -n 's/^failed: //p' "$base/$1.out" | while read -r t; do
		[ ! -f "build/check/$t.log" ] || cp --parents "build/check/$t.log" "$keep/$1/"
	done
	cd "$tree" && rm -rf --one-file-system "${base:?}/$1"
	mv "$base/$1.new" "$base/$1.status"
}

failed=0
# report: print the results of the runs that have ended since the last call
report() {
	local i status seconds
	for ((i = 1; i <= runs; i++)); do
		[ -f "$base/$i.status" ] || continue
		read -r status seconds <"$base/$i.status"
		rm "$base/$i.status"
		if [ "$status" = 0 ]; then
			rm -rf "${keep:?}/$i"
		else
			failed=1
			echo -n "not "
		fi
		echo "ok - run $i beside others: $(tail -1 "$base/$i.out"), $seconds s"
		[ "$status" = 0 ] || grep -E '(^|: )not ok |^failed: ' "$base/$i.out" | sort -u | sed "s|^|# |"
	done
}

# load: write the load average of a minute to $base/load as long as runs are in progress
load() {
	while sleep 20; do cut -d' ' -f1 /proc/loadavg >>"$base/load"; done
}

# The kernel has one limit of neighbour entries for all namespaces, so raise it to the number that the labs of all runs
# need at the same time. The scripts of the runs also raise the limits, and each script takes back only what it has
# added.
neigh_limits=/proc/sys/net/ipv[46]/neigh/default/gc_thresh[123]
neigh_were=$(grep . $neigh_limits 2>/dev/null)
for f in $neigh_limits; do echo 65536 >"$f"; done 2>/dev/null

if ! { git -c safe.directory='*' clone -q --no-local "$tree" "$base/built" &&
	make -s -C "$base/built" -j"$(nproc)" all system-tools build/unit/test_fabric_capture; } >"$base/build.out" 2>&1; then
	echo "not ok - the last commit is built"
	tail -5 "$base/build.out" | sed 's/^/# /'
	exit 1
fi
echo "# $(git -C "$base/built" log --oneline -1)"
load &
for ((i = 1; i <= runs; i++)); do
	while [ "$(jobs -rp | wc -l)" -gt "$at_a_time" ]; do # load() is one of the jobs
		wait -n
		report
	done
	run $i &
done
while [ "$(jobs -rp | wc -l)" -gt 1 ]; do
	wait -n
	report
done
report
[ ! -s "$base/load" ] || sort -n "$base/load" |
	awk '{ v[NR] = $1 } END { printf "# load average of a minute: least %s, median %s, most %s\n", v[1], v[int((NR + 1) / 2)], v[NR] }'
[ $failed = 0 ] && rmdir "$keep" 2>/dev/null || echo "# what the scripts that failed printed is in $keep"
exit $failed
