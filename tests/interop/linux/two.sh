#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# Two VMs with Linux's IPoIB reach each other over uipoib's switches, without uipoib's IPoIB. First the embedded SM
# manages the fabric, then OpenSM in one VM. OpenSM is killed and started again, and then its VM is killed while the other
# VM has a standby. The script prints the times.
#
#	a: ib0 10.4.9.1 --- 1 Switch1 5 ----- 5 Switch2 1 --- b: ib0 10.4.9.2
. "$(dirname "$0")/lib.sh"
need opensm iperf3 ibping saquery tshark
mcast=$TOOLS/mcast
manager=''
declare -A ip=([a]=10.4.9.1 [b]=10.4.9.2) global=([a]=fd04::901 [b]=fd04::902) child=([a]=10.5.9.1 [b]=10.5.9.2)
declare -A port=([a]=Switch1/1 [b]=Switch2/1) other=([a]=b [b]=a) lid linklocal
ms() { echo $(($(date +%s%N) / 1000000)); }

# All nodes are full members of both partitions. The broadcast group of the partition Lab has the
# MTU 4096.
cat >"$work/partitions.conf" <<-'END'
	Default=0x7fff, ipoib : ALL=full;
	Lab=0x0001, ipoib, mtu=5 : ALL=full;
END
# A standby polls the master each second and takes over after three unanswered polls; the defaults are 10 s and four
# polls. The time-out of a MAD is 1 s instead of 200 ms, because an emulated processor may answer late. OpenSM would log a
# time-out as an error.
cat >"$work/osm.conf" <<-'END'
	sminfo_polling_timeout 1000
	polling_retry_number 3
	transaction_timeout 1000
END

boot() { # NAME [OPTION...]: start the VM at its port
	vm_start "$1" --port "${port[$1]}" --address "${ip[$1]}/16" --address "${global[$1]}/64" "${@:2}"
}

learn() { # NAME: stores the LID and the link-local address of a VM, which the checks below need
	# Make room in the sockets, because programs read late on a busy machine
	g "$1" 'for f in rmem wmem; do echo 4194304 >/proc/sys/net/core/${f}_max; done'
	lid[$1]=$(($(g "$1" cat /sys/class/infiniband/uib0/ports/1/lid)))
	linklocal[$1]=$(g "$1" "ip -6 -o addr show dev ib0 scope link | awk '{ sub(\"/.*\", \"\", \$4); print \$4 }'")
	[ "${lid[$1]}" != 0 ] && [ -n "${linklocal[$1]}" ] || { echo "LID ${lid[$1]}, ${linklocal[$1]}"; return 1; }
}

is_up() { equal 1 "$(g "$1" cat "/sys/class/net/${2:-ib0}/carrier")"; }

# both FUNCTION: runs FUNCTION from a to b and from b to a
both() { "$1" a b && "$1" b a; }

# --- traffic

ping_to() { g "$1" ping -q -n -c 3 -i 0.2 -W 10 "${ip[$2]}"; }
ping6_to() {
	g "$1" ping -q -n -c 1 -W 10 "${global[$2]}" && g "$1" ping -q -n -c 1 -W 10 "${linklocal[$2]}%ib0"
}
full_size() { # FROM ADDRESS MTU: succeeds if a packet of MTU octets passes, and a packet of one octet more is refused. (Newer pings print no MTU)
	g "$1" ping -q -n -c 1 -W 10 -M do -s $(($3 - 28)) "$2" &&
		refuse 1 "[Mm]essage too long" g "$1" ping -n -c 1 -W 10 -M do -s $(($3 - 27)) "$2"
}
full_size_to() { full_size "$1" "${ip[$2]}" 2044; }
fragments_to() { g "$1" ping -q -n -c 2 -i 0.2 -W 10 -s 8000 "${ip[$2]}"; }
broadcast_to() {
	g "$1" 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts' # so that the sender does not answer its own ping
	g "$2" 'echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts'
	g "$1" ping -n -b -c 2 -i 0.5 -W 10 10.4.255.255 | grep "bytes from ${ip[$2]}"
}

