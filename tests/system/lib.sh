# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the system tests share: TAP lines, waiting for events, one instance of uipoib ("the lab") with
# its own name, and the proof that nothing of it is left behind.
#
#	. tests/system/lib.sh
#	topo_ring 4 3 >"$work/lab.topo"; conf_hosts 4 >"$work/lab.conf"
#	lab_up
#	check "h1 reaches h4" x h1 ping -c 1 10.4.0.4
#	lab_down
#	finish
#
# UIPOIB is the binary (default build/uipoib), TOOLS the folder of the C tools beside it.
set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
UIPOIB=$(realpath "${UIPOIB:-build/uipoib}")
TOOLS=$(realpath -m "${TOOLS:-$(dirname "$UIPOIB")/system}")
work=$(mktemp -d "${TMPDIR:-/tmp}/test-uipoib.XXXXXX")
inst=${0##*/}
inst=${inst%.sh}
inst=${inst:0:20}-$$
export UIPOIB_NAME=$inst
unset UIPOIB_RUNTIME_DIR
failed=0 lab_pid='' lab_procs='' lab_spaces='' jobs_pids=''

# --- TAP

# check WHAT CMD...: one test, what it printed is shown if it fails
check() {
	local what=$1 status
	shift
	"$@" >"$work/check.out" 2>&1
	status=$?
	if [ $status = 0 ]; then
		echo "ok - $what"
		return 0
	fi
	failed=1
	echo "not ok - $what"
	tail -40 "$work/check.out" | sed 's/^/#   /'
	echo "#   status $status of: $*"
	return 1
}

skip() { echo "ok - $1 # SKIP $2"; }

# refuse STATUS REGEX CMD...: the command must end with STATUS and say REGEX
refuse() {
	local want=$1 text=$2 status
	shift 2
	"$@" >"$work/refuse.out" 2>&1
	status=$?
	cat "$work/refuse.out"
	[ "$status" = "$want" ] || { echo "status $status, expected $want"; return 1; }
	grep -Eq -- "$text" "$work/refuse.out" || { echo "expected: $text"; return 1; }
}

# equal WANT GOT
equal() {
	[ "$1" = "$2" ] || { printf 'expected: %s\ngot: %s\n' "$1" "$2"; return 1; }
}

# not CMD...
not() { ! "$@"; }

# --- time

# eventually SECONDS CMD...: until it succeeds
eventually() {
	local deadline=$((SECONDS + $1)) out
	shift
	until out=$("$@" 2>&1); do
		if [ $SECONDS -ge $deadline ]; then
			printf '%s\n' "$out"
			return 1
		fi
		sleep 0.05
	done
	[ -z "$out" ] || printf '%s\n' "$out"
}

# background PROGRAM...: it runs until the script ends; its pid is $!
background() {
	"$@" &
	jobs_pids+=" $!"
}

# is_running PID: it has become uipoib. A shell starts what is in the background with SIGINT ignored: use
# env --default-signal=INT, and send SIGINT only when this is true.
is_running() { [ "$(readlink "/proc/$1/exe")" = "$UIPOIB" ]; }

# --- the lab

# topo_ring HOSTS SWITCHES: Hca1.. spread over a ring of Switch1.., as ibnetdiscover prints it
topo_ring() {
	awk -v hosts="$1" -v switches="$2" 'BEGIN {
		ports = int((hosts + switches - 1) / switches) + 2
		for (s = 1; s <= switches; s++) {
			printf "Switch %d \"Switch%d\"\n", ports, s
			for (h = s; h <= hosts; h += switches)
				printf "[%d] \"Hca%d\"[1]\n", int((h - s) / switches) + 1, h
			printf "[%d] \"Switch%d\"[%d]\n\n", ports, s % switches + 1, ports - 1
		}
		for (h = 1; h <= hosts; h++) {
			s = (h - 1) % switches + 1
			printf "Hca 1 \"Hca%d\"\n[1] \"Switch%d\"[%d]\n\n", h, s, int((h - s) / switches) + 1
		}
	}'
}

