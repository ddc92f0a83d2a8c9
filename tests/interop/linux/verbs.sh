#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: waits
#
# Debian's programs for verbs run on /dev/infiniband/uverbs0 of uib.ko in two VMs (verbs/programs.sh). Then the tests of
# pyverbs run (verbs/pyverbs.sh), and at the end hostile programs run (guest/verbs.sh). One of these executes random
# commands for RANDOM_SECONDS (default: 4), and KILLS of them (default: 20) are killed.
#
#	a: ib0 10.4.9.1 --- Switch1 --- b: ib0 10.4.9.2
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/verbs/programs.sh"
. "$(dirname "$0")/verbs/pyverbs.sh"
need ibv_devinfo ibv_ud_pingpong ib_send_bw udaddy
uib=$(ls "$(dirname "$UIPOIB")"/kmod/*/uib.ko 2>/dev/null | sort -V | tail -1)
programs_start
left() { g "$1" bash "$PWD/tests/interop/linux/guest/verbs_left.sh"; }
nothing_left() { [ "$(left "$1")" = "$2" ]; }
before=$(left b)

programs_run '44.0-2 4.5+0.17-1' # rdma-core and perftest of Debian 12
pyverbs_run
check "nothing is left of those" eventually 10 nothing_left b "$before"

# --- the HCA's driver cannot refuse `echo connected` into the file `mode` of ib0. After this command in VM a, unicasts
# from a are lost if the destination has Linux's IPoIB. The link-layer address of such a destination announces that it
# supports the connected mode, so a's kernel tries to make a connection to it

mode() { g a "echo $1 >/sys/class/net/ib0/mode && grep -qx $1 /sys/class/net/ib0/mode"; }
a_to_b() { g a ping -n -q -c 2 -i 0.3 -W 2 10.4.9.2; }
b_to_a() { g b ping -n -q -c 2 -i 0.3 -W 2 10.4.9.1; }
heard() { g "$1" "nstat -asz $2 | awk 'END { print \$2 }'"; }
# arrives WHO COUNTER CMD...: run CMD and ignore its status. Succeeds if COUNTER of WHO's kernel has grown by 2 or more
arrives() {
	local before
	before=$(heard "$1" "$2")
	"${@:3}"
	test "$(heard "$1" "$2")" -ge $((before + 2))
}
check "before: a reaches b" eventually 20 a_to_b
check "before: b reaches a" eventually 20 b_to_a
# b gets a permanent entry for a, because a's answer to an ARP request would be one of the lost packets.
g b "ip neigh replace 10.4.9.1 dev ib0 nud permanent lladdr $(g a cat /sys/class/net/ib0/address)"
check "a: echo connected" mode connected
check "connected: no unicast from a to b arrives" not a_to_b
check "connected: b's pings arrive at a" eventually 20 arrives a IcmpInEchos b_to_a
check "connected: a's answers do not" not b_to_a
check "connected: broadcasts of a arrive" eventually 20 arrives b IpExtInBcastPkts g a ping -n -b -q -c 2 -i 0.3 -W 1 10.4.255.255
check "connected: a reaches h1, whose address does not announce it" eventually 20 g a ping -n -q -c 2 -W 10 10.4.0.1
check "a: echo datagram" mode datagram
g b ip neigh del 10.4.9.1 dev ib0
check "datagram: a reaches b again" eventually 20 a_to_b

# --- hostile programs

hostile_ended() { g b grep -q '^status' /tmp/hostile; }
gb b /tmp/hostile "bash $PWD/tests/interop/linux/guest/verbs.sh $uib ${RANDOM_SECONDS:-4} ${KILLS:-20}; echo status \$?" >/dev/null
eventually $((($(stretch) * (300 + 2 * ${RANDOM_SECONDS:-4} + 5 * ${KILLS:-20})))) hostile_ended
g b cat /tmp/hostile >"$work/hostile"
grep -v '^status' "$work/hostile"
check "programs that mean harm: all of guest/verbs.sh" grep -qx 'status 0' "$work/hostile"
check "insmod again" g b "insmod $uib"
for n in a b; do check "$n: nothing in the kernel's log" vm_log_clean $n; done
finish
