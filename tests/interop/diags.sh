#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# Debian's infiniband-diags and OpenSM, unmodified, work on the fabric of uipoib as on the fabric of ibsim. Each tool
# prints the same on both fabrics, except for the differences that doc/ibsim-differences.md lists with reasons. Tests
# that are impossible with ibsim follow: ports are disabled, enabled and retrained at another width, and counters grow.
#
#	NETS='net.1' tests/interop/diags.sh		run only the tools, on these nets
. "$(dirname "$0")/lib.sh"
. tests/interop/diags/commands.sh
need opensm ibsim ibnetdiscover smpquery perfquery python3
examples=/usr/share/doc/ibsim-utils/net-examples
nets=${NETS:-net net.2sw2path4hca2port}
compare=tests/interop/diags/compare.py
used=$work/used
: >"$used"

# Print a topology in which the ports support only the width and speed of their links. The SM enables every width and
# speed that a port supports. If it enabled higher speeds than a link uses, ibsim would change links that are already up.
net_topo() {
	case $1 in
	fat-tree) topo_fat_tree 4 | awk '
		/^(Switch|Hca)/ { core = $3 ~ /core/ }
		/^\[/ { $0 = $0 "\tw=3 s=7" (core || /core/ ? " e=3" : "") }
		{ print }' ;;
	*) cat "$examples/$1" 2>/dev/null || zcat "$examples/$1.gz" ;;
	esac
}

conf_bare() { printf '[fabric lab]\ntopology = lab.topo\nsm = external\nibsim = %s\nmtu = 2048\n' "$inst"; }

# ask WHERE NODE: run every command of $work/commands on NODE of the fabric WHERE (ibsim or lab), and keep the outputs
# in numbered files. A command that gets no answer is repeated, because libumad2sim may deadlock when a program ends
# after a time-out, and ibsim may be busy with a client that has ended.
ask() {
	local i=0 c dir=$work/out.$1 file try
	rm -rf "$dir" && mkdir "$dir"
	while read -r c; do
		i=$((i + 1))
		file=$dir/$(printf %05d $i)
		for try in 1 2 3; do
			printf '$ %s\n' "$c" >"$file"
			# shellcheck disable=SC2086
			on_sim "$1" "$2" timeout -k 1 60 $c </dev/null >>"$file" 2>&1
			# Status 124: timeout has ended the command by SIGTERM. Status 137: the command needed SIGKILL.
			# Status 139: the command crashed. ibqueryerrors crashes on ibsim now and then, and is repeated
			# there. A crash on the fabric of uipoib would be caused by a wrong answer, so a command that
			# crashes there is not repeated.
			[[ $1-$? =~ ^(ibsim-139|.*-124|.*-137)$ ]] || grep -q '^perfquery: .*classportinfo query' "$file" || break
			echo "# on $1, try $try: no answer to $c"
		done
	done <"$work/commands"
}

ibsim_osm=''
ibsim_up() {
	ibsim_start "$work/lab.topo" && osm_start ibsim "$1" && osm_wait_up || return 1
	ibsim_osm=$osm_pid osm_pid=''
	asked ibsim "$1" ibnetdiscover | diags_nodes >"$work/nodes"
	# In a large fabric, the commands about single nodes are run for every fourth node only.
	[ "$(grep -c . "$work/nodes")" -le 10 ] || sed -n -i '1~4p' "$work/nodes"
	diags_commands "$work/nodes" >"$work/commands"
}

lab_up_bare() {
	conf_bare >"$work/lab.conf"
	lab_start && osm_start lab "$1" && osm_wait_up
}

ask_both() {
	local pid
	ask ibsim "$1" &
	pid=$!
	ask lab "$1"
	wait $pid
	ask_late "$1"
}

# ask_late NODE: repeat the commands that timed out on only one of the two fabrics. The tools wait for a second or less,
# which may be too short on a busy machine. A command is not repeated if its time-out is one of the listed differences.
ask_late() {
	local try file c
	for try in 1 2 3 4 5; do
		for file in $(python3 $compare names "$work/out.ibsim" "$work/out.lab"); do
			c=$(sed -n '1s/^\$ //p' "$work/out.lab/$file")
			ask_again ibsim lab "$1"
			ask_again lab ibsim "$1"
		done
	done
}
# ask_again WHERE OTHER NODE: repeat command $c if it timed out on WHERE and not on OTHER
ask_again() {
	timed_out "$work/out.$1/$file" && ! timed_out "$work/out.$2/$file" || return 0
	echo "# on $1, try $try: too late an answer to $c"
	printf '$ %s\n' "$c" >"$work/out.$1/$file"
	# shellcheck disable=SC2086
	on_sim "$1" "$3" timeout -k 1 90 $c </dev/null >>"$work/out.$1/$file" 2>&1
}
timed_out() { grep -Eqi 'timed out|timeout|query failed' "$1"; }

all_down() {
	osm_stop
	osm_pid=$ibsim_osm
	osm_stop
	ibsim_osm=''
	lab_down
	ibsim_stop
}

