/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A fast hash, because it is computed for each packet. It needs no secret, because only QPs of this
 * process add keys to the table.
 */
static uint64_t group_hash(uint8_t port, const ib_gid *mgid)
{
	uint64_t h = (be64_at(mgid->raw) + port) * 0x9e3779b97f4a7c15ull ^ be64_at(mgid->raw + 8);

	/* The table uses the lowest bits, and a multiplication changes only higher ones, so fold the highest bits in twice. */
	h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
	h = (h ^ (h >> 33)) * 0xbf58476d1ce4e5b9ull;
	return h ^ (h >> 33);
}

struct hca_group *hca_group_find(struct hca *h, uint8_t port, const ib_gid *mgid)
{
	struct hlink *n = htab_first(&h->groups, group_hash(port, mgid));

	for (; n; n = htab_next(n)) {
		struct hca_group *g = container_of(n, struct hca_group, by_mgid);

		if (g->port == port && ib_gid_equal(&g->mgid, mgid))
			return g;
	}
	return NULL;
}

static struct hca_group *group_new(struct hca *h, uint8_t port, const ib_gid *mgid)
{
	struct hca_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->mgid = *mgid;
	g->port = port;
	if (htab_add(&h->groups, &g->by_mgid, group_hash(port, mgid))) {
		free(g);
		return NULL;
	}
	return g;
}

static void group_free_if_empty(struct hca *h, struct hca_group *g)
{
	if (g->n)
		return;
	htab_del(&h->groups, &g->by_mgid);
	free(g->member);
	free(g);
}

static struct hca_member *member_find(struct hca_group *g, const struct hca_qp *qp)
{
	for (unsigned int i = 0; i < g->n; i++)
		if (g->member[i].qp == qp)
			return &g->member[i];
	return NULL;
}

static int member_add(struct hca_group *g, struct hca_qp *qp)
{
	if (g->n == g->cap) {
		unsigned int cap = g->cap ? g->cap * 2 : 2;
		struct hca_member *m = realloc(g->member, cap * sizeof(*m));

		if (!m)
			return -ENOMEM;
		g->member = m;
		g->cap = cap;
	}
	g->member[g->n++] = (struct hca_member){ .qp = qp, .attached = 1 };
	return 0;
}

static bool attach_valid(const ib_gid *mgid, uint16_t mlid)
{
	return ib_gid_is_mcast(mgid) && ib_lid_is_mcast(mlid);
}

int hca_attach(struct hca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	struct hca *h = qp->hca;
	struct hca_group *g;
	struct hca_member *m;
	int err;

	if (!attach_valid(mgid, mlid))
		return -EINVAL;
	g = hca_group_find(h, qp->port, mgid);
	if (!g)
		g = group_new(h, qp->port, mgid);
	if (!g)
		return -ENOMEM;
	m = member_find(g, qp);
	if (m) {
		m->attached++;
		return 0;
	}
	err = member_add(g, qp);
	if (err)
		group_free_if_empty(h, g);
	return err;
}

/* Removes a member; the other members keep their order. */
static void member_del(struct hca_group *g, struct hca_member *m)
{
	size_t after = (size_t)(g->member + g->n - (m + 1));

	memmove(m, m + 1, after * sizeof(*m));
	g->n--;
}

int hca_detach(struct hca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	struct hca_group *g;
	struct hca_member *m;

	if (!attach_valid(mgid, mlid))
		return -EINVAL;
	g = hca_group_find(qp->hca, qp->port, mgid);
	m = g ? member_find(g, qp) : NULL;
	if (!m)
		return -ENOENT;
	if (--m->attached)
		return 0;
	member_del(g, m);
	group_free_if_empty(qp->hca, g);
	return 0;
}

void hca_group_forget(struct hca_qp *qp)
{
	struct hca *h = qp->hca;
	struct hlink *n = htab_each(&h->groups, NULL), *next;

	for (; n; n = next) {
		struct hca_group *g = container_of(n, struct hca_group, by_mgid);
		struct hca_member *m = member_find(g, qp);

		next = htab_each(&h->groups, n);
		if (!m)
			continue;
		member_del(g, m);
		group_free_if_empty(h, g);
	}
}

void hca_group_fini(struct hca *h)
{
	struct hlink *n;

	while ((n = htab_each(&h->groups, NULL))) {
		struct hca_group *g = container_of(n, struct hca_group, by_mgid);

		g->n = 0;
		group_free_if_empty(h, g);
	}
	htab_fini(&h->groups);
}
