/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/mcast.h"

#include <stdlib.h>

#include "ipoib/action.h"
#include "text/print.h"

/*
 * The table of groups. It has the groups that the link receives, the groups to which the link
 * sends, and groups that are known not to exist.
 */

#define EVICT_LOOK 64 /* number of entries that are examined to find one that can be freed */

static const struct hash_key mcast_key = { 0x69706f69622d6d63ull, 1 };

static const char *const mcast_state_names[] = {
	[IPOIB_MCAST_IDLE] = "idle",	   [IPOIB_MCAST_QUERY] = "query",
	[IPOIB_MCAST_ABSENT] = "absent",   [IPOIB_MCAST_JOINING] = "joining",
	[IPOIB_MCAST_AH_WAIT] = "ah-wait", [IPOIB_MCAST_READY] = "ready",
	[IPOIB_MCAST_FAILED] = "failed",
};

const char *ipoib_mcast_state_name(enum ipoib_mcast_state state)
{
	return mcast_state_names[state];
}

void ipoib_mcast_set_state(struct ipoib_mcast *m, enum ipoib_mcast_state state, ns_t until)
{
	char gid[PRINT_GID_LEN];

	if (m->state != state)
		ipoib_log(m->link, LOG_LVL_DEBUG, "group %s: %s -> %s",
			  print_gid(gid, sizeof(gid), &m->mgid), mcast_state_names[m->state],
			  mcast_state_names[state]);
	m->state = state;
	m->until = until;
}

static uint64_t mgid_hash(const ib_gid *mgid)
{
	return hash_siphash(&mcast_key, mgid->raw, sizeof(mgid->raw));
}

struct ipoib_mcast *ipoib_mcast_find(const struct ipoib_link *l, const ib_gid *mgid)
{
	struct hlink *h;

	for (h = htab_first(&l->mcast_tab, mgid_hash(mgid)); h; h = htab_next(h)) {
		struct ipoib_mcast *m = container_of(h, struct ipoib_mcast, by_mgid);

		if (ib_gid_equal(&m->mgid, mgid))
			return m;
	}
	return NULL;
}

static bool mcast_unneeded(const struct ipoib_mcast *m)
{
	return !m->broadcast && !m->receivers && !m->so.group && !m->non.group && !m->query.op &&
	       !m->held.n && !m->used && list_empty(&m->waiting);
}

static void mcast_free(struct ipoib_mcast *m)
{
	struct ipoib_link *l = m->link;

	ipoib_ah_drop(l, &m->ah);
	ipoib_ah_drop(l, &m->lent);
	list_del(&m->wait_node);
	htab_del(&l->mcast_tab, &m->by_mgid);
	m->link = NULL;
	ipoib_slots_put(&l->mcast_slots, m->slot);
}

static uint32_t mcast_slot(struct ipoib_link *l)
{
	uint32_t slot = ipoib_slots_get(&l->mcast_slots);
	uint32_t top = l->mcast_slots.top;

	for (unsigned int i = 0; slot == IPOIB_NO_SLOT && i < EVICT_LOOK; i++) {
		struct ipoib_mcast *m = &l->mcasts[l->mcast_hand++ % top];

		if (m->link && mcast_unneeded(m)) {
			mcast_free(m);
			slot = ipoib_slots_get(&l->mcast_slots);
		}
	}
	return slot;
}

static struct ipoib_mcast *mcast_new(struct ipoib_link *l, const ib_gid *mgid)
{
	uint32_t slot = mcast_slot(l);
	struct ipoib_mcast *m;

	if (slot == IPOIB_NO_SLOT)
		return NULL;
	m = &l->mcasts[slot];
	*m = (struct ipoib_mcast){ .slot = slot, .mgid = *mgid };
	if (htab_add(&l->mcast_tab, &m->by_mgid, mgid_hash(mgid))) {
		ipoib_slots_put(&l->mcast_slots, slot);
		return NULL;
	}
	m->link = l;
	list_init(&m->waiting);
	list_init(&m->wait_node);
	return m;
}

/*
 * Tells whether the scope of the group is wider than link-local. In IPv4 224.0.0.0/24 is
 * link-local. In IPv6 the scope is a nibble of the address.
 */
