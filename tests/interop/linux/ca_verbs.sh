#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# With `port = verbs:uib0/1`, an interface of a uipoib in a VM uses the port of uib.ko through Debian's
# libibverbs. At the same time the kernel's own ib_ipoib uses this port.
#
#	h1 10.4.0.1, 10.5.0.1 --- Switch1 --- a (VM: ib0 10.4.9.1 of the kernel; v1: uib0 10.4.9.11 of uipoib, later in a bridge with stations)
#	                   |
#	                   b (VM: ib0 10.4.9.2)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/guest/faults_lib.sh"
need ibv_devinfo opensm dnsmasq dhclient tshark
echo "Default=0x7fff, ipoib : ALL=full ;" >"$work/one.parts"
cat "$work/one.parts" - >"$work/both.parts" <<<"blue=0x0001, ipoib : ALL=full ;"
cp "$work/both.parts" "$work/lab.parts"
linux_topo 1 >"$work/lab.topo"
{
	conf_hosts 1 "partitions = lab.parts"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16"
} >"$work/lab.conf"
lab_up
vm_start a --cpus 1 --address 10.4.9.1/16 --port Switch1/2 --share "$work"
vm_start b --cpus 1 --address 10.4.9.2/16 --port Switch1/3
vm_wait a b
# Use a copy of dhclient, because AppArmor knows the original by its path, and forbids the original to run this script's
# hook.
cp "$(command -v dhclient)" "$work"/
printf '%s\n' '#!/bin/sh' 'case $reason in BOUND) ip addr add "$new_ip_address/16" dev "$interface" ;; esac' >"$work/lease.sh"
chmod +x "$work/lease.sh"

va() { g a "$UIPOIB" -n v "$@"; } # run a command for the instance in VM a
# at_a PLACE CMD...: run a command in the network namespace of v1, or of a station behind v1, in VM a. `uipoib exec` would do the same for
# v1, but takes long to start on an emulated processor.
at_a() { g a "nsenter -t \$(cat /tmp/$1.pid) -n ${*:2}"; }
v1() { at_a v1 "$@"; }
# from PLACE OPTION... ADDRESS: ping ADDRESS from PLACE, which is v1, a station behind v1, another VM, or a host of the lab
from() {
	case $1 in
	v1 | s[0-9]*) at_a "$1" ping -n -c 2 -i 0.2 -W 10 "${@:2}" ;;
	*) reach "$@" ;;
	esac
}
pings() { eventually 10 from "$@"; }

# --- ports that are refused, with the reason

printf '%s\n' '[interface uib0@v1]' 'port = verbs:uib0/1' 'address = 10.4.9.11/16' 'address = fd04::911/64' '[interface uib1@v1]' 'port = verbs:uib0/1' 'pkey = 0x8001' \
	'address = 10.5.9.11/16' >"$work/v.conf"
refused() { # STATUS TEXT PORT: succeeds if uipoib refuses port = verbs:PORT, with this status and text
	sed "s,^port.*,port = verbs:$3," "$work/v.conf" >"$work/bad.conf"
	refuse "$1" "$2" g a "$UIPOIB" run -c "$work/bad.conf" -n bad
}
check "a device that is not there" refused 2 "port verbs:none0/1: libibverbs has no such device" none0/1
check "a port that is not there" refused 2 "port verbs:uib0/7: the device has no port 7" uib0/7

# --- the interfaces of uipoib come up

