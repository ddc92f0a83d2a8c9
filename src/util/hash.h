/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

/*
 * SipHash-2-4 (Aumasson, Bernstein 2012) and an intrusive chained hash table on
 * it. The key of a table is the caller's; address tokens use a fixed one.
 */

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t k0, k1;
};

uint64_t hash_siphash(const struct hash_key *key, const void *data, size_t len);

struct hnode {
	struct hnode *next;
	uint64_t hash;
};

struct htab {
	struct hnode **bucket; /* power of two, grown at load 1 */
	size_t nbuckets, n;
};

/* A zeroed table is valid and empty. */
void htab_fini(struct htab *t);

/* htab_add() - Insert under @hash; duplicates are the caller's business. 0 or -ENOMEM */
int htab_add(struct htab *t, struct hnode *n, uint64_t hash);

void htab_del(struct htab *t, struct hnode *n);

/* htab_first(), htab_next() - Walk the nodes whose hash equals @hash; NULL at the end */
struct hnode *htab_first(const struct htab *t, uint64_t hash);
struct hnode *htab_next(const struct hnode *n);

/*
 * htab_each() - Walk all nodes, in no order: start with NULL. The node may be
 * deleted only after its successor was taken.
 */
struct hnode *htab_each(const struct htab *t, const struct hnode *prev);

#endif
