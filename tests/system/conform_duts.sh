#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# `uipoib conform` with other DUTs than in conform.sh: a DUT without a hook, a DUT of profile linux,
# examples/udp_peer.py, and DUTs that are silent, that end during a run, or that send random octets. Every run ends with results. If there is
# an ASan build (`make SAN=1 all`), as in CI, its `uipoib conform` is used.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq dhclient
conform=$(dirname "$UIPOIB")/san/uipoib
[ -x "$conform" ] || conform=$UIPOIB
export ASAN_OPTIONS=exitcode=99:log_path=$work/asan UBSAN_OPTIONS=exitcode=99:log_path=$work/asan

# Start examples/udp_peer.py, which is judged at the same time as the other DUTs
python3 examples/udp_peer.py --listen 127.0.0.1:6007 --peer 127.0.0.1:5007 --guid 0x0002c90300000031 --address 10.9.0.1/24 >"$work/peer.log" 2>&1 &
peer=$!
suite 7 &
peer_run=$!

dut 0
no_hook() {
	suite 0 || { tail -40 "$work/out.0"; return 1; }
	equal "D1 D1/lease D1/release D2 D3/clear D3/set I29 R25/directed R60 R61 R62 R63 R66 R67 R69 R70/created R70/list " "$(results 0 '.result == "INCONCLUSIVE"' | tr ' ' '\n' | sort | grep . | tr '\n' ' ')" &&
		equal "" "$(results 0 '.result != "INCONCLUSIVE" and .result != "PASS"')"
}
check "without a hook the cases that need one are INCONCLUSIVE, and the status is 0" no_hook
end "${dut_pid[0]}"

linux() {
	dut 5 '' linux
	suite 5 --profile linux --hook "$hook" --strict || { tail -40 "$work/out.5"; return 1; }
	equal "" "$(results 5 '.result != "PASS" and .result != "NA"')" && [ "$(results 5 '.result == "NA"' | wc -w)" -le 10 ]
}
check "a host of profile linux passes what applies to it" linux
check "linux: doc/conform.md has these results" documented 5 linux uipoib

# --- a DUT that does not behave

silent() {
	refuse 1 'no valid datagram' suite_out 1 && equal "U1 " "$(results 1 '.result == "FAIL"')" &&
		equal "" "$(results 1 '.result == "PASS"')"
}
check "a DUT that is not there: U1 fails, the others are INCONCLUSIVE" silent
random_octets() {
	python3 - "$1" <<-'PYTHON' &
		import random, socket, sys, time
		rng, end = random.Random(1), time.monotonic() + 60
		sys.path.insert(0, "examples")
		sys.dont_write_bytecode = True
		from peer import wire
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.bind(("127.0.0.1", 6000 + int(sys.argv[1])))
		while time.monotonic() < end:
		    words = rng.randrange(20, 200)
		    body = bytes([0, rng.choice((2, 3)), 0, 1]) + words.to_bytes(2, "big") + rng.randbytes(4 * words - 6)
		    body = body[:-4] + wire.icrc(body[:-4]) if rng.random() < 0.5 else body
		    for data in (body + wire.vcrc(body), rng.randbytes(rng.randrange(300)), b""):
		        s.sendto(data, ("127.0.0.1", 5000 + int(sys.argv[1])))
	PYTHON
	flood=$!
	suite "$1"
	status=$?
	end $flood
	tail -1 "$work/out.$1"
	equal 1 $status && jq -e '.packets > 100' "$work/report.$1" >/dev/null && [ -n "$(results "$1" '.case == "U2" and .result == "FAIL"')" ]
}
check "a DUT that floods with random packets: it ends with results" random_octets 2
dies() {
	dut 3
	suite 3 --hook "$hook" &
	local run=$!
	eventually 20 grep -q R34/grh "$work/out.3" || return 1
	kill -KILL $(descendants "${dut_pid[3]}")
	wait $run
	equal 0 $? || { tail "$work/out.3"; return 1; }
	tail -3 "$work/out.3"
	[ "$(results 3 '.result == "INCONCLUSIVE"' | wc -w)" -ge 10 ] && equal "" "$(results 3 '.result == "FAIL"')"
}
check "a DUT that is killed: what is not judged is INCONCLUSIVE" dies
interrupted() {
	dut 4
	suite 4 --hook "$hook" &
	local run=$!
	eventually 20 grep -q R23 "$work/out.4" || return 1
	kill -TERM "$(pgrep -P $run -x uipoib || echo $run)"
	wait $run
	equal 1 $? && equal true "$(jq .interrupted "$work/report.4")" && [ "$(results 4 '.result == "PASS"' | wc -w)" -ge 5 ]
}
check "an interrupted run prints its results so far" interrupted
bad_hook() {
	suite 4 --hook false --clause R67 || return 1
	equal "R67 " "$(results 4 '.result == "INCONCLUSIVE"')" || return 1
	suite 4 --hook /nonexistent --clause R67
	equal "R67 " "$(results 4 '.result == "INCONCLUSIVE"')"
}
check "a hook that is not there makes its cases INCONCLUSIVE" bad_hook

udp_peer() {
	wait $peer_run
	equal 1 $? || { tail -40 "$work/out.7"; return 1; }
	end $peer
	equal "R65 " "$(results 7 '.result == "FAIL"')" && grep -q "explains: I25 INCONCLUSIVE" "$work/out.7"
}
check "examples/udp_peer.py fails R65, which explains what it cannot be judged by" udp_peer
check "doc/conform.md has these results" documented 7 rfc4391 udp_peer.py

sanitizers() { not grep -HEm 40 . "$work"/asan.* 2>/dev/null; }
check "ASan and UBSan found nothing in the suite (${conform#"$PWD"/})" sanitizers
end_all
rm -f "/run/uipoib/$inst-3".* # the sockets of the DUT that was killed
finish
