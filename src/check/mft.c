/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <stdlib.h>

/*
 * Checks multicast routes. For each MLID, the port masks of the switches make a directed graph: a
 * link is an edge if the switch at one end sends packets of the MLID over the link.
 *
 * Over some links the switches at both ends send. Switches that are connected by such links form an
 * island. The links of an island must form a tree; otherwise packets circle in the island.
 *
 * A link over which only one switch sends leads from one island to another. OpenSM makes such links
 * from switches whose members are all send-only members. All receivers must be in one island, and
 * packets must not circle between islands.
 */

struct island {
	uint32_t first; /* index of a switch in the island */
	/* number of receivers: CAs and ports 0 of switches to which the MFTs send the MLID */
	uint32_t receivers;
	uint32_t leads_to; /* index of the island to which packets leave this island, or NOWHERE */
	const struct chk_node *sw; /* a switch that has a receiver */
	uint8_t port; /* port of .sw to which the receiver is connected; 0: the receiver is the switch itself */
	const struct chk_node *out; /* switch and port by which packets leave for another island */
	uint8_t out_port;
	/*
	 * island that packets from this island reach in the end; UNKNOWN: not computed yet;
	 * NOWHERE: packets circle for ever
	 */
	uint32_t end;
};
#define NOWHERE UINT32_MAX
#define UNKNOWN (UINT32_MAX - 1)

struct tree {
	struct chk *c;
	unsigned int at; /* index of the MLID: the MLID minus 0xc000 */
	uint32_t *up; /* union-find over nodes, by node index */
	struct island *island; /* islands, by the node index of their root in .up */
	const struct chk_node **sw; /* switches that forward the MLID; .n entries */
	uint32_t n;
	bool looped; /* a loop was already reported for this MLID, and only one loop of an MLID is reported */
	bool complete; /* all MFTs were read */
};

static bool sends(const struct tree *t, const struct chk_node *n, unsigned int port)
{
	return chk_sends(n, t->at, port);
}

static bool any(const struct tree *t, const struct chk_node *n)
{
	const uint64_t *m = t->at < n->sw->mft_len ? n->sw->mft[t->at] : NULL;

	return m && (m[0] | m[1] | m[2] | m[3]);
}

/* Tell whether the whole MFT was read. If not, a bit that is not set proves nothing. */
static bool whole(const struct chk_node *n)
{
	return n->sw->mft_known && !n->sw->mft_gaps;
}

static uint32_t root(const struct tree *t, uint32_t i)
{
	while (t->up[i] != i) {
		t->up[i] = t->up[t->up[i]];
		i = t->up[i];
	}
	return i;
}

static unsigned int mlid(const struct tree *t)
{
	return IB_LID_MCAST_MIN + t->at;
}

static void loop(struct tree *t, const struct chk_node *n, unsigned int port)
{
	char where[CHK_WHERE_MAX] = "";
	struct text w = TEXT_IN(where);

	if (t->looped)
		return;
	t->looped = true;
	chk_name_link(&w, t->c->f, n, port);
	chk_add_where(t->c, CHK_MFT_LOOP, where, mlid(t),
		      "the links for MLID 0x%04x are no tree: this link closes a circle", mlid(t));
}

/* --- one port in a mask */

static void dead(struct tree *t, const struct chk_node *n, unsigned int port, const char *why)
{
	chk_add(t->c, CHK_MFT_DEAD_END, n, -1, mlid(t) << 8 | port,
		"sends MLID 0x%04x to port %u, %s", mlid(t), port, why);
}

/*
 * Tell whether packets that are sent to the port arrive at a switch that forwards them. If the packets are lost,
 * record the reason
 */
static bool to_switch(struct tree *t, const struct chk_node *n, unsigned int port)
{
	const struct chk_port *p = &n->port[port <= n->nports ? port : 0];
	const struct chk_node *m = chk_peer(t->c->f, p);

	if (port > n->nports)
		dead(t, n, port, "which the switch does not have");
	else if (!m && !p->mute)
		dead(t, n, port, "which has no link");
	else if (m && !chk_carries(t->c->f, p))
		dead(t, n, port, "which is not Active");
	else if (m && m->sw && whole(m) && !any(t, m))
		dead(t, n, port, "where a switch is that does not forward it");
	else
		return m && m->sw && any(t, m);
	return false;
}

static bool receives(const struct tree *t, const struct chk_node *n, unsigned int port)
{
	const struct chk_node *m;

	if (!port)
		return true;
	m = port <= n->nports ? chk_peer(t->c->f, &n->port[port]) : NULL;
	return m && !m->sw && chk_carries(t->c->f, &n->port[port]);
}

/*
 * Return: the lowest port from @from on that is in the switch's mask for the MLID; 256: there is
 * none
 */
static unsigned int next_port(const struct tree *t, const struct chk_node *n, unsigned int from)
{
	const uint64_t *mask = t->at < n->sw->mft_len ? n->sw->mft[t->at] : NULL;

	for (; mask && from < 256; from = (from / 64 + 1) * 64) {
		uint64_t left = mask[from / 64] >> (from % 64);

		if (left)
			return from + (unsigned int)__builtin_ctzll(left);
	}
	return 256;
}
#define each_port(p, t, n) \
	for (unsigned int p = next_port(t, n, 0); p < 256; p = next_port(t, n, p + 1))

static bool both_ways(const struct tree *t, const struct chk_node *n, unsigned int port)
{
	return sends(t, chk_peer(t->c->f, &n->port[port]), n->port[port].peer_port);
}

/* --- islands */

