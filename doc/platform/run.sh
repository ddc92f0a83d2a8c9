#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Build and run each program of this folder; needs root. The exit status is 1 if a fact does not hold on this kernel.
cd "$(dirname "$0")" || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail=0
for c in *.c; do
	p=${c%.c}
	echo "# $p"
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$dir/$p" "$c" && "$dir/$p" || fail=1
done
exit $fail
