#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs the tests for `make check`, `make check-all` and CI. The last line is "N passed, N failed, N skipped".
#
#	check.sh [STEP ...]	check: build quick			(the default: no VM, some minutes; quick is system, lint and unit in one)
#				check-all: slow fuzz		(the tests that check leaves out; slow is system-all, linux, lint-all and build-all in one)
#				third-party		(not in check-all, except for the scripts marked `all`)
#				check-night: bits lint-deep mutants seeds kasan volume releases hostile debian image prometheus page load	(hours)
#
# Every step prints TAP lines, which are counted here; the output of a test that fails is shown. The output of each program is
# stored in build/check (LOGS), and at the end tests/lint/conformance.sh looks there for the tests that CONFORMANCE.md names.
# SYSTEM_JOBS is the number of scripts that run at a time, SCRIPT_TIMEOUT the number of seconds that a script may take.
set -u
cd "$(dirname "$0")/.."
steps=" ${*:-check} "
steps=${steps/ check / build quick }
steps=${steps/ check-night / bits lint-deep mutants seeds kasan volume releases hostile debian image prometheus page load }
steps=${steps/ check-all / slow fuzz }
jobs=$(nproc)
system_jobs=${SYSTEM_JOBS:-$((jobs * 3))}
script_timeout=${SCRIPT_TIMEOUT:-1500}
logs=${LOGS:-build/check}
work=$(mktemp -d)
rm -rf "$logs" && mkdir -p "$logs" || exit 1
trap 'end_pool; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0
failures=()

# A process costs some hundredths of a second of CPU time, and there are several hundred programs. So the functions that are called for each
# program start few processes.

say() { printf '== %s\n' "$*"; }

