/* SPDX-License-Identifier: BSD-2-Clause */
#include "survey/survey.h"

#include <stdlib.h>

#include "check/check.h"
#include "survey/priv.h"

struct survey_cfg survey_cfg_default(void)
{
	return (struct survey_cfg){
		.window = 16,
		.per_second = 2000,
		.patience = NS_SEC(5),
		.within = NS_SEC(3600),
		.counters = true,
		.counter_ms = 3000,
		.octets_max = CHK_OCTETS_MAX,
	};
}

struct survey_cfg survey_cfg_again(const struct survey_cfg *cfg)
{
	struct survey_cfg again = *cfg;

	again.counter_ms = 0;
	return again;
}

struct survey *survey_create(const struct survey_cfg *cfg)
{
	struct survey *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->f = chk_fabric_create(cfg->octets_max);
	if (!s->f) {
		free(s);
		return NULL;
	}
	ask_add(s, ASK_NODE_INFO, CHK_NO_NODE, 0, 1, 0);
	return s;
}

static void drop_first(struct survey *s)
{
	struct task *t = s->first;

	s->first = t->next;
	s->ntasks--;
	free(t);
}

void survey_free(struct survey *s)
{
	if (!s)
		return;
	while (s->first)
		drop_first(s);
	chk_fabric_free(s->f);
	free(s);
}

/* --- phases */

static void add_lft(struct survey *s, const struct chk_node *n)
{
	if (n->sw && n->sw->known)
		ask_add(s, ASK_LFT, n->index, 0, n->sw->si.lft_top / SMP_LFT_PER_BLOCK + 1u, 0);
}

static void add_mft(struct survey *s, const struct chk_node *n)
{
	const struct chk_switch *sw = n->sw;
	uint32_t blocks;
	uint16_t top;

	if (!sw || !sw->known)
		return;
	top = sw->si.mft_top;
	if (!(n->port[0].pi.cap_mask & SMP_CAP_IS_MFT_TOP) ||
	    (!ib_lid_is_mcast(top) && top != IB_LID_MCAST_MIN - 1))
		top = (uint16_t)(IB_LID_MCAST_MIN - 1 +
				 (sw->si.mft_cap < CHK_MLIDS ? sw->si.mft_cap : CHK_MLIDS));
	blocks = (top - IB_LID_MCAST_MIN + SMP_MFT_PER_BLOCK) / SMP_MFT_PER_BLOCK;
	if (blocks)
		ask_add(s, ASK_MFT, n->index, 0, blocks * (n->nports / 16 + 1u), blocks);
	else
		n->sw->mft_known = true;
}

static void add_pkeys(struct survey *s, const struct chk_node *n)
{
	for (unsigned int p = 0; p <= n->nports; p++) {
		const struct chk_port *port = &n->port[p];
		unsigned int cap = chk_is_end(n, port) ? n->pkey_cap
				   : n->sw	       ? n->sw->si.enforce_cap
						       : 0;
		bool enforces = port->pi.part_enforce_in || port->pi.part_enforce_out;

		if (cap && port->known &&
		    (chk_is_end(n, port) || (enforces && chk_peer(s->f, port))))
			ask_add(s, ASK_PKEYS, n->index, (uint8_t)p,
				(cap + SMP_PKEYS_PER_BLOCK - 1) / SMP_PKEYS_PER_BLOCK, 0);
	}
}

static void add_managers(struct survey *s, const struct chk_node *n)
{
	for (unsigned int p = 0; p <= n->nports; p++) {
		const struct chk_port *port = &n->port[p];

		if (chk_is_end(n, port) && port->known && port->pi.cap_mask & SMP_CAP_IS_SM)
			ask_add(s, ASK_SM_INFO, n->index, (uint8_t)p, 1, 0);
	}
}

static void add_counters(struct survey *s, const struct chk_node *n)
{
	if (n->sw)
		ask_add(s, ASK_COUNTERS, n->index, 1, n->nports, 0);
	for (unsigned int p = 1; !n->sw && p <= n->nports; p++)
		if (n->port[p].known)
			ask_add(s, ASK_COUNTERS, n->index, (uint8_t)p, 1, 0);
}

/*
 * Queue reads of SLtoVL tables. A large switch has a thousand SLtoVL tables, one for each pair of
 * ports, so only the tables that decide whether there is a credit loop are read.
 */
