/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sm/priv.h"
#include "subnet/tree.h"

static uint64_t mgid_hash(const ib_gid *mgid)
{
	return sm_guid_hash(be64_at(mgid->raw) ^ sm_guid_hash(be64_at(mgid->raw + 8)));
}

int sm_groups_init(struct sm *sm)
{
	sm->by_mlid = calloc(sm->cfg.max_mlids, sizeof(struct sm_group *));
	return sm->by_mlid ? 0 : -ENOMEM;
}

struct sm_group *sm_group_find(const struct sm *sm, const ib_gid *mgid)
{
	for (struct hlink *h = htab_first(&sm->groups, mgid_hash(mgid)); h; h = htab_next(h)) {
		struct sm_group *g = container_of(h, struct sm_group, by_mgid);

		if (ib_gid_equal(&g->rec.mgid, mgid))
			return g;
	}
	return NULL;
}

struct sm_group *sm_group_by_mlid(const struct sm *sm, uint16_t mlid)
{
	unsigned int i = mlid - IB_LID_MCAST_MIN;

	return ib_lid_is_mcast(mlid) && i < sm->cfg.max_mlids ? sm->by_mlid[i] : NULL;
}

struct sm_group *sm_group_next(const struct sm *sm, const struct sm_group *prev)
{
	const struct list *n = prev ? prev->link.next : sm->group_list.next;

	return n == &sm->group_list ? NULL : container_of(n, struct sm_group, link);
}

struct sm_mcmember *sm_group_member(const struct sm_group *g, uint64_t port_guid)
{
	for (struct hlink *h = htab_first(&g->by_port, sm_guid_hash(port_guid)); h;
	     h = htab_next(h)) {
		struct sm_mcmember *m = container_of(h, struct sm_mcmember, by_guid);

		if (m->port_guid == port_guid)
			return m;
	}
	return NULL;
}

bool sm_group_reaches(const struct sm *sm, const struct sm_group *g, uint64_t port_guid)
{
	return sm_tree_reaches(sm->routed, g, port_guid);
}

unsigned int sm_groups_max(const struct sm *sm)
{
	const struct sm_db *db = sm->routed;
	unsigned int n = 0;

	if (!db || !db->nswitches)
		return sm->cfg.max_mlids;
	for (uint32_t s = 0; s < db->nswitches; s++) {
		if (db->sw[s]->sw->si.mft_cap > n)
			n = db->sw[s]->sw->si.mft_cap;
	}
	return n < sm->cfg.max_mlids ? n : sm->cfg.max_mlids;
}

static int mlid_take(struct sm *sm, struct sm_group *g, uint16_t wanted)
{
	unsigned int n = sm_groups_max(sm);

	if (wanted) {
		unsigned int i = wanted - IB_LID_MCAST_MIN;

		if (!ib_lid_is_mcast(wanted) || i >= n || sm->by_mlid[i])
			return -ENOSPC;
		sm->by_mlid[i] = g;
		return 0;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (sm->by_mlid[i])
			continue;
		sm->by_mlid[i] = g;
		g->rec.mlid = (uint16_t)(IB_LID_MCAST_MIN + i);
		return 0;
	}
	return -ENOSPC;
}

int sm_group_create(struct sm *sm, const struct ib_mcmember_rec *rec, bool admin,
		    struct sm_group **ret, ns_t now)
{
	struct sm_group *g;
	int err;

	if (!ib_gid_is_mcast(&rec->mgid))
		return -EINVAL;
	if (sm_group_find(sm, &rec->mgid))
		return -EEXIST;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->rec = *rec;
	g->rec.pkey |= IB_PKEY_FULL;
	memset(&g->rec.port_gid, 0, sizeof(g->rec.port_gid));
	g->rec.join_state = 0;
	g->rec.proxy_join = false;
	g->rec.mtu_sel = g->rec.rate_sel = g->rec.life_sel = 0;
	g->admin = admin;
	list_init(&g->members);
	err = mlid_take(sm, g, rec->mlid);
	if (!err && htab_add(&sm->groups, &g->by_mgid, mgid_hash(&g->rec.mgid))) {
		sm->by_mlid[g->rec.mlid - IB_LID_MCAST_MIN] = NULL;
		err = -ENOMEM;
	}
	if (err) {
		free(g);
		return err;
	}
	list_add_tail(&sm->group_list, &g->link);
	*ret = g;
	sm_emit_group(sm, g, true, now);
	return 0;
}

