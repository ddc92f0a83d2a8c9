#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# uipoib refuses files and command lines that contain an error. It ends with status 2, and its message names the place and the
# error. If the fabric does not allow a setting of an interface, the link waits, and `link show` gives the reason.
#
#	h1 (Hca1) --- Switch1 --- Switch2 --- h2 (Hca2)
#	                  \        /
#	                   Switch3
. "$(dirname "$0")/lib.sh"
need ping
topo_ring 2 3 >"$work/good.topo"
cp "$work/good.topo" "$work/lab.topo"
fabric=$'[fabric lab]\ntopology = lab.topo\n'
iface=$'[interface uib0@h1]\nport = fabric:lab/Hca1/1\n'
now=(u run -n "$inst" -c "$work/x.conf" --timeout 2 -- touch "$work/ran")

# conf TEXT REGEX WHAT: check that the configuration TEXT is refused before the instance starts, with a message that matches REGEX.
# WHAT describes the error in the name of the check
conf() {
	printf '%b' "$1" >"$work/x.conf"
	check "configuration: $3" refuse 2 "$2" "${now[@]}"
}

conf_missing() { refuse 2 'nope\.conf: No such file' u run -c "$work/nope.conf"; }
check "configuration: the file is missing" conf_missing
conf 'port = x\n' 'x\.conf:1: port: a key before the first' "a key before any section"
conf '[fabrik lab]\n' 'x\.conf:1: \[fabrik lab\]: unknown section, expected' "an unknown section"
conf '[fabric lab]\n' 'x\.conf:1: \[fabric lab\] topology: missing' "a key that must be there"
conf "${fabric}color = red\n" 'x\.conf:3: .* color: unknown key, expected one of topology, sm' "an unknown key"
conf "${fabric}crc = some\n" "x\.conf:3: .* crc: 'some', expected lazy, full, icrc or off" "a value that is none"
conf "${fabric}crc = off\ncrc = full\n" 'x\.conf:4: .* crc: given twice' "a key given twice"
conf "$fabric$fabric" 'x\.conf:3: .*given twice, first in line 1' "a section given twice"
conf "${fabric}nonsense\n" 'x\.conf:3: .*expected key = value' "a line that is no key"
conf "$fabric  crc = off\n" 'x\.conf:3: an indented line' "an indented line"
conf "$fabric${iface}pkey = 0x8000\n" "x\.conf:5: .* pkey: '0x8000', expected 0x0001-0x7fff" "P_Key 0x8000"
conf "$fabric${iface}mtu = 9000\n" "x\.conf:5: .* mtu: '9000', expected 68-4096" "an MTU too large"
conf "$fabric${iface}address = 10.4.0.1\n" "x\.conf:5: .* address: .*expected ADDRESS/PREFIX" "an address without prefix"
conf "$fabric${iface}netns = a/b\n" "x\.conf:5: .* netns: 'a/b', expected a name" "a namespace that is no name"
conf "$fabric${iface/lab/other}" 'x\.conf:3: .*no \[fabric other\] in this file' "a fabric that is not there"
conf "$fabric${iface/Hca1/Hca9}" 'x\.conf:3: \[interface uib0@h1\] .*port fabric:lab/Hca9/1: no such node' "a node that is not there"
conf "$fabric${iface/Hca1/Switch1}" 'x\.conf:3: .*port fabric:lab/Switch1/1: a switch, expected a port of a CA' "a switch's port"
conf "$fabric${iface/Hca1\/1/Hca1\/2}" 'x\.conf:3: .*port fabric:lab/Hca1/2: the CA has no such port' "a port that is not there"
conf "${fabric}sm-port = Nope/0\n" 'x\.conf:1: \[fabric lab\] .*sm-port Nope/0: no such node' "an SM port that is not there"
conf "${fabric}capture = /nope/x.pcap\n" 'x\.conf:1: \[fabric lab\] capture /nope/x.pcap: No such file' "a capture into a missing folder"
conf "$fabric${iface}netns = pid:4194303\n" 'x\.conf:3: \[interface uib0@h1\] host h1: .*(No such|pid)' "the namespace of no process"
head -c 4096 /dev/urandom >"$work/x.conf"
check "configuration: octets at random" refuse 2 'x\.conf:[0-9]+: ' "${now[@]}"

