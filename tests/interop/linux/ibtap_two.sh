#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# Each of two VMs on one fabric runs a uipoib whose interface is a device of type 32. In some profiles neighbours advertise
# their Q_Keys. With these profiles, when uipoib removes a neighbour from its own table, it must also delete the kernel's
# entry for this neighbour. PROFILES are the profiles (default: rfc4391 encaparp00 v6ib00).
#
#	h1 --- Switch1 --- Switch2
#	        |   |
#	        |   b (VM: uipoib, ibtap)
#	        a (VM: uipoib, ibtap)
. "$(dirname "$0")/lib.sh"
need iperf3
linux_topo 1 >"$work/lab.topo"
conf_hosts 1 'partitions = partitions.conf' 'sidr-server = yes' >"$work/lab.conf"
# In some profiles the MGID of a link's group contains no P_Key. The SM does not make such groups by
# itself, so partitions.conf, written below, does.
cat >"$work/partitions.conf" <<-'EOF'
	Default=0x7fff, ipoib : mgid=ff12:3333::1
		mgid=ff12::255.255.255.255, Q_Key=0x80000b1b
		ALL=full;
EOF
lab_up
vm_start a --share "$work"
vm_start b --share "$work"
vm_wait a b
declare -A ip4=([a]=10.4.9.1 [b]=10.4.9.2) ip6=([a]=fd04::901 [b]=fd04::902)

# at_profile PROFILE: give both VMs an ibtap device of this profile
at_profile() {
	local p v4
	for p in a b; do
		v4="address = ${ip4[$p]}/16"
		[ "$1" != v6ib00 ] || v4='; no IPv4'
		vm_ibtap $p "profile = $1" "address = ${ip6[$p]}/64" "$v4" || return 1
	done
}
end_profile() { # end both uipoibs, and with them their devices
	local p
	for p in a b; do
		g $p "kill ${vm_daemon[$p]}; while [ -d /sys/class/net/ib0 ]; do sleep 0.1; done; rmmod ibtap" || return 1
	done
}
octets20='([0-9a-f]{2}:){19}[0-9a-f]{2}'
lladdr() { g "$1" "$UIPOIB" -j -n "$1" link show | jq -r '.link[0].lladdr'; }
entry() { g "$1" ip neigh show "$2" dev ib0 | grep -oE "$octets20"; } # PLACE IP: the address that the kernel has
knows() { equal "$(lladdr "$2")" "$(entry "$1" "$3")"; }             # PLACE PEER IP: succeeds if the kernel of PLACE has the address of PEER
reach_all() {
	reach a "$1" && reach b "$2" && reach a -s 8000 "$1" && reach b -s 8000 "$2"
}

# --- a neighbour is forgotten

# spray: a sends a frame to each of 12000 queue pair numbers of b's port; no such queue pairs exist. uipoib in a makes a
# neighbour for each number, and has room for 8192 neighbours. Every 5 s uipoib checks its neighbours, and replaces only
# neighbours that were idle between two checks. So the frames are sent in two parts. The device gets a queue without
# fq_codel, which would drop frames of a sender that a slow machine delays. (uipoib also removes a neighbour that was
# idle for 600 s, which tests/sim/test_all_shape.c tests.)
spray() {
	g a tc qdisc replace dev ib0 root pfifo limit 1000 && spray_from 0 8000 && idle && spray_from 8000 4000
}
spray_from() { g a python3 -IS "$PWD/tests/interop/linux/guest/ibtap_spray.py" ib0 "$(lladdr b)" "$1" "$2"; } # FIRST NUMBER: send a frame to each of NUMBER queue pair numbers of b, from FIRST on
idle() { sleep 12; } # waits until the kernels have stopped probing their neighbours, and uipoib has checked its neighbours twice
gone() { equal "" "$(g a ip neigh show "$1" dev ib0)"; }
forgotten() { # IP...: succeeds if a's kernel has no entry for these addresses of b any more
	local ip
	idle
	for ip; do entry a "$ip" >/dev/null || { echo "it has no entry of $ip before"; return 1; }; done
	spray || return 1
	for ip; do eventually 30 gone "$ip" || return 1; done
}
kept() { # IP...: succeeds if a's kernel has entries for all these addresses of b
	local ip
	idle
	spray || return 1
	eventually 30 evicted || return 1
	for ip; do knows a b "$ip" || return 1; done
}
# ups: print how often the UDP links of both VMs have come up. steady CMD IP...: run CMD IP..., and run it again if a link
# went down meanwhile. A link goes down if a VM on a busy machine sends nothing for 3 s. Then the kernel deletes neighbour
# entries.
ups() { u -j fabric udp show | jq '[.udp[].ups] | add'; }
steady() {
	local try before status ip
	for try in 1 2 3; do
		before=$(ups)
		"$@"
		status=$?
		[ "$(ups)" != "$before" ] || return $status
		echo "a link went down"
		for ip in "${@:2}"; do eventually 60 reach a "$ip" || return 1; done
	done
	return 1
}
evicted() { g a "$UIPOIB" -j -n a stats show | jq -e '[.. | objects | select(.counter == "neigh_expired").value] | add > 1000'; }

for profile in ${PROFILES:-rfc4391 encaparp00 v6ib00}; do
	check "$profile: uipoib takes the place of ib_ipoib in both VMs" at_profile $profile
	ips="${ip4[b]} ${ip6[b]}"
	[ $profile != v6ib00 ] || ips=${ip6[b]}
	for b in $ips; do
		[ "$b" = "${ip6[b]}" ] && a=${ip6[a]} || a=${ip4[a]}
		check "$profile: a and b reach each other, also by fragments: $b" reach_all "$b" "$a"
		check "$profile: the kernels have the 20 octets of each other's address: $b" eval 'knows a b $b && knows b a $a'
	done
	if [ $profile = rfc4391 ]; then
		check "TCP in both directions at once brings the data undamaged" both_ways right_tcp a b
		check "so do datagrams of 2044 octets" both_ways right_udp a b
		check "$profile: a neighbour that gives way stays in the kernel: its address says all" steady kept $ips
	else
		check "V14 P14: $profile: a neighbour that gives way is deleted in the kernel, since its Q_Key is lost" steady forgotten $ips
	fi
	for b in $ips; do check "$profile: it is found again: $b" reach a "$b"; done
	check "$profile: the kernels' logs" eval 'vm_log_clean a && vm_log_clean b'
	check "$profile: both end" end_profile
done
check "VM a ends" vm_stop a
check "VM b ends" vm_stop b
finish
