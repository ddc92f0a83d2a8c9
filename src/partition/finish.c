/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/table.h"

#include <errno.h>
#include <string.h>

#include "wire/mgid.h"

/* Give each partition that has no P_Key the lowest free P_Key. */
static bool number_partitions(struct lex *ps)
{
	uint16_t next = 1;

	for (size_t i = 0; i < ps->ps->n; i++) {
		struct sm_partition *part = &ps->ps->part[i];

		if (part->pkey != SM_PKEY_AUTO)
			continue;
		while (next < 0x7fff && sm_partitions_find(ps->ps, next))
			next++;
		if (next == 0x7fff)
			return lex_fail(ps, "no P_Key is left for \"%s\"", part->name);
		part->pkey = next;
	}
	return true;
}

/*
 * An MGID of IPoIB contains the P_Key with bit 15 set (RFC 4391 §4.1). If the file has 0 in these
 * 16 bits of an MGID, the P_Key is filled in.
 */
static bool finish_group(struct lex *ps, const struct sm_partition *part,
			 struct sm_partition_group *g)
{
	uint16_t pkey = part->pkey | IB_PKEY_FULL;

	if (g->broadcast)
		return mgid_broadcast(&g->mgid, pkey, g->scope) == 0 ||
		       lex_fail(ps, "\"%s\" can have no broadcast group", part->name);
	if (!mgid_is_ipoib(&g->mgid))
		return true;
	if (mgid_pkey(&g->mgid) == 0)
		be16_put(g->mgid.raw + 4, pkey);
	if (mgid_pkey(&g->mgid) == pkey)
		return true;
	ps->line = part->line;
	return lex_fail(ps, "a group of \"%s\" has P_Key 0x%04x in its MGID: expected 0 or 0x%04x",
			part->name, mgid_pkey(&g->mgid), pkey);
}

static void drop_group(struct sm_partition *part, size_t i)
{
	part->ngroups--;
	memmove(&part->group[i], &part->group[i + 1], (part->ngroups - i) * sizeof(*part->group));
}

/*
 * If several definitions of a partition contain the same group, the group of the first definition
 * is used.
 */
static bool finish_partition(struct lex *ps, struct sm_partition *part)
{
	for (size_t i = 0; i < part->ngroups;) {
		size_t j = 0;

		if (!finish_group(ps, part, &part->group[i]))
			return false;
		while (j < i && !ib_gid_equal(&part->group[j].mgid, &part->group[i].mgid))
			j++;
		if (j < i)
			drop_group(part, i);
		else
			i++;
	}
	return true;
}

static bool has_group(const struct sm_partition *part, const ib_gid *mgid)
{
	for (size_t i = 0; i < part->ngroups; i++) {
		if (ib_gid_equal(&part->group[i].mgid, mgid))
			return true;
	}
	return false;
}

/*
 * Refuse a multicast group that is in two partitions. A group has only one P_Key, so members of
 * only one of the two partitions could join.
 */
static bool check_shared(struct lex *ps, const struct sm_partition *a, const struct sm_partition *b)
{
	for (size_t i = 0; i < b->ngroups; i++) {
		if (!has_group(a, &b->group[i].mgid))
			continue;
		ps->line = b->line;
		return lex_fail(ps, "a group of \"%s\" is one of \"%s\", too", b->name, a->name);
	}
	return true;
}

static bool finish_partitions(struct lex *ps)
{
	for (size_t i = 0; i < ps->ps->n; i++) {
		if (!finish_partition(ps, &ps->ps->part[i]))
			return false;
		for (size_t j = 0; j < i; j++) {
			if (!check_shared(ps, &ps->ps->part[j], &ps->ps->part[i]))
				return false;
		}
	}
	return true;
}

bool sm_partitions_finish(struct lex *ps)
{
	if (!number_partitions(ps) || !finish_partitions(ps))
		return false;
	if (!sm_partitions_find(ps->ps, 0x7fff) && !sm_partition_add(ps->ps, "Default", 0x7fff))
		return lex_no_memory(ps);
	return true;
}