before=$(g a bash "$PWD/tests/interop/linux/guest/verbs_left.sh")
# ups, downs: print how often the interface came up, or went down, since the start. came N, went N: succeed if the
# interface came up, or went down, at least N times. The number can be larger, because the port of a VM on a busy
# machine goes Down if the VM sends nothing for a while. The log is read on this machine, because a command in the VM
# would take longer
ups() { grep -c 'uib0@v1: up$' "$work/v.log"; }
downs() { grep -c 'uib0@v1: down: the port is Down' "$work/v.log"; }
came() { [ "$(ups)" -ge "$1" ]; }
went() { [ "$(downs)" -ge "$1" ]; }
v_start() {
	start_at a "$work/v.log" "$UIPOIB" run -c "$work/v.conf" -n v
	v_pid=$started
	eventually 60 came 1 || { cat "$work/v.log"; return 1; }
	g a "\"$UIPOIB\" -n v exec v1 sleep 10000 </dev/null >/dev/null 2>&1 & echo \$! >/tmp/v1.pid"
	in_v1() { [ "$(v1 readlink /proc/self/ns/net)" != "$(g a readlink /proc/self/ns/net)" ]; }
	eventually 30 in_v1
}
g a modprobe -a tun bridge veth
check "an interface on the kernel's port comes up" v_start
has_port() { equal "uib0/1 null" "$(va -j link show dev uib0@v1 | jq -r '.link[0] | "\(.port) \(.fabric)"')"; }
check "link show names the port, and no fabric" has_port
for p in 10.4.0.1 10.4.9.2; do check "it pings $p" pings v1 $p; done
check "IPv6, too" pings v1 fd04::1
check "a soft host pings it" pings h1 10.4.9.11
check "the kernel of another VM pings it" pings b 10.4.9.11
check "2016 octets fit" pings v1 -M do -s 2016 10.4.0.1
check "fragments pass" pings v1 -s 8000 10.4.9.2
tcp_to() { # HOST ADDRESS FROM_CMD...: send 1 MB by TCP, which must arrive undamaged
	start_at "$1" "$work/flow" $integrity tcp-recv "$2" 7777
	eventually $vm_patience grep -q ready "$work/flow" && "${@:3}" 7777 "$2" 1000000
}
check "TCP brings the data undamaged to h1" tcp_to h1 10.4.0.1 v1 $integrity tcp-send 10.4.9.11
check "trace says what it cannot do" refuse 2 "none of a soft fabric" va trace v1 10.4.0.1

# --- the privileges of the daemon

status_of() { # PATTERN: succeeds if a line of the daemon's /proc/PID/status matches
	g a "for p in /proc/[0-9]*; do [ \"\$(readlink \$p/fd/* 2>/dev/null | grep -c 'uverbs')\" = 0 ] || cat \$p/status; done" >"$work/status"
	grep -Eq "$1" "$work/status" || { cat "$work/status"; return 1; }
}
check "the daemon is user 65534" status_of '^Uid:.65534.65534.65534'
check "of all capabilities it has CAP_NET_RAW" status_of '^CapPrm:.0000000000002000$'
check "its system calls are filtered" status_of '^Seccomp:.2'

no_drops() { [ "$(va -j -d stats show | jq '[.stats[] | select(.layer == "verbs" and .drop) | .value] | add')" = 0 ]; }
check "nothing was dropped at the port" no_drops

# --- a capture of the port, compared with a capture of its link. uipoib makes the headers in the port's capture from work
# requests and completions. These headers must equal the headers in the link's capture

capture_id() { "$@" -j capture show | jq -e '.capture[0].id'; }
traffic() {
	v1 ip neigh flush dev uib0 && v1 ping -n -c 3 -i 0.2 -W 10 10.4.0.1 && pings v1 fd04::1 && pings v1 -s 5000 10.4.9.2
}
capture_both() {
	u capture start "$work/link.pcapng" link Switch1/2 && va capture start "$work/port.pcapng" port verbs:uib0/1 && traffic &&
		va capture stop "$(capture_id va)" && u capture stop "$(capture_id u)"
}
rows() { # FILE FILTER FIELD...: print each different row of these fields in the capture
	local file=$1 filter=$2 args=()
	for f in "${@:3}"; do args+=(-e "$f"); done
	tshark -r "$work/$file" -Y "$filter" -T fields "${args[@]}" 2>"$work/tshark" | sort -u
}
headers=(infiniband.{lrh.{sl,lnh,dlid,slid,pktlen},grh.{tclass,flowlabel,paylen,hoplmt,sgid,dgid},bth.{opcode,p_key,destqp,padcnt},deth.{q_key,srcqp}}
	ip.src ip.dst ip.id ip.frag_offset icmp.type icmp.seq ipv6.src ipv6.dst icmpv6.type icmpv6.echo.sequence_number arp.opcode)
