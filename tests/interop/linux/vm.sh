#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Tests the error messages of `uipoib vm`, the input and output of the command in the VM, and that nothing remains after
# `uipoib vm`. A VM takes about 10 s to boot on an emulated processor, so each VM serves many checks.
#
#	h1 10.4.0.1 --- 1 Switch1 --- ib0 10.4.0.100	 (its own fabric)
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64
unset UIPOIB_NAME
patience=120 # seconds for a VM to boot and run its command, on a busy machine

vm() { timeout $patience "$UIPOIB" vm "$@"; }

# --- a wrong argument or a missing file is reported before a VM boots

bad() { refuse "$1" "$2" vm "${@:3}" -- true; }
check "no such option" bad 2 "unrecognized option" --colour
check "a number of processors" bad 2 "--cpus '0': expected 1 to 64" --cpus 0
check "too little memory" bad 2 "--memory '64': .*at least" --memory 64
check "a share that is no folder" bad 2 "--share '/etc/passwd': expected a folder" --share /etc/passwd
check "a root that is no folder" bad 2 "--root '/etc/passwd': expected a folder" --root /etc/passwd
check "a root without programs" bad 2 "--root '/proc': .*no folder bin" --root /proc
mkdir -p "$work/root/bin"
check "a root without systemd" bad 3 "--systemd: $work/root/lib/systemd/systemd: No such file.*the package systemd has it" --root "$work/root" --systemd
check "an address without a length" bad 2 "--address '10.4.0.9'" --address 10.4.0.9
check "a GUID" bad 2 "--guid 'x'" --guid x
check "an accelerator" bad 2 "--accel 'fast': expected kvm or tcg" --accel fast
check "no such file" bad 2 "none.conf" -c "$work/none.conf"
check "an address without a GUID" bad 2 "udp:127.0.0.1:5001': guid is missing" --port udp:127.0.0.1:5001
check "an address and an instance" bad 2 "it leads to an address, expected no -n" -n x --port udp:127.0.0.1:5001,guid=0x2
check "an address that is not here" bad 3 "udp:127.0.0.1:5001: Cannot assign" --port udp:127.0.0.1:5001,guid=0x2,listen=192.0.2.1:1
check "no such instance" bad 2 "no instance 'nobody-$$'" -n "nobody-$$"
check "no such kernel" bad 3 "kernel /boot/vmlinuz-9.9: No such file" --kernel 9.9
check "a kernel that is none" bad 2 "not a Linux kernel" --kernel /etc/passwd
check "a module that is none" bad 3 "/etc/passwd: it is for kernel none" --module /etc/passwd
without_qemu() {
	mkdir -p "$work/bin"
	refuse 3 "qemu-system-x86_64 is missing: the package qemu-system-x86 has it" env PATH="$work/bin" "$UIPOIB" vm -- true
}
check "QEMU's package is named" without_qemu
check "another architecture" refuse 3 "this machine is i686: virtual machines run on x86-64 only" setarch i686 "$UIPOIB" vm -- true
without_module() { # runs a copy of the program from a folder that has no module
	mkdir -p "$work/away" && cp "$UIPOIB" "$work/away/"
	refuse 3 "no uib.ko for kernel .*make kmod" "$work/away/uipoib" vm -- true
}
[ -n "$(find /lib/modules -name 'uib.ko*' -print -quit)" ] || check "the way to the module is named" without_module
without_init() {
	local uib k
	uib=$(ls "$(dirname "$UIPOIB")"/kmod/*/uib.ko | sort -V | tail -1)
	k=${uib%/*}
	refuse 3 "uipoib-vm-init is missing" "$work/away/uipoib" vm --module "$uib" --kernel "${k##*/}" -n x -- true
}
check "a missing file of the program is named" without_init
check "help" eval 'u vm --help | grep -q "host h1 is 10.4.0.1, ib0 10.4.0.100"'

# --- a boot in which a processor hangs: the kernel panics, and the VM is booted once more

mkdir "$work/hangs"
cat >"$work/hangs/qemu-system-x86_64" <<-END
	#!/bin/sh
	echo boot >>$work/boots
	if [ \$(wc -l <$work/boots) -gt 1 ] && [ -e $work/mended ]; then
		exec $(command -v qemu-system-x86_64) "\$@"
	fi
	echo "Kernel panic - not syncing: softlockup: hung tasks" >&2
