# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions for the scripts of this folder, in addition to those of tests/interop/linux/lib.sh. Each script tries a program on the
# kernel's own ib0 in a virtual machine, with TAP hosts of the lab as the other end. The script checks that its results are equal to
# those in doc/works-with.md.
# The first lines of each script are read by root.sh, by tests/lint/works_with.sh and by this file:
#
#	# works-with: PROGRAM | WHAT	what is tried, whether it works or not: a row of the page; repeatable
#	# packages: PACKAGE...		packages of Debian; the first one has the program's version, unless the script sets $version
#	# root: NAME			the script's root file system (root.sh), if its packages conflict with those of other scripts
#	# check.sh: all			`make check-all` runs the script, too
#
#	. "$(dirname "$0")/lib.sh"
#	linux_lab 2			hosts h1 10.4.0.1 fd04::1, h2 10.4.0.2 fd04::2
#	guest_start a --address 10.4.9.1/16
#	vm_wait a
#	start_at a "$work/daemon.log" daemon -f "$work/daemon.conf"
#	check "it answers" at h1 client 10.4.9.1
#	tried "WHAT" works			all checks since the last `tried` were passed
#	tried "WHAT" "works with X" PROGRAM	the row's result, and the PROGRAM whose fault makes X necessary
#	still "it aborts" grep -q ...	a fault of the program; `tried "WHAT" fails PROGRAM` follows
#	vm_stop a
#	finish
#
# If all packages are installed on this machine, and THIRD_PARTY is not "root", the script uses the root file system of this machine.
# Otherwise it uses the one that root.sh has made. The virtual machine sees this root file system, and so do the programs that at() runs
# in a host. Both have a file system in memory over it, so that it does not change. Both also have $work at its usual path, and an empty
# /run.
script=$(basename "$0")
script_file=$(realpath "$0")
. "$(dirname "${BASH_SOURCE[0]}")/../interop/linux/lib.sh"
page=doc/works-with.md
root='' # the root file system; empty: this machine's
version=''
rows_failed=0

head_of() { sed -n "1,20s/^# $1: *//p" "$script_file"; }
admin_dir() { echo "$root/var/lib/dpkg"; }
installed() { # PACKAGE...: succeeds if all are installed in $root
	local p
	for p; do
		[ "$(dpkg-query --admindir="$(admin_dir)" -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || return 1
	done
}

# find_root: set $root to the root file system that has the packages of the script; end the script if there is none
find_root() {
	local packages name
	packages=$(head_of packages)
	name=$(head_of root)
	[ "${THIRD_PARTY:-}" = root ] || ! installed $packages || return 0
	root=$(realpath -m "${KEEP:-build/third-party}/${name:-all}")
	[ -d "$root" ] && installed $packages && return
	skip "$script" "not all of these packages are installed: $packages; 'bash tests/third-party/root.sh' makes a root file system with them"
	exit 0
}

# upstream PACKAGE: print the version of the package without Debian's epoch, revision and suffixes such as +dfsg
upstream() {
	dpkg-query --admindir="$(admin_dir)" -W -f '${Version}' "$1" | sed -E 's/^[0-9]+://; s/-[^-]*$//; s/[+~](dfsg|ds|git|really).*//'
}

# is_known: succeeds if the programs come from Debian 12, whose versions the page has
is_known() { (. "$root/etc/os-release" && [ "$ID $VERSION_ID" = "debian 12" ]); }

# host_root: make the folder $host_root for programs in a host of the lab. It shows $root, but what they write stays in memory
host_root() {
	local dir=/run/third-party
	host_root=$dir/root
	mkdir $dir && mount -t tmpfs tmpfs $dir && mkdir $dir/files $dir/work $host_root &&
		mount -t overlay overlay -o "lowerdir=${root:-/},upperdir=$dir/files,workdir=$dir/work" $host_root &&
		mount --rbind /dev $host_root/dev && mount -t proc proc $host_root/proc && mount -t sysfs sys $host_root/sys &&
		mount -t tmpfs -o mode=755 tmpfs $host_root/run && mkdir -p -m 1777 $host_root/run/lock &&
		mkdir -p "$host_root$work" "$host_root$PWD" && mount --bind "$work" "$host_root$work" && mount --bind "$PWD" "$host_root$PWD" ||
		exit 1
	host_prefix=(chroot "$host_root")
}

# guest_start NAME [OPTION...]: as vm_start, with the root file system that find_root has found
guest_start() {
	local name=$1
	shift
	[ -z "$root" ] || set -- --root "$root" --share "$PWD" "$@"
	vm_start "$name" --share "$work" "$@"
}

# partition_lab HOSTS: as linux_lab, but h1 is also in partition 0x8001, by its interface uib1 with 10.5.0.1
partition_lab() {
	printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
	linux_topo "$1" >"$work/lab.topo"
	{
		conf_hosts "$1" "partitions = partitions.conf"
		conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16"
	} >"$work/lab.conf"
	lab_up
}

# still WHAT CMD...: check that a program still fails in the way that the page describes
still() {
	check "$@" || echo "#   If the program no longer fails so, $page and $script must be changed."
}

# tried WHAT RESULT [FAULT]: print the row of the page, and compare it with the page. RESULT holds if all checks since the last call
# were passed.
tried() {
	local what=$1 result=$2 fault=${3:-} program
	[ $failed = 0 ] || result="other than said: checks failed"
	rows_failed=$((rows_failed | failed)) failed=0
	program=$(head_of works-with | awk -F ' [|] ' -v what="$what" '$2 == what { print $1 }')
	[ -n "$program" ] || { echo "not ok - $script says at its beginning that it tries: $what"; rows_failed=1; }
	: "${version:=$(upstream "$(head_of packages | awk '{ print $1; exit }')")}"
	rows_tried+=("$what")
	echo "# row: $script | $program | $what | $version | $result | $fault"
	check "$page says of $program, $what: $result" page_says "$program" "$what" "$version" "$result" "$fault"
	rows_failed=$((rows_failed | failed)) failed=0
}
rows_tried=()

# page_says PROGRAM WHAT VERSION RESULT FAULT: succeeds if the page has this row. The version is compared only if is_known succeeds.
page_says() {
	local row
	row=$(awk -F ' *[|] *' -v program="$1" -v what="$2" -v script="\`$script\`" \
		'$2 == program && $3 == what && $7 == script { print $4 " | " $5 " | " $6 }' "$page")
	[ -n "$row" ] || { echo "$page has no row: | $1 | $2 | $3 | $4 | $5 | \`$script\` |"; return 1; }
	if is_known; then equal "$3 | $4 | $5" "$row"; else equal "$4 | $5" "${row#* | }"; fi
}

# finish: as in tests/system/lib.sh, after a check that the script has tried every row that its first lines declare
eval "finish_lab() $(declare -f finish | sed 1d)"
finish() {
	check "every row of the script was tried" equal "$(head_of works-with | sed 's/^.* | //' | sort)" "$(printf '%s\n' "${rows_tried[@]}" | sort)"
	failed=$((failed | rows_failed))
	finish_lab
}

find_root
host_root
