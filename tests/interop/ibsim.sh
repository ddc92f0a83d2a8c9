#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The fabric serves ibsim's client protocol. The clients are OpenSM and infiniband-diags with Debian's libumad2sim.so, and
# hostile programs. opensm.sh tests how OpenSM configures whole fabrics.
#
#	OpenSM		OpenSM			    hostile client
#	 Hca1 -- Switch1 -- Hca3    Hca2 -- Switch2 -- Hca4
#		    |			       |
#		    +-------- 2 cables --------+
. tests/interop/lib.sh
need opensm smpquery saquery ibnetdiscover perfquery ibping sminfo python3
[ -n "$UMAD2SIM" ] || { skip "${0##*/}" "libumad2sim0 is not installed"; exit 0; }

cp /usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca "$work/lab.topo"
conf_external "$work/lab.topo" >"$work/lab.conf"
lab_start

in_host() { # HOST CMD...: run CMD through libumad2sim in that host's namespace, without SIM_HOST
	sim_env lab ''
	x "$1" "${sim_env[@]}" "${@:2}"
}
port_guid() { sed -n 's/^PortGuid:\.*//p'; }
own_port() { "$@" smpquery -D nodeinfo 0 2>/dev/null | port_guid; }
stat_of() { u -j stats | jq "[.stats[] | select(.layer == \"ibsim\" and .counter == \"$1\" and (.object | test(\"${2:-lab}\"))) | .value] | add // 0"; }
at_least() { [ "$(stat_of "$1")" -ge "$2" ] || { u stats | grep ibsim; return 1; }; }
# h1_reaches_all: succeeds if h1 reaches all hosts. OpenSM answers a join before it has set the tables of the switches
# for the new member, so the first ARP requests may be lost, and callers repeat this function.
h1_reaches_all() {
	local i
	for i in 2 3 4; do ping_to h1 "10.4.0.$i" || return 1; done
}
is_master() { [ "$(asked lab Hca4 sminfo "$@" | grep -c 'state 3 SMINFO_MASTER')" = 1 ]; }

has_issm() { asked lab Hca1 smpquery -D portinfo 0 | grep -qw IsSM; }

# --- the node to which a program is attached

check "without a subnet manager a program reaches its own port" equal 0x0000000000100001 "$(own_port on_sim lab Hca1)"
check "SIM_HOST names a switch" equal 0x0000000000200001 "$(own_port on_sim lab Switch2)"
# Port 2 of Hca2 has no cable. infiniband-diags 56 send no MAD through a port that is Down, so use ibstat, which reads sysfs.
check "and a port" equal 0x0000000000100005 "$(on_sim lab Hca2/2 ibstat 2>/dev/null | sed -n 's/^\t\tPort GUID: //p')"
check "without it the first CA's, outside of all hosts" equal 0x0000000000100001 "$(own_port on_sim lab '')"
check "and in a host's namespace that host's CA" equal 0x0000000000100007 "$(own_port in_host h3)"
check "an unknown node is refused" refuse 255 'ctl error' on_sim lab Hca9 smpquery -D nodeinfo 0
given_up() { refuse 255 'node info query failed' on_sim lab Hca1 timeout -k 1 60 smpquery -D nodeinfo 0,1,7; } # callers repeat this, because libumad2sim.so may deadlock after a time-out
check "a route without a cable is given up" eventually 5 given_up

# --- OpenSM and the tools of infiniband-diags

osm_start lab Hca1
check "OpenSM brings the fabric up" osm_wait_up
check "and all interfaces" u wait --timeout $patience
check "hosts ping" h1_reaches_all
check "sminfo knows it" eventually 10 is_master
on_sim lab Hca2 ibnetdiscover >"$work/net.out" 2>"$work/net.err"
check "ibnetdiscover finds 2 switches and 4 CAs" equal "2 4" "$(grep -c ^Switch "$work/net.out") $(grep -c ^Ca "$work/net.out")"
check "smpquery by LID" equal 0x0000000000100001 "$(on_sim lab Hca4 smpquery nodeinfo 1 | port_guid)"
check "smpquery in a host's namespace" equal 0x0000000000100001 "$(in_host h4 smpquery nodeinfo 1 2>/dev/null | port_guid)"
check "saquery: the only path is one record" equal 1 "$(on_sim lab Hca2 saquery -p --src-to-dst 1:2 | grep -c 'PathRecord dump')"
check "saquery of itself, at the SM's own port" equal 1 "$(on_sim lab Hca1 saquery -p --src-to-dst 1:2 | grep -c 'PathRecord dump')"
counts() { asked lab Hca2 perfquery 1 1 | grep -q '^PortXmitPkts:\.*[1-9]'; }
check "perfquery" counts
check "ibping" eventually 10 asked lab Hca2 ibping -c 2 1
nobody_waits() { equal 0 "$(stat_of open)"; } # OpenSM has open requests for a moment when it sweeps, so callers repeat this
check "nobody waits for anything" eventually 10 nobody_waits

