/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BITS_ISA_L_CRC_H
#define BITS_ISA_L_CRC_H

/* The function of ISA-L that src/wire uses, for machines for which Debian does not build ISA-L */

#include <stdint.h>

static inline uint32_t crc32_gzip_refl(uint32_t seed, const unsigned char *p, uint64_t len)
{
	uint32_t reg = ~seed;

	for (; len; len--) {
		reg ^= *p++;
		for (int i = 0; i < 8; i++)
			reg = reg >> 1 ^ (reg & 1 ? 0xedb88320u : 0);
	}
	return ~reg;
}

#endif
