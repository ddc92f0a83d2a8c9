#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Tests the key ip6-iid, by which interfaces get stable opaque identifiers (RFC 7217, RFC 8064), or identifiers made of the LID
# (RFC 4391 section 8). h1 and h2 have stable identifiers, h3 has identifiers made of its LID; uib1 of h1 is on another
# partition. The namespace of h2 has a name.
. "$(dirname "$0")/lib.sh"
need ping ip python3
inject=$TOOLS/inject
space=iid-$$
secret=5d3a91c2f0e84b76a1d4c3b2e5f60718
topo_ring 4 2 >"$work/lab.topo"
cat >"$work/partitions.conf" <<-'END'
	Default=0x7fff, ipoib : ALL=full, SELF=full ;
	blue=0x8001, ipoib : ALL=full ;
END
conf() { # KEY...: print the configuration, with these keys for the interfaces that have stable identifiers
	printf '[fabric lab]\ntopology = lab.topo\npartitions = partitions.conf\n'
	conf_iface uib0 1 "ip6-iid = stable" "$@"
	conf_iface uib0 2 "ip6-iid = stable" "netns = $space" "$@"
	conf_iface uib0 3 "ip6-iid = lid"
	conf_iface uib0 4
	printf '\n[interface uib1@h1]\nport = fabric:lab/Hca1/1\npkey = 0x8001\nip6-iid = stable\n'
	printf '%s\n' "$@"
}
conf "ip6-secret = $secret" >"$work/lab.conf"

# linklocal HOST IF: print the link-local addresses that are neither tentative nor duplicate
linklocal() { x "$1" ip -6 -o addr show dev "$2" scope link -tentative -dadfailed | awk '{ print $4 }' | cut -d/ -f1; }
one_linklocal() { [ "$(linklocal "$1" "$2" | wc -l)" = 1 ]; }
all_usable() { one_linklocal h1 uib0 && one_linklocal h1 uib1 && one_linklocal h2 uib0 && one_linklocal h3 uib0 && one_linklocal h4 uib0; }
addresses() { linklocal h1 uib0; linklocal h1 uib1; linklocal h2 uib0; }
same() { equal "$first" "$(addresses)"; }
different() { equal "$(printf '%s\n' "$@" | sort)" "$(printf '%s\n' "$@" | sort -u)"; }
pings() { x "$1" ping -n -6 -c 1 -W 2 "$2%uib0"; }
pings_all() { pings h1 "$(linklocal h2 uib0)" && pings h2 "$(linklocal h1 uib0)" && pings h4 "$(linklocal h1 uib0)" && pings h1 "$(linklocal h3 uib0)"; }
flagged() { x h1 ip -6 addr show dev uib0 scope link | grep -q stable-privacy; }

lab_up
check "each interface has one link-local address" eventually 10 all_usable
first=$(addresses)
echo "$first" | sed 's/^/# /'
one=$(linklocal h1 uib0)
check "S1: the kernel marks it as stable and opaque" flagged
check "S1: hosts and partitions have different identifiers" different $first
not_eui64() { [[ $one != *ff:fe* && $one != fe80::10:1 && $one != fe80::210:* ]]; }
check "S1: nothing of the GUID is in it" not_eui64
check "S1: hosts reach each other by these addresses" eventually 10 pings_all

