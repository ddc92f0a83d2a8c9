#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Over links over UDP, hosts of different processes communicate like hosts of one process. Datagrams from other senders
# than the peer are ignored. When one end is killed and started again, the link recovers.
#
#	h1 --- Switch1 --------- Switch2 --- h2		one process, with the SM; crc = lazy
#	       7 |  | 8             | 7
#	=========|==|===============|============ UDP, IPv4 and IPv6
#	        h3  h5             h4			h3 and h4: a process; h5: another
. "$(dirname "$0")/lib.sh"
need ping iperf3 python3 ss jq
mcast=$TOOLS/mcast checker=$TOOLS/pcap_check
[ -x "$mcast" ] && [ -x "$checker" ] || { echo "not ok - $mcast and $checker are built"; exit 1; }
# Use a new network namespace, in which no other program uses the ports of the links.
if [ "${1:-}" != inside ]; then
	trap - EXIT
	rm -rf "$work"
	exec unshare --net bash "$0" inside
fi
ip link set lo up

cat >"$work/lab.topo" <<-'EOF'
	Switch 8 "Switch1"
	[1] "Hca1"[1]
	[2] "Switch2"[2]

	Switch 8 "Switch2"
	[1] "Hca2"[1]

	Hca 1 "Hca1"
	[1] "Switch1"[1]

	Hca 1 "Hca2"
	[1] "Switch2"[1]
EOF
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
{
	conf_hosts 2 "crc = lazy" "partitions = partitions.conf"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/24"
	printf '[udp-link %s]\nport = fabric:lab/%s\nlisten = %s\n' \
		v4 Switch1/7 127.0.0.1:5001 v6 Switch2/7 '[::1]:5002'
	printf '[udp-link third]\nport = fabric:lab/Switch1/8\nlisten = 127.0.0.1:5003\npeer = 127.0.0.1:6003\n'
} >"$work/lab.conf"
far_host() { # NUMBER PORT: print the section of host hNUMBER, which has port = udp:PORT
	printf '[interface uib0@h%s]\nport = udp:%s\naddress = 10.4.0.%s/16\naddress = fd04::%s/64\n' "$1" "$2" "$1" "$1"
}
{
	far_host 3 '127.0.0.1:5001,guid=0x0002c90300000031'
	far_host 4 '[::1]:5002,guid=0x0002c90300000041'
	# Another interface of the host at the same HCA
	printf '[interface uib1@h3]\nport = udp:127.0.0.1:5001,guid=0x0002c90300000031\npkey = 0x8001\naddress = 10.5.0.3/24\n'
} >"$work/far.conf"
far_host 5 '127.0.0.1:5003,guid=0x0002c90300000051,listen=127.0.0.1:6003' >"$work/third.conf"

# --- the other processes

far=$inst-far third=$inst-third
where() { # HOST: print the name of the instance that has this host
	case $1 in h3 | h4) echo "$far" ;; h5) echo "$third" ;; *) echo "$inst" ;; esac
}
x() { "$UIPOIB" -n "$(where "$1")" exec "$@"; }
bx() { background "$UIPOIB" -n "$(where "$1")" exec "$@"; }

start() { # INSTANCE: start this instance; its pid is pid[INSTANCE]
	"$UIPOIB" run -c "$work/${1##*-}.conf" -n "$1" >>"$work/${1##*-}.log" 2>&1 &
	pid[$1]=$!
	eventually 10 u -n "$1" instance show >/dev/null
}
declare -A pid
kill_all() { # PID: kill all processes of this instance at once, as a crash of the machine does
	local p all
	all=$(descendants "$1")
	# shellcheck disable=SC2086
	halt $all && kill -KILL $all
	wait "$1"
	for p in $all; do eventually 5 not kill -0 "$p" || return 1; done
} 2>/dev/null
on_cleanup=stop_others
stop_others() {
	local p
	for p in "${pid[@]}"; do kill -TERM "$p" && wait "$p"; done
} 2>/dev/null

link() { # NAME FIELD: print a field of the UDP link
	u -j fabric udp show | jq -r ".udp[] | select(.link == \"$1\") | $2"
}
state() { equal "$2" "$(link "$1" .state)"; }
since() { echo $(($(date +%s%N) / 1000000 - $1)); }

