/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

static int fail_plink(struct topo_parser *p, const struct topo_plink *l, const char *what)
{
	return topo_fail_at(p, l->file, l->line, "port %u of \"%s\": %s", l->port,
			    p->t->node[l->node]->name, what);
}

/*
 * Return the number of the first line that lists a cable of @port of @node, at either end of the
 * cable; 0 if there is no such line.
 */
static unsigned int said_on_line(const struct topo_parser *p, uint32_t node, uint8_t port)
{
	for (size_t i = 0; i < p->nlinks; i++) {
		const struct topo_plink *l = &p->links[i];

		if (l->node == node && l->port == port)
			return l->line;
		if (l->peer_port == port && !strcmp(l->peer, p->t->node[node]->name))
			return l->line;
	}
	return 0;
}

/* Report that two lines contradict each other about @port of @node, and name both cables. */
static int fail_other(struct topo_parser *p, const struct topo_plink *l, uint32_t node,
		      uint8_t port)
{
	const struct topo_port *o = &p->t->node[node]->port[port];

	return topo_fail_at(
		p, l->file, l->line,
		"port %u of \"%s\" to port %u of \"%s\", but line %u connects port %u of "
		"\"%s\" to port %u of \"%s\"",
		l->port, p->t->node[l->node]->name, l->peer_port, l->peer,
		said_on_line(p, node, port), port, p->t->node[node]->name, o->peer_port,
		p->t->node[o->peer]->name);
}

static int agree_guid(struct topo_parser *p, const struct topo_plink *l, uint32_t node,
		      uint8_t port, uint64_t guid, uint64_t *given)
{
	struct topo_node *n = p->t->node[node];

	if (!guid)
		return 0;
	/*
	 * A switch has only one port GUID, that of port 0. The line of a neighbour cannot change
	 * this GUID.
	 */
	if (n->type == IB_NODE_SWITCH)
		return guid == n->port[0].guid
			       ? 0
			       : fail_plink(p, l, "not the port GUID of that switch");
	if (*given && *given != guid)
		return topo_fail_at(p, l->file, l->line,
				    "port %u of \"%s\" has port GUID 0x%llx here, 0x%llx before",
				    port, n->name, (unsigned long long)guid,
				    (unsigned long long)*given);
	*given = n->port[port].guid = guid;
	return 0;
}

static bool rates_meet(const struct topo_port *a, const struct topo_port *b)
{
	if (!a->rate.width || !b->rate.width) /* unknown until rates_guess() */
		return true;
	return (a->rate.width & b->rate.width) && (a->rate.speed & b->rate.speed);
}

static int connect_link(struct topo_parser *p, const struct topo_plink *l, uint32_t peer)
{
	struct topo_port *a = &p->t->node[l->node]->port[l->port];
	struct topo_port *b = &p->t->node[peer]->port[l->peer_port];

	if (a->peer != TOPO_NO_PEER && (a->peer != peer || a->peer_port != l->peer_port))
		return fail_other(p, l, l->node, l->port);
	if (b->peer != TOPO_NO_PEER && (b->peer != l->node || b->peer_port != l->port))
		return fail_other(p, l, peer, l->peer_port);
	if (l->node == peer && l->port == l->peer_port)
		return fail_plink(p, l, "connected to itself");
	/*
	 * If the file has no line for the other end, take that end's rate and LID from this line,
	 * too.
	 */
	if (!b->line && l->has_rate)
		b->rate = a->rate;
	if (!b->line && p->t->node[peer]->type == IB_NODE_CA)
		b->lid = l->peer_lid;
	if (!rates_meet(a, b))
		return fail_plink(p, l, "the two ends enable no common width or speed");
	if (a->peer == TOPO_NO_PEER && topo_link(p->t, l->node, l->port, peer, l->peer_port))
		return fail_plink(p, l,
				  "cannot be connected"); /* cannot happen after the checks above */
	return 0;
}

/*
 * Give each port of unknown rate the rate of the other end. If that rate is unknown, too, give the
 * port ibsim's default 4xSDR.
 */
static void rates_guess(struct topo *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		for (unsigned int k = 0; k <= t->node[i]->nports; k++) {
			struct topo_port *a = &t->node[i]->port[k];

			if (a->rate.width)
				continue;
			if (a->peer != TOPO_NO_PEER)
				a->rate = t->node[a->peer]->port[a->peer_port].rate;
			if (!a->rate.width)
				a->rate = (struct topo_rate){ .width = 2, .speed = 1 };
		}
	}
}

