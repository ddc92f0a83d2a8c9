#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures what one flow costs in a fabric with more and more neighbours, groups, hops and hosts (bench/bench_flow.c). The figures
# are printed as tables and written to build/bench/flow.json by bench/net_report.py. The largest tables need 2 GB of memory.
#
#	ROUNDS=15 JSON=FILE flow.sh [neighbours] [groups] [hops] [hosts]	default: all
set -eu
cd "$(dirname "$0")/.."
O=${O:-build}
rounds=${ROUNDS:-15}
json=${JSON:-$O/bench/flow.json}
declare -A numbers=([neighbours]="10 1000 100000 1000000" [groups]="1 10 100 1000" [hops]="1 2 4 8" [hosts]="2 20 200")
for what in ${*:-neighbours groups hops hosts}; do
	[ -n "${numbers[$what]-}" ] || { echo "usage: flow.sh [neighbours] [groups] [hops] [hosts]" >&2; exit 2; }
done

values=$(mktemp "${TMPDIR:-/tmp}/bench-flow.XXXXXX")
trap 'rm -f "$values"' EXIT
load() { cut -d' ' -f1-3 /proc/loadavg; }
load_at_start=$(load)
for what in ${*:-neighbours groups hops hosts}; do
	# shellcheck disable=SC2086
	"$O/bench/bench_flow" "$rounds" "$what" ${numbers[$what]} >>"$values"
done
printf '\n== one flow among others (%s rounds, interleaved)\n' "$rounds"
python3 bench/net_report.py "$values" "$json" rounds="$rounds" load_at_start="$load_at_start" load_at_end="$(load)"
