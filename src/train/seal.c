/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "crc/run.h"
#include "train/fields.h"
#include "wire/inet.h"

/* Smallest number of packets whose seals are made together. Fewer packets are faster one by one. */
#define RUN_MIN 2

/*
 * DOC: Seals
 *
 * If the configuration has crc = full or crc = icrc, a train carries a seal for each of its
 * packets. The seal has the CRCs of the packet. It also has the packet's TCP or UDP checksum,
 * because the CRCs cover this checksum. The seals of a train are stored one after the other in a
 * small buffer. When a train is split, both parts refer to this buffer, each from its first packet
 * on.
 *
 * The CRCs are those of the packets that the train represents. Whenever a CRC is made or verified,
 * the headers of the packet are derived from the headers of the train, and the payload is read from
 * its original place. So damage to the headers of the train, to its payload or to a seal is found,
 * just as damage to a packet outside a train is.
 */

#define SEALS_MAX (PKT_SMALL_SIZE / sizeof(struct train_seal))

static uint8_t *crcs_of(struct pkt *p)
{
	return p->tail + p->tail_len - IB_CRCS_LEN;
}

void train_load_seal(struct pkt *p, const struct pkt *t, unsigned int k)
{
	const struct train_seal *s = train_seal_of(t, k);

	memcpy(train_csum_field(p), s->csum, sizeof(s->csum));
	memcpy(crcs_of(p), s->crcs, sizeof(s->crcs));
}

/* --- all seals */

int train_take_seals(struct pkt *t)
{
	if (t->count > SEALS_MAX)
		return -EMSGSIZE;
	t->seals = pkt_buf_alloc_small(t->pool);
	t->seals_at = 0;
	return t->seals ? 0 : -ENOMEM;
}

/* Make the seal of the current packet of a walk. */
static void seal_packet(struct train_seal *s, struct train_walk *w, bool vcrc)
{
	train_make_csum(&w->pkt);
	if (vcrc)
		crc_pkt_seal(&w->pkt);
	else
		crc_pkt_seal_icrc(&w->pkt);
	memcpy(s->csum, train_csum_field(&w->pkt), sizeof(s->csum));
	memcpy(s->crcs, crcs_of(&w->pkt), sizeof(s->crcs));
}

/* Return the sum of pseudo-header and TCP or UDP header of the current packet of a walk. */
static uint32_t sum_l4(const struct train_walk *w)
{
	const uint8_t *end = w->pkt.hdr + PKT_HDR_MAX;
	uint32_t n = (uint32_t)(end - w->hdrs.l4), octets = n + w->train->seg;

	return inet_sum(train_pseudo_sum(w->hdrs.ip, !w->hdrs.tcp, octets), w->hdrs.l4, n);
}

static uint32_t halves(uint32_t word)
{
	return (word >> 16) + (word & 0xffff);
}

/*
 * Return the TCP or UDP checksum of a packet. @sum is the sum of the pseudo-header and of the
 * header without its fields.
 */
static uint16_t checksum(uint32_t sum, const struct train_fields *f, const struct crc_body *payload,
			 bool udp)
{
	return inet_fold_udp(
		sum + halves(f->word[TRAIN_SEQ]) + halves(f->word[TRAIN_CWR]) + payload->sum, udp);
}

/* Make the seals of @n packets. @w is at the first of them, whose fields are @f. */
static void make_run(const struct crc_run *r, struct train_fields f, uint32_t sum,
		     const struct train_walk *w, unsigned int n, bool vcrc)
{
	struct train_seal *s = train_seal_of(w->train, w->k - 1);
	const uint8_t *payload = w->pkt.slice[0].data;

	for (; n; n--, s++, payload += r->len) {
		struct crc_body body = crc_run_body(r, payload);
		uint16_t csum = checksum(sum, &f, &body, !w->hdrs.tcp);
		uint32_t words[TRAIN_FIELDS];

		be16_put(s->csum, csum);
		train_fields_set_csum(&f, csum);
		for (unsigned int i = 0; i < TRAIN_FIELDS; i++)
			words[i] = BE_SWAP32(f.word[i]);
		crc_run_crcs(r, &body, words, s->crcs);
		if (!vcrc)
			memset(s->crcs + IB_ICRC_LEN, 0, IB_VCRC_LEN);
		train_fields_next(&f);
	}
}

/*
 * Make the seals of @n packets, from the current packet of the walk on, and let the last of them
 * become the current packet. Return: false if the seals have to be made one by one
 */
static bool seal_run(struct train_walk *w, unsigned int n, bool vcrc)
{
	struct train_fields f = train_fields_take(w);
	uint32_t sum = sum_l4(w);
	struct crc_run r;
	bool begun = crc_run_begin(&r, &w->pkt, f.at, TRAIN_FIELDS);

	train_fields_put(&f, w);
	if (!begun)
		return false;
	make_run(&r, f, sum, w, n, vcrc);
	train_walk_skip(w, n - 1);
	return true;
}

void train_seal(struct pkt *t, bool vcrc)
{
	struct train_walk w;
	bool runs = true;

	crc_pkt_pad(t);
	train_walk_begin(&w, t);
	while (train_walk_next(&w)) {
		unsigned int n = train_walk_run(&w);

		/* If one run is refused, so are all: the packets of a train have one shape. */
		runs = runs && (n < RUN_MIN || seal_run(&w, n, vcrc));
		if (!runs || n < RUN_MIN)
			seal_packet(train_seal_of(t, w.k - 1), &w, vcrc);
	}
	t->flags |= vcrc ? PKT_CRC : PKT_ICRC;
}

static void seals_set_vl(const struct pkt *t, uint8_t vl)
{
	struct train_walk w;

	train_walk_begin(&w, t);
	for (struct train_seal *s = train_seal_of(t, 0); train_walk_next(&w); s++) {
		/*
		 * Keep LVer and VL, because crc_pkt_set_vl() changes the VL in the header of the
		 * walk, and the next packet needs the old VL
		 */
		uint8_t first = *pkt_hdr(&w.pkt);

		w.pkt.flags = t->flags;
		train_load_seal(&w.pkt, t, w.k - 1);
		crc_pkt_set_vl(&w.pkt, vl);
		memcpy(s->crcs, crcs_of(&w.pkt), sizeof(s->crcs));
		*pkt_hdr(&w.pkt) = first;
	}
}

void train_set_vl(struct pkt *p, uint8_t vl)
{
	uint32_t flags = p->flags;

	if (pkt_is_train(p) && train_is_sealed(p)) {
		seals_set_vl(p, vl);
		/*
		 * Clear PKT_CRC so that the call below does not correct a VCRC in the tail, because
		 * a train has no tail with CRCs.
		 */
		p->flags &= ~(uint32_t)PKT_CRC;
	}
	crc_pkt_set_vl(p, vl);
	p->flags = flags;
}

void train_unseal(struct pkt *p)
{
	if (p->seals)
		pkt_buf_put(p->seals);
	p->seals = NULL;
}

/* --- parts of a train */

void train_share_seals(struct pkt *f, const struct pkt *t)
{
	if (!t->seals)
		return;
	f->seals = pkt_buf_get(t->seals);
	f->seals_at = t->seals_at;
}

void train_seal_csum(struct pkt *p)
{
	memcpy(train_csum_field(p), train_seal_of(p, 0)->csum, sizeof(train_seal_of(p, 0)->csum));
}

void train_seal_tail(struct pkt *p)
{
	memcpy(crcs_of(p), train_seal_of(p, 0)->crcs, sizeof(train_seal_of(p, 0)->crcs));
}
