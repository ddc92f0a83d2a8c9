/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/run.h"

#include "crc/kern.h"

static bool shape_fits(const struct pkt *p)
{
	return crc_best->body && crc_is_plain(p) && pkt_hdr_len(p) % 4 == 0 &&
	       (p->len + p->tail_len - IB_CRCS_LEN) % 4 == 0 && p->slice[0].len >= CRC_BODY_MIN &&
	       p->slice[0].len <= CRC_BODY_MAX;
}

bool crc_run_begin(struct crc_run *r, const struct pkt *p, const uint32_t *at, unsigned int n)
{
	struct crc_part hdr = { p->hdr + p->head, pkt_hdr_len(p) };
	uint32_t octets;

	if (!shape_fits(p))
		return false;
	r->len = p->slice[0].len;
	r->pad = p->tail_len - IB_CRCS_LEN;
	octets = r->len + r->pad;
	crc_best->common(r, &hdr, octets);
	r->nwords = n;
	for (unsigned int i = 0; i < n; i++) {
		if (at[i] % 4)
			return false;
		/* A word is the upper half of the second quadword of a register (crc/kern.h). */
		r->by[i] = crc_k.by_words[(pkt_hdr_len(p) - at[i] + octets) / 4 - 1].k[1];
	}
	return true;
}

struct crc_body crc_run_body(const struct crc_run *r, const uint8_t *payload)
{
	return crc_best->body(payload, r->len);
}

void crc_run_crcs(const struct crc_run *r, const struct crc_body *body, const uint32_t *words,
		  uint8_t *crcs)
{
	struct crc_regs regs = crc_best->join(r, words, body);

	crc_put_regs(crcs, &regs);
}