same_headers() {
	local ours
	ours=$(rows port.pcapng "icmp or icmpv6 or arp or ip.frag_offset > 0" "${headers[@]}")
	[ "$(grep -c . <<<"$ours")" -ge 12 ] && equal "" "$(comm -23 <(echo "$ours") <(rows link.pcapng infiniband "${headers[@]}"))"
}
each_marked() {
	equal "0x00000001	verbs:uib0/1	headers made from a work completion
0x00000001	verbs:uib0/1	headers made from a work completion, except the GRH
0x00000002	verbs:uib0/1	headers made from a work request" "$(rows port.pcapng infiniband frame.packet_flags_direction frame.interface_name frame.comment)" &&
		[[ $(rows port.pcapng infiniband frame.interface_description) == "queue pairs of uipoib; "* ]]
}
directions() {
	local own='ip.addr == 10.4.9.11 and'
	equal 0x00000002 "$(rows port.pcapng "$own icmp.type == 8" frame.packet_flags_direction)" &&
		equal 0x00000001 "$(rows port.pcapng "$own icmp.type == 0" frame.packet_flags_direction)"
}
check "a capture of the port, while the lab captures its link" capture_both
check "tshark reads in it the same headers as on the link" same_headers
check "each packet is marked" each_marked
check "and has its direction" directions
check "nothing in it is malformed" equal "" "$(rows port.pcapng _ws.malformed frame.number)"
check "a capture at the port of an interface is the same" eval 'va capture start "$work/dev.pcapng" dev uib0@v1 && va capture show | grep -q "dev.pcapng  *verbs:uib0/1" &&
	va capture stop "$(capture_id va)"'
check "a port without an interface is refused" refuse 2 "port 'verbs:uib0/2': expected verbs:DEVICE/PORT of an interface" va capture start "$work/none" port verbs:uib0/2

# --- the kernel's ib0 and the interface of uipoib are members of the same groups

groups() { u -j fabric group show | jq -r '.group[] | .mgid' | sort; }
joined() { groups | grep -qi "$1"; }
mcast_join() { # PLACE ADDRESS IF: start a program at PLACE that is a member of the group until it is killed
	local prog="import socket,time
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.setsockopt(0,35,socket.inet_aton('239.1.2.3')+socket.inet_aton('$2')); print('joined',flush=True); time.sleep(1000)"
	start_at a "$work/member.$1" "${@:3}" python3 -c "$prog"
	eventually $vm_patience grep -q joined "$work/member.$1"
}
echo_group() { # print the addresses of the members of the group that answer b's ping
	g b "ip route replace 239.0.0.0/8 dev ib0; ping -n -c 3 -i 0.3 -W 3 -t 1 239.1.2.3" | grep -oE 'from 10\.4\.9\.[0-9]+' | sort -u | tr '\n' ' '
}
g a sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
v1 sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0 >/dev/null
check "the kernel's ib0 joins a group" mcast_join kernel 10.4.9.1
kernel_member=$started
check "so does the interface" mcast_join v1 10.4.9.11 nsenter -t "$(g a cat /tmp/v1.pid)" -n
v1_member=$started
both_answer() { equal "from 10.4.9.1 from 10.4.9.11 " "$(echo_group)"; }
check "packets to the group reach both" eventually 15 both_answer
end_at a "$v1_member"
kernel_answers() { equal "from 10.4.9.1 " "$(echo_group)"; }
check "the interface leaves, and the kernel still gets them" eventually 15 kernel_answers
end_at a "$kernel_member"

# --- stations in a bridge whose port is the interface of uipoib

