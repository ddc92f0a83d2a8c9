#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Every test that CONFORMANCE.md names exists and runs, and every function it names is there.
#
# A row:  | R46 | statement | `src/wire/ipoib_hdr.c:ipoib_lladdr_encode` | `tests/unit/test_x.c:test_case` |
# Several entries are separated by blanks. A system test is `tests/system/file.sh:name`.
set -u
cd "$(dirname "$0")/../.."
fail=0 rows=0
bad() {
	echo "CONFORMANCE.md: $1: $2"
	fail=1
}
while IFS='|' read -r _ id _ funcs tests _; do
	id=${id// /}
	[[ $id =~ ^[A-Z][0-9]+$ ]] || continue
	rows=$((rows + 1))
	for f in $(grep -o '`[^`]*`' <<<"$funcs" | tr -d '`'); do
		file=${f%%:*} name=${f#*:}
		grep -qwF -- "$name" "$file" 2>/dev/null || bad "$id" "no $name in $file"
	done
	for t in $(grep -o '`[^`]*`' <<<"$tests" | tr -d '`'); do
		file=${t%%:*} name=${t#*:}
		case $file in
		*.c) grep -Ezq "(cmocka_unit_test[a-z_]*|[A-Z]+)\(\s*$name\b" "$file" 2>/dev/null || bad "$id" "$file does not run $name" ;;
		*) grep -qwF -- "$name" "$file" 2>/dev/null || bad "$id" "no $name in $file" ;;
		esac
	done
done <CONFORMANCE.md
[ "$rows" -gt 0 ] || bad - "no rows"
# All unit cases that are written also run: a function test_* that main() forgot.
for file in tests/unit/test_*.c tests/sim/test_*.c; do
	for name in $(sed -n 's/^static void \(test_[A-Za-z0-9_]*\)(void \*\*.*/\1/p' "$file"); do
		[ "$(grep -cw "$name" "$file")" -gt 1 ] || { echo "$file: $name is never run"; fail=1; }
	done
done
exit $fail