# --- traffic

ping_all() { # OPTION...: ping between all hosts, by IPv4 and IPv6
	local a b
	for a in 1 2 3 4; do
		for b in 1 2 3 4; do
			[ $a = $b ] || { ping_to h$a 10.4.0.$b "$@" && ping_to h$a fd04::$b "$@"; } || { echo "h$a -> h$b $*"; return 1; }
		done
	done
}
df() { # FROM TO: ping with DF, with the largest packet that fits, and with one octet more
	ping_to "h$1" "10.4.0.$2" -M "do" -s 2016 &&
		refuse 1 '[Mm]essage too long' x "h$1" ping -n -c 1 -W 5 -M do -s 2017 "10.4.0.$2"
}
serves() { x "$1" ss -Hltn "sport = :$2" | grep -q .; }
iperf() { # FROM TO ADDRESS OPTION...: run iperf3, and write the number of received datagrams to $work/got
	local from=$1 to=$2 addr=$3 server
	shift 3
	bx "$to" iperf3 -s -1 -p 5300 >"$work/iperf.server" 2>&1
	server=$!
	eventually 10 serves "$to" 5300 || return 1
	x "$from" iperf3 -c "$addr" -p 5300 -J "$@" >"$work/iperf.json" || { jq .error "$work/iperf.json"; return 1; }
	wait $server
	jq '.end | .sum_received // .sum | .bytes' "$work/iperf.json" >"$work/got"
}
tcp() { iperf "$@" -n 20M && [ "$(cat "$work/got")" -gt 10000000 ]; }
udp() { # FROM TO ADDRESS: send 2000 datagrams or more (iperf3 3.18 sends more than -k says); none may be lost, except those that TO's sockets had no room for
	local late
	late=$(late_datagrams "$2")
	iperf "$@" -u -b 5M -l 1400 -k 2000 || return 1
	late=$(($(late_datagrams "$2") - late))
	jq '.end.sum | {packets, lost_packets}' "$work/iperf.json"
	jq -e --argjson late "$late" '.end.sum | .packets >= 2000 and .lost_packets <= $late' "$work/iperf.json"
}

has() { grep -q "^$2" "$1"; }
# listen GROUP PORT HOST...: start a receiver of GROUP on each HOST, and observe the interfaces of all other hosts
listen() {
	local group=$1 port=$2 h
	shift 2
	rm -f "$work"/mc.*
	for h; do bx "$h" "$mcast" recv uib0 "$group" "$port" >"$work/mc.recv.$h"; done
	for h in h1 h2 h3 h4; do
		case " $* " in
		*" $h "*) ;;
		*) bx "$h" "$mcast" sniff uib0 "$group" "$port" >"$work/mc.sniff.$h" ;;
		esac
	done
	for h in "$work"/mc.*; do eventually 10 has "$h" ready || return 1; done
}
probe() { # SENDER GROUP PORT: succeeds if all members get a datagram of SENDER
	local f
	x "$1" "$mcast" send uib0 "$2" "$3" 1 probe || return 1
	sleep 0.05
	for f in "$work"/mc.recv.*; do has "$f" probe || { echo "${f##*.} got no probe"; return 1; }; done
}
multicast() { # GROUP PORT SENDER MEMBER...: succeeds if members get each datagram once, and other hosts none
	local group=$1 port=$2 from=$3 f
	shift 3
	listen "$group" "$port" "$@" && eventually 10 probe "$from" "$group" "$port" || return 1
	x "$from" "$mcast" send uib0 "$group" "$port" 100 data || return 1
	for f in "$work"/mc.recv.*; do
		eventually 5 has "$f" "data 100" || { echo "${f##*.}: the last is missing"; return 1; }
		equal 100 "$(grep -c '^data ' "$f")" || { echo "at ${f##*.}"; return 1; }
	done
	for f in "$work"/mc.sniff.*; do # when a ping is answered, all datagrams that were sent before have arrived
		[ "${f##*.}" = "$from" ] || ping_to "$from" "10.4.0.${f##*.h}" || return 1
	done
	for f in "$work"/mc.sniff.*; do
		[ "${f##*.}" = "$from" ] || equal 0 "$(grep -vc '^ready' "$f")" || { echo "at ${f##*.}"; return 1; }
	done
}
broadcast() { # SENDER: succeeds if all other hosts get each broadcast of SENDER once
	local h f=$work/bc
	for h in h1 h2 h3 h4; do
		[ $h = "$1" ] || bx $h "$mcast" sniff uib0 10.4.255.255 7009 >"$f.$h"
	done
	for h in "$f".*; do eventually 10 has "$h" ready || return 1; done
	x "$1" "$mcast" send uib0 10.4.255.255 7009 50 data || return 1
	for h in "$f".*; do
		eventually 5 has "$h" "data 50" && equal 50 "$(grep -c '^data ' "$h")" || { echo "${h##*.}"; return 1; }
	done
	rm -f "$f".*
}

