/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"
#include "train/priv.h"

/*
 * Verifies the CRCs of trains. The packets of a train are added up, and the CRCs of the sum are
 * verified (crc/sum.h). The last packet may be shorter than the others, so it is in no sum.
 */

/*
 * Smallest number of packets that are added up. With fewer packets this would take as long as a
 * separate check of each packet.
 */
#define SUM_MIN 3

/* --- the fields in which the headers of the packets of a train differ */

/* A field, as a word of 4 octets that contains it and has zeros in its other bits */
struct field {
	uint32_t at; /* offset of the word from the LRH */
	uint32_t value; /* of the next packet, in host byte order */
};

struct fields {
	bool ipv4, tcp;
	struct field psn, id, ip_csum, seq, csum;
	unsigned int csum_shift; /* number of bits behind the TCP or UDP checksum in its word */
	uint32_t ip_csum_rest; /* see train_ip_csum_rest() */
	struct field cwr; /* the TCP flag CWR, which only the first packet of a train has */
};

/* Replace the bits @mask of the word at @p, in headers that begin at @lrh, by zeros. */
static struct field take(const uint8_t *lrh, uint8_t *p, uint32_t mask)
{
	uint32_t word = be32_at(p);

	be32_put(p, word & ~mask);
	return (struct field){ (uint32_t)(p - lrh), word & mask };
}

/*
 * Return the fields of the current packet of a walk, and leave in its headers what all packets but
 * the last have in common. The last packet may have other lengths and TCP flags.
 */
static struct fields take_fields(struct train_walk *w)
{
	uint8_t *lrh = pkt_hdr(&w->pkt), *ip = w->hdrs.ip, *l4 = w->hdrs.l4;
	struct fields f = { w->hdrs.ipv4, w->hdrs.tcp, .psn = take(lrh, w->psn, UINT32_MAX) };

	if (f.ipv4) {
		f.ip_csum_rest = train_ip_csum_rest(be16_at(ip + 10), be16_at(ip + 4));
		f.id = take(lrh, ip + 4, UINT32_MAX << 16);
		f.ip_csum = take(lrh, ip + 8, UINT16_MAX);
	}
	if (f.tcp) {
		f.seq = take(lrh, l4 + 4, UINT32_MAX);
		f.cwr = take(lrh, l4 + 12, TCP_CWR << 16);
		f.csum = take(lrh, l4 + 16, UINT32_MAX << 16);
		f.csum_shift = 16;
	} else {
		f.csum = take(lrh, l4 + 4, UINT16_MAX);
	}
	return f;
}

static inline void mix(uint8_t *to, struct field f)
{
	crc_sum_mix(to + f.at, BE_SWAP32(f.value));
}

/*
 * Add the fields of a packet at @to in the sum, and let them become those of the next packet, as
 * train_walk_next() does.
 */
static inline void add_fields(uint8_t *to, struct fields *f, const uint8_t *csum, uint32_t seg)
{
	f->csum.value = (uint32_t)be16_at(csum) << f->csum_shift;
	mix(to, f->csum);
	mix(to, f->psn);
	f->psn.value = (f->psn.value + 1) & IB_QPN_MASK;
	if (f->tcp) {
		mix(to, f->seq);
		f->seq.value += seg;
	}
	if (f->ipv4) {
		f->ip_csum.value = train_ip_csum(f->ip_csum_rest, (uint16_t)(f->id.value >> 16));
		mix(to, f->ip_csum);
		mix(to, f->id);
		f->id.value += 1u << 16;
	}
}

/* --- sums */

/* Add what differs in the packets of the sum. The first one has the index @k in the train. */
static void add_differences(struct crc_sum *s, struct fields f, const struct pkt *t, unsigned int k)
{
	const struct train_seal *seal = train_seal_of(t, k);
	uint8_t *to = s->first;

	mix(to, f.cwr);
	for (unsigned int i = 0; i < s->n; i++, seal++, to += s->next) {
		add_fields(to, &f, seal->csum, t->seg);
		crc_sum_crcs(s, i, to, seal->crcs);
	}
}

/*
 * Make the sum of @n packets, from the current packet of the walk on, and let the last of them
 * become the current packet. Return: false if packets of this shape are verified one by one
 */
static bool add_packets(struct crc_sum *s, unsigned int which, struct train_walk *w, unsigned int n)
{
	uint8_t hdr[PKT_HDR_MAX];
	struct fields f;
	bool begun;

	memcpy(hdr, w->pkt.hdr, sizeof(hdr));
	f = take_fields(w);
	begun = crc_sum_begin(s, which, &w->pkt, n);
	memcpy(w->pkt.hdr, hdr, sizeof(hdr));
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
		unsigned int left = t->count - w.k, n = left < CRC_SUM_MAX ? left : CRC_SUM_MAX;

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
