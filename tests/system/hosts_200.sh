#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all alone
#
# 200 hosts on 20 switches come up, and each reaches every other host. Each frame may take at most 15 us of CPU time. This is less
# than two minutes for the 8 million frames of 39,800 ARP requests. On a busy machine hosts repeat requests, so the script
# computes the bound from the number of frames that came.
#
#	h1, h21, .. h181     h2, h22, .. h182           h20, h40, .. h200
#	        |                    |                         |
#	     Switch1 ----------- Switch2 ------ ... ------ Switch20 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
need flock python3 jq
[ -x "$TOOLS/ping_all" ] || { echo "not ok - $TOOLS/ping_all is built"; exit 1; }
hosts=${HOSTS:-200} switches=20
topo_ring $hosts $switches >"$work/lab.topo"
conf_hosts $hosts >"$work/lab.conf"

if ! neigh_limits_raise $hosts; then
	skip "200 hosts" "the neighbour table's limits cannot be raised here"
	finish
fi

restored() {
	local were
	were=$(neigh_limits_were)
	neigh_limits_restore
	equal "$were" "$(neigh_limits_were)"
}

start=$SECONDS
patience=300
lab_up
echo "# $hosts hosts are up after $((SECONDS - start)) s"
check "all $hosts interfaces are up" equal $hosts "$(u -j link show | jq '[.link[] | select(.state == "UP")] | length')"

check "each of them reaches all $((hosts - 1)) others" pairs $hosts 120
cpu=$(($(lab_cpu_ns) / 1000000))
echo "# $((hosts * (hosts - 1))) pairs after $((SECONDS - start)) s, $cpu ms of CPU"
frames=$(u -j -d stats show | jq '[.stats[] | select(.counter == "rx_frames") | .value] | add')
asked=$((hosts * (hosts - 1) * (hosts - 1))) # each host sends a request for each other host, and all other hosts receive this request
echo "# $frames frames came, $asked if each host asked once for each other"
check "the instance needed less than 15 us of CPU for each frame" test $((cpu * 1000)) -lt $((15 * (frames > asked ? frames : asked)))
check "without a packet too many: no hop limit, no loop" equal 0 \
	"$(u -j stats show | jq '[.stats[] | select(.counter == "drop_hop_limit") | .value] | add // 0')"
# The tables are sent in slices of about 64 rows.
listed() { u -j neigh show dev "$1" | jq '[.neigh[] | .ip[]] | unique | length'; }
leave() { # clients ask for the neighbours of all interfaces, and leave after the first octets of the answer
	python3 - "/run/uipoib/$inst.sock" <<-'PY'
		import socket, sys
		for i in range(10):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(b'{"v":1,"cmd":"neigh show"}\n')
		    assert s.recv(100)
		    s.close()
	PY
}
check "clients leave in the middle of the list" leave
check "neigh show lists all $((hosts - 1)) others" equal $((hosts - 1)) "$(listed uib0@h1)"
check "path show lists the paths of all ports" equal "$((hosts * (hosts - 1)))" \
	"$(u -j path show | jq '[.path[] | select(.state == "valid")] | length')"
check "neigh show of all interfaces lists each of them" equal "$((hosts * (hosts - 1)))" "$(u -j neigh show | jq '.neigh | length')"

# Many clients follow the events of all hosts.
monitors=()
for ((k = 0; k < 16; k++)); do
	"$UIPOIB" -j monitor >"$work/monitor$k" &
	monitors+=($!)
done
all_heard() { # FILTER: each client has a row about the link of h1 for which the jq expression FILTER is true
	local k
	for ((k = 0; k < 16; k++)); do
		jq -e -n "[inputs.event | select(.event == \"link\" and .host == \"h1\")] | $1" "$work/monitor$k" >/dev/null || return 1
	done
}
hear_down() {
	u fabric link set Switch1/1 down
	all_heard 'any(.state != "UP")' || { u fabric link set Switch1/1 up; return 1; } # a client that was not there yet hears of the next time
}
check "16 clients of monitor hear of a link that goes down" eventually 10 hear_down
u fabric link set Switch1/1 up
check "and of its state and carrier when it is up again" eventually 10 all_heard '.[-1] | .state == "UP" and .carrier'
kill "${monitors[@]}"
wait "${monitors[@]}" 2>/dev/null
lab_down
check "the limits are as they were" restored
finish
