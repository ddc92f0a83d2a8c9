#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# headers.sh [all]: check that each header compiles alone, with gcc; with "all", also with clang
set -u
cd "$(dirname "$0")/../.."
compilers=gcc
[ "${1:-}" != all ] || compilers='gcc clang'

alone() { # COMPILER HEADER: succeeds if the header compiles alone
	printf '#include "%s"\n' "${2#*/}" |
		"$1" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function \
			-Isrc -Iinclude -fsyntax-only -x c - || { echo "$2 does not compile alone ($1)"; return 1; }
}
export -f alone
for cc in $compilers; do
	printf "$cc\\0%s\\0" src/*/*.h include/uipoib/*.h
done | xargs -0 -P "$(nproc)" -n 2 bash -c 'alone "$@"' -
