#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# clang-tidy with the checks of .clang-tidy, every warning an error.
set -u
cd "$(dirname "$0")/../.."
git ls-files 'src/*.c' | xargs -P "$(nproc)" -n 1 sh -c \
	'out=$(clang-tidy --quiet --warnings-as-errors="*" "$@" -- -std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -msse4.1 -mpclmul -mavx512f -mavx512vl -mavx512bw -mvpclmulqdq 2>/dev/null) || { echo "$out"; exit 1; }' tidy
