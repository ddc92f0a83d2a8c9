// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/cache.h>
#include <linux/crc32.h>
#include <linux/init.h>
#include <linux/string.h>

#include "wire.h"

#define POLY 0xd008 /* polynomial 0x100B of IBTA 7.8.2, bits reversed */
#define SLICES 8

/* table[n][x]: the CRC of octet x followed by n zero octets. Written once, before the first packet. */
static u16 table[SLICES][256] __ro_after_init;

void __init uib_crc_init(void)
{
	unsigned int i, bit, s;

	for (i = 0; i < 256; i++) {
		u16 c = i;

		for (bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[0][i] = c;
	}
	for (s = 1; s < SLICES; s++)
		for (i = 0; i < 256; i++)
			table[s][i] = table[0][table[s - 1][i] & 0xff] ^ table[s - 1][i] >> 8;
}

u16 uib_vcrc(u16 crc, const void *data, size_t len)
{
	const u8 *p = data;

	for (; len >= SLICES; len -= SLICES, p += SLICES)
		crc = table[7][(p[0] ^ crc) & 0xff] ^ table[6][p[1] ^ crc >> 8] ^ table[5][p[2]] ^
		      table[4][p[3]] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
		      table[0][p[7]];
	while (len--)
		crc = table[0][(*p++ ^ crc) & 0xff] ^ crc >> 8;
	return crc;
}

u32 uib_icrc_hdr(const u8 *hdr, size_t len)
{
	u8 h[UIB_HDR_MAX], *bth = h + UIB_LRH_LEN;

	memcpy(h, hdr, len);
	if ((h[1] & 3) == UIB_LNH_GLOBAL) {
		memset(h, 0xff, UIB_LRH_LEN);
		/*
		 * Replace TClass, FlowLabel and HopLmt by ones, because routers may change these
		 * fields.
		 */
		h[UIB_LRH_LEN] |= 0x0f;
		memset(h + UIB_LRH_LEN + 1, 0xff, 3);
		h[UIB_LRH_LEN + 7] = 0xff;
		bth += UIB_GRH_LEN;
	} else {
		h[0] |= 0xf0;
	}
	bth[4] = 0xff;
	return crc32_le(~0u, h, len);
}
