#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kernels.sh [SERIES...]: check that the kernel modules compile and link without a warning, for Debian's kernels of each
# SERIES (by default 6.1 and 6.12). The check uses W=1, and sparse if it is installed. Headers that are not installed
# are fetched with `apt-get download` into build/kernels. They are not installed, because `make kmod` would then build
# uib.ko for their kernel, too, and `uipoib vm` boots the newest kernel that has a uib.ko. The script prints one TAP
# line for each series.
#
# KERNELS is the folder in place of build/kernels. JOBS is the number of jobs of make, by default one for each processor.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=$(realpath -m "${KERNELS:-build/kernels}")
failed=0
sparse=0
command -v sparse >/dev/null && sparse=2

# newest SERIES: print the newest release of this series that has headers, on this machine or in Debian's archive
newest() {
	local series=${1//./\\.}
	{
		ls /usr/src
		apt-cache pkgnames "linux-headers-$1."
	} 2>/dev/null | sed -n "s/^linux-headers-\($series[.-][0-9.-]*\(+deb[0-9]*\)\?-amd64\)\$/\1/p" | sort -Vu | tail -n 1
}

# fetch RELEASE: get the headers of this release into $folder/RELEASE, and also the files that build modules with these
# headers. The makefile of the headers contains paths in /usr/src, which are changed to paths in $folder/RELEASE.
fetch() {
	local dir=$folder/$1 new=$folder/$1.new deb
	[ ! -d "$dir" ] || return 0
	rm -rf "$new"
	mkdir -p "$new/debs"
	download "$1" "$new/debs" || { apt-get update && download "$1" "$new/debs"; } || return
	for deb in "$new"/debs/*.deb; do
		dpkg-deb -x "$deb" "$new" || return
	done
	rm -r "$new/debs"
	sed -i "s|/usr/src/|$dir/usr/src/|" "$new/usr/src/linux-headers-$1/Makefile" && mv "$new" "$dir"
}
download() { # RELEASE FOLDER: fetch the packages of the headers into FOLDER
	local kbuild
	kbuild=$(apt-cache depends "linux-headers-$1" | sed -n 's/^ *Depends: \(linux-kbuild-.*\)/\1/p')
	(cd "$2" && apt-get download -q "linux-headers-$1" "linux-headers-${1%-amd64}-common" "$kbuild")
}

# modules RELEASE: compile and link the modules; a warning is an error
modules() {
	local kdir=/usr/src/linux-headers-$1 out=$folder/modules-$1
	if [ ! -e "$kdir/Makefile" ]; then
		fetch "$1" || return
		kdir=$folder/$1$kdir
	fi
	rm -rf "$out"
	env -u MAKEFLAGS -u MFLAGS make -s -j"${JOBS:-$(nproc)}" -C kmod "KDIR=$kdir" "BUILD=$out" W=1 C=$sparse >"$folder/log" 2>&1 || return
	ls -l "$out"/{uib,uib_test,ibtap}.ko >>"$folder/log" || return
	! grep -i 'warning' "$folder/log"
}

mkdir -p "$folder"
for series in ${*:-6.1 6.12}; do
	release=$(newest "$series")
	if [ -z "$release" ]; then
		echo "ok - kernels.sh: modules for $series # SKIP neither here nor in the lists of apt are headers"
	elif modules "$release" >"$folder/out" 2>&1; then
		echo "ok - kernels.sh: modules for $release without a warning (W=1$([ $sparse = 0 ] || echo ', sparse'))"
	else
		failed=1
		echo "not ok - kernels.sh: modules for $release"
		tail -n 20 "$folder/out" "$folder/log" | sed 's/^/# /'
	fi
done
exit $failed
