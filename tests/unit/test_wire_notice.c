/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/notice.h"

#include <string.h>

#include "check.h"
#include "layout.h"

/* DataDetails of traps, made by hand from the tables of IBA 14.2.5.1 */

static struct mad_notice notice(uint16_t trap, const char *details)
{
	struct mad_notice n = { .generic = true, .trap = trap };

	layout_hex(n.details, strlen(details) / 2, details);
	return n;
}

#define QPS        \
	"30000048" \
	"00123456"
#define GID1 "fe800000000000000002c90300000001"
#define GID2 "fe800000000000000002c90300000002"
#define BAD_257 \
	"0000"  \
	"0011"  \
	"0012"  \
	"80010001" QPS GID1 GID2
#define BAD_259                     \
	"00ff"                      \
	"0011"                      \
	"0012"                      \
	"8123" QPS GID1 GID2 "0005" \
	"03"

static void check_ends(const struct notice_violation *v)
{
	ib_gid from = ib_gid_of(0xfe80000000000000ull, 0x0002c90300000001ull);
	ib_gid to = ib_gid_of(0xfe80000000000000ull, 0x0002c90300000002ull);

	assert_int_equal(v->slid, 0x11);
	assert_int_equal(v->dlid, 0x12);
	assert_int_equal(v->sl, 3);
	assert_int_equal(v->src_qp, 0x48);
	assert_int_equal(v->dest_qp, 0x123456);
	assert_true(v->has_gids);
	assert_true(ib_gid_equal(&v->sgid, &from));
	assert_true(ib_gid_equal(&v->dgid, &to));
}

static void test_violations_at_an_end_port(void **state)
{
	struct mad_notice n = notice(MAD_TRAP_BAD_QKEY, BAD_257),
			  out = { .trap = MAD_TRAP_BAD_QKEY };
	struct notice_violation v;

	(void)state;
	notice_violation_decode(&v, &n);
	check_ends(&v);
	assert_int_equal(v.key, 0x80010001);
	assert_int_equal(v.switch_lid, 0);
	notice_violation_encode(&out, &v);
	assert_memory_equal(out.details, n.details, sizeof(n.details));

	/* A packet without a GRH has no GIDs. */
	memset(n.details + 18, 0, 32);
	notice_violation_decode(&v, &n);
	assert_false(v.has_gids);
	assert_int_equal(v.dest_qp, 0x123456);
}

static void test_violations_at_a_switch_port(void **state)
{
	struct mad_notice n = notice(MAD_TRAP_SWITCH_BAD_PKEY, BAD_259),
			  out = { .trap = MAD_TRAP_SWITCH_BAD_PKEY };
	struct notice_violation v;

	(void)state;
	notice_violation_decode(&v, &n);
	check_ends(&v);
	assert_int_equal(v.key, 0x8123);
	assert_int_equal(v.switch_lid, 5);
	assert_int_equal(v.port, 3);
	notice_violation_encode(&out, &v);
	assert_memory_equal(out.details, n.details, sizeof(n.details));
}

/*
 * The first 16 bits of trap 259 say which fields are valid. A field that is not valid must count as
 * absent.
 */
static void test_fields_that_are_not_valid(void **state)
{
	struct mad_notice n = notice(MAD_TRAP_SWITCH_BAD_PKEY, BAD_259);
	struct notice_violation v;

	(void)state;
	n.details[1] = 0x3f;
	notice_violation_decode(&v, &n);
	assert_false(v.has_gids);
	assert_true(ib_gid_equal(&v.sgid, &(ib_gid){ 0 }));
	assert_int_equal(v.slid, 0x11);
	for (unsigned int bit = 0; bit < 6; bit++) {
		n.details[1] = (uint8_t)(0xff & ~(1u << bit));
		notice_violation_decode(&v, &n);
		assert_int_equal(v.slid, bit == 0 ? 0 : 0x11);
		assert_int_equal(v.dlid, bit == 1 ? 0 : 0x12);
		assert_int_equal(v.key, bit == 2 ? 0 : 0x8123);
		assert_int_equal(v.sl, bit == 3 ? 0 : 3);
		assert_int_equal(v.src_qp, bit == 4 ? 0 : 0x48);
		assert_int_equal(v.dest_qp, bit == 5 ? 0 : 0x123456);
	}
}

#define BAD_256            \
	"0000"             \
	"0005"             \
	"ffff"             \
	"02"               \
	"00"               \
	"0015"             \
	"00000012"         \
	"0000000000000bad" \
	"00"               \
	"82"               \
	"0307"

static void test_wrong_mkey(void **state)
{
	struct mad_notice n = notice(MAD_TRAP_BAD_MKEY, BAD_256),
			  out = { .trap = MAD_TRAP_BAD_MKEY };
	struct notice_mkey k;

	(void)state;
	notice_mkey_decode(&k, &n);
	assert_int_equal(k.dr_slid, 0xffff);
	assert_int_equal(k.method, 2);
	assert_int_equal(k.attr, 0x15);
	assert_int_equal(k.mod, 0x12);
	assert_int_equal(k.mkey, 0xbad);
	assert_true(k.directed);
	assert_false(k.truncated);
	assert_int_equal(k.hops, 2);
	assert_int_equal(k.path[0], 3);
	assert_int_equal(k.path[1], 7);
	mad_notice_lid(&out, 5);
	notice_mkey_encode(&out, &k);
	assert_memory_equal(out.details, n.details, sizeof(n.details));
}

/*
 * A notice has room for 30 hops. If its hop count is larger, the route counts as cut off, and
 * nothing behind the notice is read.
 */
static void test_route_longer_than_the_notice(void **state)
{
	struct mad_notice n = notice(MAD_TRAP_BAD_MKEY, BAD_256);
	struct notice_mkey k;

	(void)state;
	n.details[23] = 0x80 | 31;
	notice_mkey_decode(&k, &n);
	assert_int_equal(k.hops, 30);
	assert_true(k.truncated);
	n.details[23] = 0xc0 | 30;
	notice_mkey_decode(&k, &n);
	assert_int_equal(k.hops, 30);
	assert_true(k.truncated);
}

static void test_ports_and_changes(void **state)
{
	struct mad_notice n = notice(MAD_TRAP_LINK_INTEGRITY, "0000"
							      "0005"
							      "07");
	struct notice_change c;

	(void)state;
	assert_int_equal(mad_notice_get_lid(&n), 5);
	assert_int_equal(notice_get_port(&n), 7);

	n = notice(MAD_TRAP_CAP_CHANGE, "0000"
					"0005"
					"00"
					"01"
					"0250c04a"
					"0009");
	notice_change_decode(&c, &n);
	assert_int_equal(c.cap_mask, 0x0250c04a);
	assert_int_equal(c.others, NOTICE_CHANGED_NODE_DESC | NOTICE_CHANGED_SM_PRIORITY);
	n.details[5] = 0;
	notice_change_decode(&c, &n);
	assert_int_equal(c.others, 0);

	n = notice(MAD_TRAP_SYSGUID_CHANGE, "0000"
					    "0005"
					    "0000"
					    "0002c90300000042");
	assert_int_equal(notice_get_sys_guid(&n), 0x0002c90300000042ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_violations_at_an_end_port),
		cmocka_unit_test(test_violations_at_a_switch_port),
		cmocka_unit_test(test_fields_that_are_not_valid),
		cmocka_unit_test(test_wrong_mkey),
		cmocka_unit_test(test_route_longer_than_the_notice),
		cmocka_unit_test(test_ports_and_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
