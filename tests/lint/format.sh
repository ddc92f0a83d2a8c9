#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that all C files have the format that clang-format gives them. Debian 12 has version 14 and Debian 13 version 19, and
# the code is written so that both agree. If both are installed, both are run.
set -u
cd "$(dirname "$0")/../.."
failed=0
for program in $(for name in clang-format clang-format-19; do realpath -q "$(command -v $name)"; done | sort -u); do
	git ls-files -z '*.c' '*.h' | xargs -0 "$program" --dry-run -Werror || { "$program" --version; failed=1; }
done
[ -n "${program:-}" ] || { echo "clang-format is not installed"; exit 1; }
exit $failed