static void add_lanes(struct survey *s)
{
	struct chk_wait w[CHK_WAITS_MAX];
	uint32_t n = chk_credit_waits(s->f, w);

	for (uint32_t i = 0; i < n; i++) {
		ask_add(s, ASK_SLTOVL, w[i].hold.node, w[i].hold.out, 1, w[i].hold.in);
		ask_add(s, ASK_SLTOVL, w[i].want.node, w[i].want.out, 1, w[i].want.in);
	}
}

/* Begin the next phase. */
static void advance(struct survey *s, ns_t now)
{
	switch (s->phase++) {
	case DISCOVER:
		answer_twins(s);
		for (uint32_t i = 0; s->cfg.counters && i < s->f->n; i++)
			add_counters(s, s->f->node[i]);
		return;
	case COUNT:
		s->counted = now;
		for (uint32_t i = 0; i < s->f->n; i++) {
			add_lft(s, s->f->node[i]);
			add_pkeys(s, s->f->node[i]);
			add_managers(s, s->f->node[i]);
		}
		return;
	case TABLES:
		return;
	case WAIT:
		for (uint32_t i = 0; s->cfg.counters && i < s->f->n; i++)
			add_counters(s, s->f->node[i]);
		return;
	case COUNT_AGAIN:
		for (uint32_t i = 0; i < s->f->n; i++)
			add_mft(s, s->f->node[i]);
		return;
	case GROUPS:
		add_lanes(s);
		return;
	default:
		s->phase = DONE;
		return;
	}
}

/* End the survey, because its time limit has passed. Tables without an answer stay unknown. */
static void stop(struct survey *s)
{
	for (unsigned int i = 0; i < s->cfg.window; i++) {
		struct open *o = &s->open[i];

		if (o->used && o->node != CHK_NO_NODE)
			answer_unknown(s, o->ask, o->node, o->port);
		o->used = false;
	}
	s->nopen = 0;
	while (s->first) {
		answer_unasked(s, s->first);
		drop_first(s);
	}
	if (s->phase == DISCOVER)
		answer_twins(s);
	s->phase = DONE;
	s->f->late = true;
}

static ns_t wait_until(const struct survey *s)
{
	return s->cfg.counters ? s->counted + NS_MSEC(s->cfg.counter_ms) : 0;
}

/* --- requests */

static struct open *free_slot(struct survey *s, unsigned int *ret_slot)
{
	for (unsigned int i = 0; i < s->cfg.window; i++)
		if (!s->open[i].used) {
			*ret_slot = i;
			return &s->open[i];
		}
	return NULL;
}

/* Build the next request of the first task. Return: false if the request is not needed */
static bool make(struct survey *s, struct survey_mad *ret, ns_t now)
{
	struct task *t = s->first;
	unsigned int slot = 0;
	struct open *o = free_slot(s, &slot);
	bool asked;

	*o = (struct open){
		.tid = s->seq << 8 | slot,
		.node = t->node,
		.step = t->step,
		.blocks = t->blocks,
		.port = (uint8_t)(t->port + (t->ask == ASK_PORT_INFO || t->ask == ASK_COUNTERS
						     ? t->step
						     : 0)),
		.ask = t->ask,
		.until = now + s->cfg.patience,
	};
	asked = ask_fill(s, o, ret);
	if (++t->step == t->count)
		drop_first(s);
	if (!asked) {
		if (o->ask == ASK_NODE_INFO) { /* the node is beyond the reach of directed routes */
			answer_unknown(s, o->ask, o->node, o->port);
			s->f->cut = true;
		}
		return false;
	}
	o->used = true;
	s->nopen++;
	s->seq++;
	s->st.sent++;
	return true;
}

static void expire(struct survey *s, ns_t now)
{
	for (unsigned int i = 0; s->nopen && i < s->cfg.window; i++) {
		struct open *o = &s->open[i];

		if (!o->used || o->again || o->until > now)
			continue;
		o->used = false;
		s->nopen--;
		s->st.lost++;
		answer_none(s, o, 0);
	}
}

/* Build a repetition of a request that a busy agent has discarded. Return: false if no repetition is due yet */
static bool repeat(struct survey *s, struct survey_mad *ret, ns_t now)
{
	for (unsigned int i = 0; s->nopen && i < s->cfg.window; i++) {
		struct open *o = &s->open[i];

		if (!o->used || !o->again || o->again > now)
			continue;
		o->again = 0;
		o->until = now + s->cfg.patience;
		s->st.sent++;
		return ask_fill(s, o, ret);
	}
	return false;
}

