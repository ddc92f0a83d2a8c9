#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# See that the Debian packages for a purpose are there:  deps.sh build|check
#
# As root, installs what is missing. Otherwise prints the one line that would, exit status 3.
set -eu

build_pkgs=(gcc libc6-dev libisal-dev libmnl-dev libpcap-dev libinih-dev libjansson-dev
	libseccomp-dev libcap-ng-dev iproute2 iputils-ping)
check_pkgs=("${build_pkgs[@]}" libcmocka-dev clang libclang-rt-14-dev clang-format clang-tidy
	universal-ctags git python3 tshark iperf3 ndisc6 iputils-arping avahi-daemon avahi-utils dbus
	jq ethtool procps util-linux)
bench_pkgs=("${build_pkgs[@]}" iperf3 valgrind jq python3)

case "${1:-}" in
build) pkgs=("${build_pkgs[@]}") ;;
check) pkgs=("${check_pkgs[@]}") ;;
bench) pkgs=("${bench_pkgs[@]}") ;;
*)
	echo "usage: deps.sh build|check|bench" >&2
	exit 2
	;;
esac

missing=()
for p in "${pkgs[@]}"; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

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
