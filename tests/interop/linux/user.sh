#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# With `uipoib vm --user`, the command runs as a user who is not root. Tested are the user's identity, what the user can do
# with ib0, and what is refused to the user. Root tries the same things, for comparison.
#
#	h1 10.4.0.1 --- 1 Switch1 --- ib0 10.4.0.100	 (the fabric that uipoib vm makes)
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 ibstat python3
unset UIPOIB_NAME
patience=180 # seconds for a VM to boot and run its command, on a busy machine

vm() { timeout $patience "$UIPOIB" vm "$@"; }

check "no such user" refuse 2 "--user 'nobody-here': expected a name of /etc/passwd, or UID or UID:GID" vm --user nobody-here -- true
check "a UID that is none" refuse 2 "--user '4294967295'" vm --user 4294967295 -- true

# This script has a mount namespace of its own, and the guest sees this machine's files as this script sees them.
for f in passwd group; do cp /etc/$f "$work/$f"; done
echo 'lab-user:x:4321:4322::/tmp:/bin/sh' >>"$work/passwd"
echo 'lab-extra:x:4323:lab-user' >>"$work/group"
for f in passwd group; do mount --bind "$work/$f" /etc/$f || { echo "not ok - /etc/$f"; exit 1; }; done
chmod 711 "$work"
mkdir "$work/lab"
chown 4321 "$work/lab"
echo secret >"$work/secret"
chmod 600 "$work/secret"

# The commands that the user and root try in the VM. Each try prints a line "name status". No try changes what a later try
# needs.
cat >"$work/tries" <<'END'
try() {
	local name=$1
	shift
	"$@" >/dev/null 2>&1
	echo "$name $?"
}
# With -w, ping repeats until the first answer.
try ping ping -c 1 -w 10 10.4.0.1
try ping6 ping -c 1 -w 10 ff02::1%ib0
try link ip -d link show ib0
try counters cat /sys/class/infiniband/uib0/ports/1/counters/port_xmit_packets
try ibstat ibstat
try uverbs sh -c ': <>/dev/infiniband/uverbs0'
try write-tmp touch /tmp/file
try stdout sh -c 'echo >/dev/stdout'
try set-mtu ip link set ib0 mtu 1500
try child ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001
try umad sh -c ': </dev/infiniband/umad0'
try packets python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)'
try cable nsenter --net=/run/uipoib-vm/cable true
try mount mount -t tmpfs none /mnt
try module sh -c 'echo uib9 >/sys/module/uib/parameters/remove'
try secret cat "$1/secret"
END
cat >"$work/inside" <<'END'
id -u; id -g; id -G; id -un
echo "$HOME $USER $LOGNAME"
pwd
bash "$1/tries" "$1"
echo written >"$1/lab/file"
exit 9
END
cd "$work/lab" || exit 1
vm --user lab-user --share "$work/lab" -- bash "$work/inside" "$work" >"$work/out" 2>"$work/err"
check "the status of the command" equal 9 $?
check "UID, GID, groups and name" equal $'4321\n4322\n4322 4323\nlab-user' "$(sed -n 1,4p "$work/out")"
check "the environment is the user's" equal "/tmp lab-user lab-user" "$(sed -n 5p "$work/out")"
check "the folder is the caller's" equal "$work/lab" "$(sed -n 6p "$work/out")"
check "standard error is empty" equal "" "$(cat "$work/err")"
check "the user wrote in the share" equal written "$(cat "$work/lab/file")"
tried() { awk -v n="$1" '$1 == n { print $2 }' "$work/${2:-out}"; }
for t in ping ping6 link counters ibstat uverbs write-tmp stdout; do check "the user can: $t" equal 0 "$(tried $t)"; done
refused=(set-mtu child umad packets cable mount module secret)
for t in "${refused[@]}"; do check "the user cannot: $t" eval '[ "$(tried '$t')" -gt 0 ]'; done

# Root tries the same commands and must succeed, so the commands above were refused only because of
# the user.
cd /
vm -- bash "$work/tries" "$work" >"$work/root" 2>"$work/err"
for t in "${refused[@]}"; do
	[ $t = module ] || check "root can: $t" equal 0 "$(tried $t root)"
done
finish
