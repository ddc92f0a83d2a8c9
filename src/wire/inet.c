/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/inet.h"

#include <stdbool.h>
#include <string.h>

#include "util/be.h"

/*
 * The sum is computed over words in host order, and its octets are swapped once at the end (RFC
 * 1071 §2(B)). The sum of the 32-bit words has 64 bits, so it cannot overflow before 2^32 words.
 * The sums that callers pass and get are sums of big-endian values.
 *
 * sum_body() is compiled twice, for the baseline CPU and for AVX2. Without AVX2 the compiler splits
 * the vectors of 32 octets.
 */
typedef uint64_t vec __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

/*
 * Sum fewer than 8 octets. If @len is odd, a zero octet is assumed after the last octet, so the
 * last octet is the high half of a big-endian word.
 */
INLINE uint64_t sum_short(const uint8_t *p, size_t len)
{
	uint64_t x = 0;
	size_t at = 0;

	if (len & 4) {
		uint32_t d;

		memcpy(&d, p, 4);
		x = d;
		at = 4;
	}
	if (len & 2) {
		uint16_t w;

		memcpy(&w, p + at, 2);
		x += w;
		at += 2;
	}
	if (len & 1)
		x += BE_SWAP16((uint16_t)(p[at] << 8));
	return x;
}

/*
 * Return the sum of the 32-bit words of a part. The variable all is the sum of the 64-bit lanes
 * modulo 2^64, and high is the sum of the high words of the lanes. So the sum of the low words is
 * all - high * 2^32.
 */
INLINE uint64_t sum_body(const uint8_t *p, size_t len)
{
	vec all = { 0 }, high = { 0 }, all2 = { 0 }, high2 = { 0 }, low, v, w;
	uint64_t sum;

	for (; len >= 2 * sizeof(v); len -= 2 * sizeof(v), p += 2 * sizeof(v)) {
		/* The octets are often in the second-level cache, where the kernel has copied them. */
		__builtin_prefetch(p + 512);
		memcpy(&v, p, sizeof(v));
		memcpy(&w, p + sizeof(v), sizeof(w));
		all += v;
		high += v >> 32;
		all2 += w;
		high2 += w >> 32;
	}
	high += high2;
	low = all + all2 - (high << 32);
	sum = low[0] + low[1] + low[2] + low[3] + high[0] + high[1] + high[2] + high[3];

	for (; len >= 8; len -= 8, p += 8) {
		uint64_t x;

		memcpy(&x, p, sizeof(x));
		sum += (x & 0xffffffff) + (x >> 32);
	}
	return sum + sum_short(p, len);
}

static uint64_t sum_base(const uint8_t *p, size_t len)
{
	return sum_body(p, len);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint8_t *p, size_t len)
{
	return sum_body(p, len);
}

static bool have_avx2;

__attribute__((constructor)) static void inet_init(void)
{
	__builtin_cpu_init();
	have_avx2 = __builtin_cpu_supports("avx2");
}
#else
#define have_avx2 false
#define sum_avx2 sum_base
#endif

/* Fold a one's complement sum to 16 bits. The result is 0 only if @sum is 0. */
static uint32_t fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

uint32_t inet_sum_native(uint64_t sum)
{
	return BE_SWAP16((uint16_t)fold(sum));
}

uint32_t inet_sum(uint32_t sum, const void *p, size_t len)
{
	uint64_t s = have_avx2 ? sum_avx2(p, len) : sum_base(p, len);

	return fold(sum) + inet_sum_native(s);
}

uint32_t inet_sum_pkt(uint32_t sum, const struct pkt *p, uint32_t from)
{
	uint32_t n = pkt_hdr_len(p) - from;
	bool odd = n & 1;

	sum = inet_sum(sum, p->hdr + p->head + from, n);
	for (unsigned int i = 0; i < p->nslices; i++) {
		const struct pkt_slice *s = &p->slice[i];

		if (odd) /* the slice starts inside a 16-bit word, so swap the octets of its sum */
			sum = fold(sum) +
			      __builtin_bswap16((uint16_t)fold(inet_sum(0, s->data, s->len)));
		else
			sum = inet_sum(sum, s->data, s->len);
		odd ^= s->len & 1;
	}
	return sum;
}

uint16_t inet_fold(uint32_t sum)
{
	return (uint16_t)~fold(sum);
}

uint32_t inet_pseudo4(const uint8_t src[4], const uint8_t dst[4], uint8_t proto, uint32_t l4_len)
{
	return be16_at(src) + be16_at(src + 2) + be16_at(dst) + be16_at(dst + 2) + proto +
	       (l4_len >> 16) + (l4_len & 0xffff);
}

uint32_t inet_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint8_t proto, uint32_t l4_len)
{
	uint32_t sum = proto + (l4_len >> 16) + (l4_len & 0xffff);

	for (unsigned int i = 0; i < 16; i += 2)
		sum += (uint32_t)be16_at(src + i) + be16_at(dst + i);
	return sum;
}
