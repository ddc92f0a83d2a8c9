#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kernels.sh DIR NAME...: install a kernel for each metapackage linux-image-NAME of apt. The kernel and its modules go
# into the tree DIR. Drivers of hardware that no virtual machine of `uipoib vm` has are left out. The headers of the
# kernel, which `make kmod` needs, are installed in the running system. The NAME "all" stands for all kernels that apt
# offers, except kernels for clouds, because these have neither ib_ipoib nor 9p. Run the script as root in a system that
# is not needed afterwards, such as the build stage of Containerfile.
set -eu
tree=$1
shift
[ $# -gt 0 ] || { echo "kernels.sh: no kernel is named" >&2; exit 2; }
unneeded="drivers/gpu drivers/media drivers/net/wireless drivers/staging drivers/iio drivers/infiniband/hw drivers/net/ethernet sound"

apt-get install -y --no-install-recommends kmod binutils xz-utils
offered() { apt-cache search --names-only '^linux-image-([0-9.]+-)?(rt-)?amd64$' | cut -d' ' -f1 | sed 's/^linux-image-//' | sort; }
# shellcheck disable=SC2046
[ "$*" != all ] || set -- $(offered)
for name; do
	release=$(apt-cache depends "linux-image-$name" | sed -n 's/^ *Depends: linux-image-//p' | head -n 1)
	[ -n "$release" ] || { echo "kernels.sh: apt has no linux-image-$name" >&2; exit 2; }
	apt-get install -y --no-install-recommends "linux-headers-$release"
	got=$(mktemp -d)
	(cd "$got" && apt-get download "linux-image-$release" && dpkg-deb -x ./*.deb tree)
	modules=$got/tree/lib/modules/$release # since Debian 13 they are below /usr
	[ -d "$modules" ] || modules=$got/tree/usr/lib/modules/$release
	find "$modules" -name 'ib_ipoib.ko*' | grep -q . || { echo "kernels.sh: linux-image-$name has no ib_ipoib" >&2; exit 2; }
	for d in $unneeded; do
		rm -rf "$modules/kernel/$d"
	done
	mkdir -p "$tree/boot" "$tree/usr/lib/modules"
	mv "$got/tree/boot/vmlinuz-$release" "$tree/boot/"
	mv "$modules" "$tree/usr/lib/modules/"
	depmod -b "$tree/usr" "$release"
	rm -rf "$got"
done
