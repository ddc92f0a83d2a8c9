#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# root.sh [NAME...]: make the root file systems (roots) in which the scripts of this folder find their programs: Debian 12 with the
# packages that the scripts name. Only the user root can run root.sh. A script names its packages, and its root file system, by the lines
#
#	# packages: PACKAGE...
#	# root: NAME		(for packages that conflict with those of other scripts; without this line, NAME is `all`)
#	# release: CODENAME	(`bookworm`, if there is no such line)
#
# Scripts of tests/interop/linux may have such lines, too. The roots of these scripts are made only if NAME names them.
#
# The roots are in build/third-party, or with KEEP=DIR in DIR. A later run uses the roots again, and adds packages that are missing.
# No service is started while packages are installed.
#
# The variable MIRROR is the address of Debian's archive, and SECURITY is the address of its security updates. By default these are the
# addresses from which apt of this machine gets its packages. If apt of this machine has no such address, they are
# http://deb.debian.org/debian and http://deb.debian.org/debian-security.
#
# The exit status is 3 if this user or this machine cannot make such roots, and 4 if the archive does not answer.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
cd "$(dirname "$0")/../.."

# archive LABEL OTHERWISE: print the address of Debian's archive with this label from the sources of this machine's apt, or OTHERWISE if they have none
archive() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' "Label: $1" 2>/dev/null | { grep -m 1 ^http || echo "$2"; }; }
mirror=${MIRROR:-$(archive Debian http://deb.debian.org/debian)}
security=${SECURITY:-$(archive Debian-Security http://deb.debian.org/debian-security)}
base=$(realpath -m "${KEEP:-build/third-party}")
[ "$(id -u)" = 0 ] || { echo "root.sh: it needs root" >&2; exit 3; }
command -v debootstrap >/dev/null || { echo "root.sh: debootstrap is missing: bash tests/deps.sh third-party" >&2; exit 3; }
mkdir -p "$base"
exec 9>"$base/lock"
flock 9

# The packages that every script of this folder needs in a virtual machine or in a host of the lab
common="systemd systemd-sysv udev dbus python3 iproute2 iputils-ping procps kmod ethtool tcpdump"

scripts=(tests/third-party/*.sh tests/interop/linux/*.sh)
head_of() { sed -n "1,12s/^# $2: *//p" "$1"; }
roots() { for t in tests/third-party/*.sh; do root_of "$t"; done | sort -u; }
root_of() { [ -z "$(head_of "$1" packages)" ] || { head_of "$1" root | grep . || echo all; }; }
packages() { # NAME: print the packages of this root
	local t
	for t in $(users "$1"); do
		[[ $t != tests/third-party/* ]] || echo $common
		head_of "$t" packages
	done | tr ' ' '\n'
}
users() { # NAME: print the scripts that use this root
	local t
	for t in "${scripts[@]}"; do
		[ "$(root_of "$t")" != "$1" ] || echo "$t"
	done
}
release() { { for t in $(users "$1"); do head_of "$t" release; done; echo bookworm; } | head -n 1; } # NAME: print the release of Debian for this root

# inside COMMAND...: run the command in a mount namespace of its own, whose root is $root
inside() {
	unshare --mount --propagation private bash -c '
		cd "$1" && mount -t proc proc proc && mount --rbind /dev dev && mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp && shift &&
			exec chroot . env -i LC_ALL=C DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
		- "$root" "${proxies[@]}" "$@" </dev/null
}
# debootstrap, and apt in the roots, reach the archive through the proxy that the environment names.
proxies=()
for v in http_proxy https_proxy no_proxy; do
	[ -z "${!v:-}" ] || proxies+=("$v=${!v}")
done

bare() { # RELEASE: make a root with debootstrap's packages only, of which every other root begins as a copy
	local new=$base/new certificates
	[ ! -f "$base/$1.tar" ] || return 0
	echo "root.sh: debootstrap $1"
	rm -rf --one-file-system "$new"
	wget -q --spider "${mirror%/}/dists/$1/Release" || { echo "root.sh: $mirror does not answer, or has no $1" >&2; return 4; }
	# debootstrap runs in a mount namespace of its own, so that it leaves no mount in $new when it is killed; $new could not be
	# removed otherwise. An archive behind https needs certificates in the root.
	[[ $mirror$security != *https://* ]] || certificates=--include=ca-certificates
	unshare --mount --propagation private \
		debootstrap --variant=minbase ${certificates:-} "$1" "$new" "$mirror" >"$base/log" 2>&1 || { tail "$base/log" >&2; return 1; }
	printf '%s\n' "deb $mirror $1 main" "deb $mirror $1-updates main" "deb $security $1-security main" >"$new/etc/apt/sources.list"
	printf '#!/bin/sh\nexit 101\n' >"$new/usr/sbin/policy-rc.d" # no service is started
	chmod 755 "$new/usr/sbin/policy-rc.d"
	echo force-unsafe-io >"$new/etc/dpkg/dpkg.cfg.d/unsafe-io" # a root that is lost with the machine's power is made again
	tar -C "$new" --numeric-owner -cf "$base/$1.new" . && mv "$base/$1.new" "$base/$1.tar"
	rm -rf --one-file-system "$new"
}

for name in ${*:-$(roots)}; do
	root=$base/$name
	if [ ! -d "$root" ]; then
		bare "$(release "$name")"
		rm -rf --one-file-system "$base/new"
		mkdir "$base/new" && tar -C "$base/new" --numeric-owner -xf "$base/$(release "$name").tar" && mv "$base/new" "$root"
	fi
	cp -L --remove-destination /etc/resolv.conf "$root/etc/resolv.conf" # a package may have made it a link that leads to nothing
	missing=
	for p in $(packages "$name" | sort -u); do
		[ "$(inside dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=" $p"
	done
	[ -n "$missing" ] || continue
	echo "root.sh: $name:$missing"
	# An installation that was interrupted before is completed first, because apt refuses everything else.
	inside sh -c "dpkg --configure -a && apt-get update && apt-get install -y --no-install-recommends $missing" >"$base/log" 2>&1 || { tail "$base/log" >&2; exit 1; }
	rm -f "$root"/var/cache/apt/archives/*.deb
done
