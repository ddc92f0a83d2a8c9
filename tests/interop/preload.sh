#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests libuipoib-umad.so without a daemon. Programs run with a test server (umad_server.py) in place of the daemon. The
# server also sends messages that the daemon never sends. Then shells, coreutils, perl and python read the library's
# files below /sys.
. tests/interop/lib.sh
need python3 perl
lib=$(dirname "$UIPOIB")/libuipoib-umad.so
ib=/sys/class/infiniband

# server_start [SEED]: start umad_server.py at $work/sock
server_start() {
	rm -f "$work/sock" "$work/server.log"
	python3 tests/interop/umad_server.py "$work/sock" "$@" >"$work/server.log" 2>&1 &
	server=$!
	eventually 10 grep -q ready "$work/server.log"
}

on() { UIPOIB_UMAD=$work/sock LD_PRELOAD=$lib "$@"; }

# says WANT CMD...: succeeds if the command's output is WANT
says() {
	local want=$1
	shift
	equal "$want" "$(on "$@" 2>&1)"
}

# The programs print TAP lines themselves.
cases() {
	on "$@" || failed=1
}

check "the server starts" server_start
cases "$TOOLS/umad_files"
cases "$TOOLS/umad_client"
cases "$TOOLS/umad_client" gone
check "the server ended because it was told to" wait "$server"

server_stop() {
	kill "$server"
	wait "$server"
} 2>/dev/null

server_start 1
cases "$TOOLS/umad_random" 1000 1
server_stop

server_start
check "ls" says $'uipoib0\nuipoib1' ls $ib
check "ls -R comes to every file" says "$(printf '%s\n' lid pkeys state)" \
	bash -c "ls -R $ib | sed -n '/ports.1:/,/^\$/p' | sed -n '2,4p'"
check "ls -l, without a word about labels and lists" says "-r--r--r-- 20 $ib/uipoib0/node_guid" \
	bash -c "ls -l $ib/uipoib0/node_guid | awk '{ print \$1, \$5, \$NF }'"
check "cat" says '0002:c903:0000:0001' cat $ib/uipoib0/node_guid
check "cat of what a shell opened" says '0002:c903:0000:0001' bash -c "cat <$ib/uipoib0/node_guid"
check "find" says $'/dev/infiniband/issm0\n/dev/infiniband/umad0' bash -c 'find /dev/infiniband -type c | sort'
check "cp" says '0x7' bash -c "cp $ib/uipoib0/ports/1/lid '$work/lid' && cat '$work/lid'"
check "grep -r" says "$ib/uipoib1/ports/1/lid:0x8" grep -r 0x8 $ib
for sh in bash dash; do
	check "$sh: patterns" says "$ib/uipoib0/ports/1/lid $ib/uipoib1/ports/1/lid" $sh -c "echo $ib/*/ports/1/lid"
	check "$sh: a working directory, and programs in it" says $'lid pkeys state\n0x7\n'"$ib/uipoib0/ports/1" \
		$sh -c "cd $ib/uipoib0/ports && cd 1 && echo * && cat lid && pwd"
	check "$sh: tests" says $'file\nreadable' \
		$sh -c "cd /; [ -f $ib/uipoib0/node_type ] && echo file; [ -r $ib/uipoib0/node_type ] && echo readable"
	check "$sh: what is written is refused" refuse 1 'Permission denied|cannot create' \
		on $sh -c "echo x >$ib/uipoib0/node_type || exit 1"
done
check "perl" says "uipoib0 uipoib1 1: CA" perl -e \
	"opendir D, '$ib'; open F, '<', '$ib/uipoib0/node_type'; print join(' ', (grep { !/^\\./ } readdir D), <F>)"
check "python" says "['uipoib0', 'uipoib1'] [('$ib/uipoib1', ['ports'], ['node_type'])]" python3 -c \
	"import os; print(sorted(os.listdir('$ib')), [w for w in os.walk('$ib/uipoib1')][:1])"
check "children of python and perl" says $'1: CA\n1: CA' python3 -c \
	"import subprocess; subprocess.run(['perl', '-e', 'system \"cat $ib/*/node_type\"'])"
check "ibstatus" says "0x7" bash -c "ibstatus uipoib0 2>&1 | awk '/base lid/ { print \$3 }'"
check "verbs devices are not there" refuse 2 'No such file' on ls /sys/class/infiniband_verbs
server_stop

# The server has ended, so nobody answers at the socket that UIPOIB_UMAD names.
check "no daemon: no class" refuse 2 'No such file' on ls $ib
check "no daemon: all else is as ever" on bash -c 'ls / >/dev/null && cat /etc/passwd >/dev/null && [ -d /sys/class/net ]'
check "no variable: nothing is redirected" equal "$(ls -d $ib /dev/infiniband 2>&1)" \
	"$(LD_PRELOAD=$lib ls -d $ib /dev/infiniband 2>&1)"
check "a name that is too long is as none" env UIPOIB_UMAD="$(printf '%0200d' 0)" LD_PRELOAD="$lib" ls /

finish
