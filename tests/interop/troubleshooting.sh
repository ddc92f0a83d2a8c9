#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# The commands of doc/troubleshooting.md, typed as a reader would type them (see tutorial.py).
. "$(dirname "$0")/lib.sh"
need ping python3
unset UIPOIB_NAME
page=$PWD/doc/troubleshooting.md
tutorial=$PWD/tests/interop/tutorial.py
mkdir "$work/source"
ln -s "$PWD/examples" "$work/source/"
ln -s "$(dirname "$UIPOIB")" "$work/source/build"
cd "$work/source" || exit 1

python3 -B "$tutorial" "$page" || failed=1
finish
