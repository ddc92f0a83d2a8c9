#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -u
cd "$(dirname "$0")/../.."
clang-format --dry-run -Werror $(git ls-files '*.c' '*.h')