END
chmod +x "$work/hangs/qemu-system-x86_64"
hanging() { PATH="$work/hangs:$PATH" vm -d --accel tcg "$@"; }
not_for_ever() {
	refuse 1 "the VM ended before CMD did" hanging -- true && equal 3 "$(wc -l <"$work/boots")"
}
check "a VM that hangs in each boot is given up after the third" not_for_ever
rm "$work/boots" && touch "$work/mended"
after_hang() {
	hanging -- cat /proc/sys/kernel/softlockup_panic /proc/sys/kernel/randomize_va_space >"$work/out" 2>"$work/err" &&
		grep "a processor hung in the boot" "$work/err" && equal 0 "$(sed -n 1p "$work/out")" &&
		not grep "Unknown kernel command line" "$work/err"
}
check "a VM that hung is booted once more, and then a processor that runs late is no panic" after_hang
check "an emulated VM does not randomize addresses" equal 0 "$(sed -n 2p "$work/out")"

# --- the time of a boot

# time_to_ib0: print the state of ib0 that the command in a VM sees, and the tenths of a second until it was printed
time_to_ib0() {
	local began=${EPOCHREALTIME/./} state
	vm --accel tcg -- cat /sys/class/net/ib0/operstate | {
		read -r state
		echo "${state:-none} $(((${EPOCHREALTIME/./} - began) / 100000))"
		cat >/dev/null # until the VM has ended
	}
}
# A busy machine takes longer, so the bound is stretched, and the quickest of three boots counts.
boots_in_10_s() {
	local k state took bound
	for k in 1 2 3; do
		bound=$((10 * $(stretch)))
		read -r state took <<<"$(time_to_ib0)"
		echo "boot $k: ib0 is $state $((took / 10)).$((took % 10)) s after the command (bound: $bound s)" | tee -a "$work/boot-times"
		[ "$state" = up ] || return
		[ "$took" -gt $((bound * 10)) ] || return 0
	done
	return 1
}
check "an emulated VM has its ib0 within 10 s, on a machine that is not busy" boots_in_10_s
sed 's/^/# /' "$work/boot-times"

# --- one VM: input, output, environment, files, status

mkdir "$work/shared" "$work/plain"
echo before >"$work/plain/file"
cat >"$work/inside" <<'END'
set -u
say() { [ "$2" = 0 ] && echo "yes $1" >&3 || echo "no $1" >&3; }
exec 3>&1
moment() { echo "$(date +%s%N) $(echo >shared/$1) $(date +%s%N)"; } # print the times before and after the host has set the file's time
moment begin >shared/begins
cat $4 >shared/clocksource
[ "$(pwd)" = "$1" ]; say "the folder" $?
[ "$SPECIAL" = "a b
c" ]; say "the environment" $?
[ "$2" = "two words" ]; say "the arguments" $?
[ "$(id -u)" = 0 ]; say "root" $?
[ "$(cat)" = "$(seq 20000)" ]; say "the input" $?
[ "$(cat plain/file)" = before ]; say "files" $?
echo changed >plain/file && [ "$(cat plain/file)" = changed ]; say "files can be changed" $?
echo from-vm >shared/file; say "the share" $?
[ "$(cat /sys/class/net/ib0/type)" = 32 ]; say "ib0 is an InfiniBand interface" $?
[ "$(cat /sys/class/net/ib0/address | wc -c)" = 60 ]; say "with an address of 20 octets" $?
grep -q "4: ACTIVE" /sys/class/infiniband/uib0/ports/1/state; say "its port is active" $?
[ -c /dev/infiniband/umad0 ]; say "umad" $?
ping -q -c 3 -i 0.2 -W 5 10.4.0.1; say "ping" $?
ping -q -c 2 -i 0.2 -W 5 -M do -s 2016 10.4.0.1; say "a packet of the MTU" $?
ping -q -c 1 -W 5 8.8.8.8 2>&1 && false || true; say "no other network" $?
[ -z "$(ls -A /run/uipoib 2>/dev/null)" ]; say "sockets of the host are not there" $?
bash ./disturb 10.4.0.1 "$3"; say "the cable is out of reach" $?
moment end >shared/ends
sleep 1000 & # a background process does not delay the end
echo error >&2
seq 50000
exit 42
END
cat >"$work/disturb" <<'END'
# These commands change all interfaces that they see. They would break the HCA's link over UDP if they saw the Ethernet
# interface of this link
fail() { echo "# the cable: $*" >&3; exit 1; }
has_link() { # succeeds if five more keepalives arrive, which takes longer than the link's time-out of 3 s
	local n=$(($(rx) + 5)) tries=0
	until [ "$(rx)" -ge $n ]; do
		[ $((tries++)) -lt 100 ] || fail "no keepalives after: $1"
		sleep 0.1
	done
	[ "$(cat /sys/class/net/ib0/carrier_changes)" = "$changes" ] || fail "ib0 lost its carrier: $1"
}
rx() { sed -n 's/^rx_keepalives //p' /sys/kernel/debug/uib/uib0/stats; }
changes=$(cat /sys/class/net/ib0/carrier_changes)

[ "$(ls /sys/class/net | xargs)" = "ib0 lo" ] || fail "$(ip -br link)"
[ "$(ip -4 route | cut -d ' ' -f 1)" = 10.4.0.0/16 ] || fail "$(ip route)"
[ -z "$(ip netns list)$(ss -Huan)" ] || fail "$(ip netns list; ss -uan)"
nft -f - <<'NFT' || fail "nft"
table inet t {
	counter cable { }
	chain arriving {
		type filter hook input priority 0; policy drop
		udp dport 5001 counter name cable
		ct state new drop
	}
	chain leaving {
		type filter hook output priority 0; policy drop
		udp dport 5001 counter name cable
		ct state new drop
	}
}
NFT
ping -q -c 1 -W 1 "$1" >/dev/null 2>&1 && fail "the rules drop nothing"
for i in /sys/class/net/*; do
	ip addr flush dev "${i##*/}"
