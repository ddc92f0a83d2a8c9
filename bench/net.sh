#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures TCP, UDP and round trips between two hosts. The rows of the table are measured in turn:
#
#	veth			a --------- veth --------- b, offloads on
#	whole, segment, crc	a -- TAP == relay == TAP -- b: the modes of bench/relay.c
#	whole2, segment2, crc2	the same with two threads, one for each direction
#	lazy, full		a -- Hca1 == Switch1 == Switch2 == Switch3 == Hca2 -- b: uipoib, crc = lazy, and crc = full
#	lazyN, fullN		the same with N switches, 1 to 9
#	udp			as lazy, but Hca2 is in a second process, and its link to Switch3 runs over UDP on lo
#	vxlan			a -- vxlan == veth == vxlan -- b: the kernel's tunnel
#	ovs			a -- TAP == ovs-vswitchd == TAP -- b: Open vSwitch with its datapath in user space, and TSO
#	vde			a -- TAP == vde_switch == TAP -- b; its packets have at most 1500 octets
#	pasta			a -- TAP == pasta -- b: pasta (of passt) opens a socket at b for each connection of a
#
# Without ROWS, the rows are veth whole segment crc lazy full udp, and those of vxlan ovs vde pasta that this machine can run.
#
# Figures (without FIGURES, all but udp64_recv):
#
#	tcp tcp_r		Gb/s received of one flow, a to b and b to a (cubic)
#	tcp4 tcp4_r		of four flows together
#	tcp6			of one flow over IPv6
#	udp64			UDP datagrams of 64 octets received, in thousands a second; sent as fast as iperf3 can.
#				iperf3 receives each datagram by select() and read()
#	udp64_recv		the same; sent and received by bench/udp_rate, which receives each datagram by recv()
#	udp64_gro		the same; bench/udp_rate receives with UDP_GRO: one recvmsg() takes all datagrams that
#				the kernel got as one super-frame
#	udp64_rate		the same, sent at RATE_KPPS
#	udp1400			the same as udp64 for datagrams of 1400 octets
#	rtt1			round trip in us: median (rtt1_p50) and 99th percentile (rtt1_p99); client and server run on
#				one CPU
#	rtt2			the same; client and server run on two CPUs
#	FIGURE_lost		UDP datagrams lost, per cent
#	FIGURE_cpu		CPU time (user and system) of the processes that relay: ms per Gb of TCP, us per
#				UDP datagram
#
# All rows are set up together, and a row is idle while another row is measured. Each round measures each row once, and each
# round begins with another row than the previous round. A row that was set up twice does not have the same figures twice:
# they differ by up to a tenth until the row is ended. So the rows are set up anew SETUPS times (at most ROUNDS), each time for an
# equal share of the ROUNDS. The figures are printed as a table and written to build/bench/net.json by bench/net_report.py.
#
#	ROUNDS=6 SETUPS=3 SECONDS_EACH=1 ROWS="veth lazy full" FIGURES="tcp rtt1" MTUS="2044 4092" RATE_KPPS=50 JSON=FILE net.sh
set -u
cd "$(dirname "$0")/.." || exit 1
# others: print the rows of other programs that this machine can run; the kernel's vxlan needs no program
others() {
	! ip link add bench-vxlan type vxlan id 1 dstport 4789 2>/dev/null || { ip link del bench-vxlan && echo vxlan; }
	! command -v ovs-vswitchd ovsdb-server ovs-vsctl >/dev/null || echo ovs
	! command -v vde_switch >/dev/null || echo vde
	! command -v pasta >/dev/null || echo pasta
}
[ "$(id -u)" = 0 ] || { echo "net: needs root (network namespaces)" >&2; exit 3; }
[ -n "${TEST_ISOLATED:-}" ] || exec bash tests/isolate.sh bash "$PWD/bench/net.sh" "$@"
. bench/cpu_lib.sh
O=${O:-build}
U=$PWD/$O/uipoib
rounds=${ROUNDS:-6} setups=${SETUPS:-3} secs=${SECONDS_EACH:-1} mtus=${MTUS:-2044} rate=${RATE_KPPS:-50}
rows=${ROWS:-veth whole segment crc lazy full udp $(others)}
all_figures="tcp tcp_r tcp4 tcp4_r tcp6 udp64 udp64_recv udp64_gro udp64_rate udp1400 rtt1 rtt2"
figures=${FIGURES:-${all_figures/ udp64_recv/}}
json=${JSON:-$O/bench/net.json}
work=$(mktemp -d /tmp/bench.XXXXXX) # a short path, because sockets are below it
values=$work/values # all measured values
declare -A relays # PIDs of the processes that relay, by row
all=() started=() spaces=()

