/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_PRNG_H
#define UTIL_PRNG_H

/* The seeded random generator of simulations and fault injection (splitmix64). Not for secrets. */

#include <stdint.h>

struct prng {
	uint64_t state;
};

static inline void prng_seed(struct prng *r, uint64_t seed)
{
	r->state = seed;
}

static inline uint64_t prng_u64(struct prng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* prng_below() - Return a uniformly distributed value from 0 to @n - 1; @n must not be 0 */
static inline uint32_t prng_below(struct prng *r, uint32_t n)
{
	return (uint32_t)(((prng_u64(r) >> 32) * n) >> 32);
}

/* prng_chance() - Return 1 with a probability of @ppm millionths, otherwise 0 */
static inline int prng_chance(struct prng *r, uint32_t ppm)
{
	return prng_below(r, 1000000) < ppm;
}

#endif
