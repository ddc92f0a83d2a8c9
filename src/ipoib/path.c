/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/neigh.h"

#include <errno.h>

#include "ipoib/action.h"
#include "text/print.h"

/*
 * A path passes the states NONE -> QUERY -> AH_WAIT -> READY. If the SA has to be asked again, the
 * states are READY -> STALE -> REFRESH -> READY. In STALE and REFRESH the old address handle stays
 * in use, so that no packet is lost when the SM restarts or a path expires.
 */

static const struct hash_key path_key = { 0x69706f69622d7061ull, 1 };

static const char *const path_state_names[] = {
	[IPOIB_PATH_NONE] = "none",	  [IPOIB_PATH_QUERY] = "query",
	[IPOIB_PATH_AH_WAIT] = "ah-wait", [IPOIB_PATH_READY] = "ready",
	[IPOIB_PATH_STALE] = "stale",	  [IPOIB_PATH_REFRESH] = "refresh",
	[IPOIB_PATH_FAILED] = "failed",
};

const char *ipoib_path_state_name(enum ipoib_path_state state)
{
	return path_state_names[state];
}

static void path_set_state(struct ipoib_path *p, enum ipoib_path_state state, ns_t until)
{
	char gid[PRINT_GID_LEN];

	if (p->state != state)
		ipoib_log(p->link, LOG_LVL_DEBUG, "path to %s: %s -> %s",
			  print_gid(gid, sizeof(gid), &p->gid), path_state_names[p->state],
			  path_state_names[state]);
	p->state = state;
	p->until = until;
}

static void path_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now);

struct ipoib_path *ipoib_path_get(struct ipoib_link *l, const ib_gid *gid)
{
	uint64_t hash = hash_siphash(&path_key, gid->raw, sizeof(gid->raw));
	struct ipoib_path *p;
	struct hlink *h;
	uint32_t slot;

	for (h = htab_first(&l->path_tab, hash); h; h = htab_next(h)) {
		p = container_of(h, struct ipoib_path, by_gid);
		if (ib_gid_equal(&p->gid, gid))
			return p;
	}
	slot = ipoib_slots_get(&l->path_slots);
	if (slot == IPOIB_NO_SLOT)
		return NULL;
	p = &l->paths[slot];
	*p = (struct ipoib_path){ .link = l, .slot = slot, .gid = *gid };
	p->wait.done = path_done;
	list_init(&p->neighs);
	if (htab_add(&l->path_tab, &p->by_gid, hash)) {
		p->link = NULL;
		ipoib_slots_put(&l->path_slots, slot);
		return NULL;
	}
	return p;
}

void ipoib_path_put(struct ipoib_path *p)
{
	struct ipoib_link *l = p->link;

	if (!list_empty(&p->neighs))
		return;
	sac_path_cancel(&p->wait);
	ipoib_ah_drop(l, &p->ah);
	htab_del(&l->path_tab, &p->by_gid);
	p->link = NULL;
	ipoib_slots_put(&l->path_slots, p->slot);
}

enum ipoib_drop ipoib_path_why(const struct ipoib_path *p)
{
	return p->ah_refused ? IPOIB_DROP_NO_AH : IPOIB_DROP_NO_PATH;
}

static void path_fail(struct ipoib_path *p, ns_t until)
{
	struct ipoib_neigh *n;

	path_set_state(p, IPOIB_PATH_FAILED, until);
	ipoib_ah_drop(p->link, &p->ah);
	list_for_each (n, &p->neighs, path_node)
		ipoib_hold_drop(p->link, &n->held, ipoib_path_why(p));
}

static struct sac_path_key path_sac_key(const struct ipoib_path *p)
{
	return (struct sac_path_key){ .sgid = p->link->port.gid,
				      .dgid = p->gid,
				      .pkey = p->link->pkey };
}

/*
 * Returns the time at which the path becomes stale. The answer may have been in the SA client's
 * cache for a while, so the cache determines this time. A new answer is valid for SAC_PATH_TTL.
 */
static ns_t path_until(const struct ipoib_path *p, ns_t now)
{
	struct sac_path_key key = path_sac_key(p);
	ns_t until = sac_path_until(p->link->sac, &key, now);

	return until > now ? until : now + SAC_PATH_TTL;
}

static void path_ready(struct ipoib_path *p, ns_t now)
{
	struct ipoib_neigh *n;

	p->ah_failures = 0;
	path_set_state(p, IPOIB_PATH_READY, path_until(p, now));
	list_for_each (n, &p->neighs, path_node) {
		/*
		 * If the path needs a GRH, its DLID is the LID of a router, and does not identify
		 * the neighbour.
		 */
		if (!p->ah.attr.has_grh)
			ipoib_neigh_learn(n, 0, p->rec.dlid);
		ipoib_neigh_flush(n);
	}
}

