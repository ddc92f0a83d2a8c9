/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"
#include "unit/all_sa.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

/* Tests of large answers of the SA, and of clients that request too many large answers. */

#define HOSTS 60
#define SWITCHES 4
#define PORTS (HOSTS + SWITCHES)

struct fix {
	struct sa_rig r;
	struct sa_client c, d;
};

static void fix_init(struct fix *f)
{
	sa_rig_init(&f->r, &(struct sa_rig_cfg){ .hosts = HOSTS, .switches = SWITCHES });
	sa_client_init(&f->c, &f->r, "Hca1/1");
	sa_client_init(&f->d, &f->r, "Hca2/1");
}

static void fix_fini(struct fix *f)
{
	sa_client_fini(&f->d);
	sa_client_fini(&f->c);
	sa_rig_fini(&f->r);
}

static void all_paths(struct sa_client *c)
{
	sa_client_send(c, MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD, 0, NULL, 0);
}

static void wait_done(struct fix *f, const struct sa_client *c)
{
	for (unsigned int i = 0; !c->done && i < 20000; i++)
		sa_rig_pass(&f->r, NS_USEC(100));
	assert_true(c->done);
}

static int path_to(struct fix *f, struct sa_client *c, const char *port)
{
	struct ib_path_rec want = { .numb_path = 1 };

	want.sgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, c->np->guids[0]);
	want.dgid = sa_rig_gid(&f->r, port);
	return sa_client_path(c, MAD_METHOD_GET,
			      PATH_COMP_SGID | PATH_COMP_DGID | PATH_COMP_NUMB_PATH, &want, NULL);
}

static void test_I20_paths_between_all_ports_are_whole(void **state)
{
	static bool seen[PORTS + 1][PORTS + 1];
	struct ib_path_rec rec;
	struct fix f;

	fix_init(&f);
	memset(seen, 0, sizeof(seen));
	all_paths(&f.c);
	wait_done(&f, &f.c);
	assert_int_equal(f.c.status, 0);
	assert_int_equal(sa_client_count(&f.c), PORTS * PORTS);
	for (unsigned int i = 0; i < PORTS * PORTS; i++) {
		assert_int_equal(ib_path_rec_decode(&rec, sa_client_rec(&f.c, i), PATH_REC_LEN), 0);
		assert_true(rec.slid >= 1 && rec.slid <= PORTS && rec.dlid >= 1 &&
			    rec.dlid <= PORTS);
		assert_false(seen[rec.slid][rec.dlid]);
		seen[rec.slid][rec.dlid] = true;
	}
	fix_fini(&f);
}

static void test_paths_from_one_port_and_to_one_port(void **state)
{
	struct ib_path_rec want = { .numb_path = 127 };
	struct fix f;

	fix_init(&f);
	want.sgid = want.dgid = sa_rig_gid(&f.r, "Hca9/1");
	assert_int_equal(sa_client_path(&f.c, MAD_METHOD_GET_TABLE, PATH_COMP_SGID, &want, NULL),
			 0);
	assert_int_equal(sa_client_count(&f.c), PORTS);
	assert_int_equal(sa_client_path(&f.c, MAD_METHOD_GET_TABLE, PATH_COMP_DGID, &want, NULL),
			 0);
	assert_int_equal(sa_client_count(&f.c), PORTS);
	fix_fini(&f);
}

/* No path matches this Get. The SA has to examine all paths before it can refuse the Get. */
static void test_I19_get_of_no_path_at_all(void **state)
{
	struct ib_path_rec want = { .sl = 13 };
	struct fix f;

	fix_init(&f);
	assert_int_equal(sa_client_path(&f.c, MAD_METHOD_GET, PATH_COMP_SL, &want, NULL),
			 SA_STATUS_NO_RECORDS);
	want.sl = 0;
	assert_int_equal(sa_client_path(&f.c, MAD_METHOD_GET, PATH_COMP_SL, &want, NULL), 0);
	fix_fini(&f);
}

static void test_a_new_database_begins_it_again(void **state)
{
	struct fabric_node *n;
	struct fix f;

	fix_init(&f);
	n = fabric_node_find(f.r.f, "Hca40");
	f.r.now += NS_SEC(1);
	assert_int_equal(fabric_link_set(fabric_node_port(n, 1), false, f.r.now), 0);
	all_paths(&f.c);
	wait_done(&f, &f.c);
	sa_rig_pass(&f.r, NS_SEC(1));
	all_paths(&f.c);
	/* Another sweep ends while the table is being sent. */
	sm_kick(f.r.sm, "test", f.r.now);
	wait_done(&f, &f.c);
	assert_int_equal(f.c.status, 0);
	assert_int_equal(sa_client_count(&f.c), (PORTS - 1) * (PORTS - 1));
	fix_fini(&f);
}

