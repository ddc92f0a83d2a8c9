#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that the Debian packages for a purpose are installed:  deps.sh build|check|check-all|check-night|third-party|bench|vm|deb
#
#	build	make		check		make check, lint, system, soak
#	vm	make vm		check-all	make check-all, check-linux, fuzz
#	bench	make bench	check-night	make check-night
#	deb	make deb	third-party	make check-third-party
#
# As root, the script installs the missing packages. Otherwise it prints the command that would install them, and ends with
# exit status 3. It knows the package names of Debian 12 and 13. On any other distribution it only prints these names, and
# ends with exit status 3. OS_RELEASE is the file that contains the name of the distribution (default: /etc/os-release).
set -eu
purpose=${1:-}

os_release=${OS_RELEASE:-/etc/os-release}

# distribution: print name and version of the distribution, such as "debian 12", from the file os-release
distribution() {
	ID='' VERSION_ID=''
	[ ! -r "$os_release" ] || . "$os_release"
	echo "$ID${VERSION_ID:+ $VERSION_ID}"
}

# unknown_distribution: print that the packages of this distribution are not known, or that its name is missing
unknown_distribution() {
	local name
	name=$(distribution)
	if [ ! -r "$os_release" ]; then
		echo "there is no $os_release, which would name the distribution"
	elif [ -z "$name" ]; then
		echo "there is no ID in $os_release, which would name the distribution"
	else
		echo "the packages of the distribution '$name' are not known"
	fi
}

clang_rt=
case $(distribution) in
"debian 12") clang_rt=libclang-rt-14-dev ;;
"debian 13") clang_rt=libclang-rt-19-dev ;;
esac

build_pkgs=(gcc make libc6-dev libisal-dev libmnl-dev libpcap-dev libinih-dev libjansson-dev
	libseccomp-dev libcap-ng-dev libmicrohttpd-dev libibverbs-dev iproute2 iputils-ping)
# xz, because Debian's kernels are packed with it; infiniband-diags, for the tools that examine ib0
vm_pkgs=("${build_pkgs[@]}" binutils qemu-system-x86 linux-image-amd64 linux-headers-amd64 kmod xz-utils
	infiniband-diags)
check_pkgs=("${build_pkgs[@]}" libcmocka-dev clang-format clang-tidy
	universal-ctags git python3 tshark iperf3 strace curl ndisc6 iputils-arping avahi-daemon avahi-utils dbus
	jq ethtool procps util-linux isc-dhcp-client isc-dhcp-server dnsmasq-base radvd opensm infiniband-diags libumad2sim0 ibsim-utils)
# dpkg-buildpackage requires build-essential, although this project needs no C++.
deb_pkgs=("${build_pkgs[@]}" git build-essential debhelper dh-dkms dpkg-dev)
check_all_pkgs=("${check_pkgs[@]}" "${vm_pkgs[@]}" "${deb_pkgs[@]}" lintian bash-completion prometheus podman crun clang "${clang_rt:-libclang-rt-dev}" sparse systemd smcroute keepalived network-manager nftables frr kea-dhcp4-server kea-dhcp6-server golang-go golang-github-vishvananda-netlink-dev tcpdump
	ibverbs-providers ibverbs-utils perftest rdmacm-utils python3-pyverbs chromium chromium-driver fonts-dejavu-core debootstrap)
# The cross compilers and qemu-user are for tests/night/bits.sh; linux-source and the packages that build it are for
# tests/interop/linux/debug.
night_pkgs=("${check_all_pkgs[@]}" python3-yaml linux-source flex bison bc libelf-dev libssl-dev cpio busybox-static
	gcc-i686-linux-gnu libc6-dev-i386-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user)
# npm fetches axe-core for tests/night/page.sh. A Node.js from elsewhere has its own npm, beside which Debian's cannot be installed.
command -v npm >/dev/null || night_pkgs+=(npm)
# The programs that tests/third-party tries are not installed on this machine, but in a root file system that debootstrap makes.
third_party_pkgs=("${check_pkgs[@]}" "${vm_pkgs[@]}" debootstrap)
bench_pkgs=("${build_pkgs[@]}" iperf3 valgrind jq python3 opensm libumad2sim0 ibsim-utils procps time)

case $purpose in
build) pkgs=("${build_pkgs[@]}") ;;
check) pkgs=("${check_pkgs[@]}") ;;
check-all) pkgs=("${check_all_pkgs[@]}") ;;
check-night) pkgs=("${night_pkgs[@]}") ;;
third-party) pkgs=("${third_party_pkgs[@]}") ;;
vm) pkgs=("${vm_pkgs[@]}") ;;
bench) pkgs=("${bench_pkgs[@]}") ;;
deb) pkgs=("${deb_pkgs[@]}") ;;
*)
	echo "usage: deps.sh build|check|check-all|check-night|third-party|bench|vm|deb" >&2
	exit 2
	;;
esac

if [ -z "$clang_rt" ]; then
	cat >&2 <<-END
	deps: $(unknown_distribution); Debian 12 and 13 are known.
	Needed for 'deps.sh $purpose', by the names that packages have there:
	  ${pkgs[*]}
	With these installed, 'make' builds build/uipoib, 'build/uipoib demo' shows it, and 'bash tests/check.sh check' tests it.
	END
	exit 3
fi

missing=()
for p in $(printf '%s\n' "${pkgs[@]}" | sort -u); do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# A module fits one kernel only, so image and headers are installed together to have the same version.
case " ${missing[*]} " in
*" linux-image-amd64 "* | *" linux-headers-amd64 "*)
	missing+=(linux-image-amd64 linux-headers-amd64)
	mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
	;;
esac

if [ "$(id -u)" != 0 ]; then
	echo "Missing packages. As root:  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
	exit 3
fi
# The services below are for virtual machines and hosts of a lab only. On this machine they would take over interfaces that are
# administered otherwise, or answer requests of other machines. So each unit is masked before its package is installed; maintainer
# scripts do not start a masked unit. An init other than systemd has no masks. For such an init, a file policy-rc.d forbids maintainer
# scripts to start the services. This script makes that file, and removes it at the end, unless this machine has its own policy-rc.d.
declare -A unit=([network-manager]=NetworkManager [frr]=frr [prometheus]=prometheus [kea-dhcp4-server]=kea-dhcp4-server [kea-dhcp6-server]=kea-dhcp6-server)
for p in "${missing[@]}"; do
	if [ -n "${unit[$p]:-}" ] && [ -d /run/systemd/system ]; then
		systemctl mask "${unit[$p]}.service"
		echo "$p is installed for virtual machines only; to use it here: systemctl unmask ${unit[$p]}.service"
	fi
done
log=$(mktemp)
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
if [ -e "$policy" ]; then
	trap 'rm -f "$log"' EXIT
else
	trap 'rm -f "$log" "$policy"' EXIT
	# Maintainer scripts run policy-rc.d [--quiet] NAME ACTION. NAME is the name of a unit, or of a script in /etc/init.d.
	cat >"$policy" <<-END
		#!/bin/sh
		[ "\$1" != --quiet ] || shift
		case \${1%.service} in
		$(printf '%s | ' "${!unit[@]}" "${unit[@]}" | sed 's/ | $//')) exit 101 ;;
		esac
	END
	chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
echo "installing: ${missing[*]}"
# The package lists of a fresh image are empty, and those of an old one are out of date.
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	tail -20 "$log" >&2
	echo "deps: could not install: ${missing[*]}" >&2
	exit 3
fi
