/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_REF_H
#define CRC_REF_H

/* Computes the CRCs of a packet bit by bit; tests compare the results of src/crc with these CRCs */

#include <string.h>

#include "util/prng.h"
#include "wire/ib_hdr.h"

#define BUF_LEN 4352

/* Compute a CRC bit by bit, as IBTA volume 1, 7.8 describes it, without code of src/crc. */
static inline uint32_t ref_crc(uint32_t reg, uint32_t poly, const uint8_t *p, size_t len)
{
	while (len--) {
		reg ^= *p++;
		for (int i = 0; i < 8; i++)
			reg = reg & 1 ? reg >> 1 ^ poly : reg >> 1;
	}
	return reg;
}

static inline uint32_t ref_crc32(uint32_t reg, const uint8_t *p, size_t len)
{
	return ref_crc(reg, 0xedb88320u, p, len);
}

static inline uint16_t ref_crc16(uint16_t reg, const uint8_t *p, size_t len)
{
	return (uint16_t)ref_crc(reg, 0xd008, p, len);
}

/*
 * Set the variant fields of a packet to ones, because the ICRC is computed over ones in place of
 * these fields.
 */
static inline void ref_mask(uint8_t *p)
{
	uint8_t *bth = p + 8;

	if ((p[1] & 3) == 3) {
		for (int i = 0; i < 8; i++)
			p[i] = 0xff; /* LRH */
		p[8] |= 0x0f; /* high half of TClass */
		p[9] = 0xff; /* low half of TClass, FlowLabel */
		p[10] = 0xff;
		p[11] = 0xff;
		p[15] = 0xff; /* HopLmt */
		bth += 40;
	} else {
		p[0] |= 0xf0; /* VL */
	}
	bth[4] = 0xff;
}

static inline uint32_t ref_icrc(const uint8_t *pkt, size_t len)
{
	uint8_t copy[BUF_LEN];

	memcpy(copy, pkt, len);
	ref_mask(copy);
	return ~ref_crc32(0xffffffff, copy, len);
}

static inline uint16_t ref_vcrc(const uint8_t *pkt, size_t len)
{
	return (uint16_t)~ref_crc16(0xffff, pkt, len);
}

static inline void fill(struct prng *r, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)prng_u64(r);
}

#endif
