#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# Programs that administer interfaces work on a device of `netdev = ibtap` as on the kernel's ib0. Tested are
# NetworkManager, DHCP by systemd-networkd, partitions, and network namespaces.
#
# 	h1 (dhcpd) --- Switch1 --- Switch2 --- h2		uib1 of h1, ib1 of a: another partition
# 	                 |
# 	                 a (VM: uipoib, ibtap)
. "$(dirname "$0")/lib.sh"
need dhcpd nmcli NetworkManager dbus-daemon /lib/systemd/systemd-networkd
cp "$(command -v dhcpd)" "$work"/
printf '%s\n' 'Default=0x7fff, ipoib : ALL=full;' 'Lab=0x8001, ipoib : ALL=full;' >"$work/partitions.conf"
linux_topo 2 >"$work/lab.topo"
{
	conf_hosts 2 "partitions = partitions.conf"
	conf_iface uib1 1 "pkey = 0x8001" "address = 10.5.0.1/16" "address = fd05::1/64"
} >"$work/lab.conf"
lab_up
vm_start a --share "$work"
vm_wait a
declare -A ip4=([h1]=10.4.0.1 [h2]=10.4.0.2)

# --- NetworkManager, first on the kernel's own ib0, then below on the device of ibtap

mkdir "$work/nm"
cat >"$work/nm/one.nmconnection" <<-END
	[connection]
	id=one
	uuid=6b1c29e0-7a3b-4a0f-8e1d-0123456789ab
	type=infiniband
	interface-name=ib0
	[infiniband]
	transport-mode=datagram
	[ipv4]
	method=manual
	address1=10.4.9.7/16
	[ipv6]
	method=link-local
END
nm_up() {
	g a nmcli connection up one && says '^ib0:infiniband:connected:one' g a nmcli -t -f DEVICE,TYPE,STATE,CONNECTION device
}
network_manager() { # WHAT: tests NetworkManager; WHAT is the kind of device, for the names of the checks
	start_at a "$work/nm.log" bash "$PWD/tests/interop/linux/guest/networkmanager.sh" "$work/nm"
	check "$1: NetworkManager takes ib0 for an InfiniBand device" eventually 60 says '^ib0:infiniband$' g a nmcli -t -f DEVICE,TYPE device
	check "$1: nmcli brings a connection up on it" eventually 30 nm_up
	check "$1: h1 reaches the address of the connection" eventually 20 reach h1 10.4.9.7
	check "$1: nmcli ends the connection" g a nmcli connection down one
	no_address() { equal "" "$(g a ip -4 -o addr show dev ib0 to 10.4.9.7 || echo failed)"; }
	check "$1: and the address is gone" eventually 20 no_address
	check "$1: nmcli begins it again" g a nmcli connection up one
	check "$1: h1 reaches it again" eventually 20 reach h1 10.4.9.7
	end_at a "$started"
	g a 'ip link set ib0 up; ip addr flush dev ib0 scope global'
}
network_manager "the kernel's"

check "uipoib takes the place of ib_ipoib, with interfaces in two partitions" vm_ibtap a \
	'[interface ib1]' "$(vm_port a)" 'netdev = ibtap' 'pkey = 0x8001' 'address = 10.5.0.9/16' 'address = fd05::9/64'

# --- partitions

check "ib1 is in another partition: its broadcast address says so" says 'brd 00:ff:ff:ff:ff:12:40:1b:80:01:' g a ip link show ib1
for ip in 10.5.0.1 fd05::1; do check "a reaches $ip there" reach a $ip; done
check "h1 reaches a there" reach h1 10.5.0.9
other_partition() { # succeeds if an address in ib0's partition is not reached by ib1
	g a 'ip route add 10.4.0.2/32 dev ib1 && ! ping -n -q -c 1 -W 2 10.4.0.2; s=$?; ip route del 10.4.0.2/32; exit $s'
}
check "R3: h2, which is not in it, does not answer there" other_partition

# --- DHCP by systemd-networkd

cat >"$work/dhcpd.conf" <<-E
	default-lease-time 120; max-lease-time 120; min-lease-time 120; ping-check false; echo-client-id on; authoritative;
	subnet 10.4.0.0 netmask 255.255.0.0 { range 10.4.1.1 10.4.1.50; }
E
touch "$work/dhcpd.leases"
bx h1 "$work/dhcpd" -f -d -4 -user root -group root -cf "$work/dhcpd.conf" -lf "$work/dhcpd.leases" -pf "$work/dhcpd.pid" uib0 \
	>"$work/dhcpd.log" 2>&1
check "dhcpd starts on h1's TAP" eventually 10 grep -q 'Server starting service' "$work/dhcpd.log"
mkdir "$work/net"
printf '[Match]\nName=ib0\n[Network]\nDHCP=ipv4\nIPv6AcceptRA=no\n' >"$work/net/ib0.network"
start_at a "$work/networkd.log" env SYSTEMD_LOG_LEVEL=debug bash "$PWD/tests/interop/linux/guest/networkd.sh" "$work/net"
leased() { g a ip -4 -o addr show dev ib0 | grep -oE '10\.4\.1\.[0-9]+' | head -1; }
has_lease() { [ -n "$(leased)" ] || { tail -20 "$work/networkd.log"; return 1; }; }
check "D4: systemd-networkd gets ib0 a lease" eventually 60 has_lease
check "h1 reaches it there" reach h1 "$(leased)"
check "D2: dhcpd has an identifier of RFC 4361" grep -q 'uid "\\377' "$work/dhcpd.leases"
end_at a "$started"
g a ip addr flush dev ib0 scope global

# --- NetworkManager

network_manager ibtap
g a ip addr add 10.4.9.1/16 dev ib0

# --- network namespaces

away() { g a 'ip netns add blue && ip link set ib0 netns blue' && eventually 20 says 'administratively down' g a "$UIPOIB" -n a link show; }
check "ib0 is moved to another namespace: the link goes down" away
back() {
	g a 'ip -n blue link set ib0 netns 1 && ip link set ib0 up && ip addr add 10.4.9.1/16 dev ib0' &&
		eventually 60 g a ping -n -q -c 1 -W 5 10.4.0.1
}
check "it comes back: the link is up again" back
g a "kill ${vm_daemon[a]}; while kill -0 ${vm_daemon[a]} 2>/dev/null; do sleep 0.1; done; ip netns del blue"
check "uipoib has ended: no device is left" equal "" "$(g a ip -o link show type ibtap || echo failed)"
named() { # starts uipoib with a host that has a named namespace
	sed 's/^\[interface ib0\]/[interface ib0@h]\nnetns = red\naddress = 10.4.9.1\/16/' "$work/a.conf" | sed '/^\[interface ib1\]/,$d' >"$work/red.conf"
	start_at a "$work/red.log" "$UIPOIB" run -c "$work/red.conf" -n red &&
		eventually 60 g a ip netns exec red ping -n -q -c 1 -W 5 10.4.0.1
}
g a ip netns add red
check "a device in a namespace with a name" named
# If another program changes the alias of the device, the helper still finds the device.
again() { g a 'ip -n red link set ib0 alias other && ip netns del red && sleep 1 && ip netns add red' && eventually 60 g a ip netns exec red ping -n -q -c 1 -W 5 10.4.0.1; }
check "the namespace is deleted and made again: the device is in it, with its address" again
end_at a "$started"
check "the module can be removed" eventually 20 g a rmmod ibtap
check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
