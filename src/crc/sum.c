/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/sum.h"

#include <string.h>

#include "crc/crc.h"
#include "crc/kern.h"

#define TAIL_CRCS (IB_ICRC_LEN + IB_VCRC_LEN)

static const uint8_t all_ones[IB_ICRC_LEN] = { 0xff, 0xff, 0xff, 0xff };

static void ones_of(uint8_t *ret, const uint8_t *row, const uint8_t *ones)
{
	crc_v16 r, o;

	memcpy(&r, row, sizeof(r));
	memcpy(&o, ones, sizeof(o));
	r = o & ~r;
	memcpy(ret, &r, sizeof(r));
}

bool crc_sum_begin(struct crc_sum *s, const struct pkt *p, unsigned int npkts)
{
	uint32_t hdr_len = pkt_hdr_len(p), least = CRC_LOCAL_HDR, payload = p->len - hdr_len;

	s->grh = hdr_len >= IB_LRH_LEN && ib_lrh_has_grh(p->hdr + p->head);
	if (s->grh)
		least = CRC_GLOBAL_HDR;
	if (hdr_len < least || payload > CRC_SUM_PAYLOAD || p->tail_len < TAIL_CRCS ||
	    p->tail_len > PKT_TAIL_MAX)
		return false;
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

	ones_of(own->ones[0], hdr, s->grh ? crc_global_ones : crc_local_ones);
	if (s->grh)
		ones_of(own->ones[1], hdr + CRC_GLOBAL_ROW, crc_global_bth_ones);
	memcpy(own->vcrc, p->tail + p->tail_len - IB_VCRC_LEN, IB_VCRC_LEN);

	crc_best->add(to, hdr, pkt_hdr_len(p));
	to += pkt_hdr_len(p);
	for (unsigned int i = 0; i < p->nslices; to += p->slice[i++].len)
		crc_best->add(to, p->slice[i].data, p->slice[i].len);
	crc_add_rest(to, p->tail, p->tail_len - IB_VCRC_LEN);
}

/*
 * Change the sum so that each packet is its message of the ICRC, or make it what it was: the register begins with ones, some fields are
 * taken as ones, and the ICRC is complemented. Such a message, with its ICRC at the end, is a multiple of the generator.
 */
static void toggle_icrc(struct crc_sum *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		uint8_t *p = s->octets + i * CRC_SUM_STEP + s->start;

		crc_add_rest(p, all_ones, IB_ICRC_LEN);
		crc_add_rest(p, s->pkt[i].ones[0], 16);
		if (s->grh)
			crc_add_rest(p + CRC_GLOBAL_ROW, s->pkt[i].ones[1], 16);
		crc_add_rest(p + s->len - IB_ICRC_LEN, all_ones, IB_ICRC_LEN);
	}
}

/* Do the same for the VCRC, and append it. */
static void toggle_vcrc(struct crc_sum *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		uint8_t *p = s->octets + i * CRC_SUM_STEP + s->start;

		crc_add_rest(p, all_ones, IB_VCRC_LEN);
		crc_add_rest(p + s->len, all_ones, IB_VCRC_LEN);
		crc_add_rest(p + s->len, s->pkt[i].vcrc, IB_VCRC_LEN);
	}
}

bool crc_sum_right(struct crc_sum *s, unsigned int which)
{
	const uint8_t *p = s->octets + s->start;
	size_t len = s->len + (s->n - 1) * CRC_SUM_STEP;
	bool right = true;

	if (which & CRC_SUM_ICRC) {
		toggle_icrc(s);
		right = !crc_best->crc32(0, p, len);
		toggle_icrc(s);
	}
	if (which & CRC_SUM_VCRC) {
		toggle_vcrc(s);
		right &= !crc_best->crc16(0, p, len + IB_VCRC_LEN);
	}
	return right;
}
