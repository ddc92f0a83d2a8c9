/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/run.h"

#include <string.h>

#include "check.h"
#include "crc/crc.h"
#include "crc/kern.h"
#include "crc_ref.h"
#include "util/be.h"
#include "util/prng.h"
#include "wire/inet.h"

#define PACKETS 3

/*
 * A run of packets whose octets are random, except in header fields that determine how CRCs are
 * computed
 */
struct flow {
	bool grh;
	uint32_t
		payload; /* number of octets in the slice; the headers behind the DETH are in hdr[] */
	uint32_t hdr_len;
	unsigned int nwords;
	uint32_t at[CRC_RUN_WORDS];
};

static struct flow random_flow(struct prng *r)
{
	struct flow f = { .grh = prng_below(r, 2) };
	uint32_t least = ib_ud_hdr_len(f.grh), psn = least - IB_DETH_LEN - 4;

	f.payload = prng_below(r, 2) ? CRC_BODY_MIN + prng_below(r, 300)
				     : CRC_BODY_MIN + prng_below(r, CRC_BODY_MAX - CRC_BODY_MIN);
	f.hdr_len = least + 4 * prng_below(r, (PKT_HDR_MAX - least) / 4 + 1);
	f.nwords = prng_below(r, CRC_RUN_WORDS + 1);
	for (unsigned int i = 0; i < f.nwords; i++)
		f.at[i] = psn + 4 * i; /* IB_UD_HDR_MAX - psn is at least 12 */
	while (f.nwords && f.at[f.nwords - 1] + 4 > f.hdr_len)
		f.nwords--;
	return f;
}

/* Make the first packet of a flow, with zeros in the words that differ. */
static struct pkt *make(struct pkt_pool *pool, struct prng *r, const struct flow *f)
{
	struct ib_ud_hdr h = { .has_grh = f->grh,
			       .grh = { .ip_ver = 6, .hop_limit = (uint8_t)prng_u64(r) } };
	uint32_t least = ib_ud_hdr_len(f->grh);
	struct pkt *p = pkt_alloc(pool);
	struct pkt_buf *b = pkt_buf_alloc(pool);

	assert_true(p && b);
	h.lrh.vl = (uint8_t)prng_below(r, 16);
	h.lrh.dlid = (uint16_t)prng_u64(r);
	h.bth.opcode = IB_OP_UD_SEND_ONLY;
	fill(r, pkt_push(p, f->hdr_len - least), f->hdr_len - least);
	ib_ud_hdr_encode(pkt_push(p, least), &h, f->hdr_len - least + f->payload);
	for (unsigned int i = 0; i < f->nwords; i++)
		memset(pkt_hdr(p) + f->at[i], 0, 4);
	fill(r, b->data, PACKETS * f->payload);
	assert_int_equal(pkt_add_slice(p, b, b->data, f->payload), 0);
	pkt_buf_put(b);
	crc_pkt_pad(p);
	return p;
}

static void same_as_packet_by_packet(struct pkt_pool *pool, struct prng *r)
{
	struct flow f = random_flow(r);
	struct pkt *p = make(pool, r, &f);
	struct crc_run run;

	if (!crc_best->body) {
		assert_false(crc_run_begin(&run, p, f.at, f.nwords));
		pkt_free(p);
		return;
	}
	assert_true(crc_run_begin(&run, p, f.at, f.nwords));
	for (unsigned int k = 0; k < PACKETS; k++, p->slice[0].data += f.payload) {
		struct crc_body body = crc_run_body(&run, p->slice[0].data);
		uint32_t words[CRC_RUN_WORDS];
		uint8_t crcs[IB_CRCS_LEN];

		assert_int_equal(inet_fold(body.sum),
				 inet_fold(inet_sum(0, p->slice[0].data, f.payload)));
		for (unsigned int i = 0; i < f.nwords; i++) {
			words[i] = (uint32_t)prng_u64(r);
			memcpy(pkt_hdr(p) + f.at[i], &words[i], 4);
		}
		crc_run_crcs(&run, &body, words, crcs);
		crc_pkt_seal(p);
		assert_memory_equal(crcs, p->tail + p->tail_len - IB_CRCS_LEN, sizeof(crcs));
	}
	pkt_free(p);
}

static void test_crcs_and_sums_of_runs_are_those_of_their_packets(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	const struct crc_kernel *best = crc_best;
	const struct crc_kernel *const *k;
	struct prng r;
	size_t n;

	prng_seed(&r, 1);
	k = crc_kernels(&n);
	for (size_t i = 0; i < n; i++) {
		crc_best = k[i];
		for (int round = 0; round < 1000; round++)
			same_as_packet_by_packet(pool, &r);
	}
	crc_best = best;
	pkt_pool_destroy(pool);
}

/* Every octet is 0xff, so that all sums inside the CPU are as large as they can become. */
static void test_the_largest_sum(void **state)
{
	static uint8_t payload[CRC_BODY_MAX];
	const struct crc_kernel *const *k;
	size_t n;

	memset(payload, 0xff, sizeof(payload));
	k = crc_kernels(&n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t len = CRC_BODY_MAX - 300; k[i]->body && len <= CRC_BODY_MAX; len++)
			assert_int_equal(inet_fold(k[i]->body(payload, len).sum),
					 inet_fold(inet_sum(0, payload, len)));
}

static void test_shapes_whose_crcs_are_made_one_by_one(void **state)
{
	struct flow f = { .payload = 1000, .hdr_len = 84, .nwords = 1, .at = { 16 } };
	struct pkt_pool *pool = pkt_pool_create(1, 1);
	struct crc_run run;
	struct prng r;
	struct pkt *p;

	if (!crc_best->body) /* This CPU makes the CRCs of all packets one by one. */
		skip();
	prng_seed(&r, 1);
	p = make(pool, &r, &f);
	assert_true(crc_run_begin(&run, p, f.at, 1));
	f.at[0] = 18;
	assert_false(crc_run_begin(&run, p, f.at, 1));
	f.at[0] = 16;
	p->slice[0].len = CRC_BODY_MIN - 4;
	assert_false(crc_run_begin(&run, p, f.at, 1));
	p->slice[0].len = CRC_BODY_MAX + 4;
	assert_false(crc_run_begin(&run, p, f.at, 1));
	p->slice[0].len = 1000;
	p->nslices = 2;
	assert_false(crc_run_begin(&run, p, f.at, 1));
	p->nslices = 1;
	p->len--;
	assert_false(crc_run_begin(&run, p, f.at, 1));
	p->len++;
	p->tail_len = IB_CRCS_LEN - 4;
	assert_false(crc_run_begin(&run, p, f.at, 1));
	p->tail_len = IB_CRCS_LEN;
	pkt_hdr(p)[1] &= (uint8_t)~IB_LNH_LOCAL; /* a raw packet */
	assert_false(crc_run_begin(&run, p, f.at, 1));
	pkt_free(p);
	pkt_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crcs_and_sums_of_runs_are_those_of_their_packets),
		cmocka_unit_test(test_the_largest_sum),
		cmocka_unit_test(test_shapes_whose_crcs_are_made_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
