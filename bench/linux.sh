#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures TCP of a stock kernel's ib_ipoib on uib.ko, in virtual machines on uipoib's fabric.
#
#	a: ib0 10.4.9.1 -- uib.ko == UDP == Switch1 ---- Hca1 -- h1 10.4.0.1
#	b: ib0 10.4.9.2 -- uib.ko == UDP ==/
#
# Figures: vm_tcp, Mb/s of one flow of iperf3 (cubic) from a to h1; vm_tcp_r, from h1 to a; vm_vm, from a to b. The row `linux`
# is this build. With OLD=FOLDER, a folder in which another version was built (`make all kmod`), the row `old` is the same
# with two VMs that have this version's uib.ko. Each round measures all rows, in the opposite order of the previous round.
# The table is printed and written to build/bench/linux.json by bench/net_report.py.
#
#	ROUNDS=5 SECONDS_EACH=5 OLD=FOLDER JSON=FILE linux.sh
#
# On an emulated processor, all instructions take about the same time, so the ratio of the rows compares numbers of
# instructions.
rounds=${ROUNDS:-5} secs=${SECONDS_EACH:-5} json=${JSON:-$PWD/${O:-build}/bench/linux.json}
export UIPOIB=${UIPOIB:-${O:-build}/uipoib}
export ROUNDS=$rounds SECONDS_EACH=$secs JSON=$json
. "$(dirname "$0")/../tests/interop/linux/lib.sh"
need iperf3
load() { cut -d' ' -f1-3 /proc/loadavg; }
load_at_start=$(load)

linux_lab 2
declare -A from=([linux]=a [old]=c) to=([linux]=b [old]=d) address=([a]=10.4.9.1 [b]=10.4.9.2 [c]=10.4.9.3 [d]=10.4.9.4)
rows=(linux)
[ -z "${OLD:-}" ] || rows+=(old)
guest() { vm_start "$1" --cpus 1 --address "${address[$1]}/16"; }
guest a
guest b
if [ -n "${OLD:-}" ]; then
	this=$UIPOIB
	UIPOIB=$OLD/build/uipoib
	guest c
	guest d
	UIPOIB=$this
fi
bx h1 iperf3 -s >/dev/null 2>&1
for row in "${rows[@]}"; do
	vm_wait "${from[$row]}" "${to[$row]}"
	gb "${to[$row]}" /tmp/iperf3 iperf3 -s >/dev/null
	for peer in 10.4.0.1 "${address[${to[$row]}]}"; do
		eventually 60 g "${from[$row]}" ping -n -q -c 1 -W 5 "$peer" >/dev/null || { echo "linux: $row does not reach $peer" >&2; exit 1; }
	done
done

record() { # ROW ROUND FIGURE PEER WORD...: measure a flow to PEER, with the WORDs as further options, and append the value to $work/values
	local value
	value=$(g "${from[$1]}" iperf3 -c "$4" -t "$secs" -O 1 -C cubic -J "${@:5}" | jq 'try (.end.sum_received.bits_per_second / 1e6) catch null')
	printf '{"row": "%s", "mtu": 2044, "round": %d, "figure": "%s", "value": %s}\n' "$1" "$2" "$3" "${value:-null}" >>"$work/values"
}
for ((r = 0; r < rounds; r++)); do
	order=("${rows[@]}")
	((r % 2 == 0)) || order=(${rows[1]:-} "${rows[0]}")
	for row in "${order[@]}"; do
		record "$row" "$r" vm_tcp 10.4.0.1
		record "$row" "$r" vm_tcp_r 10.4.0.1 -R
		record "$row" "$r" vm_vm "${address[${to[$row]}]}"
	done
done
mkdir -p "$(dirname "$json")"
printf '\n== a stock kernel in a VM (%s rounds of %s s, interleaved; iperf3, cubic)\n' "$rounds" "$secs"
python3 bench/net_report.py "$work/values" "$json" rounds="$rounds" seconds_each="$secs" load_at_start="$load_at_start" load_at_end="$(load)"
finish
