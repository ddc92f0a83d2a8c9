/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/neigh.h"

#include <stdlib.h>

#include "ipoib/action.h"

/*
 * Neighbours, found by (GID, QPN) and, for packets without GRH, by (SLID, QPN). Every node on the fabric can cause
 * entries by sending packets to the link, so the table is bounded, and new entries replace unused ones.
 */

#define EVICT_LOOK 256 /* number of entries that are examined to find one that can be freed */

static const struct hash_key neigh_key = { 0x69706f69622d6e65ull, 1 };

static uint64_t addr_hash(const struct ipoib_lladdr *a)
{
	uint8_t b[IPOIB_ALEN];

	ipoib_lladdr_encode(b, a);
	return hash_siphash(&neigh_key, b, sizeof(b));
}

static uint64_t rev_hash(uint16_t lid, uint32_t qpn)
{
	uint64_t k = (uint64_t)lid << 24 | qpn;

	return hash_siphash(&neigh_key, &k, sizeof(k));
}

static void rev_del(struct ipoib_link *l, struct ipoib_neigh_rev *r)
{
	if (!r->lid)
		return;
	htab_del(&l->rev_tab, &r->by_lid_qpn);
	r->lid = 0;
	l->rx_last.neigh = NULL;
}

static struct ipoib_neigh_rev *rev_find(const struct ipoib_link *l, uint16_t lid, uint32_t qpn)
{
	struct hlink *h;

	for (h = htab_first(&l->rev_tab, rev_hash(lid, qpn)); h; h = htab_next(h)) {
		struct ipoib_neigh_rev *r = container_of(h, struct ipoib_neigh_rev, by_lid_qpn);

		if (r->lid == lid && r->neigh->lladdr.qpn == qpn)
			return r;
	}
	return NULL;
}

struct ipoib_neigh *ipoib_neigh_by_lid(struct ipoib_link *l, uint16_t lid, uint32_t qpn)
{
	struct ipoib_neigh_rev *r;

	if (l->rx_last.neigh && l->rx_last.lid == lid && l->rx_last.qpn == qpn)
		return l->rx_last.neigh;
	r = rev_find(l, lid, qpn);
	if (!r)
		return NULL;
	l->rx_last.lid = lid;
	l->rx_last.qpn = qpn;
	l->rx_last.neigh = r->neigh;
	return r->neigh;
}

void ipoib_neigh_learn(struct ipoib_neigh *n, unsigned int which, uint16_t lid)
{
	struct ipoib_link *l = n->link;
	struct ipoib_neigh_rev *r = &n->rev[which], *old;

	if (r->lid == lid || n->rev[!which].lid == lid || !ib_lid_is_unicast(lid))
		return;
	rev_del(l, r);
	/* A LID belongs to one port at a time, so the newest information replaces older information. */
	old = rev_find(l, lid, n->lladdr.qpn);
	if (old)
		rev_del(l, old);
	r->neigh = n;
	if (!htab_add(&l->rev_tab, &r->by_lid_qpn, rev_hash(lid, n->lladdr.qpn)))
		r->lid = lid;
}

struct ipoib_neigh *ipoib_neigh_find(const struct ipoib_link *l, const struct ipoib_lladdr *a)
{
	struct hlink *h;

	for (h = htab_first(&l->neigh_tab, addr_hash(a)); h; h = htab_next(h)) {
		struct ipoib_neigh *n = container_of(h, struct ipoib_neigh, by_addr);

		if (n->lladdr.qpn == a->qpn && ib_gid_equal(&n->lladdr.gid, &a->gid))
			return n;
	}
	return NULL;
}

static void neigh_free(struct ipoib_neigh *n)
{
	struct ipoib_link *l = n->link;

	ipoib_hold_drop(l, &n->held, IPOIB_DROP_NEIGH_GONE);
	rev_del(l, &n->rev[0]);
	rev_del(l, &n->rev[1]);
	htab_del(&l->neigh_tab, &n->by_addr);
	list_del(&n->path_node);
	ipoib_path_put(n->path);
	l->rx_last.neigh = NULL;
	l->stats.neigh_expired++;
	n->link = NULL;
	ipoib_slots_put(&l->neigh_slots, n->slot);
}

/*
 * Frees an idle neighbour. If users have references to the neighbour, asks these users to drop the
 * references.
 */