static void test_a_repeated_request_is_one(void **state)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = MAD_METHOD_GET_TABLE,
		.attr_id = SA_ATTR_PATH_RECORD,
		.tid = 0x1234,
	};
	const struct sa_hdr hdr = { 0 };
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
	uint64_t answers;
	struct fix f;

	fix_init(&f);
	answers = sa_stats(f.r.sa)->answers;
	from = mad_addr_gmp(f.c.np->pi.lid, 0);
	sa_mad_encode(mad, &h, &hdr);
	for (unsigned int i = 0; i < 5; i++)
		mad_ep_recv(sa_rig_port(&f.r, "Switch1/0")->ep, &from, mad, f.r.now);
	assert_int_equal(sa_stats(f.r.sa)->repeated, 4);
	sa_rig_pass(&f.r, NS_SEC(1));
	assert_int_equal(sa_stats(f.r.sa)->answers, answers + 1);
	fix_fini(&f);
}

static void test_jobs_end_with_the_sa(void **state)
{
	struct fix f;

	fix_init(&f);
	all_paths(&f.c);
	fabric_run(f.r.f, f.r.now);
	sa_rig_pass(&f.r, NS_USEC(5));
	sa_destroy(f.r.sa);
	f.r.sa = NULL;
	sa_rig_pass(&f.r, NS_SEC(3));
	assert_true(f.c.done);
	assert_int_not_equal(f.c.status, 0);
	assert_int_equal(sa_create(&f.r.sa, f.r.sm), 0);
	assert_int_equal(path_to(&f, &f.c, "Hca3/1"), 0);
	fix_fini(&f);
}

static void test_a_table_takes_as_much_as_it_may(void **state)
{
	struct sa_table t = { 0 };

	assert_int_equal(sa_table_start(&t, 61, 1000), 0);
	assert_int_equal(t.rec_len, 64);
	for (unsigned int i = 0; i < 1000; i++)
		assert_non_null(sa_table_add(&t));
	assert_false(t.full);
	/*
	 * The table's capacity is exactly its limit, although doubling the capacity would have gone
	 * beyond the limit.
	 */
	assert_int_equal(t.cap, SA_DATA_OFF + 64000);
	assert_null(sa_table_add(&t));
	assert_true(t.full);
	sa_table_fini(&t);
}

/* --- clients that ask for too much */

struct attack {
	uint8_t mad[MAD_LEN];
	struct mad_addr from;
	struct mad_ep *ep;
	uint64_t tid;
};

static void attack_init(struct attack *a, struct fix *f, const char *port, uint8_t method,
			uint16_t attr, uint64_t mask)
{
	const struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = method,
		.attr_id = attr,
	};
	const struct sa_hdr hdr = { .comp_mask = mask };

	*a = (struct attack){ .tid = 1 };
	sa_mad_encode(a->mad, &h, &hdr);
	a->from = mad_addr_gmp(sa_rig_port(&f->r, port)->pi.lid, 0);
	a->from.qpn = 0x123456; /* this QP does not exist, so no segment is acknowledged */
	a->ep = sa_rig_port(&f->r, "Switch1/0")->ep;
}

static void attack_one(struct attack *a, ns_t now)
{
	be64_put(a->mad + 8, a->tid++);
	mad_ep_recv(a->ep, &a->from, a->mad, now);
}

static void test_others_are_answered_between_slices(void **state)
{
	struct attack all, one;
	uint64_t answers;
	struct fix f;

	fix_init(&f);
	attack_init(&all, &f, "Hca1/1", MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD, 0);
	attack_init(&one, &f, "Hca2/1", MAD_METHOD_GET, SA_ATTR_NODE_RECORD, NODE_COMP_LID);
	be16_put(one.mad + SA_DATA_OFF, sa_rig_port(&f.r, "Hca5/1")->pi.lid);
	answers = sa_stats(f.r.sa)->answers;
	attack_one(&all, f.r.now);
	assert_int_equal(f.r.sa->njobs, 1);
	/*
	 * PORTS^2 pairs of ports are more work than one time slice allows, so the SA interrupts the
	 * query, and serves other requests in between.
	 */
	for (unsigned int i = 1; i <= 2; i++) {
		sa_rig_pass(&f.r, NS_USEC(20));
		attack_one(&one, f.r.now);
		assert_int_equal(sa_stats(f.r.sa)->answers, answers + i);
		assert_int_equal(f.r.sa->njobs, 1);
	}
	sa_rig_pass(&f.r, NS_MSEC(1));
	assert_int_equal(f.r.sa->njobs, 0);
	assert_int_equal(sa_stats(f.r.sa)->answers, answers + 3);
	fix_fini(&f);
}

