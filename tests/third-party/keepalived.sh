#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: keepalived | VRRP with an IPv4 address
# works-with: keepalived | VRRP with an IPv6 address
# packages: keepalived
# check.sh: all
#
# Two keepalived processes run, one on the guest's ib0 and one on h2's TAP. A virtual address moves from one to the other, and back.
# With a virtual IPv6 address, keepalived 2.2.7 aborts on any InfiniBand interface. It copies the 20 octets of the interface's
# link-layer address into an array of 8 octets (issue 2100 of keepalived). Later versions do not have this fault.
#
#	h1 10.4.0.1 --- Switch1 --- Switch2 --- h2 10.4.0.2 (keepalived)
#			   |
#			   a 10.4.9.1 (VM: keepalived)
. "$(dirname "$0")/lib.sh"
linux_lab 2
guest_start a --address 10.4.9.1/16 --address fd04::9:1/64
vm_wait a

vip=10.4.9.100 vip6=fd04::9:100
configure() { # PLACE PRIORITY ADDRESS: write the configuration of keepalived for PLACE
	printf 'vrrp_instance V {\ninterface %s\nstate BACKUP\nvirtual_router_id 9\npriority %d\nadvert_int 1\nvirtual_ipaddress { %s }\n}\n' \
		"$(iface "$1")" "$2" "$3" >"$work/$1.conf"
}
declare -A daemon
starts() { # PLACE PRIORITY ADDRESS: start keepalived at PLACE
	configure "$@"
	start_at "$1" "$work/$1.log" keepalived -n -l -D -f "$work/$1.conf" -p /run/k.pid -r /run/kv.pid
	daemon[$1]=$started
}
has_vip() { at "$1" ip -o addr show dev "$(iface "$1")" to "${2:-$vip}" | grep -q .; }
mac() { at "$1" cat "/sys/class/net/$(iface "$1")/address"; }
# tap_mac ADDRESS: print the MAC that uipoib has made for h1's neighbour with this IP address. follows PLACE: succeeds if h1's
# neighbour for the virtual address is PLACE's interface, and the address answers
tap_mac() { u -j neigh show dev uib0@h1 | jq -r --arg ip "$1" '.neigh[] | select(.ip | index($ip)).token'; }
follows() {
	equal "$(tap_mac "$([ "$1" = a ] && echo 10.4.9.1 || echo 10.4.0.2)")" \
		"$(x h1 ip neigh show $vip dev uib0 | grep -oE '([0-9a-f]{2}:){5}[0-9a-f]{2}')" && x h1 ping -n -q -c 1 -W 1 $vip
}

# --- IPv4. With the default reachable time, h1 would soon probe its neighbour, and learn the new address from the answer instead of the
# gratuitous ARP

x h1 sysctl -qw net.ipv4.neigh.uib0.base_reachable_time_ms=3600000
reach h1 10.4.9.1 >/dev/null && reach h1 10.4.0.2 >/dev/null
starts h2 100 $vip/16
check "keepalived of h2 has the virtual address" eventually 30 has_vip h2
check "h1 reaches it there" eventually 20 eval 'x h1 ping -n -q -c 1 -W 1 $vip && follows h2'
starts a 150 $vip/16
check "keepalived of the guest takes it, with a higher priority" eventually 30 has_vip a
check "h2 gives it up" eventually 30 not has_vip h2
check "h1 is told so by a gratuitous ARP" eventually 20 follows a
end_at a "${daemon[a]}"
check "keepalived of the guest ends: h2 has the address again" eventually 30 has_vip h2
check "h1 is told so, too" eventually 20 follows h2
end_at h2 "${daemon[h2]}"
tried "VRRP with an IPv4 address" works

# --- IPv6: the process that speaks VRRP is aborted by the C library's check of memcpy(), and keepalived starts it again, for ever.

starts h2 100 $vip6/64
check "keepalived of h2, a TAP with an Ethernet address, has a virtual IPv6 address" eventually 30 has_vip h2 $vip6
check "the guest reaches it" reach a $vip6
starts a 150 $vip6/64
still "that of the guest aborts when it announces the address" eventually 60 grep -q 'buffer overflow detected' "$work/a.log"
died() { [ "$(grep -c 'died: Respawning' "$work/a.log")" -ge 2 ]; }
still "it aborts again when it was started again" eventually 60 died
end_at h2 "${daemon[h2]}"
end_at a "${daemon[a]}"
tried "VRRP with an IPv6 address" fails keepalived

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
