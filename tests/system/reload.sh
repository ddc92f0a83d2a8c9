#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# The configuration is read again while the instance runs, by `reload` and by SIGHUP: interfaces are added, removed
# and replaced, and all other interfaces lose no packet and keep their counters. A file with an error, or with a change that
# cannot be made, changes nothing.
. "$(dirname "$0")/lib.sh"
need ping ip jq python3
topo_ring 6 3 >"$work/lab.topo"
space=rl-$$
echo 'Default=0x7fff, ipoib: ALL=full;' >"$work/parts.conf"

# conf [N]: print the configuration of hosts 1 to N (default: 3), to which the tests add sections
conf() { conf_hosts "${1:-3}" "partitions = parts.conf"; }
# with NAME I [LINE...]: add the section of interface NAME of host I to the configuration
with() { conf_iface "$@" >>"$work/lab.conf"; }

# If an instance has a terminal, SIGHUP ends it. So the lab gets a session of its own, which has no terminal.
lab_start() {
	setsid "$UIPOIB" run -c "$work/lab.conf" -n "$inst" "$@" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 20 lab_answers
}
# state IF: print the state of an interface. has IF: succeeds if the interface is up. lacks IF: succeeds if the interface does
# not exist
state() { u -j link show dev "$1" 2>/dev/null | jq -r '.link[0].state'; }
has() { equal UP "$(state "$1")"; }
is_down() { equal DOWN "$(state "$1")"; }
lacks() { refuse 2 'no such interface' u link show dev "$1"; }
# sent IF: print the number of packets that the interface has sent; a new interface begins at 0
sent() { u -j stats show dev "$1" | jq '[.stats[] | select(.counter == "tx_packets") | .value] | add'; }
names() { u -j link show | jq -r '.link[] | .ifname + "@" + .host' | sort | tr '\n' ' '; }
logged() { equal "$1" "$(grep -c "$2" "$work/lab.log")"; }
at_least() { [ "$(grep -c "$2" "$work/lab.log")" -ge "$1" ]; }
helpers() { for p in $(descendants "$lab_pid"); do cat "/proc/$p/comm"; done 2>/dev/null | grep -c uipoib-helper; }
says() { equal "$1" "$(u reload)"; }
sighup() { kill -HUP "$lab_pid"; }

conf >"$work/lab.conf"
lab_up
check "one helper" equal 1 "$(helpers)"
check "h1 reaches h2" reaches4 1 2
check "h1 and h2 exchange datagrams all the time" probe_start others h1 h2 10.4.0.2 100000000 10
first=$(sent uib0@h1)

# --- reload of a file that has not changed
check "a file that is as before changes nothing" says "kept 3"
check "and makes no helper" equal 1 "$(helpers)"

# --- interfaces are added: to a running host, to a new host, and to a new host in a named namespace
with uib1 3 "address = 10.5.0.3/16"
with uib0 4 "address = 10.4.0.4/16" "address = fd04::4/64"
ip netns add "$space"
with uib0 5 "netns = $space" "address = 10.4.0.5/16"
check "three interfaces are added" says "added uib1@h3, uib0@h4, uib0@h5; kept 3"
check "they come up" eventually 20 u wait --timeout 0
check "h1 reaches the new host" ping_to h1 10.4.0.4
check "by IPv6, too" ping_to h1 fd04::4
check "and the one in the named namespace" ping_to h1 10.4.0.5
check "the new host reaches h2" ping_to h4 10.4.0.2
check "the interface is in the namespace of the host that ran" x h3 ip link show uib1
check "it has its address" x h3 sh -c 'ip -o addr show uib1 | grep -q 10.5.0.3/16'
check "host show has each host once" equal "h1 h2 h3 h4 h5 " "$(u -j host show | jq -r '.host[].host' | tr '\n' ' ')"
check "and both interfaces of h3" equal "uib0 uib1 " "$(u -j host show | jq -r '.host[] | select(.host == "h3") | .interfaces[].ifname' | sort | tr '\n' ' ')"
check "another helper has made them" equal 2 "$(helpers)"
lab_remember

# --- the named namespace of a new interface is deleted and made again
ip netns del "$space"
check "the named namespace is gone: its interface goes down" eventually 20 is_down uib0@h5
ip netns add "$space"
check "made again, the interface comes up in it" eventually 30 has uib0@h5
check "and is reached" ping_to h1 10.4.0.5

