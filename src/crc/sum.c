/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"

#include <string.h>

#include "crc/crc.h"
#include "crc/kern.h"

bool crc_sum_begin(struct crc_sum *s, unsigned int which, const struct pkt *p)
{
	uint32_t hdr_len = pkt_hdr_len(p);
	const uint8_t *hdr = p->hdr + p->head;

	if (hdr_len < IB_LRH_LEN || !ib_lrh_has_bth(hdr))
		return false;
	s->grh = ib_lrh_has_grh(hdr);
	if (hdr_len < ib_ud_hdr_len(s->grh) || p->len - hdr_len > CRC_SUM_PAYLOAD ||
	    p->tail_len < IB_CRCS_LEN || p->tail_len > PKT_TAIL_MAX)
		return false;
	s->which = which;
	s->n = s->group.n = 0;
	s->used = 0;
	s->hdr_len = hdr_len;
	s->len = p->len + p->tail_len;
	return true;
}

static bool in_lines(const struct pkt *p)
{
	return p->nslices == 1 && p->slice[0].len >= CRC_SUM_LINES;
}

/*
 * Return the offset at which @p is added. It is behind that of the packet before, and such that the
 * payload of a packet that is added in lines has its place in the lines.
 */
static uint32_t place_of(const struct crc_sum *s, const struct pkt *p)
{
	uint32_t least = s->n ? s->pkt[s->n - 1].at + 1 : 0;

	if (!in_lines(p))
		return s->n ? least + CRC_SUM_STEP - 1 : 0;
	return least + (uint32_t)((uintptr_t)p->slice[0].data - s->hdr_len - least) % CRC_LINE;
}

/* Let the sum have whole lines of octets up to the offset @end. */
static void extend(struct crc_sum *s, uint32_t end)
{
	end = (end + CRC_LINE - 1) / CRC_LINE * CRC_LINE;
	if (end <= s->used)
		return;
	memset(s->octets + s->used, 0, end - s->used);
	s->used = end;
}

typedef uint8_t vec __attribute__((vector_size(16), aligned(1), may_alias));

static void mix_word(uint8_t *to, uint32_t word)
{
	uint32_t sum;

	memcpy(&sum, to, sizeof(sum));
	sum ^= word;
	memcpy(to, &sum, sizeof(sum));
}

static void mix(uint8_t *to, const void *p, size_t len)
{
	const uint8_t *from = p;
	uint32_t word;

	for (; len >= sizeof(vec); len -= sizeof(vec), to += sizeof(vec), from += sizeof(vec))
		*(vec *)to ^= *(const vec *)from;
	for (; len >= sizeof(word); len -= sizeof(word), to += sizeof(word), from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		mix_word(to, word);
	}
	for (; len; len--)
		*to++ ^= *from++;
}

static void complement(uint8_t *p, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		p[i] ^= 0xff;
}

/* Write the zeros among the bits @ones of @row, which the ICRC takes as ones. */
static void zeros_of(uint8_t *ret, const uint8_t *row, const uint8_t *ones)
{
	for (unsigned int i = 0; i < 16; i++)
		ret[i] = ones[i] & ~row[i];
}

static void difference(struct crc_sum_pkt *own, const uint8_t *hdr, bool grh)
{
	zeros_of(own->to_icrc[0], hdr, grh ? crc_global_ones : crc_local_ones);
	/* The register of the ICRC complements 4 octets; that of the VCRC only 2 of these. */
	complement(own->to_icrc[0] + IB_VCRC_LEN, IB_ICRC_LEN - IB_VCRC_LEN);
	if (grh)
		zeros_of(own->to_icrc[1], hdr + CRC_GLOBAL_ROW, crc_global_bth_ones);
}

/* Add a packet for which in_lines() is false: its headers, its slices and its tail. */
static void add_parts(struct crc_sum *s, const struct crc_sum_pkt *own, const struct pkt *p)
{
	uint8_t *to = s->octets + own->at;

	mix(to, p->hdr + p->head, s->hdr_len);
	complement(to, IB_VCRC_LEN);
	to += s->hdr_len;
	for (unsigned int i = 0; i < p->nslices; to += p->slice[i++].len)
		mix(to, p->slice[i].data, p->slice[i].len);
	mix(to, p->tail, p->tail_len - IB_VCRC_LEN);
	mix(to + p->tail_len - IB_VCRC_LEN, &own->vcrc, sizeof(own->vcrc));
}

/*
 * Each packet is added as the message over which its VCRC is computed, followed by the VCRC. So the
 * first octets of the packet, which the initial register of the VCRC complements, and the VCRC are
 * complemented. If the VCRC is right, this message, as a polynomial, is a multiple of the
 * generator.
 */
void crc_sum_add(struct crc_sum *s, const struct pkt *p)
{
	struct crc_sum_pkt *own = &s->pkt[s->n];

	own->at = place_of(s, p);
	memcpy(&own->vcrc, p->tail + p->tail_len - IB_VCRC_LEN, sizeof(own->vcrc));
	own->vcrc ^= 0xffff;
	if (s->which & CRC_SUM_ICRC)
		difference(own, p->hdr + p->head, s->grh);
	s->n++;
	extend(s, own->at + s->len);
	if (in_lines(p))
		crc_best->hold(s, own, p);
	else
		add_parts(s, own, p);
}

/*
 * Add a row of 16 octets, word by word. The rows of neighbouring packets overlap, and most are a
 * whole number of words apart. A load of a row would wait for the stores of several earlier words;
 * a load of a word gets the word from one store at once.
 */
static void mix_row(uint8_t *to, const uint8_t *row)
{
	for (unsigned int i = 0; i < 16; i += 4) {
		uint32_t word;

		memcpy(&word, row + i, sizeof(word));
		if (word)
			mix_word(to + i, word);
	}
}

/*
 * Change the sum as if each packet had been added as the message over which its ICRC is computed,
 * followed by the ICRC:
 *
 *	- the fields that switches may change are replaced by ones
 *	- the first 4 octets are complemented, and not only the first 2
 *	- the ICRC is complemented, and the VCRC is left out
 */
static void turn_to_icrc(struct crc_sum *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		const struct crc_sum_pkt *own = &s->pkt[i];
		uint8_t *p = s->octets + own->at;

		mix_row(p, own->to_icrc[0]);
		if (s->grh)
			mix_row(p + CRC_GLOBAL_ROW, own->to_icrc[1]);
		mix_word(p + s->len - IB_CRCS_LEN, UINT32_MAX);
		mix(p + s->len - IB_VCRC_LEN, &own->vcrc, IB_VCRC_LEN);
	}
}

bool crc_sum_right(struct crc_sum *s)
{
	const uint8_t *p = s->octets + s->pkt[0].at;
	size_t len = s->pkt[s->n - 1].at - s->pkt[0].at + s->len;

	crc_best->add(s);
	if (s->which & CRC_SUM_VCRC && crc_best->crc16(0, p, len))
		return false;
	if (!(s->which & CRC_SUM_ICRC))
		return true;
	turn_to_icrc(s);
	return !crc_best->crc32(0, p, len - IB_VCRC_LEN);
}
