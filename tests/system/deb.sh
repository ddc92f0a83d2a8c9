#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all builds
#
# `make deb` makes an archive of the last commit (`make dist`), and makes the packages from this archive. lintian finds no faults in the
# packages. The links between the installed pages lead to files. tests/night/packages.sh installs, upgrades and removes the packages.
. "$(dirname "$0")/lib.sh"
need git make dpkg-buildpackage lintian
git rev-parse --git-dir >/dev/null 2>&1 || { skip deb.sh "this folder is not a git repository"; exit 0; }
debs=$work/out/deb
packages() { (cd "$debs" && for p in *.deb; do echo "${p%%_*}"; done); }

check "a clone of the last commit" git -c safe.directory='*' clone -q . "$work/tree"
# This script does not run the programs, so they are compiled with little optimization and little debugging information. This takes
# three quarters of the time that the usual options take. -D_FORTIFY_SOURCE needs at least -O1.
export DEB_CFLAGS_APPEND='-O1 -g1'
check "make deb" make -s -C "$work/tree" O="$work/out" deb
check "they are built by debian/rules, whatever O= the caller gives" test ! -e "$work/out/obj"
check "and the log of the build has all commands" grep -q '^gcc .*-ffile-prefix-map=' "$debs/build.log"
check "every package of debian/control is there" equal "$(sed -n 's/^Package: //p' debian/control | sort)" "$(packages | grep -v -e '-dbgsym$' | sort)"
check "lintian finds nothing" equal "" "$(lintian --allow-root --display-info --tag-display-limit 0 "$debs"/*.changes 2>&1)"

# links_lead FOLDER: succeeds if each page, picture or example to which the pages in FOLDER link exists. Links to manual pages,
# sources and tests are not checked, because the packages have these files in other folders or not at all.
links_lead() {
	local page link bad=0 seen=0
	while read -r page; do
		for link in $(grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//'); do
			case $link in *://* | *man/* | *src/* | *kmod/* | *tests/* | *packaging/* | *bench/* | action.yml) continue ;; esac
			[ -e "$(dirname "$page")/$link" ] || { echo "$page: $link"; bad=1; }
			seen=$((seen + 1))
		done
	done < <(find "$1" -name '*.md')
	[ $seen -ge 50 ] || { echo "$seen links in all"; return 1; }
	return $bad
}
check "the pages are unpacked" dpkg-deb -x "$debs"/uipoib-doc_*.deb "$work/doc"
check "the lessons have their names" test -f "$work/doc/usr/share/doc/uipoib/doc/tutorial/1-bring-up.md"
check "the links of the installed pages lead to files" links_lead "$work/doc/usr/share/doc"
finish
