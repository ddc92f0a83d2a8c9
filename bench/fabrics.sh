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
# Both rows are set up at the same time, and are measured in turn. They are set up anew SETUPS times (at most ROUNDS), each time
# for an equal share of the ROUNDS. The figures are tcp, the Gb/s of both flows together, and tcp_cpu, the CPU time of the instances
# in ms per Gb. They are printed as tables and written to build/bench/fabrics.json by bench/net_report.py.
#
#	ROUNDS=6 SETUPS=3 SECONDS_EACH=2 JSON=FILE fabrics.sh
set -u
cd "$(dirname "$0")/.." || exit 1
[ "$(id -u)" = 0 ] || { echo "fabrics: needs root (network namespaces)" >&2; exit 3; }
[ -n "${TEST_ISOLATED:-}" ] || exec bash tests/isolate.sh bash "$PWD/bench/fabrics.sh" "$@"
. bench/cpu_lib.sh
O=${O:-build}
U=$PWD/$O/uipoib
rounds=${ROUNDS:-6} setups=${SETUPS:-3} secs=${SECONDS_EACH:-2} json=${JSON:-$O/bench/fabrics.json}
for w in "ROUNDS $rounds" "SETUPS $setups" "SECONDS_EACH $secs"; do
	[[ $w =~ \ [1-9][0-9]{0,4}$ ]] || { echo "fabrics: ${w%% *} '${w#* }' is not a number from 1 to 99999" >&2; exit 2; }
done
[ "$setups" -le "$rounds" ] || setups=$rounds
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-fabrics.XXXXXX")
values=$work/values
started=()
tear_down() { # end both rows
	local p
	for p in "${started[@]}"; do
		kill "$p" 2>/dev/null
	done
	wait
	started=()
}
cleanup() {
	tear_down
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
die() { echo "fabrics: $*" >&2; exit 1; }
background() {
	"$@" &
	started+=($!)
}

# --- the rows

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
conf ab >"$work/two-ab.conf"
conf cd >"$work/two-cd.conf"
cat "$work/two-ab.conf" "$work/two-cd.conf" >"$work/one.conf"

# For each row, the instances with the fabrics ab and cd, and the processes of the instances
declare -A with_ab=([one]=one [two]=two-ab) with_cd=([one]=one [two]=two-cd) processes

listens() { "$U" -n "fabrics-$1" exec "$2" ss -Hltn sport 5201 2>/dev/null | grep -q .; }
is_up() { "$U" -n "fabrics-$1" wait --timeout 1 2>/dev/null; }

until_true() { # PID COMMAND...: wait up to 30 s until COMMAND succeeds. Fails at once when the process PID has ended
	local end=$((SECONDS + 30))
	until "${@:2}"; do
		[ $SECONDS -lt $end ] && kill -0 "$1" 2>/dev/null || return 1
		sleep 0.1
	done
}

start() { # ROW INSTANCE: start the instance, and wait until its interfaces are up
	background "$U" -n "fabrics-$2" run -c "$work/$2.conf" >"$work/$2.log" 2>&1
	until_true $! is_up "$2" || { cat "$work/$2.log" >&2; die "row $1: the interfaces are not up"; }
	processes[$1]+=" $(descendants $!)"
}
serve() { # INSTANCE HOST: start a server in the host
	background "$U" -n "fabrics-$1" exec "$2" iperf3 -s >/dev/null 2>&1
	until_true $! listens "$1" "$2" || die "instance $1: there is no iperf3 server in host $2"
}

set_up() {
	local row
	processes=()
	start one one
	start two two-ab
	start two two-cd
	for row in one two; do
		serve "${with_ab[$row]}" b
		serve "${with_cd[$row]}" d
	done
}

# --- the figures

# flow INSTANCE HOST: print, in the background, the report of a flow from this host to the other host of its fabric
flow() { background "$U" -n "fabrics-$1" exec "$2" timeout --foreground $((secs + 20)) iperf3 -c 10.98.0.2 -t "$secs" -J -C cubic; }
record() { # ROW ROUND FIGURE EXPRESSION: record the value of a jq expression on the two reports; null if a flow failed
	printf '{"row": "%s", "mtu": 2044, "round": %d, "figure": "%s", "value": %s}\n' "$1" "$2" "$3" \
		"$(jq -s "if length == 2 then try ($4) catch null else null end" "$work/ab" "$work/cd" 2>/dev/null || echo null)" >>"$values"
}
measure() { # ROW ROUND
	local before after ab failed=
	# shellcheck disable=SC2086
	before=$(ticks ${processes[$1]})
	flow "${with_ab[$1]}" a >"$work/ab"
	ab=$!
	flow "${with_cd[$1]}" c >"$work/cd"
	wait $! || failed=c
	wait $ab || failed=a
	unset 'started[-1]' 'started[-1]'
	[ -z "$failed" ] || echo "fabrics: row $1, round $2: the flow from $failed failed" >&2
	# shellcheck disable=SC2086
	after=$(ticks ${processes[$1]})
	record "$1" "$2" tcp "map(.end.sum_received.bits_per_second / 1e9) | add"
	record "$1" "$2" tcp_cpu "$(((after - before) * 1000 / hz)) / (map(.end.sum_received.bytes * 8 / 1e9) | add)"
}

load() { cut -d' ' -f1-3 /proc/loadavg; }
load_at_start=$(load)
rows=(one two) r=0
for ((s = 1; s <= setups; s++)); do
	set_up
	for (( ; r < rounds * s / setups; r++)); do
		for k in 0 1; do
			measure "${rows[(r + k) % 2]}" $r
		done
	done
	tear_down
done
mkdir -p "$(dirname "$json")"
printf '\n== two fabrics at the same time (%s rounds of %s s, interleaved, set up %s times; iperf3, cubic)\n' "$rounds" "$secs" "$setups"
python3 bench/net_report.py "$values" "$json" rounds="$rounds" setups="$setups" seconds_each="$secs" load_at_start="$load_at_start" load_at_end="$(load)"
