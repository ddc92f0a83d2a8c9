#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# saquery, unmodified on libuipoib-umad.so, makes all its queries against uipoib's SA and against OpenSM on the same
# fabric. The outputs are the same apart from LIDs, GUIDs and the fields in doc/osmtest.md.
#
#	h1: the manager	h2: saquery
. "$(dirname "$0")/lib.sh"
need opensm saquery
topo_ring 6 3 >"$work/lab.topo"

wait='-t 60000' # time-out in ms, which is long because the machine may be busy
q() { x h2 saquery $wait "$@"; }
lid_of() { q -l "Hca$1"; }
gid() { printf 'fe80::10:%x' $((2 * $1 - 1)); } # N: print the GID of HcaN's port, whose GUID is the GUID on ibsim, too

# fields: remove two kinds of fields:
# - fields that a manager is free to choose: LIDs, the manager's GUIDs and counters, the ports of multicast trees,
#   thresholds, timers, and whether Q_Keys are controlled;
# - fields that OpenSM 3.3.23 fills in wrongly: SLtoVL and VL arbitration tables, which it does not read without -Q;
#   numbers of subscriptions, which it does not assign; numbers of P_Key blocks, which it writes in the byte order of
#   its machine.
fields() {
	sed -E 's/[[:space:]]+/ /g; s/^ //; s/\.\.+/ /; s/^[0-9]+ "/LID "/' |
		grep -viE '^(base_|s|d|From|To|EndPort|SM|master_sm_base_)?LID:? |^[0-9]+$|^0x|^[0-9]+ [0-9]+$' |
		grep -vE '^(ActCount|GUID |Response time|Capability mask|VL ?:|Weight|VL |MLID|Port Mask|[Mm]lid|qkey|SubscriberEnum|Block )' |
		grep -vE '^(LocalPhysErr|OverrunErr|MkeyLeasePeriod|OperVLs|VLHighLimit|HoqLife|VLStallCount|SubnetTimeout|LifeTimeValue|MulticastFDBTop|DefaultPort|DefaultMulticast)' |
		grep -vE '^$'
}

# shape FILE: print each different line of the file, after fields(), with the number of its
# occurrences
shape() { fields <"$1" | sort | uniq -c; }

run_all() { # make all queries; the output of query N is $work/MANAGER.N
	local lid2 lid3
	lid2=$(lid_of 2) lid3=$(lid_of 3)
	rm -f "$work/$manager".*.q
	ask cpi ClassPortInfo
	ask nr NodeRecord
	ask nr.lid NodeRecord "$lid2"
	ask pir PortInfoRecord
	ask pir.lid PortInfoRecord "$lid2/1"
	ask sl2vl SL2VLTableRecord
	ask sl2vl.lid SL2VLTableRecord "$lid2"
	ask pktr --smkey 1 PKeyTableRecord
	ask pktr.lid --smkey 1 PKeyTableRecord "$lid3/1/0"
	ask vlar VLArbitrationTableRecord
	ask vlar.lid VLArbitrationTableRecord "$lid2/1/1"
	ask lr LinkRecord
	ask lr.lid LinkRecord "$lid2/1"
	ask pr PathRecord
	ask pr.lids --src-to-dst "$lid2:$lid3"
	ask pr.gids --sgid-to-dgid "$(gid 2)-$(gid 3)"
	ask pr.mtu --slid "$lid2" --dlid "$lid3" --mtu 131 PathRecord
	ask mcmr MCMemberRecord
	ask mcmr.trusted --smkey 1 MCMemberRecord
	ask lftr LFTRecord
	ask mftr MFTRecord
	ask gir.lid GUIDInfoRecord "$lid2/0"
	ask swir SwitchInfoRecord
	ask smir SMInfoRecord
	ask iir InformInfoRecord
	ask sr ServiceRecord
	ask groups -g
	ask members --smkey 1 -m
	ask issm -s
	ask list --list
	ask name -O "$lid2"
	ask lids -L Hca3
	ask guids -G Hca3
}

asked=''
ask() { # NAME SAQUERY-ARGUMENT...: make one query; its output is in $work/$manager.NAME.q
	local name=$1 file=$work/$manager.$1.q
	shift
	case " $asked " in *" $name "*) ;; *) asked+=" $name" ;; esac
	timeout 90 "$UIPOIB" exec h2 saquery $wait "$@" >"$file" 2>&1
	echo "status $?" >>"$file"
}

succeeds() { tail -1 "$work/$manager.$1.q"; grep -q '^status 0$' "$work/$manager.$1.q"; }
same_shape() { diff <(shape "$work/opensm.$1.q") <(shape "$work/embedded.$1.q"); }

# counts FILE REGEX N: succeeds if N lines of the file match
counts() { equal "$3" "$(grep -cE "$2" "$work/$1.q")"; }

for manager in opensm embedded; do
	case $manager in
	opensm) conf_hosts 6 "sm = external" ;;
	embedded) conf_hosts 6 "sm-port = Hca1/1" ;;
	esac >"$work/lab.conf"
	check "$manager: starts" lab_start
	[ $manager = embedded ] || osm_start exec h1
	check "$manager: all interfaces are up" u wait --timeout $patience
	lab_remember
	check "$manager: all hosts are in their groups, and have subscribed to traps" eventually 20 settled 6
	check "$manager: nobody who is not trusted has P_Key tables" \
		refuse 0 'SA_ERR_REQ_INVALID|0x0200' x h2 sh -c 'saquery PKeyTableRecord 2>&1; true'
	run_all
	for n in $asked; do
		check "$manager: $n" succeeds $n
	done
	osm_stop
	lab_down
done
for n in $asked; do
	check "$n says the same under both" same_shape $n
done
check "every node has a record" counts embedded.nr '^NodeRecord' 9
check "every pair has a path" counts embedded.pr '^PathRecord' 81
check "every link has two" counts embedded.lr '^LinkRecord' 18
check "every switch has the one block of its LFT that is in use" counts embedded.lftr '^LFT Record' 3

# --- tables of a fabric with 1,000 HCAs: 1,020 end ports, and 1,020 times 1,020 paths
topo_ring 1000 20 >"$work/lab.topo"
conf_hosts 1 >"$work/lab.conf"
# saquery's time-out is for the whole answer. The answer with all paths has 330,000 segments, and takes 4 s on an idle
# machine.
wait='-t 600000'
table() { # QUERY RECORD N: succeeds if the query gets N of these records
	x h1 saquery $wait $1 2>"$work/errors" | grep -c "^$2 dump:\$" >"$work/records"
	cat "$work/errors"
	equal "$3" "$(<"$work/records")"
}
check "a thousand: comes up" lab_start
check "a thousand: its interface is up" u wait --timeout $patience
lab_remember
check "a thousand: nodes" table NR NodeRecord 1020
check "a thousand: ports, of switches too" table PIR PortInfoRecord $((1000 + 20 * 53))
check "a thousand: links both ways" table LR LinkRecord 2040
check "a thousand: LFTs" table LFTR 'LFT Record' $((20 * 16))
check "a thousand: P_Key tables" table "--smkey 1 PKTR" PKeyTableRecord $((2 * 1000 + 20 * 53 * 2))
check "a thousand: GUID tables" table GIR 'GUIDInfo Record' 4020
check "a thousand: SLtoVL tables, read by 57,180 SMPs" table SL2VL SL2VLTableRecord $((1000 + 20 * 53 * 53))
check "a thousand: all paths" table PR PathRecord $((1020 * 1020))
lab_down
finish
