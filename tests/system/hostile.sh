#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# Twelve of fourteen hosts are hostile. Each of them sends 1000 MADs a second, of one of eight kinds (mad_load.c), such as
# random Sets to other nodes' ports, or first segments of RMPP transfers. For the other two hosts, lookups, joins, TCP and
# the re-routing around a pulled cable work as without the attack. Because there is an M_Key, no node can change values
# that the SM has written.
#
#	h1 ==> h2: TCP; h1: lookups and joins       h3 .. h14: hostile
#	Switch1 - Switch2 - Switch3, a ring; the cable Switch1/7 - Switch2/6 is pulled meanwhile
#
# Time limits are multiplied by the factor by which the attack slows a program down (stretch). The measured times are printed.
. "$(dirname "$0")/lib.sh"
load=$TOOLS/mad_load
[ -x "$load" ] || { echo "not ok - $load is built"; exit 1; }
need ping python3 smpquery
hosts=14 rate=1000 seconds=6 key=0x5ec7e75ec7e7
kinds=(smp set sa join trap inform rmpp pma)
median_us=1000000 max_us=5000000 # bounds for the times of a lookup and of a join
grown_kb=131072 # bound for the growth of memory
topo_ring $hosts 3 >"$work/lab.topo"
conf_hosts $hosts "m-key = $key" >"$work/lab.conf"
lab_up

# --- tables that the SM wrote, read from the nodes

lids() { u -j fabric port show | jq -c '.port[] | [.port, .lid, .lmc, .sm_lid]'; }
tables() { for s in 1 2 3; do u -j fabric lft show Switch$s; done; }
settings() { u -j fabric port show | jq -c '.port[] | [.port, .state, .mtu, .oper_vls, .pkeys, .link, .speed]'; }
# Print the M_Key of every node. h1 reads it by requests that contain $key, because a node shows its M_Key only to such requests.
mkeys() {
	local lid
	for lid in $(u -j fabric port show | jq '.port[].lid // empty | select(. > 0)' | sort -nu); do
		eventually 10 x h1 smpquery -K -y $key portinfo "$lid" | sed -n "s/^Mkey:\.*/$lid /p;s/^ProtectBits:\.*/$lid protect /p"
	done
}
same() { diff "$work/$1" <("$1"); } # WHAT: succeeds if the function WHAT still prints what is in the file $work/WHAT
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
none_lost() { not grep -v ' lost 0 ' "$1"; } # FILE: succeeds if no line of FILE reports a lost or refused request; shows the lines that do

check "a TCP flow" flow_start h1 h2 10.4.0.1 10.4.0.2
pids=''
for ((i = 3; i <= hosts; i++)); do
	bx "h$i" "$load" "${kinds[(i - 3) % 8]}" $rate $seconds $i >"$work/load.$i" 2>&1
	pids+=" $!"
done
slower=$(stretch)
bx h1 "$load" probe $((seconds - 2)) "$gid" >"$work/probe" 2>&1
probe=$!
check "the SA hears of it" eventually 10 asked $((asked_before + 3000))
check "meanwhile no LID changes" same lids

sees_links() { equal "$1" "$(links)"; }
cable() { # STATE LINKS: set the cable to STATE, and wait until the SM knows this number of links
	local t0=${EPOCHREALTIME/./} t
	u fabric link set Switch1/7 "$1" && eventually 10 sees_links "$2" || return 1
	t=${EPOCHREALTIME/./}
	echo "# the SM knows that a cable is $1 after $(((t - t0) / 1000)) ms" >>"$work/times"
}
check "a cable that is pulled is known to be down" cable down $((wired - 1))
check "and plugged in again" cable up "$wired"
check "meanwhile memory is bounded" test $(($(memory_kb) - kb)) -lt $grown_kb

wait $probe
check "h1 looks up and joins all the while" none_lost "$work/probe"
in_time() { awk -v m=$((median_us * slower)) -v x=$((max_us * slower)) '$6 >= m || $8 >= x || $2 < 1 { print; bad = 1 } END { exit bad || NR != 2 }' "$work/probe"; }
check "in less than a second, each in less than five, as long as others leave the CPU to them" in_time
check "TCP goes on" flow_stop '.octets > 1000000 and .longest < 300'
for p in $pids; do wait "$p"; done
sent=$(awk '{ n += $2 } END { print n + 0 }' "$work"/load.*)
check "it was an attack" test "$sent" -ge $((12 * rate * seconds / 4))

echo "# others make a program $slower times as slow"
echo "# MADs sent: $sent in $seconds s"
sed 's/^/# quiet: us of /' "$work/quiet"
sed 's/^/# attack: us of /' "$work/probe"
u -j fabric sm show | jq -c '.sm[0] | { heavy_sweeps, smps, timeouts }' | sed 's/^/# SM: /'
cat "$work/times"
sed 's/^{/# TCP: {/' "$work/flow"

# --- after the attack

check "LIDs are as before" same lids
check "M_Keys are as before" same mkeys
check "forwarding tables are as before" eventually 10 same tables
check "ports are as before" eventually 10 same settings
echo "# memory: $kb kB before, $(memory_kb) kB after"
check "memory is bounded" test $(($(memory_kb) - kb)) -lt $grown_kb
all_up() { equal $hosts "$(u -j link show | jq '[.link[] | select(.state == "UP")] | length')"; }
check "all interfaces are up" eventually 10 all_up
check "every pair pings" pairs $hosts 20
check "h1 looks up and joins" none_lost <(x h1 "$load" probe 1 "$gid")
finish
