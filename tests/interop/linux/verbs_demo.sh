#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# The checks of `uipoib demo`, on a fabric with hosts whose HCAs are simulated, and with two VMs. In each VM, a uipoib has an
# interface on `port = verbs:uib0/1`. `uipoib demo` cannot start programs in a VM, so this script makes the same checks, in
# the demo's order. Then the MTU of the group changes. The kernel's own ib0 is down in both VMs; ca_verbs.sh tests ib0 and
# uipoib on one port.
#
#	h1 10.4.0.1 --- Switch1 --- v (VM: uib0 10.4.9.11)
#	               /   |  \
#	              /    |   forger (UDP)
#	             /     |
#	  h2 --- Switch2 - Switch3 --- h3
#	           |
#	           w (VM: uib0 10.4.9.12)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
need ping python3
mcast=$TOOLS/mcast
places="h1 h2 h3 v w"
declare -A ip4=([h1]=10.4.0.1 [h2]=10.4.0.2 [h3]=10.4.0.3 [v]=10.4.9.11 [w]=10.4.9.12) ip6

parts() { echo "Default=0x7fff, ipoib, mtu=$1 : ALL=full ;" >"$work/lab.parts"; }
parts 4
read -r here there < <(free_udp_ports 2)
topo_ring 3 3 | sed 's/^Switch 3 /Switch 8 /' >"$work/lab.topo"
{
	conf_hosts 3 "partitions = lab.parts" "capture = $work/lab.pcap"
	printf '\n[udp-link forger]\nport = fabric:lab/Switch1/8\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' "$here" "$there"
} >"$work/lab.conf"
lab_up
vm_start v --cpus 1 --port Switch1/4 --share "$work"
vm_start w --cpus 1 --port Switch2/4 --share "$work"
vm_wait v w

# at_u VM WORD...: run `uipoib WORD...` for the instance in this VM
at_u() { g "$1" "$UIPOIB" -n "$1" "${@:2}"; }
iface() { echo uib0; }

v_start() { # VM: start the uipoib of this VM; ${daemon[VM]} is its pid
	printf '%s\n' '[interface uib0]' 'port = verbs:uib0/1' "address = ${ip4[$1]}/16" >"$work/$1.conf"
	g "$1" 'modprobe tun; ip addr flush dev ib0; ip link set ib0 down'
	start_at "$1" "$work/$1.log" "$UIPOIB" run -c "$work/$1.conf" -n "$1"
	eventually 60 grep -q 'uib0@: up$' "$work/$1.log" || { cat "$work/$1.log"; return 1; }
}
for n in v w; do check "an interface on the port of VM $n comes up" v_start $n; done

# --- subnet, broadcast group, links

swept() { u -j fabric show | jq -e '.fabric[0].sm.last_sweep | .switches == 3 and .end_ports >= 5'; }
check "subnet up: three switches, and at least five end ports" eventually 20 swept
group() { u -j fabric group show -d | jq -e '.group[] | select(.mgid | test("ffff:ffff$"; "i")) | .nmembers >= 5 and .mtu == 2048'; }
check "broadcast group: five members" eventually 20 group
is_up() { # PLACE: succeeds if the interface of PLACE is up, with an MTU of 2044
	if is_vm "$1"; then at_u "$1" -j link show; else u -j link show dev "uib0@$1"; fi | jq -e '.link[0] | .state == "UP" and .mtu == 2044'
}
for p in $places; do check "link up: $p, MTU 2044" eventually 20 is_up "$p"; done

# --- pings

linklocal() { at "$1" sh -c "ip -6 -o addr show dev uib0 scope link -tentative | grep -oE 'fe80::[0-9a-f:]+'"; }
learn() { ip6[$1]=$(linklocal "$1"); [ -n "${ip6[$1]}" ]; }
for p in $places; do eventually 20 learn "$p" >"$work/learn" || echo "not ok - $p has a link-local address"; learn "$p"; done
others() { local p; for p in $places; do [ "$p" = "$1" ] || echo "$p"; done; }
# ping_each PLACE ADDRESS...: send one ping to each address, all by one command, because each command in a VM takes time
ping_each() { at "$1" sh -c 'for a; do ping -n -q -c 1 -W 5 "$a" || exit; done' sh "${@:2}"; }
ping_others() { # PLACE: ping all other places from PLACE by IPv4
	local to=() p
	for p in $(others "$1"); do to+=("${ip4[$p]}"); done
	ping_each "$1" "${to[@]}"
}
ping6_others() {
	local to=() p
	for p in $(others "$1"); do to+=("${ip6[$p]}%uib0"); done
	ping_each "$1" "${to[@]}"
}
for p in $places; do
	check "ping, all pairs: $p reaches the four others" eventually 20 ping_others "$p"
	check "ping fe80::, all pairs: $p reaches the four others" eventually 20 ping6_others "$p"
done

# --- path MTU

