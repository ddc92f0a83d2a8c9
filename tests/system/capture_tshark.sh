#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# tshark reads the captures that tests/unit/test_fabric_capture.c writes, as pcap and as pcapng. It shows all headers, and
# it shows ports as interfaces. The CRCs that it shows are right, even if the packets on the link had no CRCs.
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
ok() { # NAME STATUS: print the TAP line of a check that ended with STATUS
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}
fields() { # FILE FIELD...: print these fields of all packets
	local file=$1 args=() f
	shift
	for f; do args+=(-e "$f"); done
	tshark -r "$work/$file" -T fields -E separator=' ' "${args[@]}" 2>"$work/err"
}
expect() { # NAME EXPECTED ACTUAL: check that both texts are equal
	[ "$2" = "$3" ]
	local status=$?
	ok "$1" $status
	[ $status = 0 ] || { printf '# want:\n%s\n# got:\n%s\n' "$2" "$3"; sed 's/^/# tshark: /' "$work/err"; }
}

command -v tshark >/dev/null || { echo "ok 1 # SKIP tshark is not installed"; exit 0; }
make -s build/unit/test_fabric_capture >"$work/log" 2>&1 &&
	CAPTURE_DIR=$work build/unit/test_fabric_capture >>"$work/log" 2>&1
status=$?
ok "captures are written" $status
[ $status = 0 ] || { cat "$work/log"; exit 1; }

expect "end ports: an SMP and its answer, one that comes from outside and its answer" \
	"SubnGet(NodeInfo)
SubnGetResp(NodeInfo)
SubnGet(NodeInfo)
SubnGetResp(NodeInfo)" \
	"$(tshark -r "$work/ends.pcap" 2>"$work/err" | grep -o 'Subn.*')"

expect "IPoIB with and without GRH is decoded to ARP" \
	"erf:infiniband:ethertype:arp
erf:infiniband:ethertype:arp
erf:infiniband:ethertype:arp
erf:infiniband:ethertype:arp" \
	"$(fields mixture.pcap frame.protocols | head -4)"

# Packets 1 and 2 had CRCs; packets 3 and 4 are the same packets without CRCs.
crcs=$(fields mixture.pcap infiniband.invariant.crc infiniband.variant.crc | head -4)
expect "a packet without CRCs is recorded with the right ones" "$(head -2 <<<"$crcs")" "$(tail -2 <<<"$crcs")"

expect "nanoseconds survive" "1700000001.001000000" "$(fields mixture.pcap frame.time_epoch | head -1)"

expect "no packet is malformed" "" \
	"$(for f in ends.pcap mixture.pcap links.pcapng source.pcapng; do tshark -r "$work/$f" -Y _ws.malformed 2>/dev/null; done)"

expect "pcapng names the port that sent each packet" \
	"s/2
s/2
far:s/2
s/2" \
	"$(fields links.pcapng frame.interface_name)"
expect "a packet that was on no link has its direction, and says where its headers come from" \
	"verbs:x/1 text 0x00000001 a 14172
verbs:x/1 text 0x00000002 abcd 14172" \
	"$(fields source.pcapng frame.interface_name frame.interface_description frame.packet_flags_direction frame.comment infiniband.lrh.dlid)"
echo "1..$n"
