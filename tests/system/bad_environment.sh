#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# If a part of the environment, such as a permission or a device file, is missing, uipoib names it and ends with status 3 or 2.
# A running instance is not disturbed.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)         captures go to a file system of 128 KB
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need ping setpriv unshare python3
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
chmod 755 "$work"
cp "$UIPOIB" "$work/uipoib" # a copy that any user may execute
instances() { ls /run/uipoib/"$inst"* 2>/dev/null; }

# --- missing permissions

# nobody MODE CMD...: run CMD as a user without privileges, with a /dev/net/tun of this MODE; with MODE "none" the file
# does not exist
nobody() {
	local mode=$1
	shift
	unshare --mount --propagation private bash -c '
		if [ "$2" = none ]; then
			mount -t tmpfs none /dev/net
		else
			mknod "$1/tun" c 10 200 && chmod "$2" "$1/tun" && mount --bind "$1/tun" /dev/net/tun || exit 99
		fi
		shift 2
		exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
			env HOME=/ XDG_RUNTIME_DIR= TMPDIR= "$@"' - "$work" "$mode" "$@"
	local status=$?
	rm -f "$work/tun"
	return $status
}

check "a TAP is not permitted: status 3 names /dev/net/tun" refuse 3 '/dev/net/tun.*Permission denied' \
	nobody 0600 "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true
check "there is no /dev/net/tun: status 3 names it" refuse 3 '/dev/net/tun.*No such (file|device)' \
	nobody none "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true
file_as_tun() {
	unshare --mount --propagation private bash -c 'mount --bind "$1" /dev/net/tun && shift && exec "$@"' - "$work/lab.topo" "$@"
}
check "/dev/net/tun is a file: status 3 names it" refuse 3 'using /dev/net/tun as a TUN device: Inappropriate ioctl' \
	file_as_tun "$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- true
sed '/^port/a netdev = ibtap' "$work/lab.conf" >"$work/ibtap.conf"
ibtap() { # run the lab with netdev = ibtap, as root and without the kernel module
	unshare --mount --propagation private bash -c '[ ! -e /dev/ibtap ] || { mount -t tmpfs none /mnt && cp -a /dev/net /dev/null /mnt && mount --move /mnt /dev; }
		exec "$@"' - "$UIPOIB" run -n "$inst" -c "$work/ibtap.conf" -- true
}
check "ibtap.ko is not loaded: status 3 says what to load" refuse 3 'opening /dev/ibtap \(load the kernel module: modprobe ibtap.*No such file' ibtap
no_namespaces() {
	unshare --user --map-root-user bash -c '
		echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' - "$@"
}
check "no more network namespaces: status 3 names them" refuse 3 'host h1: .*namespace' \
	no_namespaces env XDG_RUNTIME_DIR="$work" "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true
check "no folder for the socket: status 3 names it" refuse 3 '/nope' \
	nobody 0666 env UIPOIB_RUNTIME_DIR=/nope/x "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true

# The folder that uipoib would use for its sockets belongs to another user.
others_folder() {
	mkdir "$work/others" && chown 65533 "$work/others" || return 1
	nobody 0666 env UIPOIB_RUNTIME_DIR="$work/others" "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true
}
check "the folder for the socket is somebody else's: status 3" refuse 3 "$work/others: somebody else" others_folder

# --- names, addresses and interfaces that are in use

