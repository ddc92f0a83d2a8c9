#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kill_own of lib.sh, by which the scripts end their programs, sends signals to children of the script only.
. "$(dirname "$0")/lib.sh"

sleep 60 &
own=$!
other=$(sleep 60 >/dev/null & echo $!) # its parent is another shell, which has ended
check "a process of another shell gets no signal" kill_own "$other"
check "and goes on" kill -0 "$other"
kill "$other"
ended_by_signal() { kill_own "$@" "$own"; wait "$own"; equal $((128 + 9)) $?; }
check "a child gets the signal" ended_by_signal -KILL
check "a child that has ended is no error" kill_own "$own"
in_a_subshell() (
	sleep 60 &
	kill_own $! && wait $!
	equal $((128 + 15)) $?
)
check "a child of a subshell gets SIGTERM" in_a_subshell
finish
