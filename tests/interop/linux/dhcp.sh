#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# DHCP and router advertisements between Linux's own ib0 and uipoib hosts. First the server is on a uipoib host and the
# client is on ib0, and then the server is on ib0.
#
#	h1	h2			a: ib0
#	 |	 |			    |
#	Switch1 - Switch2		Switch1		uib1 of h1 and h2, ib0.8001: another partition, dhcp = raw
#
# Debian's dhclient and dhcpd (isc-dhcp) do not know hardware type 32 (InfiniBand) and refuse to start on such an
# interface. So on ib0 the client is systemd-networkd, and the server is dnsmasq. dhcpd in the VM gets the messages from a
# relay agent on ib0. On the TAPs of uipoib, which look like Ethernet, the ISC programs run.
. "$(dirname "$0")/lib.sh"
. tests/system/dhcp/client.sh
need dhcpd dnsmasq radvd rdisc6 tshark python3 /lib/systemd/systemd-networkd
cp "$(command -v dhcpd)" "$work"/
linux_topo 2 >"$work/lab.topo"
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Raw=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
{
	printf '[fabric lab]\ntopology = lab.topo\npartitions = partitions.conf\n'
	conf_iface uib0 1 "address = 10.4.0.1/16" "address = fd05::1/64"
	conf_iface uib0 2
	conf_iface uib1 1 "pkey = 0x8001" "dhcp = raw" "address = 10.5.0.1/16"
	conf_iface uib1 2 "pkey = 0x8001" "dhcp = raw"
} >"$work/lab.conf"
lab_up
vm_start a --share "$work"
vm_wait a
port=$(u -j fabric udp show | jq -r '.udp[0].port')
lid=$((16#$(g a cat /sys/class/infiniband/uib0/ports/1/lid | sed 's/^0x//')))
check "a capture at the Linux end" u capture start "$work/vm.pcapng" link "$port"
check "a second partition there" g a 'ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 && ip link set ib0.8001 up'

counter() { u -j -d stats show dev "$1" | jq "[.stats[] | select(.counter == \"$2\") | .value] | add"; }
says() { grep -aqE "$2" "$1" || { tail -30 "$1"; return 1; }; }
count() { grep -acE "$2" "$1"; }
more() { [ "$(count "$1" "$2")" -gt "$3" ] || { tail -30 "$1"; return 1; }; }
address() { at "$1" ip -4 -o addr show dev "$2" | awk '$4 ~ /^10\.[45]\.[1-9]/ { split($4, a, "/"); print a[1]; exit }'; }
differ() { [ -n "$1" ] && [ -n "$2" ] && [ "$1" != "$2" ] || { echo "$1, $2"; return 1; }; }
ping_from() { reach "$@"; }

# --- isc-dhcp on an ib0 gives up, because SIOCGIFHWADDR reports type 32 (ARPHRD_INFINIBAND)

isc_knows_no_ib0() { # PROGRAM ARG...: succeeds if the program refuses ib0 because of its type
	local out
	out=$(g a "${*@Q}" 2>&1) && return 1
	grep -F 'Unsupported device type 32 for "ib0"' <<<"$out" || { echo "$out"; return 1; }
}
printf 'subnet 10.4.0.0 netmask 255.255.0.0 { }\n' >"$work/none.conf"
: >"$work/none.leases"
g a ip addr add 10.4.9.1/16 dev ib0
check "Debian's dhclient begins on no ib0" isc_knows_no_ib0 "$work/dhclient" -4 -1 -d -sf /bin/true -lf /dev/null ib0
check "nor does its dhcpd" isc_knows_no_ib0 "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/none.conf" \
	-lf "$work/none.leases" -pf "$work/none.pid" ib0
printf 'subnet6 fd04::/64 { }\n' >"$work/none6.conf"
g a ip addr add fd04::901/64 dev ib0 nodad
check "nor for IPv6: dhclient" isc_knows_no_ib0 "$work/dhclient" -6 -1 -d -sf /bin/true -lf /dev/null ib0
check "nor for IPv6: dhcpd" isc_knows_no_ib0 "$work/dhcpd" -6 -f -d -user root -group root -cf "$work/none6.conf" \
	-lf "$work/none.leases" -pf "$work/none6.pid" ib0
g a 'ip addr del 10.4.9.1/16 dev ib0; ip addr del fd04::901/64 dev ib0'

# --- dhcpd on h1's TAPs; systemd-networkd on ib0 and ib0.8001, dhclient on h2's TAP

dhcpd_starts() {
	cat >"$work/dhcpd.conf" <<-E
		default-lease-time 120; max-lease-time 120; min-lease-time 120; dhcp-cache-threshold 0;
		option dhcp-renewal-time 3; option dhcp-rebinding-time 11;
		ping-check false; echo-client-id on; authoritative;
		subnet 10.4.0.0 netmask 255.255.0.0 { range 10.4.1.1 10.4.1.50; }
		subnet 10.5.0.0 netmask 255.255.0.0 { range 10.5.1.1 10.5.1.50; }
	E
	touch "$work/dhcpd.leases"
	: >"$work/dhcpd.log"
	bx h1 "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/dhcpd.conf" -lf "$work/dhcpd.leases" \
		-pf "$work/dhcpd.pid" uib0 uib1 >>"$work/dhcpd.log" 2>&1
	dhcpd=$!
	eventually 10 says "$work/dhcpd.log" 'Server starting service'
}
networkd_starts() { # NETWORK-FILE...: texts, one for each interface
	mkdir -p "$work/net"
	rm -f "$work/net"/*
	local i=0 text
	for text; do
		printf '%b' "$text" >"$work/net/$((i++)).network"
	done
	start_at a "$work/networkd.log" env SYSTEMD_LOG_LEVEL=debug bash "$PWD/tests/interop/linux/guest/networkd.sh" "$work/net"
	networkd=$started
}
networkd_ends() { end_at a "$networkd"; }
bound4() { says "$work/networkd.log" "^$1: DHCPv4 address 10\.$2\." || { tail -20 "$work/dhcpd.log"; return 1; }; }
v4='[Network]\nDHCP=ipv4\nIPv6AcceptRA=no\n[DHCPv4]\nSendRelease=yes\n'

check "dhcpd starts on h1's TAPs" dhcpd_starts
networkd_starts "[Match]\nName=ib0\n$v4" "[Match]\nName=ib0.8001\n$v4"
client h2 '' "$UIPOIB" exec h2
check "ib0 gets a lease" eventually 30 bound4 ib0 4
check "h2's TAP gets one at the same time" eventually 20 event h2 BOUND
has_address() { [ -n "$(address "$@")" ]; } # callers repeat this, because networkd logs the address before it gives it to the kernel
check "which it has then" eventually 20 has_address a ib0
ib0=$(address a ib0)
check "they are different" differ "$ib0" "$(address h2 uib0)"
check "h1 reaches ib0 there" ping_from h1 "$ib0"
check "ib0 reaches h2" ping_from a "$(address h2 uib0)"
check "D4: dhcpd saw a token for ib0, and its identifier" eval 'grep -q "DHCPACK on $ib0 to 06:" "$work/dhcpd.log" &&
	grep -A 10 "^lease $ib0 " "$work/dhcpd.leases" | grep -q "uid \"\\\\377"'
check "ib0.8001 gets a lease from a raw end, as what it is" eventually 30 bound4 ib0.8001 5
check "dhcpd has it as InfiniBand" grep -q 'hardware infiniband' "$work/dhcpd.leases"

from_udp='^ib0: DHCPv4 client: Received message from UDP socket'
check "ib0 renews, by unicast" eventually 20 says "$work/networkd.log" "$from_udp"
check "h2 renews, too" eventually 20 event h2 RENEW
# If dhcpd ends between a request to renew and its answer, the next request of the client is a request to rebind.
asks='^ib0: DHCPv4 client: REQUEST \((renewing|rebinding)\)'
dhcpd_is_away() {
	end_at h1 "$dhcpd"
	renewals=$(count "$work/networkd.log" "$asks")
}
check "dhcpd ends" dhcpd_is_away
check "ib0's renewal is lost" eventually 30 more "$work/networkd.log" "$asks" "$renewals"
check "dhcpd is back" dhcpd_starts
acks=$(count "$work/networkd.log" '^ib0: DHCPv4 client: ACK')
check "ib0 rebinds" eventually 30 says "$work/networkd.log" '^ib0: DHCPv4 client: REQUEST \(rebinding\)'
# If the first request was lost, the client asks again after 60 s.
check "and has its lease again" eventually 90 more "$work/networkd.log" '^ib0: DHCPv4 client: ACK' "$acks"
check "with the address that it had" eventually 10 eval 'equal "$ib0" "$(address a ib0)"'
check "systemd-networkd ends, and says so to dhcpd" networkd_ends
check "ib0's lease is released" eventually 10 says "$work/dhcpd.log" "DHCPRELEASE of $ib0 "
check "h2's, too" release h2 "$UIPOIB" exec h2
end_at h1 "$dhcpd"

# --- dnsmasq on ib0; dhclient on the TAPs of h1 and h2

dnsmasq_starts() { # LOG PLACE OPTION...: start dnsmasq at PLACE; $dnsmasq is its pid
	local log=$1 place=$2
	shift 2
	start_at "$place" "$log" dnsmasq -d -C /dev/null --port=0 --log-dhcp --user=root --bind-dynamic --no-ping \
		--dhcp-authoritative "$@"
	dnsmasq=$started
	eventually 10 says "$log" 'sockets bound|DHCP relay from'
}
on_ib0() {
	dnsmasq_starts "$work/dhcpd-ib0.log" a --interface=ib0 --dhcp-leasefile="$work/ib0.leases" \
		--dhcp-range=10.4.2.1,10.4.2.50,2m --dhcp-option=option:T1,3 --dhcp-option=option:T2,8
}
g a 'ip addr add 10.4.9.1/16 dev ib0; ip addr add 10.5.9.1/16 dev ib0.8001'
check "dnsmasq starts on ib0" on_ib0
client c1 '' "$UIPOIB" exec h1
client c2 'send dhcp-client-identifier = hardware;' "$UIPOIB" exec h2
check "h1 gets a lease from ib0" eventually 30 event c1 BOUND
check "so does h2, with an identifier of Ethernet" eventually 30 event c2 BOUND
c1=$(address h1 uib0) c2=$(address h2 uib0)
check "they are different" differ "$c1" "$c2"
check "ib0 reaches both" eval 'ping_from a "$c1" && ping_from a "$c2"'
known_by_id() { equal 2 "$(grep -cE " ($c1|$c2) .* ff(:[0-9a-f]{2}){4}:00:03:00:01(:[0-9a-f]{2}){6}$" "$work/ib0.leases")"; }
check "D2: dnsmasq knows each by an identifier of RFC 4361" eventually 10 known_by_id
check "h1 renews" eventually 20 event c1 "RENEW $c1"
check "h2 renews" eventually 20 event c2 "RENEW $c2"
check "dnsmasq ends" end_at a "$dnsmasq"
asked=$(count "$work/c1.log" 'DHCPREQUEST .* to 255\.255\.255\.255')
check "h1 asks everybody" eventually 30 more "$work/c1.log" 'DHCPREQUEST .* to 255\.255\.255\.255' "$asked"
renewals=$(count "$work/c1.events" '^RENEW') # dhclient calls its script with RENEW when it rebinds, too
check "dnsmasq is back" on_ib0
check "h1 rebinds" eventually 60 more "$work/c1.events" "^RENEW $c1" "$renewals"
check "h1 releases" release c1 "$UIPOIB" exec h1
check "dnsmasq hears it" eventually 10 says "$work/dhcpd-ib0.log" "DHCPRELEASE\(ib0\) $c1 "
check "h2 releases" release c2 "$UIPOIB" exec h2
end_at a "$dnsmasq"

# --- dhcpd in the VM gets the messages from a relay agent on ib0

dhcpd_behind_relay() {
	cat >"$work/relayed.conf" <<-E
		default-lease-time 120; max-lease-time 120; ping-check false; echo-client-id on; authoritative;
		subnet 10.6.0.0 netmask 255.255.255.0 { }
		subnet 10.4.0.0 netmask 255.255.0.0 { range 10.4.3.1 10.4.3.50; }
	E
	: >"$work/relayed.leases"
	g a 'ip netns add srv && ip link add v0 type veth peer name v1 netns srv && ip addr add 10.6.0.1/24 dev v0 &&
		ip link set v0 up && ip -n srv addr add 10.6.0.2/24 dev v1 && ip -n srv link set v1 up &&
		ip -n srv route add default via 10.6.0.1' || return 1
	start_at a "$work/dhcpd-relayed.log" ip netns exec srv "$work/dhcpd" -f -d -4 -user root -group root \
		-cf "$work/relayed.conf" -lf "$work/relayed.leases" -pf "$work/relayed.pid" v1
	eventually 20 says "$work/dhcpd-relayed.log" 'Server starting service' &&
		dnsmasq_starts "$work/relay.log" a --interface=ib0 --interface=v0 --dhcp-relay=10.4.9.1,10.6.0.2
}
check "dhcpd starts there, behind a relay agent" dhcpd_behind_relay
client r2 '' "$UIPOIB" exec h2
check "h2 gets a lease from it" eventually 30 event r2 'BOUND 10.4.3.'
check "dhcpd has it as InfiniBand, with our identifier" eval 'grep -q "hardware infiniband" "$work/relayed.leases" &&
	grep -q "uid \"\\\\377" "$work/relayed.leases"'
check "and it works" ping_from h2 10.4.9.1
end_at a "$dnsmasq"

# --- the mode "raw": DHCP messages on the link have the format of Ethernet. The client's hardware address in them is a
# MAC, so a DHCP server on ib0.8001 can answer by broadcast only

check "dnsmasq starts on ib0.8001" dnsmasq_starts "$work/dhcpd-raw.log" a --interface=ib0.8001 \
	--dhcp-leasefile="$work/raw.leases" --dhcp-range=10.5.2.1,10.5.2.50,2m --dhcp-broadcast
dev=uib1 client raw '' "$UIPOIB" exec h2
check "raw: h2 gets a lease from it" eventually 30 event raw 'BOUND 10.5.2.'
check "raw: and it works" ping_from h2 10.5.9.1
check "raw: nothing was rewritten" equal "0 0 0 0" "$(counter uib1@h1 dhcp_rx) $(counter uib1@h1 dhcp_tx) \
$(counter uib1@h2 dhcp_rx) $(counter uib1@h2 dhcp_tx)"
end_at a "$dnsmasq"
check "nothing was dropped as DHCP" equal "0 0" "$(for h in 1 2; do
	echo $(($(counter uib0@h$h drop_tap_dhcp) + $(counter uib0@h$h drop_link_dhcp)))
done | xargs)"

# --- the DHCP messages on the link

check "the capture is complete" u capture stop "$(u -j capture show | jq '.capture[-1].id')"
check "D1 D2 D3: on the wire it is DHCP as RFC 4390 has it" python3 tests/interop/linux/dhcp_wire.py "$work/vm.pcapng" "$lid"
sed 's/^/# /' "$work/check.out"

# --- IPv6: router advertisements and DHCPv6, with the router on either side

ll_of() { at "$1" ip -6 -o addr show dev "$(iface "$1")" scope link | awk '{ sub("/.*", "", $4); print $4 }'; }
slaac() { # PLACE PREFIX: succeeds if PLACE has an address of the prefix, with the interface identifier of its link-local address, and a default route
	local id
	id=$(ll_of "$1" | sed 's/^fe80:://')
	at "$1" ip -6 -o addr show dev "$(iface "$1")" scope global -tentative | grep -F "$2$id/64" &&
		at "$1" ip -6 route show default | grep -F "via $(ll_of "$3") dev $(iface "$1")" || { at "$1" ip -6 addr; return 1; }
}
radvd_starts() { # PLACE PREFIX: start radvd at PLACE, which advertises PREFIX; $radvd is its pid
	local dev
	dev=$(iface "$1")
	printf 'interface %s { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4; prefix %s/64 { }; };\n' \
		"$dev" "$2" >"$work/radvd-$1.conf"
	at "$1" sysctl -qw "net.ipv6.conf.$dev.forwarding=1" || return 1
	start_at "$1" "$work/radvd-$1.log" radvd -n -m stderr -C "$work/radvd-$1.conf" -p "$work/radvd-$1.pid"
	radvd=$started
}
hw=$(u -j -d link show dev uib0@h1 | jq -r '.link[0].lladdr')
solicit() { at "$1" rdisc6 -1 -w 5000 "$(iface "$1")"; }
ra_names_h1() { solicit a | tr -d : | grep -i "0000${hw//[: ]/}" | grep -q 'Source link-layer address'; }
g a 'sysctl -qw net.ipv6.conf.ib0.accept_ra=1' # networkd had switched the kernel's own handling off
check "radvd on h1's TAP" radvd_starts h1 fd05::
check "R57 R58: its address in an advertisement, as Linux gets it" eventually 20 ra_names_h1
check "ib0 has an address of its prefix, and the router" eventually 20 slaac a fd05:: h1
check "ib0 reaches h1 by it" ping_from a fd05::1
end_at h1 "$radvd"

check "radvd on ib0" radvd_starts a fd06::
check "h2 has an address of its prefix, and the router" eventually 30 slaac h2 fd06:: a
g a ip addr add fd06::1/64 dev ib0 nodad
check "h2 reaches ib0 by it" ping_from h2 fd06::1
end_at a "$radvd"

# dnsmasq omits the two zero octets that should precede the 20-octet address in its option
# (doc/fidelity.md).
g a ip addr add fd07::1/64 dev ib0 nodad
check "dnsmasq on ib0, with DHCPv6 and advertisements" dnsmasq_starts "$work/dhcpd-v6.log" a --interface=ib0 --enable-ra \
	--dhcp-leasefile="$work/v6.leases" --dhcp-range=fd07::100,fd07::1ff,64,2m
check "h2 is told of a router" eventually 20 solicit h2
no_such_port() { u -j neigh show dev uib0@h2 | jq -e 'all(.neigh[]; .gid | startswith("fe80::"))'; }
check "R58: and takes it for who it is" no_such_port
check "h2 reaches it after that" ping_from h2 fd07::1
lease6() {
	bx h2 "$work/dhclient" -6 -1 -d -v -D LL -lf "$work/c6.leases" -pf "$work/c6.pid" -sf /bin/true uib0 >"$work/c6.log" 2>&1
	eventually 20 says "$work/c6.log" 'Bound to lease' && says "$work/c6.leases" 'iaaddr fd07::1'
}
check "h2 gets an IPv6 lease from ib0" lease6
end_at a "$dnsmasq"

g a 'ip -6 addr flush dev ib0 scope global; sysctl -qw net.ipv6.conf.ib0.forwarding=0'
x h1 ip addr add fd08::1/64 dev uib0 nodad
check "dnsmasq on h1's TAP" dnsmasq_starts "$work/dhcpd-h1.log" h1 --interface=uib0 --enable-ra \
	--dhcp-leasefile="$work/h1.leases" --dhcp-range=fd08::100,fd08::1ff,64,2m
networkd_starts "[Match]\nName=ib0\n[Network]\nDHCP=ipv6\n[DHCPv6]\nDUIDType=link-layer\n[IPv6AcceptRA]\nDHCPv6Client=always\n"
check "ib0 gets an IPv6 lease from h1" eventually 40 says "$work/networkd.log" '^ib0: DHCPv6 address fd08::1'
check "by its DUID, which has its 20 octets" says "$work/dhcpd-h1.log" "00:03:00:20:$(g a cat /sys/class/net/ib0/address)"
check "ib0 reaches h1 by it" ping_from a fd08::1
networkd_ends
end_at h1 "$dnsmasq"

check "the kernel's log is clean" vm_log_clean a
check "the VM ends" vm_stop a
finish
