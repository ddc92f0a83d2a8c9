/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_sa.h"

#include <errno.h>

#include "check.h"

/*
 * Tests of ServiceRecords, which the SA handles as OpenSM does and as `osmtest -f s` expects; and
 * of the limit on the number of records of one port.
 */

#define SET_MASK                                                                       \
	(SERVICE_COMP_ID | SERVICE_COMP_GID | SERVICE_COMP_PKEY | SERVICE_COMP_LEASE | \
	 SERVICE_COMP_KEY | SERVICE_COMP_NAME)

struct fix {
	struct sa_rig r;
	struct sa_client c, d;
};

static void fix_init(struct fix *f)
{
	sa_rig_init(&f->r, &(struct sa_rig_cfg){ .hosts = 3, .switches = 1, .sm_key = 7 });
	sa_client_init(&f->c, &f->r, "Hca1/1");
	sa_client_init(&f->d, &f->r, "Hca2/1");
}

static void fix_fini(struct fix *f)
{
	sa_client_fini(&f->d);
	sa_client_fini(&f->c);
	sa_rig_fini(&f->r);
}

static struct ib_service_rec service(struct sa_client *c, uint64_t id, uint8_t key)
{
	return (struct ib_service_rec){
		.id = id,
		.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, c->np->guids[0]),
		.pkey = 0xffff,
		.lease = 0xffffffff,
		.key = { key },
		.name = "a service",
	};
}

static int ask(struct sa_client *c, uint8_t method, uint64_t mask, const struct ib_service_rec *rec,
	       struct ib_service_rec *ret)
{
	uint8_t wire[SERVICE_REC_LEN];
	int status;

	ib_service_rec_encode(wire, rec);
	status = sa_client_ask(c, method, SA_ATTR_SERVICE_RECORD, mask, wire, sizeof(wire));
	if (!status && ret)
		assert_int_equal(ib_service_rec_decode(ret, c->resp.data, c->resp.data_len), 0);
	return status;
}

static void test_keys_are_not_told_but_are_asked_by(void **state)
{
	struct ib_service_rec rec, got;
	struct fix f;

	fix_init(&f);
	rec = service(&f.c, 5, 11);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, &got), 0);
	assert_int_equal(got.key[0], 0);
	assert_int_equal(got.pkey, 0xffff);
	assert_int_equal(
		ask(&f.d, MAD_METHOD_GET, SERVICE_COMP_NAME | SERVICE_COMP_KEY, &rec, &got), 0);
	assert_int_equal(got.key[0], 0);
	rec.key[0] = 0;
	assert_int_equal(
		ask(&f.d, MAD_METHOD_GET, SERVICE_COMP_NAME | SERVICE_COMP_KEY, &rec, &got),
		SA_STATUS_NO_RECORDS);
	f.d.sm_key = 7;
	assert_int_equal(ask(&f.d, MAD_METHOD_GET, SERVICE_COMP_NAME, &rec, &got), 0);
	assert_int_equal(got.key[0], 11);
	fix_fini(&f);
}

static void test_delete_goes_by_id_gid_and_pkey(void **state)
{
	struct ib_service_rec rec, other;
	struct fix f;

	fix_init(&f);
	rec = service(&f.c, 5, 11);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	other = rec, other.pkey = 0;
	assert_int_equal(ask(&f.c, MAD_METHOD_DELETE, SERVICE_COMP_NAME, &other, NULL),
			 SA_STATUS_NO_RECORDS);
	other = rec, other.id = 6;
	assert_int_equal(ask(&f.c, MAD_METHOD_DELETE, SERVICE_COMP_NAME, &other, NULL),
			 SA_STATUS_NO_RECORDS);
	/*
	 * Another port cannot delete the record without its ServiceKey. The port that registered
	 * the record can delete it.
	 */
	other = rec, other.key[0] = 0;
	assert_int_equal(ask(&f.d, MAD_METHOD_DELETE, SERVICE_COMP_KEY, &other, NULL),
			 SA_STATUS_DENIED);
	assert_int_equal(ask(&f.c, MAD_METHOD_DELETE, SERVICE_COMP_NAME, &other, NULL), 0);
	assert_int_equal(ask(&f.c, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, NULL),
			 SA_STATUS_NO_RECORDS);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	assert_int_equal(ask(&f.d, MAD_METHOD_DELETE, SERVICE_COMP_KEY, &rec, NULL), 0);
	fix_fini(&f);
}

