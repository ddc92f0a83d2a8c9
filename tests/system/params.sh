#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the parameters of intel-ipoib-linux-hld-2002 (rows H15, H17 and H34 of CONFORMANCE.md) in the configuration file, and on
# the command line, which has precedence over the file (H29).
. "$(dirname "$0")/lib.sh"
need ping ip
topo_ring 2 1 >"$work/lab.topo"
{
	printf '[fabric lab]\ntopology = lab.topo\n'
	conf_iface uib0 1 "address = 10.4.0.1/24" "tx-queue-len = 77" "rq-depth = 64" "sq-depth = 20" "tx-timeout = 600000" "mcast-timeout = 400" "mcast-retry-cnt = 3" "neighbours = 50000" \
		"path-timeout = 150" "debug = 3"
	conf_iface uib0 2 "address = 10.4.0.2/24"
} >"$work/lab.conf"

qlen() { x "$1" ip -j link show dev uib0 | jq -r '.[0].txqlen'; }
param() { u -j link show dev "uib0@$1" -d | jq -r ".link[0].params.$2"; }
params() { local k; for k in tx_queue_len sq_depth timeout_ms rq_depth mcast_timeout_ms mcast_retry_cnt path_timeout_ms debug; do param "$1" $k; done | tr '\n' ' '; }
logged() { grep -q "debug: .*$1" "$work/lab.log"; }

lab_up
check "H17: the kernel has the queue length of the file" equal "77 1000" "$(qlen h1) $(qlen h2)"
check "H34: link show has the parameters of the file" equal "77 20 600000 64 400 3 150 3 " "$(params h1)"
check "H34: and the defaults" equal "1000 1024 1000 4096 250 5 250 2 " "$(params h2)"
neighbours() { u -j link show | jq -c "[.link[] | .neighbours_max]"; }
check "neighbours: the largest numbers in the file, and by default" equal "[50000,8192]" "$(neighbours)"
check "H34: link show -d prints them" grep -q rq_depth <(u -d link show dev uib0@h1)
check "H34: debug: the log has details of this interface" eventually 5 logged uib0@h1
check "H34: debug: and none of the other" not logged uib0@h2
check "ping" reaches4 1 2

# --- sq-depth: the port cannot send
watchdog() { u -j stats show | jq -r "[.stats[] | select(.object == \"uib0@$1\" and .layer == \"watchdog\" and .counter == \"$2\").value] | add // 0"; }
queued() { u -j link show dev "uib0@$1" | jq -r '.link[0].send_queue'; }
waiting() { equal "$2" "$(queued "$1")"; }
# With sq-depth = 20, the TAP is not read while 20 or more packets are in the send queue. Packets that waited for a path or a
# group are added to the queue later, so it may hold more than 20 packets. But it must not hold all of 200 pings.
full() {
	local n
	n=$(queued h1)
	x h1 ping -n -q -i 0.002 -c 200 -W 1 10.4.0.2 >/dev/null
	[ "$n" -ge 20 ] && [ "$n" -lt 60 ] && equal "$n" "$(queued h1)"
}
idle_loop() { # succeeds if the instance uses less than a quarter of a processor
	local before after
	before=$(lab_cpu_ns)
	sleep 1
	after=$(lab_cpu_ns)
	[ $((after - before)) -lt 250000000 ]
}
u fabric fault add Hca1/1 stall
x h1 ping -n -q -i 0.01 -c 200 -W 1 10.4.0.2 >/dev/null
check "H34: while the port may not send, sq_depth packets wait and no more" eventually 5 full
check "the other packets wait in the kernel, and the instance does not spin" eventually 10 idle_loop
check "the watchdog has not barked yet" equal "0 0" "$(watchdog h1 tx_timeouts) $(watchdog h1 tx_discarded)"
u fabric fault clear
check "they leave when the port may send again" eventually 5 waiting h1 0
check "and the host reaches the other" reaches4 1 2
check "stop" lab_down

: >"$work/lab.log"
lab_up -o interface.tx-queue-len=55 -o interface:uib0@h2.debug=3 -o interface:uib0@h1.debug=1 -o interface:uib0@h1.rq-depth=128 \
	-o interface:uib0@h1.tx-timeout=300
check "H29: a setting of the command line wins over the file" equal "55 20 300 128 400 3 150 1 " "$(params h1)"
check "H29: for all interfaces, or for one" equal "55 1024 1000 4096 250 5 250 3 " "$(params h2)"
check "H29: it is the kernel's, too" equal "55 55" "$(qlen h1) $(qlen h2)"
check "H29: the details in the log are now those of the other interface" eventually 5 logged uib0@h2
check "and not those of the first" not logged uib0@h1
check "ping" reaches4 1 2

# --- the watchdog
u fabric fault add Hca1/1 stall
x h1 ping -n -q -i 0.01 -c 100 -W 1 10.4.0.2 >/dev/null
barked() { [ "$(watchdog h1 tx_timeouts)" -ge 1 ] && [ "$(watchdog h1 tx_discarded)" -ge 1 ]; }
check "H15: packets that do not leave within the time are counted and discarded" eventually 5 barked
told() { grep -q 'warning: uib0@h1: transmit timeout: no packet left the port for 300 ms' "$work/lab.log"; }
check "H15: and the log says so" eventually 5 told
check "H15: nothing waits any more" eventually 5 waiting h1 0
check "the other interface has no timeout" equal 0 "$(watchdog h2 tx_timeouts)"
u fabric fault clear
check "H15: the interface has recovered" reaches4 1 2
check "stop" lab_down

r() { refuse 2 "$1" "$UIPOIB" run -c "$work/lab.conf" "${@:2}" -- true; }
check "H29: a wrong value is refused with the setting" r '^uipoib: -o interface.rq-depth: .*rq-depth: .1., expected 2-65536' -o interface.rq-depth=1
check "H29: a section that the file does not have" r '-o interface:uib7.mtu: expected the name of a section' -o interface:uib7.mtu=1500
secret=00112233445566778899aabbccddeeff
no_secret() { ! "$UIPOIB" run -c "$work/lab.conf" -o "$1" -- true >"$work/said" 2>&1 && grep -q 'ip6-secret' "$work/said" && ! grep -q "$secret" "$work/said"; }
for setting in "interface.ip6-secret=${secret}0" "interface:uib7.ip6-secret=$secret" "interface.ip6-secret=$secret" "interface.ip6-secret:$secret"; do
	check "a message does not repeat a secret: ${setting%%"$secret"*}" no_secret "$setting"
done
check "H29: no setting at all" r '-o mtu: expected SECTION' -o mtu
finish
