/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/crc_kern.h"

#if defined(__PCLMUL__) && defined(__SSE4_1__)

#include "wire/crc_x86.h"

/* Fold four registers of 16 octets at a time, which hides the latency of the multiplier. */
static __m128i fold_blocks(__m128i a, const uint8_t *p, size_t blocks)
{
	__m128i k = fold_load(&crc16_k.by64);
	__m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);

	while (--blocks) {
		p += 64;
		a = _mm_xor_si128(fold(a, k), load(p));
		b = _mm_xor_si128(fold(b, k), load(p + 16));
		c = _mm_xor_si128(fold(c, k), load(p + 32));
		d = _mm_xor_si128(fold(d, k), load(p + 48));
	}
	a = _mm_xor_si128(fold(a, fold_load(&crc16_k.by48)), fold(b, fold_load(&crc16_k.by32)));
	c = _mm_xor_si128(fold(c, fold_load(&crc16_k.by16)), d);
	return _mm_xor_si128(a, c);
}

uint16_t crc16_clmul(uint16_t reg, const void *p, size_t len)
{
	const uint8_t *o = p;
	size_t blocks = len / 64;
	__m128i a;

	if (len < 16)
		return crc16_short(reg, o, len);

	a = _mm_xor_si128(load(o), _mm_cvtsi32_si128(reg));
	if (blocks) {
		a = fold_blocks(a, o, blocks);
		o += blocks * 64;
		len -= blocks * 64;
	} else {
		o += 16;
		len -= 16;
	}
	return finish(fold_rest(a, o, len));
}

#endif
