/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/report.h"
#include "unit/eth_report.h"

struct told {
	unsigned int n;
	struct eth_report r[16];
};

static void on_report(void *ctx, const struct eth_report *r)
{
	struct told *t = ctx;

	assert_true(t->n < ARRAY_SIZE(t->r));
	t->r[t->n++] = *r;
}

static bool parse(struct told *t, const uint8_t *ip, size_t len)
{
	*t = (struct told){ 0 };
	return eth_report_parse(ip, len, on_report, t);
}

static void check_told(const struct told *t, unsigned int i, const uint8_t *group, bool join)
{
	size_t alen = t->r[i].proto == IPOIB_IPV4 ? 4 : 16;

	assert_true(i < t->n);
	assert_memory_equal(t->r[i].group, group, alen);
	assert_int_equal(t->r[i].join, join);
}

static const uint8_t g1[4] = { 239, 1, 2, 3 }, g2[4] = { 239, 1, 2, 4 };
static const uint8_t h1[16] = { 0xff, 5, [15] = 9 }, h2[16] = { 0xff, 5, [15] = 10 };

static void test_parse_igmp_v1_v2(void **state)
{
	struct told t;
	uint8_t b[64];

	assert_true(parse(&t, b, report_igmp(b, V1_REPORT, g1)));
	check_told(&t, 0, g1, true);
	assert_true(parse(&t, b, report_igmp(b, V2_REPORT, g1)));
	check_told(&t, 0, g1, true);
	assert_true(parse(&t, b, report_igmp(b, V2_LEAVE, g1)));
	check_told(&t, 0, g1, false);
	assert_int_equal(t.n, 1);
	assert_false(parse(&t, b, report_igmp(b, 0x11, g1))); /* a query */
}

static void test_parse_mld_v1(void **state)
{
	struct told t;
	uint8_t b[128];

	assert_true(parse(&t, b, report_mld(b, MLD_REPORT, h1)));
	check_told(&t, 0, h1, true);
	assert_int_equal(t.r[0].proto, IPOIB_IPV6);
	assert_true(parse(&t, b, report_mld(b, MLD_DONE, h1)));
	check_told(&t, 0, h1, false);
	assert_false(parse(&t, b, report_mld(b, 130, h1))); /* a query */
}

/*
 * What a record of each type means for its group if it lists no sources (.without) or some sources
 * (.with), by RFC 3376 §4.2.12. 1: join, 0: leave, -1: nothing
 */
static const struct {
	uint8_t type;
	int without, with;
} meaning[] = {
	{ IS_IN, 0, 1 },  { IS_EX, 1, 1 },   { TO_IN, 0, 1 }, { TO_EX, 1, 1 },
	{ ALLOW, -1, 1 }, { BLOCK, -1, -1 }, { 0, -1, -1 },   { 7, -1, -1 },
};

static void test_parse_meaning_of_record_types(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(meaning); i++) {
		for (uint16_t nsrc = 0; nsrc < 3; nsrc += 2) {
			struct report_rec r = { .type = meaning[i].type, .nsrc = nsrc };
			int want = nsrc ? meaning[i].with : meaning[i].without;
			struct told t;
			uint8_t b[256];

			memcpy(r.group, g1, 4);
			assert_true(parse(&t, b, report_igmp3(b, &r, 1)));
			assert_int_equal(t.n, want >= 0);
			if (want >= 0)
				check_told(&t, 0, g1, want);
			memcpy(r.group, h1, 16);
			assert_true(parse(&t, b, report_mld2(b, &r, 1)));
			assert_int_equal(t.n, want >= 0);
			if (want >= 0)
				check_told(&t, 0, h1, want);
		}
	}
}

