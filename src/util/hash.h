/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

/*
 * SipHash-2-4 (Aumasson, Bernstein 2012), and a chained hash table whose entries contain their
 * links. The caller computes the hash of an entry, by hash_siphash() or otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t k0, k1;
};

uint64_t hash_siphash(const struct hash_key *key, const void *data, size_t len);

/*
 * The link of an entry in a hash table; by convention the member in the entry is named after the
 * key, such as by_guid.
 */
struct hlink {
	struct hlink *next;
	uint64_t hash;
};

struct htab {
	/*
	 * Array of buckets. The number of buckets is a power of two, and doubles when there are as
	 * many entries as buckets
	 */
	struct hlink **bucket;
	size_t nbuckets, n;
	/*
	 * The former array, while its entries are being moved; otherwise NULL. Each htab_add() moves a few of
	 * its buckets, so that no call moves all entries. The first .moved buckets were moved
	 */
	struct hlink **old;
	size_t moved;
};

/* A zeroed table is valid and empty. */
void htab_fini(struct htab *t);

/*
 * htab_add() - Insert an entry under @hash. Other entries may have the same hash. Return: 0 or
 * -ENOMEM
 */
int htab_add(struct htab *t, struct hlink *n, uint64_t hash);

void htab_del(struct htab *t, struct hlink *n);

/* htab_first(), htab_next() - Walk the entries whose hash equals @hash; NULL at the end */
struct hlink *htab_first(const struct htab *t, uint64_t hash);
struct hlink *htab_next(const struct hlink *n);

/*
 * htab_each() - Walk all entries in no particular order; NULL as @prev begins the walk. Before
 * deleting an entry, get the entry that follows it. Do not add entries during a walk: an addition may
 * move entries, and the walk would miss some of them or return them twice.
 */
struct hlink *htab_each(const struct htab *t, const struct hlink *prev);

/**
 * htab_some() - Call @fn for some entries of a walk, and advance *at
 * @at:	place of the walk in the table; 0 begins a walk
 * @n:	about the number of entries to visit. It is reduced by what was done: an entry counts 1, and so do 16 buckets;
 *	it is reduced by 1 at least
 *
 * Entries may be added and deleted between two calls, but not by @fn. An entry that is in the table from the first
 * call to the last is visited once. Return: true if the walk goes on, and *n is then 0; false if it has ended
 */
bool htab_some(const struct htab *t, uint64_t *at, unsigned int *n,
	       void (*fn)(void *ctx, struct hlink *n), void *ctx);

#endif
