#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# `uipoib conform --fixtures` with a uipoib host of each wire format. The fields of each fixture cover its packet without
# gaps, another run makes the same fixtures, examples/fixtures has the files that the program writes, and wrong
# directories are refused.
#
# With FIXTURES_KEEP=DIR the script also keeps the output of each profile in DIR; `make fixtures` does this with
# examples/fixtures.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq dhclient

# make_fixtures N PROFILE: run the suite; its fixtures are in $work/fixtures.N
make_fixtures() {
	dut "$1" '' "$2"
	suite "$1" --profile "$2" --hook "$hook" --fixtures "$work/fixtures.$1" || { tail -40 "$work/out.$1"; return 1; }
	end "${dut_pid[$1]}"
}
described() { # N: succeeds if the fixtures of run N describe their packets completely
	cat "$work/made.$1"
	equal 0 "$(cat "$work/status.$1")" && python3 tests/system/conform_fixtures.py "$work/fixtures.$1"
}
same() { # N DIR: succeeds if run N made the same fixtures as DIR has
	python3 tests/system/conform_fixtures.py "$work/fixtures.$1" "$2"
}
keep() { # N: copy the fixtures of run N to $FIXTURES_KEEP, if it is set
	[ -n "${FIXTURES_KEEP-}" ] || return 0
	rm -rf "${FIXTURES_KEEP:?}/${profiles[$1]}"
	cp -r "$work/fixtures.$1" "$FIXTURES_KEEP/${profiles[$1]}"
}
# The last run has the same profile as the one before it, so that their fixtures can be compared
profiles=(encaparp00 v6ib00 rfc4391 v4mc01 v4mc01)
pids=()
for n in "${!profiles[@]}"; do
	(
		make_fixtures "$n" "${profiles[$n]}" >"$work/made.$n" 2>&1
		echo $? >"$work/status.$n"
	) &
	pids+=($!)
done
wait "${pids[@]}"
for n in 0 1 2 3; do
	check "${profiles[$n]}: every field of each fixture has its place and its value, and the CRCs are right" described "$n"
	keep "$n"
	check "${profiles[$n]}: examples/fixtures has the same kinds with the same fields" same "$n" "examples/fixtures/${profiles[$n]}"
done
check "v4mc01: another run makes the same kinds with the same fields" same 4 "$work/fixtures.3"

refused() { # STATUS DIR TEXT: succeeds if --fixtures DIR is refused with this status and text
	local out status
	out=$("$UIPOIB" conform --dut udp:127.0.0.1:6009 --fixtures "$2" 2>&1)
	status=$?
	equal "$1" "$status" && grep -qF "$3" <<<"$out"
}
check "a directory with files is refused" refused 2 "$work/fixtures.0" "expected a new or an empty directory"
check "a file in place of the directory is refused" refused 3 "$PWD/README.md" "Not a directory"
check "a directory that cannot be made is refused" refused 3 /proc/fixtures "/proc/fixtures"
end_all
finish