# --- the link comes up

lab_up
start "$far"
check "the HCAs of the other process are up" u -n "$far" wait --timeout $patience
check "their ends know each other" state v4 up
check "the learnt peer is the far end" \
	equal "$(u -n "$far" -j fabric udp show | jq -r '.udp[0].listen')" "$(link v4 .peer)"
check "IPv6 addresses are found unique" eventually 15 no_tentative 4
check "two interfaces with one udp: port are one HCA" equal 1 \
	"$(u -n "$far" -j link show | jq '[.link[] | select(.host == "h3") | .lid] | unique | length')"
check "the second works too" ping_to h3 10.5.0.1
check "it has a row in fabric show" equal "3 2" \
	"$(u -j fabric show | jq -r '.fabric[0] | "\(.udp_links) \(.udp_links_up)"')"
start "$third" # it comes up while the next checks run

# --- traffic of applications

check "ping, both families, all pairs" ping_all
check "DF at the MTU, h1 to h3" df 1 3
check "DF at the MTU, h3 to h1" df 3 1
check "8000 octets, all pairs" ping_all -s 8000
check "TCP to the other process" tcp h1 h3 10.4.0.3
check "TCP from it" tcp h4 h2 fd04::2
check "TCP within it, by both links" tcp h3 h4 10.4.0.4
check "UDP to the other process: nothing is lost" udp h1 h4 10.4.0.4
check "UDP from it: nothing is lost" udp h3 h2 fd04::2
check "multicast from here, members on both sides" multicast 239.1.2.3 7001 h1 h2 h3
check "multicast from there, members on both sides" multicast 239.1.2.4 7002 h3 h1 h4
check "IPv6 multicast from there to here only" multicast ff15::7 7003 h4 h2
check "a broadcast from here" broadcast h1
check "a broadcast from there" broadcast h3
check "nothing was dropped at any end" equal "0 0" \
	"$(for n in "$inst" "$far"; do u -n "$n" -j fabric udp show; done |
		jq -s '[.[].udp[] | .drops | del(.silent) | add] | add' | sed 's/$/ 0/')"

# --- captures and faults work as on any link

capture() {
	local id
	u capture start "$work/link.pcapng" link Switch1/7 || return 1
	x h3 ping -q -n -c 20 -i 0.01 -W 5 -s 500 10.4.0.1 >"$work/pinged"
	id=$(u -j capture show | jq '.capture[0].id')
	u capture stop "$id" && grep '^20 packets transmitted, 20 received' "$work/pinged"
}
check "a capture of the link" eventually 20 capture # a ping can be lost without a fault
if command -v tshark >/dev/null; then
	shown() { tshark -r "$work/link.pcapng" -T fields -E separator=' ' "$@" 2>/dev/null; }
	check "tshark reads it: requests from there, answers from here" equal "udp:v4 8 20,Switch1/7 0 20" \
		"$(shown -Y icmp -e frame.interface_name -e icmp.type | sort -r | uniq -c |
			awk '{ printf "%s%s %s %s", (NR == 1 ? "" : ","), $2, $3, $1 }')"
	check "nothing is malformed" equal "" "$(shown -Y _ws.malformed)"
fi
each_pcap() { # check a capture of all links with pcap_check, which reads pcap only
	u capture start "$work/ends.pcap" || return 1
	x h3 ping -q -n -c 20 -i 0.01 -W 5 10.4.0.1
	u capture stop "$(u -j capture show | jq '.capture[0].id')" && "$checker" "$work/ends.pcap" >"$work/seen" ||
		{ tail -3 "$work/seen"; return 1; }
	tail -1 "$work/seen"
	[ "$(tail -1 "$work/seen" | jq .packets)" -ge 40 ]
}
check "each packet's CRCs are right, though the links here have none" eventually 20 each_pcap

