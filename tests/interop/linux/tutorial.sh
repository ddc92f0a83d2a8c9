#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Types the commands of lesson 8 of doc/tutorial as a reader would (see tests/interop/tutorial.py). The lesson uses a
# kernel's ib0, and also runs the example in examples/vm.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 smpquery python3
unset UIPOIB_NAME
lesson=$PWD/doc/tutorial/8-kernel.md
tutorial=$PWD/tests/interop/tutorial.py
mkdir "$work/source"
ln -s "$PWD/examples" "$work/source/"
ln -s "$(dirname "$UIPOIB")" "$work/source/build"
cd "$work/source" || exit 1

PATIENCE=120 timeout 900 python3 -B "$tutorial" "$lesson" || failed=1
finish
