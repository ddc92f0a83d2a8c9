#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The whole suite, as `make check` and CI run it. Ends with "N passed, N failed, N skipped".
#
#	check.sh [STEP ...]	steps: build lint unit system linux fuzz   (default: all)
#
# Every step prints TAP lines, which are counted here; whatever a failing test printed is shown.
set -u
cd "$(dirname "$0")/.."
steps=${*:-build lint unit system linux fuzz}
jobs=$(nproc)
work=$(mktemp -d)
trap 'end_pool; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0
failures=()

say() { printf '== %s\n' "$*"; }

# record NAME LOGFILE STATUS SECONDS: count the TAP lines of one program; no line at all, or an exit status
# that its lines do not explain, is a failure.
record() {
	local name=$1 log=$2 status=$3 p f s
	# cmocka says "not ok N # SKIP name"
	s=$(grep -Ec '^(not )?ok .*# *[Ss][Kk][Ii][Pp]' "$log")
	p=$(grep -E '^ok ' "$log" | grep -Evc '# *[Ss][Kk][Ii][Pp]')
	f=$(grep -E '^not ok ' "$log" | grep -Evc '# *[Ss][Kk][Ii][Pp]')
	if [ "$status" != 0 ] && [ "$f" = 0 ] || [ $((p + f + s)) = 0 ]; then
		echo "not ok - $name (exit status $status)" >>"$log"
		f=$((f + 1))
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$s" = 0 ] || grep -E '^(not )?ok .*# *[Ss][Kk][Ii][Pp]' "$log" | sed "s|^|$name: |"
	if [ "$f" != 0 ]; then
		failures+=("$name")
		tail -150 "$log" | sed "s|^|$name: |"
		grep -E '^not ok ' "$log" | sed "s|^|$name: |" >>"$work/failed"
	fi
	printf '%-50s %4d passed %d failed %d skipped, %d s\n' "$name" "$p" "$f" "$s" "$4"
}

# one_log NAME LOGFILE CMD...: a step that is a single check
one_log() {
	local name=$1 log=$2
	shift 2
	"$@" >"$log" 2>&1 && echo "ok - $name" >>"$log"
}

# tap_log NAME LOGFILE CMD...: a program that prints TAP itself
tap_log() {
	local log=$2
	shift 2
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 "${TEST_TIMEOUT:-300}" "$@" >"$log" 2>&1
}

# one, tap NAME CMD...: at once; the status of CMD
now() {
	local how=$1 name=$2 start=$SECONDS status
	shift 2
	"$how" "$name" "$work/log" "$@"
	status=$?
	record "$name" "$work/log" $status $((SECONDS - start))
	return $status
}
one() { now one_log "$@"; }
tap() { now tap_log "$@"; }

# pool one_log|tap_log NAME CMD...: as many at a time as there are processors; pool_end waits for all and records them in
# their order. For what neither minds company nor needs the machine to itself.
pooled=()
pool() {
	local how=$1 name=$2 log="$work/pool.${#pooled[@]}"
	shift 2
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
	pooled+=("$name")
	{
		start=$SECONDS
		"$how" "$name" "$log" "$@"
		echo "$? $((SECONDS - start))" >"$log.status"
	} &
}
# Ctrl-C does not reach what runs in the background.
end_pool() {
	local p
	for p in $(jobs -rp); do
		kill "$p" $(cat "/proc/$p/task/$p/children")
	done
	wait
} 2>/dev/null
pool_end() {
	local i status seconds
	wait
	for i in "${!pooled[@]}"; do
		read -r status seconds <"$work/pool.$i.status"
		record "${pooled[i]}" "$work/pool.$i" "$status" "$seconds"
	done
	rm -f "$work"/pool.*
	pooled=()
}

step_build() {
	say "build: gcc and clang, warnings are errors"
	one build-gcc make -s -j"$jobs" all
	one build-clang make -s -j"$jobs" CC=clang all
}

step_lint() {
	say lint
	for l in tests/lint/*.sh; do
		pool one_log "lint-$(basename "$l" .sh)" bash "$l"
	done
	pool_end
}

step_unit() {
	say "unit and simulation tests (ASan, UBSan)"
	one build-san make -s -j"$jobs" SAN=1 all tests || return
	for t in build/san/unit/test_* build/san/sim/test_*; do
		[ -x "$t" ] && [ -f "$t" ] && pool tap_log "${t#build/san/}" "$t"
	done
	pool_end
}

step_system() {
	say "system and interop tests (namespaces)"
	one build-system make -s -j"$jobs" all system-tools || return
	for t in tests/system/*.sh tests/interop/*.sh; do
		[ -f "$t" ] || continue
		case $t in */lib.sh) continue ;; esac
		TEST_TIMEOUT=600 tap "${t#tests/}" bash "$t"
	done
}

step_linux() {
	say "interop with Linux's own IPoIB (virtual machines)"
	one build-linux make -s -j"$jobs" all system-tools || return
	one build-kmod make -s kmod || return
	for t in tests/interop/linux/*.sh; do
		case $t in */lib.sh | */boot.sh) continue ;; esac
		[ -f "$t" ] && TEST_TIMEOUT=900 pool tap_log "${t#tests/}" bash "$t"
	done
	pool_end
}

step_fuzz() {
	say "fuzz: ${FUZZ_SECONDS:-5} s each"
	one build-fuzz make -s -j"$jobs" O=build/fuzz CC=clang SAN=1 FUZZ=1 fuzz-bins || return
	for t in build/fuzz/fuzz/fuzz_*; do
		[ -x "$t" ] && [ -f "$t" ] || continue
		local n=${t##*/}
		mkdir -p "$work/corpus/$n"
		pool one_log "$n" "$t" -max_total_time="${FUZZ_SECONDS:-5}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
			-artifact_prefix="$work/" "$work/corpus/$n" $(ls -d "tests/fuzz/corpus/$n" 2>/dev/null)
	done
	pool_end
}

for s in $steps; do
	"step_$s"
done
[ ${#failures[@]} = 0 ] || { cat "$work/failed"; printf 'failed: %s\n' "${failures[@]}"; }
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
