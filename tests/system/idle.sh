#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: alone
#
# A fabric without traffic costs less than 10 ms of CPU time in 10 s, and sends nothing.
#
#	h1, h4 --- Switch1 --- Switch2 --- h2
#	               \        /
#	                Switch3 --- h3
. "$(dirname "$0")/lib.sh"
need ping
topo_ring 4 3 >"$work/lab.topo"
conf_hosts 4 >"$work/lab.conf"
lab_up

hops() { u -j -d stats show | jq '.stats[] | select(.counter == "hops") | .value'; }

# settled: wait until the kernels have sent their own packets at the start: duplicate address detection, repeated
# membership reports, and neighbour probes
settled() {
	local before
	before=$(hops)
	sleep 3
	equal "$before" "$(hops)"
}
for i in 2 3 4; do
	check "h1 reaches h$i" reaches4 1 $i
done
check "after a while nothing is sent any more" eventually 60 settled

idle() {
	local cpu packets
	packets=$(hops)
	cpu=$(lab_cpu_ns)
	sleep 10
	cpu=$((($(lab_cpu_ns) - cpu) / 1000))
	echo "$cpu us of CPU in 10 s, $(($(hops) - packets)) hops"
	[ $cpu -gt 0 ] && [ $cpu -lt 10000 ] # 0 would mean that this kernel does not account CPU time
}
check "4 idle hosts cost less than 10 ms of CPU in 10 s" idle
sed 's/^/# /' "$work/check.out"
finish
