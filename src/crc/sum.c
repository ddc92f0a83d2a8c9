/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"

#include <string.h>

#include "crc/crc.h"
#include "crc/kern.h"

static const uint8_t all_ones[IB_ICRC_LEN] = { 0xff, 0xff, 0xff, 0xff };

static void ones_of(uint8_t *ret, const uint8_t *row, const uint8_t *ones)
{
	crc_v16 r, o;

	memcpy(&r, row, sizeof(r));
	memcpy(&o, ones, sizeof(o));
	r = o & ~r;
	memcpy(ret, &r, sizeof(r));
}

bool crc_sum_begin(struct crc_sum *s, unsigned int which, const struct pkt *p, unsigned int npkts)
{
	uint32_t hdr_len = pkt_hdr_len(p), payload = p->len - hdr_len;
	const uint8_t *hdr = p->hdr + p->head;

	if (hdr_len < IB_LRH_LEN || !ib_lrh_has_bth(hdr))
		return false;
	s->grh = ib_lrh_has_grh(hdr);
	if (hdr_len < ib_ud_hdr_len(s->grh) || payload > CRC_SUM_PAYLOAD ||
	    p->tail_len < IB_CRCS_LEN || p->tail_len > PKT_TAIL_MAX)
		return false;
	s->which = which;
	s->n = 0;
	s->start = p->head;
	s->len = p->len + p->tail_len - IB_VCRC_LEN;
	memset(s->octets + s->start, 0, s->len + IB_VCRC_LEN + (npkts - 1) * CRC_SUM_STEP);
	return true;
}

void crc_sum_add(struct crc_sum *s, const struct pkt *p)
{
	struct crc_sum_pkt *own = &s->pkt[s->n];
	uint8_t *to = s->octets + s->n++ * CRC_SUM_STEP + s->start;
	const uint8_t *hdr = p->hdr + p->head;

	if (s->which & CRC_SUM_ICRC) {
		ones_of(own->ones[0], hdr, s->grh ? crc_global_ones : crc_local_ones);
		if (s->grh)
			ones_of(own->ones[1], hdr + CRC_GLOBAL_ROW, crc_global_bth_ones);
	}
	memcpy(own->vcrc, p->tail + p->tail_len - IB_VCRC_LEN, IB_VCRC_LEN);

	crc_best->add(to, hdr, pkt_hdr_len(p));
	to += pkt_hdr_len(p);
	for (unsigned int i = 0; i < p->nslices; to += p->slice[i++].len)
		crc_best->add(to, p->slice[i].data, p->slice[i].len);
	crc_add_short(to, p->tail, p->tail_len - IB_VCRC_LEN);
}

static uint8_t *place_of(struct crc_sum *s, unsigned int i)
{
	return s->octets + i * CRC_SUM_STEP + s->start;
}

/*
 * Change the sum as if each packet had been changed for the check of its ICRC as follows, or change
 * the sum back:
 *
 *	- the fields that switches may change are replaced by ones
 *	- then the first 4 octets are XORed with ones, which are the initial register of the ICRC
 *	- the ICRC at the end is complemented
 *
 * If the ICRC is right, the changed packet, as a polynomial, is a multiple of the generator.
 */
static void toggle_icrc(struct crc_sum *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		uint8_t *p = place_of(s, i);

		crc_add_short(p, all_ones, IB_ICRC_LEN);
		crc_add_short(p, s->pkt[i].ones[0], 16);
		if (s->grh)
			crc_add_short(p + CRC_GLOBAL_ROW, s->pkt[i].ones[1], 16);
		crc_add_short(p + s->len - IB_ICRC_LEN, all_ones, IB_ICRC_LEN);
	}
}

/*
 * Change the sum as if each packet were the message over which its VCRC is computed, followed by
 * its VCRC.
 */
static void append_vcrc(struct crc_sum *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		uint8_t *p = place_of(s, i);

		crc_add_short(p, all_ones, IB_VCRC_LEN);
		crc_add_short(p + s->len, all_ones, IB_VCRC_LEN);
		crc_add_short(p + s->len, s->pkt[i].vcrc, IB_VCRC_LEN);
	}
}

bool crc_sum_right(struct crc_sum *s)
{
	const uint8_t *p = place_of(s, 0);
	size_t len = s->len + (s->n - 1) * CRC_SUM_STEP;

	if (s->which & CRC_SUM_ICRC) {
		toggle_icrc(s);
		if (crc_best->crc32(0, p, len))
			return false;
		if (s->which & CRC_SUM_VCRC)
			toggle_icrc(s);
	}
	if (!(s->which & CRC_SUM_VCRC))
		return true;
	append_vcrc(s);
	return !crc_best->crc16(0, p, len + IB_VCRC_LEN);
}
