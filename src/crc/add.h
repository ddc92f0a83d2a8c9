/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_ADD_H
#define CRC_ADD_H

/*
 * DOC: Adding packets to a sum, in lines
 *
 * The octets of a packet are XORed into the sum (crc/sum.h) in lines of 64 octets. A line of the
 * payload is a line of the cache, too: a read across the border between two lines of the cache
 * would take as long as two reads.
 *
 *	packet		  |  headers   |            payload             |tail|
 *	lines		|.......|.......|.......|.......|.......|.......|.......|
 *			 <--- front --->|<---- payload -------->|<---- back --->
 *
 * The lines that have octets of the headers or of the tail are made anew in the group of the sum.
 * The lines that belong to the payload as a whole are added from where they are. Four packets are
 * added together, so that a line of the sum is read and written once for all of them.
 *
 * Each kernel includes this file, so that the functions are compiled for the registers of its CPU.
 */

#include <string.h>

#include "crc/kern.h"
#include "crc/sum.h"

typedef uint8_t crc_line __attribute__((vector_size(CRC_LINE), may_alias));

#define CRC_INLINE static inline __attribute__((always_inline))

/* --- the lines of a packet */

/*
 * Make the lines with the headers, and with the octets of the payload up to the end of a line. The
 * copies in this function and the next have a constant length, which takes few instructions. So
 * before @lines there is room for the octets of hdr[] that come before the headers.
 */
CRC_INLINE void crc_front(uint8_t *lines, uint32_t at, const struct pkt *p, uint32_t hdr_len)
{
	uint8_t *to = lines + at % CRC_LINE;

	memcpy(to + hdr_len - PKT_HDR_MAX, p->hdr, PKT_HDR_MAX);
	memset(to - CRC_LINE, 0, CRC_LINE);
	to[0] ^= 0xff;
	to[1] ^= 0xff;
	memcpy(to + hdr_len, p->slice[0].data, CRC_LINE);
}

/* Make the lines with the last @n octets of the payload, fewer than a line has, and with the tail. */
CRC_INLINE void crc_back(uint8_t *lines, uint32_t n, const struct pkt *p, uint16_t vcrc)
{
	uint8_t *to = lines + n;

	if (n) /* the whole line is in the buffer; a line behind the payload need not be */
		memcpy(lines, p->slice[0].data + p->slice[0].len - n, CRC_LINE);
	memcpy(to, p->tail, PKT_TAIL_MAX);
	to += p->tail_len;
	memset(to, 0, CRC_LINE);
	memcpy(to - sizeof(vcrc), &vcrc, sizeof(vcrc));
}

CRC_INLINE void crc_hold(struct crc_sum *s, const struct crc_sum_pkt *own, const struct pkt *p)
{
	struct crc_sum_group *g = &s->group;
	struct crc_sum_copy *c = &g->copy[g->n];
	uint8_t *front = c->front + PKT_HDR_MAX;
	uint32_t begin = own->at + s->hdr_len, end = own->at + p->len;
	uint32_t skip = -begin % CRC_LINE; /* octets of the payload before its first whole line */
	uint32_t from = (begin + skip) / CRC_LINE, to = end / CRC_LINE;

	crc_front(front, own->at, p, s->hdr_len);
	crc_back(c->back, end % CRC_LINE, p, own->vcrc);
	g->front[g->n] = (struct crc_addend){ front, own->at / CRC_LINE, from };
	g->payload[g->n] = (struct crc_addend){ p->slice[0].data + skip, from, to };
	g->back[g->n] =
		(struct crc_addend){ c->back, to, (own->at + s->len + CRC_LINE - 1) / CRC_LINE };
	g->n++;
}

/* --- the sum */

/* Add the lines of @a from line @from of the sum to the line before @to. */
CRC_INLINE void crc_add_one(crc_line *sum, const struct crc_addend *a, uint32_t from, uint32_t to)
{
	const crc_line *p = (const crc_line *)a->p + (from - a->from);

	for (sum += from; from < to; from++)
		*sum++ ^= *p++;
}

CRC_INLINE void crc_add_four(crc_line *sum, const struct crc_addend *a, uint32_t from, uint32_t to)
{
	const crc_line *p0 = (const crc_line *)a[0].p + (from - a[0].from);
	const crc_line *p1 = (const crc_line *)a[1].p + (from - a[1].from);
	const crc_line *p2 = (const crc_line *)a[2].p + (from - a[2].from);
	const crc_line *p3 = (const crc_line *)a[3].p + (from - a[3].from);

	for (sum += from; from < to; from++)
		*sum++ ^= *p0++ ^ *p1++ ^ *p2++ ^ *p3++;
}

/* Add four addends: the lines that they have in common, then the lines before and after these. */
CRC_INLINE void crc_add_payloads(crc_line *sum, const struct crc_addend *a)
{
	uint32_t from = a[0].from, to = a[0].to;

	for (unsigned int i = 1; i < CRC_GROUP; i++) {
		from = a[i].from > from ? a[i].from : from;
		to = a[i].to < to ? a[i].to : to;
	}
	if (to < from)
		to = from;
	crc_add_four(sum, a, from, to);
	for (unsigned int i = 0; i < CRC_GROUP; i++) {
		crc_add_one(sum, &a[i], a[i].from, from < a[i].to ? from : a[i].to);
		crc_add_one(sum, &a[i], to, a[i].to);
	}
}

CRC_INLINE void crc_add_group(struct crc_sum *s)
{
	struct crc_sum_group *g = &s->group;
	crc_line *sum = (crc_line *)s->octets;

	if (g->n == CRC_GROUP)
		crc_add_payloads(sum, g->payload);
	for (unsigned int i = 0; i < g->n; i++) {
		if (g->n < CRC_GROUP)
			crc_add_one(sum, &g->payload[i], g->payload[i].from, g->payload[i].to);
		crc_add_one(sum, &g->front[i], g->front[i].from, g->front[i].to);
		crc_add_one(sum, &g->back[i], g->back[i].from, g->back[i].to);
	}
	g->n = 0;
}

/* Define crc_kernel.hold and crc_kernel.add of a kernel. */
#define CRC_ADD(kernel)                                                             \
	static void kernel##_hold(struct crc_sum *s, const struct crc_sum_pkt *own, \
				  const struct pkt *p)                              \
	{                                                                           \
		crc_hold(s, own, p);                                                \
		if (s->group.n == CRC_GROUP)                                        \
			crc_add_group(s);                                           \
	}                                                                           \
	static void kernel##_add(struct crc_sum *s)                                 \
	{                                                                           \
		crc_add_group(s);                                                   \
	}

#endif
