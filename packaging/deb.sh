#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# deb.sh TARBALL FOLDER: make the Debian packages from the archive of `make dist`, and put them into FOLDER
set -eu
tarball=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$tarball"
# The files of the archive have the time of the commit. The packages get this time, too, so that the same commit
# always gives the same packages.
SOURCE_DATE_EPOCH=$(stat -c %Y "$work"/*/Makefile)
export SOURCE_DATE_EPOCH
unset MAKEFLAGS MFLAGS # the flags of `make -s deb` are not for the make of debian/rules
(cd "$work"/*/ && dpkg-buildpackage -b -us -uc) >"$out/build.log" 2>&1 || {
	tail -30 "$out/build.log" >&2
	echo "deb: dpkg-buildpackage failed; its output is in $out/build.log" >&2
	exit 1
}
rm -f "$out"/*.deb "$out"/*.buildinfo "$out"/*.changes
mv "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$out"
ls "$out"/*.deb