static uint8_t path_sl(const struct ipoib_link *l, const struct ib_path_rec *r)
{
	switch (l->sl_from) {
	case IPOIB_SL_GROUP:
		return l->group_rec.sl;
	case IPOIB_SL_FIXED:
		return l->cfg.sl;
	default:
		return r->sl;
	}
}

/*
 * Makes the address vector of the path. The vector has a GRH only if the packets pass a router
 * (IBTA 13.5.4): the HopLimit is above 1, or the destination is in another subnet.
 */
static void path_attr(const struct ipoib_path *p, struct ipoib_ah_attr *ret)
{
	const struct ib_path_rec *r = &p->rec;
	const struct ipoib_port *port = &p->link->port;
	uint64_t prefix = ib_gid_prefix(&p->gid);

	*ret = (struct ipoib_ah_attr){
		.dlid = r->dlid,
		.sl = path_sl(p->link, r),
		.rate_code = r->rate_code,
		.src_path_bits = (uint8_t)(r->slid & ((1u << port->lmc) - 1)),
		.has_grh = r->hop_limit > 1 || (prefix != ib_gid_prefix(&port->gid) &&
						prefix != IB_SUBNET_PREFIX_DEFAULT),
	};
	if (!ret->has_grh)
		return;
	ret->tclass = r->tclass;
	ret->hop_limit = r->hop_limit;
	ret->flow_label = r->flow_label;
	ret->dgid = p->gid;
}

/*
 * Logs that a path was refused. A forger can cause many refused paths by sending from ever new
 * GIDs, so the log lines beyond the limit of pace_line() are debug messages.
 */
static void log_refusal(struct ipoib_path *p, int status, ns_t now)
{
	struct ipoib_link *l = p->link;
	char gid[PRINT_GID_LEN], text[SAC_STATUS_LEN], left_out[PACE_LINE] = "";
	bool info =
		p->status != status && !sac_status_is_outage(status) &&
		pace_line(&l->path_lines, IPOIB_PATH_LINES, IPOIB_PATH_LINES_EVERY, now, left_out);

	ipoib_log(l, info ? LOG_LVL_INFO : LOG_LVL_DEBUG, "path to %s: %s%s",
		  print_gid(gid, sizeof(gid), &p->gid),
		  sac_status_print(text, sizeof(text), status), left_out);
}

static void path_refused(struct ipoib_path *p, int status, ns_t now)
{
	p->link->stats.path_failures++;
	log_refusal(p, status, now);
	p->status = status;
	p->ah_refused = false;
	/*
	 * If the SA does not answer, the path may still be valid, so it stays in use. If the SA
	 * refuses the path, the path is not used any more.
	 */
	if (status < 0 && ipoib_path_usable(p))
		path_set_state(p, IPOIB_PATH_STALE, now + IPOIB_BACKOFF_MIN);
	else
		path_fail(p, now + IPOIB_BACKOFF_MIN);
}

/* Handles a path from the SA whose MTU the link's profile does not allow. */
static void path_unfit(struct ipoib_path *p, const struct ib_path_rec *rec, ns_t now)
{
	struct ipoib_link *l = p->link;
	char gid[PRINT_GID_LEN];

	l->stats.path_failures++;
	if (p->status != -EMSGSIZE)
		ipoib_log(l, LOG_LVL_WARN, "path to %s: MTU %u, which no link of profile %s has",
			  print_gid(gid, sizeof(gid), &p->gid), ib_mtu_octets(rec->mtu_code),
			  l->profile->name);
	p->status = -EMSGSIZE;
	p->ah_refused = false;
	path_fail(p, now + IPOIB_BACKOFF_MIN);
}

static void path_resolved(struct ipoib_path *p, const struct ib_path_rec *rec, ns_t now)
{
	struct ipoib_link *l = p->link;
	struct ipoib_ah_attr attr;
	char gid[PRINT_GID_LEN];

	if (!l->profile->ip_mtu(ib_mtu_octets(rec->mtu_code))) {
		path_unfit(p, rec, now);
		return;
	}
	p->status = 0;
	p->ah_refused = false;
	p->rec = *rec;
	path_attr(p, &attr);
	if (ib_mtu_octets(rec->mtu_code) < ib_mtu_octets(l->group_rec.mtu_code))
		ipoib_log(l, LOG_LVL_WARN, "path to %s: MTU %u below the link's %u",
			  print_gid(gid, sizeof(gid), &p->gid), ib_mtu_octets(rec->mtu_code),
			  ib_mtu_octets(l->group_rec.mtu_code));
	if (ipoib_ah_same(&p->ah, &attr)) {
		path_ready(p, now);
		return;
	}
	if (!ipoib_path_usable(p))
		path_set_state(p, IPOIB_PATH_AH_WAIT, 0);
	ipoib_ah_request(l, &p->ah, IPOIB_AH_PATH, p->slot, &attr);
}

static void path_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	struct ipoib_path *p = container_of(w, struct ipoib_path, wait);

	if (status)
		path_refused(p, status, now);
	else
		path_resolved(p, rec, now);
}