clear_faults() {
	local id
	for id in $(u -j fabric fault show | jq '.fault[].id'); do u fabric fault del "$id" || return 1; done
}
fault() { # a fault "loss" drops the packets to h3, and the far end drops and counts the packets that a fault "corrupt" has damaged
	local before
	u fabric fault add Switch1/7 loss 100% data && ! x h1 ping -q -n -c 2 -i 0.01 -W 1 10.4.0.3 || return 1
	clear_faults && u fabric fault add Switch1/7 corrupt 100% data || return 1
	before=$(bad_vcrc)
	eventually 10 corrupted $((before + 5)) || return 1
	clear_faults && reaches4 1 3
}
bad_vcrc() { u -n "$far" -j fabric udp show | jq '.udp[0].drops.bad_VCRC'; }
corrupted() { # N: succeeds if no ping is answered and the far end has counted N packets or more
	! x h1 ping -q -n -c 5 -i 0.01 -W 1 10.4.0.3 || { echo "a corrupted ping was answered" >>"$work/answered"; return 1; }
	[ ! -e "$work/answered" ] && [ "$(bad_vcrc)" -ge "$1" ]
}
check "faults on the link lose and corrupt; what is corrupt is dropped and counted" fault

# --- datagrams that are not from the peer

cat >"$work/stray.py" <<'EOF'
# Send valid, wrong and empty datagrams from an address that is not the peer's.
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 0))
packet = bytearray(open(sys.argv[3], "rb").read())
for i in range(1000):
    sock.sendto([packet, packet[:-1], packet + b"x", b"", bytes(5000)][i % 5], ("127.0.0.1", int(sys.argv[2])))
EOF
# A valid SubnGet(NodeInfo) of 290 octets with CRCs: the first example of doc/udp-link.md
sed -n '/SM.s first request/,/^The answer/p' doc/udp-link.md | grep -E '^    [0-9a-f]+$' | tr -d ' \n' |
	python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' >"$work/smp.bin"
far_port=$(link v4 .peer)
far_port=${far_port##*:}
strays() { # ADDRESS REASON: send datagrams from ADDRESS, which is not the peer's, to both ends during a flow
	local n before after downs
	before=$(link v4 ".drops.$2") downs=$(link v4 .downs)
	flow_start h3 h1 10.4.0.3 10.4.0.1 || return 1
	n=$(link v4 .rx_packets)
	eventually 5 more_packets $((n + 1000)) || return 1
	python3 "$work/stray.py" "$1" 5001 "$work/smp.bin" && python3 "$work/stray.py" "$1" "$far_port" "$work/smp.bin"
	n=$(link v4 .rx_packets)
	eventually 5 more_packets $((n + 1000)) && flow_stop '.octets > 1000000' || return 1
	after=$(link v4 ".drops.$2")
	equal 1000 $((after - before)) && equal "$downs up" "$(link v4 .downs) $(link v4 .state)" &&
		equal 1000 "$(u -n "$far" -j fabric udp show | jq ".udp[0].drops.$2")"
}
more_packets() { [ "$(link v4 .rx_packets)" -gt "$1" ]; }
smps() { u -n "$far" -j stats show | jq '[.stats[] | select(.layer == "hca" and .counter == "smps") | .value] | add'; }
before=$(smps)
[ "$(wc -c <"$work/smp.bin")" = 290 ] || { echo "not ok - the packet of doc/udp-link.md has 290 octets"; failed=1; }
check "1000 datagrams from another port in a flow: counted, and nothing else" strays 127.0.0.1 stray_port
check "1000 from another address: the same" strays 127.0.0.2 stray_address
# strays() has sent 400 whole SMPs to the far end, which must not process them. The far end's counter of SMPs may grow by fewer than 100, because
# the subnet manager's audit reads tables back during this time.
check "the SMPs in them were not seen by an HCA" eval '[ $(($(smps) - before)) -lt 100 ]'

# --- another process takes the second free port

check "a third process is up at a link with a configured peer" u -n "$third" wait --timeout $patience
check "it reaches all" reaches4 5 4

# --- the link is set down and up

check "the link is set down" u fabric link set Switch1/7 down
check "the other end sees it" eventually 10 eval \
	'[ "$(u -n "$far" -j fabric udp show | jq -r ".udp[0].state")" != up ]'
check "its interface is down, the other's is not" equal "false true" \
	"$(eventually 5 eval '[ "$(u -n "$far" -j link show dev uib0@h3 | jq .link[0].carrier)" = false ]'
	u -n "$far" -j link show | jq -r '[.link[] | select(.ifname == "uib0") | .carrier] | "\(.[0]) \(.[1])"')"
