#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# A server answers questions about the groups of partitions by Service ID Resolution (SIDR;
# draft-pelissier-ipoib-encaparp-00, 6.2). The server is the node of the embedded SM or, under OpenSM, a host. Debian's
# saquery shows the server's ServiceRecord, and smpquery shows the bit IsCommunicationManagementSupported of the server's
# port.
#
#	h1: server	h2: saquery, smpquery	h3: OpenSM
. "$(dirname "$0")/lib.sh"
need opensm saquery smpquery jq
topo_ring 3 3 >"$work/lab.topo"
cap() { u -j fabric port show | jq -r --arg p "$1" '.port[] | select(.port == $p) | .cap_mask'; }
has_cm() { (($(cap "$1") & 0x10000)); } # IsCommunicationManagementSupported, bit 16
no_cm() { ! has_cm "$1"; }
smp_has_cm() { x h2 smpquery portinfo "$1" 1 | grep -q IsCommunicatonManagementSup; } # the misspelled name is smpquery's
records_are() { # N: succeeds if the SA has N ServiceRecords of SIDR servers
	x h2 saquery -t 60000 ServiceRecord >"$work/records" 2>&1 || { cat "$work/records"; return 1; }
	equal "$1" "$(grep -c "ServiceID\..*0x0200004942415250" "$work/records")"
}
lid_of() { x h2 saquery -t 60000 -l "Hca$1"; }

conf_hosts 3 "sidr-server = yes" >"$work/lab.conf"
check "with our subnet manager" eval 'lab_start && u wait --timeout $patience'
check "its node has a ServiceRecord" eventually 10 records_are 1
check "which names the service IBARP" eval "x h2 saquery -t 60000 ServiceRecord | grep -q IBARP"
check "the port of the node says that it has communication management" has_cm Switch1/0
check "a host's does not" no_cm Hca1/1
check "the lab ends" lab_down

conf_hosts 3 "sm = external" | sed '/^\[interface uib0@h1\]/a sidr-server = yes' >"$work/lab.conf"
check "OpenSM starts" eval 'lab_start && osm_start exec h3'
check "all interfaces are up" u wait --timeout $patience
check "P18: h1 has registered the ServiceRecord with OpenSM" eventually 20 records_are 1
check "its port says that it has communication management" eventually 10 has_cm Hca1/1
check "and smpquery sees that" eventually 10 smp_has_cm "$(lid_of 1)"
check "h2's does not" no_cm Hca2/1
osm_stop
check "another OpenSM starts" osm_start exec h3
check "all interfaces are up again" u wait --timeout $patience
check "h1 registers again" eventually 30 records_are 1
x h1 ip link set uib0 down
check "h1's interface goes down, and the record goes" eventually 20 records_are 0
check "as does the bit" eventually 10 no_cm Hca1/1
x h1 ip link set uib0 up
check "it comes back" eventually 30 records_are 1
osm_stop
check "the lab ends" lab_down
finish
