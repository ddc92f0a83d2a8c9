#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# The subnet manager changes during a TCP flow. OpenSM is killed and started again, a standby OpenSM takes over and
# later hands over to the first OpenSM, and OpenSM and the embedded SM replace each other. The flow continues, and every
# group is joined again. The script prints how long the changes took.
#
#	Hca1: OpenSM A     h3 ==> h4: TCP
#	Hca2: OpenSM B
#
#	  Hca1 h4       Hca2 h5        h3 h6
#	     \ /           \ /           \ /
#	   Switch1 ------ Switch2 ------ Switch3 ------ (Switch1)
. "$(dirname "$0")/lib.sh"
need opensm saquery python3
exec 3>&1
mcast=$TOOLS/mcast
topo_ring 6 3 >"$work/lab.topo"

# A standby OpenSM with this file polls the master each second and takes over after three polls without an
# answer; the defaults are 10 s and 4 polls.
cat >"$work/osm.conf" <<-'END'
	sminfo_polling_timeout 1000
	polling_retry_number 3
END

ms() { echo $(($(date +%s%N) / 1000000)); }

flow() { flow_start h3 h4 10.4.0.3 10.4.0.4; }

# flow_went_on WHAT: end the flow, and check that it had no error and was never interrupted for more than 0.5 s. The
# receiver looks for data every 10 ms, so at most fifty looks in a row may find none.
flow_went_on() {
	flow_stop '.longest <= 50' || return 1
	echo "# $1: $(tail -1 "$work/flow")" >&3
}

group_works() { # TEXT: succeeds if a member that joined before the changes receives from a sender that starts now
	x h6 "$mcast" send uib0 239.1.2.3 7001 3 "after-$1"
	grep -q "after-$1" "$work/recv"
}

# Print "MGID PortGID" for each full membership that the interfaces report
members_wanted() {
	u -j link show | jq -r '.link[] | "\(.host) \(.gid)"' >"$work/gids"
	u -j maddr show | jq -r '.maddr[] | select(.full_member) | "\(.host) \(.mgid)"' |
		awk 'NR == FNR { gid[$1] = $2; next } { print $2, gid[$1] }' "$work/gids" - | sort
}

# Print "MGID PortGID" for each membership that the present SA lists for a trusted requester
members_known() {
	x h6 saquery --smkey 1 MCMR | awk '/MGID\./ { sub(/.*\./, "", $1); mgid = $1 }
		/PortGid\./ { sub(/.*\./, "", $1); gid = $1 } /JoinState/ { if ($0 ~ /0x1|FullMember/) print mgid, gid }' | sort
}

rejoined() {
	members_wanted >"$work/wanted"
	members_known >"$work/known"
	[ "$(wc -l <"$work/wanted")" -ge 12 ] || { echo "only $(wc -l <"$work/wanted") memberships"; return 1; }
	comm -23 "$work/wanted" "$work/known" >"$work/missing"
	[ ! -s "$work/missing" ] || { echo "the SA does not know of:"; cat "$work/missing"; return 1; }
}

sm_lid() { u -j -d link show dev uib0@h6 | jq '.link[0].port_attr.sm_lid'; }
lid_of() { u -j link show dev "uib0@$1" | jq '.link[0].lid'; }
sm_is() { equal "$(lid_of "$1")" "$(sm_lid)"; }
now_sm() { # HOST WHAT: wait until the SM of this host is the master of the other hosts' ports; print how long this took
	local start
	start=$(ms)
	eventually 30 sm_is "$1" || return 1
	echo "# $2: $(($(ms) - start)) ms" >&3
}

conf_external "$work/lab.topo" >"$work/lab.conf"
lab_start
osm_start exec h1 -p 8 -F "$work/osm.conf"
a=$osm_pid
check "OpenSM A brings the interfaces up" u wait --timeout $patience
lab_remember
bx h5 "$mcast" recv uib0 239.1.2.3 7001 >"$work/recv"
check "a group is joined" eventually 10 grep -q ready "$work/recv"
check "the SA knows every member" eventually 10 rejoined
check "A is the SM" now_sm h1 "A is the SM"

# --- OpenSM is killed and started again

check "a flow starts" flow
kill -9 "$a"
sleep 1
osm_start exec h1 -p 8 -F "$work/osm.conf"
a=$osm_pid
start=$(ms)
check "A, killed and started again: every group is joined again" eventually 20 rejoined
echo "# all groups known to the new A: $(($(ms) - start)) ms"
check "the group works" eventually 5 group_works restart
check "the flow went on" flow_went_on "A killed and started again"

# --- a standby takes over and hands back

osm_start exec h2 -p 4 -F "$work/osm.conf"
b=$osm_pid
check "B stands by" osm_wait_up
check "a flow starts" flow
kill -9 "$a"
check "A killed: B takes over" now_sm h2 "B took over after"
check "every group is joined again" eventually 20 rejoined
check "the group works" eventually 5 group_works takeover
osm_start exec h1 -p 8 -F "$work/osm.conf"
a=$osm_pid
check "A comes back: B hands over" now_sm h1 "B handed over after"
check "every group is joined again" eventually 20 rejoined
check "the group works" eventually 5 group_works handover
check "the flow went on" flow_went_on "take-over and hand-over"
osm_stop
osm_pid=$b
osm_stop
lab_down

# --- OpenSM and the embedded SM

conf_external "$work/lab.topo" | sed 's/^sm = external/sm = embedded/' >"$work/lab.conf"
lab_start
check "ours brings the interfaces up" u wait --timeout $patience
lab_remember
ours=$(sm_lid)
: >"$work/recv"
bx h5 "$mcast" recv uib0 239.1.2.3 7001 >"$work/recv"
check "a group is joined" eventually 10 grep -q ready "$work/recv"
check "a flow starts" flow
osm_start exec h1 -p 8 -F "$work/osm.conf"
a=$osm_pid
check "OpenSM of higher priority: ours hands over" now_sm h1 "ours handed over to OpenSM after"
ours_stands_by() { equal standby "$(u -j fabric sm show | jq -r '.sm[0].state' | tr A-Z a-z)"; }
check "ours stands by" eventually 5 ours_stands_by
check "every group is joined again" eventually 20 rejoined
check "the group works" eventually 5 group_works to-opensm
kill -9 "$a"
wait "$a" 2>/dev/null
start=$(ms)
is_ours() { equal "$ours" "$(sm_lid)"; }
check "OpenSM killed: ours takes over" eventually 60 is_ours
echo "# ours took over after $(($(ms) - start)) ms"
check "every group is joined again" eventually 20 rejoined
check "the group works" eventually 5 group_works to-ours
osm_start exec h2 -p 0 -F "$work/osm.conf"
check "the flow went on" flow_went_on "ours and OpenSM"
osm_stop
finish
