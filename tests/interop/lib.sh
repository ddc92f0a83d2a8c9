# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions of the interop tests beyond those of tests/system/lib.sh: fabrics in ibnetdiscover's format, a lab without
# an embedded subnet manager, and Debian's OpenSM on this lab or on ibsim.
#
#	. tests/interop/lib.sh
#	topo_fat_tree 8 >"$work/lab.topo"
#	ibsim_start "$work/lab.topo"; osm_start ibsim; osm_wait_up; osm_stop; ibsim_stop
#	conf_external "$work/lab.topo" >"$work/lab.conf"; lab_start; osm_start lab; ...
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"
UMAD2SIM=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -1)
ibsim_pid='' ibsim_in='' osm_pid='' osm_dir=''

# --- fabrics

# topo_fat_tree K: print a fat tree with three levels of K-port switches and K^3/4 hosts. Each of K pods has edge and
# aggregation switches; (K/2)^2 core switches connect the pods
topo_fat_tree() {
	awk -v k="$1" '
	function link(a, ap, b, bp) { line[a] = line[a] sprintf("[%d] \"%s\"[%d]\n", ap, b, bp); line[b] = line[b] sprintf("[%d] \"%s\"[%d]\n", bp, a, ap) }
	function sw(name) { order[n++] = name; ports[name] = k; type[name] = "Switch" }
	BEGIN {
		h = k / 2
		for (p = 0; p < k; p++) for (i = 0; i < h; i++) { sw("edge" p "_" i); sw("aggr" p "_" i) }
		for (c = 0; c < h * h; c++) sw("core" c)
		for (p = 0; p < k; p++) for (i = 0; i < h; i++) {
			for (j = 0; j < h; j++) {
				name = "Hca" (p * h * h + i * h + j + 1)
				order[n++] = name; ports[name] = 1; type[name] = "Hca"
				link("edge" p "_" i, j + 1, name, 1)
				link("edge" p "_" i, h + j + 1, "aggr" p "_" j, i + 1)
				link("aggr" p "_" i, h + j + 1, "core" (i * h + j), p + 1)
			}
		}
		for (i = 0; i < n; i++) printf "%s %d \"%s\"\n%s\n", type[order[i]], ports[order[i]], order[i], line[order[i]]
	}'
}

# topo_torus X Y HOSTS: print a 2-D torus of switches with HOSTS hosts each; ports 1 to 4 lead to the neighbours in +x, -x,
# +y and -y
topo_torus() {
	awk -v X="$1" -v Y="$2" -v H="$3" '
	function name(x, y) { return "Switch" ((y + Y) % Y) * X + (x + X) % X + 1 }
	BEGIN {
		for (y = 0; y < Y; y++) for (x = 0; x < X; x++) {
			s = y * X + x + 1
			printf "Switch %d \"Switch%d\"\n", 4 + H, s
			printf "[1] \"%s\"[2]\n[2] \"%s\"[1]\n", name(x + 1, y), name(x - 1, y)
			printf "[3] \"%s\"[4]\n[4] \"%s\"[3]\n", name(x, y + 1), name(x, y - 1)
			for (h = 1; h <= H; h++) printf "[%d] \"Hca%d\"[1]\n", 4 + h, (s - 1) * H + h
			print ""
		}
		for (i = 1; i <= X * Y * H; i++)
			printf "Hca 1 \"Hca%d\"\n[1] \"Switch%d\"[%d]\n\n", i, int((i - 1) / H) + 1, (i - 1) % H + 5
	}'
}

