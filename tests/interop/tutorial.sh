#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# The commands of the lessons of doc/tutorial, typed as a reader would type them (see tutorial.py).
. "$(dirname "$0")/lib.sh"
need smpquery saquery ibnetdiscover python3
unset UIPOIB_NAME
lessons=$PWD/doc/tutorial
tutorial=$PWD/tests/interop/tutorial.py
mkdir "$work/source"
ln -s "$PWD/examples" "$PWD/doc" "$work/source/"
ln -s "$(dirname "$UIPOIB")" "$work/source/build"
cd "$work/source" || exit 1

python3 -B "$tutorial" --self-test || failed=1
for lesson in "$lessons"/[1-7]-*.md; do
	python3 -B "$tutorial" "$lesson" || failed=1
done
finish
