/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/kern.h"

#if defined(__VPCLMULQDQ__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
	defined(__AVX512VNNI__)

#include "crc/x86.h"
#include "wire/inet.h"

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
 * Sums of the octets of vectors, apart for those at even and at odd offsets, in lanes of 32 bits.
 * There are two sets of sums, because an addition takes longer than the time between two additions.
 */
struct sums {
	__m512i even, odd, even2, odd2;
};

INLINE void add_sums(__m512i *even, __m512i *odd, __m512i v)
{
	*even = _mm512_dpbusd_epi32(*even, v, _mm512_set1_epi16(0x0001));
	*odd = _mm512_dpbusd_epi32(*odd, v, _mm512_set1_epi16(0x0100));
}

INLINE void add_block(struct sums *s, __m512i a, __m512i b, __m512i c, __m512i d)
{
	if (!s)
		return;
	add_sums(&s->even, &s->odd, a);
	add_sums(&s->even2, &s->odd2, b);
	add_sums(&s->even, &s->odd, c);
	add_sums(&s->even2, &s->odd2, d);
}

/*
 * Fold @a, which holds the first 64 octets, over blocks of 256 octets into four registers, and then
 * fold the four registers into one. The octets are added to @s, too, unless it is NULL.
 */
INLINE __m512i fold_blocks(__m512i a, const uint8_t *p, size_t blocks, struct sums *s)
{
	__m512i k = fold512_load(&crc_k.by256);
	__m512i b = load512(p + 64), c = load512(p + 128), d = load512(p + 192);

	add_block(s, a, b, c, d);
	while (--blocks) {
		__m512i w, x, y, z;

		p += 256;
		w = load512(p);
		x = load512(p + 64);
		y = load512(p + 128);
		z = load512(p + 192);
		add_block(s, w, x, y, z);
		a = fold512(a, k, w);
		b = fold512(b, k, x);
		c = fold512(c, k, y);
		d = fold512(d, k, z);
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

/* If @s is not NULL, @a is 0, and there are at least 256 octets. */
INLINE __m128i fold_and_sum(__m128i a, const uint8_t **p, size_t *len, struct sums *s)
{
	const uint8_t *o = *p;
	size_t n = *len;
	__m512i v, k;

	if (n < 64)
		return a;
	a = fold(a, fold_load(&crc_k.by16));
	v = _mm512_xor_si512(load512(o), _mm512_zextsi128_si512(a));
	if (n >= 256) {
		v = fold_blocks(v, o, n / 256, s);
		o += n & ~(size_t)255;
		n &= 255;
	} else {
		o += 64;
		n -= 64;
	}
	k = fold512_load(&crc_k.by64);
	for (; n >= 64; n -= 64, o += 64) {
		__m512i w = load512(o);

		if (s)
			add_sums(&s->even, &s->odd, w);
		v = fold512(v, k, w);
	}
	*p = o;
	*len = n;
	return lanes(v);
}

INLINE __m128i fold_big(__m128i a, const uint8_t **p, size_t *len)
{
	return fold_and_sum(a, p, len, NULL);
}

static struct crc_body body(const uint8_t *p, size_t len)
{
	struct sums s = { 0 };
	struct crc_body ret;
	__m512i words;
	__m128i a;

	a = fold_and_sum(_mm_setzero_si128(), &p, &len, &s);
	a = fold_rest(a, p, len, true);
	memcpy(ret.reg, &a, sizeof(ret.reg));
	/* An octet at an odd offset is the high half of a word in host order. */
	words = _mm512_add_epi32(s.odd, s.odd2);
	words = _mm512_add_epi32(_mm512_slli_epi32(words, 8), _mm512_add_epi32(s.even, s.even2));
	ret.sum = inet_sum(inet_sum_native((uint32_t)_mm512_reduce_add_epi32(words)), p, len);
	return ret;
}

CRC_X86_KERNEL(crc_vclmul512, "vpclmulqdq-avx512", fold_big, body);

#endif
