#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# The named network namespace of a host is deleted and made again while the instance runs. The interfaces of the host
# go down, and come up in the new namespace with the same settings. Other hosts are not affected.
. "$(dirname "$0")/lib.sh"
need ping ip
topo_ring 5 3 >"$work/lab.topo"
space=na3-$$
{
	conf_hosts 3 "ibsim = $space"
	printf 'netns = %s\n' "$space"
	printf '\n[interface uib1@h3]\nport = fabric:lab/Hca4/1\nnetns = %s\naddress = 10.5.0.3/16\nmtu = 1500\n' "$space"
	# Another host in the same namespace
	printf '\n[interface uib2@h4]\nport = fabric:lab/Hca5/1\nnetns = %s\naddress = 10.6.0.4/16\n' "$space"
} >"$work/lab.conf"
lab_up

link_of() { u -j link show dev "$1@h3" | jq -r ".link[0].$2"; }
is() { equal "$3" "$(link_of "$1" "$2")"; }
h4_is() { equal "$1" "$(u -j link show dev uib2@h4 | jq -r '.link[0].state')"; }
up() { is uib0 state UP && is uib1 state UP && h4_is UP; }
inside() { ip netns exec "$space" "$@"; }
# settings: print the settings by which peers and users recognize the interfaces: MTU, MAC and addresses. Autoconfigured
# addresses come from the GUIDs, so these addresses must be the same, too
settings() {
	inside ip -o link show uib0 | grep -o 'mtu [0-9]*\|link/ether [0-9a-f:]*'
	inside ip -o link show uib1 | grep -o 'mtu [0-9]*\|link/ether [0-9a-f:]*'
	inside ip -o addr show uib0 | awk '{ print $2, $4 }' | sort
	inside ip -o addr show uib2 | awk '{ print $2, $4 }' | sort
	inside ip -o addr show uib1 | awk '{ print $2, $4 }' | sort
}
as_before() { equal "$before" "$(settings)"; }
one() { for p in $(descendants "$lab_pid"); do grep -lx "$1" "/proc/$p/comm"; done 2>/dev/null | cut -d/ -f3 | head -1; }
cookie() { inside readlink /proc/self/ns/net; }
unused() { equal "" "$(space_users "$1")"; }
# logged N TEXT: succeeds if the log has N lines with the text. Another process writes the log, so callers wait for the lines
logged() { equal "$1" "$(grep -c "$2" "$work/lab.log")"; }
reaches() { x h1 ping -n -c 1 -W 1 10.4.0.3 && x h2 ping -n -6 -c 1 -W 1 fd04::3; }
gone() { is uib0 reason "the network namespace is gone" && is uib1 state DOWN && h4_is DOWN; }

check "the instance makes the namespace" test -e "/run/netns/$space"
check "before: h3 is reached" eventually 10 reaches
check "its addresses are usable" eventually 10 no_tentative 3
before=$(settings)
fds=$(lab_files)
check "h1 reaches h2" reaches4 1 2 # resolves the addresses before losses are counted
check "h1 and h2 exchange datagrams all the time" probe_start others h1 h2 10.4.0.2

for round in first second; do
	name=$(cookie)
	old=$name=$("$netns_cookie" "/run/netns/$space")
	ip netns del "$space"
	check "$round time: the interfaces of a deleted namespace go down" eventually 5 gone
	check "$round time: nothing of the instance keeps it alive" eventually 5 unused "$old"
	check "$round time: exec says that it is gone" refuse 3 "host 'h3': its network namespace '$space' is gone" u exec h3 true
	check "$round time: the host is not reached" not reaches
	check "$round time: neigh show has the neighbours of the others" eventually 5 u neigh show
	: >"/run/netns/$space" # a file that is no namespace yet, as when ip(8) is about to mount the namespace on it
	sleep 0.3
	check "$round time: a file that is no namespace is none" gone
	rm "/run/netns/$space"
	ip netns add "$space"
	check "$round time: made again, the interfaces come up" eventually 10 up
	check "$round time: with the same settings" eventually 10 as_before
	check "$round time: and are reached" eventually 10 reaches
	check "$round time: and reach others" eventually 10 inside ping -n -c 1 -W 1 10.4.0.2
	check "$round time: ibsim's clients in it find their server" eventually 5 inside grep -q "@$space:ctl" /proc/net/unix
