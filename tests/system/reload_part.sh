#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The memory of the daemon is limited, so that a reload can add only some of the new interfaces. The next reload must begin with
# the interfaces that the instance has after the first reload.
. "$(dirname "$0")/lib.sh"
need ip jq prlimit
topo_ring 6 3 >"$work/lab.topo"

# If an instance has a terminal, SIGHUP ends it. So the lab gets a session of its own, which has no terminal.
lab_start() {
	setsid "${limit[@]}" "$UIPOIB" run -c "$work/lab.conf" -n "$inst" >>"$work/lab.log" 2>&1 &
	lab_pid=$!
	eventually 20 lab_answers
}
memory() { awk '/^VmSize/ { print $2 * 1024 }' "/proc/$(u -j instance show | jq '.instance[0].pid')/status"; }
# conf N: print the configuration of three hosts, in which h1 has an MTU of 1500 and h3 has interfaces uib1 to uibN
conf() {
	conf_hosts 3 | sed 's@^address = 10.4.0.1/16@&\nmtu = 1500@'
	for k in $(seq "$1"); do conf_iface "uib$k" 3 "address = 10.$((10 + k)).0.3/16"; done
}
own_mtu() { equal "$1" "$(u -j link show dev uib0@h1 | jq '.link[0].mtu')"; }
extra() { u -j link show | jq '[.link[] | select(.host == "h3" and .ifname != "uib0")] | length'; }

# Measure the memory that the 20 interfaces take without a limit, and from it compute a limit that leaves room for some of them.
limit=()
conf_hosts 3 >"$work/lab.conf"
lab_up
small=$(memory)
conf 20 >"$work/lab.conf"
check "without a limit all interfaces are added" eval 'u reload && equal 20 "$(extra)"'
large=$(memory)
lab_down

limit=(prlimit --as=$((small + (large - small) / 3)))
conf_hosts 3 >"$work/lab.conf"
lab_up
conf 20 >"$work/lab.conf"
check "with the limit a reload says that only a part was changed" refuse 1 'only a part was changed: interface uib[0-9]*@h3: ' u reload
check "the log says that, too, and not that nothing has changed" eventually 10 grep -q 'not reloaded: only a part was changed' "$work/lab.log"
added=$(extra)
check "some interfaces are there, and some are missing" eval '[ "$added" -gt 0 ] && [ "$added" -lt 20 ]'
check "the changed interface is replaced" eventually 20 own_mtu 1500
check "the next reload tries to add those that are missing" refuse 1 'only a part was changed: ' u reload
conf "$added" >"$work/lab.conf"
check "without them in the file it has nothing to do" equal "kept $((3 + added))" "$(u reload)"
conf_hosts 3 >"$work/lab.conf"
check "the former file takes all back" grep -q '^removed uib1@h3, .*; replaced uib0@h1 (mtu); kept 2$' <(u reload)
check "with the former MTU" eventually 20 own_mtu 2044
check "and no interface is left" equal 0 "$(extra)"
finish