# topo TEXT REGEX WHAT: the same for the topology TEXT
printf '%s%s' "$fabric" "$iface" >"$work/x.conf"
topo() {
	printf '%b' "$1" >"$work/lab.topo"
	check "topology: $3" refuse 2 "$2" "${now[@]}"
}
rm "$work/lab.topo"
check "topology: the file is missing" refuse 2 'lab\.topo: No such file' "${now[@]}"
topo 'hello\n' 'lab\.topo:1: ' "a line that is nothing"
topo 'Switch 4 "S1"\n[1] "H1"[1]\nHca 1 "H1"\n[2] "S1"[1]\n' 'lab\.topo:4: expected a port between 1 and 1 .*found 2' \
	"a port that the node has not"
topo 'Switch 4 "S1"\n[1] "H1"[1]\nHca 1 "H1"\n[1] "S1"[2]\n' 'lab\.topo:[24]: ' "ends of a cable that disagree"
topo 'Switch 4 "S1"\nSwitch 4 "S1"\n' 'lab\.topo:2: ' "a node given twice"
topo 'Switch 4 "S1"\n[1] "Nope"[1]\n' 'lab\.topo:2: ' "a cable to a node that is not there"
topo 'Switch 400 "S1"\n' 'lab\.topo:1: ' "more ports than a switch has"
topo 'Switch 4 "S1\n' 'lab\.topo:1: ' "a name without its end"
head -c 4096 /dev/urandom >"$work/lab.topo"
check "topology: octets at random" refuse 2 'lab\.topo:[0-9]+: ' "${now[@]}"
cp "$work/good.topo" "$work/lab.topo"

# part TEXT REGEX WHAT: the same for the partitions file TEXT
printf '%spartitions = p.conf\n%s' "$fabric" "$iface" >"$work/x.conf"
part() {
	printf '%b' "$1" >"$work/p.conf"
	check "partitions: $3" refuse 2 "$2" "${now[@]}"
}
check "partitions: the file is missing" refuse 2 'p\.conf: No such file' "${now[@]}"
part 'Default=0x7fff, ipoib : ALL=full;\nLab=0x8000 : ALL;\n' 'p\.conf:2: P_Key 0x8000 is invalid' "P_Key 0x8000"
part 'Default=0x7fff, color=red : ALL=full;\n' 'p\.conf:1: unknown flag "color": expected ipoib' "an unknown flag"
part 'Default=0x7fff, ipoib, mtu=6 : ALL;\n' 'p\.conf:1: mtu=6 is no MTU code: expected 1' "an MTU code that is none"
part 'Default=0x7fff, ipoib, rate=99 : ALL;\n' 'p\.conf:1: rate .*99' "a rate code that is none"
part 'Default=0x7fff : ALL=some;\n' 'p\.conf:1: ' "a membership that is none"
part 'Default=0x7fff : ALL\nX=1 : ALL;' 'p\.conf:[12]: ' "a definition without its end"
head -c 4096 /dev/urandom >"$work/p.conf"
check "partitions: octets at random" refuse 2 'p\.conf:[0-9]+: ' "${now[@]}"
check "nothing of these ran" test ! -e "$work/ran"

# --- the command line

check "no command: usage" refuse 2 'usage: uipoib' u
check "a command with a long usage has its help below it" refuse 0 '^ {38}what stands between a port and IP$' u -h
check "an unknown object" refuse 2 "object 'foo': unknown, expected one of .*run, vm, wait" u foo
help_names() {
	local object objects
	objects=$(u foo 2>&1 | sed 's/.*expected one of //; s/,//g')
	for object in ${objects:?}; do
		u -h | grep -q "^  $object " || { echo "no line for $object, with a blank after the name"; return 1; }
	done
}
check "the help has a line for each of these objects" help_names
check "an unknown verb" refuse 2 "link 'foo': unknown, expected one of show" u link foo
check "an unknown option" refuse 2 "option '-x': unknown" u -x
check "run without a file" refuse 2 '-c FILE: missing' u run
check "a name that is none" refuse 2 "instance 'a/b': not a name" u -n a/b link show
check "an instance that does not run" refuse 2 "no instance '$inst' is running" u link show