static void test_parse_walks_sources_and_auxiliary_data(void **state)
{
	static const struct report_rec v4[] = {
		{ IS_EX, 3, 0, { 239, 1, 2, 3 } },
		{ TO_IN, 0, 5, { 239, 1, 2, 4 } },
		{ BLOCK, 1, 2, { 239, 1, 2, 5 } },
		{ TO_IN, 0, 0, { 239, 1, 2, 6 } },
	};
	static const uint8_t g4[4] = { 239, 1, 2, 6 };
	static const struct report_rec v6[] = {
		{ TO_EX, 2, 3, { 0xff, 5, [15] = 9 } },
		{ TO_IN, 0, 0, { 0xff, 5, [15] = 10 } },
	};
	struct told t;
	uint8_t b[2048];

	assert_true(parse(&t, b, report_igmp3(b, v4, ARRAY_SIZE(v4))));
	assert_int_equal(t.n, 3);
	check_told(&t, 0, g1, true);
	check_told(&t, 1, g2, true);
	check_told(&t, 2, g4, false);
	assert_true(parse(&t, b, report_mld2(b, v6, ARRAY_SIZE(v6))));
	assert_int_equal(t.n, 2);
	check_told(&t, 0, h1, true);
	check_told(&t, 1, h2, false);
}

/*
 * The number of records in a report, or the number of sources in a record, may be larger than what
 * the report contains. Only complete records may be used.
 */
static void test_parse_truncated_records(void **state)
{
	static const struct report_rec v4[] = { { TO_EX, 0, 0, { 239, 1, 2, 3 } },
						{ TO_EX, 0, 3, { 239, 1, 2, 4 } } };
	static const struct report_rec v6[] = { { TO_EX, 0, 0, { 0xff, 5, [15] = 9 } },
						{ TO_EX, 0, 2, { 0xff, 5, [15] = 10 } } };
	struct told t;
	uint8_t b[512];
	size_t n = report_igmp3(b, v4, 2), first = 24 + 8 + 8, len;

	for (len = 0; len < n; len++) {
		if (len >= 32)
			report_mend_igmp(b, len);
		assert_int_equal(parse(&t, b, len), len >= 32);
		assert_int_equal(t.n, len >= first);
	}
	n = report_mld2(b, v6, 2);
	first = 48 + 8 + 20;
	for (len = 0; len < n; len++) {
		if (len >= 56)
			report_mend_mld(b, len);
		assert_int_equal(parse(&t, b, len), len >= 56);
		assert_int_equal(t.n, len >= first);
	}
	n = report_mld(b, MLD_REPORT, h1);
	for (len = 48; len < n; len++) {
		report_mend_mld(b, len);
		assert_false(parse(&t, b, len));
	}
}

static void test_parse_refuses_what_is_none(void **state)
{
	struct told t;
	uint8_t b[128];
	size_t n = report_igmp(b, V2_REPORT, g1);

	b[n - 1] ^= 1; /* checksum */
	assert_false(parse(&t, b, n));
	n = report_igmp(b, V2_REPORT, g1);
	b[6] = 0x20; /* flag MF: more fragments follow */
	assert_false(parse(&t, b, n));
	b[6] = 0;
	b[7] = 1; /* fragment offset 1: a later fragment */
	assert_false(parse(&t, b, n));
	b[7] = 0;
	assert_true(parse(&t, b, n));
	b[9] = 17;
	assert_false(parse(&t, b, n));
	b[9] = 2;
	b[0] = 0x44; /* IP header length below 20 */
	assert_false(parse(&t, b, n));
	b[0] = 0x4f; /* IP header length beyond the end of the packet */
	assert_false(parse(&t, b, n));

	n = report_mld(b, MLD_REPORT, h1);
	b[n - 1] ^= 1;
	assert_false(parse(&t, b, n));
	b[n - 1] ^= 1;
	assert_true(parse(&t, b, n));
	b[41] = 9; /* the hop-by-hop header is longer than the packet */
	assert_false(parse(&t, b, n));
	b[41] = 0;
	b[40] = 17;
	assert_false(parse(&t, b, n));
	assert_int_equal(t.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_igmp_v1_v2),
		cmocka_unit_test(test_parse_mld_v1),
		cmocka_unit_test(test_parse_meaning_of_record_types),
		cmocka_unit_test(test_parse_walks_sources_and_auxiliary_data),
		cmocka_unit_test(test_parse_truncated_records),
		cmocka_unit_test(test_parse_refuses_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
