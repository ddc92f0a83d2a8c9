#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs guest/kmod.sh, guest/offloads.sh, guest/verbs_programs.sh, guest/verbs.sh and guest/ibtap.sh on a kernel with KASAN, lockdep and
# kmemleak (kernel.config). The first run, and the first run after a change of kernel.config, build the kernel from Debian's
# sources, which takes 6 minutes. `make check-night` runs this script.
#
#	run.sh [FOLDER]		FOLDER has the kernel (default: build/kernel-debug)
#
# Variables of the environment:
#
#	PARTS			the scripts to run: "kmod offloads programs verbs ibtap" (the default), or some of these words
#	FUZZ_SECONDS (60)	time for which kmod and ibtap are fuzzed
#	RANDOM_SECONDS (600)	time for which verbs executes random commands
#	KILLS (200)		number of programs that verbs kills
#	ONLY			a regular expression that selects checks of ibtap
#	UIB (FOLDER/uib)	the folder for the modules; runs that use one kernel at the same time need different folders
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../system/lib.sh"
set -e
source=$(ls /usr/src/linux-source-*.tar.xz 2>/dev/null | sort -V | tail -1)
[ -n "$source" ] || { echo "ok - run.sh # SKIP there is no /usr/src/linux-source-*.tar.xz (package linux-source)"; exit 0; }
folder=$(realpath -m "${1:-build/kernel-debug}")
image=$folder/obj/arch/x86/boot/bzImage

mkdir -p "$folder"
if [ ! -e "$image" ] || ! cmp -s "$here/kernel.config" "$folder/kernel.config"; then
	tar -C "$folder" -xf "$source"
	build=(make -s -C "$folder/$(basename "$source" .tar.xz)" "O=$folder/obj")
	"${build[@]}" KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig
	"${build[@]}" -j"$(nproc)" bzImage modules
	cp "$here/kernel.config" "$folder/"
fi
modules=$(realpath -m "${UIB:-$folder/uib}")
make -s -C kmod KDIR="$folder/obj" BUILD="$modules" >/dev/null

cat >"$work/lab.topo" <<'TOPO'
switchguid=0x200000(200000)
Switch	8 "Switch1"
[1]	"Hca1"[1](100001)

caguid=0x100000
Ca	1 "Hca1"
[1](100001)	"Switch1"[1]
TOPO
cat >"$work/lab.conf" <<'CONF'
[fabric lab]
topology = lab.topo

[udp-link vm]
port = fabric:lab/Switch1/7
listen = 127.0.0.1:5001

[interface uib0@h1]
port = fabric:lab/Hca1/1
address = 10.4.0.1/16
CONF
"$UIPOIB" run -n "$inst" -c "$work/lab.conf" >"$work/lab.log" 2>&1 &
lab=$!
trap 'kill $lab; rm -rf "$work"' EXIT

mkdir "$work/vm"
make -s build/unit/test_netdev_ibtap build/unit/test_verbs_suite
cp "$modules"/{uib,uib_test,ibtap}.ko build/unit/{test_netdev_ibtap,test_verbs_suite} "$work/vm/"
parts=${PARTS:-kmod offloads programs verbs ibtap}
part() { [[ " $parts " == *" $1 "* ]]; }
# The commands that make the device for the parts kmod and verbs, and give ib0 an address in the IP
# subnet of h1
insert="insmod /run/work/uib.ko 'add=\"uib0 listen=0.0.0.0:6001 peer=10.0.2.2:5001\"'
ip link set ib0 up
ip address add 10.4.0.100/16 dev ib0
until ping -c 1 -W 1 10.4.0.1 >/dev/null; do sleep 0.2; done"
{
	echo status=0
	! part kmod || cat <<GUEST
$insert
bash $PWD/tests/interop/linux/guest/kmod.sh /run/work/uib.ko ${FUZZ_SECONDS:-60} || status=1
rmmod uib
GUEST
	! part offloads || cat <<GUEST
insmod /run/work/uib.ko
UIPOIB=$UIPOIB bash $PWD/tests/interop/linux/guest/offloads.sh || status=1
rmmod uib
GUEST
	! part programs || cat <<GUEST
insmod /run/work/uib.ko
bash $PWD/tests/interop/linux/guest/verbs_programs.sh /run/work/test_verbs_suite || status=1
rmmod uib
GUEST
	! part verbs || cat <<GUEST
$insert
bash $PWD/tests/interop/linux/guest/verbs.sh /run/work/uib.ko ${RANDOM_SECONDS:-600} ${KILLS:-200} || status=1
GUEST
	! part ibtap || echo "bash $PWD/tests/interop/linux/guest/ibtap.sh /run/work/ibtap.ko /run/work/test_netdev_ibtap ${FUZZ_SECONDS:-60} '${ONLY:-}' || status=1"
	cat <<GUEST
# Scan twice, because one scan may take an object for a leak that RCU has just freed.
for i in 1 2; do echo scan >/sys/kernel/debug/kmemleak; sleep 6; done
cat /sys/kernel/debug/kmemleak >/run/work/leaks
dmesg >/run/work/dmesg
grep 'debug_locks: *1' /proc/lockdep_stats || status=1
exit \$status
GUEST
} >"$work/vm/guest"
limit=$((6000 + 2 * ${FUZZ_SECONDS:-60}))
! part verbs || limit=$((limit + 2 * ${RANDOM_SECONDS:-600} + 20 * ${KILLS:-200}))
"$here/boot.sh" -i "$image" -m 1500 -t $limit "$work/vm" bash /run/work/guest || true
cat "$work/vm/out" "$work/vm/err"
set +e # because a failed check() must not end this script
check "the guest ended well" equal 0 "$(cat "$work/vm/status")"
check "kmemleak found nothing" equal "" "$(cat "$work/vm/leaks")"
check "KASAN and lockdep found nothing" equal "" \
	"$(grep -E 'BUG:|WARNING:|possible (recursive|circular)|inconsistent lock|ODEBUG:|suspicious RCU|UBSAN:|unregister_netdevice: waiting' "$work/vm/dmesg")"
[ $failed = 0 ] || tail -n 60 "$work/vm/dmesg" "$work/vm/console"
exit $failed
