#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# The lab of examples/udp-link.conf, with examples/udp_peer.py at the far end of its link. udp_peer.py is an HCA that shares
# no code with uipoib and was written from doc/udp-link.md.
#
#	h1 -- Hca1 --+
#	             Switch1 port 7 == UDP == udp_peer.py, 10.4.0.99
#	h2 -- Hca2 --+
. "$(dirname "$0")/lib.sh"
need python3 ping
peer=$PWD/examples/udp_peer.py

check "the peer's own tests" "$peer" --self-test

# --- the example packets of the specification

spec_examples() {
	python3 -B - doc/udp-link.md <<-'E'
	import re, sys
	sys.path.insert(0, "examples")
	from peer.selftest import bitwise_crcs
	from peer.wire import check_link, decode
	text = open(sys.argv[1]).read()
	blocks = [bytes.fromhex(b) for b in re.findall(r"(?m)(?:^    [0-9a-f]+\n)+", text)]
	assert [len(b) for b in blocks] == [290, 290, 134], [len(b) for b in blocks]
	for b in blocks:
	    check_link(b)
	    decode(b)
	    assert bitwise_crcs(b[:-6]) == b[-6:], b.hex()
	E
}
check "doc/udp-link.md: the examples have the CRCs of a bitwise implementation" spec_examples

# --- usage

args=(--guid 0xace0000000c099 --address 10.4.0.99/24)
check "listening beyond loopback without a peer is refused" \
	refuse 2 'needs --peer' "$peer" --listen 0.0.0.0:6001 "${args[@]}"
check "what is not an address is named" refuse 2 "'6001' is not ADDRESS:PORT" "$peer" --listen 6001 "${args[@]}"
check "pinging beyond the network is refused" \
	refuse 2 'no gateway' "$peer" --listen 127.0.0.1:6001 --ping 10.5.0.1 "${args[@]}"

# --- the example lab, with unused UDP ports

# In addition to the example's link there is a link on which uipoib learns the peer's address, and a link on which the peer
# learns uipoib's address.
read -r here there any first second known learner by_forger forger < <(free_udp_ports 9)
sed "s/:5001/:$here/; s/:6001/:$there/; s|udp-link.topo|$PWD/examples/udp-link.topo|" examples/udp-link.conf >"$work/lab.conf"
cat >>"$work/lab.conf" <<-E

	[udp-link any]
	port = fabric:lab/Switch1/8
	listen = 127.0.0.1:$any

	[udp-link known]
	port = fabric:lab/Switch1/6
	listen = 127.0.0.1:$known
	peer = 127.0.0.1:$learner

	[udp-link forged]
	port = fabric:lab/Switch1/5
	listen = 127.0.0.1:$by_forger
	E
lab_up

peer_run() { "$peer" --listen "127.0.0.1:$there" --peer "127.0.0.1:$here" "${args[@]}" "$@"; }
peer_start() {
	: >"$work/peer.log"
	background "$peer" --listen "127.0.0.1:$there" --peer "127.0.0.1:$here" "${args[@]}" >"$work/peer.log" 2>&1
	peer_pid=$!
}
peer_said() { grep "^$1" "$work/peer.log"; }
port_is() { equal "$1" "$(u -j fabric port show Switch1/7 | jq -r '.port[0].state')"; }
h1_pings() { x h1 ping -n -q -c 1 -W 1 10.4.0.99; }

check "without it the port is Down" port_is Down
peer_start
check "its port comes up and it joins the broadcast group" eventually 20 peer_said joined
check "another cannot listen there" refuse 3 'Address already in use' peer_run
check "Down, Init, Armed, Active" equal "Init Armed Active" \
	"$(sed -n 's/^port //p' "$work/peer.log" | tr '\n' ' ' | sed 's/ $//')"
