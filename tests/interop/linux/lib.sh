# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions for the tests with a stock Linux kernel, in addition to those of tests/interop/lib.sh. The functions make a
# lab whose switches have free ports, start VMs at these ports, and run commands in a VM while the script continues.
#
#	. "$(dirname "$0")/lib.sh"
#	linux_lab 2					h1 10.4.0.1, h2 10.4.0.2
#	vm_start a --address 10.4.9.1/16		the address of its ib0
#	vm_wait a
#	check "h1 is reached" g a ping -c 1 10.4.0.1
#	pid=$(gb a /tmp/log tcpdump -ni ib0)		in the background of the VM; then g a kill $pid, g a cat /tmp/log
#	check "a pipe" g a 'ip -o link | grep -c infiniband'
#	vm_stop a
#	finish
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
need qemu-system-x86_64
declare -A vm_pid vm_in vm_daemon
host_prefix=() # words that at() and start_at() put before a program of a host, such as chroot
vm_patience=${vm_patience:-120} # seconds for a boot, and for one command, on an emulated processor of a busy machine

patience=$vm_patience
# Pauses between attempts are longer than elsewhere, because each attempt in a VM starts a process, which takes a tenth of a
# second on an emulated processor.
pauses=(0.05 0.05 0.05 0.1 0.1 0.2 0.4)

# linux_topo HOSTS: prints a topology with HcaN on Switch1 and Switch2 in turns. In addition each switch has 4 free
# ports; VMs use those of Switch1 first
linux_topo() {
	awk -v hosts="$1" 'BEGIN {
		n = int((hosts + 1) / 2)
		for (s = 1; s <= 2; s++) {
			printf "Switch %d \"Switch%d\"\n[%d] \"Switch%d\"[%d]\n", n + 5, s, n + 5, 3 - s, n + 5
			for (h = s; h <= hosts; h += 2) printf "[%d] \"Hca%d\"[1]\n", int((h + 1) / 2), h
			print ""
		}
		for (h = 1; h <= hosts; h++) printf "Hca 1 \"Hca%d\"\n[1] \"Switch%d\"[%d]\n\n", h, 2 - h % 2, int((h + 1) / 2)
	}'
}

# linux_lab HOSTS [LINE...]: starts a lab with the topology of linux_topo; LINEs are added to its section [fabric lab]
linux_lab() {
	linux_topo "$1" >"$work/lab.topo"
	conf_hosts "$@" >"$work/lab.conf"
	lab_up
}

# vm_start NAME [OPTION...]: starts `uipoib vm` with these options, attached to the lab; the kernel's log is in $work/NAME.err
vm_start() {
	local name=$1 in
	shift
	rm -f "$work/$name".*
	mkfifo "$work/$name.in"
	: >"$work/$name.out"
	exec {in}<>"$work/$name.in"
	vm_in[$name]=$in
	"$UIPOIB" vm -d "$@" -- /usr/bin/python3 -IS "$PWD/tests/interop/linux/guest/agent.py" \
		<"$work/$name.in" >"$work/$name.out" 2>"$work/$name.err" {in}>&- &
	vm_pid[$name]=$!
}

# vm_wait NAME...: waits until these VMs have booted and their ib0 is up. The script ends if a VM
# fails to boot
vm_wait() {
	local name p
	for name; do
		if ! g "$name" true; then
			echo "not ok - VM $name boots"
			tail -40 "$work/$name.err" | sed 's/^/#   /'
			exit 1
		fi
		for p in $(descendants "${vm_pid[$name]}"); do
			lab_procs+=" $p:$(identity "$p")"
		done
	done
}

