#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all waits
#
# `uipoib fabric check` and `uipoib check` find no fault in healthy fabrics. The embedded SM, or OpenSM with each of its routing
# engines, has programmed these fabrics. There are ten topologies: a fat tree, tori, a mesh, rings, a line, one switch, and HCAs
# with two ports.
# `uipoib fabric check` also finds no fault when it reads these fabrics from files of ibnetdiscover, dump_fts and OpenSM.
# In a running fabric, it finds the faults that the script makes.
#
#	FABRICS='opensm-lash ours-updn-ring' tests/interop/fabric_check.sh
. "$(dirname "$0")/lib.sh"
need opensm ibnetdiscover dump_fts jq python3
export OSM_UMAD_MAX_PENDING=100000
hosts=3

# topo_mesh X Y: print switches in a grid, each with a CA; ports 1 to 4 lead to the neighbours in +x, -x, +y and -y
topo_mesh() {
	awk -v X="$1" -v Y="$2" 'BEGIN {
		for (y = 0; y < Y; y++) for (x = 0; x < X; x++) {
			s = y * X + x + 1
			printf "Switch 5 \"Switch%d\"\n", s
			if (x + 1 < X) printf "[1] \"Switch%d\"[2]\n", s + 1
			if (y + 1 < Y) printf "[3] \"Switch%d\"[4]\n", s + X
			printf "[5] \"Hca%d\"[1]\n\n", s
		}
		for (s = 1; s <= X * Y; s++) printf "Hca 1 \"Hca%d\"\n\n", s
	}'
}

# topo_one HCAS: print one switch with HCAS HCAs. topo_rails HCAS: print HCAS HCAs with a port on each of two switches.
# Three cables connect these switches
topo_one() {
	awk -v n="$1" 'BEGIN {
		printf "Switch %d \"Switch1\"\n", n
		for (h = 1; h <= n; h++) printf "[%d] \"Hca%d\"[1]\n", h, h
		print ""
		for (h = 1; h <= n; h++) printf "Hca 1 \"Hca%d\"\n\n", h
	}'
}
topo_rails() {
	awk -v n="$1" 'BEGIN {
		for (s = 1; s <= 2; s++) {
			printf "Switch %d \"Switch%d\"\n", n + 3, s
			for (h = 1; h <= n; h++) printf "[%d] \"Hca%d\"[%d]\n", h, h, s
			for (k = 1; k <= 3; k++) printf "[%d] \"Switch%d\"[%d]\n", n + k, 3 - s, n + k
			print ""
		}
		for (h = 1; h <= n; h++) printf "Hca 2 \"Hca%d\"\n\n", h
	}'
}