# topo_hcas TOPO: print "NAME PORT" for the first connected port of each HCA in the file TOPO
topo_hcas() {
	sed 's/#.*//' "$1" | awk -F'"' '/^(Hca|Ca)[ \t]/ { hca = $2; next } /^(Switch|Rt)[ \t]/ { hca = "" }
		/^\[/ && hca != "" { match($0, /[0-9]+/); print hca, substr($0, RSTART, RLENGTH); hca = "" }'
}

# conf_external TOPO [LINE...]: print a configuration of this fabric without the embedded SM; uib0 of host N is on the N-th
# HCA of the file
conf_external() {
	local topo=$1 i=0 hca port
	shift
	printf '[fabric lab]\ntopology = %s\nsm = external\nibsim = %s\n' "$topo" "$inst"
	[ $# = 0 ] || printf '%s\n' "$@"
	while read -r hca port; do
		i=$((i + 1))
		printf '\n[interface uib0@h%d]\nport = fabric:lab/%s/%s\naddress = 10.4.%d.%d/16\naddress = fd04::%d/64\n' \
			$i "$hca" "$port" $((i / 250)) $((i % 250)) $i
	done < <(topo_hcas "$topo")
}

# --- ibsim, for comparison; its sockets are named "$inst-ibsim"

# ibsim_start TOPO [OPTION...]: start ibsim. Its standard input stays open, because ibsim reads commands from it
# (ibsim_cmd), and would use all CPU time at an end of file
ibsim_start() {
	local topo=$1 fifo=$work/ibsim.in
	shift
	rm -f "$fifo"
	mkfifo "$fifo"
	IBSIM_SOCKNAME=$inst-ibsim ibsim -s "$@" "$topo" <>"$fifo" >"$work/ibsim.log" 2>&1 &
	ibsim_pid=$!
	exec {ibsim_in}<>"$fifo"
	eventually 10 grep -q '^sim>' "$work/ibsim.log"
}

# ibsim_cmd WORD...: give ibsim a command, and wait until ibsim has performed the command and prompts for the
# next command
ibsim_cmd() {
	local before
	before=$(ibsim_prompts)
	printf '%s\n' "$*" >&"$ibsim_in"
	eventually 10 ibsim_prompted "$before"
}
ibsim_prompts() { grep -o 'sim>' "$work/ibsim.log" | wc -l; }
ibsim_prompted() { [ "$(ibsim_prompts)" -gt "$1" ]; }

ibsim_stop() {
	[ -n "$ibsim_pid" ] || return 0
	exec {ibsim_in}>&-
	kill "$ibsim_pid" && wait "$ibsim_pid"
	ibsim_pid=
} 2>/dev/null

# on_sim ibsim|lab NODE CMD...: run a program on a node through Debian's libumad2sim.so. The library makes a folder
# sys-PID with some hundred files in the working folder, and removes the folder sys-PID at the end. On ext4 these files
# took half of the CPU time of these tests: for each new file, ext4 searches for an inode that was not deleted in the
# last seconds. So the working folder of an isolated test is in /run, which is in memory.
sim_cwd=$work/cwd
[ -z "${TEST_ISOLATED:-}" ] || sim_cwd=/run/umad2sim
on_sim() {
	sim_env "$1" "$2"
	"${sim_env[@]}" "${@:3}"
}

# asked ibsim|lab NODE CMD...: run CMD as on_sim does, and print its output; CMD must end by itself. libumad2sim.so may
# deadlock when a program ends, and on a busy machine the program's time-outs may be too short. In both cases the program is
# run again.
asked() {
	local try status
	for try in 1 2 3 4 5; do
		on_sim "$1" "$2" timeout -k 1 90 "${@:3}" >"$work/asked" 2>"$work/asked.err" </dev/null
		status=$?
		[ $status != 124 ] && [ $status != 137 ] && ! grep -Eqi 'timed out|timeout|query failed' "$work/asked.err" && break
	done
	cat "$work/asked.err" >&2
	cat "$work/asked"
	return $status
}

# sim_env ibsim|lab NODE: set the array sim_env to the words that must precede a command so that the command runs on
# this node. A script that starts a command in the background puts the words of sim_env before the command. Then
# $! is the pid of the command. With on_sim, $! would be the pid of a shell.
sim_env() {
	local name=$inst
	[ "$1" = lab ] || name=$inst-ibsim
	[ -d "$sim_cwd" ] || mkdir -p "$sim_cwd"
	sim_env=(env -C "$sim_cwd" "IBSIM_SOCKNAME=$name" "SIM_HOST=$2" "LD_PRELOAD=$UMAD2SIM")
}

# --- OpenSM

# osm_start ibsim|lab|exec NODE [OPTION...]: start OpenSM on this node, through libumad2sim, or with `exec` through
# libuipoib-umad.so. Its files (log, opensm.fdbs, ...) are in $osm_dir, which is a new folder each time. If there is a file
# $work/guid2lid, OpenSM assigns the LIDs in it.
osm_start() {
	local where=$1 node=$2
	shift 2
	osm_dir=$(mktemp -d "$work/osm.XXXXXX")
	[ ! -e "$work/guid2lid" ] || cp "$work/guid2lid" "$osm_dir"
	case $where in
	exec) sim_env=("$UIPOIB" exec "$node") ;;
	*) sim_env "$where" "$node" ;;
	esac
	OSM_CACHE_DIR=$osm_dir OSM_TMP_DIR=$osm_dir background "${sim_env[@]}" \
		opensm -d 2 -f "$osm_dir/log" -D 0x43 "$@" >"$osm_dir/out" 2>&1
	osm_pid=$!
}

