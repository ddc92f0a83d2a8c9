/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/be.h"

#define MOVED 4 /* buckets that htab_add() moves while a table grows */
#define PER_ENTRY \
	16 /* a call of htab_some() may visit this number of empty buckets in place of an entry */
#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

struct sip {
	uint64_t v0, v1, v2, v3;
};

static void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = ROTL(s->v1, 13) ^ s->v0;
	s->v0 = ROTL(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = ROTL(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = ROTL(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = ROTL(s->v1, 17) ^ s->v2;
	s->v2 = ROTL(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	sip_round(s);
	s->v0 ^= m;
}

/* SipHash reads little-endian words. */
static uint64_t le64_at(const uint8_t *p)
{
	return __builtin_bswap64(be64_at(p));
}

uint64_t hash_siphash(const struct hash_key *key, const void *data, size_t len)
{
	struct sip s = {
		.v0 = key->k0 ^ 0x736f6d6570736575ull,
		.v1 = key->k1 ^ 0x646f72616e646f6dull,
		.v2 = key->k0 ^ 0x6c7967656e657261ull,
		.v3 = key->k1 ^ 0x7465646279746573ull,
	};
	const uint8_t *p = data;
	uint64_t last = (uint64_t)len << 56;

	for (; len >= 8; len -= 8, p += 8) {
		sip_word(&s, le64_at(p));
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)p[i] << (8 * i);
	sip_word(&s, last);

	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

void htab_fini(struct htab *t)
{
	free(t->bucket);
	free(t->old);
	memset(t, 0, sizeof(*t));
}

/* While the table grows, .old has the entries of half as many buckets, of which the first .moved were moved. */
static struct hlink **bucket_of(const struct htab *t, uint64_t hash)
{
	size_t i = hash & (t->nbuckets / 2 - 1);

	return t->old && i >= t->moved ? &t->old[i] : &t->bucket[hash & (t->nbuckets - 1)];
}

static void move_bucket(struct htab *t)
{
	struct hlink *n = t->old[t->moved++], *next;

	for (; n; n = next) {
		struct hlink **b = bucket_of(t, n->hash);

		next = n->next;
		n->next = *b;
		*b = n;
	}
	if (t->moved < t->nbuckets / 2)
		return;
	free(t->old);
	t->old = NULL;
}

static int htab_grow(struct htab *t)
{
	size_t n = t->nbuckets ? t->nbuckets * 2 : 16;
	struct hlink **b = calloc(n, sizeof(*b));

	if (!b)
		return -ENOMEM;
	t->old = t->bucket;
	t->moved = 0;
	t->bucket = b;
	t->nbuckets = n;
	return 0;
}

int htab_add(struct htab *t, struct hlink *n, uint64_t hash)
{
	struct hlink **b;

	if (t->n >= t->nbuckets && !t->old && htab_grow(t) && !t->nbuckets)
		return -ENOMEM;
	for (int i = 0; i < MOVED && t->old; i++)
		move_bucket(t);
	n->hash = hash;
	b = bucket_of(t, hash);
	n->next = *b;
	*b = n;
	t->n++;
	return 0;
}

void htab_del(struct htab *t, struct hlink *n)
{
	struct hlink **pp;

	if (!t->nbuckets)
		return;
	for (pp = bucket_of(t, n->hash); *pp; pp = &(*pp)->next) {
		if (*pp != n)
			continue;
		*pp = n->next;
		n->next = NULL;
		t->n--;
		return;
	}
}

static struct hlink *match_from(struct hlink *n, uint64_t hash)
{
	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct hlink *htab_first(const struct htab *t, uint64_t hash)
{
	return t->nbuckets ? match_from(*bucket_of(t, hash), hash) : NULL;
}

struct hlink *htab_next(const struct hlink *n)
{
	return match_from(n->next, n->hash);
}

/* Returns the first entry of the buckets @i and above of an array of @n buckets. */
static struct hlink *first_from(struct hlink *const *bucket, size_t i, size_t n)
{
	for (; i < n; i++)
		if (bucket[i])
			return bucket[i];
	return NULL;
}

/* Visits the buckets that were not moved yet, and then those of the new array. */
struct hlink *htab_each(const struct htab *t, const struct hlink *prev)
{
	size_t old = t->old ? t->nbuckets / 2 : 0, i;
	struct hlink *n;

	if (prev && prev->next)
		return prev->next;
	i = prev ? prev->hash & (t->nbuckets / 2 - 1) : 0;
	if (old && (!prev || i >= t->moved)) {
		n = first_from(t->old, prev ? i + 1 : t->moved, old);
		return n ? n : first_from(t->bucket, 0, t->nbuckets);
	}
	return first_from(t->bucket, prev ? (prev->hash & (t->nbuckets - 1)) + 1 : 0, t->nbuckets);
}

/*
 * DOC: A walk in a table that may grow
 *
 * The place of the walk is a number from 0 to 2^64, and the bucket at a place has the bits of the place as its number, in
 * reverse order. In a table with 8 buckets, for example, the walk visits the buckets 0, 4, 2, 6, 1, 5, 3, 7. If a table
 * grows, the entries of bucket 4 move to the buckets 4 and 12 of 16, which are the buckets at the former place of 4 and
 * behind it. So the entries that were visited are before the place of the walk, in a table of any size.
 */

static uint64_t reverse_bits(uint64_t v)
{
	v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
	v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
	return __builtin_bswap64(v);
}

static unsigned int visit(struct hlink *h, void (*fn)(void *ctx, struct hlink *n), void *ctx)
{
	unsigned int n = 0;

	for (; h; h = h->next, n++)
		fn(ctx, h);
	return n;
}

/*
 * Visits the bucket at a place. While the table grows, this is a bucket of the former array, or the two buckets to which
 * its entries were moved.
 */
static unsigned int visit_place(const struct htab *t, size_t places, uint64_t at,
				void (*fn)(void *ctx, struct hlink *n), void *ctx)
{
	size_t i = reverse_bits(at) & (places - 1);

	if (!t->old)
		return visit(t->bucket[i], fn, ctx);
	if (i >= t->moved)
		return visit(t->old[i], fn, ctx);
	return visit(t->bucket[i], fn, ctx) + visit(t->bucket[i + places], fn, ctx);
}

bool htab_some(const struct htab *t, uint64_t *at, unsigned int *n,
	       void (*fn)(void *ctx, struct hlink *n), void *ctx)
{
	size_t places = t->old ? t->nbuckets / 2 : t->nbuckets;
	uint64_t all = (uint64_t)*n * PER_ENTRY, done = 0;
	bool more = places;

	while (more && done < all) {
		done += 1 + (uint64_t)PER_ENTRY * visit_place(t, places, *at, fn, ctx);
		*at += UINT64_MAX / places + 1;
		more = *at;
	}
	done = done / PER_ENTRY + 1;
	*n = more || done > *n ? 0 : *n - (unsigned int)done;
	return more;
}