# cpu_used: set $cpu to the seconds of CPU that the ended children of this shell have used
cpu_used() {
	local file=$work/times.$BASHPID used
	times >"$file" # not in $(...), because times would then show the CPU time of that subshell
	{ read -r && read -ra used; } <"$file" # the second line, such as 1m2.345s 0m6.789s
	cpu=0
	for used in "${used[@]}"; do
		cpu=$((cpu + ${used%m*} * 60))
		used=${used#*m}
		cpu=$((cpu + ${used%%[!0-9]*}))
	done
}

# record NAME LOGFILE STATUS SECONDS CPU: count the TAP lines of one program. The program has failed if there is no
# line at all, or if its exit status contradicts the lines.
record() {
	local name=$1 log=$2 status=$3 kept=$logs/$1.log p f s
	# for a skipped test, cmocka prints "not ok N # SKIP name"
	read -r p f s <<<"$(awk '/^(not )?ok / { if (/# *[Ss][Kk][Ii][Pp]/) s++; else if (/^not/) f++; else p++ } END { print p + 0, f + 0, s + 0 }' "$log")"
	if [ "$status" != 0 ] && [ "$f" = 0 ] || [ $((p + f + s)) = 0 ]; then
		echo "not ok - $name (exit status $status)" >>"$log"
		f=$((f + 1))
	fi
	[ -d "${kept%/*}" ] || mkdir -p "${kept%/*}"
	cp "$log" "$kept"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$s" = 0 ] || grep -E '^(not )?ok .*# *[Ss][Kk][Ii][Pp]' "$log" | sed "s|^|$name: |"
	if [ "$f" != 0 ]; then
		failures+=("$name")
		tail -150 "$log" | sed "s|^|$name: |"
		awk '/^(not )?ok / { said = 0; bad = /^not ok / } bad && said++ < 20' "$log" | sed "s|^|$name: |" >>"$work/failed"
	fi
	printf '%-50s %4d passed %d failed %d skipped, %d s, %d s of CPU\n' "$name" "$p" "$f" "$s" "$4" "$5"
}

# one_log NAME LOGFILE CMD...: run CMD as a single check, and print its TAP line
one_log() {
	local name=$1 log=$2
	shift 2
	"$@" >"$log" 2>&1 && echo "ok - $name" >>"$log"
}

# tap_log NAME LOGFILE CMD...: run a program that prints TAP itself
tap_log() {
	local log=$2
	shift 2
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 60 "${TEST_TIMEOUT:-300}" "$@" >"$log" 2>&1
}

# unit_log NAME LOGFILE CMD...: run a test that does not sleep. Its bound is 300 s of CPU time, because on a busy machine
# the time on the clock depends on other programs. A test that waits for ever ends after half an hour on the clock. Only pool may call
# this function, in a subshell, because the bound applies to the calling shell from then on.
unit_log() { ulimit -S -t 300 && TEST_TIMEOUT=1800 tap_log "$@"; }

# one NAME CMD..., tap NAME CMD...: run CMD by one_log or tap_log, record the result under NAME, and return the status of CMD
now() {
	local how=$1 name=$2 start=$SECONDS status before
	shift 2
	cpu_used && before=$cpu
	"$how" "$name" "$work/log" "$@" & # in the background, because bash runs a trap only when the process in the foreground has ended
	wait $!
	status=$?
	cpu_used
	record "$name" "$work/log" $status $((SECONDS - start)) $((cpu - before))
	return $status
}
one() { now one_log "$@"; }
tap() { now tap_log "$@"; }

# pool one_log|tap_log|unit_log NAME CMD...: start CMD in the background. The pool is for programs that do not disturb each other.
# At most $pool_size of them run at a time. When a program has ended, its result is recorded. pool_end waits for all programs.
# pooled has the names of the programs that run. pool_lane has the lanes to which these programs belong.
pooled=() pool_lane=() pool_started=0 pool_size=$jobs
pool() {
	local how=$1 name=$2 log=$work/pool.$pool_started
	shift 2
	pool_wait "$pool_size"
	pooled[pool_started]=$name pool_lane[pool_started]=${lane:-}
	pool_started=$((pool_started + 1))
	{
		start=$SECONDS
		"$how" "$name" "$log" "$@"
		status=$?
		cpu_used
		echo "$status $((SECONDS - start)) $cpu" >"$log.status"
	} &
}
# pool_wait N: wait until fewer than N programs are running
pool_wait() {
	while [ ${#pooled[@]} -ge "$1" ]; do
		pool_next
	done
}
pool_next() { # wait until a program has ended
	local i status before=${#pooled[@]}
	pool_record
	[ ${#pooled[@]} = "$before" ] || return
	wait -n
	status=$?
	pool_record
	[ $status = 127 ] || return # 127: there is no process any more, so a shell that is still in the list was killed
	for i in "${!pooled[@]}"; do
		echo "137 0 0" >"$work/pool.$i.status"
		[ -e "$work/pool.$i" ] || : >"$work/pool.$i"
	done
	pool_record
}
pool_record() {
	local i name status seconds used
	for i in "${!pooled[@]}"; do
		[ -s "$work/pool.$i.status" ] || continue # echo writes the line by one write(), so the file has the whole line or is empty
		read -r status seconds used <"$work/pool.$i.status"
		name=${pooled[i]}
		unset "pooled[i]" "pool_lane[i]"
		record "$name" "$work/pool.$i" "$status" "$seconds" "$used"
	done
}
# Ctrl-C does not reach processes in the background, so this function sends SIGTERM to the programs of the pool. Then it waits for
# the shells that have started the programs. Each of these shells ends after its program, so all scripts have cleaned up by then.
end_pool() {
	local p
	for p in $(jobs -rp); do
		kill $(programs "$p")
	done
	wait
} 2>/dev/null
# programs PID: print the programs that a shell of this script has started, itself or through other shells of this script
programs() {
	local c
	for c in $(cat "/proc/$1/task/$1/children"); do
		if cmp -s "/proc/$c/cmdline" "/proc/$$/cmdline"; then
			programs "$c"
		else
			echo "$c"
		fi
	done
}
pool_end() {
	pool_wait 1
	rm -f "$work"/pool.*
	pool_started=0 pool_size=$jobs
}

step_build() {
	say "build: gcc, warnings are errors"
	one build-gcc make -s -j"$jobs" all bench-bins
}

step_build-all() {
	say "build: clang, warnings are errors"
	one build-clang "${make_clang[@]}"
}
# The fuzzers are built here, too, so that clang compiles each file only once.
make_clang=(make -s -j"$jobs" O=build/fuzz CC=clang SAN=1 FUZZ=1 all fuzz-bins)

# Run the scripts of tests/lint without an argument. Step lint-all runs two of them with "all", so that they check all files with all
# compilers.
step_lint() {
	say lint
	for l in $(lints); do
		pool one_log "lint-$(basename "$l" .sh)" bash "$l"
	done
	pool_end
}
lints() {
	local l
	for l in tests/lint/*.sh; do
		has "$l" all || echo "$l"
	done
}

step_lint-all() {
	local l
	say "lint: all files with clang-tidy, headers with clang"
	for l in tidy headers; do
		one "lint-$l-all" bash "tests/lint/$l.sh" all
	done
}

step_lint-deep() {
	say "lint: all files with clang-tidy, as deep as its analyzer goes by default"
	one lint-tidy-deep bash tests/lint/tidy.sh deep
}

step_unit() {
	say "unit and simulation tests (ASan, UBSan)"
	one build-san "${make_san[@]}" || return
	for t in $(unit_tests check); do
		pool unit_log "$t" "build/san/$t"
	done
	pool_end
}
make_san=(make -s -j"$jobs" SAN=1 all tests)

# unit_tests check|all: print the names of the unit and simulation tests of a command, the longest ones first
unit_tests() {
	local t set
	for t in $(printf '%s\n' tests/sim/test_all_{soak,lab}.c tests/sim/test_*.c tests/unit/test_*.c | awk '!seen[$0]++'); do
		set=check
		has "$t" all && set=all
		! has "$t" guest && [ $set = "$1" ] || continue
		t=${t#tests/}
		echo "${t%.c}"
	done
}

# has TEST WORD: succeeds if the line "# check.sh: ..." of the test contains WORD; tests/system/lib.sh lists the words
declare -A words
while IFS=: read -r t line; do
	words[$t]=" $line "
done < <(awk 'FNR <= 12 && sub(/^[#\/]\** check\.sh: */, "") { sub(/ *\*\/$/, ""); print FILENAME ":" $0 }' tests/*/*.{sh,c} tests/interop/linux/*.sh)
has() { [[ ${words[$1]:-} = *" $2 "* ]]; }

# scripts COMMAND PHASE: print the scripts that COMMAND (check or all) starts in PHASE (long, waits, rest, alone or builds)
scripts() {
	local t set when
	for t in tests/system/*.sh tests/interop/*.sh; do
		case $t in */lib.sh) continue ;; esac
		set=check when=rest
		has "$t" all && set=all
		has "$t" long && when=long
		has "$t" waits && when=waits
		has "$t" alone && when=alone
		has "$t" builds && when=builds
		[ "$set $when" = "$1 $2" ] && echo "$t"
	done
}

# run_scripts check|all: run the scripts of a command
run_scripts() {
	local t
	one build-system make -s -j"$jobs" all system-tools || return
	pool_size=$system_jobs
	for t in $(scripts "$1" waits) $(scripts "$1" builds) $(scripts "$1" long) $(scripts "$1" rest); do
		pool_script "$t"
	done
	pool_end
	run_alone "$1"
}
pool_script() { # SCRIPT [COMMAND...]: run the script, by COMMAND if one is given; COMMAND may make the script slow
	TEST_TIMEOUT=$((script_timeout * ($# > 1 ? 3 : 1))) pool tap_log "${1#tests/}" "${@:2}" bash "$1"
}
run_alone() {
	local t
	for t in $(scripts "$1" alone); do
		TEST_TIMEOUT=$script_timeout tap "${t#tests/}" bash "$t"
	done
}

step_system() {
	say "system and interop tests (namespaces), $system_jobs at a time"
	run_scripts check
}

step_system-all() {
	local t
	say "system and interop tests and simulations that take long or need the machine"
	run_scripts all
	one build-san "${make_san[@]}" || return
	for t in $(unit_tests all); do
		pool unit_log "$t" "build/san/$t"
	done
	pool_end
}

step_linux() {
	say "interop with Linux's own IPoIB (virtual machines)"
	build_linux || return
	run_guests
}
build_linux() {
	one build-linux make -s -j"$jobs" all system-tools build/unit/test_netdev_ibtap && one build-kmod make -s kmod
}

step_quick() {
	say "system and interop tests (namespaces), $system_jobs at a time; beside them lint, then the unit and simulation tests (ASan, UBSan)"
	one build-system make -s -j"$jobs" all system-tools || return
	queue=([idle]=" san $(lints)" [unit]=$(unit_tests check) [system]="$(scripts check waits) $(scripts check long) $(scripts check rest)")
	run_lanes
	run_alone check
}

step_slow() {
	say "system tests that take long, then Linux's own IPoIB (virtual machines); beside them clang: its build with the fuzzers, clang-tidy"
	build_linux || return
	queue=([idle]="kernels headers $(scripts all builds) san $(unit_tests all) tidy clang" [beside]=$(scripts all waits) [system]="$(scripts all long) $(scripts all rest)"
		[busy]="$(guests long) $(guests rest)" [waits]=$(guests waits))
	run_lanes
	run_alone all
}
run_guests() {
	queue=([busy]="$(guests long) $(guests rest)" [waits]=$(guests waits))
	run_lanes
}

# run_lanes: run the programs in the queues of these lanes, each lane in the order of its queue:
#	idle	compilers, lints, and scripts that do little but compile, one after another. They run under SCHED_IDLE, so they get only CPU
#		time that no other program needs. Programs that use all processors come last in this queue, because at the end the other
#		lanes may be empty.
#	unit	unit and simulation tests, under SCHED_IDLE, too, as soon as the lane idle has built them
#	beside	scripts without virtual machines that wait most of the time
#	system	the other scripts without virtual machines, $system_jobs at a time
#	busy	scripts with virtual machines, as many at a time as there are processors
#	waits	scripts with virtual machines that wait most of the time, also as many at a time as there are processors
# Virtual machines start only when no script of the lane system is left, for two reasons:
# - A virtual machine may get only a fifth of a processor beside these scripts. Then time-outs of its kernel expire, and the test
#   loses packets.
# - Virtual machines would slow down the hooks of the conformance suite, in the lane system, so that these exceed their time-outs.
# When the queue of the lane busy is empty, this lane takes scripts from the queue of the lane waits.
declare -A queue
run_lanes() {
	local lane
	pool_size=1000
	while [[ ${queue[*]} = *[![:space:]]* ]]; do
		for lane in idle unit beside system busy waits; do
			while lane_free $lane; do
				lane_start $lane
			done
		done
		pool_next
	done
	pool_end
}
lane_running() { # LANE: set $running to the number of its programs that run
	local l
	running=0
	for l in "${pool_lane[@]}"; do
		[ "$l" != "$1" ] || running=$((running + 1))
	done
}
queued() { [[ ${queue[$1]:-} = *[![:space:]]* ]]; } # LANE: succeeds if its queue is not empty
lane_queue() { # LANE: set $from to the lane from whose queue LANE takes its next script; fails if that queue is empty
	from=$1
	queued "$1" || [ "$1" != busy ] || from=waits
	queued "$from"
}
lane_free() { # LANE: succeeds if a program of the lane can start now
	local from places=1 running
	lane_queue "$1" || return
	case $1 in
	beside | system) places=$system_jobs ;;
	busy | unit | waits) places=$jobs ;;
	esac
	case $1 in
	busy | waits)
		lane_running system
		! queued system && [ $running = 0 ] || return
		;;
	unit) unit_built || return ;;
	esac
	lane_running "$1"
	[ $running -lt $places ]
}
unit_built() { # succeeds when the unit tests have been built; if this failed, empty their queue
	[[ " ${queue[idle]} " != *" san "* && " ${pooled[*]} " != *" build-san "* ]] || return
	[[ " ${failures[*]} " != *" build-san "* ]] || queue[unit]=
	queued unit
}
lane_start() { # LANE: start the first program of its queue
	local from next rest idle=()
	lane_queue "$1"
	[ "$1" != idle ] || idle=(chrt -i 0)
	read -r -d '' next rest <<<"${queue[$from]}"
	queue[$from]=$rest
	case $next in
	kernels) TEST_TIMEOUT=3600 pool tap_log kernels chrt -i 0 bash tests/kernels.sh 6.12 ;;
	clang) pool one_log build-clang chrt -i 0 "${make_clang[@]}" ;;
	san) pool one_log build-san chrt -i 0 "${make_san[@]}" ;;
	tests/lint/*)
		rest=${next##*/}
		pool one_log "lint-${rest%.sh}" chrt -i 0 bash "$next"
		;;
	unit/* | sim/*) pool unit_log "$next" chrt -i 0 "build/san/$next" ;;
	tidy | headers) pool one_log "lint-$next-all" chrt -i 0 bash "tests/lint/$next.sh" all ;;
	*) pool_script "$next" "${idle[@]}" ;;
	esac
}

# guests waits|long|rest|night: print the scripts with virtual machines that start in this phase; night: those that only run at night
guests() {
	local t when
	for t in tests/interop/linux/*.sh $(third_party all); do
		case $t in */lib.sh | */boot.sh) continue ;; esac
		when=rest
		has "$t" long && when=long
		has "$t" waits && when=waits
		has "$t" night && when=night
		[ $when != "$1" ] || echo "$t"
	done
}