static void group_free(struct sm *sm, struct sm_group *g)
{
	struct sm_mcmember *m, *tmp;

	sm->by_mlid[g->rec.mlid - IB_LID_MCAST_MIN] = NULL;
	htab_del(&sm->groups, &g->by_mgid);
	list_del(&g->link);
	list_for_each_safe (m, tmp, &g->members, link)
		free(m);
	htab_fini(&g->by_port);
	free(g);
}

void sm_group_delete(struct sm *sm, struct sm_group *g, ns_t now)
{
	uint16_t mlid = g->rec.mlid;

	sm_emit_group(sm, g, false, now);
	group_free(sm, g);
	sm_mcast_clear(sm, mlid, now);
}

static struct sm_mcmember *member_add(struct sm_group *g, uint64_t port_guid)
{
	struct sm_mcmember *m = calloc(1, sizeof(*m));

	if (!m || htab_add(&g->by_port, &m->by_guid, sm_guid_hash(port_guid))) {
		free(m);
		return NULL;
	}
	m->port_guid = port_guid;
	list_add_tail(&g->members, &m->link);
	g->nmembers++;
	return m;
}

int sm_group_join(struct sm *sm, struct sm_group *g, const ib_gid *port_gid, uint8_t join_state,
		  bool proxy, sm_group_done_fn *done, void *ctx, ns_t now)
{
	struct sm_mcmember *m = sm_group_member(g, ib_gid_guid(port_gid));
	void *wait = done ? sm_mcast_wait_alloc() : NULL;

	if (done && !wait)
		return -ENOMEM;
	if (!m)
		m = member_add(g, ib_gid_guid(port_gid));
	if (!m) {
		free(wait);
		return -ENOMEM;
	}
	m->port_gid = *port_gid;
	m->proxy = proxy;
	m->join_state |= join_state & 0xf;
	sm_mcast_update(sm, g, now);
	if (done)
		sm_mcast_wait(sm, done, ctx, wait, now);
	return 0;
}

/*
 * NOLINT, because the analyser does not follow list_del() and believes that a freed member is still
 * in the list.
 */
bool sm_group_needed(const struct sm_group *g)
{
	const struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		if (m->join_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL))
			return true;
	}
	return g->admin;
}

/* Clear JoinState bits of a member. Return: false if the group ended because its last full member left */
static bool member_clear(struct sm *sm, struct sm_group *g, struct sm_mcmember *m, uint8_t bits,
			 ns_t now)
{
	m->join_state &= (uint8_t)~bits;
	if (!m->join_state) {
		list_del(&m->link);
		htab_del(&g->by_port, &m->by_guid);
		g->nmembers--;
		free(m);
	}
	if (!sm_group_needed(g)) {
		sm_group_delete(sm, g, now);
		return false;
	}
	sm_mcast_update(sm, g, now);
	return true;
}

int sm_group_leave(struct sm *sm, struct sm_group *g, uint64_t port_guid, uint8_t join_state,
		   ns_t now)
{
	struct sm_mcmember *m = sm_group_member(g, port_guid);
	int left;

	if (!m)
		return -ENOENT;
	if (!join_state || (m->join_state & join_state) != join_state)
		return -EINVAL;
	left = m->join_state & ~join_state;
	member_clear(sm, g, m, join_state, now);
	return left;
}

void sm_group_drop_port(struct sm *sm, uint64_t port_guid, ns_t now)
{
	struct sm_group *g, *tmp;

	list_for_each_safe (g, tmp, &sm->group_list, link) {
		struct sm_mcmember *m = sm_group_member(g, port_guid);

		if (m)
			member_clear(sm, g, m, m->join_state, now);
	}
}

/* Free all groups. Their entries stay in the MFTs of the switches, because the next master writes all MFTs. */
void sm_groups_clear(struct sm *sm, ns_t now)
{
	struct sm_group *g, *tmp;

	list_for_each_safe (g, tmp, &sm->group_list, link)
		group_free(sm, g);
}

void sm_groups_fini(struct sm *sm)
{
	sm_groups_clear(sm, 0);
	htab_fini(&sm->groups);
	free(sm->by_mlid);
}
