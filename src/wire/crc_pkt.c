/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/crc.h"

#include <string.h>

#include "wire/crc_kern.h"
#include "wire/ib_hdr.h"

#define TAIL_CRCS (IB_ICRC_LEN + IB_VCRC_LEN)
#define HDR_MAX (IB_LRH_LEN + IB_GRH_LEN + IB_BTH_LEN + IB_DETH_LEN)

static unsigned int bth_pad(const uint8_t *lrh)
{
	const uint8_t *bth = lrh + IB_LRH_LEN;

	if ((lrh[1] & 3) == IB_LNH_GLOBAL)
		bth += IB_GRH_LEN;
	return (bth[1] >> 4) & 3;
}

static void le16_put(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void le32_put(uint8_t *p, uint32_t v)
{
	le16_put(p, (uint16_t)v);
	le16_put(p + 2, (uint16_t)(v >> 16));
}

static uint16_t le16_at(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32_at(const uint8_t *p)
{
	return le16_at(p) | (uint32_t)le16_at(p + 2) << 16;
}

void crc_pkt_pad(struct pkt *p)
{
	unsigned int pad = bth_pad(pkt_hdr(p));

	memset(p->tail, 0, sizeof(p->tail));
	p->tail_len = (uint8_t)(pad + TAIL_CRCS);
	p->flags &= ~(uint32_t)PKT_CRC;
}

void crc_pkt_seal(struct pkt *p)
{
	unsigned int pad;
	uint32_t icrc;
	uint16_t vcrc;

	crc_pkt_pad(p);
	pad = p->tail_len - TAIL_CRCS;

	icrc = crc_icrc_hdr(pkt_hdr(p), pkt_hdr_len(p));
	vcrc = crc16_update(CRC16_INIT, pkt_hdr(p), pkt_hdr_len(p));
	for (unsigned int i = 0; i < p->nslices; i++) {
		icrc = crc32_update(icrc, p->slice[i].data, p->slice[i].len);
		vcrc = crc16_update(vcrc, p->slice[i].data, p->slice[i].len);
	}
	if (pad)
		icrc = crc32_update(icrc, p->tail, pad);
	le32_put(p->tail + pad, ~icrc);
	vcrc = crc16_update(vcrc, p->tail, pad + IB_ICRC_LEN);
	le16_put(p->tail + pad + IB_ICRC_LEN, (uint16_t)~vcrc);
	p->flags |= PKT_CRC;
}

/* Octets LRH .. DETH by LRH.LNH; 0: no packet with an ICRC */
static unsigned int ud_hdr_len(const uint8_t *lrh)
{
	switch (lrh[1] & 3) {
	case IB_LNH_LOCAL:
		return HDR_MAX - IB_GRH_LEN;
	case IB_LNH_GLOBAL:
		return HDR_MAX;
	default:
		return 0;
	}
}

static uint16_t pkt_vcrc(const struct pkt *p)
{
	uint16_t reg = crc16_update(CRC16_INIT, p->hdr + p->head, pkt_hdr_len(p));

	for (unsigned int i = 0; i < p->nslices; i++)
		reg = crc16_update(reg, p->slice[i].data, p->slice[i].len);
	return (uint16_t)~crc16_update(reg, p->tail, p->tail_len - IB_VCRC_LEN);
}

void crc_pkt_mend_vcrc(struct pkt *p)
{
	le16_put(p->tail + p->tail_len - IB_VCRC_LEN, pkt_vcrc(p));
}

/* @reg covers the first @done octets of @p, the headers at least. */
static uint32_t pkt_icrc(const struct pkt *p, uint32_t reg, uint32_t done)
{
	uint32_t skip = done - pkt_hdr_len(p);

	for (unsigned int i = 0; i < p->nslices; i++) {
		const struct pkt_slice *s = &p->slice[i];
		uint32_t n = skip < s->len ? skip : s->len;

		skip -= n;
		if (n < s->len)
			reg = crc32_update(reg, s->data + n, s->len - n);
	}
	if (p->tail_len > TAIL_CRCS)
		reg = crc32_update(reg, p->tail, p->tail_len - TAIL_CRCS);
	return ~reg;
}

enum crc_verdict crc_pkt_check(const struct pkt *p)
{
	const uint8_t *hdr = p->hdr + p->head, *crcs;
	uint32_t done = pkt_hdr_len(p);
	uint8_t copy[HDR_MAX];
	size_t have = done;

	if (!(p->flags & PKT_CRC))
		return CRC_OK;
	if (p->tail_len < TAIL_CRCS || p->tail_len > PKT_TAIL_MAX)
		return CRC_BAD_LEN;
	if (p->nslices && (have < IB_LRH_LEN || have < ud_hdr_len(hdr))) {
		/* the headers reach into the slices */
		have = pkt_copy_out(p, 0, copy, sizeof(copy));
		hdr = copy;
	}
	if (have < IB_LRH_LEN || !ud_hdr_len(hdr) || have < ud_hdr_len(hdr))
		return CRC_BAD_LEN;
	if (done < ud_hdr_len(hdr))
		done = ud_hdr_len(hdr);

	crcs = p->tail + p->tail_len - TAIL_CRCS;
	if (le16_at(crcs + IB_ICRC_LEN) != pkt_vcrc(p))
		return CRC_BAD_VCRC;
	if (le32_at(crcs) != pkt_icrc(p, crc_icrc_hdr(hdr, done), done))
		return CRC_BAD_ICRC;
	return CRC_OK;
}

enum crc_verdict crc_pkt_check_vcrc(const struct pkt *p)
{
	if (!(p->flags & PKT_CRC))
		return CRC_OK;
	if (p->tail_len < IB_VCRC_LEN || p->tail_len > PKT_TAIL_MAX || pkt_hdr_len(p) < IB_LRH_LEN)
		return CRC_BAD_LEN;
	if (le16_at(p->tail + p->tail_len - IB_VCRC_LEN) != pkt_vcrc(p))
		return CRC_BAD_VCRC;
	return CRC_OK;
}

void crc_pkt_set_vl(struct pkt *p, uint8_t vl)
{
	uint8_t *lrh = pkt_hdr(p), *vcrc;
	uint32_t octets = p->len + p->tail_len - IB_VCRC_LEN;
	unsigned int diff;

	p->vl = vl;
	if (pkt_hdr_len(p) < IB_LRH_LEN)
		return;
	diff = (lrh[0] >> 4) ^ (vl & 0xf);
	if (!diff)
		return;
	lrh[0] ^= (uint8_t)(diff << 4);
	if (!(p->flags & PKT_CRC) || p->tail_len < TAIL_CRCS)
		return;

	vcrc = p->tail + p->tail_len - IB_VCRC_LEN;
	if (octets % 4 || octets > CRC16_VL_MAX) /* of no length that a link carries */
		le16_put(vcrc, pkt_vcrc(p));
	else
		le16_put(vcrc, le16_at(vcrc) ^ crc16_vl_delta(diff, octets));
}
