#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM for tests/interop/linux/lib.sh. Reads lines "ID SCRIPT", the script in base64; says "ID STATUS OUTPUT", the
# output in base64, when that has ended. Any number run at a time. The line "end" ends it: the end of its input is not
# seen while somebody else, as another VM of the script, has inherited the pipe.
dir=$(mktemp -d /tmp/agent.XXXXXX)

run() {
	local id=$1
	bash -c "$(base64 -d <<<"$2")" >"$dir/$id" 2>&1 </dev/null
	echo "$id $? $(base64 -w0 "$dir/$id")" >"$dir/$id.answer"
	flock "$dir" cat "$dir/$id.answer"
	rm -f "$dir/$id" "$dir/$id.answer"
}

while read -r id script && [ "$id" != end ]; do
	run "$id" "$script" &
done
