/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "train/priv.h"

/* Copy the headers of the first packet into the memory of the walk. FIN and PSH are only for the last packet. */
void train_out_begin(struct train_out *o, const struct pkt *t)
{
	struct pkt *p = &o->pkt;

	memcpy(p, t, offsetof(struct pkt, hdr));
	memcpy(pkt_hdr(p), t->hdr + t->head, pkt_hdr_len(t));
	o->train = t;
	o->k = o->slice = 0;
	o->used = 0;
	o->last_flags = 0;
	if (!train_is_udp(frame_info_const(t))) {
		uint8_t *flags = train_l4(p) + 13;

		o->last_flags = *flags & (TCP_FIN | TCP_PSH);
		*flags &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	}
}

/* Refer to the next @n octets of payload. They lie in two slices at most, because the train's payload does. */
static void take_payload(struct train_out *o, uint32_t n)
{
	struct pkt *p = &o->pkt;

	p->nslices = 0;
	p->len = pkt_hdr_len(p) + n;
	while (n) {
		const struct pkt_slice *s = &o->train->slice[o->slice];
		uint32_t take = s->len - o->used < n ? s->len - o->used : n;

		if (take)
			p->slice[p->nslices++] =
				(struct pkt_slice){ s->buf, s->data + o->used, take };
		n -= take;
		o->used += take;
		if (o->used == s->len) {
			o->slice++;
			o->used = 0;
		}
	}
}

/*
 * The IPv4 identification grew by 1, and so did the sum of the header's words, unless the identification became 0: 0xffff and
 * 0 are the same in such a sum. The field holds the complement of the sum (RFC 1624 §3).
 */
static void mend_ip_csum(uint8_t *ip)
{
	uint32_t sum = (uint16_t)~be16_at(ip + 10) + (be16_at(ip + 4) != 0);

	be16_put(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
}

/*
 * Make headers and payload of packet o->k from those of the packet before. All packets but the last have the same length.
 */
static void step(struct train_out *o)
{
	const struct pkt *t = o->train;
	struct pkt *p = &o->pkt;
	bool last = o->k + 1u == t->count;

	if (o->k) {
		train_advance(p, 1);
		train_advance_psn(p, 1);
	}
	take_payload(o, last ? t->len - pkt_hdr_len(t) - o->k * t->seg : t->seg);
	if (last && !train_is_udp(frame_info(p)))
		train_l4(p)[13] |= o->last_flags;
	if (!o->k || last) {
		uint32_t flags = p->flags;

		train_mend_lengths(p);
		/* train_mend_link() clears the flags that say that there are CRCs, so they are restored below. */
		train_mend_link(p);
		p->flags = flags;
	} else if (!train_is_ipv6(train_ip(p))) {
		mend_ip_csum(train_ip(p));
	}
}

const struct pkt *train_out_next(struct train_out *o)
{
	struct pkt *p = &o->pkt;

	if (o->k == o->train->count)
		return NULL;
	step(o);
	if (o->train->flags & PKT_CRC) {
		train_seal_csum(p);
		train_seal_tail(p);
		p->seals_at++;
	} else {
		train_make_csum(p);
		crc_pkt_seal(p);
	}
	o->k++;
	return p;
}
