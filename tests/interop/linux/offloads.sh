#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# The offloads that uib.ko offers to ib_ipoib: large sends (TSO), checksums that the HCA makes and verifies, and bursts of
# packets that share a UDP buffer. First a VM at a switch of the fabric: a capture of its link must show packets that fit the
# MTU and have right checksums. Then guest/offloads.sh, with two devices in one kernel.
#
#	h1 10.4.0.1 --- Switch1 2 --- ib0 10.4.9.1
. "$(dirname "$0")/lib.sh"
need tshark ethtool opensm
octets=8000000

linux_lab 1
vm_start a --cpus 1 --address 10.4.9.1/16 --port Switch1/2 --share "$work"
vm_wait a
declare -A address=([h1]=10.4.0.1 [a]=10.4.9.1)

stream() { # FROM TO: send a stream whose receiver checks the contents
	local to=${address[$2]}
	start_at "$2" "$work/recv" "$TOOLS/integrity" tcp-recv "$to" 7777
	eventually 20 grep -q ready "$work/recv" && at "$1" "$TOOLS/integrity" tcp-send "${address[$1]}" 7777 "$to" $octets &&
		eventually 20 grep -q '"right": true' "$work/recv" || { cat "$work/recv"; return 1; }
}
stat() { g a "awk '\$1 == \"$1\" { print \$2 }' /sys/kernel/debug/uib/uib0/stats"; }
sent() { g a cat /sys/class/net/ib0/statistics/tx_packets; } # number of packets that ib_ipoib has given to the HCA; a large send is one
large() { # a stream from the VM consists of large sends, and no large send has been cut before the HCA
	local given packets
	given=$(sent) packets=$(stat xmit_pkts)
	stream a h1 || return 1
	given=$(($(sent) - given)) packets=$(($(stat xmit_pkts) - packets))
	echo "$packets packets of $given sends"
	[ $((4 * given)) -lt $packets ]
}
rows() { tshark -r "$work/link.pcapng" -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -Y "$1" 2>"$work/tshark"; }
none() { # FILTER: succeeds if no packet of the capture matches
	local found
	found=$(rows "$1" | head -5)
	[ -z "$found" ] || { echo "$found"; return 1; }
}
capture_id() { u -j capture show | jq -e '.capture[0].id'; }

check "a capture of the link" u capture start "$work/link.pcapng" link Switch1/2
check "large sends reach h1, and no octet changes" large
check "a stream from h1 reaches the VM" stream h1 a
check "the capture is complete" eval 'u capture stop "$(capture_id)"'
check "it has the segments" eval '[ "$(rows "tcp.len > 1900 && ip.src == 10.4.9.1" | wc -l)" -ge $((octets / 2000)) ]'
check "no packet is longer than the MTU" none "ip.len > 2044"
check "all their checksums are right" none "ip.checksum.status == 0 || tcp.checksum.status == 0"
check "each Identification is used once" eval '[ -z "$(tshark -r "$work/link.pcapng" -Y "ip.src == 10.4.9.1 && tcp.dstport == 7777" -T fields -e ip.id 2>/dev/null | sort | uniq -d | head -3)" ]'
check "the HCA has discarded nothing" eval '! g a "grep ^drop_ /sys/kernel/debug/uib/uib0/stats" | grep -v " 0$" | grep -v "drop_silent\|drop_tx_state\|drop_port_state"'
vm_stop a

"$UIPOIB" vm --cpus 1 --timeout 600 -- env UIPOIB="$UIPOIB" bash tests/interop/linux/guest/offloads.sh </dev/null || failed=1
finish