static void test_a_lease_ends(void **state)
{
	struct ib_service_rec rec, got;
	struct fix f;

	fix_init(&f);
	rec = service(&f.c, 5, 0);
	rec.lease = 10;
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, &got), 0);
	assert_int_equal(got.lease, 10);
	sa_rig_pass(&f.r, NS_SEC(6));
	assert_int_equal(ask(&f.c, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, &got), 0);
	assert_true(got.lease >= 3 && got.lease <= 4);
	/* A second registration starts a new lease. */
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	sa_rig_pass(&f.r, NS_SEC(9));
	assert_int_equal(ask(&f.c, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, NULL), 0);
	sa_rig_pass(&f.r, NS_SEC(1) + NS_MSEC(10));
	assert_int_equal(ask(&f.c, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, NULL),
			 SA_STATUS_NO_RECORDS);
	assert_int_equal(sa_stats(f.r.sa)->leases_expired, 1);
	fix_fini(&f);
}

static void test_a_service_is_for_partitions_of_its_port(void **state)
{
	struct ib_service_rec rec;
	struct fix f;

	fix_init(&f);
	rec = service(&f.c, 5, 0);
	rec.pkey = 0x8001;
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), SA_STATUS_REQ_INVALID);
	/*
	 * A record whose GID no port has is refused. If the record has no P_Key, the SA does not
	 * check the GID.
	 */
	rec.pkey = 0xffff;
	rec.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x999);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), SA_STATUS_REQ_INVALID);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK & ~SERVICE_COMP_PKEY, &rec, NULL), 0);
	fix_fini(&f);
}

static void test_one_port_registers_so_many(void **state)
{
	struct ib_service_rec rec;
	struct fix f;

	fix_init(&f);
	for (unsigned int i = 0; i < SA_MAX_SERVICES_PORT; i++) {
		rec = service(&f.c, i + 1, 0);
		assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	}
	rec = service(&f.c, 100000, 0);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), SA_STATUS_NO_RESOURCES);
	/*
	 * A record that is registered twice must count once, each port must have a limit of its
	 * own, and a deleted record must no longer count.
	 */
	rec = service(&f.c, 1, 0);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	rec = service(&f.d, 1, 0);
	assert_int_equal(ask(&f.d, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	rec = service(&f.c, 7, 0);
	assert_int_equal(ask(&f.c, MAD_METHOD_DELETE, 3, &rec, NULL), 0);
	rec = service(&f.c, 100000, 0);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	fix_fini(&f);
}

/* --- groups */

static struct ib_mcmember_rec group(struct sa_client *c, uint32_t n)
{
	struct ib_mcmember_rec rec = {
		.mgid = { { 0xff, 0x15, 0x77, 0x77 } },
		.port_gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, c->np->guids[0]),
		.qkey = 0x80000b1b,
		.pkey = 0xffff,
		.join_state = MCM_JOIN_FULL,
	};

	be32_put(rec.mgid.raw + 12, n);
	return rec;
}

#define GROUP_MASK                                                                 \
	(MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE | MCM_COMP_QKEY | \
	 MCM_COMP_TCLASS | MCM_COMP_PKEY | MCM_COMP_FLOW_LABEL | MCM_COMP_SL)

static void test_I22_one_port_does_not_use_up_the_mlids(void **state)
{
	struct ib_mcmember_rec rec;
	unsigned int max;
	struct fix f;

	fix_init(&f);
	max = sm_groups_max(f.r.sm) / SA_GROUPS_SHARE;
	assert_true(max >= 16);
	for (unsigned int i = 0; i < max; i++) {
		rec = group(&f.c, i);
		assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL), 0);
	}
	rec = group(&f.c, max);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL),
			 SA_STATUS_NO_RESOURCES);
	rec = group(&f.d, max);
	assert_int_equal(sa_client_mcm(&f.d, MAD_METHOD_SET, GROUP_MASK, &rec, NULL), 0);
	/*
	 * A join of a group that another port has created must not count against the limit, and a
	 * group that has ended must no longer count.
	 */
	rec = group(&f.c, max);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL), 0);
	rec = group(&f.c, 3);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_DELETE,
				       MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE,
				       &rec, NULL),
			 0);
	rec = group(&f.c, max + 1);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL), 0);
	fix_fini(&f);
}

