/* SPDX-License-Identifier: BSD-2-Clause */

/* Tests TCP and UDP checksums that an adapter makes and verifies. */

#include "verbs/verbs.h"

#include <errno.h>

#include "unit/verbs_rig.h"
#include "util/frame.h"

#define QKEY 0x0b1b
#define L4 24 /* octets of the encapsulation and the IPv4 header */
#define LEN (L4 + 20 + 101)

static struct {
	struct ca_suite_env env;
	struct ca_qp *a, *b;
	struct ca_ah *ah;
} t;

static struct ca_qp *make_qp(unsigned int side)
{
	struct ca_qp_attr a = { .qkey = QKEY, .rx_depth = 64, .tx_depth = 16 };
	struct ca_qp *qp = NULL;

	assert_int_equal(ca_qp_create(t.env.ca[side], &a, &t, &qp), 0);
	return qp;
}

/* Open both ports over devices with this checksum capability and this driver. */
static void up(bool csum, const char *driver)
{
	static const struct ca_notify notify;
	struct ca_port_attr p;
	struct ca_ah_attr attr;

	memset(&t, 0, sizeof(t));
	fake_up(&t.env);
	fake.csum = csum;
	fake.driver = driver;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(verbs_rig_open_port(&t.env, i, &notify, &t, &t.env.ca[i]), 0);
	assert_int_equal(ca_port_query(t.env.ca[1], &p), 0);
	attr = (struct ca_ah_attr){ .dlid = p.lid };
	t.a = make_qp(0);
	t.b = make_qp(1);
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &t.ah), 0);
}

static int teardown(void **state)
{
	verbs_rig_close(&t.env);
	return 0;
}

static uint16_t sum_of(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += (uint32_t)(i % 2 ? p[i] : p[i] << 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint16_t pseudo(const uint8_t *pkt)
{
	return sum_of(pkt + 16, 8, (uint32_t)(pkt[13] + LEN - L4));
}

static bool is_right(const uint8_t *pkt)
{
	return sum_of(pkt + L4, LEN - L4, pseudo(pkt)) == 0xffff;
}

/*
 * Post a TCP (6) or UDP (17) packet from 10.4.0.1 to 10.4.0.2. Its checksum field contains the sum
 * of the pseudo-header only (FRAME_CSUM_PARTIAL) or the whole checksum.
 */
static void post(uint8_t proto, enum frame_csum csum)
{
	uint8_t b[LEN] = { 8, 0, 0, 0, 0x45, 0, 0, LEN - 4, [12] = 64, proto };
	unsigned int at = L4 + (proto == 6 ? 16 : 6);
	struct ca_send s = { .ah = t.ah, .dest_qp = ca_qp_num(t.b), .qkey = QKEY };

	memcpy(b + 16, "\x0a\x04\x00\x01\x0a\x04\x00\x02", 8);
	be16_put(b + 14, (uint16_t)~sum_of(b + 4, 20, 0));
	for (unsigned int i = L4; i < LEN; i++)
		b[i] = (uint8_t)(i * 7);
	be16_put(b + at, 0);
	if (csum == FRAME_CSUM_PARTIAL)
		be16_put(b + at, pseudo(b));
	else
		be16_put(b + at, (uint16_t)~sum_of(b + L4, LEN - L4, pseudo(b)));
	s.pkt = pkt_from_data(t.env.pool, b, LEN);
	assert_non_null(s.pkt);
	*frame_info(s.pkt) = (struct frame_info){
		.csum = (uint8_t)csum,
		.csum_start = 20,
		.csum_offset = (uint16_t)(at - L4),
	};
	assert_int_equal(ca_post_send(t.a, &s, 1, t.env.now), 1);
	verbs_rig_run(&t.env);
}

/* Receive one packet. Check whether its checksum is right (@right) and how it is marked (@csum). */
static void expect(bool right, enum frame_csum csum)
{
	uint8_t b[LEN];
	struct ca_wc wc;

	assert_int_equal(ca_poll(t.b, &wc, 1), 1);
	assert_int_equal(pkt_copy_out(wc.pkt, 0, b, LEN), LEN);
	assert_int_equal(wc.pkt->len, LEN);
	assert_true(is_right(b) == right);
	assert_int_equal(frame_info(wc.pkt)->csum, csum);
	pkt_free(wc.pkt);
}

static void test_an_adapter_makes_and_verifies_checksums(void **state)
{
	up(true, "mlx4_core");
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(t.env.ca[0]->csum);
		post(i ? 6 : 17, FRAME_CSUM_PARTIAL);
		expect(true, FRAME_CSUM_OK);
		post(i ? 6 : 17, FRAME_CSUM_UNKNOWN);
		expect(true, FRAME_CSUM_OK);
	}
}

static void test_an_adapter_without_the_capability(void **state)
{
	up(false, "mlx4_core");
	assert_false(t.env.ca[0]->csum);
	post(6, FRAME_CSUM_OK);
	expect(true, FRAME_CSUM_UNKNOWN);
}

/*
 * The port must refuse and count a packet with a partial checksum, because neither this adapter nor
 * anybody else would complete the checksum.
 */
static void test_a_partial_checksum_never_leaves_such_an_adapter(void **state)
{
	struct ca_wc wc;

	up(false, NULL);
	post(6, FRAME_CSUM_PARTIAL);
	assert_int_equal(ca_poll(t.b, &wc, 1), 0);
	assert_int_equal(verbs_stats(t.env.ca[0])->tx_refused, 1);
	post(6, FRAME_CSUM_OK);
	expect(true, FRAME_CSUM_UNKNOWN);
}

/*
 * mlx5 has the checksum capability, but only for queue pairs of the kernel. On a queue pair of user
 * space, the adapter ignores the flag of a send that asks for checksums. An unknown driver perhaps
 * does the same.
 */
static void test_the_capability_is_not_enough(void **state)
{
	static const char *const drivers[] = { "mlx5_core", "new_core", NULL };

	for (unsigned int i = 0; i < ARRAY_SIZE(drivers); i++) {
		up(true, drivers[i]);
		assert_false(t.env.ca[0]->csum);
		post(17, FRAME_CSUM_OK);
		expect(true, FRAME_CSUM_OK); /* the receiver verifies checksums all the same */
		if (i + 1 < ARRAY_SIZE(drivers))
			verbs_rig_close(&t.env);
	}
}

static void test_a_wrong_checksum_is_not_marked(void **state)
{
	up(true, "mlx4_core");
	fake.driver = "mlx5_core"; /* from now on the adapter ignores the flag */
	post(6, FRAME_CSUM_PARTIAL);
	expect(false, FRAME_CSUM_UNKNOWN);
}

static void test_another_device_comes_back(void **state)
{
	char err[VERBS_ERR_MAX];

	up(true, "mlx4_core");
	for (unsigned int i = 0; i < 2; i++) {
		fake_remove(0);
		verbs_rig_run(&t.env);
		fake_restore(0);
		fake.csum = i;
		assert_int_equal(verbs_reopen(t.env.ca[0], t.env.now, err), 0);
		assert_int_equal(t.env.ca[0]->csum, i);
	}
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_an_adapter_makes_and_verifies_checksums),
		T(test_an_adapter_without_the_capability),
		T(test_a_partial_checksum_never_leaves_such_an_adapter),
		T(test_the_capability_is_not_enough),
		T(test_a_wrong_checksum_is_not_marked),
		T(test_another_device_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
