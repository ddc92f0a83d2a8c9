#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests `netdev = ibtap` with each link profile in a VM, on a fabric of the VM's own, and prints TAP.
#
#	ibtap_profiles.sh IBTAP.KO
#
#	h1 (ibtap) --- Switch1 --- Switch2 --- h2 (tap)
#	h3 (ibtap) --- Switch1     Switch2 --- h4 (tap)
modprobe tun || exit 1
[ -e /dev/ibtap ] || insmod "$1" || exit 1
. "$(dirname "$0")/../../../system/lib.sh"
topo_ring 4 2 >"$work/lab.topo"
# In some profiles the MGID of a link's group contains no P_Key. The SM does not make such groups by
# itself, so partitions.conf, written below, does.
cat >"$work/partitions.conf" <<-'EOF'
	Default=0x7fff, ipoib : mgid=ff12:3333::1
		mgid=ff12::255.255.255.255, Q_Key=0x80000b1b
		ALL=full;
EOF
kind() { case $1 in 1 | 3) echo ibtap ;; *) echo tap ;; esac; }
conf_of() { # PROFILE: print the configuration of the lab with this profile
	local of='' h
	dev=uib0
	[ "$1" != hld2002 ] || { dev=ib0_1_7fff of=',pkey=0x7fff'; }
	printf '[fabric lab]\ntopology = lab.topo\npartitions = partitions.conf\nsidr-server = yes\n'
	for h in 1 2 3 4; do
		conf_iface "${dev%_1_7fff}" $h "profile = $1" "netdev = $(kind $h)" "address = fd04::$h/64$of"
		[ "$1" = v6ib00 ] || printf 'address = 10.4.0.%d/16%s\n' $h "$of"
	done
}
reach() { eventually 60 x "h$1" ping -n -q -c 2 -i 0.05 -W 5 "$2"; } # FROM ADDRESS: wait until host FROM has an answer from ADDRESS
everybody() { # ADDRESS-PREFIX: succeeds if each host reaches each other host
	local from to
	for from in 1 2 3 4; do
		for to in 1 2 3 4; do
			[ $from = $to ] || reach $from "$1$to" || { echo "h$from to h$to"; return 1; }
		done
	done
}
right_neighbours() { # PROFILE: succeeds if the kernels of h1 and h3 have, for each host, the 20-octet address that uipoib shows for it
	local h lladdr
	for h in 2 3; do
		reach 1 "fd04::$h" >/dev/null || return 1
		lladdr=$(u -j link show dev "$dev@h$h" | jq -r '.link[0].lladdr')
		equal "$lladdr" "$(x h1 ip neigh show "fd04::$h" dev $dev | grep -oE '([0-9a-f]{2}:){19}[0-9a-f]{2}')" || return 1
		[ "$1" = v6ib00 ] ||
			equal "$lladdr" "$(x h1 ip neigh show "10.4.0.$h" dev $dev | grep -oE '([0-9a-f]{2}:){19}[0-9a-f]{2}')" || return 1
	done
}
transmit() { x "h$1" "$TOOLS/mcast" send $dev "$2" 7400 "$3" "$4"; } # FROM GROUP N TEXT: host FROM sends N datagrams with TEXT to the group
reached() { transmit "$1" "$2" 1 first && grep -q first "$work/member"; }
all_arrived() { equal 20 "$(grep -c all "$work/member")"; }
multicast() { # FROM TO GROUP: let TO join the group, wait until a datagram from FROM arrives, and send 20 more, which must all arrive
	local pid status
	bx "h$2" "$TOOLS/mcast" recv $dev "$3" 7400 >"$work/member" 2>&1
	pid=$!
	eventually 20 grep -q ready "$work/member" && eventually 20 reached "$1" "$3" && transmit "$1" "$3" 20 all &&
		eventually 10 all_arrived
	status=$?
	kill $pid
	wait $pid 2>/dev/null
	return $status
}
tcp() { # FROM TO MEGABYTES: send by TCP from host FROM to host TO, and print the bits per second
	local pid
	bx "h$2" iperf3 -s -1 --forceflush >"$work/iperf" 2>&1
	pid=$!
	eventually 20 grep -q listening "$work/iperf" && x "h$1" iperf3 -J -C cubic -c "fd04::$2" -n "$3M" | jq '.end.sum_received.bits_per_second | floor' &&
		wait $pid
}
moves() { [ "$(tcp "$@")" -gt 1000 ]; }

for profile in rfc4391 linux encaparp00 v4mc01 v6ib00 hld2002; do
	conf_of $profile >"$work/lab.conf"
	lab_up
	check "$profile: h1 has addresses of 20 octets" equal 32 "$(x h1 cat /sys/class/net/$dev/type)"
	[ $profile = v6ib00 ] || check "$profile: each host reaches each other one, IPv4" everybody 10.4.0.
	check "$profile: each host reaches each other one, IPv6" everybody fd04::
	check "$profile: the kernel has the right 20 octets" eventually 20 right_neighbours $profile
	for pair in "1 2" "2 1" "1 3"; do
		read -r from to <<<"$pair"
		[ $profile = v6ib00 ] || check "$profile: multicast from h$from to h$to, IPv4" multicast $from $to 239.1.2.3
		check "$profile: multicast from h$from to h$to, IPv6" multicast $from $to ff15::1:2:3
	done
	check "$profile: TCP from h1 to h2" moves 1 2 4
	check "$profile: TCP from h2 to h1" moves 2 1 4
	check "$profile: the lab ends" lab_down
done

# --- the throughput of ibtap and of a TAP, measured in turn

conf_of rfc4391 >"$work/lab.conf"
lab_up
rates() {
	local k
	for k in 1 2 3 4 5; do
		tcp 1 3 "${MEGABYTES:-10}" >>"$work/ibtap" && tcp 2 4 "${MEGABYTES:-10}" >>"$work/tap" || return 1
	done
}
median() { sort -n "$1" | sed -n "$((($(wc -l <"$1") + 1) / 2))p"; }
# near: succeeds if ibtap has more than half of TAP's rate, by the median of the rounds' ratios. The two transfers of a
# round follow each other, so other programs usually slow both down. Sometimes they slow down only one transfer. So the
# test makes 5 rounds, and up to 10 more if near fails.
near() {
	paste "$work/ibtap" "$work/tap" | awk '{ print $1 / $2 }' >"$work/ratio"
	echo "ibtap $(median "$work/ibtap"), tap $(median "$work/tap") bit/s; ratios: $(sort -n "$work/ratio" | tr '\n' ' ')"
	awk -v r="$(median "$work/ratio")" 'BEGIN { exit !(r > 0.5) }'
}
# Wait until no address is tentative: a host with a tentative address sends from ::1, and the receiving kernel
# drops such packets.
check "each host reaches each other one" everybody fd04::
check "TCP between two ibtap hosts and between two TAP hosts" rates
near_in_time() { near || { rates && near; } || { rates && near; }; }
check "ibtap is not much slower than TAP" near_in_time
near | sed 's/^/# /'
check "the lab ends" lab_down
check "ibtap.ko can be removed" eventually 20 rmmod ibtap
finish
