#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# An attacker who takes over the daemon, or who sends requests to its helper, gains no privilege. inject.c makes
# system calls inside both processes.
. "$(dirname "$0")/lib.sh"
need ping setpriv unshare
inject=$TOOLS/inject
topo_ring 2 2 >"$work/lab.topo"
conf_hosts 2 "capture = $work/start.pcap" >"$work/lab.conf"
printf 'netns = %s\n' "pr1-$$" >>"$work/lab.conf"
secret=$work/secret
echo secret >"$secret"
chmod 666 "$secret"

one() { for p in $(descendants "$lab_pid"); do grep -lx "$1" "/proc/$p/comm"; done 2>/dev/null | cut -d/ -f3 | head -1; }
daemon_of() { cat "/proc/$1/task/"*/children | awk '{ print $1 }'; }
status() { awk -v key="$2:" '$1 == key { $1 = ""; print substr($0, 2) }' "/proc/$1/status"; }
# denied PID ERRNO... CALL ARG...: succeeds if this call in the process fails with one of the errors
denied() {
	local pid=$1 want=$2 got
	shift 2
	got=$("$inject" "$pid" "$@") || return 1
	[[ " $want " == *" $got "* ]] || { echo "$* returned $got, expected $want"; return 1; }
}
attack() { # PID WHO: make system calls in the daemon PID, all of which must be refused; WHO names the daemon in the output
	local d=$1 who=$2
	check "$who: system calls are injected" equal "$d" "$("$inject" "$d" getpid)"
	check "$who: cannot become root" denied "$d" "-1" setresuid 0 0 0
	check "$who: nor another user" denied "$d" "-1" setresuid 1 1 1
	check "$who: nor have groups" denied "$d" "-1" setgroups 0 0
	check "$who: writes no file" denied "$d" "-1" openat -100 "$secret" 1 0
	check "$who: makes no file" denied "$d" "-1" openat -100 /tmp/privileges-$$ 0x41 0600
	check "$who: changes no mode" denied "$d" "-1" fchmodat -100 "$secret" 04755
	check "$who: renames nothing" denied "$d" "-1" renameat2 -100 "$secret" -100 "$secret.2" 0
	check "$who: removes nothing" denied "$d" "-1" unlinkat -100 "$secret" 0
	check "$who: kills nobody" denied "$d" "-1" kill "$lab_pid" 9
	check "$who: changes no limits" denied "$d" "-1" prlimit64 0 7 0 0
	check "$who: opens no INET socket" denied "$d" "-1" socket 2 2 0
	check "$who: no INET6 socket" denied "$d" "-1" socket 10 1 0
	check "$who: no netlink socket" denied "$d" "-1" socket 16 3 0
	check "$who: no packet socket" denied "$d" "-1" socket 17 3 0
	check "$who: makes no namespace" denied "$d" "-1" unshare 0x40000000
	check "$who: mounts nothing" denied "$d" "-1" mount none / tmpfs 0 0
	check "$who: traces nobody" denied "$d" "-1" ptrace 16 "$lab_pid" 0 0
	check "$who: makes no process" denied "$d" "-1" fork 17 0 0 0 0
}

# --- `uipoib run`, as root
lab_up
daemon=$(daemon_of "$lab_pid")
helper=$(one uipoib-helper)
check "run as root: the daemon is nobody" equal "65534 65534 65534 65534" "$(status "$daemon" Uid | tr '\t' ' ')"
check "of no other group" equal "" "$(status "$daemon" Groups | tr -d ' ')"
for caps in CapInh CapPrm CapEff CapBnd CapAmb; do
	check "$caps of the daemon is empty" equal 0000000000000000 "$(status "$daemon" $caps)"
done
check "ps shows it" equal 65534 "$(stat -c %u "/proc/$daemon/task" >/dev/null; ps -o uid= -p "$daemon" | tr -d ' ')"
check "it gains no privileges" equal 1 "$(status "$daemon" NoNewPrivs)"
check "its system calls are filtered" equal 2 "$(status "$daemon" Seccomp)"
check "its root directory is empty" equal "" "$(ls -A "/proc/$daemon/root/")"
attack "$daemon" "daemon of root"
check "daemon of root: reads no file" denied "$daemon" "-2" openat -100 /etc/passwd 0
h1_fd=$(find "/proc/$daemon/fd" -lname 'net:*' 2>/dev/null | head -1)
check "daemon of root: enters no namespace that it has open" denied "$daemon" "-1" setns "${h1_fd##*/}" 0x40000000

