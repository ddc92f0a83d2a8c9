/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>

/*
 * Unicast routes. For each LID of an end port, every switch in the same part of the fabric must
 * lead packets to the LID. The check takes one LID at a time and looks at each switch once. When a
 * route comes to a switch that was examined before, the rest of the route is known already.
 */

#define EXAMPLES 3 /* largest number of LIDs that one finding lists */
#define LOOPS_MAX 64 /* largest number of different loops that are reported */

/*
 * ON_WAY: the search has reached the switch but not yet the end of the route; OVER: all faults on
 * the route from this switch to the LID are recorded
 */
enum verdict { UNSEEN, ON_WAY, OVER };

/* LFT entries of one switch that have the same fault */
struct wrong {
	uint32_t count;
	uint16_t lid[EXAMPLES];
	/*
	 * egress port in the first entry with the fault; used only for routes that do not reach the
	 * LID
	 */
	uint8_t port;
	const char *why;
};

struct loop {
	uint64_t hash;
	uint32_t count;
	uint16_t lid; /* first LID whose route has this loop */
	uint32_t sw; /* index of a switch in the loop */
};

struct walk {
	struct chk *c;
	uint8_t *verdict; /* by node index: enum verdict of each switch for .lid */
	struct wrong *hole, *apart, *dead; /* arrays, by node index */
	bool *has_cas; /* by index in .c->sw: true if CAs are connected to the switch */
	bool from_ca; /* true if packets of CAs take the route that is being followed */
	struct loop loop[LOOPS_MAX];
	unsigned int nloops;
	uint32_t more_loops;
	unsigned int lid;
	struct chk_owner to;
	const struct chk_node *last; /* switch to which the owner of the LID is connected */
	uint8_t exit; /* port of .last to which the owner is connected */
};

static void note_wrong(const struct walk *w, struct wrong *x, uint8_t port, const char *why)
{
	if (!x->count) {
		x->port = port;
		x->why = why;
	}
	if (x->count < EXAMPLES)
		x->lid[x->count] = (uint16_t)w->lid;
	x->count++;
}

static void note_dead(struct walk *w, const struct chk_node *n, uint8_t port, const char *why)
{
	note_wrong(w, &w->dead[n->index], port, why);
}

static uint8_t entry(const struct chk_node *n, unsigned int lid)
{
	return lid < n->sw->lft_len ? n->sw->lft[lid] : SMP_LFT_NONE;
}

/*
 * Find the switch to which @n sends packets to the LID. Return: NULL in these cases:
 * - The packets have arrived.
 * - @n loses the packets. This function records the fault.
 * - The LFT entry, or the node behind the egress port, was not read.
 */
static const struct chk_node *step(struct walk *w, const struct chk_node *n)
{
	const struct chk_port *p;
	const struct chk_node *next;
	uint8_t out;

	if (!n->sw->lft)
		return NULL;
	out = entry(n, w->lid);
	if (n == w->last && out == w->exit)
		return NULL;
	if (out == SMP_LFT_NONE) {
		if (n->sw->lft_gaps)
			return NULL;
		if (w->from_ca || !w->to.node->sw)
			note_wrong(w, &w->hole[n->index], 0, NULL);
		else
			note_wrong(w, &w->apart[n->index], 0, NULL);
		return NULL;
	}
	p = &n->port[out <= n->nports ? out : 0];
	next = out ? chk_peer(w->c->f, p) : NULL;
	if (out > n->nports)
		note_dead(w, n, out, "which the switch does not have");
	else if (!out)
		note_dead(w, n, out, "the switch itself, which has another LID");
	else if (!next && !p->mute)
		note_dead(w, n, out, "which has no link");
	else if (!chk_carries(w->c->f, p) && !p->mute)
		note_dead(w, n, out, "which is not Active");
	else if (next && !next->sw)
		note_dead(w, n, out, "where a CA is that has another LID");
	else
		return next;
	return NULL;
}

/* --- loops */

static void note_loop(struct walk *w, const struct chk_node *at)
{
	static const struct hash_key key = { 0x6c6f6f70, 0x6c6674 };
	const struct chk_node *n = at;
	uint64_t hash = 0;

	/*
	 * A loop is identified by the sum of the hashes of its LFT entries. This sum does not
	 * depend on the switch at which the search enters the loop.
	 */
	do {
		uint32_t id = n->index << 8 | entry(n, w->lid);

		hash += hash_siphash(&key, &id, sizeof(id));
		n = chk_peer(w->c->f, &n->port[entry(n, w->lid)]);
	} while (n != at);
	for (unsigned int i = 0; i < w->nloops; i++)
		if (w->loop[i].hash == hash) {
			w->loop[i].count++;
			return;
		}
	if (w->nloops == LOOPS_MAX)
		w->more_loops++;
	else
		w->loop[w->nloops++] = (struct loop){ hash, 1, (uint16_t)w->lid, at->index };
}

static void name_owner(const struct chk *c, struct text *t, unsigned int lid)
{
	text_add(t, "%u (", lid);
	chk_name_port(t, c->by_lid[lid].node, c->by_lid[lid].port->num);
	text_add(t, ")");
}

static void report_loop(const struct walk *w, const struct loop *l)
{
	const struct chk_node *at = w->c->f->node[l->sw], *n = at;
	char where[CHK_WHERE_MAX] = "", lid[CHK_WHERE_MAX] = "";
	struct text t = TEXT_IN(where), u = TEXT_IN(lid);

	do {
		uint8_t out = entry(n, l->lid);

		text_add(&t, "%s", t.len ? " > " : "");
		chk_name_port(&t, n, out);
		n = chk_peer(w->c->f, &n->port[out]);
	} while (n != at);
	name_owner(w->c, &u, l->lid);
	chk_add_where(w->c, CHK_LFT_LOOP, where, 0,
		      "packets to %u LID%s go round in a circle: %s%s", l->count, text_s(l->count),
		      lid, l->count > 1 ? ", ..." : "");
}

