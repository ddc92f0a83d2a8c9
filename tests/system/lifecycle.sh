#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# An instance starts and ends in all possible ways, and leaves no process, interface, namespace, socket or file behind. An
# idle instance uses no CPU time.
#
#	uipoib run (supervisor)
#	   +-- daemon          h1 .. h4: anonymous namespaces on a ring of 3 switches
#	   |     +-- helper
#	   +-- CMD             uib9: an interface in the caller's own namespace
. "$(dirname "$0")/lib.sh"
need ping
topo_ring 5 3 >"$work/lab.topo"
conf_hosts 4 >"$work/lab.conf"
# The script runs itself again in a network namespace of its own, because an interface of this lab is made in the namespace of
# the caller.
if [ "${1:-}" != inside ]; then
	trap - EXIT
	rm -rf "$work"
	exec unshare --net bash "$0" inside
fi
printf '\n[interface uib9]\nport = fabric:lab/Hca5/1\naddress = 10.4.0.5/16\n' >>"$work/lab.conf"
interfaces() { ip -o link show | awk -F': ' '{ print $2 }' | sort | tr '\n' ' '; }
before=$(interfaces)

all_gone() {
	lab_gone && equal "$before" "$(interfaces)" && not test -e "$(lab_socket)"
}

# supervisor, daemon, helper: print the pid of this process of the instance
supervisor() { echo "$lab_pid"; }
daemon() { cat "/proc/$lab_pid/task/$lab_pid/children" | tr -d ' '; }
helper() { cat "/proc/$(daemon)/task/"*"/children" | awk '{ print $1 }'; }

forget() { lab_pid='' lab_procs='' lab_spaces=''; }

# --- ways in which an instance ends

run_cmd() {
	u run -n "$inst" -c "$work/lab.conf" -- sh -c 'ping -n -c 1 -w 60 10.4.0.1 && "$1" exec h2 ping -n -c 1 -w 60 10.4.0.5' - "$UIPOIB"
}
for k in 1 2 3; do
	check "run, round $k" run_cmd
	check "nothing is left behind" all_gone
done
for s in 0 1 42; do
	check "the status of the command is the status of run: $s" refuse $s '^done$' \
		u run -n "$inst" -c "$work/lab.conf" -- sh -c "echo done; exit $s"
done

lab_up
check "there are three processes" equal 3 "$(descendants "$lab_pid" | wc -l)"
check "there is an interface" equal "lo uib9 " "$(interfaces)"
check "it works" eventually 20 ping -n -c 1 -W 5 10.4.0.3
check "Ctrl-C ends it with status 0" lab_down
check "nothing is left behind" all_gone
forget

lab_up
kill -TERM "$lab_pid"
check "SIGTERM ends it with status 0" wait "$lab_pid"
check "nothing is left behind" all_gone
forget

# terminal_up: start the lab in a terminal of its own. script(1), the process $terminal, holds the other end of the terminal. An instance
# that has a terminal is ended by SIGHUP. tests/system/reload.sh tests SIGHUP without a terminal.
terminal_up() {
	script -qefc "exec '$UIPOIB' run -n '$inst' -c '$work/lab.conf'" /dev/null </dev/null >>"$work/lab.log" 2>&1 &
	terminal=$!
	eventually 20 u wait --timeout "$patience" || return 1
	lab_pid=$(tr -d ' ' <"/proc/$terminal/task/$terminal/children")
	lab_remember
	lab_pid=''
}
check "an instance starts in a terminal" terminal_up
read -r first _ <<<"$lab_procs"
kill -HUP "${first%:*}"
check "SIGHUP ends it with status 0" wait "$terminal"
check "nothing is left behind" all_gone
forget
check "an instance starts in a terminal" terminal_up
kill -KILL "$terminal"
check "a terminal that goes away ends it" eventually 20 all_gone
wait "$terminal" 2>/dev/null
forget

