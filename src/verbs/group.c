/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/priv.h"

static struct verbs_group *find(const struct verbs_qp *q, const ib_gid *mgid, uint16_t mlid)
{
	struct verbs_group *g;

	list_for_each (g, &q->groups, link)
		if (g->mlid == mlid && !memcmp(g->gid.raw, mgid->raw, sizeof(g->gid.raw)))
			return g;
	return NULL;
}

static bool is_group(const ib_gid *mgid, uint16_t mlid)
{
	return ib_gid_is_mcast(mgid) && mlid && mlid != IB_LID_PERMISSIVE &&
	       !ib_lid_is_unicast(mlid);
}

int verbs_attach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	struct verbs_qp *q = verbs_qp_of(qp);
	struct verbs_group *g = find(q, mgid, mlid);
	int err;

	if (!is_group(mgid, mlid))
		return -EINVAL;
	if (q->port->dead)
		return -EIO;
	if (g) {
		g->refs++;
		return 0;
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	memcpy(g->gid.raw, mgid->raw, sizeof(g->gid.raw));
	g->mlid = mlid;
	g->refs = 1;
	err = q->port->lib->attach_mcast(q->h, &g->gid, mlid);
	if (err) {
		free(g);
		return err > 0 ? -err : -EIO;
	}
	list_add_tail(&q->groups, &g->link);
	return 0;
}

static int leave(struct verbs_qp *q, struct verbs_group *g)
{
	int err = q->h ? q->port->lib->detach_mcast(q->h, &g->gid, g->mlid) : 0;

	list_del(&g->link);
	free(g);
	return err > 0 ? -err : err;
}

int verbs_detach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	struct verbs_qp *q = verbs_qp_of(qp);
	struct verbs_group *g = find(q, mgid, mlid);

	if (!is_group(mgid, mlid))
		return -EINVAL;
	if (!g)
		return -ENOENT;
	return --g->refs ? 0 : leave(q, g);
}

void verbs_groups_leave(struct verbs_qp *q)
{
	struct verbs_group *g, *next;

	list_for_each_safe (g, next, &q->groups, link)
		leave(q, g);
}

int verbs_groups_attach(struct verbs_qp *q)
{
	const struct verbs_group *g;
	int err = 0;

	list_for_each (g, &q->groups, link) {
		err = q->port->lib->attach_mcast(q->h, &g->gid, g->mlid);
		if (err)
			break;
	}
	return err > 0 ? -err : err;
}

void verbs_groups_detach(struct verbs_qp *q)
{
	const struct verbs_group *g;

	list_for_each (g, &q->groups, link)
		q->port->lib->detach_mcast(q->h, &g->gid, g->mlid);
}
