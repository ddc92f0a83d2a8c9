#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests uib.ko alone, in the VM of `uipoib vm`, and prints TAP. Devices are added and removed, and moved to network namespaces.
# Wrong packets are discarded and counted, and a fuzzer sends packets that no real node would send. At the end the module is
# removed under traffic.
#
#	h1 10.4.0.1 --- Switch1 --- uib0, ib0 10.4.0.100	uib1 --- lo --- drops.py, fuzz.py
#
#	namespace a: uib1 10.9.0.1:7001 --- va --- vb --- 10.9.0.2:7001 uib2: namespace b	OpenSM at uib1
#	             ib1 10.8.0.1                                           ib2 10.8.0.2
set -u
cd "$(dirname "$0")" || exit 1
module=$1 seconds=${2:-10}
params=/sys/module/uib/parameters stats=/sys/kernel/debug/uib python=/usr/bin/python3
failed=0

check() {
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok - $what"
	else
		failed=1
		echo "not ok - $what"
		printf '%s\n' "$out" | tail -20 | sed 's/^/#   /'
	fi
}

# eventually SECONDS CMD...: repeat CMD until it succeeds, for at least $patience seconds, because the machine may be busy.
patience=120
eventually() {
	local deadline=$((SECONDS + ($1 > patience ? $1 : patience)))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.2
	done
}

add() { echo "$*" >$params/add; }
remove() { echo "$1" >$params/remove; }
gone() { [ ! -e "/sys/class/infiniband/$1" ] && [ ! -e "$stats/$1" ]; }
# parents: succeeds if the platform bus has exactly one device for each HCA.
parents() { [ "$(ls -d /sys/devices/platform/uib.* | wc -l)" = "$(ls /sys/class/infiniband | wc -l)" ]; }

refuse() {
	local text=$1 out
	shift
	if out=$(add "$@" 2>&1); then
		echo "taken: $*"
		return 1
	fi
	case $out in *"$text"*) ;; *) echo "expected: $text"; echo "got: $out"; return 1 ;; esac
}

# --- tools find the driver of ib0 and its HCA

drvinfo() { ethtool -i ib0 | grep -x 'driver: ib_ipoib' && ethtool -i ib0 | grep 'bus-info: uib\.'; }
check "ethtool -i" drvinfo
same_parent() { [ /sys/class/net/ib0/device -ef /sys/class/infiniband/uib0/device ]; }
check "ib0 and uib0 have one device" same_parent

# --- wrong parameters are refused

check "no name" refuse "Invalid argument" ""
check "a name that ib_core would take for a format" refuse "Invalid argument" 'uib%s%n' peer=127.0.0.1:7001
check "a name of a folder" refuse "Invalid argument" ../uib peer=127.0.0.1:7001
check "a key that is none" refuse "Invalid argument" uib1 color=red
check "a port that is none" refuse "Invalid argument" uib1 peer=127.0.0.1:x
check "an address that is none" refuse "Invalid argument" uib1 "peer=[::1"
check "GUID 0" refuse "Invalid argument" uib1 peer=127.0.0.1:7001 guid=0
check "an MTU that is none" refuse "Invalid argument" uib1 peer=127.0.0.1:7001 mtu=1500
check "a silence that is too long" refuse "Invalid argument" uib1 peer=127.0.0.1:7001 silence=4001
check "more than loopback needs a peer" refuse "Destination address required" uib1 listen=0.0.0.0:7002
check "both addresses of one family" refuse "not supported" uib1 "listen=[::1]:7002" peer=127.0.0.1:7001
check "too long" refuse "Argument list too long" "uib1 $(printf 'x%.0s' {1..300})"
check "a name that is taken" refuse "Too many open files" uib0 listen=127.0.0.1:7009
cable=/run/uipoib-vm/cable
[ -e $cable ] || cable=/proc/self/ns/net # the VM of debug/run.sh has no namespace of this name
taken() { refuse "in use" uib1 netns=3 "listen=$(sed -n 's/^listen //p' $stats/uib0/link)" peer=192.0.2.1:7001 3<$cable; }
check "a socket that is taken" taken
check "a namespace that is none" refuse "Invalid argument" uib1 netns=0 peer=127.0.0.1:7001
check "a descriptor that is not open" refuse "Bad file descriptor" uib1 netns=99 peer=127.0.0.1:7001
check "a namespace behind an address" refuse "Invalid argument" uib1 peer=127.0.0.1:7001 netns=0
not_there() { ! remove uib9; }
check "to remove what is not there" not_there
check "nothing is left of those" gone uib1

