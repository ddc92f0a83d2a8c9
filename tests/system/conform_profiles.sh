#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# uipoib conform with a uipoib host of each profile that has a wire of its own: all cases that apply pass. conform.sh
# has the default profile.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq dhclient

# These runs wait most of the time, so they are beside each other.
dut 7 '' v4mc01
suite 7 --profile v4mc01 --clause M23 --slow --hook "$hook" --strict &
slow=$!
passing() { # N PROFILE: begin a run that `passed N` judges
	(
		unset dut_pid
		declare -A dut_pid
		passes "$1" "$2"
	) >"$work/passes.$1" 2>&1 &
	run_pid[$1]=$!
}
declare -a run_pid
passed() { wait "${run_pid[$1]}" || { cat "$work/passes.$1"; return 1; }; }
passing 1 v4mc01
passing 4 v6ib00
passing 5 encaparp00
passing 8 hld2002
check "v4mc01" passed 1
check "v6ib00" passed 4
check "encaparp00" passed 5
check "hld2002" passed 8
all_judged() { equal "" "$(results 8 '.result == "NA"')"; }
check "hld2002: nothing is NA, because the DUT has a list of P_Keys and its parameters are known" all_judged
server() {
	dut_conf 6 '' encaparp00
	echo 'sidr-server = yes' >>"$work/dut.6.conf"
	dut_start 6
	suite 6 --profile encaparp00 --clause P18 --clause P19 --strict || { tail -40 "$work/out.6"; return 1; }
	equal "" "$(results 6 '.result == "NA" and (.case | test("^P"))')"
}
check "P18 P19: and one that is a server of SIDR" server
number() {
	dut_conf 2 '' v4mc01
	echo 'subnet-number = 77' >>"$work/dut.2.conf"
	dut_start 2
	suite 2 --profile v4mc01 --subnet-number 77 --clause M11 --clause M9 --clause R67 --hook "$hook" --strict ||
		{ tail -40 "$work/out.2"; return 1; }
	equal "" "$(results 2 '.result == "NA" and (.case | test("^M"))')"
}
check "M6 M11: and one with a subnet number" number
scope() {
	dut_conf 3 '' v4mc01
	echo 'scope = 5' >>"$work/dut.3.conf"
	dut_start 3
	suite 3 --profile v4mc01 --scope 5 --clause M5 --clause M9 --clause R67 --hook "$hook" --strict || { tail -40 "$work/out.3"; return 1; }
	equal "PASS" "$(jq -r '.conform[] | select(.case == "M5") | .result' "$work/report.3")"
}
check "M5: and one with another scope" scope
slow_passes() {
	wait $slow || { tail -40 "$work/out.7"; return 1; }
	equal "PASS" "$(jq -r '.conform[] | select(.case == "M23") | .result' "$work/report.7")"
}
check "M23: with --slow" slow_passes
check "v4mc01: doc/conform.md has these results" documented 1 v4mc01 uipoib
check "v6ib00: doc/conform.md has these results" documented 4 v6ib00 uipoib
check "encaparp00: doc/conform.md has these results" documented 5 encaparp00 uipoib
check "hld2002: doc/conform.md has these results" documented 8 hld2002 uipoib
check "P18 P19: and those of the server" documented 6 encaparp00 'uipoib, server'
end_all
finish