done
check "each loss is logged once" eventually 5 logged 2 "host h3: the network namespace $space is gone"
check "and each return" eventually 5 logged 2 "host h3: the network namespace $space is back"

# --- deleted and made again so quickly that uipoib cannot follow each time
for ((k = 0; k < 20; k++)); do
	ip netns del "$space"
	ip netns add "$space"
done
check "twenty times in a row: the interfaces come up" eventually 30 up
check "and are reached" eventually 10 reaches
check "with the same settings" eventually 10 as_before

# --- the new namespace already has an interface with the name uib0
ip netns del "$space"
check "gone again" eventually 20 gone
ip netns add "$space.new"
ip netns exec "$space.new" ip tuntap add uib0 mode tap
touch "/run/netns/$space"
mount --bind "/run/netns/$space.new" "/run/netns/$space"
ip netns del "$space.new"
taken() { is uib0 reason "the TAP is not back in the network namespace" && is uib1 state UP; }
check "another interface has the name: this one stays down, others come up" eventually 30 taken
check "which is logged once" eventually 5 logged 1 'uib0@h3: putting the TAP into the namespace'
inside ip tuntap del uib0 mode tap
check "it comes up when the name is free" eventually 30 up
check "and is reached" eventually 10 reaches

# --- another namespace is mounted over the name, so that no file is added or removed
ip netns add "$space.over"
mount --bind "/run/netns/$space.over" "/run/netns/$space"
ip netns del "$space.over"
check "another namespace is mounted over its name: the interfaces come up in it" eventually 30 as_before
umount -l "/run/netns/$space"
check "it is unmounted: the interfaces come up in the one before" eventually 30 as_before
check "and are reached" eventually 30 reaches

check "other hosts did not notice" probe_lost_nothing others
same_files() { equal "$fds" "$(lab_files)"; }
check "no descriptor is left over" eventually 5 same_files

# --- the instance ends while the namespace is gone. Then an instance follows a namespace that another program has made
ip netns del "$space"
check "gone for the last time" eventually 30 gone
lab_procs='' lab_spaces=''
lab_remember
check "stop while it is gone" lab_down
ip netns add "$space"
lab_up
umount -l "/run/netns/$space"
check "unmounted from its name, before any file of the folder has changed: this is noticed, too" eventually 30 gone
rm "/run/netns/$space"
ip netns add "$space"
check "made again: the interfaces come up" eventually 20 up
ip netns del "$space"
check "a namespace that the instance found is followed too" eventually 20 gone
ip netns add "$space"
check "and comes back" eventually 20 up
check "stop" lab_down
check "the instance does not remove a namespace of somebody else" ip netns del "$space"

# --- two hosts in the same namespace: one by the name of the namespace, which uipoib follows, and one by pid:N, which it does not follow
ip netns add "$space"
ip netns exec "$space" sleep 600 &
sleeper=$!
sleep_in_it() { equal "$(cookie)" "$(readlink "/proc/$sleeper/ns/net")"; }
check "a process is in the namespace" eventually 5 sleep_in_it
sed -i "/^.interface uib2@h4.$/,\$ s/^netns = .*/netns = pid:$sleeper/" "$work/lab.conf"
lab_up
check "a host by name and a host by process come up" eventually 10 up
ip netns del "$space"
check "the name is gone: this is not followed, and said once" eventually 10 logged 1 "host h3: the removal of the network namespace $space is not noticed"
stays() { up && logged 1 'host h3: the removal'; }
ip netns add "$space.new"
ip netns del "$space.new"
sleep 1.5
check "both hosts stay up in the namespace, and the log has no second line" stays
kill $sleeper
wait $sleeper
check "stop" lab_down
finish
