/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "train/priv.h"

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

void train_seal(struct pkt *t, bool vcrc)
{
	struct train_walk w;

	crc_pkt_pad(t);
	train_walk_begin(&w, t);
	for (struct train_seal *s = train_seal_of(t, 0); train_walk_next(&w); s++) {
		train_make_csum(&w.pkt);
		if (vcrc)
			crc_pkt_seal(&w.pkt);
		else
			crc_pkt_seal_icrc(&w.pkt);
		memcpy(s->csum, train_csum_field(&w.pkt), sizeof(s->csum));
		memcpy(s->crcs, crcs_of(&w.pkt), sizeof(s->crcs));
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