fits() { reach "$1" -M "do" -s $(($3 - 28)) "${ip4[$2]}"; } # FROM TO MTU: succeeds if a packet of MTU octets passes
over() { refuse 1 '[Mm]essage too long' at "$1" ping -n -c 1 -W 10 -M do -s $(($3 - 27)) "${ip4[$2]}"; }
mtu_between() { fits "$1" "$2" "$3" && over "$1" "$2" "$3" && fits "$2" "$1" "$3" && over "$2" "$1" "$3"; }
check "path MTU, h3 and v: 2044 octets pass, 2045 do not" mtu_between h3 v 2044
check "path MTU, v and w, too" mtu_between v w 2044
check "fragments pass between v and w" reach v -s 9000 10.4.9.12

# --- multicast

heard() { grep -c "^$2 " "$work/mcast.$1"; } # PLACE TEXT: print how many datagrams with TEXT have arrived at PLACE
hear_all() { # TEXT N PLACE...: succeeds if these places have heard N datagrams with TEXT
	local p
	for p in "${@:3}"; do equal "$2" "$(heard "$p" "$1")" || return 1; done
}
# Each call uses a new group, because a member of the previous call's group may not have left that group yet.
mcast_calls=0
mcast_from() { # SENDER MEMBERS OTHERS: succeeds if MEMBERS get all datagrams of SENDER, and OTHERS none
	local sender=$1 members=$2 not_members=$3 p pids='' group
	group=239.17.4.$((++mcast_calls))
	for p in $members; do
		start_at "$p" "$work/mcast.$p" "$mcast" recv uib0 $group 17041
		pids+=" $p:$started"
	done
	for p in $not_members; do
		start_at "$p" "$work/mcast.$p" "$mcast" sniff uib0 $group 17041
		pids+=" $p:$started"
	done
	for p in $members $not_members; do eventually 30 grep -q ready "$work/mcast.$p" || return 1; done
	probe() { # repeated, because the SM programs the switches some time after the join
		at "$sender" "$mcast" send uib0 $group 17041 1 probe
		for p in $members; do within 1 grep -q probe "$work/mcast.$p" || return 1; done
	}
	eventually 30 probe || return 1
	at "$sender" "$mcast" send uib0 $group 17041 3 data && eventually 20 hear_all data 3 $members || return 1
	for p in $not_members; do reach "$sender" "${ip4[$p]}" || return 1; done # a datagram that was forwarded to them would have arrived before the reply
	hear_all data 3 $members && hear_all data 0 $not_members && hear_all probe 0 $not_members || return 1
	for p in $pids; do end_at "${p%:*}" "${p#*:}"; done
}
check "IPv4 multicast from h2: three datagrams at v and h1, none at w and h3" mcast_from h2 "v h1" "w h3"
check "IPv4 multicast from w: three datagrams at v and h3, none at h1 and h2" mcast_from w "v h3" "h1 h2"

# --- forged packets

read -r lid qpn < <(at_u v -j -d link show | jq -r '.link[0] | "\(.lid) \(.qpn)"')
cat >"$work/forged.py" <<'END'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9000))
print("ready", flush=True)
while True:
    print(s.recv(100).decode(), flush=True)
END
start_at v "$work/forged" python3 -u "$work/forged.py"
eventually 60 grep -q ready "$work/forged"
# drops WHAT: print how many packets the HCA of VM v and all switches together have dropped for the reason WHAT. The
# switches are included, because they check P_Keys, too
drops() {
	{ g v cat /sys/kernel/debug/uib/uib0/stats && u -j stats show | jq -r '.stats[] | select(.layer == "switch") | "\(.counter) \(.value)"'; } |
		awk -v hca="drop_$1" -v sw="drop_$1_in" '$1 == hca || $1 == sw { n += $2 } END { print n + 0 }'
}
for kind in qkey pkey icrc; do declare "before_$kind=$(drops $kind)"; done
background python3 -B tests/interop/linux/verbs_forger.py "$lid" "$qpn" "${ip4[v]}" 100 --listen "127.0.0.1:$there" --peer "127.0.0.1:$here" \
	--guid 0xace0000000c099 --address 10.4.0.99/16 >"$work/forger.out" 2>&1
forger=$!
check "forged packets: a right one arrives after 300 forged ones" eventually 60 grep -qx right "$work/forged"
check "and none of these" not grep -Eq 'qkey|pkey|icrc' "$work/forged"
for kind in qkey pkey icrc; do
	first=before_$kind
	counted_100() { equal $((${!first} + 100)) "$(drops $kind)"; }
	check "100 with a wrong $kind are counted" eventually 20 counted_100
done
kill -TERM $forger && wait $forger
end_at v "$started"

# --- the capture

capture_right() { # all packets but the forged ones are right
	u capture stop "$(u -j capture show | jq -r '.capture[0].id')" || return 1
	"$TOOLS/pcap_check" "$work/lab.pcap" >"$work/seen"
	grep -v '^{' "$work/seen" | grep -v 'ICRC is wrong' | head -5
	tail -1 "$work/seen"
	jq -es '.[0] | .bad == 100 and .packets > 500 and .mads > 100 and .ipoib > 300' <(tail -1 "$work/seen")
}
check "capture checked: ICRC and VCRC of all packets are right but for the 100 forged" capture_right

