#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `uipoib trace` shows the way of packets through a fabric of three switches: of pings, TCP connections and UDP datagrams,
# and of the requests that resolve addresses and paths and join groups.
#
#	h1 --- Switch1 --- Switch2 --- h2
#	            \      /
#	            Switch3
. "$(dirname "$0")/lib.sh"
topo_ring 2 3 >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
lab_up
check "hosts reach each other" eventually 15 no_tentative 2

# traces STATUS PATTERN... -- WORD...: succeeds if `uipoib trace WORD...` ends with STATUS, and its output matches all
# patterns in this order. A trace fails if its answer takes more than 2 s. This happens on a busy machine, so some checks repeat
# the trace
traces() {
	local status=$1 want=()
	shift
	while [ "$1" != -- ]; do want+=("$1"); shift; done
	shift
	u trace "$@" >"$work/trace" 2>&1
	equal "$status" $? || { tail -5 "$work/trace"; return 1; }
	printf '%s\n' "${want[@]}" >"$work/want"
	awk 'FNR == NR { want[n++] = $0; next } i < n && $0 ~ want[i] { i++ }
		END { if (i < n) { print "expected, in this order: " want[i]; exit 1 } }' "$work/want" "$work/trace" || { cat "$work/trace"; return 1; }
}
serve() { # KIND PORT: run a server at h2 until the script ends
	bx h2 python3 -c '
import socket, sys
kind, port = sys.argv[1:]
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
s.bind(("::", int(port)))
if kind == "tcp":
    s.listen()
while True:
    if kind == "tcp":
        s.accept()[0].close()
    else:
        s.sendto(*s.recvfrom(100))' "$1" "$2"
}
listens() { x h2 ss "-Hln$1" | grep -q ":$2 "; }

check "path: the question to the subnet administrator, and the answer" traces 0 'SubnAdmGet PathRecord' 'SubnAdmGetResp PathRecord' '; answered:$' '^uib0@h1 ' -- h1 h2 path
check "path: it is known now" traces 0 'asks for the path' '^0 packets, .*; the port knew the path:$' '^uib0@h1 ' -- h1 h2 path
check "a ping" eventually 10 traces 0 '^uib0@h1 \(10.4.0.1, port Hca1/1, LID [0-9]+\) pings 10.4.0.2 of uib0@h2' 'echo request' 'Hca1/1: sent' 'Switch1: in by port 1, LFT\[' \
	'Hca2/1: delivered' 'echo reply' ', 0 lost; answered, time=' -- h1 h2
serve tcp 8080
check "a server of TCP" eventually 15 listens t 8080
check "tcp: the three segments of a connection, and its end" eventually 10 traces 0 'connects to TCP port 8080 at 10.4.0.2' ' > 8080 .* flags S window' ' 8080 > .* flags SA window' \
	' > 8080 .* flags A window' ' > 8080 .* flags FA window' '; connected$' -- h1 h2 tcp 8080
check "and over IPv6" eventually 10 traces 0 'at fd04::2' 'fd04::1 > fd04::2 TCP .* flags S ' '; connected$' -- h1 h2 tcp 8080 -6
check "tcp: nobody listens" eventually 10 traces 1 'flags S ' 'flags RA ' 'refused: nobody listens at TCP port 81 there$' -- h1 h2 tcp 81
serve udp 5353
check "a server of UDP" eventually 15 listens u 5353
check "udp: a datagram and its answer" eventually 10 traces 0 'UDP [0-9]+ > 5353 length 21' 'UDP 5353 > [0-9]+ length 21' '; answered$' -- h1 10.4.0.2 udp 5353
check "udp: nobody listens" eventually 10 traces 1 'UDP [0-9]+ > 9 ' 'destination unreachable' 'refused: nobody listens at UDP port 9 there$' -- h1 h2 udp 9
check "other ports and protocols are not shown" not grep -q 5353 "$work/trace"
check "arp: the kernel resolves the address anew" eventually 10 traces 0 'asks for the link-layer address of' 'ARP who-has 10.4.0.2' 'MFT\[0xc000\]' 'ARP reply 10.4.0.2' \
	'; 10.4.0.2 is at [0-9a-f:]+ for the kernel$' -- h1 h2 arp
check "and by Neighbour Discovery" eventually 10 traces 0 'neighbor solicitation target fd04::2' 'neighbor advertisement target fd04::2' '; fd04::2 is at ' -- h1 h2 arp -6
check "arp: nobody has the address" eventually 10 traces 1 'ARP who-has 10.4.0.99' '; no answer within 2 s$' -- h1 10.4.0.99 arp
check "join: the request, and the members" eventually 10 traces 0 'joins 239.1.2.3' 'SubnAdmSet MCMemberRecord .*:f01:203 ' 'a member for 2.5 s$' -- h1 239.1.2.3 join
bx h2 python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.2.4") + socket.inet_aton("10.4.0.2"))
time.sleep(600)'
delivered() { traces 0 'sends a datagram to UDP port 7 at 239.1.2.4' 'UDP [0-9]+ > 7 ' 'MFT\[' 'Hca2/1: delivered' 'need not answer$' -- h1 239.1.2.4 udp 7; }
check "udp: a datagram to a group reaches its member" eventually 15 delivered
json() { u -j trace h1 h2 tcp 81 >"$work/json"; jq -e ".answered == false and .result == \"refused: nobody listens at TCP port 81 there\" and (.trace | length > 3)" "$work/json"; }
check "-j has the result" eventually 10 json

check "an unknown word" refuse 2 "'icmp': unknown, expected ping, tcp, udp, arp, path or join" u trace h1 h2 icmp
check "no port" refuse 2 "tcp: expected a port, 1 to 65535" u trace h1 h2 tcp
check "no such port" refuse 2 "port '65536': expected" u trace h1 h2 udp 65536
check "two of them" refuse 2 "'udp': unexpected" u trace h1 h2 arp udp 9
check "join of a host" refuse 2 "join: 'h2' is no multicast address" u trace h1 h2 join
check "a connection to a group" refuse 2 "'239.1.2.3' is a multicast address, expected ping, udp or join" u trace h1 239.1.2.3 tcp 80
# --- `fabric route` shows the same way by the tables alone

lid=$(u -j fabric port show Hca2/1 | jq '.port[0].lid')
hops() { equal "$1" "$(u -j fabric route Hca1/1 Hca2/1 2>"$work/err" | jq -r '[.hop[] | .port + ">" + .peer] | join(" ")')"; }
check "fabric route shows each cable" hops "Hca1/1>Switch1/1 Switch1/3>Switch2/2 Switch2/1>Hca2/1"
u fabric sm stop
u fabric lft set Switch2 "$lid" 2
check "a loop is shown once" hops "Hca1/1>Switch1/1 Switch1/3>Switch2/2 Switch2/2>Switch1/3"
check "and is named" refuse 1 'the route is a loop$' u fabric route Hca1/1 Hca2/1
u fabric lft set Switch2 "$lid" 255
check "a switch without an entry is named" refuse 1 'a switch has no entry for the LID$' u fabric route Hca1/1 Hca2/1
check "a port without a LID is refused" refuse 2 'to: the port has no LID$' u fabric route Hca1/1 Switch1/1
check "so is half a route" refuse 2 "to: missing" u fabric route Hca1/1
finish
