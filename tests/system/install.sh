#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `make install` and `make uninstall` with the variables of the GNU Coding Standards, the installed program, completion in
# bash, and `make dist`
. "$(dirname "$0")/lib.sh"
need make git jq
root=$work/root
build=${UIPOIB%/*}
folders=(prefix=/opt/u libdir=/opt/u/lib64 sysconfdir=/etc mandir=/opt/man includedir=/opt/inc completionsdir=/opt/bash
	systemdsystemunitdir=/opt/units)
make_it() { make -s O="$build" DESTDIR="$root" "${folders[@]}" "$@"; }
installed() { (cd "$root" && find . ! -type d | sort | sed 's/^\.//'); }

check "make install" make_it install
wanted() {
	local m
	printf '%s\n' /opt/bash/uipoib /opt/inc/uipoib/path.h /opt/u/bin/uipoib /opt/u/lib/uipoib/{libuipoib-umad.so,uipoib-vm-init} \
		/opt/u/lib64/libuipoib-path.{a,so,so.0} /opt/u/lib64/pkgconfig/libuipoib-path.pc /opt/units/uipoib{,-netns}@.service
	for m in man/*.[1-9]; do echo "/opt/man/man${m##*.}/${m##*/}"; done
	for m in "$build"/kmod/*/{ibtap,uib}.ko; do [ ! -f "$m" ] || echo "/opt/u/lib/uipoib/${m#"$build"/kmod/}"; done
}
check "every file is where the variables say" equal "$(wanted | sort)" "$(installed)"
check "pkg-config's file names the folders" grep -qx 'libdir=/opt/u/lib64' "$root/opt/u/lib64/pkgconfig/libuipoib-path.pc"
check "the unit names the program and the configuration" grep -qx 'ExecStart=/opt/u/bin/uipoib run -c /etc/uipoib/%i.conf -n %i' \
	"$root/opt/units/uipoib@.service"
# No test starts systemd itself, because it would change the machine. systemd-analyze checks the units.
if command -v systemd-analyze >/dev/null; then
	level=$(cd "$root/opt/units" && systemd-analyze security --offline=yes --no-pager ./uipoib@.service | sed -n 's/.*level for.*: \([0-9.]*\) .*/\1/p')
	check "systemd-analyze security of the service: $level is below 3.0" awk -v l="$level" 'BEGIN { exit !(l > 0 && l < 3.0) }'
	unknown() { equal "" "$(cd "$root/opt/units" && systemd-analyze verify --man=no ./uipoib@x.service ./uipoib-netns@x.service 2>&1 | grep -E 'uipoib.*(Unknown|Invalid|Failed to parse|ignoring)')"; }
	check "it knows every setting of the units" unknown
	install -D -m 644 examples/service/verbs.conf "$root/opt/units/uipoib@x.service.d/verbs.conf"
	check "and of the drop-in for ports of RDMA devices" unknown
	rm -r "$root/opt/units/uipoib@x.service.d"
else
	skip "systemd-analyze of the units" "there is no systemd-analyze (package systemd)"
fi
check "the version" equal "uipoib $(sed -n 's/^#define UIPOIB_VERSION "\(.*\)"/\1/p' src/cli/cli.h)" "$("$root/opt/u/bin/uipoib" -V)"

# --- the installed program, whose parts are in ../lib/uipoib
UIPOIB=$root/opt/u/bin/uipoib
topo_ring 2 1 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
check "the preload is found" equal "$root/opt/u/lib/uipoib/libuipoib-umad.so" "$(x h1 sh -c 'echo $LD_PRELOAD')"

# --- completion. completes LINE WANT: succeeds if bash offers the words WANT for the command line LINE
completes() {
	equal "$2" "$(PATH=$root/opt/u/bin:$PATH bash -c '. "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _uipoib; printf "%s\n" "${COMPREPLY[*]}"' - \
		"$root/opt/bash/uipoib" "$1" 2>/dev/null)"
}
check "names of objects" completes "uipoib fa" "fabric"
check "verbs below verbs" completes "uipoib fabric no sh" "show"
check "hosts of the running instance" completes "uipoib exec " "h1 h2"
check "interfaces: bash keeps what stands before the @" completes "uipoib link show dev uib0@h" "h1 h2"
check "ports" completes "uipoib fabric link set Hca" "Hca1/1 Hca2/1"
check "files" completes "uipoib run -c $work/lab.c" "$work/lab.conf"
releases() { find /boot -maxdepth 1 -name "vmlinuz-$1*" -printf '%f\n' | sed 's/^vmlinuz-//' | sort | paste -sd ' '; }
check "kernels of this machine" completes "uipoib vm --kernel 6." "$(releases 6.)"
check "nothing behind a word that is none" completes "uipoib nonsense x" ""
check "the lab ends" lab_down
check "without an instance" completes "uipoib exec " ""

# --- make uninstall
check "make uninstall" make_it uninstall
check "nothing of it stays" equal "" "$(installed; find "$root" -name '*uipoib*')"

# --- make dist
dist() { # FOLDER: make a clone in FOLDER, and print the digest of the archive that the clone makes
	git -c safe.directory='*' clone -q . "$1" && make -s -C "$1" O="$1/out" dist >/dev/null && sha256sum <"$1"/out/uipoib-*.tar.gz
}
if git rev-parse --git-dir >/dev/null 2>&1; then
	check "make dist gives the same octets twice" equal "$(dist "$work/a")" "$(umask 077; cd "$work" && cd "$OLDPWD" && dist "$work/b")"
	check "they are an archive with the sources" tar -tzf "$work"/a/out/uipoib-*.tar.gz --wildcards 'uipoib-*/src/cli/main.c'
fi
finish