# conf MANAGER [LINE...]: print a configuration with uib0 on the first HCAs
conf() {
	local i
	printf '[fabric lab]\ntopology = %s\n' "$work/lab.topo"
	[ "$1" != opensm ] || echo 'sm = external'
	shift
	[ $# = 0 ] || printf '%s\n' "$@"
	for ((i = 1; i <= hosts; i++)); do
		conf_iface uib0 $i "address = 10.4.0.$i/24"
	done
}

# The fabrics. Each line has a name, the command that makes the topology, the manager, and the manager's options
fabrics="
ours-minhop-fat-tree|topo_fat_tree 4|ours|
ours-updn-fat-tree|topo_fat_tree 4|ours|routing = updn
ours-ftree|topo_fat_tree 4|ours|routing = ftree
ours-updn-ring|topo_ring 8 7|ours|routing = updn
ours-updn-torus|topo_torus 4 4 1|ours|routing = updn
ours-updn-mesh|topo_mesh 4 3|ours|routing = updn
ours-updn-odd-torus|topo_torus 3 5 2|ours|routing = updn
ours-updn-two-cables|topo_torus 2 2 2|ours|routing = updn
ours-minhop-line|topo_mesh 9 1|ours|
ours-minhop-one-switch|topo_one 6|ours|
ours-minhop-rails|topo_rails 5|ours|
opensm-minhop|topo_fat_tree 4|opensm|-R minhop
opensm-updn|topo_torus 4 4 1|opensm|-R updn -a $work/roots
opensm-dnup|topo_fat_tree 4|opensm|-R dnup
opensm-ftree|topo_fat_tree 4|opensm|-R ftree
opensm-lash|topo_torus 4 4 1|opensm|-R lash
opensm-dor|topo_mesh 4 3|opensm|-R dor
opensm-dfsssp|topo_ring 8 7|opensm|-R dfsssp
opensm-sssp|topo_fat_tree 4|opensm|-R sssp
opensm-lash-ring-of-four|topo_ring 12 4|opensm|-R lash
opensm-minhop-line|topo_mesh 9 1|opensm|-R minhop
opensm-minhop-one-switch|topo_one 6|opensm|-R minhop
opensm-minhop-rails|topo_rails 5|opensm|-R minhop
opensm-torus-2QoS|topo_torus 4 4 1|opensm|-R torus-2QoS --torus_config $work/torus.conf -Q
"
printf '%s\n' 'torus 4 4 1' 'xp_link 0x200000 0x200001' 'xm_link 0x200000 0x200003' 'yp_link 0x200000 0x200004' 'ym_link 0x200000 0x20000c' >"$work/torus.conf"

echo 0x200000 >"$work/roots" # the GUID of the root for updn: updn finds no root in a torus by itself, and OpenSM would then use minhop

first_switch() { sed -n 's/^Switch[^"]*"\([^"]*\)".*/\1/p' "$work/lab.topo" | head -1; }

# bring_up NAME: start the lab with this fabric
bring_up() {
	local row make manager options
	row=$(grep "^$1|" <<<"$fabrics")
	IFS='|' read -r _ make manager options <<<"$row"
	$make >"$work/lab.topo"
	if [ "$manager" = ours ]; then
		conf ours ${options:+"$options"} >"$work/lab.conf"
		lab_start || return 1
	else
		conf opensm >"$work/lab.conf"
		lab_start || return 1
		# shellcheck disable=SC2086
		osm_start exec h1 $options
		osm_wait_up || { cat "$osm_dir/out"; return 1; }
		used_engine "$options" || return 1
	fi
	u wait --timeout $patience
}

# used_engine OPTIONS: succeeds if OpenSM has used the engine in OPTIONS. If this engine does not suit the topology, OpenSM uses
# minhop instead
used_engine() {
	local engine
	engine=$(sed 's/^-R \([^ ]*\).*/\1/' <<<"$1")
	grep "tables configured on all switches" "$osm_dir/log"
	grep -q "$engine tables configured" "$osm_dir/log"
}

# healthy CMD...: run CMD, which is a check of the fabric, and print what the check has found. Succeeds if the check's
# exit status is 0, the check has read the forwarding tables, and it has found no fault
healthy() {
	local status
	"$@" >"$work/report"
	status=$?
	jq -r '.check | "\(.switches) switches, \(.cas) CAs, \(.links) links", (.findings[] | "\(.severity) \(.kind) \(.where): \(.what)")' "$work/report"
	[ $status = 0 ] && jq -e '.check | .faults == 0 and .tables' "$work/report" >/dev/null
}

# healthy_ports: succeeds if `uipoib check` on each host finds no fault at the host's port and on the way to the
# next host
healthy_ports() {
	local i gid
	for ((i = 1; i <= hosts; i++)); do
		gid=$(x h$((i % hosts + 1)) cat /sys/class/infiniband/uipoib0/ports/1/gids/0)
		x h$i "$UIPOIB" -j check umad0 peer "$gid" >"$work/report" && jq -e '.check | .faults == 0 and .facts.peer' "$work/report" >/dev/null || { cat "$work/report"; return 1; }
	done
}

# no_note KIND: succeeds if the last report has no note of this kind
no_note() { jq -e --arg k "$1" '.check.findings | all(.kind != $k)' "$work/report" >/dev/null || { cat "$work/report"; return 1; }; }

whole() { equal "$(grep -Ec '^(Switch|Hca) ' "$work/lab.topo")" "$(jq '.check | .switches + .cas' "$work/report")"; }

# by_files: run the check on files that contain the output of ibnetdiscover and dump_fts
by_files() {
	x h2 ibnetdiscover >"$work/net" && x h2 dump_fts >"$work/lfts" && x h2 dump_fts -M >"$work/mfts" || return 1
	healthy u -j fabric check "$work/net" --tables "$work/lfts" --tables "$work/mfts"
}
by_dumps() {
	healthy u -j fabric check "$work/net" --tables "$osm_dir/opensm.fdbs" || return 1
	healthy u -j fabric check "$work/net" --tables "$osm_dir/opensm-lfts.dump" --tables "$osm_dir/opensm.mcfdbs"
}

for name in ${FABRICS-$(cut -s -d'|' -f1 <<<"$fabrics")}; do
	check "$name: the fabric comes up" bring_up "$name" || { osm_stop; lab_down; continue; }
	# The check is repeated, because hosts may still be joining groups, and because OpenSM answers a join before the
	# switches have the new tree.
	check "$name: no fault" eventually 20 healthy u -j fabric check --seconds 1
	check "$name: all nodes were read" whole
	case $name in *updn* | *ftree* | *dor) check "$name: not even a note about credit loops" no_note credit-loop-unless-lanes ;; esac
	check "$name: no fault seen from a switch" eventually 20 healthy u -j fabric check --at "$(first_switch)" --seconds 0
	check "$name: no fault at the ports of hosts" eventually 20 healthy_ports
	check "$name: no fault in what the tools print" eventually 20 by_files
	case $name in opensm*) check "$name: no fault in what OpenSM dumps" eventually 20 by_dumps ;; esac
	osm_stop
	lab_down