# third_party [WORD]: print the scripts of tests/third-party; with WORD, only scripts for which has() finds WORD
third_party() {
	local t
	for t in tests/third-party/*.sh; do
		case $t in */lib.sh | */root.sh) continue ;; esac
		[ $# = 0 ] || has "$t" "$1" || continue
		echo "$t"
	done
}

step_third-party() {
	local t
	say "programs of others on Linux's own ib0 (virtual machines): doc/works-with.md"
	# This script runs first, because it needs root and Debian's archive, and reports at once if one of these is missing.
	one third-party-root timeout -k 60 2h bash tests/third-party/root.sh || return
	build_linux || return
	for t in $(third_party); do
		THIRD_PARTY=root pool_script "$t"
	done
	pool_end
}

step_mutants() {
	say "mutants: are changes of one line noticed"
	TEST_TIMEOUT=8h tap mutants python3 tests/mutants/mutants.py
}

step_seeds() {
	say "the simulated fabric with many seeds"
	TEST_TIMEOUT=8h tap seeds bash tests/night/seeds.sh
}

step_kasan() {
	say "uib.ko and ibtap.ko: compiled by clang, and on a kernel with KASAN, lockdep and kmemleak"
	one build-system make -s -j"$jobs" all system-tools || return
	TEST_TIMEOUT=1h tap kmod-clang bash tests/interop/linux/debug/clang.sh
	TEST_TIMEOUT=6h tap kasan bash tests/interop/linux/debug/run.sh
}