static int make_and_leave(struct sa_client *c, uint32_t n)
{
	struct ib_mcmember_rec rec = group(c, n);
	int status = sa_client_mcm(c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL);

	if (!status)
		status = sa_client_mcm(c, MAD_METHOD_DELETE,
				       MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE,
				       &rec, NULL);
	return status;
}

/*
 * The SA reports each new group to all subscribers and writes it to the switches. So the rate at
 * which one port can create groups is limited.
 */
static void test_groups_that_a_port_makes_are_paced(void **state)
{
	struct ib_mcmember_rec rec;
	unsigned int n = 0;
	struct fix f;
	ns_t began;

	fix_init(&f);
	while (n < SA_GROUPS_BURST && make_and_leave(&f.c, n) == 0)
		n++;
	assert_int_equal(n, SA_GROUPS_BURST);
	/*
	 * The port has used up its burst of new groups, although it left each group at once. From
	 * now on the SA drops requests that exceed the rate, and the client repeats them.
	 */
	began = f.r.now;
	for (n = 0; n < 200; n++)
		assert_int_equal(make_and_leave(&f.c, (1u << 20) + n), 0);
	assert_in_range(f.r.now - began, NS_SEC(200 / SA_GROUPS_RATE - 2), NS_SEC(300));
	assert_true(sa_stats(f.r.sa)->drop_quota > 0);
	/* The limit delays neither joins of existing groups, nor groups that other ports create. */
	began = f.r.now;
	rec = group(&f.d, 1u << 21);
	assert_int_equal(sa_client_mcm(&f.d, MAD_METHOD_SET, GROUP_MASK, &rec, NULL), 0);
	rec = group(&f.c, 1u << 21);
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL), 0);
	assert_true(f.r.now - began < NS_MSEC(10));
	/*
	 * After a time without new groups, the port must be able to create a burst of groups again.
	 */
	sa_rig_pass(&f.r, NS_SEC(10));
	began = f.r.now;
	for (n = 0; n < 10 * SA_GROUPS_RATE; n++)
		assert_int_equal(make_and_leave(&f.c, (3u << 20) + n), 0);
	assert_true(f.r.now - began < NS_SEC(1));
	fix_fini(&f);
}

static void refused_join(struct sa_client *c)
{
	struct ib_mcmember_rec rec = group(c, 1);

	rec.pkey = 0x8123; /* a P_Key that the port's table does not have */
	assert_int_equal(sa_client_mcm(c, MAD_METHOD_SET, GROUP_MASK, &rec, NULL),
			 SA_STATUS_REQ_INVALID);
}

static void test_lines_about_refused_joins_are_paced(void **state)
{
	struct fix f;
	unsigned int said;
	ns_t began;

	fix_init(&f);
	began = f.r.now;
	for (unsigned int i = 0; i < 1000; i++)
		refused_join(&f.c);
	said = f.r.refusals;
	assert_in_range(said, SA_REFUSALS_BURST,
			SA_REFUSALS_BURST + 1 + (f.r.now - began) / NS_SEC(1));
	/*
	 * The limit on log lines is per port, so a refused join of another port is logged at once.
	 * The next line about the first port must give the number of lines that were left out.
	 */
	refused_join(&f.d);
	assert_int_equal(f.r.refusals, said + 1);
	assert_null(strstr(f.r.refusal, "left out"));
	sa_rig_pass(&f.r, NS_SEC(2));
	refused_join(&f.c);
	assert_int_equal(f.r.refusals, said + 2);
	assert_non_null(strstr(f.r.refusal, "such lines were left out"));
	fix_fini(&f);
}

