#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM, and prints TAP. Hostile programs use /dev/infiniband/uverbs0 of uib0. The programs are killed, and device
# and module are removed while programs run. At the end the module is not loaded.
#
#	verbs.sh UIB.KO [SECONDS [KILLS]]	execute random commands for SECONDS (10), and kill KILLS (20) programs
module=$1 seconds=${2:-10} kills=${3:-20}
TEST_ISOLATED=1 # a device belongs to the namespace of the VM
. "$(dirname "$0")/../../../system/lib.sh"

# A VM cannot measure how much CPU time the machine gives to other programs, so stretch() does not work in a VM. On a
# busy machine a VM once took 80 s to see that a program had opened a file. Also, the VM's link goes down whenever the VM gets
# no CPU time for 3 s. So the limit of each wait is long; a wait ends at once on success.
patience=600

left() { bash tests/interop/linux/guest/verbs_left.sh; }
nothing_left() { equal "$before" "$(left)"; }
link=/sys/kernel/debug/uib/uib0/link
cable=/run/uipoib-vm/cable
[ -e $cable ] || cable=/proc/self/ns/net # the VM of debug/run.sh has no namespace of this name
add="uib0 netns=3 listen=$(sed -n 's/^listen //p' $link) peer=$(sed -n 's/^peer //p' $link) guid=0x$(tr -d : </sys/class/infiniband/uib0/node_guid)"
active() { grep -q ACTIVE /sys/class/infiniband/uib0/ports/1/state; }
insert() { insmod "$module" "add=\"$add\"" 3<$cable && eventually 30 active; }

check "the port is active" eventually 30 active
before=$(left)

# --- programs that try operations which are not allowed

for what in keys limits csum; do
	"$TOOLS/verbs_$what" || failed=1
	check "nothing is left of verbs_$what" eventually 10 nothing_left
done
"$TOOLS/verbs_random" "$seconds" 1 || failed=1
check "nothing is left of random commands" eventually 10 nothing_left

# --- programs that are killed

has_device() { [[ $(readlink /proc/$1/fd/*) == *uverbs* ]]; }
# kill_one I: kills a program at a random moment: while it starts, while it uses one object of each kind, or while it
# executes random commands. In the last two cases the program has the device open. The random commands must not end by
# themselves before the kill, so there are very many: on a busy machine the steps before the kill have taken 200 s.
kill_one() {
	local pid what=verbs_hold began=$SECONDS
	[ $(($1 % 3)) != 2 ] || what="verbs_random 1000000 $1"
	rm -f "$work/killed"
	# shellcheck disable=SC2086
	"$TOOLS"/$what >"$work/killed" 2>&1 &
	pid=$!
	[ $(($1 % 3)) != 1 ] || eventually 10 grep -q ready "$work/killed"
	[ $(($1 % 3)) != 2 ] || eventually 10 has_device $pid
	sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
	! has_device $pid || had=$((had + 1))
	kill -9 $pid
	wait $pid
	[ $? = 137 ] || { echo "$what had ended within $((SECONDS - began)) s, and printed:"; cat "$work/killed"; return 1; }
} 2>/dev/null
kill_all() {
	local i
	for ((i = 0; i < kills; i++)); do
		kill_one $i || return 1
	done
}
had=0
check "$kills programs are killed" kill_all
check "most of them had the device open then" test "$had" -gt $((kills / 2))
check "nothing is left of them" eventually 20 nothing_left

# --- device and module are removed while a program uses them

no_pages() { equal "0 pages" "$(left 2>/dev/null | grep pages)"; }
gone() { # CMD: run CMD, which removes the device or the module, while a program uses the device
	local pid status
	rm -f "$work/hold"
	"$TOOLS/verbs_hold" >"$work/hold" &
	pid=$!
	eventually 10 grep -q ready "$work/hold" || return 1
	$1 || return 1
	wait $pid
	status=$?
	cat "$work/hold"
	return $status
}
gone_random() {
	local pid
	"$TOOLS/verbs_random" 6 2 >"$work/random" &
	pid=$!
	sleep 2
	rmmod uib || return 1
	wait $pid
	[ $? -lt 128 ]
}
remove_device() { echo uib0 >/sys/module/uib/parameters/remove; }
check "the device is removed under a program: its calls fail with EIO" gone remove_device
check "rmmod" rmmod uib
check "no page is left pinned" eventually 10 no_pages
check "insmod" insert
check "rmmod under a program: its calls fail with EIO" gone "rmmod uib"
check "no page is left pinned after that" eventually 10 no_pages
check "insmod again" insert
check "rmmod under random commands" gone_random
check "no page is left pinned after those" eventually 10 no_pages
exit $failed
