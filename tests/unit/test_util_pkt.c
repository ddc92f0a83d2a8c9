/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/frame.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "util/prng.h"

#define MODEL_MAX 4096

static void fill(struct prng *r, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)prng_u64(r);
}

static void assert_pkt(const struct pkt *p, const uint8_t *want, uint32_t len)
{
	static uint8_t out[MODEL_MAX];
	uint32_t sum = pkt_hdr_len(p);

	assert_int_equal(p->len, len);
	assert_int_equal(pkt_copy_out(p, 0, out, sizeof(out)), len);
	assert_memory_equal(out, want, len);
	for (unsigned int i = 0; i < p->nslices; i++) {
		assert_true(p->slice[i].len > 0);
		sum += p->slice[i].len;
	}
	assert_int_equal(sum, len);
}

/*
 * Make a packet from @len octets of @data. The first @h octets are in hdr[], the other octets in
 * one or two slices.
 */
static struct pkt *make(struct pkt_pool *pool, const uint8_t *data, uint32_t len, uint32_t h,
			uint32_t first)
{
	struct pkt *p = pkt_alloc(pool);
	struct pkt_buf *b;

	assert_non_null(p);
	memcpy(pkt_push(p, h), data, h);
	if (len == h)
		return p;
	b = pkt_buf_alloc(pool);
	assert_non_null(b);
	memcpy(b->data, data + h, len - h);
	if (first)
		assert_int_equal(pkt_add_slice(p, b, b->data, first), 0);
	if (first < len - h)
		assert_int_equal(pkt_add_slice(p, b, b->data + first, len - h - first), 0);
	pkt_buf_put(b);
	return p;
}

static struct pkt *make_random(struct pkt_pool *pool, struct prng *r, const uint8_t *data,
			       uint32_t *ret_len)
{
	uint32_t h = prng_below(r, PKT_HDR_MAX + 1);
	uint32_t rest = prng_below(r, 3) ? prng_below(r, 600) : 0;

	*ret_len = h + rest;
	return make(pool, data, h + rest, h, prng_below(r, rest + 1));
}

static void test_pkt_pool_runs_out_and_recovers(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(3, 2);
	struct pkt *p[3];
	struct pkt_buf *b[2];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			assert_non_null(p[i] = pkt_alloc(pool));
		assert_null(pkt_alloc(pool));
		for (int i = 0; i < 2; i++)
			assert_non_null(b[i] = pkt_buf_alloc(pool));
		assert_null(pkt_buf_alloc(pool));
		assert_int_equal(pkt_pool_pkts_used(pool), 3);
		assert_int_equal(pkt_pool_bufs_used(pool), 2);
		assert_true(b[0]->data + PKT_BUF_SIZE <= b[1]->data ||
			    b[1]->data + PKT_BUF_SIZE <= b[0]->data);
		pkt_free_batch(p, 3);
		pkt_buf_put(b[0]);
		pkt_buf_put(b[1]);
		assert_int_equal(pkt_pool_pkts_used(pool), 0);
		assert_int_equal(pkt_pool_bufs_used(pool), 0);
	}
	pkt_free(NULL);
	pkt_pool_destroy(pool);
	pkt_pool_destroy(NULL);
}

static void test_pkt_alloc_is_clean(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct pkt *p = pkt_alloc(pool);
	uint8_t data[300] = { 0 };

	p->flags = PKT_CRC;
	p->tail_len = 8;
	p->hops = 0;
	p->vl = 15;
	frame_info(p)->gso = FRAME_GSO_TCP4;
	pkt_free(p);
	p = pkt_from_data(pool, data, sizeof(data));
	pkt_free(p);
	p = pkt_alloc(pool);
	assert_int_equal(p->flags, 0);
	assert_int_equal(p->len, 0);
	assert_int_equal(p->head, PKT_HDR_MAX);
	assert_int_equal(p->hops, PKT_HOPS);
	assert_int_equal(p->nslices, 0);
	assert_int_equal(p->tail_len, 0);
	assert_int_equal(p->vl, 0);
	assert_int_equal(frame_info(p)->gso, FRAME_GSO_NONE);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

static void test_pkt_push_until_there_is_no_room(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 0);
	struct pkt *p = pkt_alloc(pool);

	assert_ptr_equal(pkt_push(p, 100), p->hdr + PKT_HDR_MAX - 100);
	assert_null(pkt_push(p, PKT_HDR_MAX - 99));
	assert_int_equal(p->len, 100);
	assert_ptr_equal(pkt_push(p, PKT_HDR_MAX - 100), p->hdr);
	assert_int_equal(p->len, PKT_HDR_MAX);
	assert_null(pkt_push(p, 1));
	pkt_free(p);
	pkt_pool_destroy(pool);
}