/* Create groups whose MGIDs are not those of IPoIB, as `osmtest -f m` does. */
static void test_I22_groups_of_any_scope(void **state)
{
	static const struct {
		uint8_t raw[4];
		int status;
	} v[] = {
		{ { 0xff, 0x1f, 0xa0, 0x1c }, 0 }, /* a reserved scope */
		{ { 0xff, 0x02, 0x00, 0x00 }, 0 }, /* flag T is 0 */
		{ { 0xff, 0x22, 0xa0, 0x1c }, SA_STATUS_REQ_INVALID }, /* a reserved flag */
		/* only the SA itself makes MGIDs of this form */
		{ { 0xff, 0x12, 0xa0, 0x1b }, SA_STATUS_REQ_INVALID },
		{ { 0xff, 0x15, 0xa0, 0x1b }, 0 },
		{ { 0xef, 0x12, 0xa0, 0x1c }, SA_STATUS_REQ_INVALID },
		/* flag T of an IPoIB MGID must not be 0 (RFC 4391 §4) */
		{ { 0xff, 0x02, 0x40, 0x1b }, SA_STATUS_REQ_INVALID },
	};
	struct ib_mcmember_rec rec, got;
	struct fix f;

	fix_init(&f);
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		rec = group(&f.c, i);
		memcpy(rec.mgid.raw, v[i].raw, 4);
		rec.scope = 2;
		assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET, GROUP_MASK | MCM_COMP_SCOPE,
					       &rec, &got),
				 v[i].status);
		if (!v[i].status)
			assert_int_equal(got.scope, 2);
	}
	fix_fini(&f);
}

static void test_I22_codes_that_stand_for_nothing(void **state)
{
	struct ib_mcmember_rec rec;
	struct fix f;

	fix_init(&f);
	rec = group(&f.c, 1);
	rec.mtu_sel = SA_SEL_GT;
	rec.mtu_code = 6;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET,
				       GROUP_MASK | MCM_COMP_MTU_SEL | MCM_COMP_MTU, &rec, NULL),
			 SA_STATUS_REQ_INVALID);
	rec = group(&f.c, 1);
	rec.rate_sel = SA_SEL_LT;
	rec.rate_code = 63;
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET,
				       GROUP_MASK | MCM_COMP_RATE_SEL | MCM_COMP_RATE, &rec, NULL),
			 SA_STATUS_REQ_INVALID);
	fix_fini(&f);
}

/*
 * The SIDR server in the SM's node has ServiceRecords. No request can change these records, not
 * even a trusted one.
 */
static void test_records_of_the_SM_are_not_changed_by_requests(void **state)
{
	struct ib_service_rec rec, got;
	struct fix f;

	fix_init(&f);
	assert_int_equal(sa_sidr_start(f.r.sa, 5), 0);
	sm_kick(f.r.sm, "test", f.r.now);
	sa_rig_pass(&f.r, NS_SEC(5));
	rec = service(&f.c, 5, 0);
	assert_int_equal(ask(&f.c, MAD_METHOD_GET, SERVICE_COMP_ID | SERVICE_COMP_PKEY, &rec, &got),
			 0);
	assert_int_equal(got.lease, 0xffffffff);
	assert_int_equal(got.pkey, 0xffff);
	assert_string_equal(got.name, "IBARP");
	rec.gid = got.gid;
	for (f.c.sm_key = 0; f.c.sm_key <= 7; f.c.sm_key += 7) {
		assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), SA_STATUS_DENIED);
		assert_int_equal(ask(&f.c, MAD_METHOD_DELETE, SET_MASK, &rec, NULL),
				 SA_STATUS_DENIED);
	}
	f.c.sm_key = 0;
	/*
	 * The SM's own ServiceRecord must stay the SA's first record, even if another port
	 * registers a record.
	 */
	rec.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, f.c.np->guids[0]);
	assert_int_equal(ask(&f.c, MAD_METHOD_SET, SET_MASK, &rec, NULL), 0);
	sm_kick(f.r.sm, "test", f.r.now);
	sa_rig_pass(&f.r, NS_SEC(5));
	assert_true(sa_service_next(f.r.sa, NULL)->own);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_of_the_SM_are_not_changed_by_requests),
		cmocka_unit_test(test_keys_are_not_told_but_are_asked_by),
		cmocka_unit_test(test_delete_goes_by_id_gid_and_pkey),
		cmocka_unit_test(test_a_lease_ends),
		cmocka_unit_test(test_a_service_is_for_partitions_of_its_port),
		cmocka_unit_test(test_one_port_registers_so_many),
		cmocka_unit_test(test_I22_one_port_does_not_use_up_the_mlids),
		cmocka_unit_test(test_groups_that_a_port_makes_are_paced),
		cmocka_unit_test(test_lines_about_refused_joins_are_paced),
		cmocka_unit_test(test_I22_groups_of_any_scope),
		cmocka_unit_test(test_I22_codes_that_stand_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
