#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# uipoib conform with a uipoib host of each profile that has a wire of its own: what applies passes. conform.sh has the default profile.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq

check "v4mc01" passes 1 v4mc01
check "v6ib00" passes 4 v6ib00
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
end_all
finish
