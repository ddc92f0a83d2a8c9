/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_sa.h"

#include <errno.h>

#include "check.h"
#include "wire/mgid.h"

/* Tests of PathRecord (I16, I21) */

#define BOTH (PATH_COMP_DGID | PATH_COMP_SGID)
/* Component mask of the Linux driver's path query: DGID, SGID, TClass, NumbPath = 1, P_Key */
#define LINUX_MASK 0x340cu

struct fix {
	struct sa_rig r;
	struct sa_client c;
};

static void fix_init(struct fix *f, const struct sa_rig_cfg *cfg, const char *client)
{
	sa_rig_init(&f->r, cfg);
	sa_client_init(&f->c, &f->r, client);
}

static void fix_fini(struct fix *f)
{
	sa_client_fini(&f->c);
	sa_rig_fini(&f->r);
}

static struct ib_path_rec between(struct fix *f, const char *src, const char *dst)
{
	return (struct ib_path_rec){
		.sgid = sa_rig_gid(&f->r, src),
		.dgid = sa_rig_gid(&f->r, dst),
		.numb_path = 1,
		.pkey = 0xffff,
	};
}

static int get(struct fix *f, uint64_t mask, const struct ib_path_rec *want,
	       struct ib_path_rec *ret)
{
	return sa_client_path(&f->c, MAD_METHOD_GET, mask, want, ret);
}

static unsigned int table(struct fix *f, uint64_t mask, const struct ib_path_rec *want)
{
	assert_int_equal(sa_client_path(&f->c, MAD_METHOD_GET_TABLE, mask, want, NULL), 0);
	return sa_client_count(&f->c);
}

static void test_I21_query_of_the_linux_driver(void **state)
{
	struct ib_path_rec want, got;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 4, .switches = 2 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca4/1");
	assert_int_equal(get(&f, LINUX_MASK, &want, &got), 0);
	assert_true(ib_gid_equal(&got.sgid, &want.sgid));
	assert_true(ib_gid_equal(&got.dgid, &want.dgid));
	assert_int_equal(got.slid, sa_rig_port(&f.r, "Hca1/1")->pi.lid);
	assert_int_equal(got.dlid, sa_rig_port(&f.r, "Hca4/1")->pi.lid);
	assert_int_equal(got.pkey, 0xffff);
	assert_true(got.reversible);
	assert_int_equal(got.numb_path, 0);
	assert_int_equal(got.hop_limit, 0);
	assert_int_equal(got.mtu_sel, SA_SEL_EXACT);
	assert_int_equal(got.rate_sel, SA_SEL_EXACT);
	assert_int_equal(got.life_sel, SA_SEL_EXACT);
	assert_int_equal(got.mtu_code, IB_MTU_4096);
	assert_int_equal(got.life, 18);
	assert_true(ib_rate_mbps(got.rate_code) >= 10000);
	fix_fini(&f);
}

static void test_I21_loopback_has_no_life_time(void **state)
{
	struct ib_path_rec want, got;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca1/1");
	assert_int_equal(get(&f, LINUX_MASK, &want, &got), 0);
	assert_int_equal(got.dlid, got.slid);
	assert_int_equal(got.life, 0);
	assert_true(got.reversible);
	fix_fini(&f);
}

static void test_I21_foreign_prefix_and_unknown_guid(void **state)
{
	struct ib_path_rec want;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	be64_put(want.dgid.raw, 0x2001000000000001ull);
	assert_int_equal(get(&f, BOTH, &want, NULL), SA_STATUS_INVALID_GID);
	want = between(&f, "Hca1/1", "Hca2/1");
	want.dgid.raw[15] ^= 0x55;
	assert_int_equal(get(&f, BOTH, &want, NULL), SA_STATUS_INVALID_GID);
	want = between(&f, "Hca1/1", "Hca2/1");
	want.sgid.raw[15] ^= 0x55;
	assert_int_equal(get(&f, BOTH, &want, NULL), SA_STATUS_INVALID_GID);
	/*
	 * No port has this LID, so no record matches. The status must be "no records", and not the
	 * status for an unknown GID.
	 */
	want.dlid = 0xbfff;
	assert_int_equal(get(&f, PATH_COMP_DLID, &want, NULL), SA_STATUS_NO_RECORDS);
	assert_int_equal(table(&f, PATH_COMP_DLID, &want), 0);
	fix_fini(&f);
}