step_volume() {
	local t
	say "virtual machines: what CI does for seconds, for minutes"
	build_linux || return
	for t in hostile ibtap ibtap_profiles kmod verbs; do
		FUZZ_SECONDS=300 FAULT_SECONDS=300 MEGABYTES=100 RANDOM_SECONDS=60 KILLS=100 TEST_TIMEOUT=1h \
			tap "volume-$t" bash "tests/interop/linux/$t.sh"
	done
}

step_releases() {
	local t
	say "the kernel modules for the kernels of other releases, and programs of other releases on them"
	TEST_TIMEOUT=1h tap kernels bash tests/kernels.sh
	build_linux || return
	for t in $(guests night); do
		TEST_TIMEOUT=1h tap "${t#tests/}" bash "$t"
	done
}

# Run three attacks of ten minutes each, one after another. Two attacks must not run at the same time, because each script compares
# the round trips during its attack with round trips without an attack (tests/night/watch.sh).
step_hostile() {
	local t
	say "attacks on the ASan build, ${HOSTILE_SECONDS:=600} s each"
	one build-hostile make -s -j"$jobs" SAN=1 all || return
	one build-system make -s -j"$jobs" system-tools || return
	for t in interop/udp_abyss night/forged system/escapes; do
		UIPOIB=build/san/uipoib TOOLS=build/system HOSTILE_SECONDS=$HOSTILE_SECONDS TEST_TIMEOUT=$((HOSTILE_SECONDS * 3 + 300)) \
			tap "hostile-${t##*/}" bash "tests/$t.sh"
	done
}

