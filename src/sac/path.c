/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "sac/op.h"

/*
 * The path cache. An entry is PENDING while its query is queued or open; further callers wait for the same query.
 * The entry is VALID for SAC_PATH_TTL after the answer. After a failure the entry is FAILED until its back-off ends,
 * so that packets to an unknown port cause one query per back-off, not one query per packet.
 */

/*
 * The components of a path query are those that Linux uses (0x340c), and Reversible, because
 * packets travel in both directions.
 */
#define PATH_COMP_ASK                                                                \
	(PATH_COMP_DGID | PATH_COMP_SGID | PATH_COMP_TCLASS | PATH_COMP_REVERSIBLE | \
	 PATH_COMP_NUMB_PATH | PATH_COMP_PKEY)

#define SWEEP NS_SEC(30)

struct sac_path {
	struct hlink by_key;
	struct list lru;
	struct list waits;
	struct sac_op op;
	struct sac_path_key key;
	enum sac_path_state state;
	int status;
	unsigned int failures;
	ns_t until;
	struct ib_path_rec rec;
};

/*
 * Hashes the members of a key, but not its padding. The hash needs no secret against keys that are
 * chosen to collide, because the number of entries is limited.
 */
static uint64_t key_hash(const struct sac_path_key *k)
{
	static const struct hash_key hk = { 0x7361632070617468ull, 1 };
	uint8_t b[35];

	memcpy(b, k->sgid.raw, 16);
	memcpy(b + 16, k->dgid.raw, 16);
	be16_put(b + 32, k->pkey);
	b[34] = k->tclass;
	return hash_siphash(&hk, b, sizeof(b));
}

static bool key_equal(const struct sac_path_key *a, const struct sac_path_key *b)
{
	return ib_gid_equal(&a->dgid, &b->dgid) && ib_gid_equal(&a->sgid, &b->sgid) &&
	       a->pkey == b->pkey && a->tclass == b->tclass;
}

static struct sac_path *path_find(const struct sac *s, const struct sac_path_key *key)
{
	struct hlink *n;

	for (n = htab_first(&s->path_tab, key_hash(key)); n; n = htab_next(n)) {
		struct sac_path *p = container_of(n, struct sac_path, by_key);

		if (key_equal(&p->key, key))
			return p;
	}
	return NULL;
}

static void path_free(struct sac *s, struct sac_path *p)
{
	sac_op_cancel(&p->op);
	htab_del(&s->path_tab, &p->by_key);
	list_del(&p->lru);
	s->npaths--;
	free(p);
}

/*
 * Calls the callers that wait for the path. Their callbacks may call any function of this client,
 * so the cache entry may have been freed when this function returns.
 */
static void path_call(struct list *waits, int status, const struct ib_path_rec *rec, ns_t now)
{
	while (!list_empty(waits)) {
		struct sac_path_wait *w = list_first(waits, struct sac_path_wait, link);

		list_del(&w->link);
		w->waiting = false;
		w->done(w, status, rec, now);
	}
}

static void list_take(struct list *dst, struct list *src)
{
	while (!list_empty(src)) {
		struct list *n = src->next;

		list_del(n);
		list_add_tail(dst, n);
	}
}

static void path_outcome_set(struct sac *s, struct sac_path *p, int status, ns_t now)
{
	p->status = status;
	p->state = status ? SAC_PATH_FAILED : SAC_PATH_VALID;
	p->failures = status ? p->failures + 1 : 0;
	p->until = now + (status ? sac_backoff(s, p->failures, status) : SAC_PATH_TTL);
	list_del(&p->lru);
	list_add_tail(&s->paths, &p->lru);
	if (!timer_armed(&s->path_sweep))
		timer_arm(s->timers, &s->path_sweep, now + SWEEP);
}

/*
 * Checks that the answer is about the port of the query. Only GUIDs are compared, because the SA
 * may fill in the subnet prefix.
 */