# --- an interface is replaced, because a key has changed
sed -i 's@address = 10.5.0.3/16@address = 10.5.0.33/16\nmtu = 1500@' "$work/lab.conf"
check "an interface whose keys have changed is replaced" says "replaced uib1@h3 (address); kept 5"
check "it comes up" eventually 20 has uib1@h3
check "with the new address" eventually 20 x h3 sh -c 'ip -o addr show uib1 | grep -q 10.5.0.33/16'
check "and without the old one" x h3 sh -c '! ip -o addr show uib1 | grep -q 10.5.0.3/16'
check "and with the new MTU" eventually 20 x h3 sh -c 'ip link show uib1 | grep -q "mtu 1500"'

# --- interfaces are removed
conf >"$work/lab.conf"
check "the new interfaces are removed" says "removed uib1@h3, uib0@h4, uib0@h5; kept 3"
check "they are gone" equal "uib0@h1 uib0@h2 uib0@h3 " "$(names)"
check "link show has no such interface" lacks uib0@h4
check "the TAP is gone from the host that runs" x h3 sh -c '! ip link show uib1'
check "the new host is gone" refuse 2 "no such host" u exec h4 true
check "the helpers of the new interfaces have ended" eventually 20 eval 'equal 1 "$(helpers)"'
check "they have left the broadcast group" eventually 20 eval 'equal 3 "$(u -j fabric group show | jq "[.group[] | select(.broadcast) | .nmembers] | add")"'
ip netns del "$space"

# --- an interface of the first configuration is removed and added again
conf 2 >"$work/lab.conf"
check "an interface of the start is removed" says "removed uib0@h3; kept 2"
conf >"$work/lab.conf"
check "and added again, in a new namespace" says "added uib0@h3; kept 2"
check "it is reached" ping_to h1 10.4.0.3

# --- reloads that are refused change nothing
with uib0 6 "address = 10.4.0.6/16"
cp "$work/lab.conf" "$work/good.conf"
# refuses REGEX SED-COMMAND: edit the good configuration by sed. Succeeds if `reload` then fails with a message that matches REGEX,
# and the interfaces stay
refuses() {
	local before
	sed "$2" "$work/good.conf" >"$work/lab.conf"
	before=$(names)
	refuse 2 "$1" u reload && equal "$before" "$(names)"
}
check "a key that does not exist" refuses 'lab.conf:[0-9]+: \[interface uib0@h6\] colour: unknown key' '/Hca6/a colour = blue'
check "a value that makes no sense" refuses "mtu: '17', expected" '/Hca6/a mtu = 17'
check "crc is that of the start" refuses "\\[fabric lab\\] crc: 'full', expected no such key, as when the instance was started" '/^topology/a crc = full'
check "topology is that of the start" refuses "\\[fabric lab\\] topology: 'other.topo', expected 'lab.topo'" 's/^topology.*/topology = other.topo/'
check "a fabric is not added" refuses '\[fabric two\] expected no such section' '$a [fabric two]\ntopology = lab.topo'
check "a link over UDP is not added" refuses '\[udp-link far\] expected no such section' '$a [udp-link far]\nport = fabric:lab/Switch1/4\nlisten = 127.0.0.1:4793'
check "nor an interface with a port over UDP" refuses "port: 'udp:.*expected a port of a fabric" '$a [interface uib9@h9]\nport = udp:127.0.0.1:4791,guid=0x1'
check "nor one on a port of a kernel" refuses "port: 'verbs:.*expected a port of a fabric" '$a [interface uib9@h9]\nport = verbs:mlx5_0/1'
check "an M_Key is not shown" eval 'refuses "m-key: it differs" "/^topology/a m-key = 0x5ec4e7" && ! grep -q 5ec4e7 "$work/refuse.out"'
printf 'nonsense\n' >"$work/lab.conf"
check "a file that is none" refuse 2 'lab.conf:1: ' u reload
rm "$work/lab.conf"
check "a file that is gone" refuse 2 'lab.conf: No such file' u reload
cp "$work/good.conf" "$work/lab.conf"
echo 'Default=0x7fff, ipoib: ALL=' >"$work/parts.conf"
check "a fault in the partitions" refuse 2 'parts.conf:[12]: ' u reload
check "h6 was not added" lacks uib0@h6
echo 'Default=0x7fff, ipoib: ALL=full; blue=0x10: ALL=full;' >"$work/parts.conf"
check "with good partitions h6 is added" says "added uib0@h6; kept 3"
check "and the partitions are loaded" eval 'u -j fabric partitions | grep -q blue'
check "the log has the refusals" eventually 20 at_least 8 'not reloaded, and nothing has changed'
check "wrong arguments" refuse 2 "'now': unexpected" u reload now