bridge='ip link add br0 mtu 2044 type bridge && ip link set br0 up && ip addr flush dev uib0 && ip addr add 10.4.9.11/16 dev br0 && ip link set uib0 master br0
for n in 1 2 3; do
	unshare -n sleep 1000 & p=$!; echo $p >/tmp/s$n.pid
	until [ "$(readlink /proc/$p/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
	ip link add s$n mtu 2044 type veth peer name e0 netns $p && ip link set s$n master br0 && ip link set s$n up
	nsenter -t $p -n sh -c "ip link set e0 mtu 2044 && ip link set e0 up && ip addr add 10.4.8.$n/16 dev e0 && ip addr add fd04::80$n/64 dev e0 nodad"
done >/dev/null 2>&1'
check "a bridge with three stations" v1 bash -c "${bridge@Q}"
for n in 1 2 3; do
	check "station $n reaches a soft host, by IPv6, too" eval 'pings s$n 10.4.0.1 && pings s$n fd04::1'
	check "station $n reaches the kernel of another VM" pings s$n 10.4.9.2
done
check "they are reached" eval 'pings h1 10.4.8.1 && pings b 10.4.8.2 && pings h1 fd04::803'
own_qps() { equal 3 "$(va -j link show dev uib0@v1 | jq '[.link[0].stations[].qpn] | unique | length')"; }
check "each has a queue pair of its own" own_qps

# --- DHCP

dhcp_server() {
	bx h1 dnsmasq -d -C /dev/null --port=0 --user=root --interface=uib0 --bind-interfaces --leasefile-ro --dhcp-range=10.4.7.1,10.4.7.50,255.255.0.0 \
		>"$work/dnsmasq.log" 2>&1
	eventually $vm_patience grep -q "DHCP, IP range" "$work/dnsmasq.log"
}
check "a DHCP server on the soft host" dhcp_server
leased() { at_a s3 timeout 60 "$work/dhclient" -1 -v -4 -cf /dev/null -lf /tmp/leases -pf /tmp/dhclient.pid -sf "$work/lease.sh" e0; }
gets_lease() { leased >"$work/lease" 2>&1 && grep -E 'bound to 10\.4\.7\.' "$work/lease" || { cat "$work/lease" "$work/dnsmasq.log"; return 1; }; }
check "a station behind the bridge gets a lease" eventually $vm_patience gets_lease
check "it reaches the kernel of another VM from that address" pings s3 -I "$(grep -oE '10\.4\.7\.[0-9]+' "$work/lease" | tail -1)" 10.4.9.2

# --- the LID and the P_Keys of the port change, managers replace each other, and under OpenSM the link goes down and comes
# up. After each of these changes, the pings of traffic() must pass

traffic() { pings s1 10.4.0.1 && pings s2 10.4.9.2 && pings b 10.4.8.1; }
# after STATED REGEX CMD...: run CMD. Then a new line that matches REGEX must appear in the daemon's log in time. The limit
# is STATED seconds, which doc/fidelity.md states, plus $machine seconds (faults_lib.sh), or more on a busy machine. After
# this line, the pings of traffic() must pass
after() {
	local stated=$1 regex=$2 lines start took most
	shift 2
	most=$((stated + machine * $(stretch)))
	lines=$(grep -cE "$regex" "$work/v.log")
	more() { [ "$(grep -cE "$regex" "$work/v.log")" -gt "$lines" ]; }
	"$@" || return 1
	start=$(now)
	within $most more || { tail -5 "$work/v.log"; echo "nothing within $most s"; return 1; }
	took=$(since "$start")
	traffic && echo "# ${*:1:4}: the log says so after $took s (stated: $stated s)" >&3
}
guid=$(g a cat /sys/class/infiniband/uib0/node_guid)
check "its LID changes" after 4 'sa: port Active, LID 500' u fabric lid set "0x${guid//:/}" 500
check "another manager takes over" after 4 'sa: .*SM LID' u fabric sm start Switch2/0 priority 5
check "the manager is killed, and the first one takes over" after 9 'sa: .*SM LID' u fabric sm stop Switch2/0
load() { cp "$work/$1.parts" "$work/lab.parts" && u fabric partitions "$work/lab.parts"; }
check "a P_Key is removed, and its interface goes down" after 4 'uib1@v1: down: .*P_Key' load one
check "it is added, and its interface comes up" after 6 'uib1@v1: up$' load both
check "that reaches the host in the partition" pings v1 10.5.0.1
osm() { osm_start exec h1 -p 8 -P "$work/lab.parts" && osm_wait_up $vm_patience; }
check "OpenSM takes over" after 4 'sa: .*SM LID' osm
flap() { u fabric link set Switch1/2 down && sleep 1 && u fabric link set Switch1/2 up; }
check "under OpenSM the link goes down and comes up" after 14 'uib0@v1: up$' flap
check "OpenSM is killed, and ours takes over" after 9 'sa: .*SM LID' osm_stop KILL

# --- the cable is pulled

before_downs=$(downs)
u fabric link set Switch1/2 down
check "the interface follows the port down" eventually 30 went $((before_downs + 1))
before_ups=$(ups)
u fabric link set Switch1/2 up
check "and up" eventually 30 came $((before_ups + 1))
check "a station reaches the others again" eval 'pings s1 10.4.0.1 && pings s1 10.4.9.2'

# --- uipoib ends, and then the device is removed

end_at a "$v_pid"
kernel_lives() { g b ip neigh flush dev ib0 && reach b 10.4.9.1 && g a ip neigh flush dev ib0 && reach a 10.4.9.2; }
check "uipoib ends, and the kernel's ib0 is still reached by broadcast" kernel_lives
nothing_left() { equal "$before" "$(g a bash "$PWD/tests/interop/linux/guest/verbs_left.sh")"; }
check "nothing of it is left in the kernel" eventually 20 nothing_left
check "it starts again" v_start
before_downs=$(downs)
g a 'ip link set ib0 down; echo uib0 >/sys/module/uib/parameters/remove'
check "the device is removed under it: the log says so" eventually 20 grep -Eq "port uib0/1: the .*device .*removed" "$work/v.log"
check "the interface is down" eventually 20 went $((before_downs + 1))
ticks() { g a "for p in /proc/[0-9]*; do readlink \$p/fd/* 2>/dev/null | grep -q uverbs && awk '{ print \$14 + \$15 }' \$p/stat; done; true"; }
idle() { # succeeds if the daemon uses less than a third of a processor
	local before
	before=$(ticks) && sleep 3 && [ $(($(ticks) - before)) -lt 100 ]
}
check "the descriptors of the device that is gone do not keep it awake" idle
alive() { va link show >/dev/null; }
check "the instance still answers" alive

# --- the module is loaded again

link=$(vm_port a | sed -E 's/.*udp:([^,]*),.*listen=([^,]*)/peer=\1 listen=\2/')
load="rmmod uib && insmod ${UIPOIB%/*}/kmod/\$(uname -r)/uib.ko && echo uib0 netns=3 guid=0x${guid//:/} $link mtu=2048 >/sys/module/uib/parameters/add 3</run/uipoib-vm/cable"
before_ups=$(ups)
check "the module can be removed under it, and loaded again" g a "$load"
check "the interface comes up again" eventually $vm_patience came $((before_ups + 1))
check "the log says that the device is back" grep -q "port uib0/1: the device is back" "$work/v.log"
for p in 10.4.0.1 10.4.9.2 fd04::1; do check "it pings $p again" pings v1 $p; done
check "a soft host pings it again" pings h1 10.4.9.11
check "the daemon has no other rights than before" eval "status_of '^Uid:.65534.65534.65534' && status_of '^CapPrm:.0000000000002000\$'"
end_at a "$v_pid"
ended() { not g a kill -0 "$v_pid"; }
check "and ends when it is told" eventually 20 ended

for n in a b; do
	check "nothing in the kernel's log of $n" eval '! g $n dmesg | grep -E "BUG:|WARNING:|Oops|KASAN"'
done
finish
