#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# Faults and attacks on a stock Linux kernel and on uipoib. A cable flips bits and loses packets in both directions, and a
# switch damages packets. A node sends packets and MADs that have right CRCs, but that no real node would send. The HCA's driver
# is removed under traffic.
#
#	h1 10.4.0.1 -- Hca1 -- Switch1 -6----6- Switch2 -- Hca2 -- h2 10.4.0.2
#	       VM 10.4.9.1 == UDP == 2            2 == UDP == attacker.py 10.4.6.6
#
# Variables of the environment:
#
#	FAULT_SECONDS (6)	time for which the cable is bad
#	FUZZ_SECONDS (5)	time for which the attacker attacks
#	SEED (1)		seed of the attacker's random numbers
#	CORPUS			a capture whose packets the attacker changes, instead of those of this run
#	KEEP			a folder to which the capture of this run is copied
. "$(dirname "$0")/lib.sh"
need python3 iperf3 ping perfquery
back_in=30 # seconds from the end of a fault until IPv4 and IPv6 pings work both ways, on a busy machine

read -r attacker_port evil_port < <(free_udp_ports 2)
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2
	printf '\n[udp-link evil]\nport = fabric:lab/Switch2/2\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' \
		"$evil_port" "$attacker_port"
} >"$work/lab.conf"
lab_up
u capture start "$work/corpus.pcap" >/dev/null
vm_start a --address 10.4.9.1/16 --address fd04::901/64 --port Switch1/2
vm_wait a
wire=$(u -j fabric udp show | jq -r '.udp[] | select(.port == "Switch1/2") | .link')
g a sysctl -qw net.core.rmem_max=16777216 # room for a burst in a receiver's socket
vm_lid=$(($(g a cat /sys/class/infiniband/uib0/ports/1/lid)))

