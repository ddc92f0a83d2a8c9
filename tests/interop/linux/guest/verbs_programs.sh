#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in a VM, and prints TAP. Ordinary programs use uib.ko: Debian's programs for verbs, rdma-core's pyverbs, the tests
# of src/ca/ca.h, and uipoib. In the kernel of debug/run.sh, KASAN, lockdep and kmemleak check the code of uib.ko that
# these programs use.
#
#	verbs_programs.sh SUITE		SUITE is the program test_verbs_suite
#
#	lo: uib1 10.4.9.1 ------ UDP ------ uib2 10.4.9.2 (ib of the kernel, in the namespace "far")
TEST_ISOLATED=1
. "$(dirname "$0")/../../../system/lib.sh"
. "$(dirname "$0")/two_devices.sh"
suite=$1
patience=600 # in a VM on a busy machine; success ends each wait at once
left() { bash tests/interop/linux/guest/verbs_left.sh; }
nothing_left() { equal "$before" "$(left)"; }

two_devices
check "two devices, which OpenSM manages" eventually 60 two_devices_ready

# --- the kernel's interfaces

# ib_of DEVICE: print the network device of ib_ipoib on DEVICE
ib_of() { ls "/sys/class/infiniband/$1/device/net" 2>/dev/null || grep -l "$1" /sys/class/net/ib*/device/infiniband/*/node_desc | cut -d/ -f5; }
near=$(ib_of uib1) far=$(ib_of uib2)
ip netns add far
ip link set "$far" netns far
f() { ip netns exec far "$@"; }
ip addr add 10.4.9.1/16 dev "$near"
f ip addr add 10.4.9.2/16 dev "$far"
ip link set "$near" up
f ip link set "$far" up
f ip link set lo up
check "the kernel's interfaces reach each other" eventually 60 ping -n -q -c 1 -W 5 10.4.9.2
eventually 20 eval 'equal "$(left)" "$(sleep 0.5; left)"' >/dev/null
before=$(left)

# --- Debian's programs

# pair NAME SERVER -- CLIENT: run CLIENT again and again until it succeeds, because it fails before SERVER listens
pair() {
	local name=$1 server=() pid
	shift
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	"${server[@]}" >"$work/$name.server" 2>&1 &
	pid=$!
	eventually 60 timeout 120 "${@:2}" || { kill $pid; cat "$work/$name.server"; return 1; }
	within 60 not kill -0 $pid 2>/dev/null || kill $pid
	wait $pid
}
devinfo() { ibv_devinfo -v && equal 2 "$(ibv_devinfo -v | grep -c 'state:.*PORT_ACTIVE')"; }
check "ibv_devinfo -v" devinfo
check "ibv_ud_pingpong" pair pingpong ibv_ud_pingpong -d uib1 -n 100 -- ibv_ud_pingpong -d uib2 -n 100 127.0.0.1
check "ibv_ud_pingpong, with completion events" pair events ibv_ud_pingpong -d uib1 -e -n 100 -- ibv_ud_pingpong -d uib2 -e -n 100 127.0.0.1
check "ib_send_bw -c UD" pair bw ib_send_bw -d uib1 -c UD -n 100 -s 2048 -- ib_send_bw -d uib2 -c UD -n 100 -s 2048 127.0.0.1
check "ib_send_lat -c UD" pair lat ib_send_lat -d uib1 -c UD -n 100 -- ib_send_lat -d uib2 -c UD -n 100 127.0.0.1
check "udaddy" pair udaddy udaddy -b 10.4.9.1 -- ip netns exec far udaddy -s 10.4.9.1
check "mckey" pair mckey stdbuf -oL mckey -m 239.1.2.3 -b 10.4.9.1 -- ip netns exec far timeout 20 mckey -m 239.1.2.3 -b 10.4.9.2 -s
check "nothing is left of those" eventually 30 nothing_left

# --- pyverbs (verbs.sh has the tests by name)

mkdir "$work/py" && cp -r /usr/share/doc/rdma-core/tests "$work/py/" && gunzip -f "$work"/py/tests/*.gz
pyverbs() {
	timeout 1200 tests/interop/linux/guest/run_pyverbs.py "$work/py" uib1 \
		test_device test_pd test_cq test_cq_events test_addr test_qp test_parent_domain test_shared_pd test_fork >"$work/pyverbs" || return 1
	[ "$(grep -c '^ok ' "$work/pyverbs")" -ge 27 ] && equal 3 "$(grep -c '^failed ' "$work/pyverbs")" || { cat "$work/pyverbs"; return 1; }
}
check "pyverbs" pyverbs
check "nothing is left of pyverbs" eventually 30 nothing_left

# --- uipoib on both devices, beside the kernel's ib_ipoib

for n in 1 2; do
	printf '[interface uib0@h%d]\nport = verbs:uib%d/1\naddress = 10.5.0.%d/16\n' $n $n $n
done >"$work/lab.conf"
crosses() {
	x h1 ping -n -q -c 20 -i 0.05 -W 5 10.5.0.2 && x h1 ping -n -q -c 5 -i 0.1 -W 5 -s 9000 10.5.0.2 &&
		bx h2 iperf3 -s -1 >"$work/iperf" && eventually 60 x h1 iperf3 -c 10.5.0.2 -n 2M
}
for round in 1 2; do
	check "uipoib, round $round: two interfaces come up" eval 'lab_start && u wait --timeout 600'
	check "packets, fragments and a TCP flow cross" crosses
	if [ $round = 1 ]; then
		kill -KILL "$lab_pid"
		wait "$lab_pid"
		lab_pid=''
	else
		check "it ends" lab_down
	fi 2>/dev/null
	check "nothing is left of it" eventually 60 nothing_left
done
kill $opensm
wait $opensm
[ ! -x "$suite" ] || check "the suite of ca.h" bash tests/interop/linux/guest/ca_verbs.sh "$suite"
exit $failed
