#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# works-with: vishvananda/netlink | an IPoIB interface in a partition
# works-with: ipoib-cni | its netlink calls, made by a program of ours
# packages: golang-github-vishvananda-netlink-dev golang-go
# check.sh: all
#
# NVIDIA's ipoib-cni gives a container its interface by calls of the Go library vishvananda/netlink. A program of ours (child.go) makes the
# same calls. It reads the mode and the P_Key of ib0, and adds an interface with this mode and with umcast. The new interface has the P_Key
# of ib0, or another one that an argument names. The program moves the interface to the container's namespace, renames it there, and sets it
# up. With IPOIB_CNI=FILE the script also runs the plugin itself. Debian has no package of the plugin.
#
#	h1 10.4.0.1, 10.5.0.1 in another partition --- Switch1 --- a (VM)
. "$(dirname "$0")/lib.sh"
partition_lab 1
check "the program is built with Debian's library" at h1 env HOME=/tmp GO111MODULE=off CGO_ENABLED=0 GOPATH=/usr/share/gocode GOCACHE="$work/go" \
	go build -o "$work/child" "$PWD/tests/third-party/netlink/child.go"
guest_start a ${IPOIB_CNI:+--share "$(dirname "$(realpath "$IPOIB_CNI")")"}
vm_wait a

g a ip netns add pod
check "the library makes an interface in partition 0x8001, and moves it" g a "$work/child" ib0 pod net1 0x0001
shown() { # REGEX: succeeds if the properties of net1 match
	says "$1" g a ip -n pod -d link show net1
}
check "the interface has the P_Key, the mode and umcast" shown 'ipoib pkey +0x8001 mode +datagram umcast +0001'
g a ip -n pod addr add 10.5.9.1/16 dev net1
check "h1 reaches it in this partition" reach h1 10.5.9.1
check "the library reads what it has made" says 'pkey 0x8001 mode datagram' g a ip netns exec pod "$work/child" net1
check "the interface is removed" g a ip -n pod link del net1
tried "an IPoIB interface in a partition" works

check "the calls of ipoib-cni: an interface with the P_Key of ib0" g a "$work/child" ib0 pod net1
check "the interface has the P_Key, the mode and umcast" shown 'ipoib pkey +0xffff mode +datagram umcast +0001'
g a ip -n pod addr add 10.4.9.1/16 dev net1
check "h1 reaches it" reach h1 10.4.9.1
check "it reaches h1" eventually 20 g a ip netns exec pod ping -n -q -c 2 -i 0.2 -W 10 10.4.0.1
check "the namespace is deleted" g a ip netns del pod
if [ -n "${IPOIB_CNI:-}" ]; then
	plugin() { # ADD|DEL: run the plugin itself
		g a "CNI_COMMAND=$1 CNI_CONTAINERID=one CNI_NETNS=/run/netns/two CNI_IFNAME=net1 CNI_PATH=/ $(realpath "$IPOIB_CNI") <<<'{\"cniVersion\":\"0.3.1\",\"name\":\"ib\",\"type\":\"ipoib\",\"master\":\"ib0\",\"ipam\":{}}'"
	}
	g a ip netns add two
	check "the plugin: ADD" says '"name": "net1"' plugin ADD
	g a ip -n two addr add 10.4.9.2/16 dev net1
	check "the plugin: h1 reaches the container" reach h1 10.4.9.2
	check "the plugin: DEL" plugin DEL
fi
version=06d8d2d # the commit of the plugin whose calls child.go makes
tried "its netlink calls, made by a program of ours" works

check "the kernel's log" vm_log_clean a
check "the VM ends" vm_stop a
finish
