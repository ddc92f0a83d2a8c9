#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# profile = linux, with the lab of examples/. tests/interop/linux/differences.py finds, in a capture of Linux's own
# ib_ipoib, the packets that differ from the RFC. In a capture of a host with this profile, it must find such packets, too. Hosts
# of this profile and of rfc4391 are on one link.
#
#	h1 linux ---- Switch1 ==== Switch2 ---- h3 rfc4391
#	h2 linux -----/                  \----- h4 rfc4391
. "$(dirname "$0")/lib.sh"
need ping python3
mcast=$TOOLS/mcast
differences="/usr/bin/python3 -B $PWD/tests/interop/linux/differences.py"
cp examples/lab.topo "$work"
# Capture from the start, because hosts send requests to the SA as soon as they are up
sed "/^topology/a capture = $work/all.pcap" examples/linux.conf >"$work/lab.conf"
lab_up

lid() { u -j link show dev "uib0@$1" | jq '.link[0].lid'; }
shows() { $differences find "$work/all.pcap" "$(lid "$1")" "$2" >"$work/packet"; } # HOST WHAT: succeeds if a packet of HOST shows WHAT
never() { # HOST WHAT...: succeeds if no packet of HOST shows one of these
	local host=$1 what
	shift
	shows "$host" anything || { echo "the capture has nothing of $host"; return 1; }
	for what; do
		equal 0 "$($differences count "$work/all.pcap" "$(lid "$host")" "$what")" || { echo "$what"; return 1; }
	done
}
profile_is() { equal "$2" "$(u -j link show dev "uib0@$1" | jq -r '.link[0].profile')"; }

check "h1 has the profile" profile_is h1 linux
check "h3 has the default" profile_is h3 rfc4391
check "all reach all, IPv4" pairs 4 20
check "and IPv6" all_pairs 4 reaches6

group_is_there() { u -j fabric group show | jq -e --arg g "$1" '[.group[].mgid] | index($g)'; }
check "h1 sends to a group that nobody has" x h1 "$mcast" send uib0 239.9.8.7 5000 1 data
check "L4: the group comes into being" eventually 10 group_is_there ff12:401b:ffff::f09:807
check "L4: by a join as SendOnlyFullMember that creates it" eventually 10 shows h1 send-only-creates
check "h3 sends to another one" x h3 "$mcast" send uib0 239.9.8.6 5000 1 data
check "by RFC 4391 a sender creates none" eval '! group_is_there ff12:401b:ffff::f09:806 && never h3 send-only-creates'

listens() { grep -q ^ready "$work/recv.$1"; }
for h in h2 h3; do
	bx $h "$mcast" recv uib0 239.9.8.5 5000 >"$work/recv.$h"
done
heard() { # FROM: succeeds if h2 and h3 receive the multicast that FROM sends
	x "$1" "$mcast" send uib0 239.9.8.5 5000 1 "$1" && within 5 grep -q "^$1" "$work/recv.h2" && within 5 grep -q "^$1" "$work/recv.h3"
}
check "h2 and h3 join a group" eval 'eventually 10 listens h2 && eventually 10 listens h3'
check "and hear h1" eventually 20 heard h1

check "L5: no join as SendOnlyNonMember, and nothing goes to the all-routers group" never h1 send-only-non-member- all-routers-
check "L6: no subscription to traps" never h1 subscription-
check "which the other profile has" eventually 10 shows h3 subscription-
check "our own address has no flags, since only datagram mode is there (L1, L2)" never h1 arp-flags nd-flags
check "as of Linux, no packet breaks a clause of RFC 4391 about packets" never h1 breaks- parameters-differ-
all_ask() { asks h2 10.4.0.1 && asks h2 10.4.0.3 && asks h1 10.4.0.2 && asks h3 10.4.0.2; }
check "h1, h2 and h3 ask, and are asked" all_ask
gid() { u -j link show dev "uib0@$1" | jq -r '.link[0].gid'; }
octets() { /usr/bin/python3 -B tests/system/octets_rfc4391.py "$work/all.pcap" "$(lid "$1")" "$(gid "$1")" 0xffff; }
check "every packet of h1 is as RFC 4391 draws it" eventually 10 octets h1
check "R5 R29 R46 R56 R58: every packet of h3 is as RFC 4391 draws it" eventually 10 octets h3
check "the lab ends" lab_down
finish
