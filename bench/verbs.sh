#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures TCP between a VM and a host on uipoib's fabric. In the VM, the kernel's own ib_ipoib and uipoib (through
# libibverbs) use the same port, and are measured in turn. Rows:
#
#	kernel	a: ib0 10.4.9.1 ------+
#				      uib.ko == UDP == Switch1 -- Hca1 -- h1 10.4.0.1, 10.5.0.1
#	uipoib	a: uib0 10.5.9.1 -----+
#
# Figures: vm_tcp, Mb/s of one flow received by h1; vm_tcp_r, received by the VM (iperf3, cubic). Each round measures
# both rows, in the opposite order of the previous round. The table is printed and written to build/bench/verbs.json
# by bench/net_report.py.
#
# On an emulated processor, all instructions take about the same time, and a system call costs no more than a function
# call. So the ratio of the rows compares numbers of instructions, and says little about a real processor.
#
#	ROUNDS=5 SECONDS_EACH=5 PROFILE=1 JSON=FILE verbs.sh
#
# With PROFILE=1, the script prints two more results after the rounds: the functions in which the VM spends its time
# (perf samples the event cpu-clock), and the number of system calls per packet that the daemon in the VM makes.
bench_name=verbs
. "$(dirname "$0")/vm_lib.sh"

linux_topo 1 >"$work/lab.topo"
conf_hosts 1 | sed 's,^address = 10.4.0.1/16,&\naddress = 10.5.0.1/16,' >"$work/lab.conf"
lab_up
vm_start a --cpus "${CPUS:-1}" --address 10.4.9.1/16 --port Switch1/2 --share "$work"
vm_wait a
printf '%s\n' '[interface uib0@v1]' 'port = verbs:uib0/1' 'address = 10.5.9.1/16' >"$work/v.conf"
g a modprobe tun
start_at a "$work/v.log" "$UIPOIB" run -c "$work/v.conf" -n v
bx h1 iperf3 -s >/dev/null 2>&1
up() { g a "$UIPOIB" -n v wait --timeout 20; }
eventually 90 up >/dev/null || { cat "$work/v.log" >&2; exit 1; }
g a "{ \"$UIPOIB\" -n v exec v1 sleep 100000 </dev/null >/dev/null 2>&1 & echo \$! >/tmp/v1.pid; }" || exit 1

# The daemon is the process that has the device open. The process that was started above only waits
# for the daemon.
daemon=$(g a 'for p in /proc/[0-9]*; do ! readlink $p/fd/* 2>/dev/null | grep -q uverbs || echo ${p#/proc/}; done' | head -1)

# in_row ROW CMD...: run CMD in the VM, in the network namespace that has the interface of the row
in_row() {
	case $1 in
	kernel) g a "${*:2}" ;;
	uipoib) g a "nsenter -t \$(cat /tmp/v1.pid) -n ${*:2}" ;;
	esac
}
declare -A peer=([kernel]=10.4.0.1 [uipoib]=10.5.0.1)
for row in kernel uipoib; do
	eventually 60 in_row $row ping -n -q -c 1 -W 5 ${peer[$row]} >/dev/null || { echo "verbs: $row does not reach h1" >&2; exit 1; }
done

flow() { in_row "$1" iperf3 -c "${peer[$1]}" -t "$secs" -O 1 -C cubic -J "${@:2}"; } # ROW WORD...: send TCP from the VM to h1, with the WORDs as further options
measure() { # ROW ROUND: measure both figures of a row once
	flow "$1" | record "$1" "$2" vm_tcp
	flow "$1" -R | record "$1" "$2" vm_tcp_r
}
for ((r = 0; r < rounds; r++)); do
	if ((r % 2)); then rows="uipoib kernel"; else rows="kernel uipoib"; fi
	for row in $rows; do measure $row $r; done
done
report "in a VM on a port of libibverbs, to a soft host"

# --- where the time goes

profile() { # ROW WORD...: print the programs, and the functions, that have most samples
	printf '\n== %s: samples in the VM, per cent\n' "$*"
	in_row "$1" perf record -q -a -e cpu-clock -F 199 -o /tmp/perf.data -- iperf3 -c "${peer[$1]}" -t "$secs" -C cubic "${@:2}" '>/dev/null 2>&1'
	for by in comm,dso comm,dso,sym; do
		g a "perf report -i /tmp/perf.data --stdio --no-children -s $by 2>/dev/null | grep -v '^#' | grep . | head -${FUNCTIONS:-12}"
		echo
	done
}
packets() { g a "$UIPOIB" -n v -j stats show | jq '[.stats[] | select(.layer == "ipoib" and (.counter == "tx_packets" or .counter == "rx_packets")) | .value] | add // 0'; }
calls() { # WORD...: print the number of system calls of the daemon per packet that it sent or received
	local before after event events='' counted
	for event in read readv write writev ioctl poll epoll_pwait2; do events+=" -e syscalls:sys_enter_$event"; done
	before=$(packets)
	counted=$(in_row uipoib perf stat -x, $events -p "$daemon" -o /tmp/calls -- iperf3 -c "${peer[uipoib]}" -t "$secs" -C cubic "$@" '>/dev/null 2>&1; cat /tmp/calls')
	after=$(packets)
	printf '\n== uipoib %s: %d packets; system calls for each\n' "$*" $((after - before))
	awk -F, -v n=$((after - before)) '/sys_enter/ { sub(".*sys_enter_", "", $3); if (n) printf "%-14s %6.3f\n", $3, $1 / n }' <<<"$counted"
}
if [ "${PROFILE:-0}" = 1 ]; then
	for row in kernel uipoib; do
		profile $row
		profile $row -R
	done
	calls
	calls -R
fi
finish
