#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# In examples/conform_hook.py, a step that lasts (join, dhcp, router) is ended by its opposite (leave, no-dhcp, no-router). For
# each step that lasts, the hook stores the pid of the step's process in a file in /tmp, the note. A hook that is killed leaves
# its note, and another process can get the pid in this note. A later hook must not end that process.
. "$(dirname "$0")/lib.sh"
need python3 ip

export TMPDIR=$work # the folder of the notes
hook=(python3 examples/conform_hook.py v0)
hook() { "${hook[@]}" "$@"; }
on_cleanup=end_all
end_all() { # shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
}
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && ip addr add 10.8.0.1/24 dev v0

is_note() { [ -s "$(note "$1")" ]; }
note() { echo "$work"/conform-hook-*-v0-"$1"; }
member() { ip maddr show dev v0 | grep -qw 239.1.2.3; }
# held STEP WHAT [GROUP]: begin a step that lasts, and wait for its note, whose name ends with WHAT
held() {
	"${hook[@]}" "$1" ${3:+"$3"} &
	held_pid=$!
	eventually 10 is_note "$2"
}
joined() {
	held join 239.1.2.3 239.1.2.3 && eventually 10 member && equal "$held_pid $(identity $held_pid)" "$(cat "$(note 239.1.2.3)")"
}
check "the note of a join has its process and when this began" joined
left() { hook leave 239.1.2.3 && wait $held_pid && not member && not is_note 239.1.2.3; }
check "leave ends it and removes the note" left
# A suite asks for the opposite of a step as soon as the suite sees the packets of the step. The opposite step needs the note, so
# the hook must write the note before the step sends packets.
noted_first() { # STEP [GROUP]: succeeds if the hook writes the note of the step before it sets an option of a socket
	python3 - v0 "$@" <<-'PY'
		import glob, os, runpy, socket, sys
		class Watched(socket.socket):
		    def setsockopt(self, *_):
		        os._exit(0 if glob.glob(os.environ["TMPDIR"] + "/conform-hook-*") else 1)
		socket.socket = Watched
		sys.argv[0] = "conform_hook.py"
		runpy.run_path("examples/conform_hook.py", run_name="__main__")
	PY
	local status=$?
	rm -f "$work"/conform-hook-*
	return $status
}
check "the note of a join is there before the join" noted_first join 239.1.2.3
check "the note of a router is there before the router" noted_first router
check "a second leave has nothing to end" refuse 1 '239.1.2.3 is not under way on v0$' hook leave 239.1.2.3

# stranger STEP WHAT TEXT [GROUP]: write TEXT into the note whose name ends with WHAT. PID and START in TEXT become the pid and the
# start time of a process that the hook did not start. Succeeds if STEP is refused, the note is removed, and the process lives on
stranger() {
	local pid text
	sleep 300 &
	pid=$!
	text=${3/PID/$pid}
	text=${text/START/$(identity $pid)}
	echo "$text" >"${note_of[$2]}"
	refuse 1 "$2 is not under way on v0$" hook "$1" ${4:+"$4"} || return 1
	kill -0 $pid || { echo "the stranger is dead"; return 1; }
	kill $pid
	[ ! -e "${note_of[$2]}" ] || { echo "the note is still there"; return 1; }
}
declare -A note_of
names() { # store the names of the notes of steps that last, for the functions below
	held join 239.1.2.3 239.1.2.3 && note_of[239.1.2.3]=$(note 239.1.2.3) && hook leave 239.1.2.3 && wait $held_pid || return 1
	note_of[router]=${note_of[239.1.2.3]%239.1.2.3}router
	note_of[dhcp]=${note_of[239.1.2.3]%239.1.2.3}dhcp
}
check "a group is joined again" names
check "leave: the process of the note began at another time" stranger leave 239.1.2.3 'PID 1' 239.1.2.3
check "leave: the note has no time" stranger leave 239.1.2.3 'PID' 239.1.2.3
check "leave: the note has another form" stranger leave 239.1.2.3 'PID START 1' 239.1.2.3
check "leave: the note names a group of processes" stranger leave 239.1.2.3 '-PID START' 239.1.2.3
check "leave: the note is empty" stranger leave 239.1.2.3 '' 239.1.2.3
check "no-router: the process of the note began at another time" stranger no-router router 'PID 1'
check "no-dhcp: the process of the note began at another time" stranger no-dhcp dhcp 'PID 1'
edited() { # succeeds if a leave is refused when the note of a running join has been changed to the pid of a sleep
	local pid
	held join 239.1.2.3 239.1.2.3 || return 1
	sleep 300 &
	pid=$!
	sed -i "s/^[0-9]*/$pid/" "$(note 239.1.2.3)"
	refuse 1 '239.1.2.3 is not under way on v0$' hook leave 239.1.2.3 && kill -0 $pid && kill $pid && kill $held_pid
}
check "a note that is edited to the id of a sleep is refused, and the sleep lives" edited
gone() {
	echo "$held_pid 1" >"${note_of[239.1.2.3]}"
	wait $held_pid
	refuse 1 'not under way on v0$' hook leave 239.1.2.3
}
check "nor is a process that is gone under way" gone
over() { # end a join by SIGTERM, as its time limit does
	held join 239.1.2.3 239.1.2.3 || return 1
	kill $held_pid
	wait $held_pid
	[ ! -e "${note_of[239.1.2.3]}" ]
}
check "a hook that ends removes its note" over
stale() { # make notes like those of killed hooks; the next hook must remove the old notes of its user, and keep all other notes
	local old=("${note_of[239.1.2.3]}-old" "$work/conform-hook-$(id -u)-1-v0-router")
	local others=("$work/conform-hook-99999-1-v0-router" "$work/conform-hook-$(id -u)-2-v0-router")
	mkdir "$work/conform-hook-$(id -u)-folder"
	echo 1 1 | tee "${old[0]}" "${others[@]}" >/dev/null
	: >"${old[1]}"
	touch -d '10 minutes ago' "${old[@]}" "${others[0]}" "$work/conform-hook-$(id -u)-folder"
	held join 239.1.2.3 239.1.2.3 && ls "$work" && equal "" "$(ls -d "${old[@]}" 2>/dev/null)" && ls -d "${others[@]}" "$work/conform-hook-$(id -u)-folder" || return 1
	rm "${others[@]}"
	hook leave 239.1.2.3 && wait $held_pid
}
check "a hook removes its user's notes that are older than any step" stale
router() {
	held router router || { wait $held_pid; [ $? = 77 ]; return; }
	hook no-router && wait $held_pid
}
check "router and no-router" router
finish
