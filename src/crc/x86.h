/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_X86_H
#define CRC_X86_H

/*
 * Code that all kernels for x86 share, explained in crc/kern.h. A kernel adds its own function that folds a long
 * part; the other functions are inlined into the kernel. Only files that are compiled with -mpclmul include this
 * header.
 */

#if defined(__PCLMUL__) && defined(__SSE4_1__)

#include <immintrin.h>
#include <string.h>

#include "crc/add.h"
#include "crc/kern.h"

#define INLINE static inline __attribute__((always_inline))

INLINE __m128i load(const void *p)
{
	return _mm_loadu_si128(p);
}

INLINE __m128i fold_load(const struct crc_fold *f)
{
	return load(f->k);
}

INLINE __m128i fold(__m128i a, __m128i k)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00), _mm_clmulepi64_si128(a, k, 0x11));
}

/* Load fewer than 8 octets, to the start of a register */
INLINE uint64_t load_lt8(const uint8_t *p, size_t len)
{
	uint64_t x = 0;
	uint32_t d;
	uint16_t w;

	if (len & 1)
		x = p[len - 1];
	if (len & 2) {
		memcpy(&w, p + (len & 4), 2);
		x = x << 16 | w;
	}
	if (len & 4) {
		memcpy(&d, p, 4);
		x = x << 32 | d;
	}
	return x;
}

INLINE __m128i load_lt16(const uint8_t *p, size_t len)
{
	uint64_t lo;

	if (len < 8)
		return _mm_cvtsi64_si128((long long)load_lt8(p, len));
	memcpy(&lo, p, 8);
	return _mm_set_epi64x((long long)load_lt8(p + 8, len - 8), (long long)lo);
}

/*
 * Fold @a over the next @len octets of the message, fewer than 16, which are the start of @next. @a
 * and these octets are 16 + len octets together. The first len of them are folded onto the last 16,
 * which are the end of @a and the octets of @next.
 */
INLINE __m128i fold_lt16(__m128i a, __m128i next, size_t len)
{
	__m128i up = load(crc_k.shift + len), down = load(crc_k.shift + 16 + len);
	__m128i last = _mm_or_si128(_mm_shuffle_epi8(a, down), _mm_shuffle_epi8(next, up));

	return _mm_xor_si128(fold(_mm_shuffle_epi8(a, up), fold_load(&crc_k.by16)), last);
}

/* Like fold_lt16(), for the octets at @p, if at least 16 - len octets before them may be read */
INLINE __m128i fold_last(__m128i a, const uint8_t *p, size_t len)
{
	__m128i up = load(crc_k.shift + len), down = load(crc_k.shift + 16 + len);
	/*
	 * Where the top bit of the control octet is set, the shuffle gives 0, and the octet of the message is used.
	 */
	__m128i last = _mm_blendv_epi8(_mm_shuffle_epi8(a, down), load(p + len - 16), down);

	return _mm_xor_si128(fold(_mm_shuffle_epi8(a, up), fold_load(&crc_k.by16)), last);
}

/*
 * The function of one kernel that folds as many octets from the start of @p as it chooses. It
 * advances @p and reduces @len by this number.
 */
typedef __m128i fold_big_fn(__m128i a, const uint8_t **p, size_t *len);

/*
 * Fold @a over a part of @len octets at @p, 16 octets at a time. @behind is true if at least 16
 * octets before @p may be read
 */
INLINE __m128i fold_rest(__m128i a, const uint8_t *p, size_t len, bool behind)
{
	__m128i k = fold_load(&crc_k.by16);

	behind |= len >= 16;
	for (; len >= 16; len -= 16, p += 16)
		a = _mm_xor_si128(fold(a, k), load(p));
	if (!len)
		return a;
	return behind ? fold_last(a, p, len) : fold_lt16(a, load_lt16(p, len), len);
}

/* Like fold_rest(), for a part that may be long */
INLINE __m128i fold_part(__m128i a, const uint8_t *p, size_t len, bool behind, fold_big_fn big)
{
	behind |= len >= 16;
	a = big(a, &p, &len);
	return fold_rest(a, p, len, behind);
}

/*
 * Reduce @a to a CRC of d bits, as crc/kern.h explains. The CRC is in bits 64 to 63 + d of the
 * result.
 */
INLINE __m128i finish(__m128i a, const struct crc_finish *f)
{
	__m128i k = _mm_cvtsi64_si128((long long)f->first);
	__m128i b = _mm_xor_si128(_mm_clmulepi64_si128(a, k, 0x00), _mm_srli_si128(a, 8));
	__m128i q = _mm_clmulepi64_si128(b, _mm_cvtsi64_si128((long long)f->mu), 0x00);
	__m128i r = _mm_clmulepi64_si128(q, _mm_cvtsi64_si128((long long)f->poly), 0x00);

	return _mm_xor_si128(r, b);
}

INLINE uint16_t finish16(__m128i a)
{
	return (uint16_t)_mm_extract_epi16(finish(a, &crc_k.vcrc), 4);
}

INLINE uint32_t finish32(__m128i a)
{
	return (uint32_t)_mm_extract_epi32(finish(a, &crc_k.icrc), 2);
}