static int path_rec_check(const struct sac_path *p, const struct ib_path_rec *rec)
{
	if (!ib_lid_is_unicast(rec->dlid))
		return -EBADMSG;
	if (ib_gid_guid(&rec->dgid) != ib_gid_guid(&p->key.dgid))
		return -EBADMSG;
	return 0;
}

static void path_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_path *p = container_of(op, struct sac_path, op);
	struct list waits = LIST_INIT(waits);
	struct sac *s = op->sac;
	struct ib_path_rec rec;

	if (!status)
		status = ib_path_rec_decode(&rec, resp->data, resp->data_len);
	if (!status)
		status = path_rec_check(p, &rec);
	if (!status)
		p->rec = rec;
	path_outcome_set(s, p, status, now);
	list_take(&waits, &p->waits);
	path_call(&waits, status, status ? NULL : &rec, now);
}

static void path_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_path *p = container_of(op, struct sac_path, op);
	struct ib_path_rec rec = {
		.dgid = p->key.dgid,
		.sgid = p->key.sgid,
		.tclass = p->key.tclass,
		.pkey = p->key.pkey,
		.reversible = true,
		.numb_path = 1,
	};

	sac_op_headers(op, mad, MAD_METHOD_GET, SA_ATTR_PATH_RECORD, PATH_COMP_ASK);
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
}

/* Frees the entry with the oldest answer, to make room for another path. */
static int path_evict(struct sac *s)
{
	if (list_empty(&s->paths))
		return -ENOBUFS;
	path_free(s, list_first(&s->paths, struct sac_path, lru));
	return 0;
}

void sac_paths_room(struct sac *s, int n)
{
	s->needed += (unsigned int)n;
}

static bool is_full(const struct sac *s)
{
	return s->npaths >= SAC_MAX_PATHS && s->npaths >= s->needed;
}

static struct sac_path *path_new(struct sac *s, const struct sac_path_key *key)
{
	struct sac_path *p;

	if (is_full(s) && path_evict(s))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = *key;
	list_init(&p->waits);
	if (htab_add(&s->path_tab, &p->by_key, key_hash(key))) {
		free(p);
		return NULL;
	}
	list_add_tail(&s->pending, &p->lru);
	s->npaths++;
	return p;
}

/* Asks the SA for a path. The member .tries of the first caller that waits for the path sets the number of tries. */
static void path_ask(struct sac *s, struct sac_path *p, ns_t now)
{
	p->op.tries = list_empty(&p->waits)
			      ? (struct sac_tries){ 0 }
			      : list_first(&p->waits, struct sac_path_wait, link)->tries;
	if (p->state != SAC_PATH_PENDING) {
		list_del(&p->lru);
		list_add_tail(&s->pending, &p->lru);
	}
	p->state = SAC_PATH_PENDING;
	p->op.fill = path_fill;
	p->op.done = path_done;
	s->stats.path_queries++;
	sac_op_submit(s, &p->op, false, now);
}

int sac_path_get(struct sac *s, const struct sac_path_key *key, struct sac_path_wait *w,
		 struct ib_path_rec *ret, ns_t now)
{
	struct sac_path *p;

	if (!sac_usable(s))
		return -ENETDOWN;
	p = path_find(s, key);
	if (p && p->state == SAC_PATH_VALID && now < p->until) {
		s->stats.path_hits++;
		*ret = p->rec;
		return 0;
	}
	if (p && p->state == SAC_PATH_FAILED && now < p->until) {
		s->stats.path_failed_hits++;
		return p->status;
	}
	if (!p)
		p = path_new(s, key);
	if (!p)
		return -ENOBUFS;
	w->waiting = true;
	list_add_tail(&p->waits, &w->link);
	if (p->state != SAC_PATH_PENDING || !p->op.active)
		path_ask(s, p, now);
	return -EINPROGRESS;
}