tear_down() { # end all rows
	local p n
	for p in "${started[@]}"; do
		kill "$p" 2>/dev/null
	done
	wait
	for n in "${spaces[@]}"; do
		ip netns delete "$n"
	done
	find "$work" -mindepth 1 ! -path "$values" -delete
	all=() started=() spaces=() relays=()
}
cleanup() {
	tear_down
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

usage() { echo "net: $*" >&2; exit 2; }
die() { echo "net: $*" >&2; exit 1; }

in_list() { # WORD LIST...: succeeds if WORD is in LIST
	local w
	for w in "${@:2}"; do [ "$w" != "$1" ] || return 0; done
	return 1
}

# Check all words before anything is measured.
for w in $rows; do
	in_list "$w" veth whole segment crc whole2 segment2 crc2 lazy full {lazy,full}{1..9} udp vxlan ovs vde pasta || usage "there is no row '$w' in ROWS"
done
for w in $figures; do
	# shellcheck disable=SC2086
	in_list "$w" $all_figures || usage "there is no figure '$w' in FIGURES"
done
for w in $mtus; do
	in_list "$w" 2044 4092 || usage "MTU '$w' in MTUS is not 2044 or 4092"
done
for w in "ROUNDS $rounds" "SETUPS $setups" "SECONDS_EACH $secs" "RATE_KPPS $rate"; do
	[[ $w =~ \ [1-9][0-9]{0,4}$ ]] || usage "${w%% *} '${w#* }' is not a number from 1 to 99999"
done
[ "$setups" -le "$rounds" ] || setups=$rounds # each set-up is measured

# --- rows: each row_ function gets the row's name, the MTU and the network namespaces of the row's two hosts

background() { # run in the background; the PID is $!, and the process ends with the script
	"$@" &
	started+=($!)
}

new_netns() { # NETNS: make a network namespace, which ends with the row
	ip netns add "$1" && spaces+=("$1")
}

host_up() { # NETNS DEVICE I: give the device 10.98.0.I and fd98::I, and set it up
	ip -n "$1" addr add "10.98.0.$3/24" dev "$2" && ip -n "$1" addr add "fd98::$3/64" dev "$2" nodad && ip -n "$1" link set "$2" up
}

row_veth() {
	ip link add v1 mtu "$2" netns "$3" type veth peer name v2 mtu "$2" netns "$4" && host_up "$3" v1 1 && host_up "$4" v2 2
}

row_relay() {
	local mode=${1%@*} threads=()
	[ "$mode" = "${mode%2}" ] || threads=(-t)
	background "$O/bench/relay" "${threads[@]}" -m "$2" "${mode%2}" "$3:t1" "$4:t2" >"$work/$1.ready" 2>"$work/$1.log"
	relays[$1]=$!
	for _ in {1..100}; do
		grep -qx ready "$work/$1.ready" && break
		sleep 0.05
	done
	host_up "$3" t1 1 && host_up "$4" t2 2
}

topo() { # SWITCHES: print a line of switches between Hca1 and Hca2
	local i n=$1
	for ((i = 1; i <= n; i++)); do
		printf 'Switch 8 "Switch%d"\n' "$i"
		if [ "$i" = 1 ]; then printf '[1] "Hca1"[1]\n'; else printf '[1] "Switch%d"[2]\n' $((i - 1)); fi
		if [ "$i" = "$n" ]; then printf '[2] "Hca2"[1]\n\n'; else printf '[2] "Switch%d"[1]\n\n' $((i + 1)); fi
	done
	printf 'Hca 1 "Hca1"\n[1] "Switch1"[1]\n\nHca 1 "Hca2"\n[1] "Switch%d"[2]\n' "$n"
}
conf_fabric() { # TOPOLOGY CRC MTU: print the section of the fabric, and write its partitions file, whose groups give interfaces this MTU
	printf 'Default=0x7fff, ipoib, mtu=%d : ALL=full;\n' $(($3 / 2044 + 3)) >"$work/$3.partitions" # 4 means 2048 octets, 5 means 4096
	printf '[fabric lab]\ntopology = %s\ncrc = %s\npartitions = %s\n' "$1" "$2" "$3.partitions"
}
conf_iface() { # I NETNS PORT: print the section of uib0 on host I
	printf '[interface uib0@h%d]\nnetns = %s\nport = %s\naddress = 10.98.0.%d/24\naddress = fd98::%d/64\n' "$1" "$2" "$3" "$1" "$1"
}
instance() { # NAME CONFIGURATION: start this instance in the background
	background "$U" run -n "$1" -c "$2" >"$work/$1.log" 2>&1
}

row_uipoib() {
	local row=${1%@*} crc switches
	crc=${row%[1-9]}
	switches=${row#"$crc"} switches=${switches:-3}
	topo "$switches" >"$work/$switches.topo"
	{
		conf_fabric "$switches.topo" "$crc" "$2"
		conf_iface 1 "$3" fabric:lab/Hca1/1
		conf_iface 2 "$4" fabric:lab/Hca2/1
	} >"$work/$1.conf"
	instance "${1/@/-}" "$work/$1.conf"
	relays[$1]=$!
}

row_udp() {
	local port=$((5000 + $2))
	topo 3 >"$work/3.topo"
	{
		conf_fabric 3.topo lazy "$2"
		conf_iface 1 "$3" fabric:lab/Hca1/1
		printf '[udp-link far]\nport = fabric:lab/Switch3/7\nlisten = 127.0.0.1:%d\n' $port
	} >"$work/$1.conf"
	conf_iface 2 "$4" "udp:127.0.0.1:$port,guid=0x0002c90300000021" >"$work/$1-far.conf"
	instance "${1/@/-}" "$work/$1.conf"
	relays[$1]=$!
	instance "${1/@/-}-far" "$work/$1-far.conf"
	relays[$1]+=" $!"
}

# --- rows of other programs

# The tunnel and its veth pair are in two namespaces of their own. The ends of the tunnel keep their sockets there when they
# are moved to the hosts. The headers of the tunnel have 50 octets.
row_vxlan() {
	local i under other
	for i in 1 2; do new_netns "$1-under$i" || return 1; done
	ip link add u1 mtu $(($2 + 50)) netns "$1-under1" type veth peer name u2 mtu $(($2 + 50)) netns "$1-under2" || return 1
	for i in 1 2; do
		under=$1-under$i other=$((3 - i))
		ip -n "$under" addr add 10.97.0.$i/24 dev u$i && ip -n "$under" link set u$i up &&
			ip -n "$under" link add x$i mtu "$2" type vxlan id 1 local 10.97.0.$i remote 10.97.0.$other dstport 4789 &&
			ip -n "$under" link set x$i netns "${@:2+i:1}" && host_up "${@:2+i:1}" x$i $i || return 1
	done
}

# to_hosts MTU A B: move the TAPs t1 and t2 to the hosts
to_hosts() {
	ip link set t1 mtu "$1" netns "$2" && ip link set t2 mtu "$1" netns "$3" && host_up "$2" t1 1 && host_up "$3" t2 2
}

row_ovs() {
	local dir=$work/ovs$2
	local db=unix:$dir/db
	mkdir "$dir" && ovsdb-tool create "$dir/conf.db" /usr/share/openvswitch/vswitch.ovsschema || return 1
	export OVS_RUNDIR=$dir
	background ovsdb-server "$dir/conf.db" --remote="p$db" --unixctl="$dir/dbctl" 2>"$work/$1.log"
	ovs-vsctl --db="$db" --retry --timeout=20 --no-wait init -- set Open_vSwitch . other_config:userspace-tso-enable=true || return 1
	background ovs-vswitchd "$db" --unixctl="$dir/ctl" 2>>"$work/$1.log"
	relays[$1]=$!
	ovs-vsctl --db="$db" --retry --timeout=20 add-br "ovs$2" -- set bridge "ovs$2" datapath_type=netdev -- add-port "ovs$2" t1 -- set interface t1 type=internal \
		-- add-port "ovs$2" t2 -- set interface t2 type=internal >>"$work/$1.log" 2>&1 && to_hosts "$2" "$3" "$4"
}

row_vde() {
	vde_switch -d -p "$work/$1.pid" -s "$work/vde$2" -tap t1 -tap t2 >"$work/$1.log" 2>&1 || return 1
	for _ in {1..100}; do
		[ ! -s "$work/$1.pid" ] || break
		sleep 0.05
	done
	relays[$1]=$(cat "$work/$1.pid")
	started+=("${relays[$1]}")
	to_hosts 1500 "$3" "$4"
}

# The host b has an interface only for its addresses, and for the routes that pasta looks for. pasta runs at b and makes the TAP
# of a. For a's pings, pasta needs sockets that send pings, which Linux allows only to the groups in ping_group_range.
row_pasta() {
	ip -n "$4" link add d2 mtu "$2" type veth peer name end && ip -n "$4" link set end mtu "$2" up && host_up "$4" d2 2 || return 1
	ip -n "$4" route add default via 10.98.0.254 dev d2 && ip -n "$4" route add default via fd98::fe dev d2 || return 1
	ip netns exec "$4" sysctl -q net.ipv4.ping_group_range='0 2147483647'
	ip netns exec "$4" pasta --foreground --runas 0 --no-map-gw -I t1 -m "$2" -a 10.98.0.1 -n 24 -g 10.98.0.254 -a fd98::1 -g fd98::fe \
		-t none -u none -T none -U none --no-dhcp --no-dhcpv6 --no-ra --netns "/run/netns/$3" >"$work/$1.log" 2>&1 &
	started+=($!)
	relays[$1]=$!
	for _ in {1..100}; do
		! ip -n "$3" link show t1 >/dev/null 2>&1 || break
		sleep 0.05
	done
	ip -n "$3" link set t1 mtu "$2" && host_up "$3" t1 1
}

reaches() { # NETNS ADDRESS: wait up to 30 s until ADDRESS answers a ping
	local end=$((SECONDS + 30))
	until ip netns exec "$1" ping -n -q -c 1 -W 1 "$2" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# set_up ROW MTU: make the row, and start the servers that its measurements need
set_up() {
	local row=$1 key=$1@$2 a="$1-$2-a" b="$1-$2-b"
	new_netns "$a" && new_netns "$b" && ip -n "$a" link set lo up && ip -n "$b" link set lo up || return 1
	case $row in
	veth) row_veth "$key" "$2" "$a" "$b" ;;
	whole | segment | crc | whole2 | segment2 | crc2) row_relay "$key" "$2" "$a" "$b" ;;
	udp | vxlan | ovs | vde | pasta) "row_$row" "$key" "$2" "$a" "$b" ;;
	*) row_uipoib "$key" "$2" "$a" "$b" ;;
	esac || return 1
	reaches "$a" 10.98.0.2 && reaches "$a" fd98::2 || { tail -20 "$work"/*"$row"*.log >&2; return 1; }
	[ "$row" = vde ] || { equal_mtu "$a" "$2" && equal_mtu "$b" "$2"; } || return 1
	# shellcheck disable=SC2086
	relays[$key]=$(descendants ${relays[$key]-})
	background ip netns exec "$b" iperf3 -s >/dev/null 2>&1
	background ip netns exec "$b" python3 bench/rtt.py echo 0 7771
	[ "$(nproc)" = 1 ] || background ip netns exec "$b" python3 bench/rtt.py echo 1 7772
	all+=("$key")
}
equal_mtu() { # NETNS MTU: check that the device of this namespace has this MTU
	[ "$(ip -n "$1" -j link show | jq 'map(select(.ifname != "lo"))[0].mtu')" = "$2" ] || { echo "net: $1 has another MTU than $2" >&2; return 1; }
}

# --- figures

record() { # KEY ROUND FIGURE VALUE: append one measured value to $values; KEY is ROW@MTU
	printf '{"row": "%s", "mtu": %s, "round": %d, "figure": "%s", "value": %s}\n' "${1%@*}" "${1#*@}" "$2" "$3" "${4:-null}" >>"$values"
}

# record_cpu KEY ROUND FIGURE BEFORE AMOUNT: if processes relay the packets of the row, record FIGURE_cpu: the CPU time in ms that
# these processes used since it was BEFORE ticks, divided by AMOUNT
record_cpu() {
	local after
	[ -n "${relays[$1]}" ] || return 0
	# shellcheck disable=SC2086
	after=$(ticks ${relays[$1]})
	record "$1" "$2" "$3_cpu" "$(jq -n "try ($((after - $4)) * 1000 / $hz / $5) catch null" 2>/dev/null)"
}

# iperf KEY ROUND FIGURE ADDRESS AMOUNT VALUE WORD...: run iperf3 with the WORDs as options. AMOUNT and VALUE are jq
# expressions on the output of iperf3. Record VALUE as FIGURE, and the CPU time for AMOUNT
iperf() {
	local key=$1 round=$2 figure=$3 addr=$4 amount=$5 value=$6 before
	shift 6
	# shellcheck disable=SC2086
	before=$(ticks ${relays[$key]})
	ip netns exec "${key/@/-}-a" timeout $((secs + 20)) iperf3 -c "$addr" -t "$secs" -J "$@" >"$work/iperf" 2>/dev/null ||
		echo "net: $key, round $round: $figure failed: $(jq -r .error "$work/iperf" 2>/dev/null)" >&2
	record_cpu "$key" "$round" "$figure" "$before" "$(jq "$amount" "$work/iperf" 2>/dev/null)"
	record "$key" "$round" "$figure" "$(jq "try ($value) catch null" "$work/iperf" 2>/dev/null)"
}
tcp() { # KEY ROUND FIGURE ADDRESS WORD...: measure TCP with iperf3, with the WORDs as further options
	iperf "$1" "$2" "$3" "$4" '.end.sum_received.bytes * 8 / 1e9' '.end.sum_received.bits_per_second / 1e9' -C cubic "${@:5}"
}
udp() { # KEY ROUND FIGURE OCTETS RATE: measure datagrams of OCTETS, sent at RATE
	local got='(.end.sum.packets - .end.sum.lost_packets)'
	iperf "$1" "$2" "$3" 10.98.0.2 "$got / 1000" "$got / .end.sum.seconds / 1000" -u -l "$4" -b "$5"
	record "$1" "$2" "$3_lost" "$(jq 'try (100 * .end.sum.lost_packets / .end.sum.packets) catch null' "$work/iperf" 2>/dev/null)"
}
# udp_rate KEY ROUND FIGURE OCTETS recv|gro: measure datagrams that bench/udp_rate sends as fast as it can
udp_rate() {
	local key=$1 from=${1/@/-}-a to=${1/@/-}-b receiver before sent=0 got=0 time=0
	rm -f "$work/got"
	ip netns exec "$to" "$O/bench/udp_rate" receive 7773 "$5" >"$work/got" 2>/dev/null &
	receiver=$!
	until grep -qs ready "$work/got" || ! kill -0 $receiver 2>/dev/null; do sleep 0.01; done
	# shellcheck disable=SC2086
	before=$(ticks ${relays[$key]})
	sent=$(ip netns exec "$from" "$O/bench/udp_rate" send 10.98.0.2 7773 "$4" "$secs")
	wait $receiver || echo "net: $key, round $2: $3 failed" >&2
	read -r got time < <(sed -n 2p "$work/got")
	record_cpu "$key" "$2" "$3" "$before" "($got / 1000)"
	record "$key" "$2" "$3" "$(jq -n "try ($got / $time / 1000) catch null" 2>/dev/null)"
	record "$key" "$2" "$3_lost" "$(jq -n "try (100 - 100 * $got / $sent) catch null" 2>/dev/null)"
}
rtt() { # KEY ROUND FIGURE PORT: measure round trips to the server at PORT
	local p50 p99
	read -r p50 p99 < <(ip netns exec "${1/@/-}-a" python3 bench/rtt.py ping 0 "$4" 10.98.0.2)
	record "$1" "$2" "$3_p50" "${p50-}"
	record "$1" "$2" "$3_p99" "${p99-}"
}

measure() { # KEY ROUND: measure all $figures of a row once
	local f
	for f in $figures; do
		case $f in
		tcp) tcp "$1" "$2" $f 10.98.0.2 ;;
		tcp_r) tcp "$1" "$2" $f 10.98.0.2 -R ;;
		tcp4) tcp "$1" "$2" $f 10.98.0.2 -P 4 ;;
		tcp4_r) tcp "$1" "$2" $f 10.98.0.2 -P 4 -R ;;
		tcp6) tcp "$1" "$2" $f fd98::2 ;;
		udp64) udp "$1" "$2" $f 64 0 ;;
		udp64_recv | udp64_gro) udp_rate "$1" "$2" $f 64 ${f#udp64_} ;;
		udp64_rate) udp "$1" "$2" $f 64 $((rate * 1000 * 64 * 8)) ;;
		udp1400) udp "$1" "$2" $f 1400 0 ;;
		rtt1) rtt "$1" "$2" $f 7771 ;;
		rtt2) [ "$(nproc)" = 1 ] || rtt "$1" "$2" $f 7772 ;;
		esac
	done
}

load() { cut -d' ' -f1-3 /proc/loadavg; }

load_at_start=$(load)
r=0
for ((s = 1; s <= setups; s++)); do
	for mtu in $mtus; do
		for row in $rows; do
			set_up "$row" "$mtu" || die "row $row, MTU $mtu: the hosts do not reach each other"
		done
	done
	for (( ; r < rounds * s / setups; r++)); do
		for ((k = 0; k < ${#all[@]}; k++)); do
			measure "${all[(r + k) % ${#all[@]}]}" "$r"
		done
	done
	tear_down
done

mkdir -p "$(dirname "$json")"
printf '\n== between two hosts (%s rounds of %s s, interleaved, set up %s times; iperf3, cubic)\n' "$rounds" "$secs" "$setups"
python3 bench/net_report.py "$values" "$json" rounds="$rounds" setups="$setups" seconds_each="$secs" rate_kpps="$rate" \
	load_at_start="$load_at_start" load_at_end="$(load)"
