#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A user without privileges runs a fabric in a user namespace. This only needs /dev/net/tun. The script writes files only below
# $work. It puts another device file over /dev/net/tun, but only in a mount namespace of its own.
#
#	user "nobody" (65534)
#	 +-- user namespace
#	       +-- h1 10.4.0.1 --- Switch1 --- Switch2 --- h2 10.4.0.2
#	       |                        \        /
#	       |                         Switch3
#	       |                            |
#	       +-- h3 10.4.0.3 -------------+
. "$(dirname "$0")/lib.sh"
need ping setpriv unshare
mcast=$TOOLS/mcast
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 >"$work/lab.conf"
chmod 755 "$work"
mkdir -m 700 "$work/user" && chown 65534:65534 "$work/user"
cp "$UIPOIB" "$(dirname "$UIPOIB")/libuipoib-umad.so" "$mcast" "$work" # copies that any user may execute
UIPOIB=$work/uipoib

# With these words before it, a command runs as user nobody, with an XDG_RUNTIME_DIR of its own. Each program in these words replaces
# itself with the next one (exec). So after `"${nobody[@]}" CMD &` the pid of CMD is $!.
nobody=(unshare --mount --propagation private bash -c '
	mknod "$1/user/tun" c 10 200 && chmod 666 "$1/user/tun" && mount --bind "$1/user/tun" /dev/net/tun &&
		rm -f "$1/user/tun" || exit 99
	export XDG_RUNTIME_DIR=$1/user HOME=/
	shift
	exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set -all "$@"' - "$work")
if ! "${nobody[@]}" unshare --user --net true 2>/dev/null; then
	skip "without root" "unprivileged user namespaces are not permitted"
	finish
fi

cat >"$work/script" <<'END'
set -u
uipoib=$1 mcast=$2
say() { [ "$2" = 0 ] && echo "yes $1" || echo "no $1"; }
[ "$(id -u)" = 65534 ]; say "the user is nobody" $?
pings() { local k; for k in $(seq 60); do "$uipoib" exec "$1" ping -n -c 1 -W 2 "$2" && return; done; return 1; }
pings h1 10.4.0.2; say "ping" $?
pings h2 10.4.0.3; say "ping between the others" $?
pings h1 fd04::3; say "ping -6" $? # also waits for duplicate address detection
"$uipoib" exec h1 ip link set uib0 down && "$uipoib" exec h1 ip link set uib0 up; say "the interface is set down and up" $?
"$uipoib" wait --timeout 90; say "it comes up again" $?
pings h1 10.4.0.3; say "and works" $?
[ "$("$uipoib" exec h2 cat /sys/class/infiniband/uipoib0/node_desc)" = Hca2 ]; say "management programs see the CA" $?
"$uipoib" instance show; say "the instance is listed" $?
"$uipoib" exec h3 sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'; say "the user is root in its hosts" $?
ls -l "$XDG_RUNTIME_DIR/uipoib"
[ "$(stat -c %a "$XDG_RUNTIME_DIR/uipoib/$UIPOIB_NAME".{sock,umad} | sort -u)" = 600 ]; say "its sockets are its own" $?
END
"${nobody[@]}" "$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- bash "$work/script" "$UIPOIB" "$work/mcast" >"$work/out" 2>"$work/lab.log"
check "run ends with status 0" equal 0 $?
for what in "the user is nobody" "ping" "ping between the others" "ping -6" "the interface is set down and up" \
	"it comes up again" "and works" "the instance is listed" "the user is root in its hosts" "management programs see the CA" \
	"its sockets are its own"; do
	check "$what" grep -qx "yes $what" "$work/out" || failed_out=1
done
[ -z "${failed_out:-}" ] || sed 's/^/# /' "$work/out"
left() { equal '' "$(ls -A "$work/user")"; }
check "no file of it is left" left
no_process() { equal '' "$(pgrep -f "run -n $inst " | tr '\n' ' ')"; }
check "no process of it is left" eventually 10 no_process

# With profile hld2002, TAPs wait in a namespace of the helper. They are moved to the hosts when P_Keys appear, and back when
# P_Keys disappear
printf '[fabric lab]\ntopology = lab.topo\npartitions = parts.conf\n' >"$work/hld.conf"
for k in 1 2; do
	printf '[interface ib0@h%d]\nport = fabric:lab/Hca%d/1\nprofile = hld2002\naddress = 10.5.0.%d/24,pkey=0x14\n' $k $k $k >>"$work/hld.conf"
done
echo 'Default=0x7fff, ipoib : ALL=full;' >"$work/parts.conf"
echo 'Default=0x7fff, ipoib : ALL=full; Blue=0x14, ipoib : ALL=full;' >"$work/blue.conf"
cat >"$work/hld" <<'END'
set -u
uipoib=$1 work=$2
say() { [ "$2" = 0 ] && echo "yes $1" || echo "no $1"; }
devices() { "$uipoib" exec h1 ls /sys/class/net | grep ^ib | tr '\n' ' '; }
has() { local k; for k in $(seq 600); do [ "$(devices)" = "$1" ] && return; sleep 0.1; done; return 1; }
has "ib0_1_7fff "; say "H30: a device of the default partition" $?
for k in 1 2; do
	"$uipoib" fabric partitions "$work/blue.conf"
	has "ib0_1_14 ib0_1_7fff "; say "H30: a device comes, time $k" $?
	for n in $(seq 60); do "$uipoib" exec h1 ping -n -c 1 -W 1 10.5.0.2 && break; done; say "H30: and works, time $k" $?
	"$uipoib" fabric partitions "$work/parts.conf"
	has "ib0_1_7fff "; say "H30: a device goes, time $k" $?
done
END
"${nobody[@]}" "$UIPOIB" run -n "$inst" -c "$work/hld.conf" -- bash "$work/hld" "$UIPOIB" "$work" >"$work/out" 2>>"$work/lab.log"
check "run with P_Keys that come and go ends with status 0" equal 0 $?
for what in "H30: a device of the default partition" "H30: a device comes, time "{1,2} "H30: and works, time "{1,2} "H30: a device goes, time "{1,2}; do
	check "$what" grep -qx "yes $what" "$work/out"
done

# When all processes are killed, the namespaces end, too
"${nobody[@]}" "$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- sleep 3600 2>>"$work/lab.log" &
lab_pid=$!
has_socket() { [ -S "$work/user/uipoib/$inst.sock" ]; }
check "it runs again" eventually 20 has_socket
lab_procs=$(for p in $(descendants "$lab_pid"); do echo "$p:$(identity "$p")"; done)
kill -KILL "$lab_pid"
{ wait "$lab_pid"; } 2>/dev/null
lab_pid=''
check "kill -9 leaves no process" eventually 10 lab_gone
check "and no file" eventually 10 left
finish
