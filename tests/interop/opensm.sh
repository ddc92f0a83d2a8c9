#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Debian's OpenSM, unmodified, brings up the fabric of uipoib as it brings up the fabric of ibsim. For each net and
# routing engine, OpenSM writes the same forwarding tables on both fabrics, and logs no error on the fabric of uipoib
# that it does not log on ibsim. Then all hosts of the fabric of uipoib can ping each other.
#
# On both fabrics OpenSM runs on the first HCA, through Debian's libumad2sim.so. The engines run one after the other on the
# same running fabric.
#
#	NETS='net.1 torus' ENGINES='minhop' tests/interop/opensm.sh
. "$(dirname "$0")/lib.sh"
need opensm ibsim flock
shopt -s extglob
examples=/usr/share/doc/ibsim-utils/net-examples
nets=${NETS:-net net.1 net.2sw2path net.2sw2path4hca net.2sw2path4hca2port torus broken}
# Each host subscribes to traps 66 and 67 (RFC 4391 section 10). So while all hosts join, the number of open Reports is the number
# of hosts multiplied by the number of groups. By default OpenSM tracks only 1000 open Reports.
export OSM_UMAD_MAX_PENDING=100000
engines=${ENGINES:-minhop updn ftree lash}
lab_conf=$work/lab.conf

# net_topo NET: write $work/lab.topo. The broken fabric is a fat tree from which the cables in $broken are
# removed.
broken='aggr0_0/3 edge1_0/3 aggr2_1/4'
net_topo() {
	case $1 in
	torus) topo_torus 4 4 2 ;;
	fat-tree) topo_fat_tree 8 ;;
	broken) topo_fat_tree 4 ;;
	*) zcat -f "$examples/$1"?(.gz) ;;
	esac >"$work/lab.topo"
}

cut_on_ibsim() {
	local p
	for p in $broken; do
		ibsim_cmd "Unlink \"${p%/*}\"[${p#*/}]"
	done
}

cut_on_lab() {
	local p
	for p in $broken; do
		u fabric link set "$p" down || return 1
	done
}

# keep ENGINE: store the files that OpenSM wrote in the last run on ibsim, for the comparison
keep() {
	mkdir -p "$work/ibsim.$1"
	cp "$osm_dir/opensm.fdbs" "$osm_dir/log.up" "$work/ibsim.$1/"
}

on_ibsim() {
	local net=$1 node=$2 e
	ibsim_start "$work/lab.topo" || { cat "$work/ibsim.log"; return 1; }
	[ "$net" != broken ] || cut_on_ibsim
	for e in $engines; do
		osm_start ibsim "$node" -R "$e"
		osm_wait_up || { tail "$osm_dir/log"; return 1; }
		osm_stop
		keep "$e"
	done
	ibsim_stop
}

same_tables() { diff "$work/ibsim.$1/opensm.fdbs" "$osm_dir/opensm.fdbs" | head -20 && cmp "$work/ibsim.$1/opensm.fdbs" "$osm_dir/opensm.fdbs"; }

# Lines that OpenSM logs on a fabric that carries data, but never on ibsim, which has no hosts:
# - ERR 3111 with status 0x1C: the first packet from a neighbour made an Armed port Active before Set(PortInfo Active)
#   arrived (IBTA 7.2.7). OpenSM logs this ("during ACTIVE transition") and continues.
# - Trap 144, which is not an error: IsSM of the previous OpenSM was cleared when that OpenSM ended. A port of uipoib
#   repeats the trap until an SM represses the trap, whereas ibsim sends the trap once, when there is no SM.
# - Errors about a host that asks too early. The host knows the SM's LID from the previous OpenSM. Before the first
#   sweep is over, the host requests a path or a group, or repeats trap 144. The new OpenSM then logs what it does not
#   know yet:
#   - the host's LID (ERR 7504),
#   - the host's port (ERR 3809 for a trap; for a request, the number depends on the attribute),
#   - a route to the host (ERR 1F07).
#   The host repeats its request. If the request is a subscription, ERR 4308 with the same LID follows ERR 7504. ERR
#   4308 for a LID without ERR 7504 before it is an error.
data_only='log_rcv_cb_error: ERR 3111: Received MAD with error status = 0x1C|log_trap_info: .* num:144 '
too_early='ERR 7504: Lid is out of range|ERR ....: Cannot find requester physical port|ERR 3809: Failed to find source physical port for trap|ERR 1F07: Dead end path'

same_errors() {
	awk -v early="$too_early" '
		/SUBNET UP/ { up = 1 }
		!up && /ERR 7504/ { unknown[$NF] = 1 }
		!up && $0 ~ early { next }
		!up && /ERR 4308: Subscribe Request from unknown LID/ && unknown[$NF] { next }
		{ print }' "$osm_dir/log.up" >"$osm_dir/log.known"
	diff <(osm_errors "$work/ibsim.$1/log.up") <(osm_errors "$osm_dir/log.known" | grep -Ev "$data_only")
}

on_lab() {
	local net=$1 node=$2 n=$3 e
	conf_external "$work/lab.topo" >"$lab_conf"
	check "$net: the lab starts" lab_start || return 1
	lab_remember
	[ "$net" != broken ] || check "broken: its links are cut" cut_on_lab
	for e in $engines; do
		osm_start lab "$node" -R "$e"
		check "$net, $e: the subnet is up" osm_wait_up
		check "$net, $e: all interfaces are up" u wait --timeout $patience
		check "$net, $e: all pairs of $n hosts ping" pairs "$n" 60
		osm_stop
		check "$net, $e: the forwarding tables are those on ibsim" same_tables "$e"
		check "$net, $e: its log has no errors but those on ibsim" same_errors "$e"
	done
	lab_down
}

neigh_limits_raise 128 || { skip "OpenSM" "the neighbour table's limits cannot be raised here"; finish; }
for net in $nets; do
	net_topo "$net"
	read -r node _ < <(topo_hcas "$work/lab.topo")
	n=$(topo_hcas "$work/lab.topo" | wc -l)
	start=$SECONDS
	check "$net: OpenSM runs on ibsim" on_ibsim "$net" "$node" &&
		on_lab "$net" "$node" "$n"
	echo "# $net: $n hosts, $((SECONDS - start)) s"
done
finish