static void test_I19_get_has_one_path_tables_have_all(void **state)
{
	struct ib_path_rec want;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 4, .switches = 2 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	assert_int_equal(get(&f, PATH_COMP_SGID, &want, NULL), 0);
	/* the answer includes the paths to the port itself and to port 0 of the switch */
	assert_int_equal(table(&f, PATH_COMP_SGID, &want), 6);
	assert_int_equal(f.c.resp.sa.attr_offset, 8);
	assert_int_equal(table(&f, PATH_COMP_DGID, &want), 6);
	assert_int_equal(table(&f, 0, &want), 36);
	assert_int_equal(table(&f, BOTH, &want), 1);
	fix_fini(&f);
}

static void test_I21_ends_by_lid(void **state)
{
	struct ib_path_rec want, got;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 3, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca3/1");
	want.slid = sa_rig_port(&f.r, "Hca1/1")->pi.lid;
	want.dlid = sa_rig_port(&f.r, "Hca3/1")->pi.lid;
	assert_int_equal(get(&f, PATH_COMP_SLID | PATH_COMP_DLID, &want, &got), 0);
	assert_true(ib_gid_equal(&got.sgid, &want.sgid));
	assert_true(ib_gid_equal(&got.dgid, &want.dgid));
	/* The GID and the LID in the query belong to different ports, so no path matches. */
	want.dlid = want.slid;
	assert_int_equal(get(&f, BOTH | PATH_COMP_DLID, &want, NULL), SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_I16_lmc_gives_a_path_to_each_lid(void **state)
{
	struct ib_path_rec want, rec;
	struct fix f;
	uint16_t lid;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 3, .switches = 2, .lmc = 2 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	lid = sa_rig_port(&f.r, "Hca2/1")->pi.lid;
	assert_int_equal(table(&f, BOTH, &want), 4);
	for (unsigned int i = 0; i < 4; i++) {
		ib_path_rec_decode(&rec, sa_client_rec(&f.c, i), PATH_REC_LEN);
		assert_int_equal(rec.dlid, lid + i);
		assert_int_equal(rec.slid, sa_rig_port(&f.r, "Hca1/1")->pi.lid + i);
		assert_true(rec.reversible);
	}
	want.numb_path = 3;
	assert_int_equal(table(&f, BOTH | PATH_COMP_NUMB_PATH, &want), 3);
	/*
	 * NumbPath is the number of paths for each pair of ports. With 0 the answer to a GetTable
	 * is empty, but a Get still returns one path.
	 */
	want.numb_path = 0;
	assert_int_equal(table(&f, BOTH | PATH_COMP_NUMB_PATH, &want), 0);
	assert_int_equal(get(&f, BOTH | PATH_COMP_NUMB_PATH, &want, NULL), 0);
	want.dlid = lid + 3;
	assert_int_equal(get(&f, BOTH | PATH_COMP_DLID, &want, &rec), 0);
	assert_int_equal(rec.dlid, lid + 3);
	want.slid = sa_rig_port(&f.r, "Hca1/1")->pi.lid + 1;
	assert_int_equal(get(&f, BOTH | PATH_COMP_DLID | PATH_COMP_SLID, &want, &rec), 0);
	assert_int_equal(rec.slid, want.slid);
	fix_fini(&f);
}

static void test_I21_mtu_selectors(void **state)
{
	static const struct {
		uint8_t sel, code;
		int status;
		uint8_t got;
	} v[] = {
		{ SA_SEL_GT, IB_MTU_2048, 0, IB_MTU_4096 },
		{ SA_SEL_GT, IB_MTU_4096, SA_STATUS_NO_RECORDS, 0 },
		{ SA_SEL_LT, IB_MTU_4096, 0, IB_MTU_2048 },
		{ SA_SEL_LT, IB_MTU_256, SA_STATUS_NO_RECORDS, 0 },
		{ SA_SEL_EXACT, IB_MTU_1024, 0, IB_MTU_1024 },
		{ SA_SEL_EXACT, 9, SA_STATUS_REQ_INVALID, 0 },
		{ SA_SEL_EXACT, 0, SA_STATUS_REQ_INVALID, 0 },
		{ SA_SEL_LARGEST, 0, 0, IB_MTU_4096 },
		{ SA_SEL_LARGEST, IB_MTU_256, 0, IB_MTU_4096 },
	};
	struct ib_path_rec want, rec;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		want.mtu_sel = v[i].sel;
		want.mtu_code = v[i].code;
		assert_int_equal(get(&f, BOTH | PATH_COMP_MTU_SEL | PATH_COMP_MTU, &want, &rec),
				 v[i].status);
		if (v[i].status)
			continue;
		assert_int_equal(rec.mtu_code, v[i].got);
		assert_int_equal(rec.mtu_sel, SA_SEL_EXACT);
	}
	fix_fini(&f);
}

static void test_I21_rate_and_life_selectors(void **state)
{
	struct ib_path_rec want, rec, full;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	assert_int_equal(get(&f, BOTH, &want, &full), 0);
	want.rate_sel = SA_SEL_LT;
	want.rate_code = full.rate_code;
	assert_int_equal(get(&f, BOTH | PATH_COMP_RATE_SEL | PATH_COMP_RATE, &want, &rec), 0);
	assert_true(ib_rate_mbps(rec.rate_code) < ib_rate_mbps(full.rate_code));
	want.rate_sel = SA_SEL_GT;
	assert_int_equal(get(&f, BOTH | PATH_COMP_RATE_SEL | PATH_COMP_RATE, &want, NULL),
			 SA_STATUS_NO_RECORDS);
	want.rate_sel = SA_SEL_EXACT;
	want.rate_code = 2; /* 2.5 Gb/s, which any link carries */
	assert_int_equal(get(&f, BOTH | PATH_COMP_RATE_SEL | PATH_COMP_RATE, &want, &rec), 0);
	assert_int_equal(rec.rate_code, 2);
	want.life_sel = SA_SEL_LT;
	want.life = 18;
	assert_int_equal(get(&f, BOTH | PATH_COMP_LIFE_SEL | PATH_COMP_LIFE, &want, NULL),
			 SA_STATUS_NO_RECORDS);
	want.life = 19;
	assert_int_equal(get(&f, BOTH | PATH_COMP_LIFE_SEL | PATH_COMP_LIFE, &want, &rec), 0);
	assert_int_equal(rec.life, 18);
	want.life_sel = SA_SEL_GT;
	want.life = 18;
	assert_int_equal(get(&f, BOTH | PATH_COMP_LIFE_SEL | PATH_COMP_LIFE, &want, NULL),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_I21_plain_components(void **state)
{
	struct ib_path_rec want, rec;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	want.sl = 3;
	assert_int_equal(get(&f, BOTH | PATH_COMP_SL, &want, NULL), SA_STATUS_NO_RECORDS);
	want.hop_limit = 64;
	assert_int_equal(get(&f, BOTH | PATH_COMP_HOP_LIMIT, &want, NULL), SA_STATUS_NO_RECORDS);
	want.raw = true;
	assert_int_equal(get(&f, BOTH | PATH_COMP_RAW, &want, NULL), SA_STATUS_NO_RECORDS);
	want.preference = 1;
	assert_int_equal(get(&f, BOTH | PATH_COMP_PREFERENCE, &want, NULL), SA_STATUS_NO_RECORDS);
	want.reversible = true;
	want.tclass = 0x20;
	want.flow_label = 0x12345;
	want.service_id = 0x1122334455667788ull;
	want.qos_class = 5;
	assert_int_equal(get(&f,
			     BOTH | PATH_COMP_REVERSIBLE | PATH_COMP_TCLASS | PATH_COMP_FLOW_LABEL |
				     PATH_COMP_SERVICE_ID | PATH_COMP_QOS_CLASS,
			     &want, &rec),
			 0);
	assert_int_equal(rec.tclass, 0x20);
	assert_int_equal(rec.flow_label, 0x12345);
	assert_true(rec.service_id == 0x1122334455667788ull);
	assert_int_equal(rec.qos_class, 5);
	fix_fini(&f);
}

static void test_I21_a_common_pkey_is_needed(void **state)
{
	struct ib_path_rec want, rec;
	struct fix f;

	fix_init(&f,
		 &(struct sa_rig_cfg){ .hosts = 4,
				       .switches = 1,
				       .partitions =
					       "Default=0x7fff : ALL=limited, SELF=full;\n"
					       "A=0x0001 : \"Hca1\"=full, \"Hca2\"=limited;\n"
					       "B=0x0002 : \"Hca1\"=limited, \"Hca3\"=limited;\n" },
		 "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	assert_int_equal(get(&f, BOTH, &want, &rec), 0);
	assert_int_equal(rec.pkey, 0x8001);
	want.pkey = 0x8001;
	assert_int_equal(get(&f, LINUX_MASK, &want, &rec), 0);
	assert_int_equal(rec.pkey, 0x8001);
	/*
	 * Both ports are limited members of the default partition, so they have no path in this
	 * partition.
	 */
	want.pkey = 0xffff;
	assert_int_equal(get(&f, LINUX_MASK, &want, NULL), SA_STATUS_NO_RECORDS);
	want.pkey = 0x8002;
	assert_int_equal(get(&f, LINUX_MASK, &want, NULL), SA_STATUS_NO_RECORDS);
	want = between(&f, "Hca1/1", "Hca3/1");
	want.pkey = 0x8002;
	assert_int_equal(get(&f, LINUX_MASK, &want, NULL), SA_STATUS_NO_RECORDS);
	/*
	 * The asking port, Hca1, shares no partition with Hca3, because both are limited members.
	 * So it gets no path between Hca3 and the switch.
	 */
	want = between(&f, "Hca3/1", "Switch1/0");
	want.pkey = 0xffff;
	assert_int_equal(get(&f, LINUX_MASK, &want, NULL), SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_paths_of_ports_that_the_asker_may_not_know(void **state)
{
	struct ib_path_rec want;
	struct fix f;

	fix_init(&f,
		 &(struct sa_rig_cfg){ .hosts = 3,
				       .switches = 1,
				       .sm_key = 7,
				       .partitions = "Default=0x7fff : ALL=limited, SELF=full;\n"
						     "A=0x0001 : \"Hca1\"=full, \"Hca2\"=full;\n"
						     "B=0x0002 : \"Hca1\"=full, \"Hca3\"=full;\n" },
		 "Hca2/1");
	want = between(&f, "Hca1/1", "Hca3/1");
	assert_int_equal(get(&f, BOTH, &want, NULL), SA_STATUS_NO_RECORDS);
	want = between(&f, "Hca3/1", "Hca1/1");
	assert_int_equal(get(&f, BOTH, &want, NULL), SA_STATUS_NO_RECORDS);
	f.c.sm_key = 7;
	assert_int_equal(get(&f, BOTH, &want, NULL), 0);
	fix_fini(&f);
}

static void test_path_to_a_group(void **state)
{
	struct ib_path_rec want, rec;
	const struct sm_group *g;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 }, "Hca1/1");
	want = between(&f, "Hca1/1", "Hca2/1");
	mgid_broadcast(&want.dgid, 0xffff, 2);
	g = sm_group_find(f.r.sm, &want.dgid);
	assert_non_null(g);
	assert_int_equal(get(&f, LINUX_MASK, &want, &rec), 0);
	assert_int_equal(rec.dlid, g->rec.mlid);
	assert_int_equal(rec.mtu_code, g->rec.mtu_code);
	want.dgid.raw[15] ^= 1;
	assert_int_equal(get(&f, LINUX_MASK, &want, NULL), SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_I16_rate_is_the_slowest_link(void **state)
{
	static const char topology[] =
		"Switch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"S2\"[1] w=1 s=1\n\n"
		"Switch 8 \"S2\"\n[1] \"S1\"[2] w=1 s=1\n[2] \"H2\"[1]\n\n"
		"Hca 1 \"H1\"\n[1] \"S1\"[1]\n\nHca 1 \"H2\"\n[1] \"S2\"[2]\n";
	struct ib_path_rec want, rec;
	struct fix f;

	fix_init(&f, &(struct sa_rig_cfg){ .topology = topology, .sm = "S1/0" }, "H1/1");
	want = between(&f, "H1/1", "H2/1");
	assert_int_equal(get(&f, LINUX_MASK, &want, &rec), 0);
	assert_int_equal(rec.rate_code, 2);
	want = between(&f, "H1/1", "S1/0");
	assert_int_equal(get(&f, LINUX_MASK, &want, &rec), 0);
	assert_true(ib_rate_mbps(rec.rate_code) > 2500);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I21_query_of_the_linux_driver),
		cmocka_unit_test(test_I21_loopback_has_no_life_time),
		cmocka_unit_test(test_I21_foreign_prefix_and_unknown_guid),
		cmocka_unit_test(test_I19_get_has_one_path_tables_have_all),
		cmocka_unit_test(test_I21_ends_by_lid),
		cmocka_unit_test(test_I16_lmc_gives_a_path_to_each_lid),
		cmocka_unit_test(test_I21_mtu_selectors),
		cmocka_unit_test(test_I21_rate_and_life_selectors),
		cmocka_unit_test(test_I21_plain_components),
		cmocka_unit_test(test_I21_a_common_pkey_is_needed),
		cmocka_unit_test(test_paths_of_ports_that_the_asker_may_not_know),
		cmocka_unit_test(test_path_to_a_group),
		cmocka_unit_test(test_I16_rate_is_the_slowest_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
