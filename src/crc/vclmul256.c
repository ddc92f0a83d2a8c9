/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/kern.h"

#if defined(__VPCLMULQDQ__) && defined(__AVX2__)

#include "crc/x86.h"
#include "wire/inet.h"

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

/*
 * Sums of the 32-bit words of vectors: .all is the sum of the lanes of 64 bits modulo 2^64, and
 * .high the sum of their high words. So the sum of the low words is .all - .high * 2^32. The other
 * two members are a second set of sums.
 */
struct sums {
	__m256i all, high, all2, high2;
};

INLINE void add_sums(__m256i *all, __m256i *high, __m256i v)
{
	*all = _mm256_add_epi64(*all, v);
	*high = _mm256_add_epi64(*high, _mm256_srli_epi64(v, 32));
}

INLINE void add_block(struct sums *s, __m256i a, __m256i b, __m256i c, __m256i d)
{
	if (!s)
		return;
	add_sums(&s->all, &s->high, a);
	add_sums(&s->all2, &s->high2, b);
	add_sums(&s->all, &s->high, c);
	add_sums(&s->all2, &s->high2, d);
}

/*
 * Fold four registers of 32 octets at a time. The octets are added to @s, too, unless it is NULL;
 * if it is not, @a is 0, and there are at least 128 octets.
 */
INLINE __m128i fold_and_sum(__m128i a, const uint8_t **p, size_t *len, struct sums *s)
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
	add_block(s, v, b, c, d);
	for (o += 128, n -= 128; n >= 128; o += 128, n -= 128) {
		__m256i w = load256(o), x = load256(o + 32), y = load256(o + 64),
			z = load256(o + 96);

		add_block(s, w, x, y, z);
		v = fold256(v, k, w);
		b = fold256(b, k, x);
		c = fold256(c, k, y);
		d = fold256(d, k, z);
	}
	d = fold256(c, fold256_load(&crc_k.by32), d);
	d = fold256(b, fold256_load(&crc_k.by64), d);
	d = fold256(v, fold256_load(&crc_k.by96), d);
	for (; n >= 32; o += 32, n -= 32) {
		__m256i w = load256(o);

		if (s)
			add_sums(&s->all, &s->high, w);
		d = fold256(d, fold256_load(&crc_k.by32), w);
	}
	*p = o;
	*len = n;
	return _mm_xor_si128(fold(_mm256_castsi256_si128(d), fold_load(&crc_k.by16)),
			     _mm256_extracti128_si256(d, 1));
}

INLINE __m128i fold_big(__m128i a, const uint8_t **p, size_t *len)
{
	return fold_and_sum(a, p, len, NULL);
}

INLINE uint64_t total(__m256i v)
{
	__m128i a = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	return (uint64_t)_mm_cvtsi128_si64(a) + (uint64_t)_mm_extract_epi64(a, 1);
}

static struct crc_body body(const uint8_t *p, size_t len)
{
	struct sums s = { 0 };
	__m256i high, low;
	struct crc_body ret;
	__m128i a;

	a = fold_and_sum(_mm_setzero_si128(), &p, &len, &s);
	a = fold_rest(a, p, len, true);
	memcpy(ret.reg, &a, sizeof(ret.reg));
	high = _mm256_add_epi64(s.high, s.high2);
	low = _mm256_sub_epi64(_mm256_add_epi64(s.all, s.all2), _mm256_slli_epi64(high, 32));
	ret.sum = inet_sum(inet_sum_native(total(low) + total(high)), p, len);
	return ret;
}

CRC_X86_KERNEL(crc_vclmul256, "vpclmulqdq", fold_big, body);

#endif
