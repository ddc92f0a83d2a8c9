#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# packages.sh: install, use, upgrade, remove and purge the packages of `make deb` (build/deb). DKMS builds the kernel modules
# for two kernels, and again after an upgrade. A virtual machine that has uipoib only from these packages runs a lab as a
# service, before and after a restart of the virtual machine. The script runs as root in a Debian system that
# tests/night/debian.sh makes and removes afterwards:
#
#	COMMANDS=deb bash tests/night/debian.sh bookworm
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
cd "$(dirname "$0")/../.." || exit 1
debs=$PWD/build/deb
version=$(sed -n 's/^#define UIPOIB_VERSION "\(.*\)"$/\1/p' src/cli/cli.h)
log=$(mktemp)
failed=0
[ -n "${THROWN_AWAY:-}" ] || { echo "packages.sh: this would change the system; tests/night/debian.sh runs it in one of its own" >&2; exit 2; }

check() {
	local what=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		tail -20 "$log" | sed 's/^/#   /'
		failed=1
	fi
}
equal() { [ "$1" = "$2" ] || { printf 'expected: %s\ngot: %s\n' "$1" "$2"; return 1; }; }
install_() { apt-get install -y --no-install-recommends "$@"; }
# Print the files of the system, except those that packages may leave: logs and lists of dpkg and apt, and files that
# other programs generate again
files() { find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /root -o -path /var/log -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache \) -prune -o -print | sort; }
newer() { # FILE: make the package again with a higher version
	local dir
	dir=$(mktemp -d)
	dpkg-deb -R "$1" "$dir/p" && sed -i "s/^Version: .*/Version: $version+1/; s/(= $version)/(= $version+1)/" "$dir/p/DEBIAN/control" &&
		dpkg-deb -b "$dir/p" "$dir" >/dev/null && ls "$dir"/*.deb
}
newer_modules() { # FILE: make the package of the modules again, with the version $next for the package and the modules
	local dir
	dir=$(mktemp -d)
	dpkg-deb -R "$1" "$dir/p" && mv "$dir/p/usr/src/uipoib-$version" "$dir/p/usr/src/uipoib-$next" &&
		sed -i "s/${version//./\\.}/$next/g" "$dir"/p/DEBIAN/* "$dir/p/usr/src/uipoib-$next/dkms.conf" &&
		dpkg-deb -b "$dir/p" "$dir" >/dev/null && ls "$dir"/*.deb
}

check "apt-get update" apt-get update
# The packages on which uipoib's packages depend are installed first, so that the lists of files differ only by uipoib's packages.
check "their dependencies" install_ bash-completion man-db procps iputils-ping $(dpkg-deb -f "$debs/uipoib_${version}_amd64.deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g')
files >/tmp/before

# --- program and library
check "installed" install_ "$debs/uipoib_${version}_amd64.deb" "$debs/libuipoib-path0_${version}_amd64.deb" "$debs/uipoib-doc_${version}_all.deb"
check "the program has the packages' version" equal "uipoib $version" "$(uipoib -V)"
check "uipoib demo" uipoib demo
check "manual pages" man -w 8 uipoib 5 uipoib.conf 7 libuipoib-umad
completed() { bash -c '. /usr/share/bash-completion/completions/uipoib; COMP_LINE="uipoib fab" COMP_POINT=10; _uipoib; echo "${COMPREPLY[*]}"'; }
check "completion" equal fabric "$(completed)"
check "the unit is not enabled" test -z "$(find /etc/systemd -name 'uipoib@*' 2>/dev/null)" -a -f /lib/systemd/system/uipoib@.service
printf '[fabric lab]\ntopology = /usr/share/doc/uipoib/examples/lab.topo\n[interface uib0@h1]\nport = fabric:lab/Hca1/1\naddress = 10.4.0.1/24\n' >/etc/uipoib/lab.conf
check "a configuration in /etc/uipoib" uipoib run -c /etc/uipoib/lab.conf -- uipoib exec h1 ping -c 1 10.4.0.1
check "upgraded" install_ "$(newer "$debs/uipoib_${version}_amd64.deb")"
check "the configuration stays" test -f /etc/uipoib/lab.conf
check "uipoib demo after the upgrade" uipoib demo
check "removed" apt-get remove -y uipoib libuipoib-path0 uipoib-doc
check "the program is gone, the configuration stays" test ! -e /usr/bin/uipoib -a -f /etc/uipoib/lab.conf
# apt no longer knows the packages, because they were installed from files.
check "purged" dpkg --purge uipoib libuipoib-path0 uipoib-doc
rm -f /etc/uipoib/lab.conf
rmdir /etc/uipoib 2>/dev/null
check "nothing of them stays" equal "" "$(files | diff /tmp/before - | grep '^[<>]')"

# --- modules
check "headers of two kernels, and DKMS" install_ dkms linux-headers-amd64 linux-headers-rt-amd64
check "uipoib-dkms is installed" install_ "$debs/uipoib-dkms_${version}_all.deb"
kernels=$(ls /lib/modules)
check "there are two kernels" equal 2 "$(echo "$kernels" | wc -l)"
for k in $kernels; do
	check "the modules for $k" dkms install "uipoib/$version" -k "$k" --force
	for m in uib ibtap; do
		check "$m.ko for $k" sh -c "/sbin/modinfo -k $k $m | grep -q '^vermagic: *$k '"
	done
done
# An upgrade builds the modules for the newest kernel. `dkms autoinstall` builds them for other kernels when the machine starts.
next=$version+1
check "uipoib-dkms is upgraded" install_ "$(newer_modules "$debs/uipoib-dkms_${version}_all.deb")"
check "of the old modules nothing stays" equal "" "$(dkms status "uipoib/$version"; find /usr/src /var/lib/dkms -name "*$version" -path '*uipoib*')"
for k in $kernels; do
	check "the new modules for $k" sh -c "dkms autoinstall -k $k && dkms status uipoib/$next -k $k | grep ': installed'"
	check "they are where modules are loaded from" sh -c "/sbin/modinfo -k $k -F filename uib | grep '^/lib/modules/$k/updates/dkms/'"
done
# --- a virtual machine that has only these packages and packages of Debian. It has the files of this system, a kernel
# with the module that DKMS built, and systemd as its first process. It starts twice, like a machine that is restarted.
# The files that it writes at the first start are lost, except those in /etc/systemd/system, where `systemctl enable`
# writes.
check "a kernel, QEMU and systemd" install_ linux-image-amd64 qemu-system-x86 systemd systemd-sysv udev kmod libmicrohttpd12 curl
check "the program and its examples again" install_ "$debs/uipoib_${version}_amd64.deb" "$debs/uipoib-doc_${version}_all.deb"
check "uipoib vm -- ip link show ib0" sh -c 'uipoib vm -- ip -d link show ib0 | grep -q "link/infiniband 80:"'
cp /usr/share/doc/uipoib/examples/lab.topo /etc/uipoib/
{
	printf '[fabric lab]\ntopology = lab.topo\n'
	for i in 1 2; do printf '[interface uib0@h%d]\nport = fabric:lab/Hca%d/1\naddress = 10.4.0.%d/24\n' $i $i $i; done
} >/etc/uipoib/lab.conf
machine() { uipoib vm --systemd=multi-user.target --share /etc/systemd/system --memory 768 -- sh -ec "$1"; }
reaches='uipoib -n lab exec h1 ping -n -c 2 -i 0.2 -W 10 10.4.0.2'
check "a lab as a service is enabled" machine "systemctl enable --now uipoib@lab && $reaches"
check "after a restart of the machine it runs" machine "systemctl is-active uipoib@lab && uipoib -n lab wait --timeout 60 && $reaches"
page() {
	uipoib run -c /etc/uipoib/lab.conf -n lab -- sh -c '
		uipoib -n lab web --listen 127.0.0.1:8480 & web=$!
		curl -sSf --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8480/ | grep -i "<title>.*uipoib" &&
			curl -sSf http://127.0.0.1:8480/metrics | grep "^infiniband_"
		status=$?
		kill $web
		exit $status'
}
check "the web page and the metrics" page
rm -rf /etc/uipoib
check "both are purged again" apt-get purge -y uipoib uipoib-doc

check "uipoib-dkms is purged" apt-get purge -y uipoib-dkms
check "no module stays" equal "" "$(find /lib/modules /var/lib/dkms /usr/src -name '*uib.ko*' -o -name '*ibtap*' -o -name 'uipoib-*')"
exit $failed
