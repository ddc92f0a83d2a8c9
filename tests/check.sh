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
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
failures=()

say() { printf '== %s\n' "$*"; }

# record NAME LOGFILE STATUS: count the TAP lines of one program; no line at all, or an exit status
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
		sed "s|^|$name: |" "$log" | tail -150
	fi
	printf '%-50s %4d passed %d failed %d skipped\n' "$name" "$p" "$f" "$s"
}

# one NAME CMD...: a step that is a single check
one() {
	local name=$1 log="$work/log" status
	shift
	"$@" >"$log" 2>&1
	status=$?
	[ $status = 0 ] && echo "ok - $name" >>"$log"
	record "$name" "$log" $status
	return $status
}

# tap NAME CMD...: a program that prints TAP itself
tap() {
	local name=$1 log="$work/log"
	shift
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 "${TEST_TIMEOUT:-300}" "$@" >"$log" 2>&1
	record "$name" "$log" $?
}

step_build() {
	say "build: gcc and clang, warnings are errors"
	one build-gcc make -s -j"$jobs" all
	one build-clang make -s -j"$jobs" CC=clang all
}

step_lint() {
	say lint
	for l in tests/lint/*.sh; do
		one "lint-$(basename "$l" .sh)" bash "$l"
	done
}

step_unit() {
	say "unit and simulation tests (ASan, UBSan)"
	one build-san make -s -j"$jobs" SAN=1 all tests || return
	for t in build/san/unit/test_* build/san/sim/test_*; do
		[ -x "$t" ] && [ -f "$t" ] && tap "${t#build/san/}" "$t"
	done
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
		[ -f "$t" ] && TEST_TIMEOUT=600 tap "${t#tests/}" bash "$t"
	done
}

step_fuzz() {
	say "fuzz: ${FUZZ_SECONDS:-5} s each"
	one build-fuzz make -s -j"$jobs" O=build/fuzz CC=clang SAN=1 FUZZ=1 fuzz-bins || return
	for t in build/fuzz/fuzz/fuzz_*; do
		[ -x "$t" ] && [ -f "$t" ] || continue
		local n=${t##*/}
		mkdir -p "$work/corpus/$n"
		one "$n" "$t" -max_total_time="${FUZZ_SECONDS:-5}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
			-artifact_prefix="$work/" "$work/corpus/$n" $(ls -d "tests/fuzz/corpus/$n" 2>/dev/null)
	done
}

for s in $steps; do
	"step_$s"
done
[ ${#failures[@]} = 0 ] || printf 'failed: %s\n' "${failures[@]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
