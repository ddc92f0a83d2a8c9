#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# A capture contains the packets on the links. Every packet in a capture has the right lengths and the right CRCs, even if the
# packets on the links have no CRCs. pcap_check, which shares no code with uipoib, computes the CRCs bit by bit.
#
#	h1, h4 --- Switch1 --- Switch2 --- h2
#	               \        /             lab.pcap: each packet once, from the start to the end
#	                Switch3 --- h3
. "$(dirname "$0")/lib.sh"
need ping iperf3 arping
checker=$TOOLS/pcap_check mcast=$TOOLS/mcast
[ -x "$checker" ] || { echo "not ok - $checker is built"; exit 1; }
topo_ring 4 3 >"$work/lab.topo"

serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }

traffic() {
	eventually 15 no_tentative 4 &&
		x h1 ping -q -n -c 20 -i 0.01 -W 5 10.4.0.2 &&
		x h2 ping -q -n -c 3 -i 0.01 -W 5 -s 2016 10.4.0.3 &&
		x h3 ping -q -n -6 -c 3 -i 0.01 -W 5 fd04::4 &&
		eventually 10 x h4 arping -q -c 1 -w 5 -I uib0 10.4.0.1 &&
		x h1 "$mcast" send uib0 224.0.0.1 7300 20 data || return 1
	bx h2 iperf3 -s -1 -p 5301 >"$work/server" 2>&1
	eventually 10 serves h2 5301 && x h1 iperf3 -c 10.4.0.2 -p 5301 -n 8M >"$work/client" # 8 MB, because up to 4 MB may stay in the kernel's buffers unsent
}

# sent: print the number of packets that the end ports have sent, by their counters. Both the counters and the capture
# include packets of VL 15. The function is called only while no subnet manager runs. Then the only packets of VL 15 are
# traps, which a port repeats until a manager represses them.
sent() {
	u -j fabric port show | jq '[.port[] | select(.port | test("^Hca|/0$")) | .counters.xmit_pkts] | add'
}

right() { # FILE: succeeds if all packets of the capture are right, and there are enough of each kind
	"$checker" "$1" >"$work/seen" || { tail -20 "$work/seen"; return 1; }
	cat "$work/seen"
	jq -es '.[-1] | .bad == 0 and .packets > 1000 and .mads > 100 and .arp > 4 and .grh > 20 and .multicast > 20' \
		"$work/seen"
}

# in_words FILE: succeeds if `capture decode` prints each packet of the file, with its CRCs, and recognizes its content
in_words() {
	u capture decode "$1" >"$work/words" || return 1
	equal "$(jq -s '.[-1].packets' "$work/seen")" "$(grep -c '^#' "$work/words")" &&
		equal "$(grep -c '^#' "$work/words")" "$(u -j capture decode - <"$1" | jq -s 'map(.packet.number) | max')" &&
		not grep -E 'ICRC .* wrong|VCRC .* wrong' "$work/words" &&
		grep -q 'ICMP echo request' "$work/words" && grep -q 'SubnGetResp NodeInfo' "$work/words" && grep -q 'SubnAdmGetResp PathRecord' "$work/words"
}
no_capture() { refuse 2 'capture decode: .*unknown file format' u capture decode "$work/lab.conf"; }
cut_capture() {
	head -c 1000 "$work/lazy.pcap" >"$work/cut.pcap"
	refuse 1 'capture decode: .*truncated' u capture decode "$work/cut.pcap"
}

for crc in lazy full icrc; do
	conf_hosts 4 "crc = $crc" "capture = $crc.pcap" >"$work/lab.conf"
	lab_up
	check "crc = $crc: traffic of all kinds" traffic
	lab_down
	check "crc = $crc: every captured packet is right, ICRC and VCRC" right "$work/$crc.pcap"
	check "crc = $crc: the same packets in words" in_words "$work/$crc.pcap"
done
check "a file that is no capture has no packets" no_capture
check "a capture that was cut ends with a message" cut_capture

# --- captures that start and end while the lab runs

swept_twice() { [ "$(u -j fabric sm show | jq '.sm[0].heavy_sweeps')" -ge 2 ]; }
lab_up
check "the subnet is up and quiet" eventually 10 swept_twice
check "hosts look up and join what they need" traffic
manager=$(u -j fabric sm show | jq -r '.sm[0].port')
check "the subnet manager stops, which would read tables from time to time" u fabric sm stop "$manager"
before=$(sent)
check "a capture starts" u capture start "$work/some.pcap"
first=$(sent)
check "traffic of all kinds meanwhile" traffic
last=$(sent)
id=$(u -j capture show | jq '[.capture[] | select(.file | endswith("some.pcap"))][0].id')
check "nothing was missed" equal 0 "$(u -j capture show | jq '[.capture[].missed] | add')"
check "it ends" u capture stop "$id"
after=$(sent)
x h1 ping -q -n -c 50 -i 0.01 -W 5 10.4.0.2 >/dev/null
each_once() {
	local got
	"$checker" "$work/some.pcap" >"$work/seen" || { cat "$work/seen"; return 1; }
	got=$(jq .packets "$work/seen")
	echo "$((last - first)) sent during the capture, $((after - before)) with the time before and behind it, $got captured"
	[ "$got" -ge $((last - first)) ] && [ "$got" -le $((after - before)) ] && [ $((last - first)) -gt 1000 ]
}
check "it has each packet of that time once, across however many switches" each_once
check "the subnet manager starts again" u fabric sm start "$manager"
at_dev() {
	u capture start "$work/dev.pcapng" dev uib0@h2 || return 1
	u -j capture show | jq '.capture[] | select(.file | endswith("dev.pcapng"))' >"$work/dev"
	equal Hca2/1 "$(jq -r .link "$work/dev")" && u capture stop "$(jq .id "$work/dev")"
}
check "dev is the port of an interface" at_dev
sed 's/^/# /' "$work/seen"

