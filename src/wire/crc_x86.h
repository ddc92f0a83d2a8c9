/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CRC_X86_H
#define WIRE_CRC_X86_H

/*
 * The 128-bit steps at the end of both x86 kernels, explained in wire/crc_kern.h. Only for
 * files that are compiled with -mpclmul.
 */

#if defined(__PCLMUL__) && defined(__SSE4_1__)

#include <immintrin.h>

#include "wire/crc_kern.h"

static inline __m128i load(const void *p)
{
	return _mm_loadu_si128(p);
}

static inline __m128i fold_load(const struct crc16_fold *f)
{
	return load(f->k);
}

static inline __m128i fold(__m128i a, __m128i k)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00), _mm_clmulepi64_si128(a, k, 0x11));
}

/* Folds @a over the last @len octets at @p, less than 64; at least 16 octets of the message lie before @p. */
static inline __m128i fold_rest(__m128i a, const uint8_t *p, size_t len)
{
	__m128i k = fold_load(&crc16_k.by16);

	for (; len >= 16; len -= 16, p += 16)
		a = _mm_xor_si128(fold(a, k), load(p));
	if (len) {
		/*
		 * The register and the rest are 16 + len octets: the first len of them are
		 * folded onto the other 16, which are the register's end and the rest.
		 */
		__m128i up = load(crc16_k.shift + len); /* the first len octets, at the end */
		__m128i down = load(crc16_k.shift + 16 + len); /* the others, at the start */
		__m128i last = load(p + len - 16); /* 16 - len old octets, then the rest */
		__m128i rest = _mm_shuffle_epi8(a, down);

		/* Where the top bit of the control is set, the shuffle gave 0, and the octet of the message is taken. */
		last = _mm_blendv_epi8(rest, last, down);
		a = _mm_xor_si128(fold(_mm_shuffle_epi8(a, up), k), last);
	}
	return a;
}

static inline uint16_t finish(__m128i a)
{
	__m128i k = _mm_cvtsi64_si128((long long)crc16_k.finish);
	__m128i b = _mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00), _mm_srli_si128(a, 8));
	__m128i q = _mm_clmulepi64_si128(b, _mm_cvtsi64_si128((long long)crc16_k.mu), 0x00);
	__m128i r = _mm_clmulepi64_si128(q, _mm_cvtsi64_si128((long long)crc16_k.poly), 0x00);

	return (uint16_t)_mm_extract_epi16(_mm_xor_si128(r, b), 4);
}

#endif

#endif