/* --- one LID */

static void follow(struct walk *w, const struct chk_node *from)
{
	const struct chk_node *n;

	for (n = from; n && w->verdict[n->index] == UNSEEN; n = step(w, n))
		w->verdict[n->index] = ON_WAY;
	if (n && w->verdict[n->index] == ON_WAY)
		note_loop(w, n);
	/*
	 * Visit the switches on the route once more, by their LFT entries, but not by step(), which
	 * would record the switches' faults a second time.
	 */
	for (n = from; n && w->verdict[n->index] == ON_WAY;) {
		uint8_t out = n->sw->lft ? entry(n, w->lid) : 0;

		w->verdict[n->index] = OVER;
		n = out && out <= n->nports ? chk_peer(w->c->f, &n->port[out]) : NULL;
	}
}

/*
 * Find the end of all routes to the LID. Store the last switch in w->last, and its egress port to
 * the owner of the LID in w->exit.
 * - If the owner is a switch, the last switch is the owner itself, and the port is 0.
 * - Otherwise the last switch is the switch to which the owner is connected.
 * Return: false if the owner is connected to no switch
 */
static bool find_last(struct walk *w)
{
	const struct chk_node *n = w->to.node;
	const struct chk_port *p = w->to.port;

	if (n->sw) {
		w->last = n;
		w->exit = 0;
		return true;
	}
	if (!chk_carries(w->c->f, p))
		return false;
	w->last = chk_peer(w->c->f, p);
	w->exit = p->peer_port;
	return w->last->sw;
}

static void one_lid(struct walk *w)
{
	const struct chk *c = w->c;

	if (!find_last(w))
		return;
	for (uint32_t i = 0; i < c->nsw; i++)
		w->verdict[c->sw[i]->index] = UNSEEN;
	/*
	 * A missing LFT entry is recorded only once, for the first route that comes to it. So
	 * follow the routes that packets of CAs take first: a missing entry on such a route is the
	 * worse fault.
	 */
	for (int ca = 1; ca >= 0; ca--) {
		w->from_ca = ca;
		for (uint32_t i = 0; i < c->nsw; i++)
			if (w->has_cas[i] == w->from_ca &&
			    c->part[c->sw[i]->index] == c->part[w->last->index])
				follow(w, c->sw[i]);
	}
}

/* --- the report */

static void lids_text(const struct walk *w, const struct wrong *x, struct text *t)
{
	for (unsigned int i = 0; i < EXAMPLES && i < x->count; i++) {
		text_add(t, "%s", i ? ", " : "");
		name_owner(w->c, t, x->lid[i]);
	}
	if (x->count > EXAMPLES)
		text_add(t, ", ...");
}

static void report_holes(const struct walk *w, const struct chk_node *n, enum chk_kind kind,
			 const struct wrong *x)
{
	char lids[256] = "";
	struct text t = TEXT_IN(lids);

	if (!x->count)
		return;
	lids_text(w, x, &t);
	chk_add(w->c, kind, n, -1, 0, "has no route to %u LID%s: %s", x->count, text_s(x->count),
		lids);
}

static void report_dead(const struct walk *w, const struct chk_node *n, const struct wrong *x)
{
	char lids[256] = "";
	struct text t = TEXT_IN(lids);

	if (!x->count)
		return;
	lids_text(w, x, &t);
	chk_add(w->c, CHK_LFT_DEAD_END, n, -1, 0,
		"sends packets to %u LID%s to a wrong place, the first of them to port %u, %s: %s",
		x->count, text_s(x->count), x->port, x->why, lids);
}

static void report(struct walk *w)
{
	const struct chk_fabric *f = w->c->f;

	for (unsigned int i = 0; i < w->nloops; i++)
		report_loop(w, &w->loop[i]);
	if (w->more_loops)
		chk_add_where(w->c, CHK_LFT_LOOP, "the fabric", 0, "%u more loops", w->more_loops);
	for (uint32_t i = 0; i < f->n; i++) {
		report_holes(w, f->node[i], CHK_LFT_HOLE, &w->hole[i]);
		report_holes(w, f->node[i], CHK_LFT_HOLE_APART, &w->apart[i]);
		report_dead(w, f->node[i], &w->dead[i]);
	}
}

static bool prepare(struct walk *w)
{
	const struct chk *c = w->c;

	w->verdict = calloc(c->f->n + 1, 1);
	w->hole = calloc(c->f->n + 1, sizeof(*w->hole));
	w->apart = calloc(c->f->n + 1, sizeof(*w->apart));
	w->dead = calloc(c->f->n + 1, sizeof(*w->dead));
	w->has_cas = calloc(c->nsw + 1, sizeof(*w->has_cas));
	if (!w->verdict || !w->hole || !w->apart || !w->dead || !w->has_cas)
		return false;
	for (uint32_t i = 0; i < c->nsw; i++)
		w->has_cas[i] = chk_has_cas(c, c->sw[i]);
	return true;
}

void chk_lft(struct chk *c)
{
	struct walk w = { .c = c };

	if (prepare(&w)) {
		for (w.lid = 1; w.lid < IB_LID_MCAST_MIN; w.lid++) {
			w.to = c->by_lid[w.lid];
			if (w.to.node)
				one_lid(&w);
		}
		report(&w);
	} else {
		c->no_memory = true;
	}
	free(w.verdict);
	free(w.hole);
	free(w.apart);
	free(w.dead);
	free(w.has_cas);
}