own_namespace() { unshare --net "$@"; }
printf '[fabric lab]\ntopology = lab.topo\n\n[interface uib0]\nport = fabric:lab/Hca1/1\n' >"$work/own.conf"
name_in_use() {
	own_namespace bash -c 'ip link add uib0 type veth && exec "$@"' - \
		"$UIPOIB" run -n "$inst" -c "$work/own.conf" -- true
}
check "an interface of that name is there: status 2 names it" refuse 2 'uib0.*(busy|exists|in use)' name_in_use
others_tap() {
	own_namespace bash -c 'ip tuntap add dev uib0 mode tap
		"$@" 2>/dev/null
		ip link show uib0 && ! ip -o link show uib0 | grep -q UP' - "$UIPOIB" run -n "$inst" -c "$work/own.conf" -- true
}
check "a TAP that somebody else made is not taken, and stays" others_tap
few_files() { # N: run the lab with at most N descriptors in each process
	bash -c 'ulimit -n "$1" && shift && exec "$@"' - "$1" "$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- true
}
check "few descriptors: status 3 names the limit" refuse 3 'Too many open files \(RLIMIT_NOFILE is 17, see ulimit -n\)' few_files 17
# With `ulimit -f 0` nothing can be written into files. So the log stays empty, and so does the file in which the helper lists the
# namespaces that it has made.
no_files() {
	sed "s/@h1\]/&\nnetns = be1-$$/" "$work/lab.conf" >"$work/named.conf"
	bash -c 'ulimit -f 0; exec "$@" >/dev/null 2>"$0"' "$work/no_files" "$UIPOIB" run -v -v -n "$inst" -c "$work/named.conf" -- \
		"$UIPOIB" exec h1 ping -n -c 1 -w 60 10.4.0.2
}
check "under an RLIMIT_FSIZE of 0 it runs" no_files
check "and removes the namespace that it made" test ! -e "/run/netns/be1-$$"
# without CALL: run the lab and a ping, with the system call CALL refused, as an old kernel or a sandbox refuses it
without() { "$TOOLS/deny" "$1" "$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- "$UIPOIB" exec h1 ping -n -c 1 -w 60 10.4.0.2; }
check "without epoll_pwait2 it runs" without epoll_pwait2
check "without close_range it runs" without close_range
check "without signalfd4: status 3 names it" refuse 3 'signalfd: Function not implemented' without signalfd4
check "without setns: status 3 names the host" refuse 3 'host h1: .*Function not implemented' without setns
check "nothing is left of these" equal '' "$(instances)"

lab_up
check "a second instance of the name: status 2" refuse 2 "an instance called '$inst' is running" \
	u run -n "$inst" -c "$work/lab.conf" -- true
check "the first one goes on" reaches4 1 2
check "its socket is still there" test -S "$(lab_socket)"
second() { u run -n "$inst-2" -c "$work/lab.conf" -- sh -c '"$1" exec h1 ping -n -c 1 -w 60 10.4.0.2' - "$UIPOIB"; }
check "another name is no trouble" second

# --- output that cannot be written

# lost CMD...: succeeds if the command reports that its output cannot be written
lost() { refuse 1 'standard output: No space left on device' bash -c 'exec "$@" >/dev/full' - "$UIPOIB" "$@"; }
all_lost() {
	local cmd
	for cmd in help -V "-h link" "link show" "fabric show" "fabric node show" "stats show" "instance show" "host show" \
		"neigh show" "maddr show" "path show" "path get 10.4.0.2 dev uib0@h1" "-j fabric fault show" "-j capture show" \
		"fabric inject uib0@h1 uib0@h2 icrc" "trace h1 h2" "fabric import $work/lab.topo" "fabric import -h" \
		"fabric partitions" "demo --print-config"; do
		# shellcheck disable=SC2086
		lost $cmd || { echo "of: $cmd"; return 1; }
		case $cmd in *-[hV] | -* | help | demo*) continue ;; esac
		# shellcheck disable=SC2086
		lost -j $cmd || { echo "of: -j $cmd"; return 1; }
	done
}
check "output that cannot be written: status 1, of every command, of -j too" all_lost
lost_monitor() {
	lost monitor &
	local p=$!
	eventually 10 monitor_ends $p || { kill $p; return 1; }
	wait $p
}
monitor_ends() { # cause events until the monitor, which cannot write them, has ended
	u fabric link set Switch1/1 down
	u fabric link set Switch1/1 up
	! kill -0 "$1" 2>/dev/null
}
check "monitor ends when nobody can read it" lost_monitor
check "and the link is up again" u wait --timeout $patience

# --- a log that nobody reads

