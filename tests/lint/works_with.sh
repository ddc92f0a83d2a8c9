#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that doc/works-with.md and the first lines of the scripts in tests/third-party agree: the rows of the table are those that the
# scripts declare, none is there twice, and each program with a row has a section on the page. Each script must also name its packages.
# When a script runs, it compares version, result and fault with the row (tests/third-party/lib.sh).
set -u
cd "$(dirname "$0")/../.." || exit 1
page=doc/works-with.md
failed=0
scripts=$(git ls-files 'tests/third-party/*.sh' | grep -v -e '/lib\.sh$' -e '/root\.sh$')

rows() { awk -F ' *[|] *' '$7 ~ /^`.*\.sh`$/ { gsub(/`/, "", $7); print $7 " | " $2 " | " $3 }' $page; }
declared() { for t in $scripts; do sed -n "1,20s/^# works-with: */${t##*/} | /p" "$t"; done; }
differ() { # TEXT FILE FILE: print the lines of the first file that the second lacks
	comm -23 "$2" "$3" | sed "s|^|$1: |" | grep . && failed=1
}
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
rows | sort >"$lists/page"
declared | sort >"$lists/scripts"
differ "$page lacks the row" "$lists/scripts" "$lists/page"
differ "no script tries the row of $page" "$lists/page" "$lists/scripts"
uniq -d "$lists/page" | sed "s|^|$page has twice: |" | grep . && failed=1

while read -r program; do
	grep -qxF "### $program" $page || { echo "$page has no section '### $program'"; failed=1; }
done < <(awk -F ' [|] ' '{ print $2 }' "$lists/page" | sort -u)
for t in $scripts; do
	sed -n 1,20p "$t" | grep -q '^# packages: .' || { echo "$t: its first lines lack '# packages:'"; failed=1; }
	sed -n 1,20p "$t" | grep -q '^# works-with: .' || { echo "$t: its first lines lack '# works-with:'"; failed=1; }
done
exit $failed
