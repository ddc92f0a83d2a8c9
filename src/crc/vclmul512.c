/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/kern.h"

#if defined(__VPCLMULQDQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#define CRC_VEC 64
#include "crc/x86.h"

INLINE __m512i load512(const void *p)
{
	return _mm512_loadu_si512(p);
}

INLINE __m512i fold512(__m512i a, __m512i k, __m512i b)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x00),
					 _mm512_clmulepi64_epi128(a, k, 0x11), b, 0x96);
}

INLINE __m512i fold512_load(const struct crc_fold *f)
{
	return _mm512_broadcast_i32x4(fold_load(f));
}

/*
 * Fold @a, which holds the first 64 octets, over blocks of 256 octets into four registers, and then
 * fold the four registers into one.
 */
INLINE __m512i fold_blocks(__m512i a, const uint8_t *p, size_t blocks)
{
	__m512i k = fold512_load(&crc_k.by256);
	__m512i b = load512(p + 64), c = load512(p + 128), d = load512(p + 192);

	while (--blocks) {
		p += 256;
		a = fold512(a, k, load512(p));
		b = fold512(b, k, load512(p + 64));
		c = fold512(c, k, load512(p + 128));
		d = fold512(d, k, load512(p + 192));
	}
	d = fold512(c, fold512_load(&crc_k.by64), d);
	a = fold512(a, fold512_load(&crc_k.by192), d);
	return fold512(b, fold512_load(&crc_k.by128), a);
}

/* Fold the first three lanes of a register into the last one. */
INLINE __m128i lanes(__m512i a)
{
	__m128i x = fold(_mm512_castsi512_si128(a), fold_load(&crc_k.by48));
	__m128i y = fold(_mm512_extracti32x4_epi32(a, 1), fold_load(&crc_k.by32));
	__m128i z = fold(_mm512_extracti32x4_epi32(a, 2), fold_load(&crc_k.by16));

	z = _mm_xor_si128(z, _mm512_extracti32x4_epi32(a, 3));
	return _mm_xor_si128(_mm_xor_si128(x, y), z);
}

INLINE __m128i fold_big(__m128i a, const uint8_t **p, size_t *len)
{
	const uint8_t *o = *p;
	size_t n = *len;
	__m512i v, k;

	if (n < 64)
		return a;
	a = fold(a, fold_load(&crc_k.by16));
	v = _mm512_xor_si512(load512(o), _mm512_zextsi128_si512(a));
	if (n >= 256) {
		v = fold_blocks(v, o, n / 256);
		o += n & ~(size_t)255;
		n &= 255;
	} else {
		o += 64;
		n -= 64;
	}
	k = fold512_load(&crc_k.by64);
	for (; n >= 64; n -= 64, o += 64)
		v = fold512(v, k, load512(o));
	*p = o;
	*len = n;
	return lanes(v);
}

CRC_X86_KERNEL(crc_vclmul512, "vpclmulqdq-avx512", fold_big);

#endif
