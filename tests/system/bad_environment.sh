#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What the machine does not give is named, with exit status 3 or 2, and does not disturb what runs.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)         captures go to a file system of 128 KB
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need ping setpriv unshare
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
chmod 755 "$work"
cp "$UIPOIB" "$work/uipoib" # where anybody may execute it
instances() { ls /run/uipoib/"$inst"* 2>/dev/null; }

# --- what may not be done

# nobody MODE CMD...: as a user without rights, /dev/net/tun with MODE; "none": it is not there
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
no_namespaces() {
	unshare --user --map-root-user bash -c '
		echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' - "$@"
}
check "no more network namespaces: status 3 names them" refuse 3 'host h1: .*namespace' \
	no_namespaces env XDG_RUNTIME_DIR="$work" "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true
check "no folder for the socket: status 3 names it" refuse 3 '/nope' \
	nobody 0666 env UIPOIB_RUNTIME_DIR=/nope/x "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true

# In /tmp anybody may have made the folder that would be ours.
others_folder() {
	mkdir "$work/others" && chown 65533 "$work/others" || return 1
	nobody 0666 env UIPOIB_RUNTIME_DIR="$work/others" "$work/uipoib" run -n "$inst" -c "$work/lab.conf" -- true
}
check "the folder for the socket is somebody else's: status 3" refuse 3 "$work/others: somebody else" others_folder

# --- what is taken

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
check "nothing is left of these" equal '' "$(instances)"

lab_up
check "a second instance of the name: status 2" refuse 2 "an instance called '$inst' is running" \
	u run -n "$inst" -c "$work/lab.conf" -- true
check "the first one goes on" x h1 ping -n -c 1 -W 5 10.4.0.2
check "its socket is still there" test -S "$(lab_socket)"
second() { u run -n "$inst-2" -c "$work/lab.conf" -- sh -c '"$1" exec h1 ping -n -c 1 -W 5 10.4.0.2' - "$UIPOIB"; }
check "another name is no trouble" second
lab_down
check "nothing of the first is left" eventually 10 lab_gone

# --- a full disk

# Private to the lab: it sees a small file system at $work/small
mkdir "$work/small"
small_lab() {
	unshare --mount --propagation private bash -c '
		mount -t tmpfs -o size=128k none "$1" && shift && exec "$@"' - "$work/small" \
		"$UIPOIB" run -c "$work/lab.conf" -n "$inst" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 20 lab_answers && u wait --timeout 30
}
check "a lab with a small disk" small_lab
lab_remember
capture_state() { u -j capture show | jq -c '.capture[0]'; }
check "a capture is started on it" u capture start "$work/small/full.pcap"
flood() {
	x h1 ping -q -n -f -c 200 -s 1400 10.4.0.2
	capture_state
	[ "$(capture_state | jq -r '.error')" = "No space left on device" ]
}
check "when the disk is full the capture says so" eventually 20 flood
packets=$(capture_state | jq .packets)
check "it counts no more packets" equal "$packets" "$(x h1 ping -q -n -c 1 10.4.0.2 >/dev/null; capture_state | jq .packets)"
check "it was said in the log" grep -Eq 'capture.*No space left' "$work/lab.log"
check "the fabric goes on" x h2 ping -n -c 3 -i 0.1 -W 5 10.4.0.1
check "the end of the capture fails with that" refuse 1 'No space left' u capture stop "$(capture_state | jq .id)"
check "another capture works" u capture start "$work/good.pcap"
x h1 ping -q -n -c 3 -i 0.01 10.4.0.2 >/dev/null
check "and ends well" u capture stop "$(capture_state | jq .id)"
check "with packets in it" test "$(stat -c %s "$work/good.pcap")" -gt 300

# A disk that is full from the beginning
sed 's|^topology.*|&\ncapture = /dev/full|' "$work/lab.conf" >"$work/full.conf"
check "a capture that can never be written: status 3" refuse 3 'capture /dev/full: No space left' \
	u run -n "$inst-2" -c "$work/full.conf" -- true
finish
