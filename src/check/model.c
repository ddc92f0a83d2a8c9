/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 65536 /* largest number of entries in the lists of twins and of silences */
#define MEMBERS_MAX (1u << 22)

/* --- memory */

static bool take(struct chk_fabric *f, size_t octets)
{
	if (octets > f->octets_max - f->octets) {
		f->cut = true;
		return false;
	}
	f->octets += octets;
	return true;
}

void *chk_alloc(struct chk_fabric *f, size_t n, size_t size)
{
	void *p;

	if (!take(f, n * size))
		return NULL;
	p = calloc(n, size);
	if (!p)
		f->octets -= n * size;
	return p;
}

void *chk_grow(struct chk_fabric *f, void *p, size_t old_n, size_t new_n, size_t size)
{
	char *q;

	if (!take(f, (new_n - old_n) * size))
		return NULL;
	q = realloc(p, new_n * size);
	if (!q) {
		f->octets -= (new_n - old_n) * size;
		return NULL;
	}
	memset(q + old_n * size, 0, (new_n - old_n) * size);
	return q;
}

/*
 * Make room for one more entry in the array @p, which has @n entries. The capacity of this array is
 * always a power of two. Return: the array; NULL: memory ran out or a bound was reached. A bound
 * that was reached sets f->cut
 */
static void *room(struct chk_fabric *f, void *p, uint32_t n, uint32_t max, size_t size)
{
	if (n >= max) {
		f->cut = true;
		return NULL;
	}
	/* with such a capacity, the array can be full only if n is 0 or a power of two */
	if (n & (n - 1))
		return p;
	return chk_grow(f, p, n, n ? 2 * (size_t)n : 1, size);
}

struct chk_fabric *chk_fabric_create(size_t octets_max)
{
	struct chk_fabric *f = calloc(1, sizeof(*f));

	if (f)
		f->octets_max = octets_max;
	return f;
}

static void node_free(struct chk_node *n)
{
	for (unsigned int i = 0; n->port && i <= n->nports; i++) {
		free(n->port[i].pkeys);
		free(n->port[i].sltovl);
		free(n->port[i].counters);
	}
	if (n->sw) {
		free(n->sw->lft);
		free(n->sw->mft);
	}
	free(n->sw);
	free(n->port);
	free(n);
}

void chk_fabric_free(struct chk_fabric *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		node_free(f->node[i]);
	htab_fini(&f->guids);
	free(f->node);
	free(f->member);
	free(f->manager);
	free(f->twin);
	free(f->path);
	free(f->silence);
	free(f);
}

/* --- nodes */

static uint64_t guid_hash(uint64_t guid)
{
	static const struct hash_key key = { 0x75696200636865, 0x636b206775696473 };

	return hash_siphash(&key, &guid, sizeof(guid));
}

struct chk_node *chk_find(const struct chk_fabric *f, uint64_t guid)
{
	for (struct hlink *l = htab_first(&f->guids, guid_hash(guid)); l; l = htab_next(l)) {
		/* a valid cast, because by_guid is the first member of struct chk_node */
		struct chk_node *n = (struct chk_node *)l;

		if (n->guid == guid)
			return n;
	}
	return NULL;
}

static struct chk_node *node_new(struct chk_fabric *f, const struct smp_node_info *i)
{
	struct chk_node *n = chk_alloc(f, 1, sizeof(*n));

	if (!n)
		return NULL;
	n->type = i->node_type;
	n->nports = i->nports;
	n->guid = i->node_guid;
	n->sys_guid = i->sys_guid;
	n->pkey_cap = i->pkey_cap;
	n->port = chk_alloc(f, i->nports + 1u, sizeof(*n->port));
	if (i->node_type == IB_NODE_SWITCH)
		n->sw = chk_alloc(f, 1, sizeof(*n->sw));
	if (!n->port || (i->node_type == IB_NODE_SWITCH && !n->sw)) {
		node_free(n);
		return NULL;
	}
	for (unsigned int p = 0; p <= n->nports; p++) {
		n->port[p].num = (uint8_t)p;
		n->port[p].peer = CHK_NO_NODE;
	}
	return n;
}

int chk_add_node(struct chk_fabric *f, const struct smp_node_info *i, const char *desc,
		 struct chk_node **ret)
{
	struct chk_node **v, *n;

	if (chk_find(f, i->node_guid))
		return -EEXIST;
	if (!i->nports || i->nports > 254)
		return -EINVAL;
	v = room(f, f->node, f->n, CHK_NODES_MAX, sizeof(struct chk_node *));
	if (!v)
		return f->cut ? -ENOSPC : -ENOMEM;
	f->node = v;
	n = node_new(f, i);
	if (!n)
		return f->cut ? -ENOSPC : -ENOMEM;
	if (htab_add(&f->guids, &n->by_guid, guid_hash(n->guid)) < 0) {
		node_free(n);
		return -ENOMEM;
	}
	snprintf(n->desc, sizeof(n->desc), "%s", desc);
	n->index = f->n;
	f->node[f->n++] = n;
	*ret = n;
	return 0;
}

