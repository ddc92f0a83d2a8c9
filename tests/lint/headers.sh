#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# headers.sh [all]: check that each header compiles alone, with gcc; with "all", also with clang
set -u
cd "$(dirname "$0")/../.."
fail=0
compilers=gcc
[ "${1:-}" != all ] || compilers='gcc clang'
for h in src/*/*.h include/uipoib/*.h; do
	[ -f "$h" ] || continue
	for cc in $compilers; do
		printf '#include "%s"\n' "${h#*/}" |
			$cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function \
				-Isrc -Iinclude -fsyntax-only -x c - || { echo "$h does not compile alone ($cc)"; fail=1; }
	done
done
exit $fail
