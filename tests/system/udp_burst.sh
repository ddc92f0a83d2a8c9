#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A socket has room for some 280 small datagrams. If a program that receives a longer burst waits for the CPU of the daemon,
# the daemon has to let the program run while it still delivers the burst. Whether the kernel then runs the program depends
# on its scheduler, so this test looks for yields of the CPU between two writes. It asks for one, because the daemon makes a
# pause after a yield that takes long, as on a machine with much other work; tests/unit/test_os_yield.c has the whole rule.
. "$(dirname "$0")/lib.sh"
need python3 strace jq
strace -o /dev/null true 2>/dev/null || { skip "${0##*/}" "strace may not trace programs"; exit 0; }
burst=900 # a TAP has room for 1000 packets (txqueuelen)

topo_ring 2 1 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
x h1 ping -c 1 -W 5 10.4.0.2 >/dev/null
daemon=$(u -j instance show | jq '.instance[0].pid')

bx h2 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.4.0.2", 5500))
print("ready", flush=True)
while True:
    s.recv(100)' >"$work/sink"
eventually 20 grep -q ready "$work/sink"

# arrived: print the number of datagrams that h2 has received, including those for which its socket had no room
arrived() { x h2 awk '$1 == "Udp:" { n = $2 + $4 } END { print n }' /proc/net/snmp; }
all_arrived() { [ "$(arrived)" -ge $burst ]; }
# A daemon that is traced is slower than the sender, so the datagrams wait in the TAP
yields_during_a_burst() {
	local tracer calls
	strace -o "$work/trace" -e trace=sched_yield,writev -p "$daemon" 2>"$work/strace" &
	tracer=$!
	eventually 20 grep -q attached "$work/strace" || { cat "$work/strace"; return 1; }
	x h1 python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range($burst):
    s.sendto(b'x' * 64, ('10.4.0.2', 5500))"
	eventually 20 all_arrived
	kill $tracer
	wait $tracer
	# calls between two writes to the TAP
	calls=$(awk '/^writev/ { n += waiting; waiting = 0; began = 1 } /^sched_yield/ && began { waiting++ } END { print n + 0 }' "$work/trace")
	echo "$(arrived) datagrams arrived; the daemon called sched_yield() $calls times between two writes"
	all_arrived && [ "$calls" -ge 1 ]
}
check "the daemon yields the CPU while it delivers a burst of $burst datagrams" yields_during_a_burst
lab_down
finish
