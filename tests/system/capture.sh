#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What is captured is what went over the links: every packet with right lengths and, by an independent
# bitwise computation, right CRCs, also where the links have none.
#
#	h1, h4 --- Switch1 --- Switch2 --- h2
#	               \        /             lab.pcap: each packet once, from the bring-up to the end
#	                Switch3 --- h3
. "$(dirname "$0")/lib.sh"
need ping iperf3 arping
checker=$TOOLS/pcap_check mcast=$TOOLS/mcast
[ -x "$checker" ] || { echo "not ok - $checker is built"; exit 1; }
topo_ring 4 3 >"$work/lab.topo"

serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }
no_tentative() {
	local i
	for i in 1 2 3 4; do
		[ -z "$(x h$i ip -6 -o addr show tentative)" ] || return 1
	done
}

traffic() {
	eventually 15 no_tentative &&
		x h1 ping -q -n -c 20 -i 0.01 -W 5 10.4.0.2 &&
		x h2 ping -q -n -c 3 -i 0.01 -W 5 -s 2016 10.4.0.3 &&
		x h3 ping -q -n -6 -c 3 -i 0.01 -W 5 fd04::4 &&
		x h4 arping -q -c 1 -w 5 -I uib0 10.4.0.1 &&
		x h1 "$mcast" send uib0 224.0.0.1 7300 20 data || return 1
	bx h2 iperf3 -s -1 -p 5301 >"$work/server" 2>&1
	eventually 10 serves h2 5301 && x h1 iperf3 -c 10.4.0.2 -p 5301 -n 4M >"$work/client"
}

# What the ports' counters say was sent. VL 15 is used by nobody when nothing changes.
sent() {
	u -j fabric port show | jq '[.port[] | select(.port | test("^Hca|/0$")) | .counters.xmit_pkts] | add'
}

right() { # FILE
	"$checker" "$1" >"$work/seen" || { tail -20 "$work/seen"; return 1; }
	cat "$work/seen"
	jq -es '.[-1] | .bad == 0 and .packets > 1000 and .mads > 100 and .arp > 4 and .grh > 20 and .multicast > 20' \
		"$work/seen"
}

for crc in full icrc off; do
	conf_hosts 4 "crc = $crc" "capture = $crc.pcap" >"$work/lab.conf"
	lab_up
	check "crc = $crc: traffic of all kinds" traffic
	lab_down
	check "crc = $crc: every captured packet is right, ICRC and VCRC" right "$work/$crc.pcap"
done

# --- captures that begin and end while it runs

swept_twice() { [ "$(u -j fabric sm show | jq '.sm[0].heavy_sweeps')" -ge 2 ]; }
lab_up
check "the subnet is up and quiet" eventually 10 swept_twice
before=$(sent)
check "a capture starts" u capture start "$work/some.pcap"
check "traffic of all kinds meanwhile" traffic
id=$(u -j capture show | jq '[.capture[] | select(.file | endswith("some.pcap"))][0].id')
check "nothing was missed" equal 0 "$(u -j capture show | jq '[.capture[].missed] | add')"
check "it ends" u capture stop "$id"
after=$(sent)
x h1 ping -q -n -c 50 -i 0.01 -W 5 10.4.0.2 >/dev/null
each_once() {
	local got
	"$checker" "$work/some.pcap" >"$work/seen" || { cat "$work/seen"; return 1; }
	got=$(jq '.packets - .vl15' "$work/seen")
	echo "$((after - before)) sent, $got captured"
	[ "$got" -le $((after - before)) ] && [ "$got" -ge $((after - before - 10)) ]
}
check "it has each packet of that time once, across however many switches" each_once
sed 's/^/# /' "$work/seen"

streamed() {
	timeout -s INT 3 "$UIPOIB" capture start - >"$work/stream.pcap" &
	local reader=$!
	eventually 5 test -s "$work/stream.pcap" || return 1
	x h1 ping -q -n -c 50 -i 0.01 -W 5 10.4.0.2
	wait $reader
	"$checker" "$work/stream.pcap" && [ "$("$checker" "$work/stream.pcap" | jq .ipoib)" -ge 100 ]
}
check "a capture to standard output" streamed
check "a capture ends with its reader" eventually 5 equal 0 \
	"$(u -j capture show | jq '[.capture[] | select(.file == "-")] | length')"

# The checker must be able to fail.
dd if=/dev/urandom of="$work/some.pcap" bs=1 seek=$(($(stat -c %s "$work/some.pcap") - 20)) count=8 conv=notrunc status=none
check "the checker notices octets that changed" refuse 1 'is wrong' "$checker" "$work/some.pcap"
finish
