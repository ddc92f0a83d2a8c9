#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures TCP and UDP between two hosts of each link profile. All hosts are on one fabric, and the profiles are
# measured in turn. Prints the ratio of each profile to the profile rfc4391:
#
#	h1 -- Hca1 ==+========= Switch1 =========+== Hca2 -- h2		rfc4391
#	h3 -- Hca3 ==+                           +== Hca4 -- h4		linux
#	...
#
# v6ib00 carries IPv6 only, so its ratios compare it with IPv6 on rfc4391.
#
#	ROUNDS=3 SECONDS_EACH=2 profiles.sh
set -u
cd "$(dirname "$0")/.."
U=$PWD/${O:-build}/uipoib
rounds=${ROUNDS:-3} secs=${SECONDS_EACH:-2}
profiles=(rfc4391 linux hld2002 encaparp00 v4mc01 v6ib00)
work=$(mktemp -d)
[ "$(id -u)" = 0 ] || { echo "profiles: needs root" >&2; exit 3; }
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

n=$((${#profiles[@]} * 2))
{
	echo "Switch $n \"Switch1\""
	for ((i = 1; i <= n; i++)); do echo "[$i] \"Hca$i\"[1]"; done
	for ((i = 1; i <= n; i++)); do printf '\nHca 1 "Hca%d"\n[1] "Switch1"[%d]\n' "$i" "$i"; done
} >"$work/lab.topo"
# The links of two profiles need multicast groups that the SM creates only if partitions.conf lists them.
cat >"$work/partitions.conf" <<'PARTITIONS'
Default=0x7fff, ipoib, mtu=4 : mgid=ff12:3333::1, mtu=4
	mgid=ff12::255.255.255.255, mtu=4, Q_Key=0x80000b1b
	ALL=full;
PARTITIONS
{
	printf '[fabric lab]\ntopology = lab.topo\npartitions = partitions.conf\nsidr-server = yes\n'
	for ((i = 1; i <= n; i++)); do
		p=${profiles[(i - 1) / 2]}
		name=uib0 of=''
		[ "$p" != hld2002 ] || { name=ib0 of=,pkey=0x7fff; }
		printf '\n[interface %s@h%d]\nport = fabric:lab/Hca%d/1\nprofile = %s\naddress = fd99::%d/64%s\n' $name $i $i "$p" $i "$of"
		[ "$p" = v6ib00 ] || printf 'address = 10.99.0.%d/24%s\n' $i "$of"
	done
} >"$work/lab.conf"

# iperf FROM TO ADDRESS WORD...: run the server in host TO, and the client, which prints JSON, in host FROM. Both
# server and client have a time-out
iperf() {
	local from=$1 to=$2 addr=$3 server
	shift 3
	timeout $((secs + 30)) "$U" exec "$to" iperf3 -s -1 >/dev/null 2>&1 &
	server=$!
	sleep 0.3
	timeout $((secs + 20)) "$U" exec "$from" iperf3 -c "$addr" -t "$secs" -J "$@" || kill $server
	wait $server
} 2>/dev/null

# measure FROM TO ADDRESS: print "Gb/s kpps"
measure() {
	local tcp udp
	tcp=$(iperf "$1" "$2" "$3" -O 1 -C cubic | jq '.end.sum_received.bits_per_second / 1e9 * 100 | round / 100')
	udp=$(iperf "$1" "$2" "$3" -u -b 0 -l 64 | jq '(.end.sum.packets - .end.sum.lost_packets) / .end.sum.seconds / 1000 | round')
	echo "${tcp:-0} ${udp:-0}"
}

# all_rounds PROFILE...: measure all profiles in turn; the figures are appended to $work/PROFILE. Hosts 1 and 2 have the first profile, and so on.
all_rounds() {
	local r i p
	for ((i = 1; i < $# * 2; i += 2)); do # ping for up to 20 s, because an IPv6 address is tentative at first
		"$U" exec h$i ping -q -c 1 -w 20 "fd99::$((i + 1))" >/dev/null || echo "profiles: h$i does not reach fd99::$((i + 1))" >&2
	done
	for ((r = 0; r < rounds; r++)); do
		measure h1 h2 fd99::2 >>"$work/rfc4391-ipv6"
		i=1
		for p; do
			if [ "$p" = v6ib00 ]; then
				measure h$i h$((i + 1)) "fd99::$((i + 1))" >>"$work/$p"
			else
				measure h$i h$((i + 1)) "10.99.0.$((i + 1))" >>"$work/$p"
			fi
			i=$((i + 2))
		done
	done
}
export work secs rounds U
export -f iperf measure all_rounds

printf '\n== between two hosts of one profile (%s rounds of %s s, interleaved; iperf3, cubic)\n' "$rounds" "$secs"
"$U" run -n "bench-$$" -c "$work/lab.conf" -- bash -c '"$U" wait --timeout 30 && all_rounds "$@"' - "${profiles[@]}" || exit 1

median() { awk -v c="$2" '{print $c}' "$1" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {if (b > 0) printf "%.2f", a / b; else print "-"}'; }
printf '%-18s %12s %22s\n' "" "TCP Gb/s" "UDP 64 B kpps received"
for p in "${profiles[@]}" rfc4391-ipv6; do
	to=rfc4391
	[ "$p" != v6ib00 ] || to=rfc4391-ipv6
	printf '%-18s' "$p"
	for c in 1 2; do
		m=$(median "$work/$p" $c)
		printf ' %10s (%s)' "$m" "$(ratio "$m" "$(median "$work/$to" $c)")"
	done
	echo
done
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