/*
 * Compute when the rate limit allows the next request. If the survey has sent more slowly than the
 * limit allows, it may make up for at most one window of requests. Return: true, which the caller
 * returns in turn
 */
static bool paced(struct survey *s, ns_t now)
{
	const ns_t every = NS_SEC(1) / s->cfg.per_second, late = every * (s->cfg.window - 1);

	s->not_before = ns_max(s->not_before, now > late ? now - late : 0) + every;
	return true;
}

bool survey_next(struct survey *s, struct survey_mad *ret, ns_t now)
{
	if (!s->end)
		s->end = now + s->cfg.within;
	if (now >= s->end && s->phase != DONE)
		stop(s);
	expire(s, now);
	if (now >= s->not_before && repeat(s, ret, now))
		return paced(s, now);
	for (;;) {
		while (!s->first && !s->nopen && s->phase != DONE) {
			if (s->phase == WAIT && now < wait_until(s))
				return false;
			advance(s, now);
		}
		if (!s->first || s->nopen == s->cfg.window || now < s->not_before)
			return false;
		if (make(s, ret, now))
			return paced(s, now);
	}
}

ns_t survey_deadline(const struct survey *s)
{
	ns_t at = NS_NEVER;

	if (s->phase == DONE)
		return NS_NEVER;
	for (unsigned int i = 0; s->nopen && i < s->cfg.window; i++)
		if (s->open[i].used)
			at = ns_min(at, s->open[i].again ? ns_max(s->open[i].again, s->not_before)
							 : s->open[i].until);
	if (s->first && s->nopen < s->cfg.window)
		at = ns_min(at, s->not_before);
	if (!s->first && !s->nopen)
		at = s->phase == WAIT ? wait_until(s) : 0;
	return s->end ? ns_min(at, s->end) : at;
}

/* --- answers */

/*
 * Return the open request to which a MAD belongs. The MAD is the answer, or it is the request
 * itself, for which the transport no longer expects an answer. NULL: there is no such request
 */
static struct open *find_open(struct survey *s, const uint8_t *mad)
{
	uint32_t tid = (uint32_t)mad_tid(mad);
	struct open *o = &s->open[(tid & 0xff) < s->cfg.window ? tid & 0xff : 0];

	return o->used && !o->again &&
			       survey_fits(mad, o->qpn ? MAD_CLASS_PERF : MAD_CLASS_SM_DR, o->tid,
					   o->attr, o->mod)
		       ? o
		       : NULL;
}

#define BUSY_MAX 3
#define BUSY_PAUSE NS_MSEC(200)

/*
 * Schedule the repetition of a request to which an agent answered that it is busy. Return: false if
 * the agent has answered so BUSY_MAX times already
 */
static bool wait_for_busy(struct survey *s, struct open *o, ns_t now)
{
	if (o->busy == BUSY_MAX)
		return false;
	o->again = now + (BUSY_PAUSE << o->busy++);
	s->st.busy++;
	return true;
}

static void close_open(struct survey *s, struct open *o)
{
	o->used = false;
	s->nopen--;
}

void survey_recv(struct survey *s, const void *mad, size_t len, ns_t now)
{
	struct open *o = len == MAD_LEN ? find_open(s, mad) : NULL;
	uint16_t status;

	s->now = now;
	if (!o || mad_method(mad) != MAD_METHOD_GET_RESP) {
		s->st.unexpected++;
		return;
	}
	status = mad_status(mad) & (uint16_t)~MAD_STATUS_DR_D;
	if (status & MAD_STATUS_BUSY && wait_for_busy(s, o, now))
		return;
	close_open(s, o);
	s->st.answered++;
	if (status) {
		s->st.refused++;
		answer_none(s, o, status);
		return;
	}
	answer(s, o, (const uint8_t *)mad + SMP_DATA_OFF);
}

void survey_lost(struct survey *s, const void *mad, size_t len, ns_t now)
{
	struct open *o = len >= MAD_HDR_LEN ? find_open(s, mad) : NULL;

	(void)now;
	if (!o)
		return;
	close_open(s, o);
	s->st.lost++;
	answer_none(s, o, 0);
}

/* --- the result */

bool survey_done(const struct survey *s)
{
	return s->phase == DONE;
}

const struct survey_stats *survey_stats(const struct survey *s)
{
	return &s->st;
}

struct chk_fabric *survey_take(struct survey *s)
{
	struct chk_fabric *f = s->f;

	s->f = NULL;
	return f;
}