done
# --- faults in a running fabric. The fabric is a ring of four switches, with HcaN at port 1 of SwitchN. Port 3 of each
# switch leads to port 2 of the next one. OpenSM programs the ring, and ends before the script makes most of the faults.
# So no manager repairs these faults

[ -z "${FABRICS-}" ] || finish

topo_ring 4 4 >"$work/lab.topo"
patch() { x h1 python3 tests/interop/smp_patch.py "$@"; }
switch1=0,1 switch2=0,1,3 hca2=0,1,3,1
lid_of() { u -j fabric port show "$1/1" | jq '.port[0].lid'; }

# finds KIND REGEX [OPTION...]: succeeds if the check ends with status 1 and reports a fault of KIND whose
# text matches REGEX
finds() {
	local kind=$1 regex=$2 status
	shift 2
	u -j fabric check --at h1 "$@" >"$work/report"
	status=$?
	jq -r '.check.findings[] | "\(.severity) \(.kind) \(.where): \(.what)"' "$work/report"
	[ $status = 1 ] && jq -e --arg k "$kind" --arg r "$regex" '.check.findings | any(.kind == $k and .severity == "fault" and ("\(.where): \(.what)" | test($r)))' "$work/report" >/dev/null
}
# fresh: let OpenSM program the fabric again, and end OpenSM
fresh() { managed && osm_stop; }
# joined: succeeds if all interfaces are UP, which means that they have joined their groups. A new OpenSM has no
# multicast trees until interfaces join.
joined() { u -j link show | jq -e 'all(.link[]; .state == "UP")'; }
managed() {
	osm_start exec h1 -R updn -a "$work/roots" -s 0
	osm_wait_up && u wait --timeout $patience && eventually $patience joined && eventually $patience healthy u -j fabric check --at h1 --seconds 0
}
# On a torus with one virtual lane, routes with the least number of hops have a credit loop, under the embedded SM and
# under OpenSM. The check reads SLs and SLtoVL to find out that there is only one lane.
cp "$work/lab.topo" "$work/ring.topo"
topo_torus 4 4 1 >"$work/lab.topo"
for manager in ours opensm; do
	conf $manager >"$work/lab.conf"
	check "$manager, a torus comes up" lab_start
	if [ $manager = opensm ]; then
		osm_start exec h1 -R minhop
		check "OpenSM comes up" osm_wait_up
	fi
	check "$manager, all interfaces are up" u wait --timeout $patience
	check "$manager, minhop on a torus is a credit loop" eventually 20 finds credit-loop 'make [0-9]+ links wait for each other' --seconds 0
	osm_stop
	lab_down
