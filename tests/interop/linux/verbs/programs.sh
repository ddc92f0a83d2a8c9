# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions that run Debian's unmodified programs for verbs on /dev/infiniband/uverbs0 of uib.ko in two VMs. Each script
# that uses them runs the programs of one release of Debian. These scripts source this file after
# tests/interop/linux/lib.sh.
#
#	root=DIR			the root file system in which the programs are; empty: this machine's
#	programs_start			a lab, and VMs whose ib0 has 10.4.9.1 (a) and 10.4.9.2 (b)
#	programs_run 'VERSION...'	all checks; the versions are those of rdma-core and perftest that have been tried
root=''

programs_start() {
	local of_root=() n
	[ -z "$root" ] || of_root=(--root "$root" --share "$PWD")
	linux_lab 1
	vm_start a --address 10.4.9.1/16 --port Switch1/2 "${of_root[@]}"
	vm_start b --address 10.4.9.2/16 --port Switch1/3 "${of_root[@]}"
	vm_wait a b
	for n in a b; do check "$n: modprobe rdma_ucm" g $n modprobe rdma_ucm; done
}

# pair NAME SERVER CLIENT: run SERVER in a. Run CLIENT in b again and again until it succeeds, because it fails before
# SERVER listens. Their output is in $work/NAME.a and $work/NAME.b. If one of the two fails, both run again, up to three
# times in all. The reason is a busy machine: when it gives a VM no CPU time, datagrams are lost, and a program waits
# for ever for a lost datagram.
pair() { pair_once "$@" || pair_once "$@" || pair_once "$@"; }
pair_once() {
	local name=$1 pid client
	pid=$(gb a "/tmp/$name" "$2; echo status \$?")
	client() { g b "$1" >"$work/$name.b" 2>&1; }
	eventually 30 client "timeout $((vm_patience / 2)) $3"
	client=$?
	server_ended() { g a cat "/tmp/$name" >"$work/$name.a" && grep -q '^status' "$work/$name.a"; }
	eventually 30 server_ended || g a pkill -P "$pid"
	[ $client = 0 ] && grep -qx 'status 0' "$work/$name.a" || { cat "$work/$name".[ab]; return 1; }
}
both_say() { says "$2" cat "$work/$1.a" && says "$2" cat "$work/$1.b"; }

# unmodified PACKAGE PROGRAM...: succeeds if the programs belong to the package, no file of the package was changed, and
# the package's version is one of $tried
unmodified() {
	local version p file
	version=$(dpkg-query --root="${root:-/}" -W -f '${Version}' "$1") || return 1
	echo "# $1 $version" >&3
	for p in "${@:2}"; do
		file=$(PATH=$root/usr/sbin:$root/usr/bin command -v "$p")
		dpkg-query --root="${root:-/}" -S "${file#"$root"}" | grep -q "^$1[:,]" || { echo "$p is not of $1"; return 1; }
	done
	equal "" "$(dpkg --root="${root:-/}" -V "$1")" && [[ " $tried " == *" $version "* ]] || { echo "$1 $version; tried: $tried"; return 1; }
}
exec 3>&1 # check() redirects the output of its command

