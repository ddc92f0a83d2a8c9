/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include "wire/crc.h"

/* Over headers, payload slices and the @pad octets of the tail; the headers are contiguous. */
static uint32_t icrc_of(const struct pkt *p, unsigned int pad)
{
	uint32_t reg = crc_icrc_hdr(p->hdr + p->head, pkt_hdr_len(p));

	for (unsigned int i = 0; i < p->nslices; i++)
		reg = crc32_update(reg, p->slice[i].data, p->slice[i].len);
	return ~(pad ? crc32_update(reg, p->tail, pad) : reg);
}

/* Little-endian, as on the wire. */
static void icrc_put(uint8_t *at, uint32_t crc)
{
	for (unsigned int i = 0; i < IB_ICRC_LEN; i++)
		at[i] = (uint8_t)(crc >> (8 * i));
}

/*
 * crc = icrc: the end-to-end check without the per-link one. A link in memory
 * corrupts nothing between two switches that the ICRC would not find at the end.
 */
static void seal_icrc(struct pkt *p)
{
	unsigned int pad;

	crc_pkt_pad(p);
	pad = p->tail_len - IB_ICRC_LEN - IB_VCRC_LEN;
	icrc_put(p->tail + pad, icrc_of(p, pad));
	p->flags |= PKT_ICRC;
}

/*
 * A TCP or UDP checksum that is still partial would make the ICRC cover octets
 * that change later. The HCA does not know what it carries: whoever posts
 * completes it where CRCs are on (PKT_CSUM_PARTIAL is not looked at here).
 */
void hca_tail_seal(struct pkt *p, enum hca_crc crc)
{
	p->flags &= ~(uint32_t)(PKT_CRC | PKT_ICRC);
	switch (crc) {
	case HCA_CRC_FULL:
		crc_pkt_seal(p);
		break;
	case HCA_CRC_ICRC:
		seal_icrc(p);
		break;
	case HCA_CRC_OFF:
		crc_pkt_pad(p);
		break;
	}
}

static enum hca_drop check_icrc(const struct pkt *p)
{
	unsigned int pad = p->tail_len - IB_ICRC_LEN - IB_VCRC_LEN;
	uint8_t want[IB_ICRC_LEN];

	icrc_put(want, icrc_of(p, pad));
	return memcmp(want, p->tail + pad, sizeof(want)) ? HCA_DROP_ICRC : HCA_OK;
}

enum hca_drop hca_tail_check(const struct pkt *p)
{
	if (p->flags & PKT_CRC) {
		switch (crc_pkt_check(p)) {
		case CRC_OK:
			return HCA_OK;
		case CRC_BAD_VCRC:
			return HCA_DROP_VCRC;
		case CRC_BAD_ICRC:
			return HCA_DROP_ICRC;
		case CRC_BAD_LEN:
			break;
		}
		return HCA_DROP_LEN;
	}
	return p->flags & PKT_ICRC ? check_icrc(p) : HCA_OK;
}
