#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# tests/deps.sh on Debian 12, on Debian 13 and on distributions that it does not know. The test checks the packages that
# deps.sh names, those that it installs, and its exit status. Programs of the test replace dpkg-query and apt-get, so that
# nothing is installed.
. "$(dirname "$0")/lib.sh"
need setpriv
chmod 755 "$work"
mkdir "$work/bin"
cp tests/deps.sh "$work/deps.sh" # a copy that any user may read

# These programs replace dpkg-query and apt-get. Packages in the file "installed" count as installed. The arguments of
# apt-get are written to the file "apt"; apt-get fails if there is a file "no-archive". Like a maintainer script,
# apt-get asks the policy ($POLICY_RC_D) whether services may start, and writes the names of those that may to the file "started".
cat >"$work/bin/dpkg-query" <<-END
	#!/bin/sh
	for p; do :; done
	grep -qx -- "\$p" "$work/installed" && printf installed
END
cat >"$work/bin/apt-get" <<-END
	#!/bin/sh
	echo "\$*" >>"$work/apt"
	[ ! -e "$work/no-archive" ] || { echo "E: Unable to fetch some archives" >&2; exit 100; }
	: >"$work/started"
	for s in frr kea-dhcp4-server.service network-manager NetworkManager.service avahi-daemon; do
		if [ ! -x "\$POLICY_RC_D" ] || "\$POLICY_RC_D" --quiet "\$s" start; then echo "\$s" >>"$work/started"; fi
	done
END
chmod 755 "$work"/bin/*
: >"$work/installed"

# os_release LINE...: write these lines to the file that describes the distribution
os_release() { printf '%s\n' "$@" >"$work/os-release"; }
# deps PURPOSE: run deps.sh as root. nobody_deps PURPOSE: run it as a user without rights
deps() { env PATH="$work/bin:$PATH" OS_RELEASE="$work/os-release" POLICY_RC_D="$work/policy-rc.d" bash "$work/deps.sh" "$@"; }
nobody_deps() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
		env PATH="$work/bin:$PATH" OS_RELEASE="$work/os-release" bash "$work/deps.sh" "$@"
}
# names TEXT CMD...: succeeds if the command prints TEXT and does not call apt-get
names() {
	local text=$1
	shift
	rm -f "$work/apt"
	"$@" >"$work/names.out" 2>&1
	cat "$work/names.out"
	[ ! -e "$work/apt" ] || { echo "apt-get was called"; return 1; }
	grep -q -- "$text" "$work/names.out" || { echo "expected: $text"; return 1; }
}

# --- distributions whose packages are known

os_release 'ID=debian' 'VERSION_ID="12"'
check "Debian 12: a user gets the line that installs what is missing, status 3" refuse 3 \
	'^Missing packages. As root:  apt-get update && apt-get install -y --no-install-recommends .*libisal-dev' nobody_deps build
check "Debian 12: the sanitizers of its clang" names ' libclang-rt-14-dev' nobody_deps check-all
os_release 'ID=debian' 'VERSION_ID="13"'
check "Debian 13: the sanitizers of its clang" names ' libclang-rt-19-dev' nobody_deps check-all
check "make check needs no sanitizers of clang" equal '' "$(nobody_deps check 2>&1 | grep -o 'libclang-rt.*')"
# packages PURPOSE: print the packages that a user is told to install, one a line
packages() { nobody_deps "$1" 2>&1 | sed -n 's/.*--no-install-recommends //p' | tr ' ' '\n'; }
check "each is named once" equal '' "$(packages check-night | sort | uniq -d)"
packages vm | grep -vx linux-image-amd64 >"$work/installed"
check "image and headers of a kernel are installed together" equal "linux-headers-amd64 linux-image-amd64" "$(packages vm | sort | xargs)"
: >"$work/installed"

installs() {
	rm -f "$work/apt"
	deps build || return
	cat "$work/apt"
	[ "$(head -1 "$work/apt")" = update ] && grep -q '^install -y --no-install-recommends .*\blibisal-dev\b' "$work/apt" &&
		not grep -qw gcc "$work/apt"
}
echo gcc >"$work/installed"
check "root: the missing packages are installed, and no others" installs
check "services for virtual machines only may not start meanwhile, and others may" equal avahi-daemon "$(cat "$work/started")"
check "the policy is gone afterwards" test ! -e "$work/policy-rc.d"
printf '#!/bin/sh\nexit 101\n' >"$work/policy-rc.d"
chmod 755 "$work/policy-rc.d"
check "root: packages are installed on a machine with a policy" installs
check "its policy is asked" equal '' "$(cat "$work/started")"
check "its policy stays" test -x "$work/policy-rc.d"
rm "$work/policy-rc.d"
: >"$work/no-archive"
check "root: packages that apt-get cannot install are named, status 3" refuse 3 'could not install: .*libisal-dev' deps build
packages build >>"$work/installed"
# quiet CMD...: succeeds if the command succeeds, prints nothing, and does not call apt-get
quiet() {
	local out
	rm -f "$work/apt"
	out=$("$@" 2>&1) && equal '' "$out" && test ! -e "$work/apt"
}
check "root: nothing is missing, nothing is done" quiet deps build
check "a user: nothing is missing, nothing is said" quiet nobody_deps build
# `make deps` must work before deps.sh has installed a compiler, although make first evaluates the whole Makefile, which runs the
# compiler.
without_compiler() { env PATH="$work/bin:$PATH" OS_RELEASE="$work/os-release" make --no-print-directory CC=no-such-cc O="$work/o" deps; }
check "make does not complain of a compiler that is not installed yet" quiet without_compiler
mkdir -p "$work/o/third-party/all/etc/rc2.d"
check "make does not read the files of a root file system in its output folder" quiet without_compiler

# --- on any other distribution deps.sh prints the distribution's name and all needed packages, installs nothing, and ends with status 3

# unknown NAME PURPOSE PACKAGE: succeeds if deps.sh prints NAME (of the distribution), the PACKAGE, and the distributions that it knows,
# and does not call apt-get
unknown() {
	refuse 3 "$1" deps "$2" && names "^  .*\b$3\b" deps "$2" && names "Debian 12 and 13" deps "$2"
}
: >"$work/installed"
os_release 'ID=fedora' 'VERSION_ID=41'
check "Fedora: its name and the packages of make demo" unknown "'fedora 41'" build libisal-dev
check "Fedora: the packages of make check" unknown "'fedora 41'" check tshark
check "Fedora: the packages of make vm" unknown "'fedora 41'" vm qemu-system-x86
os_release 'ID=ubuntu' 'ID_LIKE=debian' 'VERSION_ID="24.04"'
check "Ubuntu" unknown "'ubuntu 24.04'" build libisal-dev
os_release 'ID=debian' 'PRETTY_NAME="Debian GNU/Linux forky/sid"'
check "Debian's unstable, which has no number" unknown "'debian'" build libisal-dev
os_release 'ID=debian' 'VERSION_ID="11"'
check "an older Debian" unknown "'debian 11'" build libisal-dev
os_release 'BUILD_ID=rolling'
check "a distribution without a name" unknown "no ID in $work/os-release" build libisal-dev
rm "$work/os-release"
check "no os-release at all" unknown "no $work/os-release" build libisal-dev
check "a purpose that there is not: status 2" refuse 2 '^usage: ' deps everything
finish