# -d 2: OpenSM flushes the log after each line
osm_up() { grep -Eq 'SUBNET UP|Entering STANDBY' "$osm_dir/log"; }
osm_wait_up() { eventually "${1:-20}" osm_up; }

# osm_stop [SIGNAL]: end OpenSM. Its log up to this moment is stored as log.up, because only these lines are checked.
# OpenSM is killed if it has not ended after a while: at exit libumad2sim.so may deadlock, because it joins a thread
# that waits for a lock of the exiting thread.
osm_stop() {
	[ -n "$osm_pid" ] || return 0
	cp "$osm_dir/log" "$osm_dir/log.up"
	kill "-${1:-TERM}" "$osm_pid"
	within 20 not kill -0 "$osm_pid" || kill -KILL "$osm_pid"
	wait "$osm_pid"
	osm_pid=
} >/dev/null 2>&1

# settled N: succeeds if the N hosts of conf_hosts have made all their requests to the SA, and the switches forward to all
# members of all groups. Each host has subscribed to four traps, and is a full member of five groups: broadcast; all hosts
# of IPv4; all hosts of IPv6; and one group for each of two IPv6 addresses. From then on the records of the SA do not
# change.
settled() {
	equal "$((5 * $1)) $((4 * $1))" "$(settled_records --smkey 1 MCMR PortGid) $(settled_records IIR SubscriberGID)" &&
		u fabric check --at h2 --seconds 0
}
settled_records() { x h2 saquery -t 60000 "${@:1:$#-1}" 2>&1 | grep -c "${!#}\."; }

# osm_errors LOG: print each error in the log once, without the parts that change from run to run
osm_errors() {
	grep -hE ' 0x01 -> |ERR [0-9A-F]{4}' "$1" | sed -E 's/^.*-> //; s/(TID|tid) ?[:=]? ?0x[0-9a-f]+/TID/g' | sort -u
}

# free_udp_ports N: print N unused ports of 127.0.0.1 in one line
free_udp_ports() {
	python3 - "$1" <<-'E'
	import socket, sys
	s = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(int(sys.argv[1]))]
	for x in s:
	    x.bind(("127.0.0.1", 0))
	ports = [x.getsockname()[1] for x in s]
	for x in s:
	    x.close()  # now, because the reader of the line may use the ports before this program has ended
	print(*ports)
	E
}

# --- a second instance, which $work/far.conf configures. Its HCAs are at the far ends of UDP links

far_pid=''
uf() { "$UIPOIB" -n "$inst-far" "$@"; }
xf() { UIPOIB_NAME=$inst-far "$UIPOIB" exec "$@"; }
bxf() { UIPOIB_NAME=$inst-far background "$UIPOIB" exec "$@"; }

far_start() {
	"$UIPOIB" run -c "$work/far.conf" -n "$inst-far" >>"$work/far.log" 2>&1 &
	far_pid=$!
}

# far_remember: record the processes of the second instance, so that lab_gone can search for them
far_remember() {
	local p
	for p in $(descendants "$far_pid"); do
		lab_procs+=" $p:$(identity "$p")"
	done
}

# far_down: end the second instance by SIGINT, and return its exit status
far_down() {
	local status
	kill -INT "$far_pid" && wait "$far_pid"
	status=$?
	far_pid=
	return $status
}

