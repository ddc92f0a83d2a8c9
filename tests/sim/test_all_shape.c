/* SPDX-License-Identifier: BSD-2-Clause */

/* Interfaces of the InfiniBand shape on the whole stack. */

#include <string.h>

#include "check.h"
#include "unit/all_lab.h"

#define HOSTS 2

static struct lab lab;

static void shape_even(struct lab_host *h, void *ctx)
{
	(void)ctx;
	h->shape = h->index % 2 ? ETH_SHAPE_ETHERNET : ETH_SHAPE_INFINIBAND;
}

static void begin(const struct ipoib_profile *p, const struct sm_cfg *sm)
{
	struct topo *t = topo_gen_demo(HOSTS, 1);

	lab_create(&lab, &(struct lab_cfg){ .topo = t,
					    .seed = 1,
					    .sm = sm,
					    .sidr = true,
					    .profile = { p, p },
					    .setup = shape_even });
	topo_free(t);
}

static void wait_up(void)
{
	for (int i = 0; i < 30 && !lab_all_up(&lab, NULL); i++)
		lab_run(&lab, NS_SEC(1));
	assert_true(lab_all_up(&lab, NULL));
}

/* That both are told before the carrier goes on is checked in the lab's own set_carrier(). */
static void test_owner_is_told_each_pair_of_addresses_once(void **state)
{
	const struct lab_host *h = &lab.host[0];
	struct sm_cfg sm = sm_cfg_default();
	ib_gid before;

	begin(NULL, NULL);
	h = &lab.host[0];
	wait_up();
	assert_int_equal(h->told, 1);
	assert_int_equal(h->told_unknown, 0);
	assert_int_equal(lab.host[1].told, 0);
	before = h->told_own.gid;

	/* The port goes down and comes up: nothing has changed. */
	fabric_link_set(fabric_node_port(h->node, h->port), FABRIC_LINK_DOWN, lab.now);
	lab_run(&lab, NS_SEC(1));
	fabric_link_set(fabric_node_port(h->node, h->port), FABRIC_LINK_UP, lab.now);
	wait_up();
	assert_int_equal(h->told, 1);

	/* Another manager has another subnet prefix. */
	lab_sm_stop(&lab);
	sm.prefix = 0xfec0000000000001;
	lab_sm_start(&lab, &sm, NULL);
	lab_run(&lab, NS_SEC(20));
	wait_up();
	assert_int_equal(h->told, 2);
	assert_false(ib_gid_equal(&before, &h->told_own.gid));
	assert_true(ib_gid_prefix(&h->told_own.gid) == sm.prefix);
	lab_destroy(&lab);
}

/* With SIDR the group is not known when the queue pair is made. */
static void test_broadcast_group_is_told_when_sidr_has_told_it(void **state)
{
	const struct lab_host *h;

	begin(ipoib_profile_find("encaparp00"), NULL);
	h = &lab.host[0];
	wait_up();
	assert_int_equal(h->told, 2);
	assert_int_equal(h->told_unknown, 1);
	lab_destroy(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner_is_told_each_pair_of_addresses_once),
		cmocka_unit_test(test_broadcast_group_is_told_when_sidr_has_told_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
