#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# debian.sh [CODENAME...]: test a clone of the last commit on Debian 12 (bookworm) and 13 (trixie), as root. For each of
# make demo, make check, make vm and make deb there is a new system, which has only make, git and ca-certificates in
# addition to debootstrap's packages. The command is the first one that is run in its system. After make vm, `build/uipoib vm -- ip -d link show ib0` is run, too. The
# script prints one TAP line for each command.
#
# The script needs some 8 GB in /var/tmp (TMPDIR) and Debian's archive (MIRROR, by default http://deb.debian.org/debian). The
# systems are in a folder that is removed at the end, unless KEEP is set; with KEEP=DIR the systems are in DIR, and a later run
# uses them again. COMMANDS are the targets of make, by default "demo check vm deb". After make deb, packages.sh installs and
# removes the packages in the system.
set -u
cd "$(dirname "$0")/../.." || exit 1
tree=$PWD
mirror=${MIRROR:-http://deb.debian.org/debian}
commands=${COMMANDS:-demo check vm deb}
[ "$(id -u)" = 0 ] || { echo "ok - debian.sh # SKIP it needs root"; exit 0; }

base=${KEEP:-}
[ -n "$base" ] || base=$(mktemp -d "${TMPDIR:-/var/tmp}/uipoib-debian.XXXXXX")
mkdir -p "$base"
running=''
cleanup() {
	[ -z "$running" ] || { kill -KILL "$running" && wait "$running"; } 2>/dev/null
	[ -n "${KEEP:-}" ] || rm -rf --one-file-system "$base"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# bare CODENAME: make $base/CODENAME.tar, a system of that release with make and git
bare() {
	local new=$base/$1.new
	[ ! -f "$base/$1.tar" ] || return 0
	rm -rf --one-file-system "$new"
	debootstrap --variant=minbase --include=make,git,ca-certificates "$1" "$new" "$mirror" &&
		tar -C "$new" --numeric-owner -cf "$new.tar" . && mv "$new.tar" "$base/$1.tar" &&
		rm -rf --one-file-system "$new"
}

# system CODENAME COMMAND: set $root to a system of that release for that command, with a new clone of the tree
system() {
	root=$base/$1.$2
	bare "$1" || return
	if [ ! -d "$root" ]; then
		rm -rf --one-file-system "$root.new"
		mkdir "$root.new" && tar -C "$root.new" --numeric-owner -xf "$base/$1.tar" && mv "$root.new" "$root" || return
	fi
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	rm -rf "$root/root/uipoib"
	git -c safe.directory='*' clone -q --no-local "$tree" "$root/root/uipoib"
}

# inside COMMAND: run COMMAND in that system. The system's root is the root of a mount namespace, because a process in a
# chroot may not make user namespaces. The processes and mounts of COMMAND end with its namespaces. The first process of
# the PID namespace is bash. It must not be make: when make ends by a signal, it sends this signal to itself, but the
# first process ignores the signal, and make would send it again and again.
inside() {
	unshare --mount --pid --fork --kill-child --propagation private bash -c '
		cd "$1" && mount --bind . . && cd "$1" && mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev &&
			mount -t tmpfs tmpfs run && mkdir -m 1777 run/lock && mount -t tmpfs tmpfs tmp &&
			pivot_root . mnt && umount -l /mnt && cd /root/uipoib || exit 99
		exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb bash -c "$2
exit \$?"' - "$root" "$1" </dev/null &
	running=$!
	wait "$running"
	set -- $?
	running=''
	return "$1"
}

# typed COMMAND: run a command in that system as a user would type it
typed() {
	case $1 in
	vm) inside 'make vm && build/uipoib vm -- ip -d link show ib0' ;;
	deb) inside 'make deb && THROWN_AWAY=yes bash tests/night/packages.sh' ;;
	*) inside "make $1" ;;
	esac
}

failed=0
for name in ${*:-bookworm trixie}; do
	for c in $commands; do
		log=$base/$name.$c.log
		start=$SECONDS
		if ! system "$name" "$c" >"$log" 2>&1; then
			echo "not ok - $name: a new system for make $c"
			tail -5 "$log" | sed 's/^/# /'
			failed=1
			continue
		fi
		made=$SECONDS
		if typed "$c" >"$log" 2>&1; then
			echo "ok - $name: make $c"
		else
			echo "not ok - $name: make $c"
			grep -E '(^|: )not ok |^failed: ' "$log" | sed 's/^/# /'
			tail -15 "$log" | sed 's/^/# /'
			failed=1
		fi
		echo "# $((SECONDS - made)) s, and $((made - start)) s for the system; $(grep -E '^all checks passed|^[0-9]+ passed' "$log" | tail -1)"
		[ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"
	done
done
exit $failed
