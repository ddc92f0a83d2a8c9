#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# An instance runs under a service manager. By the protocol of sd_notify(3), `uipoib run` reports
#	- that all interfaces are up (READY=1), or which interface is missing (STATUS=);
#	- that the daemon works (WATCHDOG=1);
#	- that the instance ends (STOPPING=1).
# With --ready-fd, `uipoib run` reports to the reader of a pipe that all interfaces are up.
. "$(dirname "$0")/lib.sh"
need python3 jq ip
topo_ring 2 1 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lines() { grep -c "$1" "$work/notify" || true; }

# managed ADDRESS WATCHDOG_MS [ARG ...]: start the lab under service_manager.py
managed() {
	rm -f "$work/notify"
	python3 tests/system/service_manager.py "$1" "$work/notify" "$2" "$UIPOIB" run -c "$work/lab.conf" -n "$inst" "${@:3}" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
}
ended() { # end the lab by SIGTERM, as a service manager does
	kill -TERM "$lab_pid"
	wait "$lab_pid"
	local status=$?
	lab_pid=
	equal 0 $status
}

# --- the service reports that it is ready, alive, and stopping
managed "$work/notify.sock" 400
check "READY=1 when the interfaces are up" eventually 30 grep -q 'READY=1 STATUS=all interfaces are up' "$work/notify"
check "at that time all are up" u wait --timeout 0
lab_remember
more_than() { [ "$(lines WATCHDOG=1)" -gt "$1" ]; }
check "WATCHDOG=1 again and again" eventually 30 more_than 3
daemon=$(u -j instance show | jq '.instance[0].pid')
kill -STOP "$daemon"
silent() { # succeeds if the service reports nothing for three times the watchdog's time
	local before
	before=$(lines WATCHDOG=1)
	sleep 1.2
	equal "$before" "$(lines WATCHDOG=1)"
}
check "no WATCHDOG=1 while the daemon stands still" eventually 30 silent
kill -CONT "$daemon"
check "WATCHDOG=1 when it goes on" eventually 30 more_than "$(lines WATCHDOG=1)"
check "READY=1 was said once" equal 1 "$(lines READY=1)"
check "the instance ends by SIGTERM" ended
check "STOPPING=1 at the end" grep -qx STOPPING=1 "$work/notify"

# --- NOTIFY_SOCKET is an abstract address, and there is no watchdog
managed "@$inst" 0
check "an abstract address" eventually 30 grep -q READY=1 "$work/notify"
check "it ends, too" ended
check "no WATCHDOG=1 where nobody asks for it" equal 0 "$(lines WATCHDOG=1)"

# --- an interface that does not come up
sed -i 's/^port = .*Hca2.*/&\npkey = 0x8123/' "$work/lab.conf"
managed "$work/other.sock" 400 --timeout 0.2
check "STATUS says what is missing" eventually 30 grep -q 'STATUS=.*uib0@h2' "$work/notify"
check "no READY=1 then" equal 0 "$(lines READY=1)"
check "it can be ended while it waits" ended
sed -i '/^pkey/d' "$work/lab.conf"

# --- --ready-fd with a pipe
mkfifo "$work/ready"
"$UIPOIB" run -c "$work/lab.conf" -n "$inst" --ready-fd 3 3>"$work/ready" >>"$work/lab.log" 2>&1 &
lab_pid=$!
check "--ready-fd: a newline, then the end of the file" equal "$(printf '\n.')" "$(cat "$work/ready"; echo .)"
check "and all are up" u wait --timeout 0
check "the lab ends" lab_down
check "with CMD, too, and CMD has no NOTIFY_SOCKET" equal "$(printf 'none\n.')" \
	"$(NOTIFY_SOCKET=$work/gone "$UIPOIB" run -c "$work/lab.conf" -n "$inst" -- sh -c 'echo ${NOTIFY_SOCKET-none}' 2>>"$work/lab.log"; echo .)"
gone_reader() { "$UIPOIB" run -c "$work/lab.conf" -n "$inst" --ready-fd 3 3> >(:) -- true; }
check "a reader that is gone does no harm" gone_reader

# --- wrong options and variables
run_it() { "$UIPOIB" run -c "$work/lab.conf" -n "$inst" "$@"; }
check "a descriptor that is not open" refuse 2 '--ready-fd 77: Bad file descriptor' run_it --ready-fd 77
check "a descriptor that is none" refuse 2 "--ready-fd 'x'" run_it --ready-fd x
check "standard output is none for it" refuse 2 "--ready-fd '1'" run_it --ready-fd 1
NOTIFY_SOCKET=nonsense check "an address that is none" refuse 3 "NOTIFY_SOCKET: 'nonsense', expected a path" run_it
export WATCHDOG_USEC=x NOTIFY_SOCKET=$work/gone
check "a watchdog's time that is none" refuse 3 "WATCHDOG_USEC: 'x', expected microseconds" run_it
unset WATCHDOG_USEC NOTIFY_SOCKET
finish