check "the log of each end says why: this port was disabled" eventually 10 grep -q "udp link v4 at [^ ]*: down: this port was disabled" "$work/lab.log"
check "and nothing came from the peer" eventually 10 grep -q "down: nothing came from the peer for 3 s" "$work/far.log"
check "the link is set up" u fabric link set Switch1/7 up
check "it recovers" reaches4 3 1

# --- an end of the link is killed and starts again

killed_far() {
	local t
	kill_all "${pid[$far]}"
	t=$(($(date +%s%N) / 1000000))
	start "$far" && eventually 10 eval 'x h3 ping -q -n -c 1 -W 2 10.4.0.1 && x h4 ping -q -n -c 1 -W 2 10.4.0.2' >/dev/null ||
		return 1
	echo "# the process with the HCAs killed: back after $(since "$t") ms" >&3
	equal 2 "$(link v4 .downs)" # one time here, and one time by `fabric link set` above
}
killed_lab() {
	local t
	kill_all "$lab_pid"
	t=$(($(date +%s%N) / 1000000))
	lab_start && eventually 10 eval 'x h1 ping -q -n -c 1 -W 2 10.4.0.3 && x h2 ping -q -n -c 1 -W 2 10.4.0.4' >/dev/null ||
		return 1
	lab_remember
	echo "# the process with the fabric killed: back after $(since "$t") ms" >&3
}
exec 3>&1
check "kill -9 of the process with the HCAs, and again: it recovers" killed_far
check "kill -9 of the process with the fabric, and again: it recovers" killed_lab
check "and the third process without being touched" reaches4 5 1
check "everything is as before" ping_all

# --- configurations that cannot work

bad() { # LINE STATUS MESSAGE: with this line in [udp-link], `run` must fail with the status and the message
	sed "s|^listen = 127.0.0.1:5001|$1|" "$work/lab.conf" >"$work/bad.conf"
	refuse "$2" "$3" u run -n "$inst-bad" -c "$work/bad.conf" -- true
}
check "an address that is in use" bad 'listen = 127.0.0.1:5001' 2 'udp-link v4: listen 127.0.0.1:5001: Address already in use'
check "an address of somebody else" bad 'listen = 192.0.2.1:5001\npeer = 192.0.2.2:1' 2 'listen 192.0.2.1:5001: Cannot assign'
check "all addresses without a peer" bad 'listen = 0.0.0.0:5001' 2 'bad.conf:[0-9]+: .udp-link v4. listen: .0.0.0.0:5001.*peer'
sed -i 's|Switch1/7|Switch1/1|' "$work/lab.conf"
check "a port with a cable" bad 'listen = 127.0.0.1:5901' 2 'fabric:lab/Switch1/1: it has a cable'
sed -i 's|Switch1/1|Switch1/9|' "$work/lab.conf"
check "a port that is not there" bad 'listen = 127.0.0.1:5901' 2 'no such port'
sed -i 's|Switch1/9|Switch1/7|' "$work/lab.conf"
warned() {
	printf '[fabric a]\ntopology = lab.topo\n[udp-link w]\nport = fabric:a/Switch1/7\nlisten = 0.0.0.0:5905\npeer = 127.0.0.1:5906\n' \
		>"$work/warn.conf"
	u run -n "$inst-bad" -c "$work/warn.conf" -- true 2>&1 | grep 'warning: .*not authenticated'
}
check "more than loopback is warned of" warned

stop_others
check "the others left nothing" eventually 10 eval '! pgrep -f "run -c $work/(far|third).conf"'
finish