# --- OpenSM is killed and starts again

first=$osm_pid
check "its IsSM is counted" equal 1 "$(stat_of is_sm "pid $first ")"
check "and is on its port" has_issm
osm_stop KILL
check "kill -9 of OpenSM is noticed" eventually 5 at_least deaths 1
no_issm() { asked lab Hca1 smpquery -D portinfo 0 >"$work/portinfo" && not grep -w IsSM "$work/portinfo"; }
check "and its IsSM is gone" eventually 5 no_issm
check "traffic goes on without it" h1_reaches_all
joins() { u -j stats | jq '[.stats[] | select(.layer == "sac" and .counter == "joins") | .value] | add'; }
before=$(joins)
rejoined() { [ "$(joins)" -ge $((before + 4)) ]; }
osm_start lab Hca1
check "OpenSM starts again on the same CA" osm_wait_up
check "the interfaces join their groups again" eventually 10 rejoined
check "and are up" u wait --timeout $patience
check "hosts ping again" h1_reaches_all

# --- a second OpenSM

master=$osm_pid master_dir=$osm_dir
printf 'sminfo_polling_timeout 500\npolling_retry_number 2\n' >"$work/standby.conf"
osm_start lab Hca2 -F "$work/standby.conf"
check "a second OpenSM on another CA stands by" eventually 20 grep -q 'Entering STANDBY' "$osm_dir/log"
check "the first one is master" grep -q 'SUBNET UP' "$master_dir/log"
kill -KILL "$master" && wait "$master" 2>/dev/null
check "it takes over when the first is killed" eventually 20 grep -q 'Entering MASTER' "$osm_dir/log"
check "and brings the fabric up" eventually 20 grep -q 'SUBNET UP' "$osm_dir/log"
check "sminfo finds it" eventually 10 is_master
check "interfaces are up" u wait --timeout $patience
check "hosts ping under the second" h1_reaches_all

# --- a hostile client on Hca4, while a flow runs

check "h1 and h3 exchange datagrams all the time" probe_start flow h1 h3 10.4.0.3 100000000 20
hostile() {
	python3 tests/interop/ibsim_hostile.py "$inst" >"$work/hostile.out" && grep -q ^done "$work/hostile.out"
}
check "a hostile client is refused where it must be, and floods" hostile
check "nothing of a flow is lost meanwhile" probe_lost_nothing flow
sed -n 's/^rtt/# round trips during the flood: rtt/p' "$work/probe.flow"
sed 's/^/# /' "$work/hostile.out"
check "its nonsense is counted" eventually 5 at_least drop_ctl_malformed 100
check "its MADs of wrong sizes as well" eventually 5 at_least drop_malformed 10
check "what it does not read is dropped" eventually 5 at_least drop_queue 1
clients_are() { equal "$1" "$(u -j stats | jq '[.stats[] | select(.layer == "ibsim" and .counter == "requests" and .object != "lab")] | length')"; }
check "its clients are gone when it is" eventually 10 clients_are 1
check "OpenSM is master as before" eventually 10 is_master
check "a tool on the same CA is served" equal 0x000000000010000a "$(own_port on_sim lab Hca4)"
check "hosts ping" h1_reaches_all

# --- the name of ibsim's sockets, which only one instance can have

other() { UIPOIB_NAME=$inst-2 "$UIPOIB" run -n "$inst-2" -c "$1" -- true; }
check "another instance cannot take the name" refuse 2 'the name is taken' other "$work/lab.conf"
sed "s/^ibsim = .*/ibsim = $inst-2/; s/^sm = external/sm = embedded/" "$work/lab.conf" >"$work/other.conf"
check "with another name both run side by side" other "$work/other.conf"
osm_stop
check "the lab ends by itself" lab_down
finish