done
ip route flush table main
ip neigh flush all
has_link "nftables drops all packets, and all addresses, routes and neighbours are flushed"
nft list counter inet t cable | grep -q 'packets 0 ' || fail "$(nft list ruleset)"
nft flush ruleset
nsenter --net=/run/uipoib-vm/cable ip -br addr show eth0 | grep -q 192.0.2.2 || fail "its namespace has no name"
umount /run/uipoib-vm/cable
# The folder gets a new name, because the VM also sees the files of the host's /tmp.
all=$(mktemp -d)
printf '[Match]\nName=*\n[Network]\nAddress=10.4.0.100/16\n' >"$all/all.network"
bash "$2/tests/interop/linux/guest/networkd.sh" "$all" >"$all/log" 2>&1 &
for i in $(seq 300); do
	ping -q -c 1 -W 5 "$1" >/dev/null 2>&1 && break
	[ "$i" != 300 ] || fail "networkd: $(tail "$all/log")"
	sleep 0.2
done
has_link "networkd manages all interfaces"
END
seq 20000 >"$work/in"
before=$(date +%s%N) source=$PWD clocksource=/sys/devices/system/clocksource/clocksource0/current_clocksource
(cd "$work" && SPECIAL=$'a b\nc' exec timeout $patience "$UIPOIB" vm --share "$work/shared" -- bash ./inside "$work" "two words" "$source" $clocksource <in >out 2>err)
check "the status of the command" equal 42 $?
echo "# the whole of it in $((($(date +%s%N) - before) / 1000000)) ms"
for what in "the folder" "the environment" "the arguments" root "the input" files "files can be changed" "the share" \
	"ib0 is an InfiniBand interface" "with an address of 20 octets" "its port is active" umad ping "a packet of the MTU" \
	"no other network" "sockets of the host are not there" "the cable is out of reach"; do
	check "inside: $what" grep -qx "yes $what" "$work/out" || show=1
done
[ -z "${show:-}" ] || head -60 "$work/out" "$work/err" | grep -v '^[0-9]*$' | sed 's/^/# /'
check "the output, all of it" equal "$(seq 50000 | md5sum)" "$(tail -n 50000 "$work/out" | md5sum)"
check "standard error apart from it" equal error "$(cat "$work/err")"
check "what was written in the share is here" equal from-vm "$(cat "$work/shared/file")"
# Between two moments, the time that passes in the VM must be that of this machine, within 2 %: the guest may correct the rate of the TSC by 1 %.
same_time() {
	local b0 b1 e0 e1 here
	read -r b0 b1 <"$work/shared/begins" && read -r e0 e1 <"$work/shared/ends" || return 1
	here=$(($(stat -c %.9Y "$work/shared/end" | tr -d .) - $(stat -c %.9Y "$work/shared/begin" | tr -d .)))
	echo "$here ns here, between $((e0 - b1)) and $((e1 - b0)) there"
	[ $here -gt $(((e0 - b1) * 98 / 100)) ] && [ $here -lt $(((e1 - b0) * 102 / 100)) ]
}
check "the VM's time passes as fast as that of this machine" same_time
uses_tsc() { [ "$(cat $clocksource)" != tsc ] || equal tsc "$(cat "$work/shared/clocksource")"; }
check "the VM takes its time from the TSC, if this machine does" uses_tsc
check "what was written elsewhere is not" equal before "$(cat "$work/plain/file")"

