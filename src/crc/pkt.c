/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "crc/crc.h"
#include "crc/kern.h"
#include "wire/ib_hdr.h"

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

bool crc_icrc_follows(const uint8_t *pkt, size_t len)
{
	return le32_at(pkt + len) == crc_icrc(pkt, len);
}

bool crc_vcrc_follows(const uint8_t *pkt, size_t len)
{
	return le16_at(pkt + len) == crc_vcrc(pkt, len);
}

/*
 * Return the number of octets of the headers from LRH to DETH; 0 for a raw packet, which has no
 * ICRC.
 */
static unsigned int ud_hdr_len(const uint8_t *lrh)
{
	return ib_lrh_has_bth(lrh) ? ib_ud_hdr_len(ib_lrh_has_grh(lrh)) : 0;
}

bool crc_is_plain(const struct pkt *p)
{
	unsigned int least = pkt_hdr_len(p) < IB_LRH_LEN ? 0 : ud_hdr_len(p->hdr + p->head);

	return least && pkt_hdr_len(p) >= least && p->nslices == 1 && p->slice[0].len &&
	       p->tail_len >= IB_CRCS_LEN && p->tail_len <= PKT_TAIL_MAX;
}

/* Continue the VCRC register over the ICRC at @icrc, and return the VCRC. */
static inline uint16_t vcrc_over(const uint8_t *icrc, const struct crc_regs *r)
{
	return (uint16_t)~crc16_short(r->vcrc, icrc, IB_ICRC_LEN);
}

struct crc_right crc_right(const uint8_t *pkt, size_t len)
{
	const uint8_t *icrc = pkt + len - IB_CRCS_LEN, *vcrc = icrc + IB_ICRC_LEN;
	unsigned int hdr_len = ud_hdr_len(pkt);
	struct crc_msg m = {
		.grh = hdr_len == CRC_GLOBAL_HDR,
		.nparts = 1,
		.part[0] = { pkt, len - IB_CRCS_LEN },
	};
	struct crc_regs r;

	if (!hdr_len)
		return (struct crc_right){ .vcrc = crc_vcrc_follows(pkt, len - IB_VCRC_LEN) };
	/*
	 * The packet may be shorter than LRH to DETH. For example, an acknowledgement of RC has no
	 * DETH.
	 */
	if (!crc_best->msg || m.part[0].len < hdr_len)
		return (struct crc_right){ crc_icrc_follows(pkt, len - IB_CRCS_LEN),
					   crc_vcrc_follows(pkt, len - IB_VCRC_LEN) };
	r = crc_best->msg(&m);
	return (struct crc_right){ le32_at(icrc) == ~r.icrc, le16_at(vcrc) == vcrc_over(icrc, &r) };
}

void crc_put(uint8_t *pkt, size_t len)
{
	le32_put(pkt + len, crc_icrc(pkt, len));
	le16_put(pkt + len + IB_ICRC_LEN, crc_vcrc(pkt, len + IB_ICRC_LEN));
}

/*
 * --- part by part: for packets whose headers are not contiguous, and for CPUs whose kernel cannot
 * process a whole packet
 */

static uint16_t vcrc_by_parts(const struct pkt *p)
{
	uint16_t reg = crc16_update(CRC16_INIT, p->hdr + p->head, pkt_hdr_len(p));

	for (unsigned int i = 0; i < p->nslices; i++)
		reg = crc16_update(reg, p->slice[i].data, p->slice[i].len);
	return (uint16_t)~crc16_update(reg, p->tail, p->tail_len - IB_VCRC_LEN);
}

/*
 * Finish the ICRC of @p, whose register is @reg after the first @done octets. The first @done
 * octets are those in hdr[] and, in a packet that came in a UDP datagram, the headers in the first
 * slice.
 */
