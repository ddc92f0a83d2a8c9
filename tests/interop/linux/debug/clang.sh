#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel modules compile with clang without a warning (W=1). The modules are compiled against Debian's kernel
# sources, which this script configures for clang with kernel.config. Debian's kernel headers are configured for gcc,
# and clang refuses some of gcc's options. The modules are not linked with a kernel; tests/kernels.sh does this. `make
# check-night` runs this script.
#
#	clang.sh [FOLDER]		FOLDER has the sources (default: build/kernel-debug)
set -u
cd "$(dirname "$0")/../../../.." || exit 1
what="clang.sh: modules by clang without a warning (W=1)"
source=$(ls /usr/src/linux-source-*.tar.xz 2>/dev/null | sort -V | tail -1)
[ -n "$source" ] || { echo "ok - $what # SKIP there is no /usr/src/linux-source-*.tar.xz (package linux-source)"; exit 0; }
command -v clang >/dev/null || { echo "ok - $what # SKIP clang is not installed"; exit 0; }
folder=$(realpath -m "${1:-build/kernel-debug}")
tree=$folder/$(basename "$source" .tar.xz) obj=$folder/obj-clang out=$folder/uib-clang

prepare() {
	mkdir -p "$obj" || return
	[ -d "$tree" ] || tar -C "$folder" -xf "$source" || return
	make -s -C "$tree" "O=$obj" CC=clang "KCONFIG_ALLCONFIG=$PWD/tests/interop/linux/debug/kernel.config" allnoconfig &&
		make -s -C "$tree" "O=$obj" CC=clang -j"${JOBS:-$(nproc)}" modules_prepare
}

# The modules are compiled without a kernel to link with, so modpost may report missing symbols, but no
# other faults.
modules() {
	rm -rf "$out"
	make -s -C kmod "KDIR=$obj" "BUILD=$out" CC=clang W=1 KBUILD_MODPOST_WARN=1 || return
	[ -e "$out/uib.ko" ] && [ -e "$out/ibtap.ko" ] && readelf -p .comment "$out/uib.o" | grep -q clang
}
complaints() { grep -Ei 'warning|error' "$folder/clang.log" | grep -Ev 'modpost: |Module\.symvers|unresolved symbol warnings'; }
unset MAKEFLAGS MFLAGS
mkdir -p "$folder"
if ! prepare >"$folder/clang.log" 2>&1; then
	echo "not ok - clang.sh: the kernel's sources are prepared for clang"
elif modules >"$folder/clang.log" 2>&1 && ! complaints; then
	echo "ok - $what"
	exit 0
else
	echo "not ok - $what"
fi
tail -n 30 "$folder/clang.log" | sed 's/^/# /'
exit 1