# deaf CMD...: run CMD with a small pipe as standard error, which is not read until CMD ends
cat >"$work/deaf.py" <<'END'
import fcntl, os, sys
r, w = os.pipe()
fcntl.fcntl(w, 1031, 4096)  # F_SETPIPE_SZ
os.write(w, b"x" * 4096)
if os.fork() == 0:
    os.close(r)
    os.dup2(w, 2)
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(w)
os.wait()
open(sys.argv[1], "wb").write(os.read(r, 1 << 20))
END
deaf_lab() {
	python3 "$work/deaf.py" "$work/deaf" "$UIPOIB" run -n "$inst-2" -c "$work/lab.conf" -v -v &
	deaf=$!
	eventually 20 u -n "$inst-2" wait --timeout $patience
}
check "a lab whose log nobody reads comes up" deaf_lab
deaf_works() {
	local k
	for k in 1 2 3 4 5 6 7 8; do
		timeout 60 "$UIPOIB" -n "$inst-2" fabric sweep || return 1
	done
	UIPOIB_NAME=$inst-2 probe_start deaf h1 h2 10.4.0.2 20 && probe_wait deaf && grep '^20 packets transmitted, 20 received' "$work/probe.deaf"
}
check "and its fabric works" deaf_works
deaf_ends() { u -n "$inst-2" stop && wait $deaf; }
check "and it ends" deaf_ends

# --- a path with characters that LD_PRELOAD cannot contain

mkdir "$work/a b:\$x"
cp "$UIPOIB" "$(dirname "$UIPOIB")/libuipoib-umad.so" "$work/a b:\$x/"
sees_umad() { [ "$("$work/a b:\$x/uipoib" exec h1 cat /sys/class/infiniband_mad/abi_version)" = 5 ]; }
check "tools see the fabric from a folder with a blank" sees_umad
blank_twice() { UIPOIB_RUNTIME_DIR="$work/r un" "$work/a b:\$x/uipoib" run -n "$inst-2" -c "$work/lab.conf" -- "$work/a b:\$x/uipoib" exec h1 true; }
check "a blank in the folder of the sockets too: status 3 says so" refuse 3 'LD_PRELOAD takes no path with a blank' blank_twice
lab_down
check "nothing of the first is left" eventually 10 lab_gone

# --- a full disk

# small_lab: run the lab in a mount namespace, in which $work/small is a small file system
mkdir "$work/small"
small_lab() {
	unshare --mount --propagation private bash -c '
		mount -t tmpfs -o size=128k none "$1" && shift && exec "$@"' - "$work/small" \
		"$UIPOIB" run -c "$work/lab.conf" -n "$inst" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 20 lab_answers && u wait --timeout $patience
}
check "a lab with a small disk" small_lab
lab_remember
capture_state() { u -j capture show | jq -c '.capture[0]'; }
check "a capture is started on it" nsenter --mount --target "$lab_pid" "$UIPOIB" capture start "$work/small/full.pcap"
flood() {
	x h1 ping -q -n -f -c 200 -s 1400 10.4.0.2
	capture_state
	[ "$(capture_state | jq -r '.error')" = "No space left on device" ]
}
check "when the disk is full the capture says so" eventually 20 flood
packets=$(capture_state | jq .packets)
check "it counts no more packets" equal "$packets" "$(x h1 ping -q -n -c 1 10.4.0.2 >/dev/null; capture_state | jq .packets)"
check "it was said in the log" eventually 5 grep -Eq 'capture.*No space left' "$work/lab.log"
check "the fabric goes on" reaches4 2 1
check "the end of the capture fails with that" refuse 1 'No space left' u capture stop "$(capture_state | jq .id)"
check "another capture works" u capture start "$work/good.pcap"
x h1 ping -q -n -c 3 -i 0.01 10.4.0.2 >/dev/null
check "and ends well" u capture stop "$(capture_state | jq .id)"
check "with packets in it" test "$(stat -c %s "$work/good.pcap")" -gt 300

# Each write to /dev/full fails as on a full disk, so this capture fails from its first write on.
sed 's|^topology.*|&\ncapture = /dev/full|' "$work/lab.conf" >"$work/full.conf"
check "a capture that can never be written: status 3" refuse 3 'capture /dev/full: No space left' \
	u run -n "$inst-2" -c "$work/full.conf" -- true
finish