static uint32_t icrc_go_on(const struct pkt *p, uint32_t reg, uint32_t done)
{
	uint32_t skip = done - pkt_hdr_len(p);

	for (unsigned int i = 0; i < p->nslices; i++) {
		const struct pkt_slice *s = &p->slice[i];
		uint32_t n = 0;

		/*
		 * A packet that came in a UDP datagram has headers in its first slice; skip them.
		 */
		if (skip) {
			n = skip < s->len ? skip : s->len;
			skip -= n;
		}
		reg = crc32_update(reg, s->data + n, s->len - n);
	}
	if (p->tail_len > IB_CRCS_LEN)
		reg = crc32_update(reg, p->tail, p->tail_len - IB_CRCS_LEN);
	return ~reg;
}

/* Return the ICRC of a packet whose headers are in hdr[]. The ICRC covers the pad octets, too. */
static uint32_t icrc_by_parts(const struct pkt *p)
{
	return icrc_go_on(p, crc_icrc_hdr(p->hdr + p->head, pkt_hdr_len(p)), pkt_hdr_len(p));
}

static enum crc_verdict check_by_parts(const struct pkt *p)
{
	const uint8_t *hdr = p->hdr + p->head, *crcs = p->tail + p->tail_len - IB_CRCS_LEN;
	uint32_t done = pkt_hdr_len(p);
	uint8_t copy[IB_UD_HDR_MAX];
	size_t have = done;

	if (p->nslices && (have < IB_LRH_LEN || have < ud_hdr_len(hdr))) {
		/* Copy the headers into one piece, because they extend into the slices. */
		have = pkt_copy_out(p, 0, copy, sizeof(copy));
		hdr = copy;
	}
	if (have < IB_LRH_LEN || !ud_hdr_len(hdr) || have < ud_hdr_len(hdr))
		return CRC_BAD_LEN;
	if (done < ud_hdr_len(hdr))
		done = ud_hdr_len(hdr);

	if (!(p->flags & PKT_VCRC_OK) && le16_at(crcs + IB_ICRC_LEN) != vcrc_by_parts(p))
		return CRC_BAD_VCRC;
	if (le32_at(crcs) != icrc_go_on(p, crc_icrc_hdr(hdr, done), done))
		return CRC_BAD_ICRC;
	return CRC_OK;
}

/* --- both CRCs in one pass */

/*
 * Compute the values that the registers of both CRCs have when the pad octets have been read.
 * Return: false if the caller must compute the CRCs for each part of the packet in turn
 */
static inline bool regs_of(const struct pkt *p, struct crc_regs *ret)
{
	struct crc_msg m = { .part[0] = { p->hdr + p->head, pkt_hdr_len(p) }, .nparts = 1 };
	unsigned int i = 0, hdr_len;

	if (!crc_best->msg || p->tail_len < IB_CRCS_LEN)
		return false;
	/* A packet that came in a UDP datagram has its headers in the first slice. */
	if (!m.part[0].len && p->nslices)
		m.part[0] = (struct crc_part){ p->slice[0].data, p->slice[i++].len };
	hdr_len = m.part[0].len < IB_LRH_LEN ? 0 : ud_hdr_len(m.part[0].p);
	if (!hdr_len || m.part[0].len < hdr_len)
		return false;
	m.grh = hdr_len == CRC_GLOBAL_HDR;
	for (; i < p->nslices; i++)
		m.part[m.nparts++] = (struct crc_part){ p->slice[i].data, p->slice[i].len };
	if (p->tail_len > IB_CRCS_LEN)
		m.part[m.nparts++] = (struct crc_part){ p->tail, p->tail_len - IB_CRCS_LEN };
	*ret = crc_best->msg(&m);
	return true;
}

static inline uint16_t vcrc_of(const struct pkt *p, const struct crc_regs *r)
{
	return vcrc_over(p->tail + p->tail_len - IB_CRCS_LEN, r);
}

void crc_put_regs(uint8_t *crcs, const struct crc_regs *r)
{
	le32_put(crcs, ~r->icrc);
	le16_put(crcs + IB_ICRC_LEN, vcrc_over(crcs, r));
}

