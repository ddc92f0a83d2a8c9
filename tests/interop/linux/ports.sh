#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# `uipoib vm` with several HCAs. The example examples/vm/rails.sh makes a bond of two HCAs, and has a third HCA on
# another fabric. Then this script pulls cables.
#
#	h1 10.4.0.1 --- A: Switch1 --- Switch2 --- ib1 \
#	                      \------------------- ib0 - bond0 10.4.0.100
#	h1 10.5.0.1 --- B: Switch1 ------------------- ib2 10.5.0.100
. "$(dirname "$0")/lib.sh"
need jq
unset UIPOIB_NAME

# --- wrong options are refused before a VM boots

bad() { refuse 2 "$1" "$UIPOIB" vm "${@:2}" -- true; }
check "a number of HCAs" bad "--ports '9': expected 1 to 8" --ports 9
check "a port that is given twice" bad "--port Switch1/2: given twice" --port Switch1/2 --port Switch1/2
check "more ports than HCAs" bad "--ports 1: 2 are given by --port" --ports 1 --port Switch1/2 --port Switch1/3
check "more GUIDs than HCAs" bad "--guid: 2 for 1 HCAs" --guid 0x2 --guid 0x3
check "an address of no interface" bad "--address 'eth0=10.4.0.9/16'" --address eth0=10.4.0.9/16
check "an address of an HCA that there is not" bad "--address of ib1: the VM has 1 HCA" --address ib1=10.4.0.9/16
check "an address and a port of a switch" bad "expected an address for each HCA or for none" \
	--port udp:127.0.0.1:5001,guid=0x2 --port Switch1/2

# --- a bond and a rail

export UIPOIB_NAME=$inst
# The agent runs commands of this script in the VM, as in vm_start of lib.sh.
mkfifo "$work/a.in"
: >"$work/a.out"
exec {in}<>"$work/a.in"
vm_in[a]=$in
UIPOIB=$UIPOIB RAILS_NAME=$inst sh examples/vm/rails.sh \
	/usr/bin/python3 -IS "$PWD/tests/interop/linux/guest/agent.py" <"$work/a.in" >"$work/a.all" 2>"$work/a.err" {in}>&- &
vm_pid[a]=$!
(tail -n +1 -F --pid=$! "$work/a.all" >"$work/a.out" 2>/dev/null) &
vm_wait a
check "the example reaches both rails" equal "ok: 10.4.0.1 is reached over bond0
ok: 10.5.0.1 is reached over ib2" "$(grep ^ok "$work/a.all")"
active() { equal "$1" "$(g a cat /sys/class/net/bond0/bonding/active_slave)"; }
check "the bond uses ib0" eventually 20 active ib0
check "each HCA is at its port" equal "A Switch1/2 A Switch2/2 B Switch1/2" \
	"$(u -j fabric udp show | jq -r '.udp[] | "\(.fabric) \(.port)"' | sort | xargs)"
guids() { g a 'cat /sys/class/infiniband/uib*/node_guid | sort -u | wc -l'; }
check "each HCA has a GUID of its own" equal 3 "$(guids)"

before=$(gb a /tmp/ping ping -n -i 0.2 -I bond0 10.4.0.1)
check "a ping over the bond runs" eventually 20 g a 'grep -q "bytes from" /tmp/ping'
u fabric link set Switch1/2 down fabric A
check "a cable is pulled: the bond changes to ib1" eventually 20 active ib1
check "the kernel's log says that the link is down, and why" eventually 20 g a 'dmesg | grep "uib0: link down: nothing came from the peer for 3 s"'
# heard N: wait until the running ping has got N more answers
heard() {
	local n=$(($(g a 'grep -c "bytes from" /tmp/ping') + $1))
	eventually 30 g a "[ \$(grep -c 'bytes from' /tmp/ping) -ge $n ]"
}
check "the ping goes on over it" heard 5
check "the other rail is not disturbed" reach a -I ib2 10.5.0.1
u fabric link set Switch1/2 up fabric A
check "the cable is plugged: the bond comes back to ib0" eventually 30 active ib0
check "the kernel's log says that the link came up again, and where its peer is" g a '[ $(dmesg | grep -c "uib0: link up, peer 192.0.2.1:5001$") = 2 ]'
check "and the ping goes on" heard 5
g a kill "$before"
check "a rail is pulled" u fabric link set Switch1/2 down fabric B
check "its interface has no carrier" eventually 20 g a '[ "$(cat /sys/class/net/ib2/carrier)" = 0 ]'
check "the bond is not disturbed" reach a -I bond0 10.4.0.1
vm_stop a
check "the example ends with the status of its command" equal 0 $?
unset UIPOIB_NAME

# --- the fabric that `uipoib vm` makes has constant GUIDs, so ib0 and ib1 have the same addresses in each run

addresses='cat /sys/class/net/ib[01]/address'
"$UIPOIB" vm --ports 2 --no-wait -- sh -c "$addresses" >"$work/one" 2>"$work/err" &
"$UIPOIB" vm --ports 2 --no-wait -- sh -c "$addresses" >"$work/two" 2>>"$work/err"
wait $!
check "two addresses" equal "2 2" "$(sort -u "$work/one" | wc -l) $(wc -l <"$work/one")"
check "the same ones in each run" equal "$(cat "$work/one")" "$(cat "$work/two")"
finish
