/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/be.h"

#define MOVED 4 /* buckets that htab_add() moves while a table grows */
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
