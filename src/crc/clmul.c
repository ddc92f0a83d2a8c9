/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/kern.h"

#if defined(__PCLMUL__) && defined(__SSE4_1__)

#include "crc/x86.h"

/*
 * Fold four registers of 16 octets at a time, because independent registers hide the latency of the
 * multiplier.
 */
INLINE __m128i fold_big(__m128i a, const uint8_t **p, size_t *len)
{
	__m128i k = fold_load(&crc_k.by64), b, c, d;
	const uint8_t *o = *p;
	size_t n = *len;

	if (n < 64)
		return a;
	a = _mm_xor_si128(fold(a, fold_load(&crc_k.by16)), load(o));
	b = load(o + 16);
	c = load(o + 32);
	d = load(o + 48);
	for (o += 64, n -= 64; n >= 64; o += 64, n -= 64) {
		a = _mm_xor_si128(fold(a, k), load(o));
		b = _mm_xor_si128(fold(b, k), load(o + 16));
		c = _mm_xor_si128(fold(c, k), load(o + 32));
		d = _mm_xor_si128(fold(d, k), load(o + 48));
	}
	*p = o;
	*len = n;
	a = _mm_xor_si128(fold(a, fold_load(&crc_k.by48)), fold(b, fold_load(&crc_k.by32)));
	c = _mm_xor_si128(fold(c, fold_load(&crc_k.by16)), d);
	return _mm_xor_si128(a, c);
}

CRC_X86_KERNEL(crc_clmul, "pclmulqdq", fold_big, NULL);

#endif
