#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Unmodified management programs run on libuipoib-umad.so. Tested are:
# - the ports and the fabric that these programs see on hosts and on switches,
# - programs that are killed, or that send floods or invalid messages,
# - answers of many segments,
# - OpenSM as the only manager, on a CA that belongs to no host.
#
#	h1 -- Switch1 -- Switch2 -- h2
#	         \         /
#	          Switch3 -- h3
. "$(dirname "$0")/lib.sh"
need saquery ibstat smpquery perfquery sminfo ibping ibnetdiscover opensm python3 ping
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 >"$work/lab.conf"
lab_up

lid() { u -j fabric port show "$1" | jq -r '.port[0].lid'; }
state() { u -j fabric port show "$1" | jq -r '.port[0].state'; }
# stat_of REGEX: print the sum of the umad counters whose names match
stat_of() { u -j stats -d | jq --arg re "$1" '[.stats[] | select(.layer == "umad" and (.counter | test($re))) | .value] | add // 0'; }
# open_files: print the number of umad files that programs have open
open_files() { u -j stats -d | jq '[.stats[] | select(.layer == "umad" and .counter == "agents")] | length'; }
nobody_is_left() { equal 0 "$(open_files)"; }
someone_is_there() { not nobody_is_left; }

# --- ports, shown as the kernel shows ports

ibstat_says() {
	local out
	out=$(x "$1" ibstat) || return 1
	printf '%s\n' "$out"
	grep -Fq "$2" <<<"$out"
}
check "ibstat: a host's CA" ibstat_says h1 "CA 'uipoib0'"
check "ibstat: its LID" ibstat_says h2 "Base lid: $(lid Hca2/1)"
check "ibstat: its state" ibstat_says h3 "State: Active"
check "ibstat: a switch is one" ibstat_says Switch2 "Switch 'uipoib0'"
check "sysfs: the LID in hexadecimal" equal "$(printf 0x%x "$(lid Hca1/1)")" \
	"$(x h1 cat /sys/class/infiniband/uipoib0/ports/1/lid)"
check "sysfs: port 0 of a switch" equal "4: ACTIVE" "$(x Switch1 cat /sys/class/infiniband/uipoib0/ports/0/state)"
check "exec: no word of ibsim where it is not served" equal "" "$(x h1 env | grep -E '^(SIM_HOST|IBSIM)')"
check "a node that is not there" refuse 2 "no such host or node" x Hca99 ibstat
check "what was preloaded stays" equal "/nowhere/x.so" \
	"$(LD_PRELOAD=/nowhere/x.so x h1 sh -c 'echo "${LD_PRELOAD%%:*}"' 2>/dev/null)"

# --- queries

nodes() { x "$1" saquery -t 60000 | grep -c 'NodeDescription'; }
check "saquery: all nodes, from a host" equal 6 "$(nodes h1)"
check "saquery: all nodes, from a switch" equal 6 "$(nodes Switch3)"
check "saquery: the same a second time" equal 6 "$(nodes h1)"
check "smpquery: directed route of no hops" grep -q 'Channel Adapter' <(x h1 smpquery -D nodeinfo 0)
check "smpquery: directed route of two hops" grep -q 'Switch2\|Switch3' <(x h1 smpquery -D nodedesc 0,1,2)
check "smpquery: LID-routed" grep -q '\.Hca3$' <(x h1 smpquery nodedesc "$(lid Hca3/1)")
check "smpquery: LID-routed, to itself" grep -q '\.Hca1$' <(x h1 smpquery nodedesc "$(lid Hca1/1)")
check "sminfo" grep -q SMINFO_MASTER <(x h2 sminfo)
check "perfquery: own port" grep -q 'PortXmitPkts:' <(x h1 perfquery)
check "perfquery: all ports of a switch" grep -q 'port 255' <(x h1 perfquery -a "$(lid Switch2/0)" 255)
discovered() { x "$1" ibnetdiscover | grep -E '^(Switch|Ca)' | sort; }
check "ibnetdiscover: the same from everywhere" equal "$(discovered h1)" "$(discovered Switch2)"
check "ibnetdiscover: all of it" equal 6 "$(discovered h3 | grep -c .)"
node_answers() { x h1 ibping -c 1 "$(lid Hca2/1)" | grep 'Pong from Hca2 '; }
check "ibping: a node answers" eventually 5 node_answers
background "$UIPOIB" exec h2 ibping -S
server=$!
pong() { x "$1" ibping -c 1 "$(lid Hca2/1)" | grep -F "Pong from $(hostname)"; }
check "ibping: a server answers for itself" eventually 10 pong h1
check "ibping: and from the other side" eventually 10 pong h3
kill -KILL "$server"
wait "$server" 2>/dev/null
check "ibping: the node again, when the server was killed" \
	eventually 5 node_answers

# --- programs that crash, or that are killed

