/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests of the subnet manager and M_Keys, on a fabric whose nodes check M_Keys: ports with the
 * M_Key of another manager, a standby SM that knows the M_Key and one that does not, and leases of
 * M_Keys.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "sm/sm.h"
#include "wire/smp.h"

#define KEY 0x5ec7e7ull
#define OTHER 0xbadull
#define LEASE 10 /* lease period of M_Keys, in seconds */

static struct fix {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	struct log_sink log;
	ns_t now;
	struct sm_cfg cfg;
	struct sm *sm;
	/* numbers of "left alone" lines and of error lines in the log */
	unsigned int left_alone, errors;
	char last_err[256];
} f;

static void on_log(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	char line[256];

	(void)sink;
	vsnprintf(line, sizeof(line), fmt, ap);
	if (getenv("SM_TEST_LOG"))
		fprintf(stderr, "%9.3f ms %s\n", (double)f.now / 1e6, line);
	f.left_alone += strstr(line, "left alone") != NULL;
	if (lvl == LOG_LVL_ERR) {
		f.errors++;
		memcpy(f.last_err, line, sizeof(line));
	}
}

static void run(ns_t d)
{
	ns_t end = f.now + d;

	for (;;) {
		do {
			timers_run(&f.ts, f.now);
		} while (fabric_run(f.f, f.now) || timers_next(&f.ts) <= f.now);
		if (timers_next(&f.ts) > end)
			break;
		f.now = timers_next(&f.ts);
	}
	f.now = end;
}

static struct node *node_of(const char *name)
{
	return fabric_node_node(fabric_node_find(f.f, name));
}

static struct node_port *end_port(const char *name)
{
	struct node *n = node_of(name);

	return &n->port[node_is_switch(n) ? 0 : 1];
}

static struct sm *start(const char *name, uint8_t priority, uint64_t key)
{
	struct node_port *p = end_port(name);
	struct sm_cfg cfg = f.cfg;
	struct sm *sm;

	cfg.priority = priority;
	cfg.mkey = key;
	assert_int_equal(sm_create(&sm, p->ep, &cfg, &f.ts, &f.log), 0);
	node_set_cap(p->node, p->num, SMP_CAP_IS_SM, true, f.now);
	sm_start(sm, f.now);
	return sm;
}

static void stop(const char *name, struct sm *sm)
{
	struct node_port *p = end_port(name);

	sm_destroy(sm);
	node_set_cap(p->node, p->num, SMP_CAP_IS_SM, false, f.now);
}

static int setup(void **state)
{
	struct fabric_cfg fc = { .timers = &f.ts };
	struct topo *t = topo_gen_demo(4, 2);

	(void)state;
	memset(&f, 0, sizeof(f));
	f.log = (struct log_sink){ .emit = on_log, .max = LOG_LVL_INFO };
	timers_init(&f.ts);
	f.now = NS_SEC(1);
	f.pool = pkt_pool_create(4096, 512);
	fc.pool = f.pool;
	fc.log = &f.log;
	assert_int_equal(fabric_create(&f.f, t, &fc, f.now), 0);
	topo_free(t);
	f.cfg = sm_cfg_default();
	f.cfg.mkey_protect = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sm_destroy(f.sm);
	fabric_destroy(f.f);
	pkt_pool_destroy(f.pool);
	timers_fini(&f.ts);
	return 0;
}

static struct sm_status status(const struct sm *sm)
{
	struct sm_status st;

	sm_status(sm, &st);
	return st;
}

static void up(void)
{
	f.sm = start("Switch1", 5, KEY);
	run(NS_SEC(1));
	assert_int_equal(status(f.sm).last.end_ports, 6);
}

static void sweep(void)
{
	sm_kick(f.sm, "test", f.now);
	run(NS_SEC(3));
}

static void set_key(struct node_port *p, uint64_t key, uint8_t protect)
{
	p->pi.mkey = key;
	p->pi.mkey_protect = protect;
}

