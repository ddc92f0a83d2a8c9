# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions for faults*.sh, sourced after lib.sh. tests/system/probe.c keeps traffic flowing between the VM "a" and hosts, and these functions
# measure how long the traffic takes to come back after a fault.
need python3
exec 3>&1
machine=8 # seconds by which a recovery may take longer on a busy machine with an emulated processor
probe=$TOOLS/probe
judge="python3 -B tests/interop/linux/probe_judge.py"

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }

# probe_vm PORT IF HOST4 HOST6: starts the VM's end of a probe. probe_host PORT IF VM4 VM6 CMD...: starts the host's
# end; CMD (such as "bx h1") runs a program in the host in the background
probe_vm() {
	gb a "/tmp/probe.$1" "rm -f /tmp/log.$1; exec $probe $1 $2 /tmp/log.$1 $3 $4" >/dev/null
	g a "until grep -qs start /tmp/log.$1; do sleep 0.1; done"
}
probe_host() { "${@:5}" $probe "$1" "$2" "$work/probe.$1" "$3" "$4" >"$work/probe.$1.out" 2>&1; }

# flows PORT KINDS: succeeds if traffic of these kinds flows now, and has flowed for a second
flows() { $judge "$work/probe.$1" "$2" "$(date -d "-1.5 seconds" +%s.%N)"; }

# carriers: print the number of times that the carrier of the VM's ib0 has changed. undisturbed PORT KINDS CARRIERS:
# succeeds if this number is still CARRIERS, and traffic flows
carriers() { g a cat /sys/class/net/ib0/carrier_changes; }
undisturbed() { equal "$3" "$(carriers)" && eventually 10 flows "$1" "$2"; }

# fault [-p PORT] WHAT KINDS STATED EFFECT CMD...: run CMD, which causes the fault. Then EFFECT must succeed, and
# traffic of KINDS must be back within STATED + $machine seconds. The time at which the traffic was back is read from
# the log of the probe, so slow programs that check for EFFECT do not count. On a busy machine $machine is multiplied by
# the factor by which all programs are slower (stretch in lib.sh).
fault() {
	local port=7790
	[ "$1" != -p ] || { port=$2; shift 2; }
	local what=$1 kinds=$2 stated=$3 effect=$4 start took back silence most
	shift 4
	most=$((stated + machine * $(stretch)))
	start=$(now)
	"$@" || return 1
	eventually $most "$effect" || return 1
	took=$(since "$start")
	judged() { $judge "$work/probe.$port" "$kinds" "$start" >"$work/judged"; }
	eventually $most judged || { echo "not back: $(cat "$work/judged")"; return 1; }
	read -r back silence kinds_back <"$work/judged"
	silence_seen=$silence
	echo "# $what: back after $back s (${kinds_back// /, }), longest silence $silence s, effect seen after $took s (stated: $stated s)" >&3
	awk -v got="$back" -v most=$most 'BEGIN { exit !(got <= most) }'
}

# --- a lab in which UDP links lead to the VM and to a host of another instance, so that a test can restart the fabric,
# the VM or the host alone.
#
#	h2 --- Switch2 --- Switch1 --- UDP --- relay --- UDP --- VM: ib0
#	          |
#	         UDP --- h3, an instance of its own

# The hosts are named namespaces, which outlive the instances, so that the probes continue.
spaces_del() { ip netns del "$inst-h2"; ip netns del "$inst-h3"; } 2>/dev/null

far_conf() { # [LINE]: write the configuration of the other instance, with LINE as one more line of its interface
	{
		printf '[interface uib0@h3]\nport = udp:127.0.0.1:%s,guid=0xace0000000c003,listen=127.0.0.1:%s\n' "$far_here" "$far_peer"
		printf 'netns = %s\naddress = 10.4.0.3/16\naddress = fd04::3/64\n%s\n' "$inst-h3" "${1:-}"
	} >"$work/far.conf"
}
far_answers() { uf instance show; } >/dev/null 2>&1
far_up() { far_start && eventually 20 far_answers && uf wait --timeout 30 && far_remember; } >>"$work/far.log" 2>&1

