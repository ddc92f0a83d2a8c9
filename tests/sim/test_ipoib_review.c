/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib_rig.h"

/* Tests of a subnet whose LIDs change while a link is up. */

static struct ipoib_rig r;

static void test_R50_nothing_goes_to_an_old_lid_after_renumbering(void **state)
{
	struct ipoib_neigh *n;
	struct sa_path *p;

	rig_init_up(&r, 1);
	p = rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_SEND);
	assert_int_equal(r.nsent, 2);

	/*
	 * The next SM assigns other LIDs to all ports, including the link's port. Another node can
	 * get the old LID of a path, so the link must send no packet to the old LID.
	 */
	p->dlid = 19;
	r.s.sa.delay = NS_MSEC(5);
	r.port.lid = 0x55;
	rig_port(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_REJOINING);
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_HELD);
	assert_int_equal(rig_tx_neigh(&r, n, 3), IPOIB_HELD);
	rig_run(&r, NS_MSEC(100));
	assert_int_equal(r.nsent, 4);
	for (unsigned int i = 2; i < 4; i++) {
		assert_int_equal(r.sent[i].tag, i);
		assert_int_equal(r.sent[i].attr.dlid, 19);
	}
	rig_fini(&r);
}

static void test_I32_what_waits_while_the_lids_change_is_asked_for_again(void **state)
{
	struct ipoib_neigh *n;
	struct sa_path *p;

	rig_init_up(&r, 1);
	p = rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	r.ah_slow = true;
	assert_int_equal(rig_tx_neigh(&r, n, 0), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nslow, 1); /* address handle of the old LID is requested */
	p->dlid = 19;
	r.ah_slow = false;
	r.port.lid = 0x55;
	rig_port(&r);
	rig_ah_release(&r);
	rig_run(&r, NS_MSEC(100));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].attr.dlid, 19);
	rig_fini(&r);
}

static void test_the_first_lid_is_no_change(void **state)
{
	rig_init_up(&r, 1);
	r.port.state = IB_PORT_DOWN;
	rig_port(&r);
	assert_int_equal(rig_state(&r), IPOIB_LINK_WAIT_PORT);
	r.port.state = IB_PORT_ACTIVE;
	rig_port(&r);
	rig_run(&r, NS_MSEC(100));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R50_nothing_goes_to_an_old_lid_after_renumbering),
		cmocka_unit_test(test_I32_what_waits_while_the_lids_change_is_asked_for_again),
		cmocka_unit_test(test_the_first_lid_is_no_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
