/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/crc_kern.h"

#if defined(__VPCLMULQDQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "wire/crc_x86.h"

static inline __m512i load512(const void *p)
{
	return _mm512_loadu_si512(p);
}

static inline __m512i fold512(__m512i a, __m512i k, __m512i b)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x00),
					 _mm512_clmulepi64_epi128(a, k, 0x11), b, 0x96);
}

static inline __m512i fold512_load(const struct crc16_fold *f)
{
	return _mm512_broadcast_i32x4(fold_load(f));
}

/*
 * Fold blocks of 256 octets in four registers of 64 octets, and then the four registers into one.
 */
static __m512i fold_big(__m512i a, const uint8_t *p, size_t blocks)
{
	__m512i k = fold512_load(&crc16_k.by256);
	__m512i b = load512(p + 64), c = load512(p + 128), d = load512(p + 192);

	while (--blocks) {
		p += 256;
		a = fold512(a, k, load512(p));
		b = fold512(b, k, load512(p + 64));
		c = fold512(c, k, load512(p + 128));
		d = fold512(d, k, load512(p + 192));
	}
	d = fold512(c, fold512_load(&crc16_k.by64), d);
	a = fold512(a, fold512_load(&crc16_k.by192), d);
	return fold512(b, fold512_load(&crc16_k.by128), a);
}

/* Fold the first three lanes of a register into the last one. */
static __m128i lanes(__m512i a)
{
	__m128i x = fold(_mm512_castsi512_si128(a), fold_load(&crc16_k.by48));
	__m128i y = fold(_mm512_extracti32x4_epi32(a, 1), fold_load(&crc16_k.by32));
	__m128i z = fold(_mm512_extracti32x4_epi32(a, 2), fold_load(&crc16_k.by16));

	z = _mm_xor_si128(z, _mm512_extracti32x4_epi32(a, 3));
	return _mm_xor_si128(_mm_xor_si128(x, y), z);
}

uint16_t crc16_vclmul(uint16_t reg, const void *p, size_t len)
{
	const uint8_t *o = p;
	__m128i first = _mm_cvtsi32_si128(reg);
	__m512i a, k;

	if (len < 16)
		return crc16_short(reg, o, len);
	if (len < 64)
		return finish(fold_rest(_mm_xor_si128(load(o), first), o + 16, len - 16));

	a = _mm512_xor_si512(load512(o), _mm512_zextsi128_si512(first));
	if (len >= 256) {
		a = fold_big(a, o, len / 256);
		o += len & ~(size_t)255;
		len &= 255;
	} else {
		o += 64;
		len -= 64;
	}
	k = fold512_load(&crc16_k.by64);
	for (; len >= 64; len -= 64, o += 64)
		a = fold512(a, k, load512(o));
	return finish(fold_rest(lanes(a), o, len));
}

#endif
