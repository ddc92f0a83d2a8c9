/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/mcast.h"

#include "ipoib/action.h"

/*
 * This file attaches the QP to groups. To receive a group, the QP is attached to the group's MGID
 * with the group's own MLID. Some profiles allow a sender that cannot join a group to use the MLID
 * of another group, the lender (mcast_lent.c). With such a profile the QP is also attached to the
 * group's MGID with the MLID of each possible lender. These attachments are needed even if this
 * host has joined the group, because other hosts may still send with a lender's MLID. An HCA may
 * deliver a packet only if both the MGID and the DLID equal those of an attachment.
 */

struct mlids {
	uint16_t v[IPOIB_MAX_ATTACHED];
	unsigned int n;
};

static bool has(const uint16_t *v, unsigned int n, uint16_t mlid)
{
	for (unsigned int i = 0; i < n; i++)
		if (v[i] == mlid)
			return true;
	return false;
}

/*
 * Adds @mlid unless the list contains it: an SA is allowed to give several groups the same MLID.
 */
static void want(struct mlids *w, uint16_t mlid)
{
	if (!has(w->v, w->n, mlid))
		w->v[w->n++] = mlid;
}

static struct mlids wanted(const struct ipoib_mcast *m)
{
	const struct ipoib_link *l = m->link;
	const struct ipoib_mcast *a;
	struct mlids w = { .n = 0 };

	if (ipoib_mcast_receives(m))
		want(&w, m->rec.mlid);
	if (!l->up || !ipoib_mcast_is_lent(m) || !(ipoib_mcast_receives(m) || m->receivers))
		return w;
	a = ipoib_mcast_all_systems(l, m->proto);
	if (a && ipoib_mcast_is_member(a))
		want(&w, a->rec.mlid);
	want(&w, l->group_rec.mlid);
	return w;
}

static void act(const struct ipoib_mcast *m, enum ipoib_action_type type, uint16_t mlid)
{
	struct ipoib_action *a = ipoib_act(m->link, type);

	a->mcast.mgid = m->mgid;
	a->mcast.mlid = mlid;
}

static void attach_only(struct ipoib_mcast *m, const struct mlids *w)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->nattached; i++) {
		if (has(w->v, w->n, m->attached[i]))
			m->attached[n++] = m->attached[i];
		else
			act(m, IPOIB_ACT_DETACH, m->attached[i]);
	}
	m->nattached = n;
	for (unsigned int i = 0; i < w->n; i++) {
		if (has(m->attached, n, w->v[i]))
			continue;
		m->attached[m->nattached++] = w->v[i];
		act(m, IPOIB_ACT_ATTACH, w->v[i]);
	}
	m->attach_failed = false;
}

void ipoib_mcast_attach(struct ipoib_mcast *m)
{
	struct mlids w = wanted(m);

	attach_only(m, &w);
}

void ipoib_mcast_detach(struct ipoib_mcast *m)
{
	struct mlids none = { .n = 0 };

	attach_only(m, &none);
}

void ipoib_mcast_attach_failed(struct ipoib_mcast *m, uint16_t mlid)
{
	for (unsigned int i = 0; i < m->nattached; i++) {
		if (m->attached[i] != mlid)
			continue;
		m->attached[i] = m->attached[--m->nattached];
		m->attach_failed = true;
		return;
	}
}

void ipoib_mcasts_attach(struct ipoib_link *l)
{
	struct ipoib_mcast *m;

	for_each_mcast(l, m) ipoib_mcast_attach(m);
}
