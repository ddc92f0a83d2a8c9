#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Check that every file exists to which a page links, or which a page names in `code`. Check also that doc/overview.svg
# is up to date with its source doc/overview.dot.
set -u
cd "$(dirname "$0")/../.."
fail=0
bad() {
	echo "$1: $2"
	fail=1
}
for page in $(git ls-files '*.md'); do
	dir=$(dirname "$page")
	for link in $(grep -o '](\([^)#]*\)[)#]' "$page" | sed 's/^](//;s/[)#]$//'); do
		case $link in *://* | '') continue ;; esac
		[ -e "$dir/$link" ] || bad "$page" "links to $link, which is not there"
	done
	# A name looks like `src/eth/tx.c` or `tests/unit/x.c:test_y`; `eth/tx.c` is short for `src/eth/tx.c`. A name with
	# a word in capitals is a pattern, and is not checked.
	for file in $(grep -o '`[a-z_]*/[A-Za-z0-9_/.-]*\.\([ch]\|sh\|py\|md\)[:`]' "$page" | tr -d '`:'); do
		[[ $file =~ [A-Z]{4} ]] || [ -e "$file" ] || [ -e "src/$file" ] || [ -e "$dir/$file" ] || bad "$page" "names $file, which is not there"
	done
done
# Each version of Graphviz draws the picture with other coordinates, so only the texts are compared.
texts() { sed -n 's/.*<text [^>]*>\(.*\)<\/text>.*/\1/p' | sort; }
if command -v dot >/dev/null; then
	[ "$(dot -Tsvg doc/overview.dot | texts)" = "$(texts <doc/overview.svg)" ] ||
		bad doc/overview.svg "is not what doc/overview.dot draws: make doc/overview.svg"
fi
exit $fail