static void test_I6_every_end_port_gets_the_key(void **state)
{
	static const char *const all[] = { "Hca1", "Hca2", "Hca3", "Hca4", "Switch1", "Switch2" };

	(void)state;
	up();
	for (unsigned int i = 0; i < ARRAY_SIZE(all); i++) {
		assert_true(end_port(all[i])->pi.mkey == KEY);
		assert_int_equal(end_port(all[i])->pi.mkey_protect, 1);
		assert_int_equal(end_port(all[i])->pi.mkey_lease, 0);
	}
	assert_int_equal(status(f.sm).last.foreign_mkeys, 0);
}

/*
 * Give a host's port an M_Key that the SM does not know. @shown: a Get of PortInfo shows this key,
 * so the SM tries no Set; otherwise the SM discovers the key by its first Set.
 */
static void other_key_on_a_host(bool shown)
{
	struct node_port *p = end_port("Hca2");

	up();
	set_key(p, OTHER, !shown);
	p->pi.sm_sl = 3; /* a wrong value, so that the SM wants to send a Set */
	for (unsigned int i = 0; i < 3; i++) {
		sweep();
		assert_int_equal(status(f.sm).last.foreign_mkeys, 1);
	}
	assert_int_equal(f.left_alone, 1);
	assert_int_equal(f.errors, 0);
	assert_true(p->pi.mkey == OTHER);
	assert_int_equal(p->pi.sm_sl, 3);
	if (shown)
		assert_int_equal(p->pi.mkey_violations, 0);
	/* The SM must end its sweep, and must have configured the other ports. */
	assert_int_equal(status(f.sm).last.stage, SM_STAGE_UP);
	assert_non_null(sm_db_port_by_lid(sm_db(f.sm), end_port("Hca3")->pi.lid));

	set_key(p, KEY, 1);
	sweep();
	assert_int_equal(status(f.sm).last.foreign_mkeys, 0);
	assert_int_equal(status(f.sm).last.end_ports, 6);
	assert_int_equal(p->pi.sm_sl, 0);
	assert_int_equal(f.left_alone, 1);
	/* If the foreign M_Key disappears and appears again, the SM must log the port again. */
	set_key(p, OTHER, !shown);
	p->pi.sm_sl = 3;
	sweep();
	assert_int_equal(f.left_alone, 2);
}

static void test_a_port_that_shows_another_key_is_left_alone(void **state)
{
	(void)state;
	other_key_on_a_host(true);
	assert_null(sm_db_port_by_guid(sm_db(f.sm), end_port("Hca2")->guids[0]));
}

static void test_a_port_that_hides_another_key_is_left_alone(void **state)
{
	(void)state;
	other_key_on_a_host(false);
}

static void test_no_sweeps_for_a_port_that_is_left_alone(void **state)
{
	uint64_t sweeps;

	(void)state;
	up();
	set_key(end_port("Hca2"), OTHER, 1);
	sweep();
	sweeps = status(f.sm).heavy_sweeps;
	run(NS_SEC(120));
	assert_int_equal(status(f.sm).heavy_sweeps, sweeps);
}

/* M_KeyProtectBits without an M_Key protect nothing, so the SM must manage the port. */
static void test_protection_without_a_key_is_no_other_key(void **state)
{
	struct node_port *p = end_port("Hca2");

	(void)state;
	set_key(p, 0, 3);
	up();
	assert_int_equal(status(f.sm).last.foreign_mkeys, 0);
	assert_true(p->pi.mkey == KEY);
	assert_int_equal(p->pi.mkey_protect, 1);
}

static void test_a_switch_with_another_key_is_not_routed_through(void **state)
{
	struct node *s2 = node_of("Switch2");
	uint8_t lft[64];

	(void)state;
	up();
	memcpy(lft, s2->sw->lft, sizeof(lft));
	set_key(&s2->port[0], OTHER, 0);
	sweep();
	assert_int_equal(status(f.sm).last.foreign_mkeys, 1);
	assert_int_equal(status(f.sm).last.switches, 1);
	assert_memory_equal(lft, s2->sw->lft, sizeof(lft));
	assert_true(s2->port[0].pi.mkey == OTHER);
}

static void test_an_sm_whose_own_port_has_another_key_says_so(void **state)
{
	(void)state;
	set_key(end_port("Switch1"), OTHER, 0);
	f.sm = start("Switch1", 5, KEY);
	run(NS_SEC(3));
	assert_null(sm_db(f.sm));
	assert_true(f.errors > 0);
	assert_non_null(strstr(f.last_err, "our own port has another M_Key"));
}

