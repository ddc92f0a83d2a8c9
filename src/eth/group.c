/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/group.h"

#include <stdlib.h>
#include <string.h>

#include "eth/priv.h"

/*
 * DOC: Groups of the kernel
 *
 * This layer learns from IGMP and MLD reports which groups the kernel and the stations behind the
 * TAP want to receive. The groups of the kernel are also compared with the kernel's own lists from
 * time to time. The reason: the kernel sends no reports for 224.0.0.1 and ff02::1, and no reports
 * at all if IGMP is turned off. The lists of stations cannot be read, so stations are sent queries
 * (query.c). This layer remembers which groups each station reported, and leaves a group when the
 * group has no member behind the TAP any more.
 */

static const uint8_t all_systems4[16] = { 224, 0, 0, 1 };
static const uint8_t all_nodes6[16] = { 0xff, 0x02, [15] = 1 };

static const struct hash_key group_key = { 0x7569706f69622d67ull, 0x726f7570732d7631ull };

static size_t alen(enum ipoib_proto proto)
{
	return proto == IPOIB_IPV4 ? 4 : 16;
}

static uint64_t group_hash(enum ipoib_proto proto, const uint8_t *addr)
{
	return hash_siphash(&group_key, addr, alen(proto));
}

struct eth_group *eth_group_find(const struct eth_if *e, enum ipoib_proto proto,
				 const uint8_t *addr)
{
	struct hlink *n;

	for (n = htab_first(&e->groups.by_addr, group_hash(proto, addr)); n; n = htab_next(n)) {
		struct eth_group *g = container_of(n, struct eth_group, by_addr);

		if (g->proto == proto && !memcmp(g->addr, addr, alen(proto)))
			return g;
	}
	return NULL;
}

/* --- members */

static struct eth_member *member_find(const struct eth_group *g, uint32_t station)
{
	struct eth_member *m;

	list_for_each (m, &g->members, link)
		if (m->station == station)
			return m;
	return NULL;
}

static void member_free(struct eth_if *e, struct eth_member *m)
{
	if (!m)
		return;
	list_del(&m->link);
	e->groups.nmembers--;
	free(m);
}

static void member_seen(struct eth_if *e, struct eth_group *g, uint32_t station, ns_t now)
{
	struct eth_member *m = member_find(g, station);

	if (!m) {
		m = e->groups.nmembers < ETH_MEMBERS_MAX ? calloc(1, sizeof(*m)) : NULL;
		if (!m)
			return;
		m->station = station;
		list_add_tail(&g->members, &m->link);
		e->groups.nmembers++;
	}
	m->reported = now;
}

static void members_expire(struct eth_if *e, struct eth_group *g, ns_t now)
{
	struct eth_member *m, *tmp;

	list_for_each_safe (m, tmp, &g->members, link)
		if (now >= m->reported + ETH_REPORT_LIFE)
			member_free(e, m);
}

/* --- groups */

/*
 * Makes a group. Return: NULL if @addr is not a multicast address, or there is no room for one more
 * group
 */
static struct eth_group *group_new(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr,
				   ns_t now)
{
	struct eth_group *g = e->groups.n < ETH_GROUPS_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	list_init(&g->members);
	g->proto = proto;
	memcpy(g->addr, addr, alen(proto));
	if (htab_add(&e->groups.by_addr, &g->by_addr, group_hash(proto, addr))) {
		free(g);
		return NULL;
	}
	if (ipoib_mcast_add(e->cfg.link, proto, g->addr, now)) {
		htab_del(&e->groups.by_addr, &g->by_addr);
		free(g);
		return NULL;
	}
	list_add_tail(&e->groups.all, &g->link);
	e->groups.n++;
	return g;
}

static struct eth_group *group_get(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr,
				   ns_t now)
{
	struct eth_group *g = eth_group_find(e, proto, addr);

	if (!g)
		g = group_new(e, proto, addr, now);
	if (!g && !e->groups.full_logged) {
		/* RFC 4391 §12 asks for a line in the log when a group cannot be joined. */
		e->groups.full_logged = true;
		log_to(e->cfg.log, LOG_LVL_WARN,
		       "a group that the kernel joined cannot be received: %u are", e->groups.n);
	}
	return g;
}

static void group_leave(struct eth_if *e, struct eth_group *g, ns_t now)
{
	struct eth_member *m, *tmp;

	list_for_each_safe (m, tmp, &g->members, link)
		member_free(e, m);
	ipoib_mcast_del(e->cfg.link, g->proto, g->addr, now);
	list_del(&g->link);
	htab_del(&e->groups.by_addr, &g->by_addr);
	e->groups.n--;
	e->groups.full_logged = false;
	free(g);
}

/* Leaves the group if nobody behind the TAP is known to receive it. */
static void group_leave_empty(struct eth_if *e, struct eth_group *g, ns_t now)
{
	if (!g->always && !g->kernel && list_empty(&g->members))
		group_leave(e, g, now);
}

void eth_groups_station_gone(struct eth_if *e, uint32_t station, ns_t now)
{
	struct eth_group *g, *tmp;

	list_for_each_safe (g, tmp, &e->groups.all, link) {
		struct eth_member *m = member_find(g, station);

		if (!m)
			continue;
		member_free(e, m);
		group_leave_empty(e, g, now);
	}
}

unsigned int eth_groups_of(const struct eth_if *e, uint32_t station)
{
	const struct eth_group *g;
	unsigned int n = 0;

	list_for_each (g, &e->groups.all, link)
		n += (station || !g->kernel) && member_find(g, station);
	return n;
}