for net in $nets; do
	net_topo "$net" >"$work/lab.topo"
	node=$(topo_hcas "$work/lab.topo" | head -1 | cut -d' ' -f1)
	check "$net: OpenSM on ibsim" ibsim_up "$node" && check "$net: OpenSM on our fabric" lab_up_bare "$node" && {
		lab_remember
		echo "# $(grep -c . "$work/commands") commands"
		ask_both "$node"
		check "$net: both OpenSMs are running still" eval 'kill -0 "$ibsim_osm" && kill -0 "$osm_pid"'
		check "$net: each command prints the same but for what is listed" \
			python3 $compare diff "$work/out.ibsim" "$work/out.lab" "$used"
	}
	all_down
done
[ -z "${NETS:-}" ] || finish
check "what is listed occurs, and has a reason" python3 $compare used "$used" "$(dpkg-query -Wf '${Version}' ibsim-utils)" doc/ibsim-differences.md

# --- behaviour that ibsim does not have. The lab has two hosts. OpenSM runs on Hca1. The tools run through
# libumad2sim.so, and works() also runs some tools through libuipoib-umad.so
#
#	h1, Hca1 --- 1 Switch1 3,5 === 3,5 Switch2 1 --- Hca2, h2

net_topo net.2sw2path | sed '/^\[/s/$/\tw=3/' >"$work/lab.topo"
conf_external "$work/lab.topo" "mtu = 2048" >"$work/lab.conf"
lab_start && osm_start lab Hca1 -s 0
check "the subnet is up" osm_wait_up || finish
check "two hosts are up" u wait --timeout $patience
lab_remember
t() { asked lab Hca1 "$@"; }
lid_of() { t smpquery -G nodeinfo "$1" | sed -n 's/^# Node info: Lid //p'; }
sw1=$(lid_of 0x200000) sw2=$(lid_of 0x200001) ca1=$(lid_of 0x100001) ca2=$(lid_of 0x100004)

all_lids() { for l in "$sw1" "$sw2" "$ca1" "$ca2"; do [ -n "$l" ] || return 1; done; echo "$sw1 $sw2 $ca1 $ca2"; }
check "GUIDs are resolved to LIDs" all_lids

# info LID PORT FIELD: print a field of PortInfo
info() { t smpquery portinfo "$1" "$2" | sed -n "s/^$3:\.*//p"; }
is() { equal "$3" "$(info "$1" "$2" "$4")"; }
counter() { t perfquery "$1" "$2" | sed -n "s/^$3:\.*//p"; }

# A second cable between Switch1 and Switch2 keeps all nodes reachable.
down=$(counter "$sw1" 5 LinkDownedCounter)
check "ibportstate disables a port" t ibportstate "$sw1" 5 disable
check "its cable is down at the other end" eventually 5 is "$sw2" 5 Down LinkState
check "which is polling" is "$sw2" 5 Polling PhysLinkState
check "it is disabled itself" is "$sw1" 5 Disabled PhysLinkState
check "LinkDowned has counted it" equal $((down + 1)) "$(counter "$sw1" 5 LinkDownedCounter)"
check "ibportstate narrows it to 1x" t ibportstate "$sw1" 5 width 1
check "ibportstate enables it" t ibportstate "$sw1" 5 enable
check "the manager makes it Active again" eventually 10 is "$sw2" 5 Active LinkState
check "at 1x, at both ends" equal "1X 1X" "$(info "$sw1" 5 LinkWidthActive) $(info "$sw2" 5 LinkWidthActive)"
check "ibportstate allows all widths" t ibportstate "$sw1" 5 width 255
check "that needs a retrain" is "$sw1" 5 1X LinkWidthActive
check "ibportstate resets it" t ibportstate "$sw1" 5 reset
wide() { is "$sw1" 5 4X LinkWidthActive && is "$sw2" 5 Active LinkState; }
check "now it is 4x and Active" eventually 10 wide

ping_1000() { x h1 ping -q -n -c "$1" -i 0.002 -W 2 -s 1000 10.4.0.2; }
check "h1 pings h2 with 1000 octets" eventually 15 ping_1000 1