printf '%s%s' "$fabric" "$iface" >"$work/lab.conf"
conf_iface uib1 1 "pkey = 0x8002" "address = 10.5.0.1/24" >>"$work/lab.conf"
conf_iface uib0 2 "address = 10.4.0.2/24" >>"$work/lab.conf"
conf_iface uib1 2 "pkey = 0x8002" "address = 10.5.0.2/24" >>"$work/lab.conf"
lab_start

check "an unknown interface" refuse 2 "dev 'uib9': no such interface" u link show dev uib9
check "an interface that several hosts have" refuse 2 "dev 'uib0': .*expected NAME@HOST" u link show dev uib0
check "an unknown key" refuse 2 "'(color|red)': unexpected, expected dev" u link show color red
check "a key without its value" refuse 2 'dev' u link show dev
check "an unknown host" refuse 2 "host 'h9': no such host or node, expected one of h1, h2" u exec h9 true
check "an unknown port" refuse 2 'Nope/1' u fabric link set Nope/1 down
check "a port without a number" refuse 2 'Switch1' u fabric link set Switch1 down
check "neither up nor down" refuse 2 'sideways' u fabric link set Switch1/1 sideways
check "an unknown fault" refuse 2 'fault: ' u fabric fault add Switch1/1 gremlins 5%
check "a share above all" refuse 2 'fault: ' u fabric fault add Switch1/1 loss 105%
check "a fault that is not there" refuse 2 'id 77: no such fault' u fabric fault del 77
check "a capture that is not there" refuse 2 'id 77: no such capture' u capture stop 77
check "a capture of an unknown port" refuse 2 'Nope/1' u capture start "$work/c.pcapng" link Nope/1
check "a path to nobody" eventually 10 refuse 1 'path to .*: status 0x' u path get fe80::dead:beef dev uib0@h1
check "a command that is not there" refuse 127 'No such file' x h1 /nope
check "the exit status of a command" refuse 7 '^bye$' x h1 sh -c 'echo bye; exit 7'

# --- settings that the fabric does not allow

state() { u -j link show dev "$1" | jq -r '.link[0] | .state + ": " + .reason'; }
says() { state "$1" | grep -E "$2"; }
check "a P_Key that the port does not have: the link says so and waits" \
	eventually 5 says uib1@h1 'WAIT_PKEY: P_Key 0x8002 is not in the port.s table'
check "wait ends with status 4 and names it" refuse 4 'uib1@h[12]: WAIT_PKEY: P_Key 0x8002' u wait --timeout 1
check "the other interface works meanwhile" eventually 10 says uib0@h1 '^UP'

printf 'Default=0x7fff, ipoib : ALL=full;\nLab=0x8002, ipoib, rate=12 : ALL=full;\n' >"$work/p.conf"
check "partitions are loaded while it runs" u fabric partitions "$work/p.conf"
check "a group faster than the port: the join is refused, status and field are named" eventually 15 \
	says uib1@h1 'join of ff12:401b:8002::ffff:ffff refused: status 0x0200 .*rate 56250 Mb/s above the port.s 10000'
check "wait names it too" refuse 4 'refused: status 0x0200' u wait --timeout 1
echo 'x y z' >"$work/bad.conf"
check "a broken file is refused" refuse 2 'bad\.conf:1: ' u fabric partitions "$work/bad.conf"
check "and changes nothing" eventually 5 says uib1@h1 'refused: status 0x0200'
printf 'Default=0x7fff, ipoib : ALL=full;\nLab=0x8002, ipoib : ALL=full;\n' >"$work/p.conf"
check "partitions are loaded with a rate that the port has" u fabric partitions "$work/p.conf"
check "the group changes, and the link comes up" eventually 30 says uib1@h1 '^UP'
echo 'Default=0x7fff, ipoib : ALL=full;' >"$work/p.conf"
check "the partition is taken away again" u fabric partitions "$work/p.conf"
check "the link waits for its P_Key again" eventually 5 says uib1@h1 '^WAIT_PKEY'
echo 'Lab=0x8002, ipoib : ALL=full;' >>"$work/p.conf"
check "it comes with a group that the port can join" u fabric partitions "$work/p.conf"
check "now all come up" u wait --timeout $patience
check "and are reached" ping_to h1 10.5.0.2
lab_remember
finish
