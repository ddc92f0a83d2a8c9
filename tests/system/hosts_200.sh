#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# 200 hosts on 20 switches come up, and each reaches every other, in less than two minutes.
#
#	h1, h21, .. h181     h2, h22, .. h182           h20, h40, .. h200
#	        |                    |                         |
#	     Switch1 ----------- Switch2 ------ ... ------ Switch20 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
need flock
[ -x "$TOOLS/ping_all" ] || { echo "not ok - $TOOLS/ping_all is built"; exit 1; }
hosts=${HOSTS:-200} switches=20
topo_ring $hosts $switches >"$work/lab.topo"
conf_hosts $hosts >"$work/lab.conf"

if ! neigh_limits_raise $hosts; then
	skip "200 hosts" "the neighbour table's limits cannot be raised here"
	finish
fi

restored() {
	local s
	neigh_limits_restore
	for s in "${neigh_saved[@]}"; do
		equal "${s#*=}" "$(cat "${s%%=*}")" || return 1
	done
}

start=$SECONDS
lab_patience=100
lab_up
echo "# $hosts hosts are up after $((SECONDS - start)) s"
check "all $hosts interfaces are up" equal $hosts "$(u -j link show | jq '[.link[] | select(.state == "UP")] | length')"

check "each of them reaches all $((hosts - 1)) others" pairs $hosts $((120 - (SECONDS - start)))
took=$((SECONDS - start))
echo "# $((hosts * (hosts - 1))) pairs after $took s"
check "in less than 120 s" test $took -lt 120
check "without a packet too many: no hop limit, no loop" equal 0 \
	"$(u -j stats show | jq '[.stats[] | select(.counter == "drop_hop_limit") | .value] | add // 0')"
lab_down
check "the limits are as they were" restored
finish
