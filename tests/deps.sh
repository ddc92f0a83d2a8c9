#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# See that the Debian packages for a purpose are there:  deps.sh build|check|bench|vm
#
#	build	make		check	make check, lint, system, check-linux, soak
#	vm	make vm		bench	make bench
#
# As root, installs what is missing. Otherwise prints the one line that would, exit status 3.
set -eu

build_pkgs=(gcc libc6-dev libisal-dev libmnl-dev libpcap-dev libinih-dev libjansson-dev
	libseccomp-dev libcap-ng-dev iproute2 iputils-ping)
# xz is what Debian packs its kernels with; infiniband-diags for those who look at ib0
vm_pkgs=("${build_pkgs[@]}" make binutils qemu-system-x86 linux-image-amd64 linux-headers-amd64 kmod xz-utils
	infiniband-diags)
check_pkgs=("${vm_pkgs[@]}" libcmocka-dev clang libclang-rt-14-dev clang-format clang-tidy
	universal-ctags git python3 tshark iperf3 ndisc6 iputils-arping avahi-daemon avahi-utils dbus
	jq ethtool procps util-linux isc-dhcp-client isc-dhcp-server dnsmasq-base radvd systemd opensm infiniband-diags libumad2sim0 ibsim-utils)
bench_pkgs=("${build_pkgs[@]}" iperf3 valgrind jq python3 opensm libumad2sim0 ibsim-utils procps time)

case "${1:-}" in
build) pkgs=("${build_pkgs[@]}") ;;
check) pkgs=("${check_pkgs[@]}") ;;
vm) pkgs=("${vm_pkgs[@]}") ;;
bench) pkgs=("${bench_pkgs[@]}") ;;
*)
	echo "usage: deps.sh build|check|bench|vm" >&2
	exit 2
	;;
esac

missing=()
for p in "${pkgs[@]}"; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# A module is for one kernel: image and headers are installed together, then they are the same version.
case " ${missing[*]} " in
*" linux-image-amd64 "*" linux-headers-amd64 "*) ;;
*" linux-image-amd64 "*) missing+=(linux-headers-amd64) ;;
*" linux-headers-amd64 "*) missing+=(linux-image-amd64) ;;
esac

if [ "$(id -u)" != 0 ]; then
	echo "Missing packages. As root:  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
	exit 3
fi
export DEBIAN_FRONTEND=noninteractive
echo "installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists of a fresh image are empty, those of an old one stale.
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	tail -20 "$log" >&2
	echo "deps: could not install: ${missing[*]}" >&2
	exit 3
fi