# --- a TCP flow, and a link that is cut under it

sent() { u -j fabric port show | jq -r '.port[] | select((.port | test("^Switch")) and (.peer // "" | test("^Switch"))) | "\(.port) \(.counters.xmit_data)"' | sort; }
busiest() { # the port between switches that has sent most words since the last call, and their number
	sent >"$work/sent.new"
	join "$work/sent" "$work/sent.new" | awk '{ n = $3 - $2; if (n > most) { most = n; port = $1 } } END { print port, most + 0 }'
	mv "$work/sent.new" "$work/sent"
}
cut_under() { # FROM TO OCTETS: pull the busiest cable during a TCP flow of OCTETS, which must go on over another cable
	local port words flow
	start_at "$2" "$work/flow.$2" $integrity tcp-recv "${ip4[$2]}" 7777
	eventually $vm_patience grep -q ready "$work/flow.$2" || return 1
	flow=$started
	sent >"$work/sent"
	start_at "$1" "$work/flow.$1" $integrity tcp-send "${ip4[$1]}" 7777 "${ip4[$2]}" "$3"
	flowing() { read -r port words <<<"$(busiest)" && [ "$words" -gt 100000 ]; } # 400 kB since the last call of busiest()
	until flowing; do runs "$2" "$flow" || { echo "the flow ended before a link was cut: $port $words"; cat "$work/flow.$2"; return 1; }; done
	u fabric link set "$port" down || return 1
	echo "# $1 to $2: $port is cut, after $words words" >&3
	runs "$2" "$flow" || { echo "the flow had ended when $port was cut"; return 1; }
	busiest >/dev/null
	flow_ended() { ! runs "$2" "$flow"; }
	eventually $vm_patience flow_ended "$1" "$2" || return 1
	read -r other words <<<"$(busiest)"
	echo "# it went on by $other: $words words" >&3
	u fabric link set "$port" up
	[ "$other" != "$port" ] && [ "$words" -gt 100000 ] || return 1
	tail -1 "$work/flow.$2" | jq -e --argjson n "$3" '.right and .octets == $n'
}
runs() { if is_vm "$1"; then g "$1" kill -0 "$2"; else kill -0 "$2"; fi; } >/dev/null 2>&1
check "TCP flow from v to h3, and a link cut under it: the flow goes on another way" cut_under v h3 30000000
check "TCP flow from h1 to w, and a link cut under it" cut_under h1 w 30000000

# --- a trace

trace_shows() { u trace h1 "${ip4[v]}" >"$work/trace" && grep -q 'ICMP echo request' "$work/trace" && grep -q 'ICMP echo reply' "$work/trace"; }
check "trace: a ping of h1 to v, and its answer" eventually 20 trace_shows

# --- the MTU of the group changes: the embedded manager ends the groups and makes them again

has_mtu() { # VM MTU: succeeds if the link and the device have this MTU
	equal "$2" "$(at_u "$1" -j link show | jq '.link[0].mtu')" && equal "$2" "$(g "$1" cat /sys/class/net/uib0/mtu)"
}
# log_time VM START: print the seconds from START to the last line of the log of this VM's uipoib
log_time() { awk -v a="$2" -v b="$(stat -c %.Y "$work/$1.log")" 'BEGIN { printf "%.2f", b - a }'; }
# follows MTU CODE: write the MTU code CODE into the file of partitions. Succeeds if both interfaces have joined the new
# group within J = 4 s (doc/fidelity.md) plus the $machine seconds of faults_lib.sh. The time of a join is that of the
# last line in the log of this VM's uipoib. The run time of this function is no measure, because its commands themselves
# take time
follows() {
	local most=$((4 + machine * $(stretch))) start n took
	parts "$2"
	start=$(now)
	u fabric partitions "$work/lab.parts" || return 1
	for n in v w; do eventually $most has_mtu $n "$1" || { at_u $n -d link show; return 1; }; done
	mtu_between v w "$1" && mtu_between h1 v "$1" || return 1
	for n in v w; do
		took=$(log_time $n "$start")
		tail -n 3 "$work/$n.log"
		echo "# the MTU of the group is $(($1 + 4)): $n has joined it after $took s (stated: 4 s)" >&3
		awk -v got="$took" -v most=$most 'BEGIN { exit !(got > 0 && got <= most) }' || return 1
	done
}
check "the MTU of the group is 4096: 4092 between the VMs, and with a soft host" follows 4092 5
check "the MTU of the group is 2048 again: 2044" follows 2044 4
for p in v w; do
	check "$p reaches the others as before, by IPv6, too" eval "eventually 20 ping_others $p && eventually 20 ping6_others $p"
done
check "IPv4 multicast goes on" mcast_from h2 "v h1" "w h3"

for n in v w; do check "nothing in the kernel's log of $n" vm_log_clean $n; done
finish
