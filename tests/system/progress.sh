#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A long operation shows its progress if standard error is a terminal, and removes the progress at the end. If standard
# error is a pipe or a file, no progress is written.
. "$(dirname "$0")/lib.sh"
need script ip jq
export TERM=xterm
erase=$'\r\e[K'
topo_ring 2 1 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
sed -i 's/^port = .*Hca2.*/&\npkey = 0x8123/' "$work/lab.conf" # an interface that does not come up

# on_terminal FILE CMD...: run CMD on a terminal of 70 columns; FILE gets the output of the terminal
on_terminal() {
	local file=$1 status
	shift
	printf '%q ' stty cols 70 >"$work/typed"
	printf '; cd %q; exec ' "$work" >>"$work/typed"
	printf '%q ' "$@" >>"$work/typed"
	script -qec "bash $work/typed" /dev/null </dev/null >"$file"
	status=$?
	tr -d '\r' <"$file" | tail -5
	return $status
}
has() { # FILE TEXT: succeeds if the file contains TEXT
	[[ "$(cat "$1")" == *"$2"* ]] || { cat -v "$1" | tail -5; return 1; }
}
# final FILE: print the text that is left on the terminal, without the erased lines
final() { sed -z 's/[^\n]*\r\x1b\[K//g; s/\r//g' "$1"; }

# The file's path stays short, because a line that is longer than the terminal is wide would be cut.
import_command=("$UIPOIB" fabric import lab.topo -o made.topo --force)
import() (cd "$work" && "${import_command[@]}")
check "an import on a terminal" on_terminal "$work/tty" "${import_command[@]}"
for step in "reading it" "finding its nodes and cables" writing; do
	check "shows the step '$step'" has "$work/tty" "${erase}lab.topo: $step$erase"
done
check "an import into a pipe" import
import >"$work/pipe" 2>&1
check "prints the same, without the steps" equal "$(cat "$work/pipe")" "$(final "$work/tty")"
check "and no control character" not grep -q '[[:cntrl:]]' "$work/pipe"

start() { on_terminal "$work/tty" "$UIPOIB" run -c "$work/lab.conf" -n "$inst" --timeout 3 -- true; }
check "an instance on a terminal does not come up" refuse 4 'not up' start
check "while it waits, the terminal shows for what" grep -q $'\r\e\[K'"$inst, [0-9]* s: uib0@h2: " "$work/tty"
check "the message is on a line of its own" has "$work/tty" "${erase}uipoib: after 3 s: not up"
check "and the progress is gone" not grep -q ' s: uib0@h2: ' <(final "$work/tty" | grep -v '^uipoib: after')
start_in_pipe() { "$UIPOIB" run -c "$work/lab.conf" -n "$inst" --timeout 3 -- true; }
check "an instance without a terminal says only that" refuse 4 '^uipoib: after 3 s: not up' start_in_pipe
check "and no control character, too" not grep -q '[[:cntrl:]]' "$work/refuse.out"

# With --timeout 10, `uipoib run` waits 10 s for the links, and then up to 20 s for an answer of the daemon.
hang() {
	local run daemon
	rm "$work/tty"
	on_terminal "$work/tty" "$UIPOIB" run -c "$work/lab.conf" -n "$inst" --timeout 10 -- true &
	run=$!
	eventually 10 grep -qs ' s: uib0@h2: ' "$work/tty" && daemon=$(u -j instance show | jq '.instance[0].pid') && kill -STOP "$daemon" || return 1
	eventually 60 grep -q 'does not answer' "$work/tty"
	kill -CONT "$daemon"
	wait "$run"
}
check "an instance that hangs while its start is shown is given up" refuse 4 'after 30 s: the instance does not answer' hang

# In the foreground, an instance writes its log to the terminal that also shows the progress. At the end the terminal must show
# only lines of the log. No rest of a progress line may stand before a log line.
sed -i '/^pkey/d' "$work/lab.conf"
foreground() {
	on_terminal "$work/tty" "$UIPOIB" run -c "$work/lab.conf" -n "$inst" &
	eventually 60 u wait --timeout 0 && eventually 60 grep -q 'uib0@h2: up' "$work/tty" && u stop >/dev/null && wait $!
}
check "an instance in the foreground of a terminal" foreground
left() { final "$work/tty" | grep -v '^[0-9]*\.[0-9]* ' | grep -v '^uipoib: stopping$' | grep .; }
check "has nothing on it but the lines of the log" not left
check "and the log is there" has "$work/tty" "uib0@h2: up"
finish
