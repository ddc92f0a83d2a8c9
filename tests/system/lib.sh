# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions of the system tests: TAP lines, waiting for events, one instance of uipoib ("the lab") with its own name,
# and the proof that the instance leaves nothing behind.
#
#	. tests/system/lib.sh
#	topo_ring 4 3 >"$work/lab.topo"; conf_hosts 4 >"$work/lab.conf"
#	lab_up
#	check "h1 reaches h4" x h1 ping -c 1 10.4.0.4
#	lab_down
#	finish
#
# UIPOIB is the path of the program (default: build/uipoib). TOOLS is the folder of the C tools, beside the program.
#
# A script runs in its own network and mount namespaces (tests/isolate.sh), at the same time as others. If check.sh
# must run it in a special way, the script has a line near its beginning:  # check.sh: WORD...
#
#	alone	No other script may run at the same time.
#	long	The script takes most of a minute or more, so it is started before the others.
#	waits	The script waits most of the time. If it has no virtual machines, it is started first, and virtual machines may run
#		at the same time. If it has virtual machines, as many such scripts run at a time as there are processors.
#	builds	The script does little but compile, so it gets only the CPU time that no other program needs.
#	all	`make check-all` runs the script, and `make check` does not, because the script takes more than 12 s of CPU time.
#	night	`make check-night` runs the script, which has virtual machines, and `make check-all` does not.
#	guest	This is a unit test that needs a kernel module, so a script of tests/interop/linux runs it in its virtual machine.
set -u
export LC_ALL=C
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH # first the system's folders: a wrapper of python3, such as pyenv's, would cost a tenth of a second at each start
[ -n "${TEST_ISOLATED:-}" ] || [ "$(id -u)" != 0 ] ||
	exec bash "$(dirname "${BASH_SOURCE[0]}")/../isolate.sh" bash "$0" "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
