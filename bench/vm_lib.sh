# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What bench/linux.sh and bench/verbs.sh have in common: rounds of TCP in virtual machines, and the report. A script sets
# bench_name and sources this file.
#
#	ROUNDS=5 SECONDS_EACH=5 JSON=FILE
#
#	record ROW ROUND FIGURE <iperf3.json	keep the Mb/s that the receiver got; null if the measurement failed
#	report TITLE				print the table, and write the values to JSON (build/bench/NAME.json)
rounds=${ROUNDS:-5} secs=${SECONDS_EACH:-5} json=${JSON:-$PWD/${O:-build}/bench/$bench_name.json}
export UIPOIB=${UIPOIB:-${O:-build}/uipoib}
export ROUNDS=$rounds SECONDS_EACH=$secs JSON=$json # the script starts again in namespaces of its own
. "$(dirname "${BASH_SOURCE[0]}")/../tests/interop/linux/lib.sh"
need iperf3
load() { cut -d' ' -f1-3 /proc/loadavg; }
load_at_start=$(load)

record() {
	local value
	value=$(jq 'try (.end.sum_received.bits_per_second / 1e6) catch null')
	printf '{"row": "%s", "mtu": 2044, "round": %d, "figure": "%s", "value": %s}\n' "$1" "$2" "$3" "${value:-null}" >>"$work/values"
}
report() {
	mkdir -p "$(dirname "$json")"
	printf '\n== %s (%s rounds of %s s, interleaved; iperf3, cubic)\n' "$1" "$rounds" "$secs"
	python3 bench/net_report.py "$work/values" "$json" rounds="$rounds" seconds_each="$secs" load_at_start="$load_at_start" load_at_end="$(load)"
}