# --- one VM with another root: a shell and a few programs of this machine, with the libraries that they need

mkdir "$work/root/etc"
for p in bash cat mkdir uname ip; do
	cp "$(command -v $p)" "$work/root/bin/"
	for l in $(ldd "$(command -v $p)" | grep -o '/[^ ]*'); do
		mkdir -p "$work/root${l%/*}" && cp -n "$l" "$work/root$l"
	done
done
echo other >"$work/root/etc/mark"
cat >"$work/shared/inside" <<'END'
cat /etc/mark
[ ! -e /etc/passwd ] || echo "a file of this machine"
pwd
[ -s /lib/modules/$(uname -r)/modules.dep ] && echo modules
ip -o link show ib0 | { read -r _ name _; echo $name; }
mkdir /etc/new && echo changed >/etc/mark && echo written
pwd >$1/where
END
other_root() { (cd "$1" && PATH=/bin exec timeout $patience "$UIPOIB" vm --root "$work/root" --share "$work/shared" -- bash "$work/shared/inside" "$work/shared"); }
check "another root: its files, the kernel's modules, ib0" equal $'other\n/\nmodules\nib0:\nwritten' "$(other_root "$work/plain" 2>"$work/err")"
check "another root: a share is written" equal / "$(cat "$work/shared/where")"
check "another root: it is not changed" equal "other" "$(cat "$work/root/etc/mark" && ls -d "$work/root/etc/new" 2>/dev/null)"

# --- two VMs are attached to a lab at the same time, each at its own port. kill -9 ends one VM, and SIGTERM the other

topo_ring 2 3 | sed 's/^Switch 3/Switch 6/' >"$work/lab.topo"
conf_hosts 2 >"$work/lab.conf"
export UIPOIB_NAME=$inst
lab_up
qemus() { # PID...: print the pids of the QEMU processes among the descendants of these processes
	local p
	for p in "$@"; do descendants "$p"; done | while read -r p; do
		[[ $(readlink "/proc/$p/exe") == *qemu-system* ]] && echo "$p"
	done
}
udp_ups() { equal "$1" "$(u -j fabric udp show | jq '[.udp[] | select(.state == "up")] | length')"; }
# The following two VMs run until they are killed below. The time-outs end the VMs if this script ends without
# killing them.
timeout 900 "$UIPOIB" vm --address 10.4.9.1/16 --port Switch2/4 --timeout 890 -- \
	sh -c 'echo up; sleep 1000' >"$work/one" 2>"$work/one.err" </dev/null &
one=$!
timeout 900 "$UIPOIB" vm -d --address 10.4.9.2/16 --address fd04::902/64 --guid 0x0200000000000902 -- \
	sh -c 'printf "\033]0;owned\007\n" >/dev/kmsg; hostname; cat /sys/class/infiniband/uib0/node_guid; for p in 10.4.9.1 10.4.0.2; do until ping -q -c 1 -W 5 $p; do sleep 0.2; done; done; echo up; sleep 1000' >"$work/two" 2>"$work/two.err" </dev/null &