# multicast FROM TO GROUP: let TO join the group, wait for a first datagram, and send 20 more, which must all arrive
multicast() {
	local file=/tmp/mcast.$RANDOM pid
	pid=$(gb "$2" "$file" exec "$mcast" recv ib0 "$3" 7400)
	eventually 20 g "$2" grep -q ready "$file" && eventually 20 group_reached "$@" "$file" &&
		g "$1" "$mcast" send ib0 "$3" 7400 20 all &&
		eventually 10 all_arrived "$2" "$file"
	local status=$?
	g "$2" kill "$pid"
	return $status
}
all_arrived() { equal 20 "$(g "$1" grep -c all "$2")"; }
group_reached() {
	g "$1" "$mcast" send ib0 "$3" 7400 1 first && g "$2" grep -q first "$4"
}
multicast_to() { multicast "$1" "$2" 239.1.2.3; }
multicast6_to() { multicast "$1" "$2" ff12::1234; }

# iperf FROM TO OPTION...: run iperf3; its JSON is $work/iperf. Each call uses a new port, because the last server may not have ended
iperf() {
	local pid iperf_port=$((10000 + RANDOM % 20000))
	pid=$(gb "$2" /tmp/iperf exec iperf3 -s -1 -p $iperf_port)
	eventually 20 g "$2" "ss -Hltn 'sport = :$iperf_port' | grep ." || return 1
	g "$1" iperf3 -J -p $iperf_port -c "${ip[$2]}" "${@:3}" >"$work/iperf" || { jq .error "$work/iperf"; g "$2" kill "$pid"; return 1; }
}
tcp_to() {
	iperf "$1" "$2" -n 4M -C cubic && jq -e '.end.sum_received.bytes > 1e6' "$work/iperf" &&
		printf %s " $1>$2 TCP $(jq '.end.sum_received.bits_per_second / 1e6 | floor' "$work/iperf") Mb/s" >>"$work/figures"
}
udp_to() {
	iperf "$1" "$2" -u -b 4M -l 1400 -w 1M -k 400 && jq .end.sum "$work/iperf" &&
		jq -e '.end.sum | .packets >= 400 and .lost_packets < 40' "$work/iperf" &&
		printf %s " $1>$2 UDP $(jq '.end.sum.lost_packets' "$work/iperf") of $(jq '.end.sum.packets' "$work/iperf") lost" >>"$work/figures"
}

# --- the packets cross uipoib's switches

cable() { u -j fabric port show Switch1/5 | jq -r '.port[0] | "\(.xmit_pkts) \(.rcv_pkts)"'; }
crosses() { # succeeds if the counters and a capture of the cable between the switches show 10 echo requests and their replies
	local id sent received
	id=$(u -j capture start "$work/$manager.pcapng" link Switch1/5 | jq -r '.capture[0].id')
	read -r sent received < <(cable)
	g a ping -q -n -c 10 -i 0.1 -W 10 "${ip[b]}"
	set -- $(cable)
	u capture stop "$id"
	echo "sent $(($1 - sent)), received $(($2 - received))"
	[ $(($1 - sent)) -ge 10 ] && [ $(($2 - received)) -ge 10 ] &&
		equal 10 "$(echos 8 a b ffff)" && equal 10 "$(echos 0 b a ffff)"
}
echos() { # TYPE FROM TO P_KEY: print the number of such ICMP packets in the capture
	tshark -r "$work/$manager.pcapng" -Y "icmp.type == $1 && infiniband.lrh.slid == ${lid[$2]} &&
		infiniband.lrh.dlid == ${lid[$3]} && infiniband.bth.p_key == 0x$4" -T fields -e frame.number 2>/dev/null | wc -l
}

# --- tools

