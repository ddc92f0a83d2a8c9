#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# `uipoib conform` with a uipoib host of each profile that has its own wire format: all cases that apply pass. conform.sh
# tests the default profile.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq dhclient

# The runs wait most of the time, so all of them run at the same time. `begin N CMD...` starts run N. `judged N` shows the output
# of run N and returns the status of this run.
begin() {
	local n=$1
	shift
	(
		unset dut_pid
		declare -A dut_pid
		"$@"
		status=$?
		end_all
		exit $status
	) >"$work/run.$n" 2>&1 &
	run_pid[n]=$!
}
declare -a run_pid
judged() {
	local status
	wait "${run_pid[$1]}"
	status=$?
	cat "$work/run.$1"
	return $status
}

server() {
	dut_conf 6 '' encaparp00
	echo 'sidr-server = yes' >>"$work/dut.6.conf"
	dut_start 6
	suite 6 --profile encaparp00 --clause P18 --clause P19 --strict || { tail -40 "$work/out.6"; return 1; }
	equal "" "$(results 6 '.result == "NA" and (.case | test("^P"))')"
}
number() {
	dut_conf 2 '' v4mc01
	echo 'subnet-number = 77' >>"$work/dut.2.conf"
	dut_start 2
	suite 2 --profile v4mc01 --subnet-number 77 --clause M11 --clause M9 --clause R67 --hook "$hook" --strict ||
		{ tail -40 "$work/out.2"; return 1; }
	equal "" "$(results 2 '.result == "NA" and (.case | test("^M"))')"
}
scope() {
	dut_conf 3 '' v4mc01
	echo 'scope = 5' >>"$work/dut.3.conf"
	dut_start 3
	suite 3 --profile v4mc01 --scope 5 --clause M5 --clause M9 --clause R67 --hook "$hook" --strict || { tail -40 "$work/out.3"; return 1; }
	equal "PASS" "$(jq -r '.conform[] | select(.case == "M5") | .result' "$work/report.3")"
}
slow() {
	dut 7 '' v4mc01
	suite 7 --profile v4mc01 --clause M23 --slow --hook "$hook" --strict || { tail -40 "$work/out.7"; return 1; }
	equal "PASS" "$(jq -r '.conform[] | select(.case == "M23") | .result' "$work/report.7")"
}
begin 7 slow
begin 1 passes 1 v4mc01
begin 4 passes 4 v6ib00
begin 5 passes 5 encaparp00
begin 8 passes 8 hld2002
begin 6 server
begin 2 number
begin 3 scope
check "v4mc01" judged 1
check "v6ib00" judged 4
check "encaparp00" judged 5
check "hld2002" judged 8
all_judged() { equal "" "$(results 8 '.result == "NA"')"; }
check "hld2002: nothing is NA, because the DUT has a list of P_Keys and its parameters are known" all_judged
check "P18 P19: and one that is a server of SIDR" judged 6
check "M6 M11: and one with a subnet number" judged 2
check "M5: and one with another scope" judged 3
check "M23: with --slow" judged 7
check "v4mc01: doc/conform.md has these results" documented 1 v4mc01 uipoib
check "v6ib00: doc/conform.md has these results" documented 4 v6ib00 uipoib
check "encaparp00: doc/conform.md has these results" documented 5 encaparp00 uipoib
check "hld2002: doc/conform.md has these results" documented 8 hld2002 uipoib
check "P18 P19: and those of the server" documented 6 encaparp00 'uipoib, server'
end_all
finish
