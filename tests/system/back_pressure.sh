#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# If the MTU is small, TCP's super-frames become many packets. The super-frames wait in the kernel until the fabric has
# room for their packets, so no TCP packet is ever dropped. If one host sends as many packets as it can, the packets of
# other hosts are still forwarded in time.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)
#	                  \        /
#	      h3 (Hca3) --- Switch3
. "$(dirname "$0")/lib.sh"
need ping iperf3 python3
topo_ring 3 3 >"$work/lab.topo"

# dropped: print all counters of drops that are not 0, one in a line. Some counters are left out,
# because they also grow in a healthy lab: for example those of a sender's own multicasts, and of packets to a port that is not up
dropped() {
	u -j stats show | jq -r '.stats[] | select((.counter | test("^drop|discard|write_error")) and .value > 0 and
		(.counter | test("own_echo|link_down|port_state|vl15|mgid|rx_down|no_group") | not)) | "\(.host) \(.dev) \(.counter)=\(.value)"' | sort
}

# flow IPERF-ARGS...: run TCP from h1 to h2 for two seconds; no counter of drops may grow
flow() {
	local before server status
	before=$(dropped)
	bx h2 iperf3 -s -1 >"$work/server.log" 2>&1
	server=$!
	eventually 5 sh -c "'$UIPOIB' exec h2 ss -Hltn | grep -q :5201" || return 1
	x h1 iperf3 -t 2 -C cubic "$@" >"$work/client.log" 2>&1
	status=$?
	wait "$server"
	tail -4 "$work/client.log"
	[ $status = 0 ] && equal "$before" "$(dropped)"
}

lab() { # MTU_CODE ADDRESS: start the lab with this MTU of the partition, and wait until h1 reaches h2 at ADDRESS
	echo "Default=0x7fff, ipoib, mtu=$1 : ALL=full;" >"$work/partitions.conf"
	conf_hosts 3 "partitions = partitions.conf" >"$work/lab.conf"
	lab_up
	check "hosts reach each other" ping_to h1 "$2"
}

lab 4 fd04::2
check "MTU 2044, IPv6: nothing is dropped" flow -c fd04::2
check "MTU 2044, eight flows of IPv6: nothing is dropped" flow -P 8 -c fd04::2
check "MTU 2044, eight flows of IPv4: nothing is dropped" flow -P 8 -c 10.4.0.2
lab_down
lab 3 10.4.0.2 # from here on only IPv4, because IPv6 needs an MTU of 1280
check "MTU 1020: nothing is dropped" flow -c 10.4.0.2
check "MTU 1020, eight flows: nothing is dropped" flow -P 8 -c 10.4.0.2
lab_down

# --- a host whose frames have as many segments as Linux allows: the traffic of other hosts is not delayed
lab 4 10.4.0.2
cat >"$work/flood.py" <<'PY'
import signal, socket, struct, sys, time
# UDP_SEGMENT of 1 octet: each write is 64 datagrams, the largest number that every kernel accepts.
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{n} writes"))
n = 0
while True:
    try:
        s.sendto(b"x" * 64, ("10.4.0.2", 9))
        n += 1
    except OSError:
        time.sleep(0.001)
PY
# probe_under_flood: succeeds if at most two of 50 datagrams of other hosts get no answer, and the median of the round trips is
# at most 100 ms. On a busy machine the bound of 100 ms is multiplied by the factor that stretch prints. After an answer to
# datagram 50 or a later one, the function waits for as long as this bound, because answers to earlier datagrams may still come.
probe_under_flood() {
	local flood slower after status=0
	bx h1 python3 "$work/flood.py" >"$work/flood.log" 2>&1
	flood=$!
	slower=$(stretch)
	probe_start flood h3 h2 10.4.0.2 && eventually 10 grep -q '^seq=5[0-9] ' "$work/probe.flood" || status=1
	after=$(stretch)
	[ "$after" -le "$slower" ] || slower=$after
	sleep "$(awk -v s="$slower" 'BEGIN { print s / 10 }')"
	probe_end flood
	kill "$flood"
	wait "$flood"
	echo "others make a program $slower times as slow"
	cat "$work/flood.log"
	sed -n 's/^seq=\([1-9]\|[1-4][0-9]\|50\) time=\(.*\) ms$/\2/p' "$work/probe.flood" | sort -n >"$work/rtt"
	echo "$(wc -l <"$work/rtt") answers, median $(sed -n 25p "$work/rtt") ms, worst $(tail -1 "$work/rtt") ms"
	[ $status = 0 ] && [ "$(wc -l <"$work/rtt")" -ge 48 ] && awk -v most=$((100 * slower)) 'NR == 25 { exit !($1 < most) }' "$work/rtt"
}
check "a host that sends datagrams of one octet, 64 a frame, leaves the traffic of others alone" probe_under_flood
lab_down
finish
