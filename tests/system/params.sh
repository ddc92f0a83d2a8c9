#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The parameters of the driver of 2002 (H15, H17, H34), in the file and on the command line, which wins over it (H29).
. "$(dirname "$0")/lib.sh"
need ping ip
topo_ring 2 1 >"$work/lab.topo"
{
	printf '[fabric lab]\ntopology = lab.topo\n'
	conf_iface uib0 1 "address = 10.4.0.1/24" "tx-queue-len = 77" "rq-depth = 64" "mcast-timeout = 400" "mcast-retry-cnt = 3" \
		"path-timeout = 150" "debug = 3"
	conf_iface uib0 2 "address = 10.4.0.2/24"
} >"$work/lab.conf"

qlen() { x "$1" ip -j link show dev uib0 | jq -r '.[0].txqlen'; }
param() { u -j link show dev "uib0@$1" -d | jq -r ".link[0].params.$2"; }
params() { local k; for k in tx_queue_len rq_depth mcast_timeout_ms mcast_retry_cnt path_timeout_ms debug; do param "$1" $k; done | tr '\n' ' '; }
logged() { grep -q "debug: .*$1" "$work/lab.log"; }

lab_up
check "H17: the kernel has the queue length of the file" equal "77 1000" "$(qlen h1) $(qlen h2)"
check "H34: link show has the parameters of the file" equal "77 64 400 3 150 3 " "$(params h1)"
check "H34: and the defaults" equal "1000 4096 250 5 250 2 " "$(params h2)"
check "H34: link show -d prints them" grep -q rq_depth <(u -d link show dev uib0@h1)
check "H34: debug: the log has details of this interface" eventually 5 logged uib0@h1
check "H34: debug: and none of the other" not logged uib0@h2
check "ping" x h1 ping -n -c 3 -i 0.2 10.4.0.2
check "stop" lab_down

: >"$work/lab.log"
lab_up -o interface.tx-queue-len=55 -o interface:uib0@h2.debug=3 -o interface:uib0@h1.debug=1 -o interface:uib0@h1.rq-depth=128
check "H29: a setting of the command line wins over the file" equal "55 128 400 3 150 1 " "$(params h1)"
check "H29: for all interfaces, or for one" equal "55 4096 250 5 250 3 " "$(params h2)"
check "H29: it is the kernel's, too" equal "55 55" "$(qlen h1) $(qlen h2)"
check "H29: the details in the log are now those of the other interface" eventually 5 logged uib0@h2
check "and not those of the first" not logged uib0@h1
check "ping" x h1 ping -n -c 3 -i 0.2 10.4.0.2
check "stop" lab_down

r() { refuse 2 "$1" "$UIPOIB" run -c "$work/lab.conf" "${@:2}" -- true; }
check "H29: a wrong value is refused with the setting" r '^uipoib: -o interface.rq-depth=1: .*rq-depth: .1., expected 2-65536' -o interface.rq-depth=1
check "H29: a section that the file does not have" r '-o interface:uib7.mtu=1500: expected the name of a section' -o interface:uib7.mtu=1500
check "H29: no setting at all" r '-o mtu: expected SECTION' -o mtu
finish
