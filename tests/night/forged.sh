#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# uipoib's table of neighbours for host h1 is full of senders that do not exist. The neighbour table of h1's kernel has 150,000
# entries, and h1 sends 250 frames a second to MACs that no neighbour has. Other hosts must not be affected, and the
# memory must be bounded.
#
#	h1 -- Hca1 --+
#	h2 -- Hca2 --+-- Switch1 port 7 == UDP == forged_senders.py
#	h3 -- Hca3 --+
#
# A link has room for 8192 neighbours. There are more forged senders than that, so later senders replace the first ones.
# After ten minutes (IPOIB_NEIGH_IDLE) the remaining senders expire, all within seconds. The attack lasts a minute
# longer than HOSTILE_SECONDS, so with HOSTILE_SECONDS=600 it includes this moment. tests/night/watch.sh makes the
# checks.
. "$(dirname "$0")/../interop/lib.sh"
: "${HOSTILE_SECONDS:=600}"
. tests/night/watch.sh
need python3 ping ip
watch_seconds=$((watch_seconds + 60))
# The kernel limits the neighbour entries of all namespaces together. If forged senders used all entries, h2 would get none.
neigh_limits_raise 100 || echo "# the kernel's limits of neighbours cannot be raised; there are $(neigh_limits | tr '\n' ' ')"

read -r here there < <(free_udp_ports 2)
topo_ring 3 1 | sed 's/^Switch [0-9]* /Switch 8 /' >"$work/lab.topo"
{
	conf_hosts 3
	printf '\n[udp-link far]\nport = fabric:lab/Switch1/8\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' "$here" "$there"
} >"$work/lab.conf"
lab_up
watch_before h2 10.4.0.3

# --- the kernel's entries, and packets to all of them

awk 'BEGIN { for (i = 0; i < 150000; i++)
	printf "neigh replace fd04::%x:%x lladdr 06:00:00:%02x:%02x:%02x dev uib0 nud permanent\n",
		int(i / 65536) + 1, i % 65536, int(i / 65536), int(i / 256) % 256, i % 256 }' >"$work/many"
check "h1 has 150,000 neighbours" x h1 ip -batch "$work/many"
rate=250
cat >"$work/unknown.py" <<-END
	import socket, time
	s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
	start, sent = time.monotonic(), 0
	while True:
	    i = sent % 150000
	    try:
	        s.sendto(b"x", (f"fd04::{(i >> 16) + 1:x}:{i & 65535:x}", 9))
	    except OSError:
	        pass
	    sent += 1
	    time.sleep(max(0, start + sent / $rate - time.monotonic()))
END
bx h1 python3 "$work/unknown.py"

# --- the forged senders

read -r lid qpn < <(u -j -d link show | jq -r '.link[] | select(.host == "h1") | "\(.lid) \(.qpn)"')
background python3 -B tests/night/forged_senders.py "$lid" "$qpn" 12000 1000 --listen "127.0.0.1:$there" --peer "127.0.0.1:$here" \
	--guid 0xace0000000c099 --address 10.4.0.99/16 >"$work/forger.out" 2>&1
forger=$!
watch_during h2 10.4.0.3
value() { counted u "$1" "^$2\$"; }
check "more senders were forged than a link has neighbours" grep -q '^sent 12000' "$work/forger.out"
check "they have all expired" test "$(value ipoib neigh_expired)" -ge 10000
check "most of the frames went to unknown MACs" test "$(value eth drop_tap_unknown_token)" -gt $((watch_seconds * rate / 2))
echo "# h1: neigh_expired $(value ipoib neigh_expired), neigh_full $(value ipoib neigh_full), drop_tap_unknown_token $(value eth drop_tap_unknown_token)"
kill -TERM $forger
watch_judge
finish
