/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "crc/kern.h"
#include "util/list.h"

/*
 * Functions that compute the constants of crc/kern.h bit by bit. Here bit i of a polynomial is the
 * coefficient of x^i.
 */

#define P16 0x1100bull
#define P32 0x104c11db7ull

static unsigned int degree(uint64_t a)
{
	return 63u - (unsigned int)__builtin_clzll(a);
}

/* Return the product of a and b, whose degrees add up to 63 or less. */
static uint64_t mul(uint64_t a, uint64_t b)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < 64; i++)
		if (b >> i & 1)
			r ^= a << i;
	return r;
}

static uint64_t mod(uint64_t a, uint64_t m)
{
	while (a && degree(a) >= degree(m))
		a ^= m << (degree(a) - degree(m));
	return a;
}

/* Return a * x^n mod m; a has a lower degree than m. */
static uint64_t shift_mod(uint64_t a, unsigned int n, uint64_t m)
{
	while (n--) {
		a <<= 1;
		if (a >> degree(m))
			a ^= m;
	}
	return a;
}

static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t m)
{
	uint64_t r = 0;

	for (unsigned int i = degree(m); i-- > 0;)
		r = shift_mod(r, 1, m) ^ (b >> i & 1 ? a : 0);
	return r;
}

/* Return x^n div m; n is at most 63 + the degree of m. */
static uint64_t xdiv(unsigned int n, uint64_t m)
{
	/* r is x^i mod m at the beginning of each round; i counts up to n */
	uint64_t r = 1, ret = 0;

	for (unsigned int i = 1; i <= n; i++) {
		r <<= 1;
		ret <<= 1;
		if (r >> degree(m)) {
			r ^= m;
			ret |= 1;
		}
	}
	return ret;
}

/* Return the inverse of @a modulo P32: @a^(2^32 - 2), because P32 is irreducible. */
static uint64_t inverse32(uint64_t a)
{
	uint64_t r = 1;

	for (unsigned int i = 1; i < 32; i++) {
		a = mul_mod(a, a, P32);
		r = mul_mod(r, a, P32);
	}
	return r;
}

static uint64_t reflect(uint64_t a)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < 64; i++)
		r |= (a >> i & 1) << (63 - i);
	return r;
}

/* Write the constants to fold over 0, 4, 8, ... octets. By x^-1, see fold_only_icrc(). */
static void fold_by_words(struct crc_fold *ret, size_t n)
{
	const uint64_t q = mul(P16, P32);
	uint64_t lo = shift_mod(1, 63, q), hi = q >> 1;

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct crc_fold){ { reflect(lo), reflect(hi) } };
		lo = shift_mod(lo, 32, q);
		hi = shift_mod(hi, 32, q);
	}
}

static struct crc_fold fold_only_icrc(void)
{
	const uint64_t q = mul(P16, P32), e = mul(P16, inverse32(mod(P16, P32)));

	/*
	 * Multiply e by x^-1 modulo Q. Q has the term 1, so either e or e + Q is a multiple of x.
	 */
	return (struct crc_fold){ { reflect(shift_mod(e, 63, q)),
				    reflect((e & 1 ? e ^ q : e) >> 1) } };
}

/* @d: degree of @p */
static struct crc_finish finish_by(uint64_t p, unsigned int d)
{
	return (struct crc_finish){ .first = reflect(shift_mod(1, 63 + d, p) << (64 - d)),
				    .mu = reflect(xdiv(63 + d, p)),
				    .poly = reflect((p ^ 1ull << d) << (63 - d)) };
}

struct crc_consts crc_k;

void crc_consts_init(void)
{
	struct crc_consts *k = &crc_k;

	fold_by_words(k->by_words, ARRAY_SIZE(k->by_words));
	k->by16 = k->by_words[16 / 4];
	k->by32 = k->by_words[32 / 4];
	k->by48 = k->by_words[48 / 4];
	k->by64 = k->by_words[64 / 4];
	k->by96 = k->by_words[96 / 4];
	k->by128 = k->by_words[128 / 4];
	k->by192 = k->by_words[192 / 4];
	k->by256 = k->by_words[256 / 4];
	k->only_icrc = fold_only_icrc();
	k->vcrc = finish_by(P16, 16);
	k->icrc = finish_by(P32, 32);
	memset(k->shift, 0x80, sizeof(k->shift)); /* 0x80: pshufb gives a zero octet */
	for (unsigned int i = 0; i < 16; i++)
		k->shift[16 + i] = (uint8_t)i;
	memset(k->mask + CRC_VEC_MAX, 0xff, CRC_VEC_MAX);
}