static bool group_beyond_link(enum ipoib_proto proto, const uint8_t *group)
{
	if (proto == IPOIB_IPV4)
		return be32_at(group) >> 8 != 0xe00000;
	return (group[1] & 0x0f) > 2;
}

int ipoib_mcast_mgid(const struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group,
		     ib_gid *ret)
{
	if (proto == IPOIB_IPV4)
		return l->profile->mgid_ipv4(ret, group, &l->map);
	return l->profile->mgid_ipv6(ret, group, &l->map);
}

int ipoib_mcast_get(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group,
		    struct ipoib_mcast **ret)
{
	struct ipoib_mcast *m;
	ib_gid mgid;

	if (ipoib_mcast_mgid(l, proto, group, &mgid))
		return -EINVAL;
	m = ipoib_mcast_find(l, &mgid);
	if (!m) {
		m = mcast_new(l, &mgid);
		if (!m)
			return -ENOBUFS;
		m->proto = proto;
		memcpy(m->group, group, proto == IPOIB_IPV4 ? 4 : 16);
	}
	/*
	 * IPv6 groups that differ only in their scope share one MGID, so .beyond_link is set if one
	 * of these scopes is wider than link-local.
	 */
	m->beyond_link |= group_beyond_link(proto, group);
	*ret = m;
	return 0;
}

int ipoib_mcast_add(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group, ns_t now)
{
	struct ipoib_mcast *m;
	int err = ipoib_mcast_get(l, proto, group, &m);
	struct ipoib_action *a;

	if (err)
		return err;
	if (proto == IPOIB_IPV4 && group[0] >> 4 != 0xe)
		/* 255.255.255.255 has an MGID, but is no group that can be received */
		return -EINVAL;
	/* The action MCAST_READY names the group by this address. */
	memcpy(m->group, group, proto == IPOIB_IPV4 ? 4 : 16);
	/*
	 * link_join.c joins and leaves the broadcast group, even if the broadcast group has no
	 * receivers.
	 */
	if (!m->receivers++ && l->up && !m->broadcast) {
		ipoib_mcast_join_full(m, now);
	} else if (m->full_ok) {
		a = ipoib_act(l, IPOIB_ACT_MCAST_READY);
		a->mcast_ready.proto = proto;
		memcpy(a->mcast_ready.group, m->group, sizeof(m->group));
	}
	return 0;
}

int ipoib_mcast_del(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group, ns_t now)
{
	struct ipoib_mcast *m;
	ib_gid mgid;

	if (ipoib_mcast_mgid(l, proto, group, &mgid))
		return -ENOENT;
	m = ipoib_mcast_find(l, &mgid);
	if (!m || !m->receivers)
		return -ENOENT;
	if (--m->receivers || m->broadcast)
		return 0;
	m->last_used = now;
	ipoib_mcast_leave_full(m, now);
	if (!m->so.group && m->state != IPOIB_MCAST_QUERY)
		ipoib_mcast_set_state(m, IPOIB_MCAST_IDLE, 0);
	ipoib_mcast_release_held(m, now);
	if (mcast_unneeded(m))
		mcast_free(m);
	return 0;
}

static void mcast_sweep(struct ipoib_mcast *m, ns_t now)
{
	struct ipoib_link *l = m->link;

	if (m->attach_failed)
		ipoib_mcast_attach(m);
	/*
	 * If the CA refused the address handle of a group that the link receives, this function
	 * requests the handle again. For other groups the next packet causes the request.
	 */
	if (m->state == IPOIB_MCAST_FAILED && ipoib_mcast_receives(m) && now >= m->until) {
		const struct ib_mcmember_rec rec = m->rec;

		ipoib_mcast_granted(m, &rec, now);
	}
	/*
	 * If the granted record did not fit, or if the SA client had no room, .full.group of a
	 * group with receivers is NULL. Join this group again.
	 */
	if (m->receivers && !m->broadcast && l->up && !m->full.group && now >= m->until)
		ipoib_mcast_join_full(m, now);
	if (m->used) {
		m->used = false;
		m->last_used = now;
	} else if (now - m->last_used >= l->profile->sender.idle) {
		ipoib_mcast_leave_sender(m, now);
		ipoib_ah_drop(l, &m->lent);
		if (mcast_unneeded(m))
			mcast_free(m);
	}
}

