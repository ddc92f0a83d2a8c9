#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# `uipoib fabric import` imports the output of Debian's ibnetdiscover for ibsim's example nets under OpenSM. When the
# imported file is imported again, nothing changes. When the imported file runs as a fabric under the embedded SM,
# ibnetdiscover prints the same names, GUIDs, LIDs and rates. A message names each line that cannot be imported. A fat
# tree of 1,000 HCAs comes up.
. "$(dirname "$0")/lib.sh"
need ibsim ibnetdiscover opensm jq python3
nets=$(ls -d /usr/share/doc/ibsim-utils/net-examples 2>/dev/null)
[ -n "$nets" ] || { skip "ibsim's example nets" "not installed"; finish; }
imp() { u fabric import "$@"; }

# Print the records of a topology in sorted order, without comment lines, because the comment lines at the head contain
# dates.
records() { sed '/^#/d' "$1" | awk 'BEGIN { RS = ""; FS = "\n" } { s = $1; for (i = 2; i <= NF; i++) s = s "\1" $i; print s }' | sort; }
same_records() { grep -q "^Switch" "$1" && diff <(records "$1") <(records "$2"); }

first_hca() { sed -n 's/^[HC]c*a[ \t][^"]*"\([^"]*\)".*/\1/p' "$1" | head -1; }

# discovered NET: write the output of ibnetdiscover for this net, with LIDs that an SM has assigned, as in a production
# fabric
discovered() {
	local hca status
	hca=$(first_hca "$nets/$1")
	ibsim_start "$nets/$1" || return 1
	osm_start ibsim "$hca" && osm_wait_up || { cat "$osm_dir/out"; return 1; }
	asked ibsim "$hca" ibnetdiscover >"$work/$1.found" &&
		asked ibsim "$hca" ibnetdiscover -g >"$work/$1.grouped" &&
		asked ibsim "$hca" ibnetdiscover -f >"$work/$1.full" &&
		asked ibsim "$hca" ibnetdiscover -p >"$work/ports" &&
		asked ibsim "$hca" ibnetdiscover -l >"$work/list" &&
		asked ibsim "$hca" ibnetdiscover --cache "$work/cache" >/dev/null
	status=$?
	osm_stop
	ibsim_stop
	return $status
}

taken() {
	local kind
	for kind in found grouped full; do
		imp "$work/$1.$kind" -o "$work/$1.$kind.topo" --strict --force || return 1
		cmp "$work/$1.$kind.topo" "$work/$1.found.topo" || return 1
	done
	same_records "$work/$1.found" "$work/$1.found.topo" || return 1
	imp "$work/$1.found.topo" -o "$work/again.topo" --strict --force && cmp "$work/$1.found.topo" "$work/again.topo"
}

# Run the imported net under the embedded SM. ibnetdiscover must print the same as on ibsim.
found_again() {
	imp "$work/$1.found" -o "$work/lab.topo" --config "$work/lab.conf" --hosts 2 --force || return 1
	sed -i "/^sm = /aibsim = $inst" "$work/lab.conf"
	lab_start && u wait --timeout $patience && eventually 10 found_same $1
}
found_same() {
	asked lab "$(first_hca "$work/lab.topo")" ibnetdiscover >"$work/again.found" && same_records "$work/$1.found" "$work/again.found"
}

for net in net.1 net.2sw2path net.2sw2path4hca net.2sw2path4hca2port; do
	check "$net: ibnetdiscover prints it from ibsim" discovered $net || continue
	check "$net: it is taken whole and reads back the same" taken $net
	check "$net: on our fabric ibnetdiscover prints it again" found_again $net
	lab_down
done

# --- other lines that occur in files of production fabrics

cp "$work/net.1.found" "$work/good"
{
	echo "ibwarn: [2718] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,7)"
	sed -e 's/ 4xSDR$/ 4xFDR10/' "$work/good"
	printf '\nvendid=0x2c9\ndevid=0x1\nrtguid=0x77\nRt\t2 "R-0000000000000077"\t\t# "gate"\n'
	printf '[1](78) \t"S-0000000000200000"[30]\t\t# lid 9 lmc 0 "Switch1" lid 1 4xEDR\n'
} >"$work/mixed"
mixed() {
	imp "$work/mixed" -o "$work/mixed.topo" >"$work/out" 2>"$work/err" || { cat "$work/err"; return 1; }
	grep -q "^$work/mixed:1: expected Switch, Ca, Hca.*(left out)" "$work/err" &&
		grep -q "^$work/mixed:[0-9]*: routers are not supported: .*gate.*(left out)" "$work/err" &&
		grep -q '2 lines or cables left out' "$work/out" && grep -q ' 4xFDR10' "$work/mixed.topo" || { cat "$work/out" "$work/err"; return 1; }
}
check "a router and a tool's warning are left out, with their lines; the rest is taken" mixed
check "--strict takes none of it" refuse 1 'not all of it can be taken' imp "$work/mixed" -o "$work/none.topo" --strict
check "and writes nothing" not ls "$work/none.topo"
check "what is there is not overwritten" refuse 2 'is there already' imp "$work/good" -o "$work/mixed.topo"
check "neither is the configuration, and then no topology is written" refuse 2 'is there already' \
	imp "$work/good" -o "$work/none.topo" --config "$work/mixed.topo"
check "nothing is left of it" equal "" "$(ls "$work" | grep none)"
check "ibnetdiscover -p says too little" refuse 2 'ports: a report .*without these options' imp "$work/ports"
check "so does ibnetdiscover -l" refuse 2 'list: a report' imp "$work/list"
check "a cache is no text" refuse 2 'load-cache' imp "$work/cache"
check "a missing file" refuse 2 'nope: No such file' imp "$work/nope"
check "a folder that is not there" refuse 3 'nope/x: No such file' imp "$work/good" -o "$work/nope/x"
check "a wrong expression" refuse 2 "--host '\['" imp "$work/good" -o "$work/n.topo" --config "$work/n.conf" --host '['
check "an expression that nothing matches" refuse 2 'no HCA with a cable matches' \
	imp "$work/good" -o "$work/n.topo" --config "$work/n.conf" --host 'xyzzy'
piped() { imp - -o "$work/p.topo" <"$work/good" && cmp "$work/p.topo" "$work/net.1.found.topo"; }
check "standard input" piped

# --- 1,000 HCAs

python3 bench/gen_topo.py test >"$work/large"
large_json() {
	imp -j "$work/large" -o "$work/lab.topo" --config "$work/lab.conf" --host 'node0*(1|500|1000) ' --force >"$work/json" || return 1
	equal '100 1000 1375 1100 3 {"4xEDR":1375}' \
		"$(jq -r '.import[0] | "\(.switches) \(.cas) \(.links) \(.lids) \(.interfaces) \(.rates | tojson)"' "$work/json")"
}
check "1,000 HCAs: counted" large_json
large_up() {
	lab_up && eventually 20 large_swept
}
large_swept() { equal "1100 0" "$(u -j fabric sm show | jq -r '.sm[0].last_sweep | "\(.end_ports) \(.lids_assigned)"')"; }
check "1,000 HCAs: up, every LID as in the file" large_up
check "hosts are called as their HCAs are described" eventually 20 x node00001 ping -n -q -c 1 -W 2 10.4.0.3
lab_down
finish