check "the helper's system calls are filtered" equal 2 "$(status "$helper" Seccomp)"
# The helper has CAP_NET_ADMIN (12), and CAP_SYS_ADMIN (21) because a named namespace may be made again. It has no
# CAP_SYS_PTRACE.
check "its capabilities are those that it still uses" equal 0000000000201000 "$(status "$helper" CapEff)"
attack_helper() {
	check "helper: $1" denied "$helper" "$2" "${@:3}"
}
attacks_helper() {
	attack_helper "opens no INET socket" -1 socket 2 2 0
	attack_helper "no packet socket" -1 socket 17 3 0
	attack_helper "no netlink socket of the audit" -1 socket 16 3 9
	attack_helper "writes no file" -1 openat -100 "$secret" 1 0
	attack_helper "makes no TAP" -1 openat -100 /dev/net/tun 2 0
	attack_helper "makes no process" -1 fork 17 0 0 0 0
	attack_helper "makes no namespace" -1 unshare 0x40000000
	attack_helper "mounts nothing" -1 mount none / tmpfs 0 0
	attack_helper "traces nobody" -1 ptrace 16 "$lab_pid" 0 0
}
attacks_helper
for spec in pid:1 "pr2-$$" "/proc/$PPID/ns/net" "pr1-$$" ""; do
	check "the helper opens no namespace '$spec' for another program" equal -1 "$("$inject" "$daemon" helper "$spec")"
done
follow() { equal "$1" "$("$inject" "$daemon" follow "$2")"; }
check "the helper opens again only what has a name: not the first host's namespace" follow -22 1
check "nor one that it does not know" follow -9 7
check "the second host's namespace, by its own name" follow 0 2
check "the lab works after all that" reaches4 1 2
check "a capture that was configured is written" eventually 5 test -s "$work/start.pcap"
u capture start "$work/later.pcap" >"$work/cap" 2>&1
x h1 ping -n -c 2 -i 0.2 10.4.0.2 >/dev/null
check "a client opens the file of a capture" eventually 5 test -s "$work/later.pcap"
check "stop" lab_down
check "the sockets are removed" eventually 5 test ! -e "$(lab_socket)"
check "the named namespace is removed" test ! -e "/run/netns/pr1-$$"

# --- `uipoib run`, as root, with a configuration in which no namespace has a name
sed -i '/^netns/d; /^capture/d' "$work/lab.conf"
lab_up
daemon=$(daemon_of "$lab_pid")
helper=$(one uipoib-helper)
# The helper has CAP_NET_ADMIN alone.
check "no namespace can come back: the helper may enter none" equal 0000000000001000 "$(status "$helper" CapEff)"
attacks_helper
attack_helper "no rtnetlink socket" -1 socket 16 3 0
attack_helper "enters no namespace" -1 setns 0 0x40000000
check "the helper opens no namespace again" follow -22 1
check "stop" lab_down

# --- `uipoib demo`, as root
"$UIPOIB" demo --keep -n "$inst" </dev/null >"$work/demo.out" 2>&1 &
lab_pid=$!
demo_up() { u -n "$inst" wait --timeout 1; }
check "demo runs" eventually 30 demo_up
daemon=$(daemon_of "$lab_pid")
check "demo as root: the daemon is nobody" equal "65534 65534 65534 65534" "$(status "$daemon" Uid | tr '\t' ' ')"
check "without capabilities" equal 0000000000000000 "$(status "$daemon" CapEff)"
kill -INT "$lab_pid"
{ wait "$lab_pid"; } 2>/dev/null
lab_pid=

# --- as a user without privileges, and as root of a container that has no other user
chmod 755 "$work"
cp "$UIPOIB" "$work/uipoib.user"
# Commands run as uid 1001, and as root of a user namespace that has only this user
user=(env "XDG_RUNTIME_DIR=$work/run" setpriv --reuid 1001 --regid 1001 --clear-groups)
container=(env "UIPOIB_RUNTIME_DIR=$work/run" unshare --user --map-root-user --net)
if ! "${user[@]}" unshare --user --net true 2>/dev/null; then
	skip "without root" "unprivileged user namespaces are not permitted"
	finish
fi
for who in user container; do
	declare -n as=$who
	rm -rf "$work/run"
	mkdir -m 700 "$work/run"
	[ $who = container ] || chown 1001:1001 "$work/run"
	"${as[@]}" "$work/uipoib.user" run -n "$inst" -c "$work/lab.conf" -- sh -c "echo up; exec sleep 3600" >"$work/$who.out" 2>&1 &
	lab_pid=$!
	up() { grep -qx up "$work/$who.out"; }
	if ! check "run as $who" eventually 20 up; then
		sed 's/^/# /' "$work/$who.out"
		continue
	fi
	daemon=$(status "$(one uipoib-helper)" PPid)
	check "$who: the daemon has no capabilities" equal 0000000000000000 "$(status "$daemon" CapEff)"
	check "$who: it is in a user namespace of its own" not equal "$(readlink /proc/self/ns/user)" "$(readlink "/proc/$daemon/ns/user")"
	check "$who: its root directory is empty" equal "" "$(ls -A "/proc/$daemon/root/")"
	attack "$daemon" "daemon of $who"
	kill -TERM "$lab_pid" # SIGTERM, because background jobs of a script ignore SIGINT, and so does the command of `run`
	{ wait "$lab_pid"; } 2>/dev/null
	lab_pid=
	no_socket() { equal "" "$(find "$work/run" -type s)"; }
	check "$who: the sockets are removed" eventually 5 no_socket
done
finish