static void test_I6_a_standby_with_the_key_takes_over(void **state)
{
	struct sm *b;
	uint16_t lid;

	(void)state;
	f.cfg.mkey_protect = 2;
	up();
	lid = end_port("Hca2")->pi.lid;
	b = start("Switch2", 2, KEY);
	run(NS_SEC(3));
	assert_int_equal(status(b).self.state, SMP_SM_STANDBY);
	stop("Switch1", f.sm);
	f.sm = b;
	run(NS_SEC(15));
	assert_int_equal(status(b).self.state, SMP_SM_MASTER);
	assert_int_equal(status(b).last.end_ports, 6);
	assert_int_equal(status(b).last.foreign_mkeys, 0);
	assert_int_equal(end_port("Hca2")->pi.lid, lid);
	assert_int_equal(end_port("Hca2")->pi.sm_lid, end_port("Switch2")->pi.lid);
}

static void test_I6_a_standby_without_the_key_changes_nothing(void **state)
{
	struct sm *b;
	uint16_t sm_lid;

	(void)state;
	up();
	sm_lid = end_port("Hca2")->pi.sm_lid;
	b = start("Switch2", 2, OTHER);
	run(NS_SEC(3));
	stop("Switch1", f.sm);
	f.sm = b;
	run(NS_SEC(30));
	assert_int_equal(end_port("Hca2")->pi.sm_lid, sm_lid);
	assert_true(end_port("Hca2")->pi.mkey == KEY);
	assert_true(f.left_alone > 0);
}

/* --- leases */

static void wrong_set(void)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.method = MAD_METHOD_SET,
		.tid = (uint64_t)f.now,
		.attr_id = SMP_ATTR_PORT_INFO,
	};
	struct smp_dr dr = { .mkey = OTHER, .dr_slid = 0xffff, .dr_dlid = 0xffff };
	struct mad_addr to = mad_addr_smp_lid(end_port("Hca2")->pi.lid);
	struct node_port *from = end_port("Hca4");
	uint8_t mad[MAD_LEN], data[SMP_DATA_LEN] = { 0 };

	smp_encode(mad, &h, &dr, data);
	(void)from->node->ops->xmit(from->node->ctx, from->num, &to, mad, f.now);
}

static void wrong_sets_for(ns_t d)
{
	for (ns_t end = f.now + d; f.now < end; run(NS_MSEC(50)))
		wrong_set();
}

static void test_I6_the_sm_renews_leases(void **state)
{
	(void)state;
	f.cfg.mkey_lease = LEASE;
	up();
	assert_int_equal(end_port("Hca2")->pi.mkey_lease, LEASE);
	wrong_sets_for(NS_SEC(10 * LEASE));
	assert_in_range(end_port("Hca2")->pi.mkey_violations, 1000, 2000);
	assert_int_equal(end_port("Hca2")->pi.mkey_protect, 1);
	assert_true(end_port("Hca2")->pi.mkey == KEY);
}

static void test_I6_without_an_sm_the_lease_runs_out(void **state)
{
	(void)state;
	f.cfg.mkey_lease = LEASE;
	up();
	stop("Switch1", f.sm);
	f.sm = NULL;
	wrong_sets_for(NS_SEC(LEASE - 1));
	assert_int_equal(end_port("Hca2")->pi.mkey_protect, 1);
	wrong_sets_for(NS_SEC(2));
	assert_int_equal(end_port("Hca2")->pi.mkey_protect, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
		CASE(test_I6_every_end_port_gets_the_key),
		CASE(test_a_port_that_shows_another_key_is_left_alone),
		CASE(test_a_port_that_hides_another_key_is_left_alone),
		CASE(test_no_sweeps_for_a_port_that_is_left_alone),
		CASE(test_protection_without_a_key_is_no_other_key),
		CASE(test_a_switch_with_another_key_is_not_routed_through),
		CASE(test_an_sm_whose_own_port_has_another_key_says_so),
		CASE(test_I6_a_standby_with_the_key_takes_over),
		CASE(test_I6_a_standby_without_the_key_changes_nothing),
		CASE(test_I6_the_sm_renews_leases),
		CASE(test_I6_without_an_sm_the_lease_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