void sac_path_cancel(struct sac_path_wait *w)
{
	if (!w->waiting)
		return;
	w->waiting = false;
	list_del(&w->link); /* the query goes on without a caller, and its answer is cached */
}

ns_t sac_path_until(const struct sac *s, const struct sac_path_key *key, ns_t now)
{
	const struct sac_path *p = path_find(s, key);

	return p && p->state == SAC_PATH_VALID && p->until > now ? p->until : now;
}

void sac_paths_forget_gid(struct sac *s, const ib_gid *dgid)
{
	struct sac_path *p, *tmp;

	list_for_each_safe (p, tmp, &s->paths, lru) {
		if (ib_gid_equal(&p->key.dgid, dgid))
			path_free(s, p);
	}
}

void sac_paths_restart(struct sac *s, ns_t now)
{
	struct list waits = LIST_INIT(waits);
	struct sac_path *p, *tmp;

	while (!list_empty(&s->paths))
		path_free(s, list_first(&s->paths, struct sac_path, lru));
	list_for_each_safe (p, tmp, &s->pending, lru) {
		sac_op_cancel(&p->op);
		if (list_empty(&p->waits)) {
			path_free(s, p);
		} else if (sac_usable(s)) {
			path_ask(s, p, now);
		} else {
			list_take(&waits, &p->waits);
			path_free(s, p);
		}
	}
	path_call(&waits, -ENETDOWN, NULL, now);
}

void sac_paths_hurry(struct sac *s)
{
	struct sac_path *p;

	list_for_each (p, &s->paths, lru) {
		if (p->state == SAC_PATH_FAILED && sac_status_is_outage(p->status))
			p->until = 0;
	}
}

static void path_sweep(struct timer *t, ns_t now)
{
	struct sac *s = container_of(t, struct sac, path_sweep);
	struct sac_path *p, *tmp;

	/*
	 * A failed entry is kept for some time after its back-off, so that the next back-off can be
	 * twice as long.
	 */
	list_for_each_safe (p, tmp, &s->paths, lru) {
		if (p->until + SAC_BACKOFF_MAX < now)
			path_free(s, p);
	}
	if (s->npaths)
		timer_arm(s->timers, t, now + SWEEP);
}

void sac_paths_init(struct sac *s)
{
	list_init(&s->paths);
	list_init(&s->pending);
	timer_init(&s->path_sweep, path_sweep);
}

static void paths_free(struct sac *s, struct list *paths)
{
	struct sac_path *p, *tmp;

	list_for_each_safe (p, tmp, paths, lru) {
		struct sac_path_wait *w, *wtmp;

		list_for_each_safe (w, wtmp, &p->waits, link) {
			sac_path_cancel(w);
		}
		path_free(s, p);
	}
}

void sac_paths_fini(struct sac *s)
{
	paths_free(s, &s->paths);
	paths_free(s, &s->pending);
	timer_cancel(s->timers, &s->path_sweep);
	htab_fini(&s->path_tab);
}

struct path_walk {
	void (*fn)(void *ctx, const struct sac_path_info *i);
	void *ctx;
};

static void visit_path(void *ctx, struct hlink *n)
{
	const struct sac_path *p = container_of(n, struct sac_path, by_key);
	const struct path_walk *walk = ctx;
	struct sac_path_info i = {
		.key = p->key,
		.state = p->state,
		.status = p->status,
		.rec = p->rec,
		.until = p->until,
	};
	const struct list *w;

	for (w = p->waits.next; w != &p->waits; w = w->next)
		i.waiters++;
	walk->fn(walk->ctx, &i);
}

bool sac_path_some(const struct sac *s, uint64_t *at, unsigned int *n,
		   void (*fn)(void *ctx, const struct sac_path_info *i), void *ctx)
{
	struct path_walk walk = { fn, ctx };

	return htab_some(&s->path_tab, at, n, visit_path, &walk);
}
