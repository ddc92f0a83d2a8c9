#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# uipoib builds and runs on a machine without libibverbs, libibumad and libmicrohttpd. Only ports of RDMA devices and `uipoib web`
# do not work there; a message names the missing package. Without libpcap, `capture decode` fails with such a message, too. But a
# build needs the header of libpcap. Headers and libraries are removed from this script's view of the file system, so that the
# Makefile itself finds out which of them exist.
. "$(dirname "$0")/lib.sh"
need make jq ping
[ -n "${TEST_ISOLATED:-}" ] || { skip "without libraries" "it needs root"; exit 0; }

# hide FOLDER PATTERN...: make the files in FOLDER that match a PATTERN invisible to this script and to the programs that it starts
hide() {
	local folder=$1 own=/run/hidden${1////_} # /run is this script's own, and in memory
	mkdir -p "$own/files" "$own/work" && mount -t overlay overlay -o "lowerdir=$folder,upperdir=$own/files,workdir=$own/work" "$folder" || return 1
	shift
	(cd "$folder" && rm -rf $*)
}
there() { find /usr/include /lib /usr/lib \( -name microhttpd.h -o -path '*/infiniband/*.h' -o -name 'libib*.so*' -o -name 'libmicrohttpd.so*' -o -name 'libpcap.so*' \) ! -path '*/modules/*' 2>/dev/null; }
before=$(there)
check "this machine has what is hidden" grep -q 'infiniband/verbs.h' <<<"$before"
libs=$(realpath "$(ldconfig -p | sed -n 's/.*libc\.so\.6 .*=> //p' | head -n 1)")
check "headers are hidden" hide /usr/include infiniband microhttpd.h '*/microhttpd.h'
check "libraries are hidden" hide "${libs%/*}" 'libib*' 'libmicrohttpd*' 'libpcap*'
check "nothing of them is there" equal '' "$(there)"

# Only src/verbs and src/web include the hidden headers, so the objects of all other folders are taken from the build that is tested.
out=$work/build
elsewhere() { grep -rlE '#include *<(infiniband|microhttpd)' src include | grep -vE '^src/(verbs|web)/'; }
check "only verbs and web include what is hidden" equal '' "$(elsewhere)"
mkdir "$out" && cp -a "${UIPOIB%/*}"/{obj,pic} "$out" && rm -r "$out"/obj/{verbs,web}
check "it builds" make -s -j"$(nproc)" O="$out" all
UIPOIB=$out/uipoib
check "it starts" u -V
check "no program or library is linked with what is hidden" equal '' \
	"$(ldd "$out"/uipoib "$out"/*.so 2>&1 | grep -E 'not found|libib|libmicrohttpd|libpcap')"
check "the demo passes all its checks" u demo -n "$inst-demo"

topo_ring 2 1 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
check "a lab runs" reaches4 1 2
check "uipoib web says that the build has no web server, and which package was missing" refuse 3 'has no web server.*libmicrohttpd-dev' u web
check "capture decode says which library is missing" refuse 3 'libpcap.so.0.8 is missing; the package libpcap0.8 has it' u capture decode /dev/null
check "the other forms of the picture are there" grep -q '<svg' <<<"$(u fabric show --svg)"
lab_down
printf '[interface uib0]\nport = verbs:mlx5_0/1\n' >"$work/verbs.conf"
check "a port of an RDMA device: the build has no verbs, and which package was missing" refuse 3 'has no verbs.*libibverbs-dev' \
	u run -c "$work/verbs.conf" -n "$inst-verbs"
finish