UIPOIB=$(realpath "${UIPOIB:-build/uipoib}")
TOOLS=$(realpath -m "${TOOLS:-$(dirname "$UIPOIB")/system}")
work=$(mktemp -d "${TMPDIR:-/tmp}/test-uipoib.XXXXXX")
inst=${0##*/}
inst=${inst%.sh}
inst=${inst:0:20}-$$
export UIPOIB_NAME=$inst
unset UIPOIB_RUNTIME_DIR
failed=0 lab_pid='' lab_procs='' lab_spaces=''

# --- checks and their TAP lines

# check WHAT CMD...: run CMD as one test, which passes if CMD succeeds. The output of a CMD that fails is shown
check() {
	local what=$1 status
	shift
	delay
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
	[ -z "$lab_pid" ] || { counted_drops; kernel_counters; } | sed 's/^/#   /'
	return 1
}

# delay: if TEST_DELAY=SECONDS is set, pause for a random time of at most SECONDS. Without the pauses, a test whose result
# depends on the time between two checks fails only on a busy machine. With them, it fails on an idle machine, too.
delay() {
	[ -z "${TEST_DELAY:-}" ] || sleep "$(awk -v max="$TEST_DELAY" -v seed=$RANDOM 'BEGIN { srand(seed); print rand() * max }')"
}

# counted_drops: print the lab's counters of drops that are not 0, in one line
counted_drops() {
	timeout 10 "$UIPOIB" -j stats show 2>/dev/null |
		jq -r '.stats | map(select(.counter | test("drop|discard|error")) | [.host, .dev, .layer, .counter, .value] | map(values) | join(" ")) | "dropped: " + join(", ")'
}

# kernel_counters: print the counters of the kernel in the first six hosts, in two lines for each: echoes and errors
# of IP and ICMP, and packets and drops of each interface. The counters show the place of a loss for which uipoib has
# no counter.
kernel_counters() {
	local h
	for h in $(timeout 10 "$UIPOIB" -j host show 2>/dev/null | jq -r '.host[:6][].host'); do
		timeout 10 "$UIPOIB" exec "$h" sh -c '
			nstat -az | awk -v ORS=" " "/^I(p|cmp).*(Echo|Discards|Fails|Errors|NoRoutes|Timeout)/ && \$2 > 0 { print \$1, \$2 \",\" }"
			echo
			awk -v ORS=" " "NR > 2 { print \$1, \"rx\", \$3, \"dropped\", \$5 \", tx\", \$11, \"dropped\", \$13 \",\" }" /proc/net/dev' 2>/dev/null |
			sed "s/^/$h: /"
		echo
	done
}

skip() { echo "ok - $1 # SKIP $2"; }

# refuse STATUS REGEX CMD...: the command must end with STATUS and print a line that matches REGEX
refuse() {
	local want=$1 text=$2 status
	shift 2
	"$@" >"$work/refuse.out" 2>&1
	status=$?
	cat "$work/refuse.out"
	[ "$status" = "$want" ] || { echo "status $status, expected $want"; return 1; }
	grep -Eq -- "$text" "$work/refuse.out" || { echo "expected: $text"; return 1; }
}

# equal WANT GOT: succeeds if both are the same text
equal() {
	[ "$1" = "$2" ] || { printf 'expected: %s\ngot: %s\n' "$1" "$2"; return 1; }
}

# not CMD...: succeeds if CMD fails
not() { ! "$@"; }

# --- waiting

# within SECONDS CMD...: repeat CMD until it succeeds, and fail when SECONDS have passed. $pauses has the pauses
# between attempts, in seconds; its last value is repeated. An attempt takes some hundredths of a second of CPU time
pauses=(0.05 0.05 0.05 0.1)
within() {
	local deadline=$((SECONDS + $1)) out n=0
	shift
	until out=$("$@" 2>&1); do
		if [ $SECONDS -ge $deadline ]; then
			printf '%s\n' "$out"
			return 1
		fi
		nap "${pauses[n < ${#pauses[@]} - 1 ? n++ : n]}"
	done
	[ -z "$out" ] || printf '%s\n' "$out"
}

# nap SECONDS: sleep without starting a process, by waiting for a FIFO into which nobody writes
nap() { read -rt "$1" <>"$work/.nap"; }
mkfifo "$work/.nap"

# eventually SECONDS CMD...: repeat CMD until it succeeds. SECONDS is the longest time that this takes on an idle
# machine. The limit is never below $patience seconds, so that the test does not fail on a busy machine.
patience=90
eventually() { within $(($1 > patience ? $1 : patience)) "${@:2}"; }

# stretch: print the run time of a program divided by its CPU time, rounded up, at least 1. The more other programs run, the
# larger this number is
stretch() {
	python3 -c '
import math, time
began, used = time.monotonic(), time.process_time()
while time.process_time() - used < 0.2:
    pass
print(max(1, math.ceil((time.monotonic() - began) / (time.process_time() - used))))'
}

# background PROGRAM...: run the program in the background until the script ends; its pid is $!
background() {
	"$@" &
}

# is_running PID: succeeds if the process is uipoib already. A shell starts background processes with SIGINT ignored, so
# start uipoib by env --default-signal=INT, and send SIGINT only when this function succeeds.
is_running() { [ "$(readlink "/proc/$1/exe")" = "$UIPOIB" ]; }

# --- the lab

# topo_ring HOSTS SWITCHES: print a topology in ibnetdiscover's format, in which Hca1, Hca2, ... are spread over a ring of
# Switch1, Switch2, ...
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

# conf_hosts N [LINE...]: print the section [fabric lab] for lab.topo with LINEs, and sections for uib0 on h1 ..
# hN
conf_hosts() {
	local n=$1 i
	shift
	printf '[fabric lab]\ntopology = lab.topo\n'
	[ $# = 0 ] || printf '%s\n' "$@"
	for ((i = 1; i <= n; i++)); do
		conf_iface uib0 "$i" "address = 10.4.$((i / 250)).$((i % 250))/16" "address = fd04::$i/64"
	done
}

# conf_iface NAME I [LINE...]: print the section of an interface of host I on port HcaI/1
conf_iface() {
	printf '\n[interface %s@h%s]\nport = fabric:lab/Hca%s/1\n' "$1" "$2" "$2"
	shift 2
	[ $# = 0 ] || printf '%s\n' "$@"
}

u() { "$UIPOIB" "$@"; }
x() { "$UIPOIB" exec "$@"; }
bx() { background "$UIPOIB" exec "$@"; } # uipoib executes the command itself, so $! is the command's pid

# lab_cpu_ns: print the CPU time of all processes of the lab, in nanoseconds
lab_cpu_ns() {
	local p
	for p in $(descendants "$lab_pid"); do
		cat "/proc/$p/task/"*/schedstat
	done | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

lab_socket() { echo "/run/uipoib/$inst.sock"; }

# lab_files: print the number of open files of each process of the lab. The connection of a client that has ended stays open
# for a moment, so the numbers are read until three readings in a row show no change
lab_files() {
	local now before='' n=0 tries
	for ((tries = 0; tries < 300 && n < 3; tries++)); do
		now=$(for p in $(descendants "$lab_pid"); do ls "/proc/$p/fd" | wc -l; done | tr '\n' ' ')
		[ "$now" = "$before" ] && n=$((n + 1)) || n=0
		before=$now
		nap 0.1
	done
	echo "$now"
}

# halt PID...: stop these processes. A kill -KILL that follows then ends all of them before any of them can react to the end
# of another one
halt() {
	kill -STOP "$@" && eventually 5 halted "$@"
}
halted() {
	local p
	for p; do grep -q '^State:.*[TZ]' "/proc/$p/status" 2>/dev/null || [ ! -e "/proc/$p" ] || return 1; done
}

# kill_own [-SIGNAL] PID...: send SIGTERM, or the signal, to those of these processes that are still children of this shell.
# A child that has ended gets no signal. Its pid perhaps belongs to a program of another test by now, because a busy machine
# uses each of its 32768 pids again within a minute.
kill_own() {
	local signal=-TERM p ppid
	[[ $1 != -* ]] || { signal=$1 && shift; }
	for p; do
		ppid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$p/status" 2>/dev/null)
		if [ "$ppid" = "$BASHPID" ] || [ "$ppid" = $$ ]; then kill "$signal" "$p"; fi
	done
}

# descendants PID: print the process, its children, and their descendants
descendants() {
	local p file children all=''
	[ -d "/proc/$1" ] || return 0
	echo "$1"
	for file in "/proc/$1/task/"*/children; do
		children='' # so that it is empty if the thread has ended meanwhile and nothing is read
		read -r children <"$file" # the file has no newline, so read returns 1 although it has read the line
		all+=" $children"
	done
	for p in $all; do
		descendants "$p"
	done
} 2>/dev/null

# identity PID: print the start time of the process, by which it differs from a later process with the same pid
identity() {
	local stat fields
	read -r stat <"/proc/$1/stat" || return
	read -ra fields <<<"${stat##*) }" # the name of the program before this parenthesis can contain anything
	echo "${fields[19]}"
} 2>/dev/null

# Store the lists of the processes and namespaces that the lab has now, for lab_gone
lab_remember() {
	local p
	for p in $(descendants "$lab_pid"); do
		lab_procs+=" $p:$(identity "$p")"
	done
	for p in $(u -j host show 2>/dev/null | jq -r '.host[] | select(.anonymous) | .host'); do
		lab_spaces+=" $(x "$p" readlink /proc/self/ns/net)=$(x "$p" "$netns_cookie" /proc/self/ns/net)"
	done
}

# lab_start [OPTION...]: run the lab in the background; its log is $work/lab.log. If the lab ends or does not answer, print the
# end of its log and return 1
lab_start() {
	"$UIPOIB" run -c "${lab_conf:-$work/lab.conf}" -n "$inst" "$@" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 20 lab_answers && kill -0 "$lab_pid" 2>/dev/null && return 0
	tail -20 "$work/lab.log" | sed 's/^/# /'
	return 1
}

# lab_answers: succeeds when the instance answers, and also when it has ended, so that callers wait no longer
lab_answers() {
	kill -0 "$lab_pid" 2>/dev/null || return 0
	u -n "$inst" instance show >/dev/null 2>&1
}

# lab_up: start the lab and wait until all interfaces are up; if they do not come up, the script ends
lab_up() {
	if lab_start "$@" && u wait --timeout "$patience" >>"$work/lab.log" 2>&1; then
		lab_remember
		return 0
	fi
	echo "not ok - the lab comes up"
	sed 's/^/# /' "$work/lab.log" | tail -40
	exit 1
}

# lab_down: end the lab by SIGINT, as Ctrl-C does, and return its exit status
lab_down() {
	local status
	[ -n "$lab_pid" ] || return 0
	kill_own -INT "$lab_pid"
	wait "$lab_pid"
	status=$?
	lab_pid=
	[ $status = 0 ] || { echo "exit status $status; the lab said:"; tail -30 "$work/lab.log"; }
	return $status
}

# all_spaces: print "net:[NUMBER] FILE" for each file in /proc and each mount that refers to a network namespace
all_spaces() {
	find /proc/[0-9]*/ns/net /proc/[0-9]*/fd -lname 'net:*' -printf '%l %p\n' 2>/dev/null
	awk '$4 ~ /^net:/ { print $4, $5 }' /proc/self/mountinfo
}

# space_users NAME=COOKIE ...: print "NAME=COOKIE FILE" for each file by which one of these network namespaces is
# still in use. The kernel can give the name net:[NUMBER] of a namespace that has ended to a new one, so the cookies are
# compared, too.
space_users() {
	local name f mine=" $* "
	all_spaces | awk -v mine="$mine" '{ if (index(mine, " " $1 "=")) print }' | while read -r name f; do
		name+="=$("$netns_cookie" "$f" 2>/dev/null)"
		[[ $mine != *" $name "* ]] || echo "$name $f"
	done
}

# lab_gone: succeeds if none of the processes, namespaces and files in lab_remember's lists exists any more
lab_gone() {
	local p f left=0
	for p in $lab_procs; do
		[ -n "${p#*:}" ] && [ "$(identity "${p%:*}")" = "${p#*:}" ] || continue
		echo "process: $(tr '\0' ' ' <"/proc/${p%:*}/cmdline") ($(grep State "/proc/${p%:*}/status"))"
		left=1
	done
	# shellcheck disable=SC2086
	while read -r p f; do
		echo "namespace: $p is $f of $(tr '\0' ' ' <"/proc/$(cut -d/ -f3 <<<"$f")/cmdline")"
		left=1
	done < <(space_users $lab_spaces)
	for p in $(ls -d "/run/uipoib/$inst"* /tmp/*"$inst"* /dev/shm/*"$inst"* 2>/dev/null); do
		echo "file: $p"
		left=1
	done
	return $left
}

# no_tentative N: succeeds if no IPv6 address of hosts h1 to hN is tentative any more. Duplicate address detection takes a
# second or two
no_tentative() {
	local i
	for ((i = 1; i <= $1; i++)); do
		[ -z "$(x h$i ip -6 -o addr show tentative)" ] || return 1
	done
}

# --- pings between all pairs of hosts

# outside CMD...: run CMD in the network namespace of this script's parent, from which the script was isolated
outside() { nsenter --net="/proc/$PPID/ns/net" "$@"; }

# neigh_limits: print FILE=VALUE for each limit of the kernel's neighbour tables. The limits apply to all namespaces
# together, and the files exist only in the first network namespace.
neigh_limits() { outside sh -c 'cd /proc/sys/net && for f in ipv[46]/neigh/default/gc_thresh[123]; do echo "$f=$(cat $f)" || exit; done' 2>/dev/null; }

# neigh_limits_set FILE=VALUE...: write these limits
neigh_limits_set() { outside sh -c 'cd /proc/sys/net && for s; do echo "${s#*=}" >"${s%%=*}" || exit; done' sh "$@" 2>/dev/null; }

# neigh_limits_raise HOSTS: raise the limits so that there is room for all neighbour entries of HOSTS hosts, in addition
# to the entries of other scripts that run now. Fails if the limits cannot be raised. neigh_limits_restore takes
# back what this script has added, so the old limits are back when the last such script has ended.
neigh_limits_raise() {
	neigh_limits_share $(($1 * $1 * 4)) && on_cleanup=neigh_limits_restore
}
neigh_limits_restore() {
	neigh_limits_share 0
	on_cleanup=''
}

# neigh_limits_share ENTRIES: set the number of entries that this script adds to each limit. All scripts share a file in the
# /run of the parent's mount namespace. Its line "was FILE=VALUE ..." has the limits before the first change, and it has a
# line "user PID IDENTITY ENTRIES" for each script that adds to the limits.
neigh_limits_share() {
	(
		flock 9 || exit 1
		was=$(neigh_limits_were)
		[ "$(wc -w <<<"$was")" = 6 ] || exit 1
		users=$(neigh_limits_others)
		[ "$1" = 0 ] || users+=$'\n'"user $$ $(identity $$) $1"
		printf '%s\n' "was $was" "$users" >"$neigh_file"
		more=$(awk '/^user/ { n += $4 } END { print n + 0 }' "$neigh_file")
		[ "$more" != 0 ] || : >"$neigh_file"
		# shellcheck disable=SC2086
		neigh_limits_set $(for f in $was; do echo "${f%=*}=$((${f#*=} + more))"; done)
	) 9>>"$neigh_file"
}
neigh_file=/proc/$PPID/root/run/lock/uipoib-neigh

# neigh_limits_were: print, in one line, the limits as they were before any script changed them
neigh_limits_were() {
	local was
	was=$(sed -n 's/^was //p' "$neigh_file")
	echo ${was:-$(neigh_limits)}
}

# neigh_limits_others: print the lines "user ..." of other scripts that still run, from the file of neigh_limits_share
neigh_limits_others() {
	local word p id n
	while read -r word p id n; do
		[ "$word" = user ] && [ "$p" != $$ ] && [ "$(identity "$p")" = "$id" ] && echo "user $p $id $n"
	done <"$neigh_file"
}

# all_pairs N FUNCTION ARG...: call FUNCTION for every ordered pair of h1 .. hN, with the two numbers before the ARGs
all_pairs() {
	local n=$1 a b
	for ((a = 1; a <= n; a++)); do
		for ((b = 1; b <= n; b++)); do
			[ $a = $b ] || "$2" $a $b "${@:3}" || return 1
		done
	done
}

# ping_to HOST ADDRESS [OPTION...]: HOST pings ADDRESS until there is an answer. A ping can be lost although there is no fault
# (see "round trips that count" below), and on a busy machine an answer can come late
ping_to() { eventually 20 x "$1" ping -n -q -c 1 -W 5 "${@:3}" "$2"; }

# reaches4 A B, reaches6 A B: hA pings the IPv4 or IPv6 address that conf_hosts gives hB
reaches4() { ping_to "h$1" "10.4.0.$2"; }
reaches6() { ping_to "h$1" "fd04::$2"; }

# pairs_done N: succeeds when each of N hosts has received answers from all other hosts
pairs_done() { equal "$1" "$(cat "$work"/left.* | grep -cx all)"; }

# pairs N SECONDS: succeeds if each of the hosts h1 to hN of conf_hosts reaches all other hosts. Each host begins with the
# host of the next number, so that the hosts do not all ping the same host at the same time. SECONDS has the same meaning
# as for eventually. On a busy machine the limit is multiplied by stretch, because there are N * (N - 1) pings.
pairs() {
	local n=$1 seconds=$((($2 > patience ? $2 : patience) * $(stretch))) i k pids='' bad=0 list
	rm -f "$work"/left.*
	for ((i = 1; i <= n; i++)); do
		list=()
		for ((k = 0; k < n - 1; k++)); do
			list+=("10.4.$((((i + k) % n + 1) / 250)).$((((i + k) % n + 1) % 250))")
		done
		bx "h$i" "$TOOLS/ping_all" $seconds "${list[@]}" >"$work/left.$i"
		pids+=" $!"
	done
	within $((seconds + 10)) pairs_done "$n"
	# shellcheck disable=SC2086
	kill_own $pids
	for i in $pids; do
		wait "$i" || bad=$((bad + 1))
	done
	[ $bad = 0 ] || { grep -vc '^all$' "$work"/left.* | grep -v ':0$' | head; echo "$bad hosts do not reach all"; return 1; }
}

# --- flows

# flow_start FROM TO FROM_ADDRESS TO_ADDRESS: send TCP from host FROM to host TO at 160 Mb/s, until flow_stop
flow_start() {
	bx "$2" python3 -B "$PWD/tests/system/flow.py" recv "$4" 5301 >"$work/flow"
	flow_receiver=$!
	eventually 10 grep -q ready "$work/flow" || return 1
	bx "$1" python3 -B "$PWD/tests/system/flow.py" send "$3" 5301 "$4"
	flow_sender=$!
	eventually 10 grep -q connected "$work/flow"
}

# flow_stop CONDITION: end the flow and print the receiver's report (see flow.py). Fails if CONDITION is not true for the
# report
flow_stop() {
	kill -TERM "$flow_sender" && wait "$flow_sender" && wait "$flow_receiver" || { echo "the flow broke off"; return 1; }
	tail -1 "$work/flow"
	tail -1 "$work/flow" | jq -e "$1" >/dev/null
}

# --- round trips that count

# The kernel answers the pings of all namespaces by one socket for each CPU, whose memory another script can use up
# for seconds (doc/platform/icmp-shared.c). So a ping can be lost although there is no fault, and probes that must not
# be lost are sent by UDP.
declare -A probes=()

# probe_start NAME HOST OTHER ADDRESS [COUNT [MS]]: HOST sends a datagram to ADDRESS, which OTHER sends back. HOST does so every MS
# milliseconds (default: 50), COUNT times, or until probe_end. $work/probe.NAME is the output of udp_echo.
probe_start() {
	local port=$((7000 + ${#probes[@]})) server
	bx "$3" "$udp_echo" serve "$port" >"$work/echo.$1"
	server=$!
	eventually 10 grep -q ^ready "$work/echo.$1" || return 1
	bx "$2" "$udp_echo" ask "$4" "$port" "${5:-100000000}" "${6:-50}" >"$work/probe.$1"
	probes[$1]="$! $server"
}

# probe_wait NAME: wait until all datagrams have been sent. probe_end NAME: end the probe now
probe_wait() {
	wait "${probes[$1]% *}"
	kill "${probes[$1]#* }"
	tail -2 "$work/probe.$1"
}
probe_end() {
	kill -INT "${probes[$1]% *}"
	probe_wait "$1"
}

# probe_lost_nothing NAME: end the probe. All its datagrams must have been answered, except for the last one or two,
# whose answers were perhaps still on their way
probe_lost_nothing() {
	probe_end "$1"
	sed -n 's/^seq=\([0-9]*\) time=.*/\1/p' "$work/probe.$1" | sort -nu |
		awk '$1 != ++n { print "number " n " has no answer"; exit 1 } END { exit !n }' &&
		sed -n 's/^\([0-9]*\) packets transmitted, \([0-9]*\) received.*/\1 \2/p' "$work/probe.$1" | awk '{ exit !($2 >= $1 - 2) }'
}

# asks HOST ADDRESS: make HOST send an ARP request for ADDRESS, so that the hosts that receive it learn the address of
# HOST. A host sends a request only for an address that it does not know, so the neighbours are flushed before
asks() { x "$1" ip neigh flush dev uib0 && x "$1" ping -n -q -c 3 -i 0.1 -W 5 "$2"; }

# --- router advertisements

# advertise HOST mtu N | prefix P...: make the host send a router advertisement with this MTU or these prefixes
advertise() { x "$1" /usr/bin/python3 -B tests/system/ra.py "${@:2}"; }
heard_ras() { x h1 awk '$1 == "Icmp6InRouterAdvertisements" { print $2 }' /proc/net/snmp6; }
ra_came() { [ "$(heard_ras)" -gt "$1" ]; }

# advertised_mtu SENT WANT: let h2 advertise the MTU SENT. Succeeds if h1 gets the advertisement, and then has the MTU WANT for IPv6
advertised_mtu() {
	local before
	before=$(heard_ras)
	advertise h2 mtu "$1" && eventually 5 ra_came "$before" && equal "$2" "$(ipv6_mtu h1)"
}
ipv6_mtu() { x "$1" cat /proc/sys/net/ipv6/conf/uib0/mtu; }

# late_datagrams HOST: print the number of datagrams that HOST's sockets had no room for, because the receiving program
# got no CPU time for long
late_datagrams() {
	x "$1" cat /proc/net/snmp /proc/net/snmp6 |
		awk '$1 == "Udp:" { n = $6 } $1 == "Udp6RcvbufErrors" { n += $2 } END { print n + 0 }'
}

# --- the end of a script

end_jobs() {
	local p
	for p in $(jobs -rp); do # only jobs that still run, because the pid of an ended child perhaps belongs to another program by now
		[ "$p" = "$lab_pid" ] || { kill -KILL "$p" && wait "$p"; } 2>/dev/null
	done
}

# End the jobs that still run, as after an interruption, together with their children, which would outlive a job that
# end_jobs kills.
end_jobs_children() {
	local p
	for p in $(jobs -rp); do # shellcheck disable=SC2046
		[ "$p" = "$lab_pid" ] || kill $(descendants "$p")
	done
} 2>/dev/null

cleanup() {
	trap - EXIT INT TERM
	end_jobs_children
	end_jobs
	if [ -n "$lab_pid" ]; then
		kill_own "$lab_pid"
		wait "$lab_pid" 2>/dev/null
	fi
	[ -z "${on_cleanup:-}" ] || $on_cleanup
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# finish: end background jobs and the lab, check that nothing is left behind, and exit. Every script calls finish in its
# last line
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
udp_echo=$TOOLS/udp_echo
netns_cookie=$TOOLS/netns_cookie
if [ ! -x "$netns_cookie" ]; then # build it, because some steps run scripts without having built the C tools
	netns_cookie=$work/netns_cookie
	"${CC:-cc}" -D_GNU_SOURCE -o "$netns_cookie" tests/system/netns_cookie.c || exit 1
fi
need jq
