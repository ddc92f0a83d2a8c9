#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# packages: ifupdown2 netplan.io cloud-init
# root: second
# works-with: ifupdown2 | ib0
# works-with: ifupdown2 | an interface in a partition
# works-with: netplan | ib0, by systemd-networkd
# works-with: netplan | a partition, as a VLAN of ib0
# works-with: cloud-init | network config of version 2, by netplan
# works-with: cloud-init | network config of version 1 with type infiniband, by netplan
#
# Programs that configure ib0 from a description of the network, in a virtual machine booted by systemd.
#
#	h1 10.4.0.1 fd04::1, and 10.5.0.1 in another partition --- Switch1 --- a (VM)
vm_patience=240 # systemd boots, too
. "$(dirname "$0")/lib.sh"
partition_lab 2
guest_start a --systemd --memory 768
vm_wait a
no_address() { says '^$' g a ip -o addr show dev ib0 scope global; }

# --- ifupdown2

cat >"$work/interfaces" <<'END'
iface ib0
	address 10.4.9.1/16
	address fd04::9:1/64
	mtu 2000

iface ib0.8001
	address 10.5.9.1/16
END
check "ifup configures ib0" g a "ip link set ib0 down && mkdir -p /etc/network && cp $work/interfaces /etc/network/interfaces && ifup ib0"
check "h1 reaches its IPv4 address" reach h1 10.4.9.1
check "h1 reaches its IPv6 address" reach h1 fd04::9:1
check "the MTU is that of the file" equal 2000 "$(g a cat /sys/class/net/ib0/mtu)"
check "ifquery finds ib0 as the file says" g a ifquery --check ib0
check "ifdown removes the addresses" g a ifdown ib0
check "they are gone" no_address
check "ifup sets them again" g a ifup ib0
check "h1 reaches ib0 again" reach h1 10.4.9.1
tried "ib0" works
g a ifup ib0.8001
still "ifup does not make an interface in a partition" not at a ip link show ib0.8001
check "ifup configures one that exists" g a 'ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 && ifup ib0.8001'
check "h1 reaches its address in the partition" reach h1 10.5.9.1
tried "an interface in a partition" "works if the interface exists" ifupdown2
g a 'ip link del ib0.8001; ifdown ib0; rm /etc/network/interfaces'

# --- netplan

version=$(upstream netplan.io)
cat >"$work/ib.yaml" <<END
network:
  version: 2
  renderer: networkd
  ethernets:
    ib0:
      match: { macaddress: "$(g a cat /sys/class/net/ib0/address)" }
      addresses: [10.4.9.2/16, "fd04::9:2/64"]
      mtu: 2000
      infiniband-mode: datagram
END
check "netplan applies a file for ib0, which has its address of 20 octets" g a "install -m 600 -D $work/ib.yaml /etc/netplan/ib.yaml && netplan apply"
check "h1 reaches its IPv4 address" reach h1 10.4.9.2
check "h1 reaches its IPv6 address" reach h1 fd04::9:2
check "the MTU is that of the file" equal 2000 "$(g a cat /sys/class/net/ib0/mtu)"
tried "ib0, by systemd-networkd" works
printf '%s\n' '  vlans:' '    ib0.8001: { id: 1, link: ib0 }' >>"$work/ib.yaml"
still "netplan has an interface in a partition for a VLAN" says '^Kind=vlan' \
	g a "install -m 600 $work/ib.yaml /etc/netplan/ib.yaml && netplan generate && cat /run/systemd/network/*ib0.8001.netdev"
tried "a partition, as a VLAN of ib0" fails netplan

# --- cloud-init, as at boot: it writes netplan's file before networkd starts

version=$(upstream cloud-init)
mkdir "$work/seed"
echo '#cloud-config' >"$work/seed/user-data"
printf '%s\n' 'datasource_list: [NoCloud]' 'system_info: { network: { renderers: [netplan] } }' >"$work/cloud.cfg"
starts() { # run cloud-init with the network-config that is on standard input
	cat >"$work/seed/network-config"
	echo "instance-id: $RANDOM" >"$work/seed/meta-data"
	g a "systemctl stop systemd-networkd.socket systemd-networkd; rm -rf /etc/netplan/* /run/systemd/network; ip addr flush dev ib0 scope global
		cloud-init clean && mkdir -p /var/lib/cloud/seed/nocloud && cp $work/seed/* /var/lib/cloud/seed/nocloud/ &&
		cp $work/cloud.cfg /etc/cloud/cloud.cfg.d/99_test.cfg && cloud-init init --local && systemctl start systemd-networkd"
}
check "cloud-init starts with a network config of version 2" starts <<END
version: 2
ethernets:
  one:
    match: { macaddress: "$(g a cat /sys/class/net/ib0/address)" }
    set-name: ib0
    addresses: [10.4.9.3/16]
END
check "h1 reaches the address" reach h1 10.4.9.3
tried "network config of version 2, by netplan" works
check "cloud-init starts with one of version 1, with type infiniband" starts <<END
version: 1
config:
  - type: infiniband
    name: ib0
    subnets: [ { type: static, address: 10.4.9.4/16 } ]
END
check "cloud-init knows the data source" says 'DataSourceNoCloud' at a cat /run/cloud-init/result.json /var/lib/cloud/instance/datasource
still "it has written a file for netplan without the interface" refuse 1 '' at a grep -c ib0 /etc/netplan/50-cloud-init.yaml
still "ib0 has no address" no_address
tried "network config of version 1 with type infiniband, by netplan" fails cloud-init

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
