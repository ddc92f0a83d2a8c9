/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "train/priv.h"

/* Walks over the packets of a train without a descriptor for each packet */

void train_walk_begin(struct train_walk *w, const struct pkt *t)
{
	memcpy(&w->pkt, t, offsetof(struct pkt, hdr));
	memcpy(pkt_hdr(&w->pkt), t->hdr + t->head, pkt_hdr_len(t));
	w->pkt.seals = NULL;
	w->train = t;
	w->k = w->slice = 0;
	w->used = 0;
	w->hdrs = train_hdrs(&w->pkt);
	w->psn = train_psn(&w->pkt);
	if (w->hdrs.tcp) {
		uint8_t *flags = w->hdrs.l4 + 13;

		w->last_flags = *flags;
		*flags &= 0xff ^ (TCP_FIN | TCP_PSH);
	}
}

/*
 * Adds the next @n octets of the train's payload to the packet. A packet has at most two slices,
 * because its train has at most two slices.
 */
static void walk_payload(struct train_walk *w, uint32_t n)
{
	struct pkt *p = &w->pkt;

	p->nslices = 0;
	p->len = pkt_hdr_len(p) + n;
	while (n) {
		const struct pkt_slice *s = &w->train->slice[w->slice];
		uint32_t take = s->len - w->used < n ? s->len - w->used : n;

		if (take)
			p->slice[p->nslices++] =
				(struct pkt_slice){ s->buf, s->data + w->used, take };
		n -= take;
		w->used += take;
		if (w->used == s->len) {
			w->slice++;
			w->used = 0;
		}
	}
}

/* Writes the checksum of an IPv4 header whose identification was @before when the checksum was right. */
static void mend_ip_csum(uint8_t *ip, uint16_t before)
{
	uint16_t id = be16_at(ip + 4);

	be16_put(ip + 10, train_ip_csum(train_ip_csum_rest(be16_at(ip + 10), before), id));
}

void train_walk_skip(struct train_walk *w, unsigned int n)
{
	const struct train_hdrs h = w->hdrs;
	const struct pkt *t = w->train;
	uint16_t id = be16_at(h.ip + 4);

	if (!n)
		return;
	if (n > 1)
		walk_payload(w, (n - 1) * t->seg);
	walk_payload(w, t->seg);
	train_advance(&h, n, n * t->seg);
	train_advance_psn(w->psn, n);
	if (h.counts_id) /* All packets but the last have the same length. */
		mend_ip_csum(h.ip, id);
	w->k += n;
}

bool train_walk_next(struct train_walk *w)
{
	const struct train_hdrs h = w->hdrs;
	const struct pkt *t = w->train;
	bool last = w->k + 1u == t->count;

	if (w->k == t->count)
		return false;
	if (w->k && !last) {
		train_walk_skip(w, 1);
		return true;
	}
	walk_payload(w, last ? t->len - pkt_hdr_len(t) - w->k * t->seg : t->seg);
	if (w->k) {
		train_advance(&h, 1, t->seg);
		train_advance_psn(w->psn, 1);
	}
	if (last && h.tcp)
		h.l4[13] |= w->last_flags & (TCP_FIN | TCP_PSH);
	train_mend_lengths(&w->pkt);
	train_mend_link(&w->pkt);
	w->k++;
	return true;
}

unsigned int train_walk_run(const struct train_walk *w)
{
	const struct pkt *t = w->train;
	/* packets before the last one, which may be shorter than the others */
	unsigned int left = t->count - w->k, n = 1;

	if (w->pkt.nslices != 1)
		return 0;
	if (w->used) /* the slice goes on behind the current packet */
		n += (t->slice[w->slice].len - w->used) / t->seg;
	return n < left ? n : left;
}

const struct pkt *train_out_next(struct train_walk *w)
{
	const struct pkt *t = w->train;
	struct pkt *p = &w->pkt;

	if (!train_walk_next(w))
		return NULL;
	if (t->flags & PKT_CRC) {
		train_load_seal(p, t, w->k - 1);
		p->flags = t->flags;
	} else {
		train_make_csum(p);
		crc_pkt_seal(p);
	}
	return p;
}