two=$!
check "the first one is up" eventually $patience grep -qx up "$work/one"
check "the second one reaches it, and hosts" eventually $patience grep -qx up "$work/two"
check "hosts reach both" eventually 20 eval 'x h1 ping -q -c 2 -W 5 10.4.9.1 && x h2 ping -q -c 2 -W 5 10.4.9.2'
check "they are two links" eventually 20 udp_ups 2
escaped() { grep -qF '\x1b]0;owned\x07' "$work/two.err" && not grep -q $'[\001-\010\013-\037]' "$work/two.err"; }
check "control characters in the log of a VM do not reach the terminal" eventually 10 escaped
check "the port is the one that was asked for" eval 'u -j fabric udp show | jq -r ".udp[].port" | grep -qx Switch2/4'
check "the GUID is the one that was given" grep -qx 0200:0000:0000:0902 "$work/two"
check "it is called by its port" grep -qx vm-Switch1-4 "$work/two"
check "a port with a cable is refused" bad 2 "Switch2/4: it has a cable" --port Switch2/4
vms=$(qemus "$one" "$two")
check "there are two machines" equal 2 "$(wc -w <<<"$vms")"
for p in $vms $(descendants "$one") $(descendants "$two"); do lab_procs+=" $p:$(identity "$p")"; done
killed=$(pgrep -P "$two" -x uipoib) # the child of timeout(1)
kill -KILL "$killed"
wait "$two" 2>/dev/null
gone() { ! kill -0 "$1" 2>/dev/null; }
check "kill -9 ends its machine" eventually 10 eval '[ "$(for p in $vms; do kill -0 $p 2>/dev/null && echo $p; done | wc -l)" = 1 ]'
check "and frees its port at once" eventually 5 udp_ups 1
term=$(pgrep -P "$one" -x uipoib)
kill -TERM "$term" # `uipoib vm` passes the signal on to the command
check "a signal goes to the command: its status is 128 and that" eval "wait $one; equal 143 \$?"
no_link() { equal 0 "$(u -j fabric udp show | jq '.udp | length')"; }
check "no link is left" eventually 5 no_link
check "a time-out has status 4" refuse 4 "after [0-9]+ s: the VM " vm --timeout 2 -- true
on_terminal() { TERM=xterm timeout $patience script -qec "$UIPOIB vm --timeout 2 -- true" /dev/null </dev/null; }
check "a terminal shows the progress of the boot" refuse 4 $'\r\e\\[Kvm, [0-9]+ s: the VM ' on_terminal
check "and it is gone when the message comes" grep -q $'\r\e\\[Kuipoib: vm: after [0-9]* s: the VM ' "$work/refuse.out"
# Any client is allowed to ask the instance to attach a link. A wrong request gets an error and has no
# other effect.
cat >"$work/attach.py" <<'END'
import array, json, socket, sys

def ask(args, sock=None):
    c = socket.socket(socket.AF_UNIX)
    c.connect(sys.argv[1])
    line = json.dumps({"v": 1, "cmd": "fabric udp attach", "args": args}).encode() + b"\n"
    fds = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [sock.fileno()]))] if sock else []
    c.sendmsg([line], fds)
    answer = json.loads(c.makefile().readline())
    return answer["row"]["port"] if "row" in answer else answer["end"]["error"], c

def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 0))
    return s

right = {"name": "t", "peer": "127.0.0.1:9"}
bad = [
    (right, None, "expected a UDP socket"),
    (right, socket.socket(socket.AF_INET, socket.SOCK_STREAM), "Invalid argument"),
    (right, socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0], "Invalid argument"),
    (right, open("/dev/null"), "Invalid argument"),
    ({"name": "t"}, udp(), "expected a name and ADDR:PORT"),
    ({"name": "t", "peer": "127.0.0.1"}, udp(), "expected a name and ADDR:PORT"),
    ({"peer": "127.0.0.1:9"}, udp(), "expected a name and ADDR:PORT"),
    ({"name": 7, "peer": "127.0.0.1:9"}, udp(), "name"),
    (dict(right, fresh=7), udp(), "fresh"),
    (dict(right, port="Switch1/99"), udp(), "no such port"),
    (dict(right, port="Switch1/0"), udp(), "expected a free port"),
    (dict(right, port="Switch1/1"), udp(), "it has a cable"),
    (dict(right, port="Nobody/1"), udp(), "no such node"),
    (dict(right, fabric="none"), udp(), "none"),
]
for args, sock, want in bad:
    got, _ = ask(args, sock)
    assert want in got, (args, got)
held = []
while True: # until no port is free
    got, c = ask(right, udp())
    if "/" not in got:
        break
    held.append((got, c))
assert "none of its switches has a free port" in got, got
print(len(held), held[0][0])
END
attach_py() { equal "10 Switch1/4" "$(python3 "$work/attach.py" "$(lab_socket)")"; }
check "wrong requests for a link are refused, right ones get all free ports" attach_py
check "which are free again" eventually 5 no_link

# --- privileges: when `uipoib vm` makes a fabric of its own, it is the supervisor of an instance. Root starts one VM,
# and a user without privileges starts another VM.

