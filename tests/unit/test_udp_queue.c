/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp/queue.h"

#include <string.h>

#include "check.h"
#include "udp_train.h"

/*
 * Tests the order of the packets in the queue, which packets a full queue drops, and which packets
 * are put back into the queue if only some were sent.
 */

static struct pkt_pool *pool;
static struct udp_queue q;

static int setup(void **state)
{
	pool = pkt_pool_create(UDP_QUEUE_DEPTH + 256, 64);
	memset(&q, 0, sizeof(q));
	return 0;
}

static int teardown(void **state)
{
	udp_queue_purge(&q);
	assert_int_equal(udp_queue_len(&q), 0);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
	return 0;
}

static void put_link(struct pkt *p, uint8_t vl, uint32_t dest_qp, uint32_t psn)
{
	uint8_t h[IB_UD_HDR_MAX - IB_GRH_LEN] = { (uint8_t)(vl << 4), IB_LNH_LOCAL };
	uint8_t *room = pkt_push(p, sizeof(h));

	be32_put(h + IB_LRH_LEN + 4, dest_qp);
	be32_put(h + IB_LRH_LEN + IB_BTH_OFF_PSN, psn);
	p->vl = vl;
	assert_non_null(room);
	if (room) /* gcc does not know that a failed assertion never returns */
		memcpy(room, h, sizeof(h));
}

static uint32_t psn_of(struct pkt *p)
{
	return be32_at(pkt_hdr(p) + IB_LRH_LEN + IB_BTH_OFF_PSN);
}

static unsigned int add(uint8_t vl, uint32_t dest_qp, uint32_t psn)
{
	struct pkt *p = pkt_alloc(pool);

	assert_non_null(p);
	put_link(p, vl, dest_qp, psn);
	return udp_queue_add(&q, p);
}

static unsigned int add_train(unsigned int n, uint32_t psn)
{
	struct pkt *t = udp_train(pool, n, 1000, 300);

	put_link(t, 0, 0x48, psn);
	return udp_queue_add(&q, t);
}

/*
 * Take at most @max packets from the queue. Check that packet i of these has PSN want[i][0] and
 * represents want[i][1] packets. Free these packets.
 */
static void expect(unsigned int max, const unsigned int (*want)[2], unsigned int n)
{
	struct pkt *v[PKT_BATCH];

	assert_int_equal(udp_queue_take(&q, v, max), n);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(psn_of(v[i]), want[i][0]);
		assert_int_equal(pkt_count(v[i]), want[i][1]);
	}
	pkt_free_batch(v, n);
}

static void test_management_precedes_data_and_each_keeps_its_order(void **state)
{
	static const unsigned int want[][2] = { { 2, 1 }, { 4, 1 }, { 6, 1 },
						{ 1, 1 }, { 3, 1 }, { 5, 1 } };

	add(0, 0x48, 1);
	add(IB_VL15, 0, 2);
	add(3, 0x49, 3);
	add(0, IB_QP1, 4);
	add(0, 0xffffff, 5);
	add(IB_VL15, 0, 6);
	expect(PKT_BATCH, want, 6);
}

static void test_each_class_has_its_own_bound(void **state)
{
	for (unsigned int i = 0; i < UDP_QUEUE_DEPTH; i++)
		assert_int_equal(add(0, 0x48, i), 0);
	assert_int_equal(add(0, 0x48, 7), 1);
	assert_int_equal(add(IB_VL15, 0, 8), 0);
	assert_int_equal(udp_queue_len(&q), UDP_QUEUE_DEPTH + 1);
}

static void test_of_a_train_that_is_too_long_the_end_is_lost(void **state)
{
	for (unsigned int i = 0; i < UDP_QUEUE_DEPTH - 3; i++)
		add(0, 0x48, i);
	assert_int_equal(add_train(10, 50), 7);
	assert_int_equal(udp_queue_len(&q), UDP_QUEUE_DEPTH);
	assert_int_equal(add_train(10, 60), 10);
	assert_int_equal(udp_queue_len(&q), UDP_QUEUE_DEPTH);
}

static void test_a_batch_counts_packets(void **state)
{
	static const unsigned int first[][2] = { { 1, 1 }, { 10, 20 } }, rest[][2] = { { 2, 1 } };

	add(0, 0x48, 1);
	add_train(20, 10);
	add(0, 0x48, 2);
	expect(12, first, 2);
	expect(12, rest, 1);
}

static void return_after(unsigned int done)
{
	struct pkt *v[PKT_BATCH];
	unsigned int n;

	add(0, 0x48, 1);
	add_train(4, 10);
	add(IB_VL15, 0, 2);
	add(0, 0x48, 3);
	n = udp_queue_take(&q, v, PKT_BATCH);
	assert_int_equal(n, 4);
	add(IB_VL15, 0, 4); /* added while the other packets were sent */
	udp_queue_return(&q, v, n, done);
	assert_int_equal(udp_queue_len(&q), 8 - done);
}

static void test_what_was_not_sent_returns_to_its_place(void **state)
{
	static const unsigned int all[][2] = { { 2, 1 }, { 4, 1 }, { 1, 1 }, { 10, 4 }, { 3, 1 } },
				  one[][2] = { { 4, 1 }, { 1, 1 }, { 10, 4 }, { 3, 1 } },
				  part[][2] = { { 4, 1 }, { 12, 2 }, { 3, 1 } },
				  last[][2] = { { 4, 1 }, { 13, 1 }, { 3, 1 } },
				  train[][2] = { { 4, 1 }, { 3, 1 } }, none[][2] = { { 4, 1 } };

	return_after(0);
	expect(PKT_BATCH, all, 5);
	return_after(1);
	expect(PKT_BATCH, one, 4);
	return_after(4);
	expect(PKT_BATCH, part, 3);
	return_after(5);
	expect(PKT_BATCH, last, 3);
	return_after(6);
	expect(PKT_BATCH, train, 2);
	return_after(7);
	expect(PKT_BATCH, none, 1);
}

static void test_purge_counts_packets(void **state)
{
	add(IB_VL15, 0, 1);
	add(0, 0x48, 1);
	add_train(5, 2);
	assert_int_equal(udp_queue_purge(&q), 7);
	assert_int_equal(udp_queue_len(&q), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_management_precedes_data_and_each_keeps_its_order),
		CASE(test_each_class_has_its_own_bound),
		CASE(test_of_a_train_that_is_too_long_the_end_is_lost),
		CASE(test_a_batch_counts_packets),
		CASE(test_what_was_not_sent_returns_to_its_place),
		CASE(test_purge_counts_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
