#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: Kea | DHCPv4 server on a TAP, client on ib0
# works-with: Kea | DHCPv4 server on ib0
# works-with: Kea | DHCPv6 server on a TAP, client on ib0
# works-with: Kea | DHCPv6 server on ib0
# packages: kea-dhcp4-server kea-dhcp6-server isc-dhcp-client dnsmasq-base systemd
# check.sh: all
#
# Kea's servers run on h1's TAP and on the guest's ib0. The client of a server on the TAP is systemd-networkd in the guest. The client
# of a server on ib0 is Debian's dhclient on h2's TAP. By RFC 4390 the DHCPv4 requests of ib0 have an empty chaddr and a client identifier.
# With raw sockets, Kea reads each frame as an Ethernet frame, so a DHCPv4 server on ib0 receives no request of a client. With UDP sockets,
# it receives requests that a relay agent forwards. The relay agent is dnsmasq on h1.
#
#	h1 10.4.0.1 fd04::1 --- Switch1 --- Switch2 --- h2
#				   |
#				   a 10.4.9.1 (VM)
. "$(dirname "$0")/lib.sh"
linux_lab 2
guest_start a --address 10.4.9.1/16 --address fd04::9:1/64
vm_wait a

kea() { # PLACE 4|6 [SOCKETS]: start Kea's server; its log is $work/PLACE.log
	local subnet=10.4.0.0/16 pool="10.4.1.1 - 10.4.1.50" sockets=${3:+, \"dhcp-socket-type\": \"${3:-}\"}
	[ "$2" = 4 ] || subnet=fd04::/64 pool="fd04::1:1 - fd04::1:50"
	cat >"$work/kea.json" <<-END
		{ "Dhcp$2": {
			"interfaces-config": { "interfaces": [ "$(iface "$1")" ]$sockets },
			"lease-database": { "type": "memfile", "persist": false },
			"subnet$2": [ { "subnet": "$subnet", "pools": [ { "pool": "$pool" } ], "interface": "$(iface "$1")" } ],
			"loggers": [ { "name": "kea-dhcp$2", "severity": "DEBUG", "debuglevel": 50, "output_options": [ { "output": "stdout" } ] } ]
		} }
	END
	at "$1" mkdir -p /run/kea /var/lib/kea
	start_at "$1" "$work/$1.log" env KEA_PIDFILE_DIR=/run/kea KEA_LOCKFILE_DIR=none "kea-dhcp$2" -c "$work/kea.json"
	server=$started
	eventually 30 grep -q "DHCP$2_STARTED" "$work/$1.log"
}
networkd() { # LINE...: run networkd on ib0, with these lines in [Network]
	mkdir -p "$work/net"
	printf '%s\n' '[Match]' Name=ib0 '[Network]' IPv6AcceptRA=no "$@" >"$work/net/ib0.network"
	start_at a "$work/networkd.log" bash "$PWD/tests/interop/linux/guest/networkd.sh" "$work/net"
	client=$started
}
has() { says "$1" g a ip -o addr show dev ib0; } # REGEX: succeeds if an address of ib0 matches
dhclient() { # 4|6: run dhclient on h2's TAP, in the background; its log is $work/dhclient.log
	start_at h2 "$work/dhclient.log" dhclient "-$1" -d -1 -cf /dev/null -lf "$work/dhclient.$1.leases" -pf "$work/dhclient.pid" -sf /bin/true uib0
	client=$started
}

check "Kea serves DHCPv4 on h1's TAP" kea h1 4
networkd DHCP=ipv4
check "ib0 has an address of its pool" eventually 60 has ' 10\.4\.1\.[0-9]+/16 .*dynamic'
check "Kea knows ib0 by its client identifier of RFC 4361" grep -q 'cid=\[ff:.*DHCPREQUEST' "$work/h1.log"
end_at a "$client"
end_at h1 "$server"
tried "DHCPv4 server on a TAP, client on ib0" works

g a "ip addr flush dev ib0 scope global; ip addr add 10.4.9.1/16 dev ib0; ip addr add fd04::9:1/64 dev ib0"
eventually 20 not_tentative a
heard() { grep -q DHCP4_BUFFER_RECEIVED "$work/a.log"; }
check "Kea starts on ib0 with raw sockets" kea a 4 raw
dhclient 4
check "h2's TAP asks twice" eventually 60 eval '[ "$(grep -c DHCPDISCOVER "$work/dhclient.log")" -ge 2 ]'
still "Kea hears nothing of it" not heard
end_at a "$server"
check "Kea starts on ib0 with UDP sockets" kea a 4 udp
start_at h1 "$work/relay.log" dnsmasq -k -C /dev/null -p 0 --dhcp-relay=10.4.0.1,10.4.9.1 -i uib0 --log-facility=-
relay=$started
check "h2 has a lease through the relay agent on h1" eventually 90 grep -q '^bound to 10\.4\.1\.' "$work/dhclient.log"
check "Kea gave it" grep -q 'DHCP4_LEASE_ALLOC.* 10\.4\.1\.' "$work/a.log"
end_at h2 "$client"
end_at h1 "$relay"
end_at a "$server"
tried "DHCPv4 server on ib0" 'works with `"dhcp-socket-type": "udp"` and a relay agent' Kea

check "Kea serves DHCPv6 on ib0" kea a 6
dhclient 6
check "h2's TAP has a lease" eventually 60 grep -q 'Bound to lease' "$work/dhclient.log"
check "Kea gave it" grep -q 'DHCP6_LEASE_ALLOC.* fd04::1:' "$work/a.log"
end_at h2 "$client"
end_at a "$server"
tried "DHCPv6 server on ib0" works

check "Kea serves DHCPv6 on h1's TAP" kea h1 6
networkd DHCP=ipv6 '[DHCPv6]' WithoutRA=solicit
check "ib0 has an address of its pool" eventually 60 has ' fd04::1:[0-9a-f]+/128 .*dynamic'
end_at a "$client"
end_at h1 "$server"
tried "DHCPv6 server on a TAP, client on ib0" works

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