/*
 * For some seconds an attacker sends a thousand requests a second, and acknowledges no segment of
 * the answers. A second client and a third one, which is at the attacker's own port, take turns to
 * ask for a path every 20 ms. The second client also asks for all NodeRecords every second. The SA
 * must answer all requests of the second and the third client at once.
 */
static void attacked(uint8_t method, uint16_t attr, uint64_t mask)
{
	unsigned int asked = 0;
	struct attack a;
	struct fix f;

	fix_init(&f);
	attack_init(&a, &f, "Hca2/1", method, attr, mask);
	for (unsigned int ms = 0; ms < 4000; ms++) {
		attack_one(&a, f.r.now);
		if (ms % 20 == 7) {
			struct sa_client *c = ms % 40 == 7 ? &f.c : &f.d;
			ns_t sent = f.r.now;

			assert_int_equal(path_to(&f, c, "Hca33/1"), 0);
			assert_true(c->done_at - sent < NS_MSEC(1));
			asked++;
		}
		if (ms % 1000 == 500) {
			assert_int_equal(sa_client_ask(&f.c, MAD_METHOD_GET_TABLE,
						       SA_ATTR_NODE_RECORD, 0, NULL, 0),
					 0);
			assert_int_equal(sa_client_count(&f.c), PORTS);
			asked++;
		}
		sa_rig_pass(&f.r, NS_MSEC(1));
	}
	assert_int_equal(asked, 204);
	/*
	 * The SA must have refused most of the attacker's requests, because the attacker's quota
	 * was used up or because too many octets of answers to the attacker were queued.
	 */
	assert_true(sa_stats(f.r.sa)->drop_quota + sa_stats(f.r.sa)->drop_busy > 2000);
	fix_fini(&f);
}

static void test_paths_of_all_a_thousand_times_a_second(void **state)
{
	attacked(MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD, 0);
}

static void test_gets_of_no_path_a_thousand_times_a_second(void **state)
{
	attacked(MAD_METHOD_GET, SA_ATTR_PATH_RECORD, PATH_COMP_PREFERENCE | PATH_COMP_RAW);
}

static void test_sltovl_tables_a_thousand_times_a_second(void **state)
{
	attacked(MAD_METHOD_GET_TABLE, SA_ATTR_SLTOVL_RECORD, 0);
}

static void test_port_tables_a_thousand_times_a_second(void **state)
{
	attacked(MAD_METHOD_GET_TABLE, SA_ATTR_PORT_INFO_RECORD, 0);
}

static void test_who_asked_too_much_is_served_again_later(void **state)
{
	struct attack a;
	struct fix f;

	fix_init(&f);
	attack_init(&a, &f, "Hca2/1", MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD, 0);
	for (unsigned int i = 0; i < 1000; i++) {
		attack_one(&a, f.r.now);
		sa_rig_pass(&f.r, NS_MSEC(1));
	}
	assert_true(sa_stats(f.r.sa)->drop_quota > 100);
	/*
	 * The segments to the attacker time out, and the attacker gets its full quotas again, so
	 * the SA must serve the attacker's port again.
	 */
	sa_rig_pass(&f.r, NS_SEC(60));
	all_paths(&f.d);
	wait_done(&f, &f.d);
	assert_int_equal(f.d.status, 0);
	assert_int_equal(sa_client_count(&f.d), PORTS * PORTS);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I20_paths_between_all_ports_are_whole),
		cmocka_unit_test(test_paths_from_one_port_and_to_one_port),
		cmocka_unit_test(test_I19_get_of_no_path_at_all),
		cmocka_unit_test(test_a_new_database_begins_it_again),
		cmocka_unit_test(test_a_repeated_request_is_one),
		cmocka_unit_test(test_jobs_end_with_the_sa),
		cmocka_unit_test(test_a_table_takes_as_much_as_it_may),
		cmocka_unit_test(test_others_are_answered_between_slices),
		cmocka_unit_test(test_paths_of_all_a_thousand_times_a_second),
		cmocka_unit_test(test_gets_of_no_path_a_thousand_times_a_second),
		cmocka_unit_test(test_sltovl_tables_a_thousand_times_a_second),
		cmocka_unit_test(test_port_tables_a_thousand_times_a_second),
		cmocka_unit_test(test_who_asked_too_much_is_served_again_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
