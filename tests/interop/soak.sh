#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all
#
# OpenSM sweeps each second while cables are pulled and plugged in. Afterwards all interfaces are up, and the daemon has
# leaked neither memory nor open files.
#
#	SOAK_SECONDS=600 tests/interop/soak.sh		(make soak; 60 in CI)
#
# The fabric is a ring of four switches with two hosts on each switch. Again and again, a random cable is pulled for
# some tenths of a second: a cable between switches, or a host's own cable. So ports go through all their states, and SA
# records come and go.
. "$(dirname "$0")/lib.sh"
need opensm shuf
seconds=${SOAK_SECONDS:-60}
hosts=8
topo_ring $hosts 4 >"$work/lab.topo"
conf_external "$work/lab.topo" >"$work/lab.conf"
cables='Switch1/4 Switch2/4 Switch3/4 Switch4/4 Hca2/1 Hca3/1 Hca5/1 Hca8/1'
seed=${SEED:-$$}
echo "# seed $seed"
RANDOM=$seed

lab_start || exit 1
osm_start lab Hca1 -s 1
check "OpenSM brings the interfaces up" u wait --timeout $patience
lab_remember
daemon=$(descendants "$lab_pid" | sed -n 2p)
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status"; }
fds() { ls "/proc/$daemon/fd" | wc -l; }
osm_alive() { kill -0 "$osm_pid"; }

flaps=0
flap() { # SECONDS: pull random cables and plug them in again for so long
	local until=$((SECONDS + $1)) c
	while [ $SECONDS -lt $until ]; do
		# shellcheck disable=SC2086
		c=$(printf '%s\n' $cables | sed -n "$((RANDOM % 8 + 1))p")
		u fabric link set "$c" down || return 1
		sleep 0.$((RANDOM % 4 + 1))
		u fabric link set "$c" up || return 1
		sleep 0.$((RANDOM % 3))
		flaps=$((flaps + 1))
	done
}

reach_all() { pairs $hosts 30; }
# all_up: succeeds if all interfaces are up. Otherwise prints the ports that OpenSM has not brought to Active, and the last
# lines of its log
all_up() {
	u wait --timeout $patience && return
	u fabric port show | grep -v -e ' Active ' -e ' Down '
	tail -60 "$osm_dir/log"
	return 1
}

check "cables flap for a while" flap $((seconds / 6 + 1))
check "all interfaces come back" all_up
check "all pairs of hosts ping" reach_all
before=$(rss) fds_before=$(fds)
check "they flap for the rest of $seconds s" flap $((seconds - seconds / 6))
check "all interfaces come back again" all_up
check "all pairs of hosts ping again" reach_all
check "OpenSM is alive" osm_alive
after=$(rss)
echo "# $flaps times a cable went out and in, $(grep -c 'SUBNET UP' "$osm_dir/log") sweeps; memory $before kB, then $after kB"
check "the daemon's memory did not grow" test "$after" -le $((before + 1024 + before / 50))
fds_are() { equal "$1" "$(fds)"; } # callers repeat this, because there is one more file while a client of the control socket ends
check "nor did its open files" eventually 10 fds_are "$fds_before"
check "no link lost a packet it did not count" equal 0 "$(u -j stats show | jq '[.stats[] | select(.counter == "drop_hop_limit") | .value] | add // 0')"
osm_stop
finish
