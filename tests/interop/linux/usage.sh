#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `uipoib vm` works in unusual conditions: closed descriptors, output without a reader, folders that cannot be read, a user
# who is not root, long commands, little memory, Ctrl-C. The test in examples/vm calls
# `uipoib vm` with the right arguments.
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 script setpriv
unset UIPOIB_NAME
patience=180 # seconds for a VM to boot and run its command, on a busy machine

vm() { timeout $patience "$UIPOIB" vm "$@"; }

# --- wrong arguments are refused before a VM boots

check "a number of processors that is none" refuse 2 "--cpus 'two': expected 1 to 64" vm --cpus two -- true
check "megabytes that are none" refuse 2 "--memory 'much'" vm --memory much -- true
check "a time that is none" refuse 2 "--timeout 'soon': expected seconds" vm --timeout soon -- true
check "an option without its value" refuse 2 "requires an argument" vm --memory
check "-c and a file that is a folder" refuse 2 "/etc" vm -c /etc -- true

# --- two VMs at a time, each with a fabric of its own

# A user who is not root starts one of the VMs, in a folder that the user cannot read. Only the beginning of this VM's
# output is read.
mkdir "$work/dark"
chmod 711 "$work"
cp -r "$UIPOIB" "$(dirname "$UIPOIB")/uipoib-vm-init" "$(dirname "$UIPOIB")/kmod" "$work/dark/"
chown -R 65534:65534 "$work/dark"
chmod 111 "$work/dark"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
as_nobody() (
	cd "$work/dark" && exec timeout $patience "${user[@]}" env HOME=/nonexistent XDG_RUNTIME_DIR= "$work/dark/uipoib" vm "$@"
)
by_nobody() {
	as_nobody -- sh -c 'pwd; cat /sys/class/net/ib0/type; yes' 2>"$work/err" | head -3 >"$work/out"
	echo "${PIPESTATUS[0]}" >"$work/status"
}
users_may=no
if "${user[@]}" unshare -Urn true 2>/dev/null; then
	users_may=yes
	by_nobody &
fi

# A VM gets one processor, little memory, closed standard input and error, and a long command
long=$(seq -s ' ' 18000)
vm --cpus 1 --memory 256 -- bash -c '
	cat && echo "cpus $(nproc)" && echo "long ${#1}" && echo "event_idx" $(cut -c 30 /sys/bus/virtio/devices/*/features) && echo "newest first" $(grep -oE "^(uib|ib_ipoib) " /proc/modules) && ls -l /proc/self/fd/0 >&2
	exit 7' sh "$long" <&- 2>&- >"$work/small"
check "its status" equal 7 $?
check "standard input that is closed is at its end" grep -qx "cpus 1" "$work/small"
check "a command of ${#long} octets" grep -qx "long ${#long}" "$work/small"
# Feature bit 29 is VIRTIO_F_EVENT_IDX (virtio 1.2, section 6). With this feature, one lost announcement would stop a queue
# (src/vm/qemu.c).
check "the queues of cable, channel and root continue after a lost announcement" grep -qx "event_idx 0 0 0" "$work/small"
# ib_core replaces the GIDs of the HCA while the SM configures the port. If ib_ipoib were loaded at that moment, it
# might find no GID, and ib_ipoib does not try again (src/vm/guest.c).
check "ib_ipoib is loaded before the HCA exists" grep -qx "newest first uib ib_ipoib" "$work/small"
wait
if [ $users_may = yes ]; then
	check "a user: output that nobody reads ends the command" equal 141 "$(cat "$work/status")"
	check "with ib0" equal 32 "$(sed -n 2p "$work/out")"
	check "a folder that the user cannot read is not there, which is said" \
		equal "uipoib vm: the folder $work/dark is not in the VM: Permission denied" "$(cat "$work/err")"
	check "the command is in / then" equal / "$(head -1 "$work/out")"
else
	skip "a user who is not root" "users may not make user namespaces here"
fi

# --- Ctrl-C on a terminal, while the VM boots and while the command runs

# on_terminal FILE CMD: runs CMD on a terminal, with its output in FILE. Writing to descriptor 8 types on its keyboard, and
# $! is the pid of script(1), which provides the terminal
on_terminal() {
	script -qefc "$2" "$1" <&8 >/dev/null 2>&1 &
}
mkfifo "$work/keys"
exec 8<>"$work/keys"
has_qemu() { descendants "$1" | while read -r p; do readlink "/proc/$p/exe"; done | grep -q qemu; }
gone() { ! kill -0 "$1" 2>/dev/null; }

on_terminal "$work/screen" "exec $UIPOIB vm -- sleep 1000"
pid=$!
check "it boots" eventually 60 has_qemu $pid
for p in $(descendants $pid); do lab_procs+=" $p:$(identity "$p")"; done
printf '\003' >&8
check "Ctrl-C while it boots ends it" eventually 60 gone $pid
wait $pid
check "with status 130" equal 130 $?

# script(1) writes its command into the file, too, so the text that is searched for must not be a part of the command.
on_terminal "$work/screen" "exec $UIPOIB vm -- sh -c 'stty size; echo it runs \$((40 + 2)); sleep 1000'"
pid=$!
check "a command on a terminal runs" eventually $patience grep -q "it runs 42" "$work/screen"
for p in $(descendants $pid); do lab_procs+=" $p:$(identity "$p")"; done
printf '\003' >&8
check "Ctrl-C ends it" eventually 60 gone $pid
wait $pid
check "with status 130" equal 130 $?
exec 8>&-

# --- examples/vm/test.sh

# examples/vm/test.sh runs in a real VM in tutorial.sh; here only the command line that it makes is
# checked.
check "examples/vm: the test starts a VM with its lab" equal "vm -c lab.conf --address 10.4.0.100/16 -- sh ./test.sh" \
	"$(UIPOIB=echo sh examples/vm/test.sh)"
finish