/* Apply a port line to its two ports. If this fails, undo the GUIDs that the line has set. */
static int join_ends(struct topo_parser *p, const struct topo_plink *l, uint32_t peer,
		     uint64_t **given)
{
	struct topo_port *end[] = { &p->t->node[l->node]->port[l->port],
				    &p->t->node[peer]->port[l->peer_port] };
	uint64_t *said[] = { &given[l->node][l->port], &given[peer][l->peer_port] };
	const uint64_t guid[] = { end[0]->guid, end[1]->guid }, before[] = { *said[0], *said[1] };
	int err = agree_guid(p, l, l->node, l->port, l->guid, said[0]);

	if (!err)
		err = agree_guid(p, l, peer, l->peer_port, l->peer_guid, said[1]);
	if (!err)
		err = connect_link(p, l, peer);
	for (unsigned int i = 0; err && i < ARRAY_SIZE(end); i++) {
		end[i]->guid = guid[i];
		*said[i] = before[i];
	}
	return err;
}

static int resolve_link(struct topo_parser *p, const struct topo_plink *l, uint64_t **given)
{
	uint32_t peer;

	if (topo_find(p->t, l->peer, &peer) || strcmp(p->t->node[peer]->name, l->peer) != 0)
		return topo_fail_at(p, l->file, l->line, "node \"%s\" is not defined", l->peer);
	if (l->peer_port > p->t->node[peer]->nports)
		return topo_fail_at(p, l->file, l->line,
				    "expected a port between 1 and %u of \"%s\", found %u",
				    p->t->node[peer]->nports, l->peer, l->peer_port);
	return join_ends(p, l, peer, given);
}

struct owned_guid {
	uint64_t guid;
	uint32_t node;
	uint8_t port;
};

static int by_guid(const void *a, const void *b)
{
	const struct owned_guid *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static size_t collect_guids(const struct topo *t, struct owned_guid *v)
{
	size_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct topo_node *nd = t->node[i];
		unsigned int first = nd->type == IB_NODE_CA, last = first ? nd->nports : 0;

		for (unsigned int k = first; k <= last; k++)
			v[n++] = (struct owned_guid){ nd->port[k].guid, i, (uint8_t)k };
	}
	return n;
}

/* Check that no two end ports have the same port GUID, because GIDs are made of port GUIDs. */
static int check_guids(struct topo_parser *p)
{
	struct owned_guid *v;
	size_t n = 0;
	int err = 0;

	/* A switch has one end port, port 0. All ports of a CA are end ports. */
	for (uint32_t i = 0; i < p->t->n; i++)
		n += p->t->node[i]->type == IB_NODE_CA ? p->t->node[i]->nports : 1;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	n = collect_guids(p->t, v);
	qsort(v, n, sizeof(*v), by_guid);
	for (size_t i = 0; i < n && !err; i++) {
		const struct topo_node *nd = p->t->node[v[i].node];

		if (!v[i].guid || !nd->node_guid)
			err = topo_fail_at(p, p->file, nd->line, "\"%s\" has a GUID of 0",
					   nd->name);
		else if (i && v[i].guid == v[i - 1].guid)
			err = topo_fail_at(p, p->file, nd->line,
					   "port GUID 0x%llx belongs to \"%s\" and to \"%s\"",
					   (unsigned long long)v[i].guid,
					   p->t->node[v[i - 1].node]->name, nd->name);
	}
	free(v);
	return err;
}

/* Check that there are enough unicast LIDs: one for each switch, and one for each CA port that has a cable. */
static int check_lids(struct topo_parser *p)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->t->n; i++) {
		const struct topo_node *nd = p->t->node[i];

		n += nd->type == IB_NODE_SWITCH;
		for (unsigned int k = 1; nd->type == IB_NODE_CA && k <= nd->nports; k++)
			n += nd->port[k].peer != TOPO_NO_PEER;
	}
	return n < IB_LID_MCAST_MIN ? 0
				    : topo_fail(p, "%zu ports need a LID each, a subnet has %u", n,
						IB_LID_MCAST_MIN - 1);
}

/* Allocate given[node][port]: the port GUID that port lines give for a port; 0: none. */
static uint64_t **given_alloc(const struct topo *t)
{
	uint64_t **given = calloc(t->n + 1u, sizeof(uint64_t *)), *all;
	size_t total = 0;

	for (uint32_t i = 0; i < t->n; i++)
		total += t->node[i]->nports + 1u;
	all = calloc(total + 1, sizeof(*all));
	if (!given || !all) {
		free(given);
		free(all);
		return NULL;
	}
	given[0] = all;
	for (uint32_t i = 1; i < t->n; i++)
		given[i] = given[i - 1] + t->node[i - 1]->nports + 1;
	return given;
}

int topo_resolve(struct topo_parser *p)
{
	uint64_t **given;
	int err = 0;

	if (!p->t->n)
		return topo_fail(p, "expected a Switch or Ca, found none in the whole file");
	given = given_alloc(p->t);
	if (!given)
		return -ENOMEM;
	for (size_t i = 0; i < p->nlinks && !err; i++) {
		err = resolve_link(p, &p->links[i], given);
		if (err == -EINVAL && topo_left_out(p))
			err = 0;
	}
	rates_guess(p->t);
	if (!err)
		err = check_guids(p);
	if (!err)
		err = check_lids(p);
	free(given[0]);
	free(given);
	return err;
}
