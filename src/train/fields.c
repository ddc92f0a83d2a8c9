/* SPDX-License-Identifier: BSD-2-Clause */
#include "train/fields.h"

/* Take the bits @mask of the word at @p out of the headers that begin at @lrh. */
static void take(struct train_fields *f, unsigned int field, const uint8_t *lrh, uint8_t *p,
		 uint32_t mask)
{
	uint32_t word = be32_at(p);

	be32_put(p, word & ~mask);
	f->at[field] = (uint32_t)(p - lrh);
	f->word[field] = word & mask;
}

struct train_fields train_fields_take(struct train_walk *w)
{
	const struct train_hdrs *h = &w->hdrs;
	uint8_t *lrh = pkt_hdr(&w->pkt);
	struct train_fields f = { .counts_id = h->counts_id };

	for (unsigned int i = 0; i < TRAIN_FIELDS; i++)
		f.at[i] = (uint32_t)(w->psn - lrh);
	take(&f, TRAIN_PSN, lrh, w->psn, UINT32_MAX);
	if (h->counts_id) {
		f.ip_csum_rest = train_ip_csum_rest(be16_at(h->ip + 10), be16_at(h->ip + 4));
		take(&f, TRAIN_ID, lrh, h->ip + 4, UINT32_MAX << 16);
		take(&f, TRAIN_IP_CSUM, lrh, h->ip + 8, UINT16_MAX);
	}
	if (h->tcp) {
		take(&f, TRAIN_SEQ, lrh, h->l4 + 4, UINT32_MAX);
		take(&f, TRAIN_CWR, lrh, h->l4 + 12, TCP_CWR << 16);
		take(&f, TRAIN_CSUM, lrh, h->l4 + 16, UINT32_MAX << 16);
		f.seq_step = w->train->seg;
		f.csum_shift = 16;
	} else {
		take(&f, TRAIN_CSUM, lrh, h->l4 + 4, UINT16_MAX);
	}
	train_fields_set_csum(&f, 0);
	return f;
}

void train_fields_put(const struct train_fields *f, struct train_walk *w)
{
	uint8_t *lrh = pkt_hdr(&w->pkt);

	for (unsigned int i = 0; i < TRAIN_FIELDS; i++)
		be32_put(lrh + f->at[i], be32_at(lrh + f->at[i]) | f->word[i]);
}
