/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_BE_H
#define UTIL_BE_H

/*
 * Big-endian integers are arrays of octets. For this reason they have alignment 1, structs of them need not be
 * packed, and the compiler refuses the assignment of a host integer. At -O2 each accessor is one load or store and
 * one bswap.
 */

#include <stdint.h>
#include <string.h>

typedef struct {
	uint8_t b[2];
} be16;
typedef struct {
	uint8_t b[3];
} be24;
typedef struct {
	uint8_t b[4];
} be32;
typedef struct {
	uint8_t b[8];
} be64;

/* Convert between host order and big-endian order; the conversion is the same in both directions */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BE_SWAP16(x) ((uint16_t)(x))
#define BE_SWAP32(x) ((uint32_t)(x))
#define BE_SWAP64(x) ((uint64_t)(x))
#else
#define BE_SWAP16(x) __builtin_bswap16(x)
#define BE_SWAP32(x) __builtin_bswap32(x)
#define BE_SWAP64(x) __builtin_bswap64(x)
#endif

static inline uint16_t be16_get(be16 v)
{
	uint16_t h;

	memcpy(&h, v.b, sizeof(h));
	return BE_SWAP16(h);
}

static inline be16 be16_of(uint16_t h)
{
	be16 v;

	h = BE_SWAP16(h);
	memcpy(v.b, &h, sizeof(h));
	return v;
}

static inline uint32_t be24_get(be24 v)
{
	return (uint32_t)v.b[0] << 16 | (uint32_t)v.b[1] << 8 | v.b[2];
}

static inline be24 be24_of(uint32_t h)
{
	return (be24){ { (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)h } };
}

static inline uint32_t be32_get(be32 v)
{
	uint32_t h;

	memcpy(&h, v.b, sizeof(h));
	return BE_SWAP32(h);
}

static inline be32 be32_of(uint32_t h)
{
	be32 v;

	h = BE_SWAP32(h);
	memcpy(v.b, &h, sizeof(h));
	return v;
}

static inline uint64_t be64_get(be64 v)
{
	uint64_t h;

	memcpy(&h, v.b, sizeof(h));
	return BE_SWAP64(h);
}

static inline be64 be64_of(uint64_t h)
{
	be64 v;

	h = BE_SWAP64(h);
	memcpy(v.b, &h, sizeof(h));
	return v;
}

/* Accessors of big-endian integers at addresses of any alignment; the values are in host order */
static inline uint16_t be16_at(const void *p)
{
	be16 v;

	memcpy(&v, p, sizeof(v));
	return be16_get(v);
}

static inline uint32_t be32_at(const void *p)
{
	be32 v;

	memcpy(&v, p, sizeof(v));
	return be32_get(v);
}

static inline uint64_t be64_at(const void *p)
{
	be64 v;

	memcpy(&v, p, sizeof(v));
	return be64_get(v);
}

static inline void be16_put(void *p, uint16_t h)
{
	be16 v = be16_of(h);

	memcpy(p, &v, sizeof(v));
}

static inline void be32_put(void *p, uint32_t h)
{
	be32 v = be32_of(h);

	memcpy(p, &v, sizeof(v));
}

static inline void be64_put(void *p, uint64_t h)
{
	be64 v = be64_of(h);

	memcpy(p, &v, sizeof(v));
}

#endif
