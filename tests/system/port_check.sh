#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `uipoib check` at the ports of hosts and switches: it finds no fault in a healthy fabric, and reports each fault
# that the script makes.
#
#	      h1  h4         h2              h3
#	       \  /           |               |
#	      Switch1 ------ Switch2 ------ Switch3 ------ (Switch1)
#
#	P_Key	broadcast group		members
#	0xffff	scope 2			all
#	0x8001	scope 2			h1, h2 full; h3 limited; interfaces uib1 on h1 and h2
#	0x8002	none			h1
#	0x8003	scope 5			h1
#	0x8004	scope 2			h2, h3 limited
. "$(dirname "$0")/lib.sh"
need python3
topo_ring 4 3 >"$work/lab.topo"
cat >"$work/partitions.conf" <<-'END'
	Default=0x7fff, ipoib : ALL=full;
	Lab=0x8001, ipoib : "Hca1"=full, "Hca2"=full, "Hca3"=limited;
	Bare=0x8002 : "Hca1"=full;
	Wide=0x8003, ipoib, scope=5 : "Hca1"=full;
	Shy=0x8004, ipoib : "Hca2"=limited, "Hca3"=limited;
END
{
	conf_hosts 4 "partitions = partitions.conf"
	for i in 1 2; do conf_iface uib1 $i "pkey = 0x8001" "address = 10.5.0.$i/16"; done
} >"$work/lab.conf"
lab_up

# port PLACE [WORD...]: run `uipoib check` at the port of PLACE; write its report to $work/report, and print its findings
port() {
	local status
	x "$1" "$UIPOIB" -j check umad0 "${@:2}" >"$work/report"
	status=$?
	jq -r '.check.findings[] | "\(.severity) \(.kind): \(.what)"' "$work/report"
	return $status
}
healthy() { port "$@" && jq -e '.check | .faults == 0 and .notes == 0 and (.findings | length) == 0 and .requests.lost == 0' "$work/report" >/dev/null; }
# only KIND SEVERITY STATUS PLACE [WORD...]: succeeds if the check ends with STATUS, has this finding, and has no finding of
# another kind
only() {
	local kind=$1 severity=$2 want=$3 status
	shift 3
	port "$@"
	status=$?
	equal "$want" $status && jq -e --arg k "$kind" --arg s "$severity" '.check.findings | length > 0 and all(.kind == $k and .severity == $s)' "$work/report" >/dev/null
}
# finds KIND PLACE [WORD...]: succeeds if the check ends with 1 and has this fault, alone or with other faults
finds() {
	local kind=$1 status
	shift
	port "$@"
	status=$?
	equal 1 $status && jq -e --arg k "$kind" '.check.findings | any(.kind == $k and .severity == "fault")' "$work/report" >/dev/null
}
gid() { x "$1" cat /sys/class/infiniband/uipoib0/ports/1/gids/0; }
gid1=$(gid h1) gid2=$(gid h2) gid3=$(gid h3) gid4=$(gid h4)
patch() { x "$1" python3 tests/interop/smp_patch.py 0 0x15 1 "${@:2}"; } # Set(PortInfo) of the own port

# --- ports without a fault

for p in h1 h2 h3 h4 Switch1 Switch2 Switch3; do
	check "$p: nothing is found" eventually 10 healthy $p # an answer can be late on a busy machine
done
for a in 1 2 3 4; do
	for b in 1 2 3 4; do
		peer=gid$b
		check "h$a to h$b: nothing is found" eventually 10 healthy h$a peer "${!peer}"
	done
done
check "h1 to h2 in partition 0x8001: nothing is found" eventually 10 healthy h1 pkey 0x8001 peer "$gid2"
check "nothing was changed: no group has a member more" equal 2 "$(u -j fabric group show -d | jq '[.group[] | select(.mgid == "ff12:401b:8001::ffff:ffff") | .members[]] | length')"
text() { x h1 "$UIPOIB" check umad0 >"$work/text" && grep -q '^sm .* master, answers in ' "$work/text" && grep -qx 'uipoib0/1: 0 faults, 0 notes' "$work/text" || { cat "$work/text"; return 1; }; }
check "in words" eventually 10 text

# --- partitions and groups

check "a P_Key that no port has" eventually 10 only pkey-missing fault 1 h1 pkey 0x9999
check "a limited member" eventually 10 only pkey-limited note 0 h3 pkey 0x8001
check "a partition without a broadcast group" eventually 10 only group-absent fault 1 h1 pkey 0x8002
check "a broadcast group of another scope" eventually 10 only group-scope fault 1 h1 pkey 0x8003
check "a peer without this P_Key: the path" eventually 10 finds path-refused h1 pkey 0x8001 peer "$gid4"
check "a peer without this P_Key: its table" eventually 10 finds peer-pkey h1 pkey 0x8001 peer "$gid4"
check "two limited members" eventually 10 finds peer-pkey h2 pkey 0x8004 peer "$gid3"
check "a peer without an interface on this link" eventually 10 finds peer-not-member h1 pkey 0x8001 peer "$gid3"
check "a GID that nobody has" eventually 10 only peer-unknown fault 1 h1 peer fe80::dead:beef

# --- ports that are down, and managers that have ended

check "the cable of h4 is pulled" u fabric link set Hca4/1 down
check "its port has no link" eventually 10 only no-link fault 1 h4
check "its peer misses it" eventually 20 only peer-unknown fault 1 h1 peer "$gid4"
check "all subnet managers end" eval 'while u fabric sm stop; do :; done'
check "the manager of h1 is gone" eventually 10 only sm-silent fault 1 h1
check "the cable of h4 is plugged again" u fabric link set Hca4/1 up
check "nobody makes its port Active" eventually 20 only not-active fault 1 h4
check "the link of h1 gets another MTU at one end" patch h1 32=0 33=0 36=0x10
check "its ends differ" eventually 10 finds link-mtu h1
check "h2 loses its LID" patch h2 16=0 17=0 32=0 33=0
check "it has none" eventually 10 only no-lid fault 1 h2
check "h3 loses the LID of the manager" patch h3 18=0 19=0 32=0 33=0
check "it has no manager" eventually 10 only no-sm fault 1 h3

# --- wrong arguments

check "a port that is not there" refuse 3 'umad7: no such port' x h1 "$UIPOIB" check umad7
check "no port" refuse 2 'port: missing' x h1 "$UIPOIB" check
check "a P_Key of 0x8000" refuse 2 'pkey: expected' x h1 "$UIPOIB" check umad0 pkey 0x8000
check "an address without an interface that knows it" refuse 2 "give the peer's GID" x h1 "$UIPOIB" check umad0 peer 10.4.0.2
check "a peer that is neither" refuse 2 'expected an IP address or a GID' x h1 "$UIPOIB" check umad0 peer h2
finish
