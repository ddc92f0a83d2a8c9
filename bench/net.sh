#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# TCP, UDP and round trips between two hosts, as ratios to a veth pair of the same MTU, interleaved:
#
#	h1 -- Hca1 == Switch1 == Hca2 -- h2	uipoib, crc = full, and crc = lazy
#	h1 -- Hca1 == Switch1 == UDP == h2	two processes, a link over UDP on lo
#	v1 ------------- veth ------------- v2	MTU 2044, offloads on
#
#	ROUNDS=5 SECONDS_EACH=3 net.sh
set -u
cd "$(dirname "$0")/.."
U=$PWD/${O:-build}/uipoib
rounds=${ROUNDS:-5} secs=${SECONDS_EACH:-3}
work=$(mktemp -d)
[ "$(id -u)" = 0 ] || { echo "net: needs root (network namespaces for the veth pair)" >&2; exit 3; }

cleanup() {
	ip netns del uib-bench-v1 2>/dev/null
	ip netns del uib-bench-v2 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

ip netns add uib-bench-v1 && ip netns add uib-bench-v2 || exit 3
ip link add uibv1 mtu 2044 netns uib-bench-v1 type veth peer name uibv2 mtu 2044 netns uib-bench-v2
ip -n uib-bench-v1 addr add 10.98.0.1/24 dev uibv1 && ip -n uib-bench-v1 link set uibv1 up
ip -n uib-bench-v2 addr add 10.98.0.2/24 dev uibv2 && ip -n uib-bench-v2 link set uibv2 up

topo() {
	printf 'Switch 8 "Switch1"\n[1] "Hca1"[1]\n[2] "Hca2"[1]\n\nHca 1 "Hca1"\n[1] "Switch1"[1]\n\nHca 1 "Hca2"\n[1] "Switch1"[2]\n'
}
conf() { # crc net
	printf '[fabric lab]\ntopology = lab.topo\ncrc = %s\n' "$1"
	for i in 1 2; do printf '[interface uib0@h%d]\nport = fabric:lab/Hca%d/1\naddress = 10.99.0.%d/24\n' $i $i $i; done
}
topo >"$work/lab.topo"
conf full >"$work/full.conf"
conf lazy >"$work/lazy.conf"

{
	conf full | sed '/uib0@h2/,$d'
	printf '[udp-link far]\nport = fabric:lab/Switch1/7\nlisten = 127.0.0.1:5171\n'
} >"$work/udp.conf"
printf '[interface uib0@h2]\nport = udp:127.0.0.1:5171,guid=0x0002c90300000021\naddress = 10.99.0.2/24\n' >"$work/far.conf"

cat >"$work/rtt.py" <<'PY'
import socket, sys, time
if sys.argv[1] == "echo":
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("0.0.0.0", 7777))
    while True:
        d, a = s.recvfrom(2048); s.sendto(d, a)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((sys.argv[2], 7777)); s.settimeout(1)
v = []
for i in range(4000):
    t = time.perf_counter_ns(); s.send(b"x" * 64)
    try: s.recv(2048)
    except OSError: continue
    v.append(time.perf_counter_ns() - t)
v.sort(); print("%.1f" % (v[len(v) // 2] / 1000))
PY

# measure IN1 IN2 ADDR: print "Gb/s kpps us"; IN1 and IN2 are the words that run a command in a host
measure() {
	local in1=$1 in2=$2 addr=$3 tcp udp rtt pid
	$in2 iperf3 -s -1 >/dev/null 2>&1 & sleep 0.3
	tcp=$($in1 iperf3 -c "$addr" -t "$secs" -O 1 -C cubic -J | jq '.end.sum_received.bits_per_second / 1e9 * 100 | round / 100')
	wait $!
	$in2 iperf3 -s -1 >/dev/null 2>&1 & sleep 0.3
	udp=$($in1 iperf3 -c "$addr" -u -b 0 -l 64 -t "$secs" -J | jq '(.end.sum.packets - .end.sum.lost_packets) / .end.sum.seconds / 1000 | round')
	wait $!
	$in2 python3 "$work/rtt.py" echo & pid=$!
	sleep 0.3
	rtt=$($in1 python3 "$work/rtt.py" ping "$addr")
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	echo "$tcp $udp $rtt"
}

export work secs U
export -f measure
one_uipoib() { # crc
	"$U" run -n "bench-$$" -c "$work/$1.conf" -- bash -c \
		'measure "$U exec h1" "$U exec h2" 10.99.0.2'
}

one_udp() {
	"$U" run -n "bench-$$" -c "$work/udp.conf" -- "$U" run -n "bench-$$-far" -c "$work/far.conf" -- bash -c \
		'measure "$U -n $1 exec h1" "$U -n $1-far exec h2" 10.99.0.2' - "bench-$$"
}

printf '\n== between two hosts (%s rounds of %s s, interleaved; iperf3, cubic)\n' "$rounds" "$secs"
for r in $(seq "$rounds"); do
	measure "ip netns exec uib-bench-v1" "ip netns exec uib-bench-v2" 10.98.0.2 >>"$work/veth"
	one_uipoib full >>"$work/full"
	one_uipoib lazy >>"$work/lazy"
	one_udp >>"$work/udp"
done

median() { awk -v c="$2" '{print $c}' "$1" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {if (b > 0) printf "%.2f", a / b; else print "-"}'; }
printf '%-18s %12s %22s %18s\n' "" "TCP Gb/s" "UDP 64 B kpps received" "UDP round trip us"
for w in veth full lazy udp; do
	case $w in
	veth) name=$w ;;
	udp) name="uipoib over UDP" ;;
	*) name="uipoib crc=$w" ;;
	esac
	printf '%-18s' "$name"
	for c in 1 2 3; do
		m=$(median "$work/$w" $c)
		printf ' %10s (%s)' "$m" "$(ratio "$m" "$(median "$work/veth" $c)")"
	done
	echo
done
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