unset UIPOIB_NAME
status() { awk -v key="$2:" '$1 == key { $1 = ""; print substr($0, 2) }' "/proc/$1/status"; }
daemon_of() { # PID: print the pid of the daemon, which is the parent of the helper among the descendants of this process
	local p
	for p in $(descendants "$1"); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != uipoib-helper ] || status "$p" PPid
	done
}
has_daemon() { [ -n "$(daemon_of "$1")" ] && [ -n "$(qemus "$1")" ]; }
has_status() { equal "$3" "$(status "$1" "$2")"; } # PID KEY VALUE: succeeds if /proc/PID/status has this value
root_of_daemon_is_empty() { equal "" "$(ls -A "/proc/$1/root/")"; }
unprivileged() { # WHO PID: succeeds if the daemon below process PID and QEMU have given up their privileges, as they do some time after their start
	local daemon caps
	check "$1: the VM boots beside its instance" eventually 60 has_daemon "$2"
	daemon=$(daemon_of "$2")
	for caps in CapInh CapPrm CapEff CapAmb; do
		check "$1: $caps of the daemon is empty" eventually 10 has_status "$daemon" $caps 0000000000000000
	done
	check "$1: it gains no privileges" eventually 10 has_status "$daemon" NoNewPrivs 1
	check "$1: its system calls are filtered" eventually 10 has_status "$daemon" Seccomp 2
	check "$1: its root directory is empty" eventually 10 root_of_daemon_is_empty "$daemon"
	check "$1: ps shows that it is not root" not equal root "$(ps -o user= -p "$daemon")"
	check "$1: QEMU has given up system calls" eventually 10 has_status "$(qemus "$2")" Seccomp 2
}
"$UIPOIB" vm -- sleep 1000 2>/dev/null &
own=$!
as_user=(env "XDG_RUNTIME_DIR=$work/run" HOME=/ setpriv --reuid 1001 --regid 1001 --clear-groups)
user=''
if "${as_user[@]}" unshare --user --net true 2>/dev/null; then
	chmod 755 "$work"
	mkdir -p "$work/program/kmod"
	cp "$UIPOIB" "${UIPOIB%/*}/uipoib-vm-init" "$work/program/"
	cp -r "${UIPOIB%/*}/kmod/." "$work/program/kmod/"
	mkdir -m 700 "$work/run" && chown 1001:1001 "$work/run"
	(cd / && exec "${as_user[@]}" timeout 600 "$work/program/uipoib" vm -- ping -q -c 2 -W 10 10.4.0.1) \
		>"$work/user.out" 2>&1 </dev/null &
	user=$!
fi
unprivileged "vm as root" "$own"
check "vm as root: the daemon is nobody" equal "65534 65534 65534 65534" "$(status "$(daemon_of "$own")" Uid | tr '\t' ' ')"
if [ -n "$user" ]; then
	unprivileged "vm as a user" "$user"
	check "vm as a user: the daemon is in a user namespace of its own" not equal "$(readlink /proc/self/ns/user)" \
		"$(readlink "/proc/$(daemon_of "$user")/ns/user")"
	check "vm as a user: its uids outside are the user's" equal "1001 1001 1001 1001" "$(status "$(daemon_of "$user")" Uid | tr '\t' ' ')"
	pinged() { wait "$user" && grep -q ' 2 received' "$work/user.out"; }
	check "vm as a user: ib0 works" pinged || sed 's/^/# /' "$work/user.out"
	check "vm as a user: the sockets are removed" equal "" "$(find "$work/run" -type s)"
else
	skip "vm as a user" "unprivileged user namespaces are not permitted"
fi

# Root's `uipoib vm` is killed while its VM boots or runs. QEMU and all processes of the instance must then end, too
for p in $(descendants "$own"); do lab_procs+=" $p:$(identity "$p")"; done
{ kill -KILL "$own" && wait "$own"; } 2>/dev/null
own_gone() {
	local p
	for p in $lab_procs; do
		[ "$(identity "${p%:*}")" != "${p#*:}" ] || descendants "$lab_pid" | grep -qx "${p%:*}" || { echo "$p"; return 1; }
	done
	equal '' "$(ls /run/uipoib | grep "^vm-$own\.")"
}
check "kill -9 of all its parts' parent ends them" eventually 10 own_gone
export UIPOIB_NAME=$inst
check "what the instance's log says is no error" eval "! grep -E 'error' '$work/lab.log'"
finish