# words LID PORT: print PortXmitData and PortRcvData of PortCountersExtended
words() { t perfquery -x "$1" "$2" | sed -nE 's/^Port(Xmit|Rcv)Data:\.*//p' | paste -sd' '; }
# all_words: print the counters of all ports. The queries always come in the same order, so the queries add the same
# number of words to the counters with and without pings.
all_words() {
	local p
	for p in "$ca1 1" "$sw1 1" "$sw1 3" "$sw1 5" "$sw2 3" "$sw2 5" "$sw2 1" "$ca2 1"; do
		# shellcheck disable=SC2086
		echo "$p $(words $p)"
	done
}
# minus A B: print the growth of the counters from file A to file B, one line per port
minus() { paste "$1" "$2" | awk '{ print $1 "/" $2, $7 - $3, $8 - $4 }'; }
two_ways() {
	# One cable between the switches carries the pings, and the other carries nothing. Each ping is 266 words in
	# each direction at each end of its cable
	paste "$work/idle" "$work/busy" | awk -v n="$1" -v sw1="$sw1" -v sw2="$sw2" '
		{ x = $5 - $2; r = $6 - $3; print $1, x, r
		  if ($1 == sw1 "/3" || $1 == sw1 "/5") { x1 += x; r1 += r }
		  else if ($1 == sw2 "/3" || $1 == sw2 "/5") { x2 += x; r2 += r }
		  else if (x != 266 * n || r != 266 * n) bad = 1 }
		END { exit bad || x1 != 266 * n || r1 != 266 * n || x2 != 266 * n || r2 != 266 * n }'
}
# keep_neigh HOST ADDR STATE: set the state of the host's neighbour entry for ADDR. While the state is permanent, the host
# sends no ARP request for ADDR
keep_neigh() {
	x "$1" ip neigh change "$2" dev uib0 lladdr "$(x "$1" ip -j neigh show "$2" | jq -r '.[].lladdr')" nud "$3"
}
# count_pings: succeeds if 20 pings change the counters by 20 packets more than the reading of the counters does. A membership
# report changes the counters, too, and so does a perfquery that is sent again. So callers repeat this measurement if it fails.
count_pings() {
	keep_neigh h1 10.4.0.2 permanent && keep_neigh h2 10.4.0.1 permanent || return 1
	all_words >"$work/w1"
	all_words >"$work/w2"
	ping_1000 20 || return 1
	all_words >"$work/w3"
	minus "$work/w1" "$work/w2" >"$work/idle"
	minus "$work/w2" "$work/w3" >"$work/busy"
	two_ways 20
}
check "a ping of 1000 octets is 266 words at every port of its way (perfquery -x)" eventually 300 count_pings
check "ARP asks again" eval 'keep_neigh h1 10.4.0.2 stale && keep_neigh h2 10.4.0.1 stale'

check "perfquery -R clears" t perfquery -R "$ca2" 1
check "and only what it was asked for" test "$(counter "$ca2" 1 PortXmitPkts)" -lt "$(t perfquery -x "$ca2" 1 | sed -n 's/^PortXmitPkts:\.*//p')"
corrupted() {
	u fabric fault add Switch2/1 corrupt 50% data >"$work/fault" && x h1 ping -q -n -c 20 -i 0.01 -W 1 10.4.0.2
	[ "$(counter "$ca2" 1 SymbolErrorCounter)" -gt 0 ] && [ "$(counter "$ca2" 1 PortRcvErrors)" -gt 0 ] &&
		t perfquery -E "$ca2" 1 | grep -Eq 'PortLocalPhysicalErrors:\.+[1-9]'
}
check "bit flips on a cable are symbol errors and receive errors" eventually 10 corrupted
check "ibqueryerrors finds them" not t ibqueryerrors --ca -s LinkDownedCounter
# cleared: succeeds if the counters stay 0 after they were cleared. The fault is removed first, because it also damages
# the hosts' own traffic, such as neighbour discovery, and would increase the counters again.
cleared() {
	u fabric fault clear && not t ibqueryerrors --ca -k && t ibqueryerrors --ca
}
check "ibqueryerrors -k clears them" cleared
check "ibping is answered by a switch" eventually 5 t ibping -c 2 "$sw2"
check "a combined route reaches the far switch" eventually 1 t smpquery -c nodeinfo "$sw1" 0,3

# works: succeeds if each command on standard input works through libuipoib-umad.so, too. A failed command is repeated,
# because its time-outs of a second or two may be too short on a busy machine.
works() {
	local c bad=0
	while read -r c; do
		eventually 5 prints $c && continue
		echo "$c: $(tail -1 "$work/x.out")"
		bad=1
	done
	return $bad
}
prints() { x h1 "$@" >"$work/x.out" 2>&1 </dev/null && [ -s "$work/x.out" ]; }
tools() {
	diags_fabric | grep -v 'ibnetdiscover -R\|ibrouters\|ibidsverify'
	cat <<-E
	ibstatus
	smpquery nodeinfo $sw1
	smpquery nodedesc $ca2
	smpquery portinfo $sw2 1
	smpquery switchinfo $sw2
	smpquery guidinfo $ca2
	smpquery pkeys $ca2
	smpquery sl2vl $sw1 1
	smpquery vlarb $sw1 1
	smpquery -D nodeinfo 0,1
	smpquery -c nodeinfo $sw1 0,3
	perfquery
	perfquery -x $ca2 1
	perfquery -a $sw1
	perfquery -l $sw1 1-3
	perfquery -c $sw1 1
	perfquery -E $sw1 1
	perfquery -D $sw1 1
	perfquery -X $sw1 1
	perfquery -S $sw1 1
	ibportstate $sw1 1 query
	ibtracert $ca1 $ca2
	ibroute $sw1
	ibping -c 1 $ca2
	smpdump $sw1 0x11
	E
}
check "every tool works through our own preload" works < <(tools)
osm_stop
finish