static void group_always(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr, ns_t now)
{
	struct eth_group *g =
		ipoib_profile_has(e->profile, proto) ? group_get(e, proto, addr, now) : NULL;

	if (g)
		g->always = true;
}

void eth_groups_always(struct eth_if *e, ns_t now)
{
	group_always(e, IPOIB_IPV4, all_systems4, now);
	group_always(e, IPOIB_IPV6, all_nodes6, now);
}

void eth_groups_link_down(struct eth_if *e)
{
	struct eth_group *g;

	list_for_each (g, &e->groups.all, link)
		g->join_done = false;
}

void eth_groups_leave(struct eth_if *e, ns_t now)
{
	struct eth_group *g, *tmp;

	list_for_each_safe (g, tmp, &e->groups.all, link)
		group_leave(e, g, now);
}

/* --- the kernel's own lists */

/*
 * Tell whether the group can appear on the link. No link has IPv6 groups with scope 0 or 1 (ff00::, ff01::), or
 * groups of an IP version that the profile does not carry.
 */
static bool is_group(const struct eth_if *e, enum ipoib_proto proto, const uint8_t *a)
{
	if (!ipoib_profile_has(e->profile, proto))
		return false;
	return proto == IPOIB_IPV4 ? a[0] >> 4 == 0xe : a[0] == 0xff && (a[1] & 0x0f) > 1;
}

void eth_groups_sync_begin(struct eth_if *e)
{
	struct eth_group *g;

	list_for_each (g, &e->groups.all, link)
		g->in_list = false;
}

void eth_groups_sync_seen(struct eth_if *e, enum ipoib_proto proto, const uint8_t *addr, ns_t now)
{
	struct eth_group *g;

	e->now = now;
	if (!e->up || !is_group(e, proto, addr))
		return;
	g = group_get(e, proto, addr, now);
	if (g)
		g->in_list = true;
}

/*
 * Compares a group with the kernel's list that was just read. If the group was in an earlier list
 * and is missing now, the kernel is no member any more. If @exact is false, the group must be
 * missing in two lists in a row. A station is no member any more if its last report is too old. A
 * group is left when neither the kernel nor a station is a member.
 */
static void group_compare(struct eth_if *e, struct eth_group *g, bool exact, ns_t now)
{
	g->missed = g->in_list ? 0 : g->missed + 1;
	if (g->kernel && !g->in_list && (exact || g->missed > 1)) {
		member_free(e, member_find(g, 0));
		g->kernel = false;
	}
	g->kernel |= g->in_list;
	members_expire(e, g, now);
	group_leave_empty(e, g, now);
}

void eth_groups_sync_end(struct eth_if *e, bool exact, ns_t now)
{
	struct eth_group *g, *tmp;

	e->now = now;
	if (!e->up)
		return;
	list_for_each_safe (g, tmp, &e->groups.all, link)
		group_compare(e, g, exact, now);
	/* a held report may have waited for a group that has just been left */
	eth_held_release(e, now);
}

/* --- reports */

static void on_join(struct eth_if *e, uint32_t station, const struct eth_report *r, ns_t now)
{
	struct eth_group *g = group_get(e, r->proto, r->group, now);

	if (!g)
		return;
	member_seen(e, g, station, now);
	/*
	 * A group without a recorded member would never be left. So leave the group at once if
	 * there was no room to record its member.
	 */
	group_leave_empty(e, g, now);
}

static void on_leave(struct eth_if *e, uint32_t station, const struct eth_report *r, ns_t now)
{
	struct eth_group *g = eth_group_find(e, r->proto, r->group);

	if (!g || g->always)
		return;
	member_free(e, member_find(g, station));
	/*
	 * A group in the kernel's list is not left now, because a leave message with the interface's own MAC may
	 * come from a bridge. The next comparison with the list decides.
	 */
	group_leave_empty(e, g, now);
}

void eth_group_report(struct eth_if *e, uint32_t station, const struct eth_report *r, ns_t now)
{
	if (!is_group(e, r->proto, r->group))
		return;
	if (r->join)
		on_join(e, station, r, now);
	else
		on_leave(e, station, r, now);
}

/* --- joins */

static bool has_mgid(const struct eth_if *e, const struct eth_group *g, const ib_gid *mgid)
{
	ib_gid own;

	return !ipoib_mcast_mgid(e->cfg.link, g->proto, g->addr, &own) && ib_gid_equal(&own, mgid);
}

/*
 * Records the join for every group that has the MGID of @group. Several groups can share an MGID
 * (RFC 4391 §4: IPv6 groups with equal low 80 bits). The link reports the join of an MGID under
 * only one of these groups. The MGIDs are not stored, because they change with the scope of the
 * link's broadcast group.
 */
void eth_groups_join_done(struct eth_if *e, enum ipoib_proto proto, const uint8_t *group)
{
	struct eth_group *g;
	ib_gid mgid;

	if (ipoib_mcast_mgid(e->cfg.link, proto, group, &mgid))
		return;
	list_for_each (g, &e->groups.all, link)
		if (has_mgid(e, g, &mgid))
			g->join_done = true;
}

void eth_groups_init(struct eth_if *e)
{
	list_init(&e->groups.all);
}

void eth_groups_fini(struct eth_if *e)
{
	eth_groups_leave(e, e->now);
	htab_fini(&e->groups.by_addr);
}
