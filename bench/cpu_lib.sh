# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# CPU time of processes, for bench/net.sh and bench/fabrics.sh
#
#	descendants PID...	print these processes and their descendants
#	ticks PID...		print the CPU time (user and system) that the processes have used, in clock ticks
# shellcheck disable=SC2034 # the scripts use it
hz=$(getconf CLK_TCK) # clock ticks per second

descendants() {
	local p
	for p; do
		echo "$p"
		# shellcheck disable=SC2046
		descendants $(cat "/proc/$p/task/"*/children 2>/dev/null)
	done
}

ticks() {
	local p
	for p; do sed 's/.*) //' "/proc/$p/stat" 2>/dev/null; done | awk '{ n += $12 + $13 } END { print n + 0 }'
}