devinfo() {
	local want gid
	for want in 'hca_id:	uib0' 'transport:.*InfiniBand' 'max_qp:.*	256$' 'max_srq:.*	0$' 'max_mw:.*	0$' 'atomic_cap:.*NONE' \
		'state:.*PORT_ACTIVE' 'active_mtu:.*4096' 'link_layer:.*InfiniBand' 'pkey_tbl_len:.*	64$' 'gid_tbl_len:.*	32$' \
		"port_lid:.*	$(lid_of_a)$" 'fw_ver:.*1\.0\.0'; do
		grep -q "$want" "$work/devinfo" || { echo "not there: $want"; return 1; }
	done
	gid=$(g a cat /sys/class/infiniband/uib0/ports/1/gids/0)
	grep -q "GID\[  0\]:.*$gid" "$work/devinfo"
}
lid_of_a() { g a 'echo $(($(cat /sys/class/infiniband/uib0/ports/1/lid)))'; }
joins() { # run mckey at both ends. The sender begins when the receiver is a member. The receiver waits for 10 messages, some of which may be lost
	local mckey=$work/mckey pid
	pid=$(gb a /tmp/mckey "stdbuf -oL mckey -m 239.1.2.3 -b 10.4.9.1; echo status \$?")
	eventually 30 g a grep -q 'receiving data' /tmp/mckey || return 1
	received() { g a cat /tmp/mckey >"$mckey.a" && grep -qx 'status 0' "$mckey.a"; }
	sends() { g b "timeout $vm_patience mckey -m 239.1.2.3 -b 10.4.9.2 -s" >"$mckey.b" && within 10 received; }
	eventually 30 sends || { g a pkill -P "$pid"; cat "$mckey".[ab]; return 1; }
}
watched() { # ibv_asyncwatch must report that a's port goes Down, and that it is Active again
	local pid
	pid=$(gb a /tmp/watch "stdbuf -oL ibv_asyncwatch -d uib0")
	eventually 30 g a grep -q 'async event FD' /tmp/watch
	u fabric link set Switch1/2 down
	check "ibv_asyncwatch: the port's end" eventually 30 g a grep -q 'IBV_EVENT_PORT_ERR' /tmp/watch
	u fabric link set Switch1/2 up
	check "and its return" eventually 30 g a grep -q 'IBV_EVENT_PORT_ACTIVE' /tmp/watch
	g a kill "$pid"
}

programs_run() {
	tried=$1
	check "ibverbs-utils: unmodified, a version that was tried" unmodified ibverbs-utils ibv_devinfo ibv_ud_pingpong ibv_asyncwatch
	check "rdmacm-utils: unmodified, a version that was tried" unmodified rdmacm-utils udaddy mckey
	check "perftest: unmodified, a version that was tried" unmodified perftest ib_send_bw ib_send_lat
	check "infiniband-diags: unmodified, a version that was tried" unmodified infiniband-diags ibstat saquery
	check "ibverbs-providers: unmodified, a version that was tried" unmodified ibverbs-providers
	g a ibv_devinfo -v >"$work/devinfo"
	check "ibv_devinfo -v" devinfo
	check "ibstat" says "^[[:space:]]*Base lid: $(lid_of_a)$" g a ibstat uib0 1
	check "its state" says "^[[:space:]]*State: Active$" g a ibstat uib0 1
	check "saquery: the port's NodeRecord" says "lid\\.+$(lid_of_a)$" g a saquery -t 10000 NR "$(lid_of_a)"
	check "ibv_ud_pingpong" pair pingpong "ibv_ud_pingpong -n 200" "ibv_ud_pingpong -n 200 10.4.9.1"
	check "its 200 rounds" both_say pingpong "^200 iters in"
	check "ibv_ud_pingpong, with completion events" pair events "ibv_ud_pingpong -e -n 100" "ibv_ud_pingpong -e -n 100 10.4.9.1"
	check "its 100 rounds" both_say events "^100 iters in"
	check "ib_send_bw -c UD" pair bw "ib_send_bw -c UD -n 100 -s 2048" "ib_send_bw -c UD -n 100 -s 2048 10.4.9.1"
	check "its 100 messages" both_say bw "^ *2048 +100 "
	check "ib_send_lat -c UD" pair lat "ib_send_lat -c UD -n 100" "ib_send_lat -c UD -n 100 10.4.9.1"
	check "its 100 round trips" both_say lat "^ *2 +100 "
	check "udaddy" pair udaddy "udaddy -b 10.4.9.1" "udaddy -s 10.4.9.1"
	check "its transfers" both_say udaddy "data transfers complete"
	check "mckey" joins
	check "its group is the one of 239.1.2.3" both_say mckey "joined dgid: ff12:4001:ffff::f01:203 mlid 0xc0"
	check "its messages" both_say mckey "data transfers complete"
	watched
}
