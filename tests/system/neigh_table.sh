#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# A host has a neighbour table of 100,000 entries. `neigh show` reads the table in pieces, between which the daemon does
# its other work, and `path get` does not read the table.
. "$(dirname "$0")/lib.sh"
need ping ip jq python3
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 >"$work/lab.conf"
lab_up

entries=100000
check "h1 reaches h2" reaches4 1 2
check "h2 reaches h3" reaches4 2 3
awk -v n=$entries 'BEGIN { for (i = 0; i < n; i++)
	printf "neigh replace fd04::%x:%x lladdr 06:00:00:%02x:%02x:%02x dev uib0 nud permanent\n",
		int(i / 65536) + 1, i % 65536, int(i / 65536), int(i / 256) % 256, i % 256 }' >"$work/many"
check "h1 has $entries neighbours" x h1 ip -batch "$work/many"

counter() { "$UIPOIB" -j stats show | jq "[.stats[] | select(.layer == \"instance\" and .counter == \"$1\").value] | add // 0"; }
counters() { echo "$(counter loop_turns) $(counter neigh_dump_pieces) $(counter neigh_dump_entries)"; }
# ips IF PEER: print the number of entries of `neigh show` for the IP address PEER
ips() { "$UIPOIB" -j neigh show dev "$1" | jq -r "[.neigh[].ip[]] | map(select(. == \"$2\")) | length"; }

# difference: print the increase of the counters from $before to $after
difference() {
	read -r turns0 pieces0 entries0 <<<"$before"
	read -r turns1 pieces1 entries1 <<<"$after"
	turns=$((turns1 - turns0)) pieces=$((pieces1 - pieces0)) seen=$((entries1 - entries0))
	echo "$turns wake-ups, $pieces pieces, $seen entries"
}
one_piece_a_wake_up() {
	difference
	[ "$seen" -ge $entries ] && [ "$pieces" -ge 100 ] && [ "$turns" -ge "$pieces" ]
}
nothing_read() {
	difference
	[ "$pieces" = 0 ]
}

before=$(counters)
check "neigh show has the IP address of the peer" equal 1 "$(ips uib0@h1 10.4.0.2)"
after=$(counters)
check "each piece of the table was read in a wake-up of its own" one_piece_a_wake_up

before=$(counters)
check "path get by IP address" "$UIPOIB" path get 10.4.0.2 dev uib0@h1
after=$(counters)
check "path get read no table" nothing_read

check "without dev all interfaces are shown" equal "h1 h2 h3" \
	"$("$UIPOIB" -j neigh show | jq -r '[.neigh[].host] | unique | join(" ")')"

# leave: a client asks for the table of h1 and closes its connection without reading the answer
leave() {
	python3 - "/run/uipoib/$inst.sock" <<-'PY'
		import socket, sys
		for i in range(20):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(b'{"v":1,"cmd":"neigh show","args":{"dev":"uib0@h1"}}\n')
		    s.close()
	PY
}
check "clients ask for the table and leave" leave
check "the next client gets its answer" equal 1 "$(ips uib0@h1 10.4.0.2)"
for k in 1 2 3; do
	ips uib0@h1 10.4.0.2 >"$work/ips.$k" &
	clients[k]=$!
done
wait "${clients[@]}"
check "three clients at once get the whole answer" equal "1 1 1" "$(cat "$work"/ips.? | xargs)"
check "stop" lab_down
finish