# conf_hosts N [LINE...]: [fabric lab] of lab.topo with LINEs, and uib0 on h1 .. hN
conf_hosts() {
	local n=$1 i
	shift
	printf '[fabric lab]\ntopology = lab.topo\n'
	[ $# = 0 ] || printf '%s\n' "$@"
	for ((i = 1; i <= n; i++)); do
		conf_iface uib0 "$i" "address = 10.4.$((i / 250)).$((i % 250))/16" "address = fd04::$i/64"
	done
}

# conf_iface NAME I [LINE...]: an interface of host I on port HcaI/1
conf_iface() {
	printf '\n[interface %s@h%s]\nport = fabric:lab/Hca%s/1\n' "$1" "$2" "$2"
	shift 2
	[ $# = 0 ] || printf '%s\n' "$@"
}

u() { "$UIPOIB" "$@"; }
x() { "$UIPOIB" exec "$@"; }
bx() { background "$UIPOIB" exec "$@"; } # it becomes the command: $! is the command's pid

lab_socket() { echo "/run/uipoib/$inst.sock"; }

# descendants PID: it, its children and theirs
descendants() {
	local p
	[ -d "/proc/$1" ] || return 0
	echo "$1"
	for p in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		descendants "$p"
	done
}

# identity PID: the same number later is another process unless this is the same
identity() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# Processes and namespaces that the lab has now
lab_remember() {
	local p
	for p in $(descendants "$lab_pid"); do
		lab_procs+=" $p:$(identity "$p")"
	done
	for p in $(u -j host show 2>/dev/null | jq -r '.host[] | select(.anonymous) | .host'); do
		lab_spaces+=" $(x "$p" readlink /proc/self/ns/net)=$(x "$p" "$netns_cookie" /proc/self/ns/net)"
	done
}

# lab_start [OPTION...]: run it in the background; its log is $work/lab.log
lab_start() {
	"$UIPOIB" run -c "${lab_conf:-$work/lab.conf}" -n "$inst" "$@" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 20 lab_answers
}

lab_answers() {
	kill -0 "$lab_pid" 2>/dev/null || return 0 # it ended: no use in waiting
	u -n "$inst" instance show >/dev/null 2>&1
}

# lab_up: and wait until all interfaces are; the script is over if they do not come
lab_up() {
	if lab_start "$@" && u wait --timeout "${lab_patience:-30}" >>"$work/lab.log" 2>&1; then
		lab_remember
		return 0
	fi
	echo "not ok - the lab comes up"
	sed 's/^/# /' "$work/lab.log" | tail -40
	exit 1
}

# lab_down: end it as Ctrl-C would; its exit status
lab_down() {
	local status
	[ -n "$lab_pid" ] || return 0
	kill -INT "$lab_pid" 2>/dev/null
	wait "$lab_pid"
	status=$?
	lab_pid=
	return $status
}

# space_users NAME=COOKIE: the files of it, if any. The name, net:[NUMBER], is given again to others; the cookie says whose
# it is now.
space_users() {
	local name=${1%=*} number f
	number=${name//[^0-9]/}
	{
		find /proc/[0-9]*/ns/net /proc/[0-9]*/fd -lname "net:\\[$number\\]"
		awk -v n="$name" '$4 == n { print $5 }' /proc/self/mountinfo
	} 2>/dev/null | while read -r f; do
		[ "$("$netns_cookie" "$f" 2>/dev/null)" != "${1#*=}" ] || echo "$f"
	done
}

# lab_gone: nothing of what lab_remember saw is there any more
lab_gone() {
	local p f left=0
	for p in $lab_procs; do
		[ -n "${p#*:}" ] && [ "$(identity "${p%:*}")" = "${p#*:}" ] || continue
		echo "process: $(tr '\0' ' ' <"/proc/${p%:*}/cmdline") ($(grep State "/proc/${p%:*}/status"))"
		left=1
	done
	for p in $lab_spaces; do
		for f in $(space_users "$p"); do
			echo "namespace: $p is $f of $(tr '\0' ' ' <"/proc/$(cut -d/ -f3 <<<"$f")/cmdline")"
			left=1
		done
	done
	for p in $(ls -d "/run/uipoib/$inst"* /tmp/*"$inst"* /dev/shm/*"$inst"* 2>/dev/null); do
		echo "file: $p"
		left=1
	done
	return $left
}

# --- all pairs

# neigh_limits_raise: the kernel's neighbour table is one for all namespaces; for as long as the script
# runs, and one such script at a time. Fails where they cannot be raised.
neigh_limits_raise() {
	local f hosts=$1
	exec 9>/run/lock/uipoib-neigh && flock 9
	neigh_saved=()
	for f in /proc/sys/net/ipv[46]/neigh/default/gc_thresh[123]; do
		[ -w "$f" ] || return 1
		neigh_saved+=("$f=$(cat "$f")")
	done
	on_cleanup=neigh_limits_restore
	for f in "${neigh_saved[@]%%=*}"; do echo $((hosts * hosts * 4)) >"$f"; done
}

neigh_limits_restore() {
	local s
	for s in "${neigh_saved[@]}"; do
		echo "${s#*=}" >"${s%%=*}"
	done
	on_cleanup=''
}

# pairs N SECONDS: h1 .. hN of conf_hosts each reach every other. Each begins with its neighbour: not all ask
# the same one at a time.
pairs() {
	local n=$1 patience=$2 i k pids='' bad=0 list
	for ((i = 1; i <= n; i++)); do
		list=()
		for ((k = 0; k < n - 1; k++)); do
			list+=("10.4.$((((i + k) % n + 1) / 250)).$((((i + k) % n + 1) % 250))")
		done
		bx "h$i" "$TOOLS/ping_all" "$patience" "${list[@]}" >"$work/left.$i"
		pids+=" $!"
	done
	for i in $pids; do
		wait "$i" || bad=$((bad + 1))
	done
	[ $bad = 0 ] || { grep -c . "$work"/left.* | grep -v ':0$' | head; echo "$bad hosts do not reach all"; return 1; }
}

# --- the end

end_jobs() {
	local p
	for p in $jobs_pids $(jobs -p); do
		[ "$p" = "$lab_pid" ] || { kill -KILL "$p" && wait "$p"; } 2>/dev/null
	done
	jobs_pids=
}

cleanup() {
	trap - EXIT INT TERM
	end_jobs
	if [ -n "$lab_pid" ]; then
		kill -TERM "$lab_pid" 2>/dev/null
		wait "$lab_pid" 2>/dev/null
	fi
	[ -z "${on_cleanup:-}" ] || $on_cleanup
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# finish: the last line of a script
finish() {
	end_jobs
	lab_down
	check "nothing is left behind" eventually 10 lab_gone
	if [ $failed = 1 ] && [ -s "$work/lab.log" ]; then
		echo "# the lab said:"
		tail -30 "$work/lab.log" | sed 's/^/#   /'
	fi
	exit $failed
}

need() {
	local p
	for p; do
		command -v "$p" >/dev/null || { skip "${0##*/}" "$p is not installed"; exit 0; }
	done
}

[ "$(id -u)" = 0 ] || { skip "${0##*/}" "it needs root"; exit 0; }
[ -x "$UIPOIB" ] || { echo "not ok - $UIPOIB is built"; exit 1; }
netns_cookie=$TOOLS/netns_cookie
if [ ! -x "$netns_cookie" ]; then # the step that runs this needs no other tool
	netns_cookie=$work/netns_cookie
	"${CC:-cc}" -D_GNU_SOURCE -o "$netns_cookie" tests/system/netns_cookie.c || exit 1
fi
need jq