# boot: boots the VM "a". talk: starts the VM's ends of the probes, on port 7790 with h2 and on 7791 with h3
boot() {
	vm_start a --address 10.4.9.1/16 --address fd04::901/64 --port "udp:127.0.0.1:$vm_peer,guid=$guid,listen=127.0.0.1:$vm_far" &&
		vm_wait a
}
talk() {
	probe_vm 7790 ib0 10.4.0.2 fd04::2
	probe_vm 7791 ib0 10.4.0.3 fd04::3
}

restartable_lab() {
	read -r vm_here vm_relay vm_peer vm_far far_here far_peer < <(free_udp_ports 6)
	on_cleanup=spaces_del
	ip netns add "$inst-h2" && ip netns add "$inst-h3" || { echo "not ok - namespaces are made"; exit 1; }
	linux_topo 2 >"$work/lab.topo"
	{
		printf '[fabric lab]\ntopology = lab.topo\n'
		printf '\n[udp-link vm]\nport = fabric:lab/Switch1/3\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' "$vm_here" "$vm_relay"
		printf '\n[udp-link far]\nport = fabric:lab/Switch2/3\nlisten = 127.0.0.1:%s\npeer = 127.0.0.1:%s\n' "$far_here" "$far_peer"
		conf_iface uib0 2 "netns = $inst-h2" "address = 10.4.0.2/16" "address = fd04::2/64"
	} >"$work/lab.conf"
	far_conf
	relay_start 1 "$vm_here" "$vm_relay" "$vm_far" "$vm_peer"
	lab_up
	check "the far host comes up" far_up
	boot
	talk
	probe_host 7790 uib0 10.4.9.1 fd04::901 background ip netns exec "$inst-h2"
	probe_host 7791 uib0 10.4.9.1 fd04::901 background ip netns exec "$inst-h3"
	far_probe=$!
	check "traffic flows both ways" eventually 60 flows 7790 46m
	check "with the far host, too" eventually 60 flows 7791 46m
}

# memberships: print the groups of which the port with the GID $vm_gid is a full member in the records of the SA.
# knows_all: succeeds if the port is a full member of all groups in the file "wanted"
memberships() {
	x h2 saquery --smkey 1 MCMR | python3 -c '
import ipaddress, re, sys
vm, mgid, gid = ipaddress.ip_address(sys.argv[1]), None, None
for line in sys.stdin:
    name, _, value = line.strip().partition(".")
    value = value.lstrip(".")
    if name == "MGID":
        mgid = value
    elif name == "PortGid":
        gid = ipaddress.ip_address(value.split()[0])
    elif name == "JoinState" and gid == vm and re.search("0x1|FullMember", value):
        print(mgid)' "$vm_gid" | sort
}
knows_all() {
	memberships >"$work/known"
	comm -23 "$work/wanted" "$work/known" >"$work/missing"
	[ ! -s "$work/missing" ] || { echo "the SA does not know the VM in:"; cat "$work/missing"; return 1; }
}

# port_attr ATTRIBUTE: print an attribute of the VM's port as a decimal number. vm_pkeys: print its P_Key table
port_attr() { printf '%d\n' "$(g a cat "/sys/class/infiniband/uib0/ports/1/$1")"; }
vm_pkeys() { g a "cat /sys/class/infiniband/uib0/ports/1/pkeys/*"; }

# When a manager has ended, an OpenSM with this file takes over within the time P of doc/fidelity.md.
cat >"$work/osm.conf" <<-'END'
	sminfo_polling_timeout 1000
	polling_retry_number 3
	transaction_timeout 1000
END

vm_is() { g a "grep -q $1 /sys/class/infiniband/uib0/ports/1/state"; }
active() { vm_is ACTIVE; }
lladdr() { g a cat /sys/class/net/ib0/address; }
