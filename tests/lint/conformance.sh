#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# conformance.sh: check that every function named in CONFORMANCE.md exists, and that every test named there is run. Such a
# test is a case in a table that cmocka gets, or a line that a script prints with `check`.
#
# conformance.sh LOGS: after a run of tests/check.sh, whose output is in the folder LOGS, check the TAP lines of the tests named in
# CONFORMANCE.md: each test that belongs to a step of this run must have run and passed.
#
# A row looks like this:  | R46 | statement | `src/wire/ipoib_hdr.c:ipoib_lladdr_encode` | `tests/unit/test_x.c:test_case` |
# Several entries are separated by blanks. The test of a script is its TAP line:  `tests/system/file.sh:it renews`
set -u
cd "$(dirname "$0")/../.."
logs=${1:-} fail=0 rows=0 proved=0 absent=0
bad() {
	echo "CONFORMANCE.md: $1: $2"
	fail=1
}

# --- without LOGS: search the sources for the tests

# cases: print "FILE:CASE" for every entry of the tables of cases (struct CMUnitTest)
cases() {
	awk 'FNR == 1 { inside = 0 }
		/struct CMUnitTest .*\[\] = \{/ { inside = 1 }
		inside {
			line = $0
			while (match(line, /\(\s*[A-Za-z_][A-Za-z_0-9]*/)) {
				name = substr(line, RSTART + 1, RLENGTH - 1)
				gsub(/[ \t]/, "", name)
				print FILENAME ":" name
				line = substr(line, RSTART + RLENGTH)
			}
			pending = $0 ~ /\(\s*$/
			if (!pending && was && match($0, /[A-Za-z_][A-Za-z_0-9]*/)) print FILENAME ":" substr($0, RSTART, RLENGTH)
			was = pending
		}
		/^\t?};/ { inside = 0; was = 0 }' tests/unit/*.c tests/sim/*.c
}
declare -A is_case=()
while read -r c; do is_case[$c]=1; done < <(cases)

# prints LINE FILE...: succeeds if one of the scripts has a check that prints this line. A shell variable in the check matches
# any text
prints() {
	local line=$1
	shift
	sed -n 's/^.*\bcheck[ (]"\(\([^"\\]\|\\.\)*\)".*/\1/p' "$@" 2>/dev/null |
		LINE=$line awk '{
			gsub(/[][\\.*^+?(){}|]/, "\\\\&")		# make a pattern that matches the text itself
			gsub(/\$\\\{[^}]*\\\}|\$\\\([^)]*\\\)|\$[A-Za-z_0-9]+/, ".*")
			if (ENVIRON["LINE"] ~ "^" $0 "$") found = 1
		} END { exit !found }'
}

written() { # ID FILE NAME: report an error unless the sources have this test
	case $2 in
	*.c) [ -n "${is_case["$2:$3"]:-}" ] || bad "$1" "$3 is in no table of cases of $2" ;;
	# Checks that run in a virtual machine are in scripts in guest/, whose names begin with the name of the
	# script.
	tests/interop/linux/*) prints "$3" "$2" "${2%/*}/guest/$(basename "$2" .sh)"[._]* || bad "$1" "$2 has no check that prints '$3'" ;;
	*) prints "$3" "$2" || bad "$1" "$2 has no check that prints '$3'" ;;
	esac
}

# --- with LOGS: search the logs for the tests

# There are some thousands of tests, so no process is started for each of them.
declare -A is_all=() passed=() skipped=() was_step=()
read_logs() {
	local log line
	while read -r line; do is_all[$line]=1; done < <(awk 'FNR <= 12 && /^[#\/]\** check\.sh:.* all( |$)/ { print FILENAME }' tests/*/*.{sh,c})
	while read -r line; do was_step[$line]=1; done <"$logs/steps"
	while IFS=$'\t' read -r log line; do
		passed[$log:$line]=1
		passed[${log%%/*}:$line]=1
		[[ $line != *'# SKIP'* ]] || skipped[$log]=1
	done < <(cd "$logs" && find . -name '*.log' -printf '%P\0' |
		xargs -0 awk 'sub(/^ok ([0-9]+ )?- /, "") { log_name = FILENAME; sub(/\.log$/, "", log_name); print log_name "\t" $0 }')
}

# step_of FILE: set $step to the step of check.sh that runs the test
step_of() {
	case $1 in
	tests/interop/linux/*) step=linux ;;
	*.c) step=unit ;;
	*) step=system ;;
	esac
	[ "$step" = linux ] || [ -z "${is_all[$1]:-}" ] || step=system-all
}

ran() { # ID FILE NAME: report an error unless the logs show that this test passed
	local step log=${2#tests/}
	step_of "$2"
	[ -n "${was_step[$step]:-}" ] || { absent=$((absent + 1)); return; }
	case $2 in
	*/test_*.c) log=${log%.c} ;;
	*.c) log=unit ;; # a file of shared cases, which several programs run
	esac
	if [ -n "${passed["$log:$3"]:-}" ]; then
		proved=$((proved + 1))
	elif [ -n "${skipped[$log]:-}" ]; then
		echo "CONFORMANCE.md: $1: $2 left something out here, so '$3' did not run"
	else
		bad "$1" "'$3' of $2 did not run and pass"
	fi
}
[ -z "$logs" ] || read_logs

# --- each row

while IFS='|' read -r _ id _ funcs tests _; do
	id=${id// /}
	[[ $id =~ ^[A-Z][0-9]+$ ]] || continue
	rows=$((rows + 1))
	while [ -z "$logs" ] && [[ $funcs =~ \`([^\`]*)\`(.*) ]]; do
		entry=${BASH_REMATCH[1]} funcs=${BASH_REMATCH[2]}
		grep -qwF -- "${entry#*:}" "${entry%%:*}" 2>/dev/null || bad "$id" "no ${entry#*:} in ${entry%%:*}"
	done
	while [[ $tests =~ \`([^\`]*)\`(.*) ]]; do
		entry=${BASH_REMATCH[1]} tests=${BASH_REMATCH[2]}
		if [ -n "$logs" ]; then
			ran "$id" "${entry%%:*}" "${entry#*:}"
		else
			written "$id" "${entry%%:*}" "${entry#*:}"
		fi
	done
done <CONFORMANCE.md
[ "$rows" -gt 0 ] || bad - "no rows"
[ -z "$logs" ] || echo "$proved tests ran, $absent are of other steps"

# Check that every function test_* is in a table of cases, because cmocka runs only the functions in these tables.
[ -n "$logs" ] || while IFS=: read -r file name; do
	[ -n "${is_case["$file:$name"]:-}" ] || { echo "$file: $name is never run"; fail=1; }
done < <(grep -oHE '^static void test_[A-Za-z0-9_]*\(void \*\*' tests/unit/test_*.c tests/sim/test_*.c | sed -E 's/static void (test_[A-Za-z0-9_]*).*/\1/')
exit $fail