# --- prefixes that a router advertises
global_of() { x "$1" ip -6 -o addr show dev uib0 scope global dynamic | awk -v p="$2" 'index($4, p) == 1 { print $4 }' | cut -d/ -f1; }
has_global() { [ -n "$(global_of "$1" fd0a:)" ] && [ -n "$(global_of "$1" fd0b:)" ]; }
advertised() { advertise h4 prefix fd0a:1:2:3:: fd0b:1:2:3:: && has_global h1 && has_global h3; }
iid() { echo "$1" | awk -F: '{ print $(NF-3) ":" $(NF-2) ":" $(NF-1) ":" $NF }'; }
check "addresses of two advertised prefixes" eventually 10 advertised
first_global="$(global_of h1 fd0a:) $(global_of h1 fd0b:)"
check "S1: each prefix has another identifier" different "$(iid "$one")" "$(iid "${first_global% *}")" "$(iid "${first_global#* }")"
check "an identifier of the LID is the same for all prefixes" equal "$(iid "$(global_of h3 fd0a:)")" "$(iid "$(global_of h3 fd0b:)")"

# --- an address that another host has already: RFC 7217 section 6
x h2 ip -6 addr add "$one/64" dev uib0 nodad
# The kernel of h1 waits a second for an answer. On a busy machine the answer can come later, and h1 then has the address, too;
# so the interface is set down and up again.
again() { x h1 ip link set uib0 down && x h1 ip link set uib0 up && eventually 10 one_linklocal h1 uib0; }
resolved() { again && different "$(linklocal h1 uib0)" "$one"; }
check "S1: duplicate address detection finds the conflict, and the kernel makes another identifier" eventually 10 resolved
check "and the host is reached by it" eventually 10 pings h4 "$(linklocal h1 uib0)"
x h2 ip -6 addr del "$one/64" dev uib0
x h1 ip link set uib0 down
x h1 ip link set uib0 up
check "without the conflict the address is the first one again" eventually 10 same

# --- a namespace that was deleted and made again
ip netns del "$space"
gone() { equal "the network namespace is gone" "$(u -j link show dev uib0@h2 | jq -r '.link[0].reason')"; }
check "the namespace of h2 is gone" eventually 10 gone
ip netns add "$space"
check "S1: made again, the interface has the same address" eventually 10 same
check "and is reached" eventually 10 pings_all

# --- the writer process. It writes the secret to the kernel, because a sealed helper (HELPER_SEAL) cannot write files any more
one_named() { for p in $(descendants "$lab_pid"); do grep -lx "$1" "/proc/$p/comm"; done 2>/dev/null | cut -d/ -f3 | head -1; }
writer=$(one_named uipoib-writer)
denied() { equal -1 "$("$inject" "$writer" "$@")"; }
check "the writer's system calls are filtered" grep -q '^Seccomp:.*2' "/proc/$writer/status"
check "it has the privileges to enter namespaces and to set interfaces, and no others" grep -q '^CapEff:.*0000000000201000$' "/proc/$writer/status"
check "it makes no file" denied openat -100 "/tmp/iid-$$" 0x41 0600
check "it makes no process" denied fork 17 0 0 0 0
check "it mounts nothing" denied mount none / tmpfs 0 0
check "it opens no netlink socket" denied socket 16 3 0
check "the helper itself writes no file" equal -1 "$("$inject" "$(one_named uipoib-helper)" openat -100 "$work/lab.topo" 1 0)"

# --- the identifier that is made of the LID
lid() { u -j link show dev uib0@h3 | jq -r '.link[0].lid'; }
of_lid() { equal "$(printf 'fe80::ff:fe00:%x' "$(lid)")" "$(linklocal h3 uib0)"; }
check "R41: an identifier of the LID" eventually 10 of_lid
before=$(lid)
u fabric lid set Hca3/1 99
moved() { equal 99 "$(lid)" && of_lid; }
check "R41: it is not persistent: a new LID makes a new address, and the old one is gone" eventually 10 moved
check "by which the host is reached" eventually 10 pings h1 fe80::ff:fe00:63
check "stop" lab_down

# --- the addresses are the same after restarts
for n in first second; do
	lab_up
	check "S1: the $n restart: the same addresses" eventually 10 same
	check "S1: the $n restart: pings" eventually 10 pings_all
	[ $n = second ] || check "stop" lab_down
done
check "addresses of the prefixes again" eventually 10 advertised
check "S1: they are the same, too" equal "$first_global" "$(global_of h1 fd0a:) $(global_of h1 fd0b:)"
check "stop" lab_down

# --- without ip6-secret, the secret is made of /etc/machine-id
conf >"$work/lab.conf"
echo 6a1f0d9c8b7e45a29d3c1b0f8e7d6c5b >"$work/machine-id"
[ -e /etc/machine-id ] || : >/etc/machine-id
mount --bind "$work/machine-id" /etc/machine-id
lab_up
check "without ip6-secret the addresses are made of /etc/machine-id" eventually 10 all_usable
mine=$(addresses)
check "they are not those of the other secret" different $first $mine
check "stop" lab_down
lab_up
same_mine() { equal "$mine" "$(addresses)"; }
check "after a restart they are the same" eventually 10 same_mine
check "stop" lab_down
: >"$work/machine-id"
check "a machine without an identifier needs ip6-secret" refuse 2 'uib0@h1: ip6-secret: missing' "$UIPOIB" run -c "$work/lab.conf" -- true
finish
