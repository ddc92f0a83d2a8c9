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
pinger=$TOOLS/ping_all
[ -x "$pinger" ] || { echo "not ok - $pinger is built"; exit 1; }
hosts=${HOSTS:-200} switches=20
topo_ring $hosts $switches >"$work/lab.topo"
conf_hosts $hosts >"$work/lab.conf"

# The kernel's neighbour table is one for all namespaces: its limits are raised for as long as this runs,
# by one such test at a time.
exec 9>/run/lock/uipoib-neigh && flock 9
limits=$(ls /proc/sys/net/ipv[46]/neigh/default/gc_thresh[123] 2>/dev/null)
for f in $limits; do
	saved+=("$f=$(cat "$f")")
done
restore() {
	local s
	for s in "${saved[@]}"; do
		echo "${s#*=}" >"${s%%=*}"
	done
}
if [ -n "$limits" ]; then
	on_cleanup=restore
	for f in $limits; do echo $((hosts * hosts * 4)) >"$f"; done
else
	skip "200 hosts" "the neighbour table's limits cannot be raised here"
	finish
fi

restored() {
	local s
	restore
	on_cleanup=''
	for s in "${saved[@]}"; do
		equal "${s#*=}" "$(cat "${s%%=*}")" || return 1
	done
}

# Of host I, as conf_hosts gives it: no process for each of 40000
address() { REPLY="10.4.$(($1 / 250)).$(($1 % 250))"; }

start=$SECONDS
lab_patience=100
lab_up
echo "# $hosts hosts are up after $((SECONDS - start)) s"
check "all $hosts interfaces are up" equal $hosts "$(u -j link show | jq '[.link[] | select(.state == "UP")] | length')"

# Each begins with its neighbour: not all ask for the same one at a time.
pairs() {
	local i k pids='' bad=0 list
	for ((i = 1; i <= hosts; i++)); do
		list=()
		for ((k = 0; k < hosts - 1; k++)); do
			address $(((i + k) % hosts + 1))
			list+=("$REPLY")
		done
		bx h$i "$pinger" $((120 - (SECONDS - start))) "${list[@]}" >"$work/left.$i"
		pids+=" $!"
	done
	for i in $pids; do
		wait "$i" || bad=$((bad + 1))
	done
	[ $bad = 0 ] || { grep -c . "$work"/left.* | grep -v ':0$' | head; echo "$bad hosts do not reach all"; return 1; }
}
check "each of them reaches all $((hosts - 1)) others" pairs
took=$((SECONDS - start))
echo "# $((hosts * (hosts - 1))) pairs after $took s"
check "in less than 120 s" test $took -lt 120
check "without a packet too many: no hop limit, no loop" equal 0 \
	"$(u -j stats show | jq '[.stats[] | select(.counter == "drop_hop_limit") | .value] | add // 0')"
lab_down
check "the limits are as they were" restored
finish