/*
 * Return the first row of both messages in one (crc/kern.h): the row for the VCRC, plus D * e. D is
 * the difference between the row for the VCRC and the row for the ICRC, in which the fields of
 * @ones are replaced by ones
 */
INLINE __m128i first_row(__m128i row, const uint8_t *ones)
{
	__m128i init16 = _mm_cvtsi32_si128(0xffff), init32 = _mm_cvtsi32_si128(-1);
	__m128i diff =
		_mm_xor_si128(_mm_xor_si128(init16, init32), _mm_andnot_si128(row, load(ones)));

	return _mm_xor_si128(_mm_xor_si128(row, init16), fold(diff, fold_load(&crc_k.only_icrc)));
}

/* Fold @a, row 0 of a header with a GRH, over rows 1 to 3. Row 3 has octet 4 of the BTH. */
INLINE __m128i fold_global(__m128i a, const uint8_t *hdr)
{
	__m128i k = fold_load(&crc_k.by16), row = load(hdr + CRC_GLOBAL_ROW);
	__m128i diff = _mm_andnot_si128(row, load(crc_global_bth_ones));

	for (unsigned int at = 16; at < CRC_GLOBAL_ROW; at += 16)
		a = _mm_xor_si128(fold(a, k), load(hdr + at));
	row = _mm_xor_si128(row, fold(diff, fold_load(&crc_k.only_icrc)));
	return _mm_xor_si128(fold(a, k), row);
}

/* Fold the headers of both messages. */
INLINE __m128i fold_hdr(const struct crc_part *part, bool grh, fold_big_fn big)
{
	const uint8_t *hdr = part->p;
	size_t at = grh ? CRC_GLOBAL_ROW + 16 : 16;
	__m128i a = first_row(load(hdr), grh ? crc_global_ones : crc_local_ones);

	if (grh)
		a = fold_global(a, hdr);
	return fold_part(a, hdr + at, part->len - at, true, big);
}

INLINE struct crc_regs regs(__m128i a)
{
	return (struct crc_regs){ .icrc = finish32(a), .vcrc = finish16(a) };
}

INLINE struct crc_regs msg_regs(const struct crc_msg *m, fold_big_fn big)
{
	__m128i a = fold_hdr(&m->part[0], m->grh, big);

	for (unsigned int i = 1; i < m->nparts; i++)
		a = fold_part(a, m->part[i].p, m->part[i].len, false, big);
	return regs(a);
}

INLINE void fold_common(struct crc_run *run, const struct crc_part *hdr, size_t octets,
			fold_big_fn big)
{
	__m128i a = fold_hdr(hdr, ib_lrh_has_grh(hdr->p), big);

	a = fold(a, fold_load(&crc_k.by_words[octets / 4]));
	memcpy(run->common, &a, sizeof(run->common));
}

/* A word is the end of a register of 16 octets whose other octets are 0. */
INLINE struct crc_regs join_regs(const struct crc_run *run, const uint32_t *words,
				 const struct crc_body *body)
{
	__m128i a = load(body->reg), word;

	if (run->pad)
		a = fold_lt16(a, _mm_setzero_si128(), run->pad);
	a = _mm_xor_si128(a, load(run->common));
	for (unsigned int i = 0; i < run->nwords; i++) {
		word = _mm_cvtsi64_si128((long long)((uint64_t)words[i] << 32));
		word = _mm_clmulepi64_si128(word, _mm_cvtsi64_si128((long long)run->by[i]), 0x00);
		a = _mm_xor_si128(a, word);
	}
	return regs(a);
}

INLINE __m128i fold_octets(__m128i reg, const uint8_t *p, size_t len, fold_big_fn big)
{
	return fold_part(_mm_xor_si128(load(p), reg), p + 16, len - 16, true, big);
}

/*
 * Define a kernel from its function that folds long parts, and from its function body() or NULL
 */
#define CRC_X86_KERNEL(kernel, cpu_name, big, body_fn)                                            \
	static struct crc_regs kernel##_msg(const struct crc_msg *m)                              \
	{                                                                                         \
		return msg_regs(m, big);                                                          \
	}                                                                                         \
	static void kernel##_common(struct crc_run *r, const struct crc_part *hdr, size_t octets) \
	{                                                                                         \
		fold_common(r, hdr, octets, big);                                                 \
	}                                                                                         \
	static struct crc_regs kernel##_join(const struct crc_run *r, const uint32_t *words,      \
					     const struct crc_body *body)                         \
	{                                                                                         \
		return join_regs(r, words, body);                                                 \
	}                                                                                         \
	static uint16_t kernel##_16(uint16_t reg, const void *p, size_t len)                      \
	{                                                                                         \
		return finish16(fold_octets(_mm_cvtsi32_si128(reg), p, len, big));                \
	}                                                                                         \
	static uint32_t kernel##_32(uint32_t reg, const void *p, size_t len)                      \
	{                                                                                         \
		return finish32(fold_octets(_mm_cvtsi32_si128((int)reg), p, len, big));           \
	}                                                                                         \
	const struct crc_kernel kernel = { cpu_name,	    kernel##_msg,  body_fn,               \
					   kernel##_common, kernel##_join, kernel##_16,           \
					   kernel##_32,	    crc_add_rows }

#endif

#endif