check "the switch port is Active" port_is Active
member() {
	u -j fabric group show | jq -ce '.group[] | select(.broadcast) | .members[] |
		select(.port == "udp_peer 10.4.0.99/1" and .port_gid == "fe80::ac:e000:0:c099" and .join == "full")'
}
check "the SM has it as a member" member
check "h1 pings it" eventually 10 x h1 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.99
check "h2 pings it, 2016 octets of data, not to be fragmented" \
	eventually 10 x h2 ping -n -q -M 'do' -s 2016 -c 3 -i 0.1 -W 2 10.4.0.99
forgotten() { # remove the peer from h1's neighbour table, and ping the peer
	x h1 ip neigh flush all && x h1 ping -n -q -c 1 -W 5 10.4.0.99
}
check "after the neighbour was forgotten" eventually 10 forgotten

# --- the peer is killed, and starts again

kill -KILL $peer_pid
started=${EPOCHREALTIME/./}
pings_h1() { peer_run --ping 10.4.0.1 --count 3 --wait $patience; }
check "killed with -9, back at once: it pings h1" eventually 30 pings_h1
echo "# after $(((${EPOCHREALTIME/./} - started) / 1000)) ms; a link takes 3 + 4 + 1 s"
check "nobody is at 10.4.0.77" refuse 1 '2 sent, 0 received' peer_run --ping 10.4.0.77 --count 2 --wait $patience
check "the switch port is Down when it has ended" eventually 8 port_is Down

peer_start
check "it is back: h1 pings it" eventually 20 h1_pings

# --- the link is set down by command, and stopped at one end

check "the switch port is set down" u fabric link set Switch1/7 down
check "it sees the link drop" eventually 8 peer_said 'link silent'
: >"$work/peer.log"
check "and up" u fabric link set Switch1/7 up
check "it is up again" eventually 20 peer_said joined
check "h1 pings it" eventually 5 h1_pings

# --- peers that no configuration names

unknown() { # PORT [OPTION...]: run a peer at PORT that no configuration names
	local port=$1
	shift
	"$peer" --listen "127.0.0.1:$port" --peer "127.0.0.1:$any" --guid 0xace0000000c08 --address 10.4.0.98/24 "$@"
}
background "$peer" --listen "127.0.0.1:$learner" --guid 0xace0000000c07 --address 10.4.0.97/24 >"$work/learner.log"
check "a link without peer takes who speaks first" eventually 20 unknown "$first" --ping 10.4.0.1 --count 2
check "and another after it, when the link has dropped" eventually 20 unknown "$second" --ping 10.4.0.1 --count 2
check "a peer without peer takes who speaks first" ping_to h1 10.4.0.97

# --- a peer forges the source LID of a host: the switch drops the peer's packets

members() { u -j fabric group show | jq -r '.group[] | select(.broadcast) | .members[].port_gid'; }
read -r h1_lid h1_gid < <(u -j -d link show | jq -r '.link[] | select(.host == "h1") | "\(.lid) \(.gid)"')
is_member() { members | grep -qx "$1"; }
is_no_member() { ! is_member "$1"; }
background python3 -B tests/interop/forger.py "$h1_lid" "$h1_gid" --listen "127.0.0.1:$forger" --peer "127.0.0.1:$by_forger" \
	--guid 0xace0000000c06 --address 10.4.0.96/24 >"$work/forger.log" 2>&1
check "a peer leaves for h1, from h1's LID, then for itself, from its own" eventually 20 grep '^left' "$work/forger.log"
check "the SA heard the second" eventually 5 is_no_member fe80::ac:e000:0:c06
check "h1 is a member still" is_member "$h1_gid"
forgeries() { equal 3 "$(u -j stats show | jq '[.stats[] | select(.counter == "drop_slid") | .value] | add')"; }
check "each forgery is counted" eventually 5 forgeries

kill -TERM $peer_pid
wait $peer_pid
check "it ends with its counters, and none is of damage" not grep -E '^(drop|link)-(icrc|vcrc|pktlen|lver|length|grh|smp|route)' "$work/peer.log"
finish
