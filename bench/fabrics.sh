#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures two fabrics that are busy at the same time, with a TCP flow in each, from a to b and from c to d:
#
#	a -- Hca1 == Switch1 == Switch2 == Switch3 == Hca2 -- b		fabric ab
#	c -- Hca1 == Switch1 == Switch2 == Switch3 == Hca2 -- d		fabric cd
#
#	one	both fabrics in one instance, and so in one thread
#	two	an instance for each fabric
#
# Both rows are set up at the same time, and are measured in turn. The figures are tcp, the Gb/s of both flows together, and
# tcp_cpu, the CPU time of the instances in ms per Gb. They are printed as tables and written to build/bench/fabrics.json by
# bench/net_report.py.
#
#	ROUNDS=6 SECONDS_EACH=2 JSON=FILE fabrics.sh
set -u
cd "$(dirname "$0")/.." || exit 1
[ "$(id -u)" = 0 ] || { echo "fabrics: needs root (network namespaces)" >&2; exit 3; }
[ -n "${TEST_ISOLATED:-}" ] || exec bash tests/isolate.sh bash "$PWD/bench/fabrics.sh" "$@"
. bench/cpu_lib.sh
O=${O:-build}
U=$PWD/$O/uipoib
rounds=${ROUNDS:-6} secs=${SECONDS_EACH:-2} json=${JSON:-$O/bench/fabrics.json}
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-fabrics.XXXXXX")
started=()
cleanup() {
	local p
	for p in "${started[@]}"; do
		kill "$p" 2>/dev/null
	done
	wait
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
background() {
	"$@" &
	started+=($!)
}

cat >"$work/line.topo" <<'TOPO'
Switch 2 "Switch1"
[1] "Hca1"[1]
[2] "Switch2"[1]

Switch 2 "Switch2"
[1] "Switch1"[2]
[2] "Switch3"[1]

Switch 2 "Switch3"
[1] "Switch2"[2]
[2] "Hca2"[1]

Hca 1 "Hca1"
[1] "Switch1"[1]

Hca 1 "Hca2"
[1] "Switch3"[2]
TOPO

conf() { # FABRIC: print the sections of a fabric and of its two hosts
	printf '[fabric %s]\ntopology = line.topo\n' "$1"
	printf '[interface uib0@%s]\nport = fabric:%s/Hca1/1\naddress = 10.98.0.1/24\n' "${1:0:1}" "$1"
	printf '[interface uib0@%s]\nport = fabric:%s/Hca2/1\naddress = 10.98.0.2/24\n' "${1:1:1}" "$1"
}
conf ab >"$work/ab.conf"
conf cd >"$work/cd.conf"
cat "$work/ab.conf" "$work/cd.conf" >"$work/both.conf"

# For each row, the instances with the fabrics ab and cd, and their processes
declare -A with_ab=([one]=one [two]=two-ab) with_cd=([one]=one [two]=two-cd) processes=()

start() { # ROW INSTANCE CONFIGURATION
	background "$U" -n "fabrics-$2" run -c "$work/$3.conf" >"$work/$2.log" 2>&1
	processes[$1]+=" $!"
}
start one one both
start two two-ab ab
start two two-cd cd

serve() { # INSTANCE HOST: wait for the instance, and start a server in the host
	local end=$((SECONDS + 30))
	until "$U" -n "fabrics-$1" wait --timeout 30 2>/dev/null; do
		[ $SECONDS -lt $end ] || { cat "$work/$1.log" >&2; exit 1; }
		sleep 0.1
	done
	background "$U" -n "fabrics-$1" exec "$2" iperf3 -s >/dev/null 2>&1
	until "$U" -n "fabrics-$1" exec "$2" ss -Hltn sport 5201 | grep -q .; do sleep 0.1; done
}
for row in one two; do
	serve "${with_ab[$row]}" b
	serve "${with_cd[$row]}" d
	# shellcheck disable=SC2086
	processes[$row]=$(descendants ${processes[$row]})
done

flow() { # INSTANCE HOST: print the report of a flow from this host to the other host of its fabric
	timeout $((secs + 20)) "$U" -n "fabrics-$1" exec "$2" iperf3 -c 10.98.0.2 -t "$secs" -J -C cubic
}
record() { # ROW ROUND FIGURE EXPRESSION: record the value of a jq expression on the reports of both flows
	printf '{"row": "%s", "mtu": 2044, "round": %d, "figure": "%s", "value": %s}\n' "$1" "$2" "$3" \
		"$(jq -s "try ($4) catch null" "$work/ab" "$work/cd" || echo null)" >>"$work/values"
}
measure() { # ROW ROUND
	local before after first
	# shellcheck disable=SC2086
	before=$(ticks ${processes[$1]})
	flow "${with_ab[$1]}" a >"$work/ab" &
	first=$!
	flow "${with_cd[$1]}" c >"$work/cd"
	wait $first
	# shellcheck disable=SC2086
	after=$(ticks ${processes[$1]})
	record "$1" "$2" tcp "map(.end.sum_received.bits_per_second / 1e9) | add"
	record "$1" "$2" tcp_cpu "$(((after - before) * 1000 / hz)) / (map(.end.sum_received.bytes * 8 / 1e9) | add)"
}

load() { cut -d' ' -f1-3 /proc/loadavg; }
load_at_start=$(load)
rows=(one two)
for ((r = 0; r < rounds; r++)); do
	for k in 0 1; do
		measure "${rows[(r + k) % 2]}" $r
	done
done
mkdir -p "$(dirname "$json")"
printf '\n== two fabrics at the same time (%s rounds of %s s, interleaved; iperf3, cubic)\n' "$rounds" "$secs"
python3 bench/net_report.py "$work/values" "$json" rounds="$rounds" seconds_each="$secs" load_at_start="$load_at_start" load_at_end="$(load)"
