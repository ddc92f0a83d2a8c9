#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Partitions between Linux's ib0 and interfaces of uipoib. Tested are a group whose MTU is 4096 octets, child
# interfaces (no packet passes from one partition to another), and limited members, which reach full members only.
#
#	P_Key		MTU	a, ib0 and children	uipoib hosts
#	0xffff		4096	full 10.4.9.1		h1 .. h4 full 10.4.0.N
#	0x8001		2048	full 10.5.0.9		h1 full 10.5.0.1, h2 limited 10.5.0.2
#	0x8002		2048	limited 10.6.0.9	h3 full 10.6.0.3 and 10.5.0.3, h4 limited 10.6.0.4
#
#	h1, h3 --- Switch1 --- Switch2 --- h2, h4
#	              |
#	         a (VM, ib0)
. "$(dirname "$0")/lib.sh"
need tshark
guid=0x0002c90300000901
cat >"$work/partitions.conf" <<END
Default=0x7fff, ipoib, mtu=5 : ALL=full;
Lab=0x8001, ipoib : "Hca1"=full, "Hca2"=limited, $guid=full;
Other=0x8002, ipoib : "Hca3"=full, "Hca4"=limited, $guid=limited;
END
linux_topo 4 >"$work/lab.topo"
{
	conf_hosts 4 "partitions = partitions.conf"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16" "address = fd05::1/64"
	conf_iface uib1 2 "pkey = 0x0001" "address = 10.5.0.2/16" "address = fd05::2/64"
	conf_iface uib1 3 "pkey = 0x8002" "address = 10.6.0.3/16" "address = fd06::3/64" "address = 10.5.0.3/16"
	conf_iface uib1 4 "pkey = 0x0002" "address = 10.6.0.4/16" "address = fd06::4/64"
} >"$work/lab.conf"
lab_up
vm_start a --guid $guid --address 10.4.9.1/16 --address fd04::901/64 --share "$work"
vm_wait a
g a sysctl -qw net.core.rmem_max=16777216
declare -A ip4=([a]=10.4.9.1 [h1]=10.4.0.1 [h2]=10.4.0.2 [h3]=10.4.0.3)
g a 'for k in 1 2; do
	ip link add link ib0 name ib0.800$k type ipoib pkey 0x800$k
	ip link set ib0.800$k up
done
ip addr add 10.5.0.9/16 dev ib0.8001; ip addr add fd05::9/64 dev ib0.8001 nodad
ip addr add 10.6.0.9/16 dev ib0.8002; ip addr add fd06::9/64 dev ib0.8002 nodad
sysctl -qw net.ipv4.conf.all.arp_ignore=1 # answer ARP only on the interface that has the address'

# --- an IP MTU of 4092 on a group with MTU 4096

for p in a h1; do
	check "the interface of $p has 4092" equal 4092 "$(at $p cat "/sys/class/net/$(iface $p)/mtu")"
done
whole_4092() { # FROM ADDRESS: succeeds if a packet of 4092 octets passes, one more octet is refused, and fragments pass
	at $1 ping -n -c 2 -i 0.2 -W 10 -M do -s 4064 $2 && says "[Mm]essage too long" at $1 ping -n -c 1 -W 1 -M do -s 4065 $2 &&
		at $1 ping -n -c 2 -i 0.2 -W 10 -s 16000 $2
}
capture=$(u -j capture start "$work/big.pcap" | jq '.capture[0].id')
check "4092 octets from Linux to ours and back, in one packet" eventually 20 whole_4092 a 10.4.0.1
check "4092 octets from ours to Linux and back" eventually 20 whole_4092 h1 10.4.9.1
u capture stop "$capture" >/dev/null
# biggest: print the number of ports that have sent a packet of 4092 octets, which is the largest for an IP MTU of 4092
biggest() { tshark -r "$work/big.pcap" -Y 'icmp && !ip.flags.mf == 1 && ip.len == 4092' -T fields -e infiniband.lrh.slid 2>/dev/null | sort -u | wc -l; }
check "such packets left both ends" equal 2 "$(biggest)"
check "what arrived is what was sent, TCP, both ways" both_ways right_tcp a h1
check "what arrived is what was sent, UDP, both ways" both_ways right_udp a h1

# --- child interfaces of ib0

check "ib0.8001 is up" eventually 20 says "state UP" g a ip link show ib0.8001
check "a limited member's child is up, too" eventually 20 says "state UP" g a ip link show ib0.8002
check "both have the 2044 of their groups" equal "2044 2044" "$(g a cat /sys/class/net/ib0.8001/mtu /sys/class/net/ib0.8002/mtu | xargs)"

