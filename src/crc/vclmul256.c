/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/kern.h"

#if defined(__VPCLMULQDQ__) && defined(__AVX2__)

#define CRC_VEC 32
#include "crc/x86.h"

INLINE __m256i load256(const void *p)
{
	return _mm256_loadu_si256(p);
}

INLINE __m256i fold256(__m256i a, __m256i k, __m256i b)
{
	return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(a, k, 0x00), b),
				_mm256_clmulepi64_epi128(a, k, 0x11));
}

INLINE __m256i fold256_load(const struct crc_fold *f)
{
	return _mm256_broadcastsi128_si256(fold_load(f));
}

/* Fold four registers of 32 octets at a time. */
INLINE __m128i fold_big(__m128i a, const uint8_t **p, size_t *len)
{
	__m256i k = fold256_load(&crc_k.by128), v, b, c, d;
	const uint8_t *o = *p;
	size_t n = *len;

	if (n < 128)
		return a;
	a = fold(a, fold_load(&crc_k.by16));
	v = _mm256_xor_si256(load256(o), _mm256_zextsi128_si256(a));
	b = load256(o + 32);
	c = load256(o + 64);
	d = load256(o + 96);
	for (o += 128, n -= 128; n >= 128; o += 128, n -= 128) {
		v = fold256(v, k, load256(o));
		b = fold256(b, k, load256(o + 32));
		c = fold256(c, k, load256(o + 64));
		d = fold256(d, k, load256(o + 96));
	}
	d = fold256(c, fold256_load(&crc_k.by32), d);
	d = fold256(b, fold256_load(&crc_k.by64), d);
	d = fold256(v, fold256_load(&crc_k.by96), d);
	for (; n >= 32; o += 32, n -= 32)
		d = fold256(d, fold256_load(&crc_k.by32), load256(o));
	*p = o;
	*len = n;
	return _mm_xor_si128(fold(_mm256_castsi256_si128(d), fold_load(&crc_k.by16)),
			     _mm256_extracti128_si256(d, 1));
}

CRC_X86_KERNEL(crc_vclmul256, "vpclmulqdq", fold_big);

#endif