# ping_both COUNT [ANY]: send COUNT pings from each end to the other end by IPv4 and IPv6. Succeeds if no ping is lost.
# With ANY, succeeds if at least one of the COUNT pings to each address is answered
ping_both() {
	pings x h2 "$@" 10.4.9.1 && pings g a "$@" 10.4.0.2 && pings x h2 "$@" fd04::901 && pings g a "$@" fd04::1 &&
		pings x h1 "$@" 10.4.9.1
}
pings() { # x|g WHERE COUNT [ANY] ADDRESS: ping ADDRESS from host (x) or VM (g) WHERE, and judge as ping_both does
	local try out
	if [ $# = 5 ]; then
		for try in $(seq "$3"); do "$1" "$2" ping -n -q -c 1 -W 3 "$5" && return; done
		return 1
	fi
	out=$("$1" "$2" ping -n -q -c "$3" -i 0.02 -W 2 "$4")
	printf '%s\n' "$out"
	grep -q ", $3 received" <<<"$out"
}
check "pings pass both ways, IPv4 and IPv6" eventually $back_in ping_both 2
u capture stop 1 >/dev/null
[ -z "${KEEP-}" ] || cp "$work/corpus.pcap" "$KEEP/"

# --- flows between h2 and the VM whose receivers detect damage: guest/flows.sh runs at both ends

flows_sh="env TOOLS=$TOOLS bash $PWD/tests/interop/linux/guest/flows.sh"
on_cleanup=flows_end
flows_end() { [ ! -e "$work/flows/pids" ] || kill $(cat "$work/flows/pids") 2>/dev/null; }

# flows DATAGRAMS OCTETS: send TCP, UDP without checksum and multicast, all at the same time and in both directions; the
# receivers' reports are in $work/got
flows() {
	local sent=0 to_host
	g a "$flows_sh /tmp/flows recv 10.4.9.1 239.5.5.5" && x h2 $flows_sh "$work/flows" recv 10.4.0.2 239.5.5.6 || return 1
	eventually 20 groups_joined || return 1
	g a "$flows_sh /tmp/flows send 10.4.9.1 10.4.0.2 239.5.5.6 $1 $2" &
	x h2 $flows_sh "$work/flows" send 10.4.0.2 10.4.9.1 239.5.5.5 "$1" "$2" || sent=1
	wait $! || sent=1
	# A ping does not overtake datagrams. So when the ping is answered, the last datagrams have arrived or are lost.
	g a ping -n -q -c 20 -i 0.05 -W 5 10.4.0.2 >/dev/null && x h2 ping -n -q -c 20 -i 0.05 -W 5 10.4.9.1 >/dev/null || sent=1
	to_host=$(x h2 $flows_sh "$work/flows" stop)
	echo "{\"to_vm\":$(g a "$flows_sh /tmp/flows stop"),\"from_vm\":$to_host}" | tee "$work/got"
	return $sent
}
groups_joined() {
	u -j fabric group show | jq -e '[.group[].mgid] | contains(["ff12:401b:ffff::f05:505", "ff12:401b:ffff::f05:506"])'
}
# flows_right DATAGRAMS OCTETS: succeeds if no damaged data arrived. A datagram may be missing for three reasons:
# - A fault lost the datagram.
# - ib_ipoib had posted no receive for the datagram. uib.ko counts such datagrams.
# - ib_ipoib dropped the datagram while it joined a group. Until it has joined, it holds back only three packets.
flows_right() {
	local no_receive=$(uib drop_no_receive) there=$(hits Switch1/2) here=$(hits Switch1/6 "udp:$wire") unsent=$(tx_dropped)
	flows "$1" "$2" || { cat "$work/got"; return 1; }
	there=$(($(hits Switch1/2) - there)) here=$(($(hits Switch1/6 "udp:$wire") - here))
	no_receive=$(($(uib drop_no_receive) - no_receive)) unsent=$(($(tx_dropped) - unsent))
	echo "hit: $there there, $here here; no receive $no_receive; not sent $unsent"
	jq -e --argjson n "$1" --argjson there "$there" --argjson here "$here" --argjson no_receive "$no_receive" --argjson unsent "$unsent" '
		def right($max; $hit): (2 * $n - .udp.different - .group.different) as $missing |
			.tcp.right and .udp.corrupt == 0 and .group.corrupt == 0 and $missing <= $max and ($missing > 0 or $hit == 0);
		(.to_vm | right($there + $no_receive; $there)) and (.from_vm | right($here + $unsent; $here))' "$work/got"
}
tx_dropped() { g a cat /sys/class/net/ib0/statistics/tx_dropped; }
hits() { u -j fabric fault show | jq '[.fault[] | select(.port | IN($ARGS.positional[])) | .hit] | add // 0' --args "$@"; }

# --- counters

uib() { g a "awk '/^($1) /"' { sum += $2 } END { print sum + 0 }'"' /sys/kernel/debug/uib/uib0/stats"; } # REGEX: print the sum of the counters of uib.ko whose names match
switch_drops='^drop_(vcrc|length|version|bad)'
link_drops='drop_vcrc|drop_length|drop_link_version|drop_too_short|drop_oversized'
perf() { # LID PORT COUNTER: print the value of the counter as perfquery reads it
	x h1 perfquery "$1" "$2" | sed -n "s/^$3:\.*//p"
}
of_switch() { counted u switch "$1"; } # REGEX: print the sum of the counters of switches whose names match
of_hca() { u -j stats show | jq --arg re "$1" '[.stats[] | select(.object == "Hca2" and (.counter | test($re))) | .value] | add // 0'; }
fault() { u fabric fault add "$@" >/dev/null && u -j fabric fault show | jq '[.fault[].id] | max'; } # adds a fault and prints its id
fault_did() { u -j fabric fault show | jq ".fault[] | select(.id == $1) | .$2"; } # ID seen|hit
no_faults() {
	local id
	for id in $(u -j fabric fault show | jq '.fault[].id'); do u fabric fault del "$id" || return 1; done
}
kernel_errors='/^Ip: / && !ip { split($0, n); ip = 1; next } /^Ip: / { split($0, v); for (i in n) if (n[i] == "InHdrErrors") s += v[i] }
	/^Tcp: / && !t { split($0, m); t = 1; next } /^Tcp: / { split($0, v); for (i in m) if (m[i] == "InCsumErrors") s += v[i] }
	/^Udp: / && !u { split($0, k); u = 1; next } /^Udp: / { split($0, v); for (i in k) if (k[i] == "InCsumErrors") s += v[i] }
	/^(Ip6InHdrErrors|Udp6InCsumErrors|Icmp6InCsumErrors)/ { s += $2 } END { print s + 0 }'
in_kernels() { # print the numbers of damaged packets that reached the kernels of both ends
	echo "$(x h2 awk "$kernel_errors" /proc/net/snmp /proc/net/snmp6) $(g a "awk ${kernel_errors@Q} /proc/net/snmp /proc/net/snmp6")"
}

# --- 5 % bit flips and 3 % loss of all packets, in each direction

h2_lid=$(u -j link show | jq '.link[] | select(.host == "h2") | .lid')
baseline_kernels=$(in_kernels)
declare -A before
remember() {
	before[uib]=$(uib "$link_drops") before[uib_icrc]=$(uib drop_icrc) before[perf]=$(perf $vm_lid 1 PortRcvErrors) before[perf_h2]=$(perf "$h2_lid" 1 PortRcvErrors)
	before[switch]=$(of_switch "$switch_drops") before[hca_icrc]=$(of_hca '^drop_hca_icrc')
	before[rcv]=$(u -j fabric port show Switch1/2 | jq '.port[0].counters | .rcv_errors')
	before[downs]="$(counted u udp '^downs') $(uib link_downed)"
}
remember
lost_there=$(fault Switch1/2 loss 3%) flips_there=$(fault Switch1/2 corrupt 5%)
lost_here=$(fault "udp:$wire" loss 3%) flips_here=$(fault "udp:$wire" corrupt 5%)

until_over() { # CMD...: runs CMD again and again for FAULT_SECONDS, at least once
	local end=$((SECONDS + ${FAULT_SECONDS:-6})) n=0
	while "$@"; do
		n=$((n + 1))
		[ $SECONDS -lt $end ] || { echo "$n times"; return 0; }
	done
	return 1
}
check "5 % flips and 3 % loss in both directions, TCP, UDP and multicast both ways: what arrives is right" \
	until_over flows_right 400 200000
lost() { # succeeds if the fault has hit 1 to 5 % of the packets that passed it
	local seen hit
	seen=$(fault_did "$1" seen) hit=$(fault_did "$1" hit)
	echo "$hit of $seen"
	[ $((hit * 100)) -gt "$seen" ] && [ $((hit * 20)) -lt "$seen" ]
}
check "the cable did lose packets, there" lost "$lost_there"
check "and here" lost "$lost_here"
each_flip_there() {
	local hit=$(fault_did "$flips_there" hit) drops=$(($(uib "$link_drops") - before[uib])) perf
	perf=$(($(perf $vm_lid 1 PortRcvErrors) - before[perf]))
	echo "hit $hit, uib.ko dropped $drops, PortRcvErrors $perf"
	[ "$hit" -gt 20 ] && [ "$hit" = "$drops" ] && [ "$hit" = "$perf" ]
}
each_flip_here() {
	local hit=$(fault_did "$flips_here" hit) drops=$(($(of_switch "$switch_drops") - before[switch])) rcv
	rcv=$(($(u -j fabric port show Switch1/2 | jq '.port[0].counters.rcv_errors') - before[rcv]))
	echo "hit $hit, Switch1 dropped $drops, PortRcvErrors $rcv"
	[ "$hit" -gt 20 ] && [ "$hit" = "$drops" ] && [ "$hit" = "$rcv" ]
}
check "each flip was dropped by uib.ko's link, and is in its port's counters" eventually 10 each_flip_there
check "each flip was dropped by the switch's port, and is in its counters" eventually 10 each_flip_here
check "nothing was left for the ICRC to find" equal "${before[uib_icrc]} ${before[hca_icrc]}" "$(uib drop_icrc) $(of_hca '^drop_hca_icrc')"
check "the link stayed up" equal "${before[downs]}" "$(counted u udp '^downs') $(uib link_downed)"
check "the faults are gone" no_faults
check "traffic is perfect again: pings" eventually $back_in ping_both 50
check "and flows: every datagram arrives" flows_right 400 400000

# --- a switch that damages packets in its memory, so that the VCRC is right at every hop, and only the ICRC shows the damage

remember
damage_there=$(fault Switch1/2 damage 5% data) damage_here=$(fault Switch1/6 damage 5% data)
check "damage behind a switch's back: what arrives is right" flows_right 400 200000
found() { # HITS BY IN_COUNTERS: succeeds if the ICRC has found all damaged packets, and PortRcvErrors counts them
	echo "hit $1, found by the ICRC $2, PortRcvErrors $3"
	[ "$1" -gt 20 ] && [ "$1" = "$2" ] && [ "$1" = "$3" ]
}
icrc_there() {
	found "$(fault_did "$damage_there" hit)" $(($(uib drop_icrc) - before[uib_icrc])) $(($(perf $vm_lid 1 PortRcvErrors) - before[perf]))
}
icrc_here() {
	found "$(fault_did "$damage_here" hit)" $(($(of_hca '^drop_hca_icrc') - before[hca_icrc])) \
		$(($(perf "$h2_lid" 1 PortRcvErrors) - before[perf_h2]))
}
check "each was found by uib.ko, and is in its port's counters" eventually 10 icrc_there
check "each was found by our HCA, and is in its port's counters" eventually 10 icrc_here
check "no link saw anything wrong" equal "${before[uib]} ${before[switch]}" "$(uib "$link_drops") $(of_switch "$switch_drops")"
check "the faults are gone" no_faults
check "pings pass" eventually $back_in ping_both 10
check "no kernel was given a wrong packet" equal "$baseline_kernels" "$(in_kernels)"

# --- the driver is removed under traffic, and loaded again

module=$(ls "$(dirname "$UIPOIB")/kmod/$(g a uname -r)/uib.ko")
link_is() { g a "sed -n 's/^$1 //p' /sys/kernel/debug/uib/uib0/link"; }
listen=$(link_is listen) peer=$(link_is peer) guid=$(g a "tr -d : </sys/class/infiniband/uib0/node_guid")
add="uib0 netns=3 listen=$listen peer=$peer guid=0x$guid"
iperf_server=
iperf_servers() { # starts the servers of both ends, and waits until they listen
	g a 'pkill -x iperf3; while pgrep -x iperf3 >/dev/null; do sleep 0.05; done; (iperf3 -s >/dev/null 2>&1 &)'
	[ -z "$iperf_server" ] || { kill_own "$iperf_server" && wait "$iperf_server"; } 2>/dev/null
	bx h2 iperf3 -s >"$work/iperf-server" 2>&1
	iperf_server=$!
	eventually 20 g a 'ss -Hltn "sport = :5201" | grep -q .' && eventually 20 x h2 sh -c 'ss -Hltn "sport = :5201" | grep -q .'
}
iperf_servers
# Start a TCP flow from the VM to h2, a TCP flow from h2 to the VM, and a UDP flow from h2 to the VM. The flows run until
# they are killed. Their rates are a fifth of the rates that an emulated processor reaches if nothing else runs on the
# machine.
iperfs() {
	gb a /tmp/iperf1 iperf3 -c 10.4.0.2 -b 2M -t 300 --bidir --connect-timeout 5000 >/dev/null
	bx h2 iperf3 -u -b 1M -l 200 -c 10.4.9.1 -t 300 >"$work/iperf2" 2>&1
	iperf_pid=$!
}
flowing() { # succeeds if the VM sends and receives packets
	local before after
	before=$(uib 'rcv_pkts|xmit_pkts')
	sleep 0.2
	after=$(uib 'rcv_pkts|xmit_pkts')
	[ $((after - before)) -gt 50 ] || { echo "$before, then $after"; return 1; }
}
reload() {
	g a rmmod uib || return 1
	g a "insmod $module 'add=\"$add\"' 3</run/uipoib-vm/cable && ip link set ib0 up && ip address add 10.4.9.1/16 dev ib0 && ip address add fd04::901/64 dev ib0 nodad"
}
back() { # WHAT: waits until pings pass, and prints the time since $started. Some pings are lost, because the flows fill the machine's queues
	eventually $back_in ping_both 5 ANY || return 1
	echo "# pings again $(((${EPOCHREALTIME/./} - started) / 1000)) ms after $1" >&3
}
exec 3>&1
for i in 1 2; do
	iperfs
	check "iperf3 both ways ($i)" eventually 20 flowing
	started=${EPOCHREALTIME/./}
	check "rmmod and insmod under it ($i)" reload
	check "pings both ways within $back_in s ($i)" back "rmmod"
	kill_own "$iperf_pid"
	iperf_servers # new servers, because the old ones still wait for data on connections of the removed interface
done

# --- an attacker on the fabric: it sends SMPs, GMPs and IPoIB with right CRCs to all nodes

world() {
	local links
	links=$(u -j -d link show)
	target() { # NAME LID LLADDR IP IP6 PATH: print a node as JSON for attacker.py
		jq -nc --arg name "$1" --argjson lid "$2" --arg lladdr "$3" --argjson ip "$4" --argjson ip6 "$5" --argjson path "$6" \
			'{$name, $lid, $lladdr, $ip, $ip6, $path}'
	}
	host() { # NAME IP IP6 PATH: print a host as JSON for attacker.py
		target "$1" $(jq -r --arg h "$1" '.link[] | select(.host == $h) | "\(.lid) \(.lladdr)"' <<<"$links") "${@:2}"
	}
	switch() { # NAME PATH: port 0 of that switch
		target "$1" $(u -j fabric node show "$1" | jq -r '.node[0] | "\(.lid) 00000001fe80000000000000\(.node_guid | ltrimstr("0x"))"') \
			null null "$2"
	}
	{
		target VM "$vm_lid" "$(g a cat /sys/class/net/ib0/address)" '"10.4.9.1"' '"fd04::901"' '[6, 2]'
		target VM "$vm_lid" "$(g a cat /sys/class/net/ib0/address)" '"10.4.9.1"' '"fd04::901"' '[6, 2]' # twice, so that it is attacked more often
		host h1 '"10.4.0.1"' '"fd04::1"' '[6, 1]'
		host h2 '"10.4.0.2"' '"fd04::2"' '[1]'
		switch Switch1 '[6]' # the SM and the SA are there, too
		switch Switch2 '[]'
	} | jq -s --arg corpus "${CORPUS:-$work/corpus.pcap}" --argjson links "$links" \
		'{$corpus, qkey: $links.link[0].qkey, targets: .}' >"$work/world"
}

rss() { # print the resident memory of the largest process of the instance, which is the daemon
	local p
	for p in $(descendants "$lab_pid"); do sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$p/status"; done | sort -n | tail -1
}
attack() {
	local attacker
	background /usr/bin/python3 -B tests/interop/linux/attacker.py "127.0.0.1:$attacker_port" "127.0.0.1:$evil_port" \
		"$work/world" "${FUZZ_SECONDS:-5}" "${SEED:-1}" 1000 >"$work/attacker" 2>&1
	attacker=$!
	while kill -0 $attacker 2>/dev/null; do # a sweep restores the LIDs that the attacker has changed
		u fabric sweep >/dev/null
		sleep 1
	done
	wait $attacker
	tail -1 "$work/attacker"
	jq -e '.sent > 1000' <<<"$(tail -1 "$work/attacker")" >/dev/null
}
# After a forged unicast ARP or ND answer, a kernel has an entry that is REACHABLE and wrong. Linux uses the entry for 15
# to 45 s, and then probes it for 8 s. With these default times, pings after the attack waited for up to 42 s. With the
# times below, the kernel probes the entry after some seconds, so the test measures the fabric and uipoib's end, and
# not the kernel's default times.
doubtful() { # CMD... IF: set these times for IF by `CMD sysctl`
	local v
	for v in 4 6; do
		"${@:1:$#-1}" sysctl -qw "net.ipv$v.neigh.${!#}.base_reachable_time_ms=1000" "net.ipv$v.neigh.${!#}.delay_first_probe_time=1" || return 1
	done
}
check "kernels doubt their neighbours after a second" eval 'doubtful g a ib0 && doubtful x h1 uib0 && doubtful x h2 uib0'
world
before_rss=$(rss) before_rcv=$(uib rcv_pkts)
check "${FUZZ_SECONDS:-5} s of packets and MADs with right CRCs that no end would send" attack
echo "# $(jq -c '{sent, seed, corpus}' <<<"$(tail -1 "$work/attacker")"); RSS $before_rss kB, then $(rss) kB"
started=${EPOCHREALTIME/./}
u fabric sweep
check "pings both ways within $back_in s" back "the attack"
got_them() {
	local there=$(($(uib rcv_pkts) - before_rcv)) least
	least=$(jq '.sent / 10 | floor' <<<"$(tail -1 "$work/attacker")")
	echo "the VM got $there, expected $least at least"
	[ "$there" -ge "$least" ]
}
check "the VM did get them" got_them
reasons_there() { # prints the number of different reasons for which uib.ko has dropped packets
	local n=$(g a "grep -c '^drop_.* [1-9]' /sys/kernel/debug/uib/uib0/stats")
	echo "$n reasons"
	[ "$n" -ge 8 ]
}
reasons_here() {
	local n=$(u -j stats show | jq '[.stats[] | select(.layer == "hca" and .drop and .value > 0) | .counter] | unique | length')
	echo "$n reasons"
	[ "$n" -ge 8 ]
}
check "and dropped them for many reasons" reasons_there
check "so did our HCAs" reasons_here
check "the instance's memory is bounded" eval '[ "$(rss)" -lt $((before_rss + 131072)) ]'
check "it lives, and says nothing of a fault of its own" not grep -E 'AddressSanitizer|runtime error|assert|Assert' "$work/lab.log"
check "nothing in the VM's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
