# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# The tests of rdma-core's pyverbs (guest/run_pyverbs.py), in the VM b of programs_start(). Scripts source this file after
# programs.sh.
#
#	pyverbs_run TESTS...	run them; TESTS are the names of tests that pass only with the rdma-core of this release
#
# The tests are listed by name, so that a missing test is noticed. Three tests fail, because they require one of two
# things:
# - a vendor ID, which this HCA does not have, because it has no OUI;
# - messages above 4096 octets, which UD does not allow.
pyverbs_modules='test_device test_pd test_cq test_cq_events test_addr test_qp test_parent_domain test_shared_pd test_fork'
pyverbs_fail='test_query_device test_query_device_ex test_query_port'
pyverbs_pass='test_alloc_pd test_cq_events_ud test_create_ah test_create_cq test_create_cq_bad_flow test_create_cq_with_comp_channel
	test_create_raw_qp_ex_with_illegal_caps_max_recv_sge test_create_raw_qp_ex_with_illegal_caps_max_recv_wr
	test_create_raw_qp_ex_with_illegal_caps_max_send_sge test_create_raw_qp_ex_with_illegal_caps_max_send_wr
	test_create_ud_qp_ex_no_attr test_create_ud_qp_ex_with_attr test_create_ud_qp_no_attr test_create_ud_qp_with_attr test_dealloc_pd
	test_destroy_ah test_destroy_pd_twice test_dev_list test_is_fork_initialized test_modify_ud_qp test_multiple_pd_creation test_open_dev
	test_phys_port_cnt_ex test_query_data_in_order test_query_gid test_query_gid_ex test_query_gid_table test_query_gid_table_bad_flow
	test_query_pkey test_query_port_bad_flow test_query_ud_qp'

# When the VM has got no CPU time for 3 s, the link goes down for a moment. Some tests are then skipped, or wait for
# ever for a lost datagram. So there are up to three attempts, and each waits first until the port is Active.
port_of_b_active() { g b grep -q ACTIVE /sys/class/infiniband/uib0/ports/1/state; }
pyverbs_ended() { g b cat /tmp/pyverbs >"$work/pyverbs" && grep -q '^status' "$work/pyverbs"; }
pyverbs_once() {
	eventually 30 port_of_b_active || return 1
	gb b /tmp/pyverbs "timeout 300 $PWD/tests/interop/linux/guest/run_pyverbs.py /tmp/py uib0 $pyverbs_modules 2>/tmp/pyverbs.errors; echo status \$?" >/dev/null
	within 310 pyverbs_ended
	grep -qx 'status 0' "$work/pyverbs" && not grep -E 'port is up|is not up' "$work/pyverbs"
}
pyverbs() {
	pyverbs_once || pyverbs_once || pyverbs_once || { tail -5 "$work/pyverbs"; g b tail -30 /tmp/pyverbs.errors; return 1; }
	grep -E '^(ok|failed) ' "$work/pyverbs" | sort | diff "$work/pyverbs.want" - || { g b tail -30 /tmp/pyverbs.errors; return 1; }
}
pyverbs_run() {
	{
		printf 'failed %s\n' $pyverbs_fail
		printf 'ok %s\n' $pyverbs_pass "$@"
	} | sort >"$work/pyverbs.want"
	check "python3-pyverbs: unmodified, a version that was tried" unmodified python3-pyverbs
	g b 'mkdir /tmp/py && cp -r /usr/share/doc/rdma-core/tests /tmp/py/ && gunzip -f /tmp/py/tests/*.gz'
	check "pyverbs: these tests pass, and three fail" pyverbs
	sed -n 's/^skipped [^:]*: /# skipped: /p' "$work/pyverbs" | sort | uniq -c
}
