#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# root.sh [NAME...]: make the root file systems in which the scripts of this folder find their programs, as root:
# Debian 12 with the packages that the scripts name. A script names its packages, and its root, by the lines
#
#	# packages: PACKAGE...
#	# root: NAME		(`all`, if there is no such line; for packages that exclude those of other scripts)
#
# The roots are in build/third-party (KEEP=DIR: there), and are used again: packages that are missing are added. No service is
# started while packages are installed. Debian's archive is MIRROR (http://deb.debian.org/debian), its updates of
# security are SECURITY (http://deb.debian.org/debian-security).
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
cd "$(dirname "$0")/../.."
mirror=${MIRROR:-http://deb.debian.org/debian}
security=${SECURITY:-http://deb.debian.org/debian-security}
base=$(realpath -m "${KEEP:-build/third-party}")
[ "$(id -u)" = 0 ] || { echo "root.sh: it needs root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "root.sh: debootstrap is missing: bash tests/deps.sh third-party" >&2; exit 3; }
mkdir -p "$base"
exec 9>"$base/lock"
flock 9

# What every script needs in a virtual machine or in a host of the lab, whatever it tries
common="systemd systemd-sysv udev dbus python3 iproute2 iputils-ping procps kmod ethtool tcpdump"

head_of() { sed -n "1,12s/^# $2: *//p" "$1"; }
roots() { for t in tests/third-party/*.sh; do root_of "$t"; done | sort -u; }
root_of() { [ -z "$(head_of "$1" packages)" ] || { head_of "$1" root | grep . || echo all; }; }
packages() { # NAME: the packages of this root
	local t
	echo $common | tr ' ' '\n'
	for t in tests/third-party/*.sh; do
		[ "$(root_of "$t")" != "$1" ] || head_of "$t" packages | tr ' ' '\n'
	done
}

# inside COMMAND...: run it in $root, which is the root of its own mount namespace
inside() {
	unshare --mount --propagation private bash -c '
		cd "$1" && mount -t proc proc proc && mount --rbind /dev dev && mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp && shift &&
			exec chroot . env -i LC_ALL=C DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
		- "$root" "$@" </dev/null
}

bare() { # a root with debootstrap's packages only, from which every other one begins
	[ ! -f "$base/bare.tar" ] || return 0
	echo "root.sh: debootstrap"
	rm -rf --one-file-system "$base/new"
	debootstrap --variant=minbase bookworm "$base/new" "$mirror" >"$base/log" 2>&1 || { tail "$base/log" >&2; return 1; }
	printf '%s\n' "deb $mirror bookworm main" "deb $mirror bookworm-updates main" "deb $security bookworm-security main" >"$base/new/etc/apt/sources.list"
	printf '#!/bin/sh\nexit 101\n' >"$base/new/usr/sbin/policy-rc.d" # no service is started
	chmod 755 "$base/new/usr/sbin/policy-rc.d"
	tar -C "$base/new" --numeric-owner -cf "$base/bare.new" . && mv "$base/bare.new" "$base/bare.tar"
	rm -rf --one-file-system "$base/new"
}

for name in ${*:-$(roots)}; do
	root=$base/$name
	if [ ! -d "$root" ]; then
		bare
		rm -rf --one-file-system "$base/new"
		mkdir "$base/new" && tar -C "$base/new" --numeric-owner -xf "$base/bare.tar" && mv "$base/new" "$root"
	fi
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	missing=
	for p in $(packages "$name" | sort -u); do
		[ "$(inside dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=" $p"
	done
	[ -n "$missing" ] || continue
	echo "root.sh: $name:$missing"
	inside sh -c "apt-get update && apt-get install -y --no-install-recommends $missing" >"$base/log" 2>&1 || { tail "$base/log" >&2; exit 1; }
	rm -f "$root"/var/cache/apt/archives/*.deb
done