void chk_link(struct chk_node *a, uint8_t a_port, struct chk_node *b, uint8_t b_port)
{
	a->port[a_port].peer = b->index;
	a->port[a_port].peer_port = b_port;
	b->port[b_port].peer = a->index;
	b->port[b_port].peer_port = a_port;
}

bool chk_carries(const struct chk_fabric *f, const struct chk_port *p)
{
	return chk_peer(f, p) && (!p->known || p->pi.port_state == IB_PORT_ACTIVE);
}

/* --- lists */

int chk_add_twin(struct chk_fabric *f, uint32_t node, uint32_t behind, uint8_t behind_port)
{
	struct chk_twin *v = room(f, f->twin, f->ntwins, LIST_MAX, sizeof(*v));

	if (!v)
		return f->cut ? -ENOSPC : -ENOMEM;
	f->twin = v;
	v[f->ntwins++] = (struct chk_twin){ node, behind, behind_port };
	return 0;
}

int chk_add_silence(struct chk_fabric *f, const struct chk_silence *s)
{
	struct chk_silence *last = f->nsilences ? &f->silence[f->nsilences - 1] : NULL, *v;

	/*
	 * Failures for the blocks of one table (LFT, MFT, P_Key table ...) are counted in one
	 * entry. These blocks are requested one after the other, so only the last entry can be
	 * about the same table.
	 */
	if (last && last->node == s->node && last->port == s->port && last->attr == s->attr &&
	    last->status == s->status && last->pma == s->pma && last->behind == s->behind) {
		last->count++;
		return 0;
	}
	v = room(f, f->silence, f->nsilences, LIST_MAX, sizeof(*v));
	if (!v)
		return f->cut ? -ENOSPC : -ENOMEM;
	f->silence = v;
	v[f->nsilences] = *s;
	v[f->nsilences++].count = 1;
	return 0;
}

int chk_add_path(struct chk_fabric *f, const struct chk_path *p)
{
	struct chk_path *v = room(f, f->path, f->npaths, LIST_MAX, sizeof(*v));

	if (!v)
		return f->cut ? -ENOSPC : -ENOMEM;
	f->path = v;
	v[f->npaths++] = *p;
	return 0;
}

int chk_add_member(struct chk_fabric *f, const struct chk_member *m)
{
	struct chk_member *v = room(f, f->member, f->nmembers, MEMBERS_MAX, sizeof(*v));

	if (!v)
		return f->cut ? -ENOSPC : -ENOMEM;
	f->member = v;
	v[f->nmembers++] = *m;
	return 0;
}

int chk_add_manager(struct chk_fabric *f, const struct chk_manager *m)
{
	struct chk_manager *v = room(f, f->manager, f->nmanagers, LIST_MAX, sizeof(*v));

	if (!v)
		return f->cut ? -ENOSPC : -ENOMEM;
	f->manager = v;
	v[f->nmanagers++] = *m;
	return 0;
}

/* --- tables */

int chk_set_lft(struct chk_fabric *f, struct chk_switch *sw, unsigned int lid, uint8_t port)
{
	uint32_t want = (lid / SMP_LFT_PER_BLOCK + 1) * SMP_LFT_PER_BLOCK;

	if (lid >= IB_LID_MCAST_MIN)
		return -EINVAL;
	if (want > sw->lft_len) {
		uint8_t *v = chk_grow(f, sw->lft, sw->lft_len, want, 1);

		if (!v)
			return f->cut ? -ENOSPC : -ENOMEM;
		memset(v + sw->lft_len, SMP_LFT_NONE, want - sw->lft_len);
		sw->lft = v;
		sw->lft_len = want;
	}
	sw->lft[lid] = port;
	return 0;
}

int chk_set_mft(struct chk_fabric *f, struct chk_switch *sw, unsigned int mlid,
		unsigned int position, uint16_t mask)
{
	uint32_t at = mlid - IB_LID_MCAST_MIN, want = (at / 32 + 1) * 32;

	if (!ib_lid_is_mcast(mlid) || position > 15)
		return -EINVAL;
	sw->mft_known = true;
	if (!mask)
		return 0;
	if (want > sw->mft_len) {
		void *v = chk_grow(f, sw->mft, sw->mft_len, want, sizeof(*sw->mft));

		if (!v)
			return f->cut ? -ENOSPC : -ENOMEM;
		sw->mft = v;
		sw->mft_len = want;
	}
	sw->mft[at][position / 4] |= (uint64_t)mask << (16 * (position % 4));
	return 0;
}
