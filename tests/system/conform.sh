#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# A uipoib host as the DUT passes all cases of `uipoib conform`, and wrong arguments are refused. In conform_duts.sh and
# conform_mutants.sh some DUTs fail.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq dhclient

# --- a uipoib host as the DUT

whole() {
	dut 0
	suite 0 --hook "$hook" --strict || { tail -40 "$work/out.0"; return 1; }
	tail -1 "$work/out.0"
	equal "" "$(results 0 '.result != "PASS"')" && [ "$(jq '.conform | length' "$work/report.0")" -ge 80 ] &&
		jq -e --argjson slower "$(stretch)" '.seconds < 120 * $slower' "$work/report.0" && jq -e '.conform | all(.checks > 0)' "$work/report.0"
}
check "a uipoib host passes all cases" whole
check "doc/conform.md has these results" documented 0 rfc4391 uipoib
unable() {
	suite 0 --hook 'sh -c "exit 77"' --clause D2 --clause I29 --clause R70 || return 1
	equal "I29 R67 D1/lease D2 R70/list R70/created " "$(results 0 '.result == "NA" and (.why | test("status 77|D1/lease|R67|R70/list"))')"
}
check "a step that the hook cannot do (status 77) makes its cases NA" unable
check "with --strict the status is 1" refuse 1 'no --hook' suite_out 0 --strict --clause R67
chosen() {
	suite 0 --clause R7 --junit "$work/junit" || return 1
	equal "U1 I2/node-info I5/init I5/active R23 R7 " "$(results 0 true)" &&
		python3 -c 'import sys, xml.dom.minidom as m; sys.exit(len(m.parse(sys.argv[1]).getElementsByTagName("testcase")) != 6)' "$work/junit"
}
check "--clause runs the clause and what it needs; JUnit has the same" chosen
end "${dut_pid[0]}"

# --- wrong arguments

c() { "$UIPOIB" conform "$@"; }
check "no --dut" refuse 2 '[-]-dut is missing: expected' c
check "a --dut that is no address" refuse 2 "dut 'udp:h1': expected udp:ADDR:PORT" c --dut udp:h1
check "an unknown clause" refuse 2 "clause 'R999': no such clause" c --dut udp:127.0.0.1:1 --clause R999
check "an unknown profile" refuse 2 "profile 'x': expected" c --dut udp:127.0.0.1:1 --profile x
check "a scope that is none" refuse 2 "scope '15': expected a number from 1 to 14" c --dut udp:127.0.0.1:1 --scope 15
check "a number of an IP subnet that is none" refuse 2 "subnet-number '0x': expected a number" c --dut udp:127.0.0.1:1 --subnet-number 0x
in_use() { # CMD...: run the command while another socket is bound to its port
	python3 -c 'import socket, subprocess, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 5999))
sys.exit(subprocess.call(sys.argv[1:]))' "$@"
}
check "a port that is in use" refuse 3 'Address already in use' in_use "$UIPOIB" conform --dut udp:127.0.0.1:1 --listen 127.0.0.1:5999
check "a --pcap-dir that cannot be made" refuse 3 'pcap-dir /proc/x: ' c --dut udp:127.0.0.1:1 --pcap-dir /proc/x
check "a --pcap-dir that is a file" refuse 3 'Not a directory' c --dut udp:127.0.0.1:1 --pcap-dir "$PWD/README.md"
check "a folder that is not there" refuse 3 'No such file' c --dut udp:127.0.0.1:1 --json /nonexistent/x
listed() { # succeeds if --list has each clause of CONFORMANCE.md, with a case or with a reason why the clause has no case
	local id p
	for p in rfc4391 hld2002 v4mc01 v6ib00 encaparp00; do c --list --profile $p || return 1; done >"$work/list"
	for id in $(grep -oE '^\| [A-Z][0-9]+' CONFORMANCE.md | tr -d '| '); do
		case $id in L*) id="L4 to" ;; esac # the list has one line for L4 to L8
		grep -qE "^  $id[ /]" "$work/list" || { echo "$id is not in the list"; return 1; }
	done
}
check "--list has every clause" listed
finish