step_bits() {
	say "32-bit and big-endian builds of the layers without I/O"
	TEST_TIMEOUT=4h tap bits bash tests/night/bits.sh
}

step_debian() {
	say "make demo, make check and make vm in new systems"
	TEST_TIMEOUT=4h tap debian bash tests/night/debian.sh
}

step_image() {
	say "the action and the image of packaging/image"
	TEST_TIMEOUT=2h tap image bash tests/night/image.sh
}

step_prometheus() {
	say "a Prometheus that scrapes uipoib web"
	TEST_TIMEOUT=1h tap prometheus bash tests/night/prometheus.sh
}
step_page() {
	say "axe-core on the page of uipoib web"
	TEST_TIMEOUT=1h tap page bash tests/night/page.sh
}

step_load() {
	say "the system and interop scripts, whole runs beside each other"
	TEST_TIMEOUT=8h tap load bash tests/night/load.sh
}

step_fuzz() {
	say "fuzz: ${FUZZ_SECONDS:-5} s each"
	one build-fuzz "${make_clang[@]}" || return # step slow has built the fuzzers already, if it ran before
	for t in build/fuzz/fuzz/fuzz_*; do
		[ -x "$t" ] && [ -f "$t" ] || continue
		local n=${t##*/}
		mkdir -p "$work/corpus/$n"
		pool one_log "$n" "$t" -max_total_time="${FUZZ_SECONDS:-5}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
			-artifact_prefix="$work/" "$work/corpus/$n" $(ls -d "tests/fuzz/corpus/$n" 2>/dev/null)
	done
	pool_end
}

ran=${steps/ quick / lint unit system }
printf '%s\n' ${ran/ slow / build-all lint-all system-all linux } >"$logs/steps"
for s in $steps; do
	start=$SECONDS
	cpu_used && before=$cpu
	"step_$s"
	cpu_used
	echo "== $s: $((SECONDS - start)) s, $((cpu - before)) s of CPU"
done
case $steps in
*" unit "* | *" system"* | *" quick "* | *" linux "*) one conformance-ran bash tests/lint/conformance.sh "$logs" ;;
esac
[ ${#failures[@]} = 0 ] || { cat "$work/failed"; printf 'failed: %s\n' "${failures[@]}"; }
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