static void neigh_retire(struct ipoib_neigh *n)
{
	if (!n->refs) {
		neigh_free(n);
	} else if (!n->dying) {
		n->dying = true;
		ipoib_act(n->link, IPOIB_ACT_NEIGH_GONE)->neigh = n;
	}
}

/*
 * Retires neighbours that were not used since the last sweep (IPOIB_SWEEP), until a slot is free.
 */
static void neigh_evict(struct ipoib_link *l)
{
	uint32_t top = l->neigh_slots.top;

	for (unsigned int i = 0; i < EVICT_LOOK && i < top; i++) {
		struct ipoib_neigh *n = &l->neighs[l->neigh_hand++ % top];

		if (!n->link || n->used || n->held.n)
			continue;
		neigh_retire(n);
		if (!n->link)
			return;
	}
}

static uint32_t neigh_slot(struct ipoib_link *l)
{
	uint32_t slot = ipoib_slots_get(&l->neigh_slots);

	if (slot != IPOIB_NO_SLOT)
		return slot;
	neigh_evict(l);
	slot = ipoib_slots_get(&l->neigh_slots);
	l->stats.neigh_full += slot == IPOIB_NO_SLOT;
	return slot;
}

static struct ipoib_neigh *neigh_new(struct ipoib_link *l, const struct ipoib_lladdr *a, ns_t now)
{
	struct ipoib_path *path;
	struct ipoib_neigh *n;
	uint32_t slot = neigh_slot(l);

	if (slot == IPOIB_NO_SLOT)
		return NULL;
	path = ipoib_path_get(l, &a->gid);
	n = &l->neighs[slot];
	*n = (struct ipoib_neigh){ .slot = slot, .path = path, .last_used = now };
	n->lladdr.qpn = a->qpn;
	n->lladdr.gid = a->gid;
	if (!path || htab_add(&l->neigh_tab, &n->by_addr, addr_hash(&n->lladdr))) {
		if (path)
			ipoib_path_put(path);
		ipoib_slots_put(&l->neigh_slots, slot);
		return NULL;
	}
	n->link = l;
	list_add_tail(&path->neighs, &n->path_node);
	if (ipoib_path_usable(path) && !path->ah.attr.has_grh)
		ipoib_neigh_learn(n, 0, path->rec.dlid);
	return n;
}

/* QPNs 0 and 1 are for management, and 0xffffff means multicast. */
bool ipoib_lladdr_is_unicast(const struct ipoib_lladdr *a)
{
	return !ib_gid_is_mcast(&a->gid) && !ib_gid_is_zero(&a->gid) && a->qpn > IB_QP1 &&
	       a->qpn < IB_QPN_MCAST;
}

struct ipoib_neigh *ipoib_neigh_get(struct ipoib_link *l, const struct ipoib_lladdr *a, ns_t now)
{
	struct ipoib_neigh *n = ipoib_neigh_find(l, a);

	if (!n && ipoib_lladdr_is_unicast(a))
		n = neigh_new(l, a, now);
	if (n)
		n->used = true;
	return n;
}

int ipoib_neigh_said(struct ipoib_neigh *n, const struct ipoib_neigh *src,
		     const struct nd_port *port)
{
	if ((port->qkey & IB_QKEY_CONTROLLED) && port->qkey != n->link->qkey)
		return -EKEYREJECTED;
	/*
	 * Compare the paths and not the queue pairs, because a port may send from another queue pair than the one on
	 * which it receives.
	 */
	if (!(src && src->path == n->path) && ipoib_path_usable(n->path))
		return 0;
	n->has_qkey = true;
	n->qkey = port->qkey;
	n->eui64 = port->eui64;
	return 0;
}

/*
 * Deletes the stored Q_Keys of the neighbours that advertised @qkey, the link's old Q_Key. These
 * neighbours also change to the link's new Q_Key, and will advertise it. All stored Q_Keys with bit
 * 31 equal the link's old Q_Key, see ipoib_neigh_said(). A stored Q_Key without bit 31 that differs
 * from @qkey stays valid.
 */
void ipoib_neighs_forget_qkey(struct ipoib_link *l, uint32_t qkey)
{
	for (uint32_t i = 0; i < l->neigh_slots.top; i++)
		if (l->neighs[i].qkey == qkey)
			l->neighs[i].has_qkey = false;
}

struct nd_port ipoib_nd_port(const struct ipoib_link *l, const struct ipoib_lladdr *a)
{
	struct nd_port r = { .lladdr = *a, .has_qkey = l->joined, .qkey = l->qkey };
	const struct ipoib_neigh *n;

