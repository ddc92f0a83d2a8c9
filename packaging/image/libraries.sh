#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# libraries.sh PROGRAM: print the packages that have the shared libraries of PROGRAM
set -eu
ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r library; do
	# dpkg finds a file only by the path that its package gives it, which may lack /usr.
	real=$(readlink -f "$library")
	dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}"
done | sed 's/:.*//' | sort -u