lab_up
kill -STOP "$(daemon)"
check "uipoib stop fails if the instance does not end in time" refuse 4 'has not ended after 0.2 s' u stop --timeout=0.2
check "a time that is none is refused" refuse 2 'stop: expected .--timeout SECONDS' u stop --timeout soon
check "a time after '=', too" refuse 2 'stop: expected .--timeout SECONDS' u stop --timeout=
check "and a time before other words" refuse 2 'wait: expected .--timeout SECONDS' u wait --timeout=1 more
kill -CONT "$(daemon)"
check "it ends as soon as it can" wait "$lab_pid"
check "nothing is left behind" all_gone
forget

lab_up
kill -STOP "$lab_pid"
check "uipoib stop fails if the supervisor does not end in time" refuse 4 'has not ended after 0.2 s' u stop --timeout 0.2
kill -CONT "$lab_pid"
check "it ends as soon as it can" wait "$lab_pid"
check "nothing is left behind" all_gone
forget

# The shell still has to read the exit status of $lab_pid, so that process is a zombie at least until `wait`.
running() { for p in $lab_procs; do [ "$(identity "${p%:*}")" != "${p#*:}" ] || grep -q 'State:.Z' "/proc/${p%:*}/status" || echo "$p"; done; }
lab_up
check "uipoib stop ends it" u stop
check "no process of it runs any more when stop returns" equal '' "$(running)"
check "with status 0" wait "$lab_pid"
check "nothing is left behind" all_gone
forget

# early SECONDS: start an instance, and send Ctrl-C (SIGINT) SECONDS later, when the instance is perhaps not up yet
early() {
	env --default-signal=INT "$UIPOIB" run -c "$work/lab.conf" -n "$inst" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 5 is_running "$lab_pid"
	[ "$1" = 0 ] || sleep "$1"
	lab_procs=$(for p in $(descendants $lab_pid); do echo "$p:$(identity "$p")"; done)
	kill_own -INT "$lab_pid"
	wait "$lab_pid"
	lab_pid=''
	eventually 5 all_gone
}
many_early() {
	local t
	for t in 0 0.001 0.002 0.004 0.006 0.008 0.012 0.02 0.04 0.1; do
		early $t || { echo "after $t s"; return 1; }
	done
}
check "Ctrl-C at any time of the start leaves nothing" many_early
forget

# ctrl_c: a terminal sends Ctrl-C to the whole process group, and therefore to the command as well
ctrl_c() {
	local status leader p
	setsid env --default-signal=INT "$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- \
		sh -c 'echo up; exec sleep 3600' >"$work/ctrl_c.out" 2>>"$work/lab.log" &
	lab_pid=$!
	eventually 20 grep -q up "$work/ctrl_c.out" || return 1
	lab_remember
	leader=$lab_pid
	lab_pid=''
	kill -INT -- "-$leader"
	wait "$leader"
	status=$?
	echo "status $status"
	[ $status = 130 ] && eventually 10 all_gone
}
check "Ctrl-C during a command: status 130, nothing is left" ctrl_c
forget

# The command is killed when the instance, and with it the hosts, have ended.
supervisor_of_cmd() {
	"$UIPOIB" run -n "$inst" -c "$work/lab.conf" -- sh -c 'echo up; exec sleep 3600' >"$work/killed.out" 2>>"$work/lab.log" &
	lab_pid=$!
	eventually 20 grep -q up "$work/killed.out" || return 1
	lab_remember
	kill -KILL "$lab_pid"
	wait "$lab_pid"
	lab_pid=''
	eventually 10 all_gone
}
check "kill -9 of the supervisor ends the command too" supervisor_of_cmd
forget

for victim in supervisor daemon helper; do
	lab_up
	pid=$($victim)
	kill -KILL "$pid"
	check "kill -9 of the $victim: all end" eventually 10 all_gone
	wait "$lab_pid" 2>/dev/null
	check "kill -9 of the $victim leaves nothing" eventually 10 all_gone
	forget
	check "and it can be started again" run_cmd
done
finish
