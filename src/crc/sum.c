/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"

#include "crc/crc.h"
#include "crc/kern.h"

/* --- adding octets */

typedef uint8_t vec __attribute__((vector_size(16), aligned(1), may_alias));

static void mix(uint8_t *to, const uint8_t *from, size_t len)
{
	uint32_t word;

	for (; len >= sizeof(vec); len -= sizeof(vec), to += sizeof(vec), from += sizeof(vec))
		*(vec *)to ^= *(const vec *)from;
	for (; len >= sizeof(word); len -= sizeof(word), to += sizeof(word), from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		crc_sum_mix(to, word);
	}
	for (; len; len--)
		*to++ ^= *from++;
}

/*
 * Add the same @len octets, at most PKT_HDR_MAX, to each packet, at the offset @at from its LRH. The sum of n copies is
 * made from the sum of n/2 copies, for n = 2, 4, 8, ..., and those of these sums are added whose
 * numbers of copies are together s->n.
 */
static void add_to_all(struct crc_sum *s, uint32_t at, const uint8_t *p, uint32_t len)
{
	uint8_t copies[PKT_HDR_MAX + CRC_SUM_MAX * CRC_LINE], before[sizeof(copies)];
	uint8_t *to = s->octets + s->at + at;

	memcpy(copies, p, len);
	for (unsigned int n = 1;; n *= 2) {
		uint32_t length = n * s->step;

		if (s->n & n) {
			mix(to, copies, len);
			to += length;
		}
		if (2 * n > s->n)
			return;
		memcpy(before, copies, len);
		memset(copies + len, 0, length);
		mix(copies + length, before, len);
		len += length;
	}
}

/* --- the messages of both CRCs */

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

static void find_difference(struct crc_sum *s, const uint8_t *hdr)
{
	bool grh = ib_lrh_has_grh(hdr);
	uint8_t *to_icrc = s->to_icrc;

	s->ud_hdr_len = ib_ud_hdr_len(grh);
	memset(to_icrc, 0, s->ud_hdr_len);
	zeros_of(to_icrc, hdr, grh ? crc_global_ones : crc_local_ones);
	/* The register of the ICRC complements 4 octets; that of the VCRC only 2 of these. */
	complement(to_icrc + IB_VCRC_LEN, IB_ICRC_LEN - IB_VCRC_LEN);
	if (grh)
		zeros_of(to_icrc + CRC_GLOBAL_ROW, hdr + CRC_GLOBAL_ROW, crc_global_bth_ones);
}

/*
 * Each packet is added as the message over which its VCRC is computed, followed by the VCRC. So the
 * first octets of the packet, which the initial register of the VCRC complements, and the VCRC are
 * complemented. If the VCRC is right, this message, as a polynomial, is a multiple of the
 * generator.
 */
static void add_common(struct crc_sum *s, const struct pkt *p)
{
	uint32_t hdr_len = pkt_hdr_len(p);
	uint8_t hdr[PKT_HDR_MAX];

	memcpy(hdr, p->hdr + p->head, hdr_len);
	if (s->which & CRC_SUM_ICRC)
		find_difference(s, hdr);
	complement(hdr, IB_VCRC_LEN);
	add_to_all(s, 0, hdr, hdr_len);
	if (p->tail_len > IB_CRCS_LEN)
		add_to_all(s, p->len, p->tail, p->tail_len - IB_CRCS_LEN);
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
	static const uint8_t ones[IB_ICRC_LEN] = { 0xff, 0xff, 0xff, 0xff };
	uint8_t *vcrc = s->first + s->len - IB_VCRC_LEN;

	for (unsigned int k = 0; k < s->n; k++, vcrc += s->next)
		crc_sum_mix(vcrc, s->vcrc[k]);
	add_to_all(s, 0, s->to_icrc, s->ud_hdr_len);
	add_to_all(s, s->len - IB_CRCS_LEN, ones, sizeof(ones));
}

/* --- the sum */

/*
 * Choose the places of the packets. From one packet to the next, the place of the payload in its
 * line of the cache changes by the length of the payload, modulo the length of a line. If the
 * packets are placed backwards, it changes by the opposite. The smaller of both makes the shorter
 * sum.
 */
static struct crc_rows place(struct crc_sum *s, const struct pkt_slice *payload, uint32_t hdr_len)
{
	struct crc_rows r = { payload->data, (ptrdiff_t)payload->len, payload->len, s->n };
	uint32_t on = payload->len % CRC_LINE;
	bool backwards = on > CRC_LINE / 2;

	s->step = backwards ? CRC_LINE - on : on ? on : CRC_LINE;
	s->next = (ptrdiff_t)s->step;
	if (backwards) {
		r.first += (s->n - 1) * r.next;
		r.next = -r.next;
		s->next = -s->next;
	}
	s->at = (uint32_t)((uintptr_t)r.first - hdr_len) % CRC_LINE;
	s->first = s->octets + s->at + (backwards ? (s->n - 1) * s->step : 0);
	r.at = s->at + hdr_len;
	r.step = s->step;
	return r;
}

static uint32_t end(const struct crc_sum *s)
{
	return s->at + s->len + (s->n - 1) * s->step;
}

bool crc_sum_begin(struct crc_sum *s, unsigned int which, const struct pkt *p, unsigned int n)
{
	struct crc_rows payloads;

	if (!crc_is_plain(p) || p->slice[0].len > CRC_SUM_PAYLOAD)
		return false;
	s->which = which;
	s->n = n;
	s->len = p->len + p->tail_len;
	payloads = place(s, &p->slice[0], pkt_hdr_len(p));
	memset(s->octets, 0, (end(s) / CRC_LINE + 1) * CRC_LINE);
	crc_best->add(s->octets, &payloads);
	add_common(s, p);
	return true;
}

bool crc_sum_right(struct crc_sum *s)
{
	const uint8_t *p = s->octets + s->at;
	size_t len = end(s) - s->at;

	if (s->which & CRC_SUM_VCRC && crc_best->crc16(0, p, len))
		return false;
	if (!(s->which & CRC_SUM_ICRC))
		return true;
	turn_to_icrc(s);
	return !crc_best->crc32(0, p, len - IB_VCRC_LEN);
}