# --- a device with an MTU of its own and a link over IPv6. `rdma link delete` removes the device

check "a link over IPv6" add uib1 "listen=[::1]:7002" "peer=[::1]:7001" mtu=1024 guid=0x1234
ipv6_says() {
	grep -qxF 'listen [::1]:7002' $stats/uib1/link && grep -qxF 'peer [::1]:7001' $stats/uib1/link &&
		[ "$(cat /sys/class/infiniband/uib1/node_guid)" = 0000:0000:0000:1234 ]
}
check "its link and GUID" ipv6_says
local_smp() { # octet 41 of PortInfo has MTUCap, 3 is 1024
	local data
	data=$($python umad.py uib1 0x15 1) && [ "${data:83:1}" = 3 ]
}
check "its PortInfo, by an SMP of no hops" local_smp
check "rdma link delete" rdma link delete uib1
check "nothing is left of it" eventually 5 gone uib1

# --- the link of a device starts when all consumers know the device

# If the link came up before the end of the registration, the SM's first request could make ib_core replace GID 0 while
# ib_ipoib reads this GID. ib_ipoib would then make no interface for the device.
tracing=/sys/kernel/tracing
trace_starts() { echo 'r:uib_test/registered ib_register_device' >>$tracing/kprobe_events && echo 'p:uib_test/started uib_link_start' >>$tracing/kprobe_events && echo 1 >$tracing/events/uib_test/enable; }
starts_last() {
	local order
	trace_starts && add uib1 listen=127.0.0.1:7002 peer=127.0.0.1:7001 silence=0 && remove uib1
	order=$(grep -oE ' (registered|started): ' $tracing/trace | tr -d ' \n')
	echo 0 >$tracing/events/uib_test/enable
	echo >$tracing/kprobe_events
	echo "order: $order"
	[ "$order" = registered:started: ]
}
if [ -e $tracing/kprobe_events ]; then
	check "the link starts after the registration" starts_last
else
	echo "ok - the link starts after the registration # SKIP the kernel has no kprobe_events"
fi

# --- the SMA and PMA give the answers that agents.py expects from src/node, too

add uib1 listen=127.0.0.1:7002 peer=127.0.0.1:7001 guid=0xace0000000a6e7
$python ../../agents.py 127.0.0.1:7001 127.0.0.1:7002 || failed=1
remove uib1

# --- discarded packets, events, traps, samples

insmod "${module%.ko}_test.ko"
$python drops.py uib1 127.0.0.1:7002 127.0.0.1:7001 || failed=1
remove uib1
rmmod uib_test

# --- packets with right CRCs that no real node would send

add uib1 listen=127.0.0.1:7002 peer=127.0.0.1:7001 guid=0xace0000000c099
ip link set ib1 up
fuzz() {
	local sent
	sent=$($python fuzz.py 127.0.0.1:7001 "$seconds" 1 40 2000) || return 1
	printf '%s\n' "$sent"
	for kind in random_smp random_gmp random_ipoib flipped odd_length; do
		printf '%s' "$sent" | grep -q "\"sent $kind\": [0-9][0-9]" || return 1
	done
	printf '%s' "$sent" | grep -q '"port state 4"' && ! printf '%s' "$sent" | grep -q '"received bad'
}
check "fuzzed for $seconds s, all answers right" fuzz
check "removed after that" remove uib1

# --- network namespaces: the UDP socket of a device is in the namespace in which the device was added, and the device
# is removed with this namespace