	if (ib_gid_equal(&a->gid, &l->port.gid)) {
		r.lid = l->port.lid;
		r.eui64 = ib_gid_guid(&a->gid);
		return r;
	}
	n = ipoib_neigh_find(l, a);
	if (n && ipoib_path_usable(n->path))
		r.lid = n->path->rec.dlid;
	if (n)
		r.qkey = ipoib_neigh_qkey(n);
	r.eui64 = n && n->eui64 ? n->eui64 : ib_gid_guid(&a->gid);
	return r;
}

void ipoib_neigh_hold(struct ipoib_neigh *n)
{
	n->refs++;
}

void ipoib_neigh_put(struct ipoib_neigh *n)
{
	if (!--n->refs && n->dying)
		neigh_free(n);
}

void ipoib_neigh_probe(struct ipoib_neigh *n, ns_t now)
{
	n->used = true;
	if (!n->link->up)
		return;
	ipoib_path_resolve(n->path, now);
	ipoib_path_verify(n->path, now);
}

void ipoib_neigh_flush(struct ipoib_neigh *n)
{
	struct pkt *pkt;

	while ((pkt = ipoib_unhold(n->link, &n->held)))
		ipoib_act_send(n->link, pkt, n->path->ah.ah, n->lladdr.qpn, ipoib_neigh_qkey(n));
}

void ipoib_neighs_sweep(struct ipoib_link *l, uint32_t from, uint32_t to, ns_t now)
{
	unsigned int removed = 0;

	for (uint32_t i = from; i < to && i < l->neigh_slots.top; i++) {
		struct ipoib_neigh *n = &l->neighs[i];

		if (!n->link)
			continue;
		if (n->used) {
			n->used = false;
			n->dying = false;
			n->last_used = now;
		} else if (now - n->last_used >= IPOIB_NEIGH_IDLE && removed < IPOIB_SWEEP_REMOVE) {
			removed++;
			neigh_retire(n);
		}
	}
}

int ipoib_neighs_init(struct ipoib_link *l)
{
	uint32_t max = l->cfg.max_neighs ? l->cfg.max_neighs : IPOIB_NEIGH_DEFAULT;

	int err = ipoib_slots_init(&l->neigh_slots, max);

	sac_paths_room(l->sac, (int)max);
	l->neighs = calloc(max, sizeof(*l->neighs));
	l->paths = calloc(max, sizeof(*l->paths));
	if (err || !l->neighs || !l->paths || ipoib_slots_init(&l->path_slots, max))
		return -ENOMEM;
	return 0;
}

void ipoib_neighs_fini(struct ipoib_link *l)
{
	for (uint32_t i = 0; i < l->neigh_slots.top; i++)
		if (l->neighs[i].link)
			neigh_free(&l->neighs[i]);
	sac_paths_room(l->sac, -(int)l->neigh_slots.max); /* 0 if the table was not made */
	htab_fini(&l->neigh_tab);
	htab_fini(&l->rev_tab);
	htab_fini(&l->path_tab);
	ipoib_slots_fini(&l->neigh_slots);
	ipoib_slots_fini(&l->path_slots);
	free(l->neighs);
	free(l->paths);
}

static void neigh_call(const struct ipoib_neigh *n,
		       void (*fn)(void *ctx, const struct ipoib_neigh_info *i), void *ctx)
{
	struct ipoib_neigh_info info = { .neigh = n };

	info.state = n->path->state;
	info.status = n->path->status;
	info.until = n->path->until;
	info.rec = n->path->rec;
	info.sl = n->path->ah.attr.sl;
	info.held = n->held.n;
	fn(ctx, &info);
}

#define PER_NEIGH 16 /* free slots that count as a neighbour */

bool ipoib_neigh_some(const struct ipoib_link *l, uint32_t *at, uint32_t n,
		      void (*fn)(void *ctx, const struct ipoib_neigh_info *i), void *ctx)
{
	uint64_t all = (uint64_t)n * PER_NEIGH, done = 0;
	uint32_t top = l->neigh_slots.top;

	while (done < all && *at < top) {
		const struct ipoib_neigh *e = &l->neighs[(*at)++];

		done += e->link ? PER_NEIGH : 1;
		if (e->link)
			neigh_call(e, fn, ctx);
	}
	return *at < top;
}
