#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Check that the Debian packages and the kernel modules' DKMS package have the version of the program (UIPOIB_VERSION in
# src/cli/cli.h), and that CHANGELOG.md has an entry for this version.
set -u
cd "$(dirname "$0")/../.." || exit 1
version=$(sed -n 's/^#define UIPOIB_VERSION "\(.*\)"$/\1/p' src/cli/cli.h)
failed=0

# same WHERE VALUE: check that the version at the place WHERE is that of the program
same() {
	[ "$2" = "$version" ] && return
	echo "$1 has '$2', src/cli/cli.h has '$version'"
	failed=1
}
same debian/changelog "$(sed -n '1s/^uipoib (\([^)]*\)).*/\1/p' debian/changelog)"
same kmod/dkms.conf "$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' kmod/dkms.conf)"
same CHANGELOG.md "$(grep -o "^## $version\b" CHANGELOG.md | cut -c4-)"
exit $failed