ib_net() { # DEVICE: print the name of the network interface of DEVICE in this namespace
	local n
	for n in /sys/class/net/*; do
		[ "$(cut -c 37- "$n/address")" != "$(sed 's/\([0-9a-f][0-9a-f]\)\([0-9a-f][0-9a-f]\)/\1:\2/g' "/sys/class/infiniband/$1/node_guid")" ] || echo "${n##*/}"
	done
}
ns_add() { # NAMESPACE DEVICE OWN PEER: add the device in this namespace, with a link from address OWN to PEER
	ip netns exec "$1" bash -c "echo '$2 listen=$3 peer=$4 silence=0 mtu=2048' >$params/add"
}
ns_ib() { # NAMESPACE DEVICE ADDRESS: moves the device's interface to the namespace, with this address
	local dev
	dev=$(ib_net "$2") && [ -n "$dev" ] && ip link set "$dev" netns "$1" &&
		ip -n "$1" address add "$3" dev "$dev" && ip -n "$1" link set "$dev" up
}
reaches() { ip netns exec a ping -q -c 1 -W 1 10.8.0.2; }
ns_add_from_here() { add "$2 netns=3 listen=$3 peer=$4 silence=0 mtu=2048" 3<"/run/netns/$1"; }
bound() { ip netns exec "$1" ss -Huln | grep -q "$2:7001"; }
not_bound_here() { ! ss -Huln | grep -q 10.9.0; }
counts() { awk -v k="$2" '$1 == k && $2 > 0 { n = 1 } END { exit !n }' "$stats/$1/stats"; }
link_is() { grep -qx "state $2" "$stats/$1/link"; }
discards() { reaches; counts uib1 drop_tx_error; }

ip netns add a
ip netns add b
ip link add va netns a type veth peer name vb netns b
for n in a b; do
	ip -n $n address add "10.9.0.$([ $n = a ] && echo 1 || echo 2)/24" dev v$n
	ip -n $n link set v$n up
done
check "a device in a namespace" ns_add a uib1 10.9.0.1:7001 10.9.0.2:7001
check "one in another, which a descriptor names" ns_add_from_here b uib2 10.9.0.2:7001 10.9.0.1:7001
check "the socket is there" bound a 10.9.0.1
check "and in the other one" bound b 10.9.0.2
check "and not here" not_bound_here
check "their link is up" eventually 30 link_is uib1 up
opensm -g "0x$(tr -d : </sys/class/infiniband/uib1/node_guid)" -f /tmp/opensm.log &>/dev/null &
opensm=$!
check "ib1 in a" ns_ib a uib1 10.8.0.1/24
check "ib2 in b" ns_ib b uib2 10.8.0.2/24
check "a ping from a to b" eventually 60 reaches
ip -n a link set va down
check "a socket that has no way: drop_tx_error" eventually 10 discards
check "the link goes down" eventually 20 link_is uib1 silent
ip -n a link set va up
check "and comes back" eventually 60 reaches
ip netns del b
check "a namespace takes its device along" eventually 20 gone uib2
check "the other end notices" eventually 20 link_is uib1 silent
check "its name is free" add uib2 listen=127.0.0.1:7001
check "removed again" remove uib2
kill $opensm
ip netns del a
check "so does the first one" eventually 20 gone uib1

# --- the module is removed under traffic

check "h1 answers" eventually 20 ping -c 1 -W 2 10.4.0.1
listen=$(sed -n 's/^listen //p' $stats/uib0/link) peer=$(sed -n 's/^peer //p' $stats/uib0/link)
guid=$(tr -d : </sys/class/infiniband/uib0/node_guid)
while :; do ping -i 0.002 10.4.0.1; done &>/dev/null &
traffic=$!
for i in 1 2 3; do
	check "rmmod under traffic ($i)" rmmod uib
	check "insmod ($i)" insmod "$module" "add=\"uib0 netns=3 listen=$listen peer=$peer guid=0x$guid\"" 3<$cable
	ip link set ib0 up
	ip address add 10.4.0.100/16 dev ib0
	[ $i != 2 ] || check "h1 answers again ($i)" eventually 20 ping -c 1 -W 1 10.4.0.1
done
check "h1 answers again (3)" eventually 20 ping -c 1 -W 1 10.4.0.1
kill $traffic
wait $traffic 2>/dev/null

clean() {
	! dmesg | grep -E -A 20 'WARNING:|BUG:|Oops|general protection|Call Trace|refcount_t|possible .* deadlock|KASAN|list_(add|del) corruption'
}
check "one parent device for each" parents
check "nothing in the kernel's log" clean
exit $failed