many() {
	local p pids=''
	for _ in $(seq 20); do
		x h1 saquery -t 60000 >"$work/many.$BASHPID.$RANDOM" &
		pids+=" $!"
	done
	for p in $pids; do wait "$p" || return 1; done
	[ "$(cat "$work"/many.* | grep -c NodeDescription)" = 120 ]
}
check "twenty at a time" many

# in_the_middle: kill a program while it waits for an answer, and then kill programs at random moments.
in_the_middle() {
	local p id
	u fabric fault add Switch1/1 loss 100% mad >/dev/null || return 1
	id=$(u -j fabric fault show | jq '.fault[0].id')
	bx h1 saquery -t 60000 >"$work/killed" 2>&1
	p=$!
	eventually 5 someone_is_there || return 1
	# shellcheck disable=SC2046
	kill -KILL $(descendants "$p")
	wait "$p"
	u fabric fault del "$id" && eventually 5 nobody_is_left
} 2>/dev/null
at_any_moment() {
	local p
	for _ in $(seq 30); do
		bx h1 sh -c 'while :; do saquery -p >/dev/null; done'
		p=$!
		sleep "0.$((RANDOM % 90 + 10))"
		# shellcheck disable=SC2046
		kill -KILL $(descendants "$p")
		wait "$p"
	done 2>/dev/null
	eventually 5 nobody_is_left
}
check "killed in the middle, nothing of it stays" in_the_middle
check "killed at any moment, nothing of them stays" at_any_moment
check "and who comes next is served" equal 6 "$(nodes h1)"

check "h2 and h3 exchange datagrams all the time" probe_start others h2 h3 10.4.0.3
"$UIPOIB" exec h1 env >"$work/env"
socket=$(sed -n 's/^UIPOIB_UMAD=//p' "$work/env")
background python3 -B tests/interop/umad_hostile.py "$socket" >"$work/hostile.out" 2>&1
hostile=$!
served() {
	local n
	eventually 10 grep -q flooding "$work/hostile.out" || { cat "$work/hostile.out"; return 1; }
	for n in 1 2 3 4 5 6 7 8; do
		equal 6 "$(x h1 saquery -t 60000 | grep -c NodeDescription)" || { echo "query $n"; return 1; }
	done
}
check "a query beside a flood on the same port" served
kill -TERM "$hostile"
wait "$hostile"
hostile_says() { cat "$work/hostile.out"; grep -q "^done$" "$work/hostile.out"; }
check "nonsense is refused, and hurts nobody" hostile_says
dropped() { [ "$(stat_of 'drop_(not_read|too_many_under_way)')" -gt 0 ]; }
check "what was not read, or too much, is counted" eventually 5 dropped
check "nothing of the flood stays" eventually 5 nobody_is_left
check "packets of others were not lost meanwhile" probe_lost_nothing others
check "end" lab_down

# --- answers of many segments, which the daemon passes in a memfd

topo_ring 800 20 >"$work/lab.topo"
conf_hosts 0 'sm-port = Switch1/0' >"$work/lab.conf"
lab_start
table() {
	local out
	out=$(x Hca1 saquery -t 60000 2>&1) || { printf '%s\n' "$out" | tail -5; return 1; }
	equal 820 "$(grep -c NodeDescription <<<"$out")"
}
check "a fabric of 800 HCAs" eventually 20 table
check "and once more" table
check "end" lab_down

# --- OpenSM as the only manager, on a CA without a host

topo_ring 4 3 >"$work/lab.topo"
conf_hosts 3 'sm = external' "ibsim = $inst-sim" >"$work/lab.conf"
lab_start
check "exec: what libumad2sim.so needs, too" equal "IBSIM_SOCKNAME=$inst-sim SIM_HOST=Hca2" \
	"$(x h2 env | grep -E '^(SIM_HOST|IBSIM)' | sort | paste -sd' ')"
check "without a manager a wait says so" eventually 10 refuse 4 'WAIT_PORT: the port is Init. Start a subnet manager' u wait --timeout 1
managers_are() { equal "$1" "$(u -j fabric show | jq -c '.fabric[0].sm.is_sm')"; }
check "and so does the fabric" managers_are '[]'
port_is() { equal "$2" "$(state "$1")"; }
check "a port is Init" eventually 10 port_is Hca1/1 Init
osm_start exec Hca4
check "OpenSM brings everything up" osm_wait_up
check "all interfaces are" u wait --timeout $patience
lab_remember
check "IsSM is shown" managers_are '["Hca4/1"]'
check "hosts reach each other" ping_to h1 10.4.0.3
check "sminfo: it is OpenSM" grep -q "sm lid $(lid Hca4/1) .*SMINFO_MASTER" <(x h2 sminfo)
check "saquery: its tables" equal 7 "$(nodes h3)"
check "a second OpenSM on the port finds it taken" \
	refuse 0 'Unable to register class 129' timeout 90 "$UIPOIB" exec Hca4 opensm -f - -o
osm_stop KILL
check "killed: IsSM is gone" eventually 5 managers_are '[]'
osm_start exec Hca4
check "and started again" osm_wait_up
check "hosts still reach each other" ping_to h1 10.4.0.2
osm_stop
finish