void ipoib_mcasts_sweep(struct ipoib_link *l, ns_t now)
{
	struct ipoib_mcast *m;

	for_each_mcast(l, m) mcast_sweep(m, now);
}

/*
 * Sets .proto and .group in the entry of the broadcast group. They name the IP group that the
 * profile maps to the MGID of the broadcast group, or 255.255.255.255 if there is no such IP group.
 */
static void name_broadcast(struct ipoib_link *l)
{
	struct ipoib_mcast *m = l->bcast;
	int version = l->profile->mgid_group(m->group, &l->mgid, &l->map);

	m->broadcast = true;
	m->proto = version == 6 ? IPOIB_IPV6 : IPOIB_IPV4;
	if (version < 0)
		memset(m->group, 0xff, 4);
}

int ipoib_mcasts_init(struct ipoib_link *l)
{
	l->mcasts = calloc(IPOIB_MAX_GROUPS, sizeof(*l->mcasts));
	if (!l->mcasts || ipoib_slots_init(&l->mcast_slots, IPOIB_MAX_GROUPS))
		return -ENOMEM;
	l->bcast = mcast_new(l, &l->mgid);
	if (!l->bcast)
		return -ENOMEM;
	name_broadcast(l);
	return 0;
}

/*
 * Moves the table entry of @m to @mgid. The function needs no memory, so it cannot fail.
 */
static void set_mgid(struct ipoib_mcast *m, const ib_gid *mgid)
{
	htab_del(&m->link->mcast_tab, &m->by_mgid);
	m->mgid = *mgid;
	htab_add(&m->link->mcast_tab, &m->by_mgid, mgid_hash(mgid));
}

/*
 * Gives the entry @m the MGID to which the link now maps the group. The entry is freed instead if
 * the group has no such MGID or no receivers. It is also freed if the MGID is that of the broadcast
 * group, whose entry then takes over the receivers.
 */
static void remap(struct ipoib_mcast *m)
{
	struct ipoib_link *l = m->link;
	ib_gid mgid;
	bool gone = ipoib_mcast_mgid(l, m->proto, m->group, &mgid) || !m->receivers;

	if (!gone && ib_gid_equal(&mgid, &l->mgid)) {
		l->bcast->receivers += m->receivers;
		gone = true;
	}
	if (gone)
		mcast_free(m);
	else
		set_mgid(m, &mgid);
}

void ipoib_mcasts_regroup(struct ipoib_link *l, const ib_gid *mgid)
{
	const struct ipoib_mcast was = *l->bcast;
	struct ipoib_mcast *m;

	l->mgid = *mgid;
	l->map.scope = mgid_scope(mgid);
	l->bcast->receivers = 0;
	set_mgid(l->bcast, mgid);
	name_broadcast(l);
	for_each_mcast(l, m)
	{
		if (!m->broadcast)
			remap(m);
	}
	if (was.receivers && !ipoib_mcast_get(l, was.proto, was.group, &m))
		m->receivers += was.receivers;
}

void ipoib_mcasts_fini(struct ipoib_link *l)
{
	struct ipoib_mcast *m;

	if (l->mcasts) {
		for_each_mcast(l, m)
		{
			ipoib_mcast_leave_all(m, 0);
			mcast_free(m);
		}
	}
	htab_fini(&l->mcast_tab);
	ipoib_slots_fini(&l->mcast_slots);
	free(l->mcasts);
}

void ipoib_mcast_each(const struct ipoib_link *l,
		      void (*fn)(void *ctx, const struct ipoib_mcast_info *i), void *ctx)
{
	const struct ipoib_mcast *m;

	for_each_mcast(l, m)
	{
		struct ipoib_mcast_info i = {
			.broadcast = m->broadcast,
			.proto = m->proto,
			.mgid = m->mgid,
			.receivers = m->receivers,
			.full = m->full_ok,
			.send_only = m->so_ok,
			.non_member = m->non_ok,
			.attached = m->nattached != 0,
			.state = m->state,
			.status = m->status,
			.until = m->until,
			.mlid = ipoib_mcast_is_member(m) ? m->rec.mlid
				: m->lent.ah		 ? m->lent.attr.dlid
							 : 0,
			.held = m->held.n,
		};

		memcpy(i.group, m->group, sizeof(i.group));
		fn(ctx, &i);
	}
}
