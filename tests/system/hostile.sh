#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Twelve of fourteen hosts turn hostile: 1000 MADs a second each, of eight kinds (mad_load.c), from random Sets of foreign
# ports to beginnings of RMPP transfers. For the other two the fabric stays what it is - lookups, joins, TCP, a cable
# that is pulled - and with an M_Key nothing that the SM wrote is changed by anybody else.
#
#	h1 ==> h2: TCP; h1: lookups and joins       h3 .. h14: hostile
#	Switch1 - Switch2 - Switch3, a ring; the cable Switch1/7 - Switch2/6 is pulled meanwhile
#
# Times are bounds for a machine that is busy with other things, too; what was measured is printed.
. "$(dirname "$0")/lib.sh"
load=$TOOLS/mad_load
[ -x "$load" ] || { echo "not ok - $load is built"; exit 1; }
need ping iperf3 ss smpquery
hosts=14 rate=1000 seconds=6 key=0x5ec7e75ec7e7
kinds=(smp set sa join trap inform rmpp pma)
median_us=1000000 max_us=5000000 # of a lookup, of a join
grown_kb=131072 # of memory
topo_ring $hosts 3 >"$work/lab.topo"
conf_hosts $hosts "m-key = $key" >"$work/lab.conf"
lab_up

# --- what the SM wrote, as the nodes have it

lids() { u -j fabric port show | jq -c '.port[] | [.port, .lid, .lmc, .sm_lid]'; }
tables() { for s in 1 2 3; do u -j fabric lft show Switch$s; done; }
settings() { u -j fabric port show | jq -c '.port[] | [.port, .state, .mtu, .oper_vls, .pkeys, .link, .speed]'; }
# The M_Key as who knows it sees it; every node's
mkeys() {
	local lid
	for lid in $(u -j fabric port show | jq '.port[].lid // empty | select(. > 0)' | sort -nu); do
		x h1 smpquery -K -y $key portinfo "$lid" | sed -n "s/^Mkey:\.*/$lid /p;s/^ProtectBits:\.*/$lid protect /p"
	done
}
same() { diff "$work/$1" <("$1"); } # WHAT: as it was
for what in lids tables settings mkeys; do $what >"$work/$what"; done
check "every node has the M_Key" equal $((hosts + 3)) "$(grep -c " $key\$\| 0x0*${key#0x}\$" "$work/mkeys")"
check "who does not know it is not shown it" equal 0 \
	"$(x h3 smpquery -K portinfo "$(jq -r 'select(.[0] == "Hca1/1")[1]' "$work/lids")" | grep -c "${key#0x}")"

links() { u -j fabric sm show | jq '.sm[0].last_sweep.links'; }
wired=$(links)
memory_kb() {
	local p
	for p in $(descendants "$lab_pid"); do sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$p/status"; done |
		awk '{ n += $1 } END { print n }'
}
kb=$(memory_kb)

gid=$(x h2 cat /sys/class/infiniband/uipoib0/ports/1/gids/0)
x h1 "$load" probe 1 "$gid" >"$work/quiet"

# --- the attack

requests() { u -j stats | jq '[.stats[] | select(.layer == "sa" and .counter == "requests") | .value] | add'; }
asked() { test "$(requests)" -gt "$1"; }
asked_before=$(requests)

serves() { x h2 ss -Hltn "sport = :5301" | grep -q .; }
bx h2 iperf3 -s -1 -p 5301 >"$work/server" 2>&1
check "a TCP server" eventually 10 serves
pids=''
for ((i = 3; i <= hosts; i++)); do
	bx "h$i" "$load" "${kinds[(i - 3) % 8]}" $rate $seconds $i >"$work/load.$i" 2>&1
	pids+=" $!"
done
bx h1 iperf3 -c 10.4.0.2 -p 5301 -t $seconds -i 2 -C cubic -J >"$work/flow" 2>&1
flow=$!
bx h1 "$load" probe $((seconds - 2)) "$gid" >"$work/probe" 2>&1
probe=$!
check "the SA hears of it" eventually 10 asked $((asked_before + 3000))
check "meanwhile no LID changes" same lids

sees_links() { equal "$1" "$(links)"; }
cable() { # STATE LINKS: until the SM knows
	local t0=${EPOCHREALTIME/./} t
	u fabric link set Switch1/7 "$1" && eventually 10 sees_links "$2" || return 1
	t=${EPOCHREALTIME/./}
	echo "# the SM knows that a cable is $1 after $(((t - t0) / 1000)) ms" >>"$work/times"
}
check "a cable that is pulled is known to be down" cable down $((wired - 1))
check "and plugged in again" cable up "$wired"
check "meanwhile memory is bounded" test $(($(memory_kb) - kb)) -lt $grown_kb

wait $probe
check "h1 looks up and joins all the while" not grep -Evq ' lost 0 ' "$work/probe"
within() { awk -v m=$median_us -v x=$max_us '$6 >= m || $8 >= x || $2 < 5 { print; bad = 1 } END { exit bad || NR != 2 }' "$work/probe"; }
check "in less than a second, each in less than five" within
wait $flow
flows() { jq -e '[.intervals[].sum.bytes] | length > 0 and min > 0' "$work/flow"; }
check "TCP goes on" flows
for p in $pids; do wait "$p"; done
sent=$(awk '{ n += $2 } END { print n + 0 }' "$work"/load.*)
check "it was an attack" test "$sent" -ge $((12 * rate * seconds / 4))

echo "# MADs sent: $sent in $seconds s"
sed 's/^/# quiet: us of /' "$work/quiet"
sed 's/^/# attack: us of /' "$work/probe"
cat "$work/times"
jq -r '"# TCP: \(.end.sum_received.bits_per_second / 1e6 | floor) Mb/s"' "$work/flow"

# --- and after it

check "LIDs are as before" same lids
check "M_Keys are as before" same mkeys
check "forwarding tables are as before" eventually 10 same tables
check "ports are as before" eventually 10 same settings
echo "# memory: $kb kB before, $(memory_kb) kB after"
check "memory is bounded" test $(($(memory_kb) - kb)) -lt $grown_kb
all_up() { equal $hosts "$(u -j link show | jq '[.link[] | select(.state == "UP")] | length')"; }
check "all interfaces are up" eventually 10 all_up
check "every pair pings" pairs $hosts 20
check "h1 looks up and joins" not grep -Evq ' lost 0 ' <(x h1 "$load" probe 1 "$gid")
finish
