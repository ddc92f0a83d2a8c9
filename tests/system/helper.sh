#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# The helper process changes the kernel's interfaces for the daemon. The daemon continues to work while the helper is
# busy or hangs. Only a host whose settings the helper must change has to wait for the helper.
. "$(dirname "$0")/lib.sh"
need ping ip
topo_ring 3 3 >"$work/lab.topo"
conf_hosts 3 >"$work/lab.conf"
lab_up

helper=$(for p in $(descendants "$lab_pid"); do grep -lx uipoib-helper "/proc/$p/comm"; done | cut -d/ -f3)
check "the helper is a process of its own" test -n "$helper"

# datagrams NAME COUNT: send COUNT datagrams between h2 and h3, one each 20 ms. undisturbed NAME COUNT: succeeds if at most 2 % of them
# were lost
datagrams() { probe_start "$1" h2 h3 10.4.0.3 "$2" 20; }
undisturbed() {
	probe_wait "$1"
	[ "$(grep -c '^seq=.* time=' "$work/probe.$1")" -ge "$(($2 - $2 / 50))" ]
}
carrier() { [ "$(x h1 cat /sys/class/net/uib0/carrier 2>/dev/null)" = "$1" ]; }
check "h2 reaches h3" reaches4 2 3 # resolves the addresses before losses are counted

# --- a helper that does not answer
is_down() { equal DOWN "$(u -j link show dev uib0@h1 | jq -r '.link[0].state')"; }
x h1 ip link set uib0 down
check "the interface of h1 is down" eventually 10 is_down
kill -STOP "$helper"
x h1 ip link set uib0 up
check "the helper hangs" datagrams hangs 200
check "other hosts do not notice" undisturbed hangs 200
check "the carrier of its host is not raised before the kernel has the settings" carrier 0
kill -CONT "$helper"
check "the helper goes on: the carrier is raised" eventually 10 carrier 1
check "and the host reaches others" reaches4 1 2

# --- a host with 150,000 neighbour entries sends to MACs that belong to no peer
awk 'BEGIN { for (i = 0; i < 150000; i++)
	printf "neigh replace fd04::%x:%x lladdr 06:00:00:%02x:%02x:%02x dev uib0 nud permanent\n",
		int(i / 65536) + 1, i % 65536, int(i / 65536), int(i / 256) % 256, i % 256 }' >"$work/many"
check "h1 has 150,000 neighbours" x h1 ip -batch "$work/many"
bx h1 bash -c 'exec 2>/dev/null
	for ((i = 0; ; i = (i + 1) % 60000)); do
		printf x >"/dev/udp/fd04::1:$(printf %x $i)/9"
		((i % 25)) || sleep 0.1
	done'
sender=$!
sleep 1
check "unknown tokens are looked for in it" datagrams tokens 400
check "other hosts do not notice that either" undisturbed tokens 400
kill -KILL "$sender"
wait "$sender" 2>/dev/null
check "stop" lab_down

# --- the helper is killed, and namespaces that the instance has named are left
mine=hl1-$$ theirs=hl2-$$
ip netns add "$theirs"
printf 'netns = %s\n' "$mine" >>"$work/lab.conf"
named() { [ -e "/run/netns/$mine" ]; }
lab_up
check "the instance makes the namespace that its configuration names" named
kill -KILL "$(for p in $(descendants "$lab_pid"); do grep -lx uipoib-helper "/proc/$p/comm"; done | cut -d/ -f3)"
{ wait "$lab_pid"; } 2>/dev/null
lab_pid=
check "kill -9 of the helper: the namespace is removed" eventually 5 not named
lab_up
victims=$(descendants "$lab_pid")
check "all three stand still" halt $victims
kill -KILL $victims
{ wait "$lab_pid"; } 2>/dev/null
lab_pid=
none_left() { for p in $victims; do [ ! -e "/proc/$p" ] || return 1; done; }
check "kill -9 of all three: all end" eventually 5 none_left
check "and the namespace stays" named
check "and the list of what to remove" test -s "/run/uipoib/$inst.netns"
sed -i "s/^netns = $mine/netns = $theirs/" "$work/lab.conf"
lab_up
check "the next start removes it, though it has no use for it" not named
check "stop" lab_down
check "a namespace that was there before stays" test -e "/run/netns/$theirs"
ip netns del "$theirs"
finish
