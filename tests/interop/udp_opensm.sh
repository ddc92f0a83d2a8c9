#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The SM is OpenSM on h1, and the HCA at the far end of the UDP link is examples/udp_peer.py. Neither of them is part of
# uipoib.
#
#	OpenSM on h1 -- Hca1 --+
#	                       Switch1 port 7 == UDP == udp_peer.py, 10.4.0.99
#	          h2 -- Hca2 --+
. "$(dirname "$0")/lib.sh"
need python3 ping opensm
peer=$PWD/examples/udp_peer.py

read -r here there < <(free_udp_ports 2)
conf_external "$PWD/examples/udp-link.topo" "" "[udp-link peer]" "port = fabric:lab/Switch1/7" \
	"listen = 127.0.0.1:$here" "peer = 127.0.0.1:$there" >"$work/lab.conf"
lab_start
port_is() { equal "$1" "$(u -j fabric port show Switch1/7 | jq -r '.port[0].state')"; }
# OpenSM logs an error for a request that is not answered within 800 ms. So the peer gets a higher priority, with which it answers at
# once even on a busy machine. If raising the priority is not permitted, nice runs the program with its
# normal priority.
background nice -n -15 "$peer" --listen "127.0.0.1:$there" --peer "127.0.0.1:$here" --guid 0xace0000000c099 \
	--address 10.4.0.99/16 >"$work/peer.log"
check "without an SM the link comes up, and the port stays Init" eventually 15 port_is Init

osm_start lab Hca1
check "OpenSM is master" osm_wait_up
check "it makes the port Active, and the peer joins" eventually 10 grep '^joined' "$work/peer.log"
check "Init, Armed, Active: the link does not drop meanwhile" equal "Init Armed Active " \
	"$(sed -n 's/^port //p' "$work/peer.log" | tr '\n' ' ')"
check "h2 is up" eventually 10 u wait --timeout 1
check "h2 pings it" eventually 5 x h2 ping -n -q -c 3 -i 0.1 -W 2 10.4.0.99
osm_stop
check "OpenSM's log has no errors" equal "" "$(osm_errors "$osm_dir/log.up" | grep -Ev 'log_trap_info')"
finish