# near_and_far HERE PEER FAR_HERE FAR_PEER: write two configurations and start an instance with each: lab.conf with h1, h2
# and a UDP link from Switch1/7, and far.conf with h3 at the other end of the link. The arguments are UDP ports of
# 127.0.0.1. The hosts have the addresses 10.4.0.1 to 10.4.0.3
near_and_far() {
	{
		printf '[fabric lab]\ntopology = %s\n' "$PWD/examples/udp-link.topo"
		printf '\n[udp-link far]\nport = fabric:lab/Switch1/7\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' "$1" "$2"
		conf_iface uib0 1 "address = 10.4.0.1/24" "address = fd04::1/64"
		conf_iface uib0 2 "address = 10.4.0.2/24" "address = fd04::2/64"
	} >"$work/lab.conf"
	cat >"$work/far.conf" <<-E
	[interface uib0@h3]
	port = udp:127.0.0.1:$4,guid=0xace0000000c003,listen=127.0.0.1:$3
	address = 10.4.0.3/24
	address = fd04::3/64
	E
	far_start
	lab_up
	uf wait --timeout $patience >>"$work/far.log" 2>&1 || {
		echo "not ok - the far end comes up"
		sed 's/^/# /' "$work/far.log" "$work/lab.log" | tail -40
		exit 1
	}
	far_remember
}

# --- an unreliable cable between the two instances: tests/interop/relay.py

# relay_start SEED NEAR NEAR_PEER FAR FAR_PEER: start the relay between the two ends of a UDP link. The last four
# arguments are the UDP ports that near_and_far gets, in the same order
relay_start() {
	rm -f "$work/relay.in"
	mkfifo "$work/relay.in"
	exec 7<>"$work/relay.in"
	background python3 tests/interop/relay.py "$work/relay.in" "$1" "127.0.0.1:$3" "127.0.0.1:$2" \
		"127.0.0.1:$5" "127.0.0.1:$4" >"$work/relay.out" 7>&-
	relay_pid=$!
}
cable() { echo "set $*" >&7; }

# relay_stats: print JSON with the number of faults of each kind, summed over both directions
relay_stats() {
	local lines
	lines=$(wc -l <"$work/relay.out")
	echo stats >&7
	eventually 5 relay_answered "$lines" && tail -1 "$work/relay.out"
}
# overruns PORT...: print the number of datagrams that the kernel has dropped at these UDP ports. The kernel drops
# datagrams if the receiving program, on a busy machine, does not read for a long time
overruns() {
	local port n=0
	for port; do
		n=$((n + $(awk -v port="$(printf ':%04X' "$port")" '$2 ~ port "$" { n += $NF } END { print n + 0 }' /proc/net/udp)))
	done
	echo $n
}
relay_answered() { [ "$(wc -l <"$work/relay.out")" -gt "$1" ]; }

# --- flows whose contents show damage: tests/system/integrity.c

integrity=$TOOLS/integrity

# udp_flow FROM TO FROM_ADDRESS TO_ADDRESS COUNT LEAST [GROUP]: send COUNT datagrams of 1400 octets; at least
# LEAST must arrive, all of them undamaged. FROM and TO are "x h1" or "xf h3"
udp_flow() {
	local from=$1 to=$2 file=$work/flow.$RANDOM pid
	b$to $integrity udp-recv "$4" 7777 ${7:+"$7"} >"$file"
	pid=$!
	eventually 10 grep -q ready "$file" || { echo "the receiver does not start"; return 1; }
	# The SM and the switches handle a join only after the socket's join has returned, so wait until a first
	# datagram arrives.
	eventually 10 udp_probe "$from" "$3" "${7:-$4}" "$file" || { echo "nothing arrives"; return 1; }
	$from $integrity udp-send "$3" 7777 "${7:-$4}" "$5" 1400 || return 1
	kill -TERM $pid
	wait $pid
	tail -1 "$file"
	tail -1 "$file" | jq -e --argjson least "$6" '.corrupt == 0 and .different >= $least' >/dev/null
}

udp_probe() {
	$1 $integrity udp-send "$2" 7777 "$3" 1 1400 && within 1 grep -q first "$4"
}

# tcp_flow FROM TO FROM_ADDRESS TO_ADDRESS OCTETS: send OCTETS; all of them must arrive undamaged
tcp_flow() {
	local file=$work/flow.$RANDOM
	b$2 $integrity tcp-recv "$4" 7777 >"$file"
	eventually 10 grep -q ready "$file" || { echo "the receiver does not start"; return 1; }
	$1 $integrity tcp-send "$3" 7777 "$4" "$5"
}

# counted u|uf LAYER REGEX: print the sum of the counters of this layer whose names match
counted() { $1 -j stats show | jq --arg l "$2" --arg re "$3" '[.. | objects | select(.layer == $l and (.counter | test($re))) | .value] | add // 0'; }
