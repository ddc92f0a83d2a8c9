#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Two subnet managers know the M_Key of the subnet. The embedded SM sends HANDOVER to OpenSM, and takes over when OpenSM
# is killed. Each port has this M_Key at all times.
#
#	Switch1/0: embedded SM      h3: OpenSM, of a higher priority
. "$(dirname "$0")/lib.sh"
need opensm smpquery
key=0x5ec7e75ec7e7
topo_ring 4 2 >"$work/lab.topo"
echo 'Default=0x7fff, ipoib : ALL=full, SELF=full;' >"$work/parts"
conf_hosts 4 "m-key = $key" "partitions = parts" >"$work/lab.conf"
lab_up

state() { u -j fabric sm show | jq -r '.sm[0].state'; }
is_state() { equal "$1" "$(state)"; }
lids() { u -j fabric port show | jq -c '.port[] | [.port, .lid]'; }
lid() { u -j fabric port show "$1" | jq '.port[0].lid'; }
portinfo() { x h1 smpquery "${@:2}" portinfo "$(lid "$1")"; }
# owned_by LID: succeeds if the port of h2 has this SM LID, and the M_Key
owned_by() {
	local out
	out=$(portinfo Hca2/1 -K -y $key)
	printf '%s\n' "$out"
	grep -q "^SMLid:\.*$1\$" <<<"$out" && grep -q "^Mkey:\.*0x0*${key#0x}\$" <<<"$out" &&
		grep -q "^ProtectBits:\.*1\$" <<<"$out"
}

check "ours sets the key" eventually 10 owned_by "$(lid Switch1/0)"
before=$(lids)
cat >"$work/osm.conf" <<-END
	m_key $key
	m_key_protection_level 1
	sm_priority 14
	sm_key 1
END
bx h3 env OSM_CACHE_DIR="$work" OSM_TMP_DIR="$work" opensm -F "$work/osm.conf" -P "$work/parts" -f "$work/osm.log" \
	>"$work/osm.out" 2>&1
osm=$!
check "OpenSM with the key gets the subnet" eventually 30 is_state standby
check "and h2's port, which has the key still" eventually 30 owned_by "$(lid Hca3/1)"
check "who does not know it is not shown it" equal 0 "$(portinfo Hca2/1 -K | grep -c "${key#0x}")"
check "LIDs are as before" equal "$before" "$(lids)"
check "every pair pings" eventually 30 pairs 4 5
kill -KILL "$osm"
wait "$osm" 2>/dev/null
check "OpenSM killed: ours takes over" eventually 30 is_state master
check "with the key" eventually 30 owned_by "$(lid Switch1/0)"
check "LIDs are as before" equal "$before" "$(lids)"
check "every pair pings" eventually 30 pairs 4 5
check "no port was left alone" equal 0 "$(u -j fabric sm show | jq '.sm[0].last_sweep.foreign_mkeys')"
finish