ibping_to() {
	local pid
	pid=$(gb "$2" /tmp/ibping exec ibping -S)
	eventually 20 g "$1" ibping -t 1000 -f -c 1 "${lid[$2]}" &&
		g "$1" ibping -t 5000 -f -c 2 "${lid[$2]}" | grep '2 received, 0% packet loss'
	local status=$?
	g "$2" kill "$pid"
	return $status
}
route_to() { # succeeds if the route to the other VM's HCA leads over both switches
	local out
	out=$(g "$1" ibtracert "${lid[$1]}" "${lid[$2]}") || return 1
	echo "$out"
	equal "${port[$1]%/*} ${port[$2]%/*} vm-${port[$2]/\//-} uib0" "$(sed -nE 's/^\[[0-9]+\] -> .*"(.*)"$/\1/p' <<<"$out" | xargs)"
}
port_counts() { g b perfquery -x "${lid[a]}" 1 | sed -n 's/^PortXmitPkts:\.*//p'; }
perfquery_counts() { # succeeds if the counters of a's port, which b reads, count the replies of a
	local before after
	before=$(port_counts) && ping_to b a && after=$(port_counts) || return 1
	echo "before $before, after $after"
	[ $((after - before)) -ge 3 ] && [ $((after - before)) -lt 100 ]
}
discovers() { # PLACE: succeeds if ibnetdiscover at PLACE finds all nodes by their names
	equal "Switch1 Switch2 vm-Switch1-1 uib0 vm-Switch2-1 uib0" \
		"$(g "$1" ibnetdiscover | sed -nE 's/^(Switch|Ca)[ \t].*# "([^"]*)".*/\2/p' | sort | xargs)"
}
records() {
	g "$1" saquery NR | sed -nE 's/.*NodeDescription\.*//p' | sort | xargs | grep -x 'Switch1 Switch2 vm-Switch1-1 uib0 vm-Switch2-1 uib0' &&
		g "$1" saquery PR "${lid[$1]}" --src-to-dst "${lid[$1]}:${lid[$2]}" | grep -E "dlid\.+0x?0*$(printf '%X|%d' "${lid[$2]}" "${lid[$2]}")"
}
members() { # PLACE MGID: print the full members that the SA lists for a trusted requester (with the SM_Key)
	g "$1" saquery --smkey 1 MCMR | awk -v mgid="$2" '/MGID\./ { sub(/.*\./, "", $1); found = $1 == mgid }
		/PortGid\./ { sub(/.*\./, "", $1); gid = $1 } /JoinState/ { if (found && /0x1|FullMember/) print gid }' | sort -u
}
all_are_members() { equal 2 "$(members "$1" "$2" | wc -l)"; }
broadcast_gid=ff12:401b:ffff::ffff:ffff

# --- a partition

add_child() {
	g "$1" "ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 && ip addr add ${child[$1]}/24 dev ib0.8001 &&
		ip link set ib0.8001 up" && eventually 40 is_up "$1" ib0.8001
}
child_to() { full_size "$1" "${child[$2]}" 4092; }
child_crosses() {
	local id
	id=$(u -j capture start "$work/$manager.pcapng" link Switch1/5 | jq -r '.capture[0].id')
	g a ping -q -n -c 3 -i 0.1 -W 10 "${child[b]}"
	u capture stop "$id"
	equal 3 "$(echos 8 a b 8001)" && equal 3 "$(echos 0 b a 8001)"
}
no_partition() { # succeeds if a child interface of a partition that does not exist has no carrier, because the P_Key is missing
	g a 'ip link add link ib0 name ib0.8005 type ipoib pkey 0x8005 && ip link set ib0.8005 up'
	eventually 20 grep -q 'ib0.8005: P_Key 0x8005 is not found' "$work/a.err" || return 1
	is_up a ib0.8001 && equal 0 "$(g a cat /sys/class/net/ib0.8005/carrier)" && g a ip link del ib0.8005
}

# everything MANAGER: make all checks; the name of the manager is in their descriptions
everything() {
	manager=$1
	: >"$work/figures"
	check "$manager: a has a LID" learn a
	check "$manager: b has a LID" learn b
	check "$manager: IPv6 addresses are found unique" eventually 20 both not_tentative
	check "$manager: ping both ways" eventually 20 both ping_to
	check "$manager: they cross the cable between the switches" eventually 20 crosses
	check "$manager: IPv6, global and link-local" eventually 20 both ping6_to
	check "$manager: packets of the MTU pass, larger ones are refused" eventually 20 both full_size_to
	check "$manager: packets in fragments" eventually 20 both fragments_to
	check "$manager: broadcast" eventually 20 both broadcast_to
	check "$manager: IPv4 multicast" both multicast_to
	check "$manager: IPv6 multicast" both multicast6_to
	check "$manager: TCP" eventually 20 both tcp_to
	check "$manager: UDP" eventually 20 both udp_to
	echo "# $manager:$(cat "$work/figures")"
	check "$manager: ibping" eventually 20 both ibping_to
	check "$manager: ibtracert" eventually 20 both route_to
	check "$manager: perfquery" eventually 20 perfquery_counts
	check "$manager: ibnetdiscover" eventually 20 both discovers
	check "$manager: saquery" eventually 20 both records
	check "$manager: the SA knows both as members" eventually 20 all_are_members b $broadcast_gid
	check "$manager: a child interface, in its partition, at a" add_child a
	check "$manager: and at b" add_child b
	check "$manager: packets of its MTU pass there, larger ones are refused" eventually 20 both child_to
	check "$manager: they have its P_Key" eventually 20 child_crosses
	check "$manager: one of no partition stays down" no_partition
}

start_lab() { # LINE...: start the lab, with these lines in [fabric lab]
	linux_topo 0 >"$work/lab.topo"
	conf_hosts 0 "$@" >"$work/lab.conf"
	lab_up
}

end_vms() { # NAME...: end these VMs; their kernels must not have logged a fault
	local name
	for name; do
		check "nothing in the log of $name's kernel" vm_log_clean "$name"
		check "$name ends" vm_stop "$name"
	done
}

# --- the embedded SM is the manager

start_lab "partitions = partitions.conf"
boot a
boot b
vm_wait a b
everything embedded
end_vms a b
lab_down

# --- OpenSM in VM a is the manager

# opensm_at PLACE PRIORITY: starts OpenSM at a place, with the log /tmp/osm/log in the VM and its pid in ${osm[PLACE]}
declare -A osm
opensm_at() {
	g "$1" 'rm -rf /tmp/osm; mkdir /tmp/osm'
	osm[$1]=$(gb "$1" /tmp/osm/out "OSM_CACHE_DIR=/tmp/osm OSM_TMP_DIR=/tmp/osm exec opensm -d 2 -D 0x43 \
		-f /tmp/osm/log -p $2 -F $work/osm.conf -P $work/partitions.conf")
}
# Error 3111 with status 0x1C is left out, because a packet of a neighbour can make an Armed port Active before OpenSM does
# (see opensm.sh).
osm_errors() {
	g "$1" "grep -E ' 0x01 -> |ERR [0-9A-F]{4}' /tmp/osm/log" | grep -v 'ERR 3111: Received MAD with error status = 0x1C'
}
osm_says() { g "$1" grep -q "$2" /tmp/osm/log; }
is_sm() { # PLACE [ASKER]: succeeds if the port of ASKER (default: PLACE) has the LID of PLACE as SM LID
	equal "${lid[$1]}" "$(($(g "${2:-$1}" cat /sys/class/infiniband/uib0/ports/1/sm_lid)))"
}

issm() { g b smpquery portinfo "${lid[a]}" 1 | grep -q 'IsSM$'; }

# pings_start FROM TO: pings 20 times a second. pings_end FROM MOST_MS: ends the pings; the longest time without a
# reply must be at most MOST_MS
pings_start() {
	pings=$(gb "$1" /tmp/pings exec ping -n -D -i 0.05 "${ip[$2]}")
	eventually 20 g "$1" grep -q 'bytes from' /tmp/pings
}
pings_end() {
	local silent
	g "$1" kill -INT "$pings"
	eventually 10 g "$1" grep -q 'packets transmitted' /tmp/pings
	g "$1" tail -3 /tmp/pings
	silent=$(g "$1" cat /tmp/pings | awk -F'[][]' '/bytes from/ { if (n++ && $2 - last > max) max = $2 - last; last = $2 } END { print int(max * 1000) }')
	silences+=" $silent"
	echo "silent for $silent ms"
	[ "$silent" -lt "$2" ]
}

start_lab "sm = external"
boot a --no-wait
boot b --no-wait
vm_wait a b
check "no manager: the port waits for one" eventually 20 g b grep -q INIT /sys/class/infiniband/uib0/ports/1/state
start=$(ms)
opensm_at a 8
check "OpenSM in a brings up ib0 of a" eventually 40 is_up a
check "and of b" eventually 40 is_up b
echo "# both up $(($(ms) - start)) ms after OpenSM was started in a"
everything opensm
check "a is the SM, b knows" eventually 10 is_sm a b
check "and that a says so" eventually 10 issm
check "OpenSM found no fault" not osm_errors a

# OpenSM is killed and started again
group=239.7.7.7 group_gid=ff12:401b:ffff::f07:707
after=$(gb b /tmp/after exec "$mcast" recv ib0 $group 7401)
check "a group is joined in b" eventually 20 eval 'members b $group_gid | grep .'
group_works() {
	g a "$mcast" send ib0 $group 7401 1 "after-$1" && g b grep -q "after-$1" /tmp/after
}
check "the group works" eventually 20 group_works first
silences=''
check "pings from b to a" pings_start b a
g a kill -9 "${osm[a]}"
check "OpenSM killed: a says no more that it has a manager" eventually 10 not issm
check "OpenSM killed: traffic goes on without" eventually 20 ping_to a b
start=$(ms)
opensm_at a 8
check "started again: the subnet is up" eventually 40 osm_says a 'SUBNET UP'
echo "# SUBNET UP $(($(ms) - start)) ms after OpenSM was started again"
check "the group is joined again" eventually 20 eval 'members b $group_gid | grep .'
check "so are both in the broadcast group" eventually 20 all_are_members b $broadcast_gid
check "and the children in theirs" eventually 20 all_are_members b ff12:401b:8001::ffff:ffff
echo "# all groups known to it after $(($(ms) - start)) ms"
check "the group works" eventually 20 group_works restart
check "the child interfaces too" eventually 20 child_to a b
check "traffic went on" pings_end b $((3000 * $(stretch)))
echo "# pings: silent for at most$silences ms"

# a's VM is killed, the standby in b takes over, a boots again
opensm_at b 4
check "OpenSM in b stands by" eventually 40 osm_says b 'Entering STANDBY'
check "nothing in the log of a's kernel" vm_log_clean a
vm_kill a
start=$(ms)
check "a killed: b takes over" eventually 40 osm_says b 'Entering MASTER'
echo "# b took over after $(($(ms) - start)) ms"
check "b is the SM" eventually 20 is_sm b
check "ib0 of b is up" eventually 20 is_up b
boot a
vm_wait a
check "a comes back: ping both ways" eventually 20 both ping_to
echo "# a answers $(($(ms) - start)) ms after it was killed, its boot in between"
check "under the other manager" eventually 20 is_sm b a
check "both are members again" eventually 20 all_are_members a $broadcast_gid
check "IPv6" eventually 20 both ping6_to
check "a child interface again" add_child a
check "which is reached" eventually 20 both child_to
check "a group whose sender is new" eventually 20 group_works takeover
end_vms a b
finish
