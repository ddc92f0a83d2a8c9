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
bench_name=linux
. "$(dirname "$0")/vm_lib.sh"

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

# measure ROW ROUND FIGURE PEER WORD...: measure a flow to PEER, with the WORDs as further options
measure() { g "${from[$1]}" iperf3 -c "$4" -t "$secs" -O 1 -C cubic -J "${@:5}" | record "$1" "$2" "$3"; }
for ((r = 0; r < rounds; r++)); do
	order=("${rows[@]}")
	((r % 2 == 0)) || order=(${rows[1]:-} "${rows[0]}")
	for row in "${order[@]}"; do
		measure "$row" "$r" vm_tcp 10.4.0.1
		measure "$row" "$r" vm_tcp_r 10.4.0.1 -R
		measure "$row" "$r" vm_vm "${address[${to[$row]}]}"
	done
done
report "a stock kernel in a VM"
finish
