/* SPDX-License-Identifier: BSD-2-Clause */
#include <isa-l/crc.h>

#include "crc/add.h"
#include "crc/kern.h"
#include "util/list.h"

#define CRC16_POLY_REFLECTED 0xd008u /* polynomial of the VCRC without its term x^16, reflected */

/*
 * table[k][b] is the register after octet b and k zero octets. With sixteen such tables, sixteen
 * octets are looked up independently of each other (slicing-by-16).
 */
static uint16_t table[16][256];

static void table_init(void)
{
	for (unsigned int b = 0; b < 256; b++) {
		uint16_t r = (uint16_t)b;

		for (int i = 0; i < 8; i++)
			r = (uint16_t)(r & 1 ? r >> 1 ^ CRC16_POLY_REFLECTED : r >> 1);
		table[0][b] = r;
	}
	for (unsigned int k = 1; k < 16; k++)
		for (unsigned int b = 0; b < 256; b++) {
			uint16_t r = table[k - 1][b];

			table[k][b] = (uint16_t)(r >> 8 ^ table[0][r & 0xff]);
		}
}

/*
 * Changes of the VCRC by changes of the VL. The CRC is linear. So a change of some octets changes
 * the CRC by the CRC of the difference (register 0, no complement). The other octets do not matter.
 * Here the difference is one of the four VL bits in the first octet, followed by zeros. The rows
 * are lengths of packets in 4-octet words, the columns are the bits.
 */
static uint16_t vl_delta[CRC16_VL_MAX / 4 + 1][4];

static void vl_delta_init(void)
{
	static const uint8_t zero[4];

	for (unsigned int bit = 0; bit < 4; bit++) {
		const uint8_t first[4] = { (uint8_t)(0x10 << bit) };
		uint16_t reg = crc16_short(0, first, sizeof(first));

		for (size_t words = 1; words < ARRAY_SIZE(vl_delta); words++) {
			vl_delta[words][bit] = reg;
			reg = crc16_short(reg, zero, sizeof(zero));
		}
	}
}

uint16_t crc16_vl_delta(unsigned int diff, size_t octets)
{
	const uint16_t *row = vl_delta[octets / 4];
	uint16_t delta = 0;

	for (unsigned int bit = 0; bit < 4; bit++)
		if (diff & (1u << bit))
			delta ^= row[bit];
	return delta;
}

void crc_tables_init(void)
{
	table_init();
	vl_delta_init();
}

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

uint16_t crc16_short(uint16_t reg, const uint8_t *p, size_t len)
{
	for (; len >= 4; len -= 4, p += 4) {
		uint16_t x = reg ^ load16(p);

		reg = table[3][x & 0xff] ^ table[2][x >> 8] ^ table[1][p[2]] ^ table[0][p[3]];
	}
	for (; len; len--, p++)
		reg = (uint16_t)(reg >> 8 ^ table[0][(reg ^ *p) & 0xff]);
	return reg;
}

static uint16_t slice16(uint16_t reg, const void *p, size_t len)
{
	const uint8_t *o = p;

	for (; len >= 16; len -= 16, o += 16) {
		uint16_t x = reg ^ load16(o);
		uint16_t r = table[15][x & 0xff] ^ table[14][x >> 8];

		for (unsigned int i = 2; i < 16; i++)
			r ^= table[15 - i][o[i]];
		reg = r;
	}
	return crc16_short(reg, o, len);
}

/*
 * Clear the upper halves of the vector registers. ISA-L 2.30's AVX-512 kernel returns with these
 * upper halves in use. The SSE instructions that follow would then take about 100 ns longer.
 */
static inline void clean_vectors(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::: "memory");
#endif
}

/*
 * Compute the CRC-32 by ISA-L. ISA-L complements the register before and after the computation, as
 * zlib does, so this function undoes both complements.
 */
static uint32_t isal32(uint32_t reg, const void *p, size_t len)
{
	reg = ~crc32_gzip_refl(~reg, p, len);
	clean_vectors();
	return reg;
}

const struct crc_kernel crc_portable = {
	.name = "portable",
	.crc16 = slice16,
	.crc32 = isal32,
	.add = crc_add_rows,
};