/* If @n and a neighbour send the MLID to each other over a link, merge their islands. */
static void join(struct tree *t, const struct chk_node *n)
{
	each_port(p, t, n)
	{
		const struct chk_node *m;
		uint32_t a, b;

		if (!p || !to_switch(t, n, p) || !both_ways(t, n, p))
			continue;
		m = chk_peer(t->c->f, &n->port[p]);
		/* Each link is examined from one of its ends only. */
		if (n->index > m->index || (n == m && p > n->port[p].peer_port))
			continue;
		a = root(t, n->index);
		b = root(t, m->index);
		if (a == b)
			loop(t, n, p);
		t->up[a] = b;
	}
}

static void count(struct tree *t, const struct chk_node *n)
{
	struct island *i = &t->island[root(t, n->index)];

	each_port(p, t, n)
	{
		const struct chk_node *m =
			p && p <= n->nports ? chk_peer(t->c->f, &n->port[p]) : NULL;

		if (receives(t, n, p)) {
			if (!i->receivers++) {
				i->sw = n;
				i->port = (uint8_t)p;
			}
		} else if (m && m->sw && any(t, m) && chk_carries(t->c->f, &n->port[p]) &&
			   !both_ways(t, n, p)) {
			/*
			 * This link makes packets arrive twice in two cases: both its ends are in
			 * the same island, or another link leads out of island @i already. The
			 * second case is reported only if the whole MFT of the switch at the other
			 * end was read. Otherwise that switch may send over this link, too, and the
			 * link may be inside the island.
			 */
			if (root(t, m->index) == root(t, n->index) ||
			    (i->leads_to != NOWHERE && whole(m)))
				loop(t, n, p);
			else if (whole(m)) {
				i->leads_to = root(t, m->index);
				i->out = n;
				i->out_port = (uint8_t)p;
			}
		}
	}
}

/*
 * Return: the island that packets from island @i reach in the end; NOWHERE: the packets circle. The
 * result is stored for each island on the way.
 */
static uint32_t end_of(struct tree *t, uint32_t i)
{
	uint32_t at = i, end;

	/*
	 * Assume that packets of an island circle until the search has found where they end. If the
	 * search comes back to the island, its packets really circle.
	 */
	while (t->island[at].end == UNKNOWN) {
		t->island[at].end = NOWHERE;
		if (t->island[at].leads_to == NOWHERE)
			t->island[at].end = at;
		else
			at = t->island[at].leads_to;
	}
	end = t->island[at].end;
	for (; i != at; i = t->island[i].leads_to)
		t->island[i].end = end;
	return end;
}

static void split(struct tree *t, const struct island *a, const struct island *b)
{
	char other[CHK_WHERE_MAX] = "";
	struct text w = TEXT_IN(other);

	chk_name_port(&w, b->sw, b->port);
	chk_add(t->c, CHK_MFT_SPLIT, a->sw, a->port, mlid(t),
		"gets packets with MLID 0x%04x, but none of those that come in at %s", mlid(t),
		other);
}

/*
 * Report packets that circle between islands. Report each island with receivers after the first
 * one, too. Between two islands packets go in at most one direction, so packets that start in one
 * of them do not reach the receivers in the other.
 */
static void islands(struct tree *t)
{
	const struct island *seen = NULL;

	for (uint32_t k = 0; k < t->n; k++) {
		const struct chk_node *n = t->sw[k];
		struct island *i = &t->island[n->index];

		if (root(t, n->index) != n->index)
			continue;
		if (end_of(t, n->index) == NOWHERE)
			loop(t, i->out, i->out_port);
		if (t->looped)
			return;
		if (!i->receivers)
			continue;
		if (seen && end_of(t, n->index) != end_of(t, seen->first))
			split(t, i, seen);
		else if (seen)
			split(t, seen->leads_to == NOWHERE ? i : seen,
			      seen->leads_to == NOWHERE ? seen : i);
		seen = seen ? seen : i;
	}
}

/* Collect the switches that forward the MLID, and make each of them an island. */
static void begin(struct tree *t)
{
	t->looped = false;
	t->n = 0;
	for (uint32_t k = 0; k < t->c->nsw; k++) {
		const struct chk_node *n = t->c->sw[k];

		if (!any(t, n))
			continue;
		t->sw[t->n++] = n;
		t->up[n->index] = n->index;
		t->island[n->index] =
			(struct island){ .first = n->index, .leads_to = NOWHERE, .end = UNKNOWN };
	}
}

static void one_mlid(struct tree *t)
{
	begin(t);
	for (uint32_t k = 0; k < t->n; k++)
		join(t, t->sw[k]);
	for (uint32_t k = 0; k < t->n; k++)
		count(t, t->sw[k]);
	if (!t->looped && t->complete)
		islands(t);
}

/* Tell whether all MFTs were read */
static bool complete(const struct chk *c)
{
	for (uint32_t k = 0; k < c->nsw; k++)
		if (!whole(c->sw[k]))
			return false;
	return true;
}

void chk_mft(struct chk *c)
{
	struct tree t = { .c = c, .complete = complete(c) };
	uint32_t most = 0;

	t.up = calloc(c->f->n + 1, sizeof(*t.up));
	t.island = calloc(c->f->n + 1, sizeof(*t.island));
	t.sw = calloc(c->nsw + 1, sizeof(*t.sw));
	if (!t.up || !t.island || !t.sw) {
		c->no_memory = true;
	} else {
		for (uint32_t k = 0; k < c->nsw; k++)
			most = c->sw[k]->sw->mft_len > most ? c->sw[k]->sw->mft_len : most;
		for (t.at = 0; t.at < most; t.at++)
			one_mlid(&t);
	}
	free(t.up);
	free(t.island);
	free(t.sw);
}