# vm_ibtap NAME LINE...: replaces uib.ko and the kernel's IPoIB in the VM by uipoib with a device of ibtap.ko. Then ib0 is
# an interface of uipoib at the same cable. The LINEs are added to the section of ib0 in uipoib's configuration. The VM
# needs `--share "$work"`. vm_port NAME prints the key `port` of ib0, for other sections of this configuration.
# uipoib opens ib0 and the UDP link in one network namespace. So vm_ibtap moves the Ethernet interface that leads to the
# fabric to the VM's first namespace. There vm_ibtap adds the neighbour entry for 192.0.2.1 again, because nobody answers
# ARP.
vm_port() { printf 'port = udp:192.0.2.1:5001,guid=0x0002c9030000%s,listen=192.0.2.2:5001' "$(printf %04x "'$1")"; }
vm_ibtap() {
	local name=$1 cable=/run/uipoib-vm/cable
	shift
	{
		printf '%s\n' '[interface ib0]' "$(vm_port "$name")" 'netdev = ibtap' "$@"
	} >"$work/$name.conf"
	g "$name" "set -e
		insmod ${UIPOIB%/*}/kmod/\$(uname -r)/ibtap.ko
		[ ! -d /sys/class/net/eth0 ] || exit 0 # moved by an earlier call
		echo uib0 >/sys/module/uib/parameters/remove
		host=\$(nsenter --net=$cable ip neigh show 192.0.2.1 dev eth0 | cut -d ' ' -f 3)
		nsenter --net=$cable ip link set eth0 netns 1
		echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
		ip addr add 192.0.2.2/30 dev eth0; ip link set eth0 up; ip neigh replace 192.0.2.1 lladdr \$host nud permanent dev eth0" || return 1
	start_at "$name" "$work/$name.uipoib" "$UIPOIB" run -c "$work/$name.conf" -n "$name"
	vm_daemon[$name]=$started
	eventually 30 g "$name" "$UIPOIB" -n "$name" wait --timeout 20 || { cat "$work/$name.uipoib"; return 1; }
	eventually 20 not_tentative "$name"
}

# not_tentative NAME: succeeds if no IPv6 address of the VM is tentative. An address is tentative for a second or two,
# until duplicate address detection has ended. If all addresses are tentative, Linux sends from ::1, and the receiver
# drops such packets.
not_tentative() { [ -z "$(g "$1" ip -6 -o addr show tentative)" ]; }

# g NAME CMD...: runs CMD in the VM; prints its output and its errors, and returns its status. A single argument is a script for
# bash. Any number of commands may run at a time.
g() {
	local name=$1 cmd=${2-}
	shift
	[ $# = 1 ] || cmd=${*@Q}
	"$TOOLS/vm_ask" "$name" "${vm_pid[$name]}" "${vm_in[$name]}" "$work/$name.out" "$vm_patience" "$cmd"
}

# gb NAME FILE CMD...: runs CMD in the background of the VM, and prints its pid. The output of CMD goes to FILE in the VM.
# gb removes the old content of FILE before it starts CMD
gb() {
	local name=$1 file=$2 cmd=${3-}
	shift 2
	[ $# = 1 ] || cmd=${*@Q}
	g "$name" ": >$file; bash -c ${cmd@Q} >$file 2>&1 & echo \$!"
}

# --- a PLACE is a VM, by its name, or a host of the lab. The VM needs `--share "$work"`.

is_vm() { [ -n "${vm_pid[$1]:-}" ]; }

# at PLACE PROGRAM ARG...: runs a program at a place
at() {
	local place=$1
	shift
	if is_vm "$place"; then g "$place" "${*@Q}"; else x "$place" "${host_prefix[@]}" "$@"; fi
}

# start_at PLACE FILE PROGRAM ARG...: runs a program in the background at a place, with its output in FILE of this
# machine; $started is its pid
start_at() {
	local place=$1 file=$2
	shift 2
	: >"$file"
	if is_vm "$place"; then
		started=$(gb "$place" "$file" "exec ${*@Q}")
	else
		bx "$place" "${host_prefix[@]}" "$@" >"$file" 2>&1
		started=$!
	fi
}

# end_at PLACE PID [SIGNAL]: sends SIGNAL (default: TERM) to a process at a place, and waits until
# the process has ended
end_at() {
	if is_vm "$1"; then
		g "$1" "kill -${3:-TERM} $2; while kill -0 $2; do sleep 0.05; done"
	else
		kill "-${3:-TERM}" "$2" && wait "$2"
	fi
	return 0
} >/dev/null 2>&1

# iface PLACE: print the name of the IPoIB interface of PLACE
iface() { if is_vm "$1"; then echo ib0; else echo uib0; fi; }

# reach PLACE OPTION... ADDRESS: pings ADDRESS from PLACE until it answers. On a busy machine a VM may take more than 3 s to answer ARP, and
# after this time a kernel gives up a neighbour
reach() { eventually 20 at "$1" ping -n -c 2 -i 0.2 -W 10 "${@:2}"; }

# says REGEX CMD...: succeeds if the output of CMD matches REGEX; the status of CMD is ignored
says() {
	local out
	out=$("${@:2}" 2>&1)
	grep -Eq -- "$1" <<<"$out" || { echo "expected: $1"; echo "got: $out"; return 1; }
}

# right_tcp FROM TO, right_udp FROM TO: send 2 MB by TCP, or 200 datagrams of the link's MTU, to the address ip4[TO].
# The data that arrives must be undamaged; the receiver compares it, because checksums may miss damage. A loss of
# datagrams is no failure, because the processor is slow.
right_tcp() {
	start_at "$2" "$work/flow.$2" $integrity tcp-recv "${ip4[$2]}" 7777
	eventually $vm_patience grep -q ready "$work/flow.$2" && at "$1" $integrity tcp-send "${ip4[$1]}" 7777 "${ip4[$2]}" 2000000
}
right_udp() {
	local size=$(($(at "$1" cat "/sys/class/net/$(iface "$1")/mtu") - 28))
	start_at "$2" "$work/flow.$2" $integrity udp-recv "${ip4[$2]}" 7777
	eventually $vm_patience grep -q ready "$work/flow.$2" || { echo "the receiver does not start"; return 1; }
	at "$1" env PACE=0.002 $integrity udp-send "${ip4[$1]}" 7777 "${ip4[$2]}" 200 $size && fence "$1" "$2"
	end_at "$2" "$started"
	cat "$work/flow.$2"
	tail -1 "$work/flow.$2" | jq -e '.corrupt == 0 and .different >= 50'
}

# both_ways CMD A B: runs CMD A B and CMD B A at the same time
both_ways() {
	local pid status=0
	"$1" "$2" "$3" &
	pid=$!
	"$1" "$3" "$2" || status=1
	wait $pid && return $status
}

# fence FROM TO...: wait until the packets that FROM has sent so far have arrived at each TO or are lost, by sending a
# ping after them
fence() {
	local to
	for to in "${@:2}"; do
		reach "$1" "${ip4[$to]}" >/dev/null || { echo "$1 does not reach $to"; return 1; }
	done
}

# sa_members MGID: prints the members of a group according to the SA, one "PORT:JOIN" in a line; prints nothing if
# there is no such group
sa_members() { u -j fabric group show -d | jq -r --arg m "$1" '.group[] | select(.mgid == $m) | .members[] | "\(.port):\(.join)"'; }

# sa_gone MGID: succeeds if the SA has no such group
sa_gone() { u -j fabric group show | jq -e --arg m "$1" 'all(.group[]; .mgid != $m)'; }

# vm_stop NAME: ends a VM by ending its command; returns its exit status
vm_stop() {
	local in=${vm_in[$1]} status
	echo end >&"$in"
	exec {in}>&-
	wait "${vm_pid[$1]}"
	status=$?
	return $status
}

# vm_kill NAME: ends a VM by kill -9 of `uipoib vm`
vm_kill() {
	local in=${vm_in[$1]}
	{ kill_own -KILL "${vm_pid[$1]}" && wait "${vm_pid[$1]}"; } 2>/dev/null
	exec {in}>&-
}

# vm_log_clean NAME: succeeds if the kernel's log has no warning, oops or lockdep report
vm_log_clean() {
	not grep -E -A 20 'WARNING:|BUG:|Oops|general protection|Call Trace|refcount_t|possible .* deadlock|KASAN|list_(add|del) corruption|hung_task|blocked for more than' "$work/$1.err"
}