done

mv "$work/ring.topo" "$work/lab.topo"
conf opensm >"$work/lab.conf"
check "the ring comes up" eval 'lab_start && fresh'
lid2=$(lid_of Hca2) lid4=$(lid_of Hca4)

check "an entry of an LFT is taken out" patch $switch1 0x19 0 "$lid2=255"
check "it is a hole" finds lft-hole "^Switch1: has no route to 1 LID: $lid2 \(Hca2/1\)" --seconds 0
check "it leads to a port without link" patch $switch1 0x19 0 "$lid2=0"
check "it is a dead end" finds lft-dead-end "^Switch1: .*port 0, the switch itself.*$lid2 \(Hca2/1\)" --seconds 0
check "two switches send to each other" eval "patch $switch1 0x19 0 $lid4=3 && patch $switch2 0x19 0 $lid4=2"
check "it is a loop" finds lft-loop "^Switch[12]/[23] > Switch[12]/[23]: .*$lid4 \(Hca4/1\)" --seconds 0
check "OpenSM repairs it" fresh

check "a switch forgets the groups" patch $switch2 0x1b 0 $(seq -f '%.0f=0' 0 63)
check "the tree has dead ends" finds mft-dead-end "^Switch1: sends MLID 0xc000 to port 3" --seconds 0
check "and falls into parts" finds mft-split "MLID 0xc000, but none of those" --seconds 0
check "OpenSM repairs that, and goes on" managed
knows_members() { u -j fabric check --at h1 --seconds 0 | jq -e .check.members; }
check "the members of groups are known" eventually 20 knows_members
# misses: clear a block of Switch2's MFT, and succeed if the check reports that the member Hca2/1 is not reached. If a
# host joins a group at this moment, OpenSM writes the MFT again, so callers repeat this function.
misses() {
	patch $switch2 0x1b 0 $(seq -f '%.0f=0' 0 63) && finds mft-misses-member "^Hca2/1: is a member" --seconds 0
}
check "a switch forgets the groups again, and a member misses packets" eventually 20 misses
osm_stop
check "OpenSM repairs that" fresh

# same_lid: give a port the LID of another port, and succeed if the check reports this. The LID is read again,
# because OpenSM may assign another LID each time it is started. If OpenSM changes the port again, callers repeat this
# function.
same_lid() {
	lid4=$(lid_of Hca4)
	patch $hca2 0x15 1 "16=$((lid4 >> 8))" "17=$((lid4 & 255))" 32=0 33=0 && equal "$lid4" "$(lid_of Hca2)" &&
		finds same-lid "has LID $lid4" --seconds 0
}
check "two ports have a LID, and it is found" eventually 20 same_lid
check "OpenSM repairs the LID" fresh

printf 'Default=0x7fff : ALL=full;\nBlue=0x8001 : "Hca2"=full;\n' >"$work/partitions.conf"
check "a P_Key is missing" finds pkey-missing '^Hca2/1: should be a full member of partition Blue' --seconds 0 --partitions "$work/partitions.conf"

check "a cable is plugged again, and there is no subnet manager" eval 'u fabric link set Switch3/1 down && u fabric link set Switch3/1 up'
check "the link is not Active" eventually 10 finds not-active '^Hca3/1: has a link, but its state is Initialize' --seconds 0
check "OpenSM brings it up, and goes on" managed

check "a cable damages packets" u fabric fault add Switch1/1 corrupt 30% data
bx h1 ping -q -i 0.01 10.4.0.2 >/dev/null 2>&1
check "a counter grows" eventually 20 finds counter-grows '^(Hca1/1|Switch1/1): within .* by [0-9]+' --seconds 3
kill_own $!
u fabric fault clear
osm_stop
lab_down
finish