static uint16_t pkt_vcrc(const struct pkt *p)
{
	struct crc_regs r;

	return regs_of(p, &r) ? vcrc_of(p, &r) : vcrc_by_parts(p);
}

static uint32_t pkt_icrc(const struct pkt *p)
{
	struct crc_regs r;

	return regs_of(p, &r) ? ~r.icrc : icrc_by_parts(p);
}

void crc_pkt_pad(struct pkt *p)
{
	const uint8_t *lrh = pkt_hdr(p);

	memset(p->tail, 0, sizeof(p->tail));
	p->tail_len = (uint8_t)(ib_bth_pad(lrh + ib_bth_off(lrh)) + IB_CRCS_LEN);
	p->flags &= ~(uint32_t)(PKT_CRC | PKT_ICRC | PKT_VCRC_OK | PKT_ICRC_OK);
}

void crc_pkt_seal_icrc(struct pkt *p)
{
	crc_pkt_pad(p);
	le32_put(p->tail + p->tail_len - IB_CRCS_LEN, pkt_icrc(p));
	p->flags |= PKT_ICRC;
}

void crc_pkt_seal(struct pkt *p)
{
	struct crc_regs r;
	uint8_t *crcs;

	crc_pkt_pad(p);
	crcs = p->tail + p->tail_len - IB_CRCS_LEN;
	if (regs_of(p, &r)) {
		crc_put_regs(crcs, &r);
	} else {
		le32_put(crcs, icrc_by_parts(p));
		le16_put(crcs + IB_ICRC_LEN, vcrc_by_parts(p));
	}
	p->flags |= PKT_CRC;
}

void crc_pkt_mend_vcrc(struct pkt *p)
{
	le16_put(p->tail + p->tail_len - IB_VCRC_LEN, pkt_vcrc(p));
}

enum crc_verdict crc_pkt_check(const struct pkt *p)
{
	const uint32_t both = PKT_VCRC_OK | PKT_ICRC_OK;
	const uint8_t *crcs;
	struct crc_regs r;

	if (!(p->flags & PKT_CRC))
		return CRC_OK;
	if (p->tail_len < IB_CRCS_LEN || p->tail_len > PKT_TAIL_MAX)
		return CRC_BAD_LEN;
	if ((p->flags & both) == both)
		return CRC_OK;
	if (!regs_of(p, &r))
		return check_by_parts(p);
	crcs = p->tail + p->tail_len - IB_CRCS_LEN;
	if (!(p->flags & PKT_VCRC_OK) && le16_at(crcs + IB_ICRC_LEN) != vcrc_of(p, &r))
		return CRC_BAD_VCRC;
	return le32_at(crcs) == ~r.icrc ? CRC_OK : CRC_BAD_ICRC;
}

enum crc_verdict crc_pkt_check_icrc(const struct pkt *p)
{
	if (!(p->flags & PKT_ICRC))
		return CRC_OK;
	if (p->tail_len < IB_CRCS_LEN || p->tail_len > PKT_TAIL_MAX)
		return CRC_BAD_LEN;
	return le32_at(p->tail + p->tail_len - IB_CRCS_LEN) == pkt_icrc(p) ? CRC_OK : CRC_BAD_ICRC;
}

enum crc_verdict crc_pkt_check_vcrc(const struct pkt *p)
{
	if (!(p->flags & PKT_CRC) || p->flags & PKT_VCRC_OK)
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
	diff = ib_lrh_vl(lrh) ^ (vl & 0xf);
	if (!diff)
		return;
	lrh[0] ^= (uint8_t)(diff << 4);
	if (!(p->flags & PKT_CRC) || p->tail_len < IB_CRCS_LEN)
		return;

	vcrc = p->tail + p->tail_len - IB_VCRC_LEN;
	if (octets % 4 || octets > CRC16_VL_MAX) /* vl_delta[] has no row for this length */
		le16_put(vcrc, pkt_vcrc(p));
	else
		le16_put(vcrc, le16_at(vcrc) ^ crc16_vl_delta(diff, octets));
}