# --- a namespace that does not exist, and a device that is in the way
with uib7 6 "netns = no-$space"
check "one host, two namespaces" refuse 2 "netns: 'no-$space', expected ''" u reload
cp "$work/good.conf" "$work/lab.conf"
conf_iface uib0 5 "netns = no-$space" >>"$work/lab.conf"
check "a name that no namespace has" refuse 2 "netns: 'no-$space' does not exist" u reload
check "it was not made" not test -e "/run/netns/no-$space"
check "no helper is left over besides those of h3 and h6" eventually 20 eval 'equal 3 "$(helpers)"'

# --- SIGHUP
cp "$work/good.conf" "$work/lab.conf"
with uib1 2 "address = 10.5.0.2/16"
sighup
check "SIGHUP adds an interface" eventually 20 has uib1@h2
check "the log has it" eventually 20 at_least 1 'reloaded: added uib1@h2; kept 4'
for ((k = 0; k < 200; k++)); do sighup; done
check "after 200 SIGHUPs it answers" u instance show
cp "$work/good.conf" "$work/lab.conf"
sighup
check "and obeys the last" eventually 30 lacks uib1@h2
clients=()
for ((k = 0; k < 8; k++)); do u reload >"$work/client.$k" 2>&1 & clients+=($!); done
all_answered() { for k in "${clients[@]}"; do wait "$k" || return 1; done; }
check "eight clients at a time: each gets an answer" all_answered
for round in 1 2 3 4 5; do
	with "uib$round" 1
	u reload >/dev/null || break
	cp "$work/good.conf" "$work/lab.conf"
	u reload >/dev/null || break
done
check "five times added and removed" equal 5 "$round"
check "as before" eval 'equal "uib0@h1 uib0@h2 uib0@h3 uib0@h6 " "$(names)"'

# --- h1 and h2, which no reload has changed
check "h1 and h2 lost no datagram in all that" probe_lost_nothing others
check "their counters went on" [ "$(sent uib0@h1)" -gt "$first" ]
lab_remember
check "the lab ends" lab_down
check "it leaves nothing behind" lab_gone

# --- a namespace that the instance made
own=uipoib-own-$$
{
	conf_hosts 1
	with_netns() { printf '%s\n' '[interface uib0@h2]' 'port = fabric:lab/Hca2/1' "$@"; }
	with_netns "netns = $own" 'address = 10.4.0.2/16'
} >"$work/lab.conf"
lab_up
check "the instance makes the namespace" ip netns exec "$own" ip link show uib0
sed -i "s/^netns = $own/&\nmtu = 1500/" "$work/lab.conf"
check "its only interface is replaced" says "replaced uib0@h2 (mtu); kept 1"
check "the namespace has its name still" ip netns exec "$own" ip link show uib0
check "the interface works" ping_to h1 10.4.0.2
sed -i "/^netns = $own/d" "$work/lab.conf"
check "it goes to an anonymous namespace" says "replaced uib0@h2 (netns); kept 1"
check "it works there" ping_to h1 10.4.0.2
moved() { x h2 ip link show uib0 && ! ip netns exec "$own" ip link show uib0; }
check "and is no longer in the named one" moved
lab_remember
check "the lab ends" lab_down
check "it leaves nothing behind" lab_gone

# --- an instance that was not started from a file, and one that runs CMD
background "$UIPOIB" demo --hosts 2 -n "$inst" --keep >"$work/demo.log" 2>&1
lab_pid=$!
check "an instance that was not started from a file" eventually 20 refuse 1 'not started by run -c FILE' u reload
check "it goes on" u instance show
demo_stays() { eventually 60 grep -q Ctrl-C "$work/demo.log" && lab_down; }
check "and ends" demo_stays
check "with CMD, CMD can have the file read again" "$UIPOIB" run -c "$work/good.conf" -n "$inst" -- "$UIPOIB" -n "$inst" reload
finish