static void path_ask(struct ipoib_path *p, enum ipoib_path_state meanwhile, ns_t now)
{
	struct ipoib_link *l = p->link;
	struct sac_path_key key = path_sac_key(p);
	struct ib_path_rec rec;
	int r;

	p->wait.tries = l->cfg.path_tries;
	r = sac_path_get(l->sac, &key, &p->wait, &rec, now);
	if (r && r != -EINPROGRESS) {
		path_refused(p, r, now);
		return;
	}
	path_set_state(p, meanwhile, 0);
	if (!r)
		path_resolved(p, &rec, now);
}

void ipoib_path_resolve(struct ipoib_path *p, ns_t now)
{
	if (p->state == IPOIB_PATH_NONE || (p->state == IPOIB_PATH_FAILED && now >= p->until))
		path_ask(p, IPOIB_PATH_QUERY, now);
}

void ipoib_path_verify(struct ipoib_path *p, ns_t now)
{
	if (p->state != IPOIB_PATH_STALE || now < p->until)
		return;
	p->link->stats.paths_refreshed++;
	path_ask(p, IPOIB_PATH_REFRESH, now);
}

void ipoib_path_ah_ready(struct ipoib_path *p, int err, ns_t now)
{
	if (!err) {
		path_ready(p, now);
		return;
	}
	p->ah_refused = true;
	ipoib_log(p->link, LOG_LVL_WARN, "address handle for LID %u: error %d", p->rec.dlid, -err);
	path_fail(p, now + ns_backoff(++p->ah_failures, IPOIB_BACKOFF_MIN, IPOIB_BACKOFF_MAX));
}

static bool path_has_held(const struct ipoib_path *p)
{
	const struct ipoib_neigh *n;

	list_for_each (n, &p->neighs, path_node)
		if (n->held.n)
			return true;
	return false;
}

/* Gives up the record and the address handle of the path. */
static void path_reset(struct ipoib_path *p)
{
	sac_path_cancel(&p->wait);
	ipoib_ah_drop(p->link, &p->ah);
	path_set_state(p, IPOIB_PATH_NONE, 0);
}

/* As path_reset(), but packets that wait for the path are held until the SA has answered again. */
static void path_renew(struct ipoib_path *p, ns_t now)
{
	path_reset(p);
	if (path_has_held(p))
		ipoib_path_resolve(p, now);
}

void ipoib_path_stale(struct ipoib_path *p, ns_t now)
{
	switch (p->state) {
	case IPOIB_PATH_READY:
	case IPOIB_PATH_REFRESH:
	case IPOIB_PATH_STALE:
		sac_path_cancel(&p->wait);
		p->ah.cookie = 0;
		path_set_state(p, IPOIB_PATH_STALE, 0);
		break;
	case IPOIB_PATH_AH_WAIT:
		path_renew(p, now);
		break;
	case IPOIB_PATH_FAILED:
		p->until = 0;
		break;
	default: /* NONE, QUERY: there is no path record yet */
		break;
	}
}

#define for_each_path(l, p)                                             \
	for (p = (l)->paths; p < (l)->paths + (l)->path_slots.top; p++) \
		if (p->link)

void ipoib_paths_stale(struct ipoib_link *l, ns_t now)
{
	struct ipoib_path *p;

	for_each_path(l, p) ipoib_path_stale(p, now);
}

void ipoib_paths_stale_gid(struct ipoib_link *l, const ib_gid *gid, ns_t now)
{
	struct hlink *h;

	h = htab_first(&l->path_tab, hash_siphash(&path_key, gid->raw, sizeof(gid->raw)));
	for (; h; h = htab_next(h)) {
		struct ipoib_path *p = container_of(h, struct ipoib_path, by_gid);

		if (ib_gid_equal(&p->gid, gid))
			ipoib_path_stale(p, now);
	}
}

void ipoib_paths_forget(struct ipoib_link *l, ns_t now)
{
	struct ipoib_path *p;

	for_each_path(l, p)
	{
		if (p->state != IPOIB_PATH_NONE && p->state != IPOIB_PATH_QUERY)
			path_renew(p, now);
	}
}

void ipoib_paths_reset(struct ipoib_link *l)
{
	struct ipoib_path *p;

	for_each_path(l, p)
	{
		struct ipoib_neigh *n;

		path_reset(p);
		list_for_each (n, &p->neighs, path_node)
			ipoib_hold_drop(l, &n->held, IPOIB_DROP_LINK_DOWN);
	}
}

void ipoib_paths_sweep(struct ipoib_link *l, uint32_t from, uint32_t to, ns_t now)
{
	for (uint32_t i = from; i < to && i < l->path_slots.top; i++) {
		struct ipoib_path *p = &l->paths[i];

		if (p->link && p->state == IPOIB_PATH_READY && now >= p->until)
			path_set_state(p, IPOIB_PATH_STALE, 0);
	}
}
