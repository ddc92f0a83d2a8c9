/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"
#include "train/fields.h"

/*
 * Verifies the CRCs of trains. The packets of a train are added up, and the CRCs of the sum are
 * verified (crc/sum.h).
 */

/*
 * Smallest number of packets that are added up. With fewer packets this would take as long as a
 * separate check of each packet.
 */
#define SUM_MIN 3

/* --- sums */

static inline void mix(uint8_t *to, const struct train_fields *f, unsigned int field)
{
	crc_sum_mix(to + f->at[field], BE_SWAP32(f->word[field]));
}

/* Add what differs in the packets of the sum. The first one has the index @k in the train. */
static void add_differences(struct crc_sum *s, struct train_fields f, const struct pkt *t,
			    unsigned int k)
{
	const struct train_seal *seal = train_seal_of(t, k);
	uint8_t *to = s->first;

	mix(to, &f, TRAIN_CWR);
	for (unsigned int i = 0; i < s->n; i++, seal++, to += s->next) {
		train_fields_set_csum(&f, be16_at(seal->csum));
		mix(to, &f, TRAIN_PSN);
		mix(to, &f, TRAIN_ID);
		mix(to, &f, TRAIN_IP_CSUM);
		mix(to, &f, TRAIN_SEQ);
		mix(to, &f, TRAIN_CSUM);
		crc_sum_crcs(s, i, to, seal->crcs);
		train_fields_next(&f);
	}
}

/*
 * Make the sum of @n packets, from the current packet of the walk on, and let the last of them
 * become the current packet. Return: false if packets of this shape are verified one by one
 */
static bool add_packets(struct crc_sum *s, unsigned int which, struct train_walk *w, unsigned int n)
{
	struct train_fields f = train_fields_take(w);
	bool begun = crc_sum_begin(s, which, &w->pkt, n);

	train_fields_put(&f, w);
	if (!begun)
		return false;
	add_differences(s, f, w->train, w->k - 1);
	train_walk_skip(w, n - 1);
	return true;
}

/* --- trains */

typedef enum crc_verdict check_fn(const struct pkt *p);

/* Verify the current packet of a walk. */
static enum crc_verdict check_packet(struct train_walk *w, check_fn *fn)
{
	w->pkt.flags = w->train->flags;
	train_load_seal(&w->pkt, w->train, w->k - 1);
	return fn(&w->pkt);
}

static enum crc_verdict check_each(const struct pkt *t, check_fn *fn)
{
	enum crc_verdict v = CRC_OK;
	struct train_walk w;

	train_walk_begin(&w, t);
	while (v == CRC_OK && train_walk_next(&w))
		v = check_packet(&w, fn);
	return v;
}

/* A wrong sum does not show which packet is damaged, so the packets are then verified one by one. */
static enum crc_verdict check(const struct pkt *t, check_fn *fn, unsigned int which)
{
	enum crc_verdict v = CRC_OK;
	struct train_walk w;
	struct crc_sum s;

	train_walk_begin(&w, t);
	while (v == CRC_OK && train_walk_next(&w)) {
		unsigned int n = train_walk_run(&w);

		if (n > CRC_SUM_MAX)
			n = CRC_SUM_MAX;
		if (n < SUM_MIN || !add_packets(&s, which, &w, n))
			v = check_packet(&w, fn);
		else if (!crc_sum_right(&s))
			return check_each(t, fn);
	}
	return v;
}

enum crc_verdict train_check(const struct pkt *t)
{
	if (!train_is_sealed(t))
		return CRC_OK;
	return t->flags & PKT_CRC ? check(t, crc_pkt_check, CRC_SUM_ICRC | CRC_SUM_VCRC)
				  : check(t, crc_pkt_check_icrc, CRC_SUM_ICRC);
}

enum crc_verdict train_check_vcrc(const struct pkt *t)
{
	return train_is_sealed(t) && (t->flags & PKT_CRC)
		       ? check(t, crc_pkt_check_vcrc, CRC_SUM_VCRC)
		       : CRC_OK;
}