static void test_pkt_from_data_leaves_room_for_headers(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(2, 1);
	static uint8_t data[PKT_BUF_SIZE + 1];
	struct prng r;
	struct pkt *p;

	prng_seed(&r, 1);
	fill(&r, data, sizeof(data));
	for (uint32_t len = 0; len < 300; len++) {
		p = pkt_from_data(pool, data, len);
		assert_non_null(p);
		assert_pkt(p, data, len);
		assert_true(p->head >= 100);
		pkt_free(p);
	}
	p = pkt_from_data(pool, data, PKT_BUF_SIZE);
	assert_non_null(p);
	assert_int_equal(p->len, PKT_BUF_SIZE);
	assert_null(pkt_from_data(pool, data, 1000)); /* there is no second buffer */
	assert_int_equal(pkt_pool_pkts_used(pool), 1);
	pkt_free(p);
	assert_null(pkt_from_data(pool, data, PKT_BUF_SIZE + 1));
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_pkt_slices_hold_references(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(2, 1);
	struct pkt_buf *b = pkt_buf_alloc(pool);
	struct pkt *p = pkt_alloc(pool), *q;

	assert_int_equal(pkt_add_slice(p, b, b->data, 10), 0);
	assert_int_equal(pkt_add_slice(p, b, b->data + 10, 10), 0);
	assert_int_equal(pkt_add_slice(p, b, b->data + 20, 10), -ENOSPC);
	assert_int_equal(b->refs, 3);
	assert_int_equal(p->len, 20);
	pkt_buf_put(b);
	q = pkt_clone(p);
	assert_int_equal(b->refs, 4);
	pkt_free(p);
	assert_int_equal(b->refs, 2);
	assert_int_equal(pkt_pool_bufs_used(pool), 1);
	pkt_free(q);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_pkt_clone_shares_payload_only(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(2, 1);
	uint8_t data[500];
	struct prng r;
	struct pkt *p, *q;

	prng_seed(&r, 2);
	fill(&r, data, sizeof(data));
	p = make(pool, data, 500, 68, 200);
	p->flags = PKT_CRC;
	p->tail_len = 6;
	memcpy(p->tail, "abcdef", 6);
	p->vl = 3;
	q = pkt_clone(p);
	assert_non_null(q);
	assert_null(pkt_clone(p)); /* the pool has two descriptors */
	pkt_hdr(p)[0] ^= 0xff;
	p->tail[0] ^= 0xff;
	assert_pkt(q, data, 500);
	assert_memory_equal(q->tail, "abcdef", 6);
	assert_int_equal(q->tail_len, 6);
	assert_int_equal(q->vl, 3);
	assert_int_equal(q->flags, PKT_CRC);
	assert_ptr_equal(q->slice[0].data, p->slice[0].data);
	pkt_free(p);
	pkt_free(q);
	pkt_pool_destroy(pool);
}

static void test_pkt_pull_random(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	uint8_t data[MODEL_MAX];
	struct prng r;

	prng_seed(&r, 3);
	fill(&r, data, sizeof(data));
	for (int round = 0; round < 20000; round++) {
		uint32_t len, n = prng_below(&r, 300), h;
		struct pkt *p = make_random(pool, &r, data, &len);
		const uint8_t *got;
		bool in_slice = !pkt_hdr_len(p) && p->nslices && n <= p->slice[0].len;

		h = pkt_hdr_len(p);
		got = pkt_pull(p, n);
		if (n <= h || in_slice || (n <= len && n <= PKT_HDR_MAX)) {
			assert_non_null(got);
			assert_memory_equal(got, data, n);
		} else {
			assert_null(got);
		}
		assert_pkt(p, data, len); /* content is the same, wherever its octets are */
		pkt_free(p);
	}
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_pkt_trim_both_ends_random(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	uint8_t data[MODEL_MAX];
	struct prng r;

	prng_seed(&r, 4);
	fill(&r, data, sizeof(data));
	for (int round = 0; round < 20000; round++) {
		uint32_t len, a, b;
		struct pkt *p = make_random(pool, &r, data, &len);

		a = prng_below(&r, len + 1);
		b = prng_below(&r, len - a + 1);
		if (round & 1) {
			pkt_trim_head(p, a);
			pkt_trim(p, b);
		} else {
			pkt_trim(p, a + b);
			pkt_trim_head(p, a);
		}
		assert_pkt(p, data + a, b);
		pkt_free(p);
	}
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_pkt_copy_out_ranges(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	uint8_t data[MODEL_MAX], out[MODEL_MAX];
	struct prng r;

	prng_seed(&r, 5);
	fill(&r, data, sizeof(data));
	for (int round = 0; round < 20000; round++) {
		uint32_t len, off, want, n;
		struct pkt *p = make_random(pool, &r, data, &len);

		off = prng_below(&r, len + 20);
		n = prng_below(&r, 900);
		want = off >= len ? 0 : n < len - off ? n : len - off;
		out[want] = 0x77;
		assert_int_equal(pkt_copy_out(p, off, out, n), want);
		assert_memory_equal(out, data + off, want);
		assert_int_equal(out[want], 0x77);
		pkt_free(p);
	}
	pkt_pool_destroy(pool);
}

static void test_pkt_unshare_makes_the_payload_private(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(2, 2);
	uint8_t data[500];
	struct prng r;
	struct pkt *p, *q;

	prng_seed(&r, 6);
	fill(&r, data, sizeof(data));
	p = make(pool, data, 500, 68, 200);
	q = pkt_clone(p);
	assert_int_equal(pkt_unshare(q), 0);
	assert_int_equal(q->nslices, 1);
	assert_pkt(q, data, 500);
	q->slice[0].buf->data[0] ^= 0xff;
	assert_pkt(p, data, 500);

	/* The packets q and p share no buffer any more, so nothing must be copied again. */
	assert_int_equal(pkt_unshare(q), 0);
	assert_int_equal(pkt_pool_bufs_used(pool), 2);
	assert_int_equal(pkt_unshare(p), -ENOMEM); /* no free buffer for the two slices */
	assert_pkt(p, data, 500);
	pkt_free(p);
	pkt_free(q);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_pkt_queue_counts_the_packets_of_trains(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(4, 1);
	struct pkt *one = pkt_alloc(pool), *train = pkt_alloc(pool), *v[] = { one, train };
	struct pkt_queue q = { 0 };

	assert_int_equal(pkt_count(one), 1);
	assert_false(pkt_is_train(one));
	memset(pkt_push(train, 40), 0, 40);
	train->len = 40 + 2 * 1000 + 1;
	train->count = 3;
	train->seg = 1000;
	assert_true(pkt_is_train(train));
	assert_int_equal(pkt_octets(train), 2 * 1040 + 41);
	assert_int_equal(pkt_count_batch(v, 2), 4);

	pkt_queue_add(&q, one);
	pkt_queue_add(&q, train);
	assert_int_equal(q.n, 4);
	assert_ptr_equal(pkt_queue_pop(&q), one);
	assert_int_equal(q.n, 3);
	assert_ptr_equal(pkt_queue_pop(&q), train);
	assert_int_equal(q.n, 0);
	pkt_queue_push(&q, train);
	assert_int_equal(q.n, 3);
	pkt_queue_purge(&q);
	assert_int_equal(q.n, 0);
	pkt_free(one);
	pkt_pool_destroy(pool);
}

static void test_pkt_queue_is_first_in_first_out(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(4, 0);
	struct pkt_queue q = { 0 };
	struct pkt *p[4];

	assert_null(pkt_queue_pop(&q));
	for (int i = 0; i < 4; i++)
		pkt_queue_add(&q, p[i] = pkt_alloc(pool));
	assert_int_equal(q.n, 4);
	assert_ptr_equal(pkt_queue_pop(&q), p[0]);
	pkt_queue_add(&q, p[0]);
	assert_ptr_equal(pkt_queue_pop(&q), p[1]);
	assert_int_equal(q.n, 3);
	pkt_free(p[1]);
	pkt_queue_purge(&q);
	assert_int_equal(q.n, 0);
	assert_null(q.head);
	assert_null(q.tail);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	pkt_pool_destroy(pool);
}

/*
 * A packet that is held for long must not keep a whole buffer of PKT_BUF_SIZE in use. So it must be
 * copied to a small buffer.
 */
static void test_shrink_frees_the_large_buffer(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(8, 2);
	struct pkt_buf *b = pkt_buf_alloc(pool);
	uint8_t out[PKT_SMALL_SIZE + 100];
	struct pkt *p[3];

	for (unsigned int i = 0; i < PKT_BUF_SIZE; i++)
		b->data[i] = (uint8_t)(i * 7 + (i >> 8));
	for (unsigned int i = 0; i < 3; i++) {
		p[i] = pkt_alloc(pool);
		memset(pkt_push(p[i], 14), 0xee, 14);
		pkt_add_slice(p[i], b, b->data + 100 * i, i ? PKT_SMALL_SIZE - 50 : 60);
		pkt_add_slice(p[i], b, b->data + 20000, 50);
	}
	pkt_buf_put(b);
	assert_int_equal(pkt_shrink(p[0]), 0);
	assert_int_equal(pkt_shrink(p[0]), 0); /* a second call has no effect */
	assert_int_equal(pkt_shrink(p[1]), 0);
	assert_int_equal(pkt_shrink(p[2]),
			 -ENOMEM); /* the only small buffer for four descriptors is in use */
	assert_int_equal(pkt_pool_bufs_used(pool), 1);
	assert_int_equal(pkt_copy_out(p[1], 0, out, sizeof(out)), 14 + PKT_SMALL_SIZE);
	assert_int_equal(out[13], 0xee);
	assert_int_equal(out[14], b->data[100]);
	assert_int_equal(out[14 + PKT_SMALL_SIZE - 50], b->data[20000]);
	pkt_free(p[1]);
	assert_int_equal(pkt_shrink(p[2]), 0); /* the small buffer is free again */
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_free(p[0]);
	pkt_free(p[2]);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	pkt_pool_destroy(pool);
}

static void test_shrink_refuses_what_does_not_fit(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(8, 2);
	uint8_t data[PKT_SMALL_SIZE + 1] = { 0 };
	struct pkt *p = pkt_from_data(pool, data, sizeof(data));

	assert_int_equal(pkt_shrink(p), -EMSGSIZE);
	assert_int_equal(p->len, sizeof(data));
	pkt_free(p);
	pkt_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shrink_frees_the_large_buffer),
		cmocka_unit_test(test_shrink_refuses_what_does_not_fit),
		cmocka_unit_test(test_pkt_pool_runs_out_and_recovers),
		cmocka_unit_test(test_pkt_alloc_is_clean),
		cmocka_unit_test(test_pkt_push_until_there_is_no_room),
		cmocka_unit_test(test_pkt_from_data_leaves_room_for_headers),
		cmocka_unit_test(test_pkt_slices_hold_references),
		cmocka_unit_test(test_pkt_clone_shares_payload_only),
		cmocka_unit_test(test_pkt_pull_random),
		cmocka_unit_test(test_pkt_trim_both_ends_random),
		cmocka_unit_test(test_pkt_copy_out_ranges),
		cmocka_unit_test(test_pkt_unshare_makes_the_payload_private),
		cmocka_unit_test(test_pkt_queue_is_first_in_first_out),
		cmocka_unit_test(test_pkt_queue_counts_the_packets_of_trains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
