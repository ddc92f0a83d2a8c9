#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# libraries.sh PROGRAM: print the packages that have the shared libraries of PROGRAM
set -eu
ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r library; do
	# dpkg knows a file by the name with which its package has it, with or without /usr.
	real=$(readlink -f "$library")
	dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}"
done | sed 's/:.*//' | sort -u