# child PLACE N: print the name of PLACE's interface in partition 0x800N. A uipoib host has only one interface in addition to
# uib0
child() { if is_vm $1; then echo ib0.800$2; else echo uib1; fi; }
node() { if is_vm $1; then echo 9; else echo ${1#h}; fi; }
one_way() { # FROM TO N: FROM pings TO in partition 0x800N
	at $1 ping -n -c 2 -i 0.2 -W 10 -I "$(child $1 $3)" 10.$((4 + $3)).0.$(node $2) &&
		at $1 ping -n -c 2 -i 0.2 -W 10 -I "$(child $1 $3)" fd0$((4 + $3))::$(node $2)
}
talk() { one_way $1 $2 $3 && one_way $2 $1 $3; } # A B N: A and B ping each other in partition 0x800N

silent() { # FROM INTERFACE ADDRESS: succeeds if ADDRESS does not answer
	refuse 1 ' 0 received|100% packet loss' at $1 ping -n -c 2 -i 0.2 -W 1 -I $2 $3
}
apart() { # A B N: succeeds if A and B do not reach each other in partition 0x800N
	silent $1 "$(child $1 $3)" 10.$((4 + $3)).0.$(node $2) && silent $2 "$(child $2 $3)" 10.$((4 + $3)).0.$(node $1) &&
		silent $1 "$(child $1 $3)" fd0$((4 + $3))::$(node $2)
}
pkey_drops() { # print two numbers: P_Key violations counted by Linux's HCA and by all HCAs of uipoib
	echo $(($(g a "sed -n 's/^drop_pkey //p' /sys/kernel/debug/uib/uib0/stats"))) \
		$(($(u -j stats show | jq '[.stats[] | select(.counter | test("pkey")) | .value] | add // 0')))
}
more_drops() { # BEFORE: succeeds if both numbers are larger than those of BEFORE
	local now
	now=$(pkey_drops)
	echo "before $1, now $now"
	[ "${now%% *}" -gt "${1%% *}" ] && [ "${now##* }" -gt "${1##* }" ]
}

check "Linux full, ours full: they talk" eventually 20 talk a h1 1
check "Linux full, ours limited: they talk" eventually 20 talk a h2 1
check "Linux limited, ours full: they talk" eventually 20 talk a h3 2
check "ours full, ours limited: they talk" eventually 20 talk h3 h4 2
before=$(pkey_drops)
check "Linux limited, ours limited: they do not" apart a h4 2
check "their packets were refused because of the P_Key, at both ends" eventually 10 more_drops "$before"
check "nothing crosses from 0x8001 of Linux to 0x8002 of ours" silent a ib0.8001 10.5.0.3
check "nothing crosses from 0x8002 of ours to 0x8001 of Linux" silent h3 uib1 10.5.0.9
check "nothing crosses from 0x8002 of ours to 0x8001 of ours" silent h3 uib1 10.5.0.1

# The same IP group in two partitions makes two groups of the fabric.
mcast=$TOOLS/mcast
group_apart() { # FROM IN OUT, each "PLACE INTERFACE": FROM sends. IN, in the same partition, must get the datagrams, and OUT, in the other, none
	local from=$1 in out pids=() k
	in=$work/group.${2// /.} out=$work/group.${3// /.}
	for k in "$2" "$3"; do
		start_at ${k% *} "$work/group.${k// /.}" "$mcast" sniff ${k#* } 239.9.9.9 7100
		pids+=("${k% *} $started")
		start_at ${k% *} "$work/member" "$mcast" recv ${k#* } 239.9.9.9 7101
		pids+=("${k% *} $started")
		eventually 20 grep -q ready "$work/member" && eventually 20 grep -q ready "$work/group.${k// /.}" || return 1
	done
	eventually 30 arrives
	reach ${from% *} ${ip4[${3% *}]} >/dev/null || return 1
	for k in "${pids[@]}"; do end_at $k; done
	grep -q data "$in" && equal ready "$(cat "$out")"
}
arrives() {
	at ${from% *} "$mcast" send ${from#* } 239.9.9.9 7100 5 data
	grep -q data "$in"
}
check "multicast of Linux stays in the partition" group_apart "a ib0.8001" "h1 uib1" "h3 uib1"
check "multicast of ours stays in the partition" group_apart "h3 uib1" "a ib0.8002" "a ib0.8001"
check "the default partition reaches everybody meanwhile" eval 'reach a 10.4.0.2 && reach h2 10.4.9.1'
check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