has_pings() { [ "$("$checker" "$work/stream.pcap" | jq .ipoib)" -ge 100 ]; }
streamed() {
	env --default-signal=INT "$UIPOIB" capture start - >"$work/stream.pcap" &
	local reader=$!
	eventually 5 test -s "$work/stream.pcap" || return 1
	x h1 ping -q -n -c 50 -i 0.01 -W 5 10.4.0.2
	eventually 5 has_pings
	kill -INT $reader
	wait $reader
	"$checker" "$work/stream.pcap" && [ "$("$checker" "$work/stream.pcap" | jq .ipoib)" -ge 100 ]
}
check "a capture to standard output" streamed
to_stdout() { equal "$1" "$(u -j capture show | jq '[.capture[] | select(.file == "-")] | length')"; }
check "a capture ends with its reader" eventually 5 to_stdout 0

# --- outputs that block, or whose reader closes them

state_of() { u -j capture show | jq -c --arg file "$1" '.capture[] | select(.file == $file)'; }
# state_is FILE CONDITION: succeeds if the condition is true for the capture in FILE; fails if there is no such capture,
# or no instance
state_is() {
	equal true "$(u -j capture show |
		jq --arg file "$1" "[.capture[] | select(.file == \$file)] | length == 1 and (.[0] | $2)")"
}
mkfifo "$work/fifo"
exec 8<>"$work/fifo" # a reader that never reads
background "$UIPOIB" capture start "$work/fifo"
stopped_reader=$!
captures() { x h1 ping -n -q -c 1 -W 1 10.4.0.2; state_is - ".packets > 0"; }
check "a capture into a FIFO that nobody reads" eventually 10 captures
flooded() { x h1 ping -q -n -f -c 3000 -s 1900 -W 5 10.4.0.2 | grep ' 0% packet loss'; }
misses() { flooded && state_is - ".missed > 0 and .error == null"; }
check "packets are missed in the end, none is lost on the fabric" eventually 60 misses
check "the fabric goes on" x h1 ping -q -n -c 20 -i 0.01 -W 2 10.4.0.2
kill -KILL "$stopped_reader"
wait "$stopped_reader" 2>/dev/null
exec 8>&-
ended() { equal "" "$(state_of -)"; }
check "the capture ends with its client" eventually 20 ended

# Stop the writer of a regular file, as if the disk hung
writer_of() { # FILE: print the pid of the process that has the file open as its output
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/fd/1")" = "$1" ] && grep -qx uipoib-writer "$p/comm" && echo "${p##*/}"
	done 2>/dev/null
}
check "a capture to a regular file" u capture start "$work/hung.pcap"
has_writer() { [ -n "$(writer_of "$work/hung.pcap")" ]; }
check "has a writer" eventually 10 has_writer
hung=$(writer_of "$work/hung.pcap")
check "which stands still" halt "$hung"
misses() { flooded && state_is "$work/hung.pcap" ".missed > 0 and .error == null"; }
check "its disk hangs: packets are missed in the end, none is lost on the fabric" eventually 60 misses
check "the fabric goes on" x h1 ping -q -n -c 20 -i 0.01 -W 2 10.4.0.2
id=$(state_of "$work/hung.pcap" | jq .id)
background "$UIPOIB" -n "$inst" capture stop "$id"
stopper=$!
ended() { equal "" "$(state_of "$work/hung.pcap")"; }
check "the capture ends" eventually 5 ended
check "others are answered while its end waits for the disk" u capture show
check "it waits" is_running "$stopper"
kill -CONT "$hung"
check "the disk goes on: all is written" wait "$stopper"
whole() { "$checker" "$work/hung.pcap" | jq -es '.[-1] | .bad == 0 and .packets > 1000'; }
check "and the packets are right" whole

# The writer is a child of the client, so the RLIMIT_FSIZE of the client limits the capture file.
limited() { (ulimit -S -f 256 && u capture start "$work/limited.pcap"); } # KiB
check "a capture under RLIMIT_FSIZE" limited
too_large() { flooded; state_is "$work/limited.pcap" '.error == "File too large"'; }
check "the limit ends the capture" eventually 20 too_large
check "and not the instance" x h1 ping -q -n -c 3 -i 0.01 -W 2 10.4.0.2
check "its end says so" refuse 1 'File too large' u capture stop "$(state_of "$work/limited.pcap" | jq .id)"

# Show that the checker fails on a damaged file.
dd if=/dev/urandom of="$work/some.pcap" bs=1 seek=$(($(stat -c %s "$work/some.pcap") - 20)) count=8 conv=notrunc status=none
check "the checker notices octets that changed" refuse 1 'is wrong' "$checker" "$work/some.pcap"
finish
