/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/priv.h"
#include "os/clock.h"

/* A TCP flow from the first host to the last, and the cut of a link that the flow crosses. */

#define ANOTHER_WAY_MS \
	30000 /* longest time until the flow continues on another path, even on a busy machine */
#define LASTING_MS 700 /* a flow that makes no progress for this time counts as stopped */
#define STOP_TRIES \
	20 /* after this many checks that all see progress, the flow counts as not stopped */

/* --- the links that the flow uses */

/* Finds the node of the port "NODE/PORT", and the number of the port. */
static const struct topo_node *find_node(const struct topo *t, const char *port, unsigned int *num)
{
	const char *slash = strrchr(port, '/');
	size_t len = slash ? (size_t)(slash - port) : 0;

	*num = slash ? (unsigned int)strtoul(slash + 1, NULL, 10) : 0;
	for (uint32_t i = 0; len && i < t->n; i++) {
		const struct topo_node *n = t->node[i];

		if (strlen(n->name) == len && !memcmp(n->name, port, len) && *num <= n->nports)
			return n;
	}
	return NULL;
}

static bool is_switch(const struct demo *d, const char *port)
{
	unsigned int num;
	const struct topo_node *n = find_node(d->dc.topo, port, &num);

	return n && n->type == IB_NODE_SWITCH;
}

static double sent_words(json_t *row)
{
	return demo_num(json_object_get(row, "counters"), "xmit_data");
}

/*
 * Find the port that sent most octets: the flow leaves a node by this port. If @switches is true,
 * consider only ports of links between switches.
 */
static bool busiest(struct demo *d, json_t *before, json_t *after, bool switches, char *ret,
		    size_t size)
{
	double most = 0;
	json_t *row;
	size_t i;

	json_array_foreach(after, i, row)
	{
		double moved = sent_words(row) - sent_words(json_array_get(before, i));

		if (moved <= most || (switches && (!is_switch(d, demo_str(row, "port")) ||
						   !is_switch(d, demo_str(row, "peer")))))
			continue;
		most = moved;
		snprintf(ret, size, "%s", demo_str(row, "port"));
	}
	return most > 0;
}

/* Marks the nodes that can be reached from node @i without the cable at (@cut, @cut_port). */
static void reach(const struct topo *t, uint32_t i, const struct topo_node *cut,
		  unsigned int cut_port, bool *seen)
{
	const struct topo_node *n = t->node[i];

	seen[i] = true;
	for (unsigned int p = 1; p <= n->nports; p++) {
		uint32_t peer = n->port[p].peer;
		bool is_cut = (n == cut && p == cut_port) ||
			      (peer == cut->index && peer != TOPO_NO_PEER &&
			       n->port[p].peer_port == cut_port);

		if (peer != TOPO_NO_PEER && !is_cut && !seen[peer])
			reach(t, peer, cut, cut_port, seen);
	}
}

static bool has_another_way(const struct demo *d, const char *port)
{
	const struct topo *t = d->dc.topo;
	unsigned int num;
	const struct topo_node *n = find_node(t, port, &num);
	bool *seen = calloc(t->n, sizeof(*seen)), found = false;

	if (n && seen && n->port[num].peer != TOPO_NO_PEER) {
		reach(t, n->index, n, num, seen);
		found = seen[n->port[num].peer];
	}
	free(seen);
	return found;
}

/* --- the cut */

static bool set_link(struct demo *d, const char *port, bool up)
{
	char err[256];

	json_decref(demo_ask(d, "fabric link set", json_pack("{s:s, s:b}", "port", port, "up", up),
			     err, sizeof(err)));
	if (*err && !demo_interrupted())
		demo_complain(port, err);
	return !*err;
}

static void cut_one_of_many(struct demo *d, struct demo_flow *f, const char *port)
{
	bool alive;

	demo_flow_silence(f);
	alive = set_link(d, port, false) && demo_flow_alive(f, ANOTHER_WAY_MS);
	poll(NULL, 0, LASTING_MS);
	alive = demo_flow_alive(f, ANOTHER_WAY_MS) && alive;
	demo_say(d, alive, "link cut under it", "%s down: the flow %s, %.0f ms of silence", port,
		 alive ? "goes on another way" : "does not come back", demo_flow_silence(f));
	set_link(d, port, true);
}

/* Return whether the flow stops. Packets that were under way may still arrive for some time. */
static bool flow_stops(struct demo_flow *f)
{
	for (unsigned int i = 0; i < STOP_TRIES; i++)
		if (!demo_flow_alive(f, LASTING_MS))
			return true;
	return false;
}

static void cut_the_only_one(struct demo *d, struct demo_flow *f, const char *port)
{
	bool stopped, back;
	ns_t t;

	stopped = set_link(d, port, false) && flow_stops(f);
	t = clock_now();
	back = set_link(d, port, true) && demo_flow_alive(f, ANOTHER_WAY_MS);
	demo_say(d, stopped && back, "link cut under it",
		 "%s down, the only way: the flow %s; up: %s after %.0f ms", port,
		 stopped ? "stops" : "goes on all the same", back ? "it goes on" : "nothing",
		 (double)(clock_now() - t) / 1e6);
}

static void act_cut(struct demo *d, struct demo_flow *f)
{
	json_t *a = demo_ask(d, "fabric port show", NULL, NULL, 0), *b;
	char port[TOPO_NAME_MAX + 8];

	poll(NULL, 0, 200);
	b = demo_ask(d, "fabric port show", NULL, NULL, 0);
	if (!busiest(d, a, b, true, port, sizeof(port)) &&
	    !busiest(d, a, b, false, port, sizeof(port)))
		demo_say(d, false, "link cut", "no link carries the flow");
	else if (has_another_way(d, port))
		cut_one_of_many(d, f, port);
	else
		cut_the_only_one(d, f, port);
	json_decref(a);
	json_decref(b);
}

void demo_act_flow(struct demo *d)
{
	struct demo_flow *f;
	uint64_t octets;
	ns_t t;
	int status = demo_flow_start(&d->net, 0, d->net.n - 1, &f);

	if (status) {
		demo_say(d, false, "TCP flow", "%s", strerror(-status));
		return;
	}
	demo_flow_alive(f, 3000);
	octets = demo_flow_octets(f);
	t = clock_now();
	poll(NULL, 0, 1000);
	octets = demo_flow_octets(f) - octets;
	t = clock_now() - t;
	demo_say(d, octets > 0, "TCP flow", "h1 to h%u: %.2f Gb/s", d->net.n,
		 (double)octets * 8 / (double)t);
	if (octets && d->dc.switches && !demo_interrupted())
		act_cut(d, f);
	demo_flow_stop(f);
	if (!d->dc.switches)
		printf("  -   link cut               left out: with no switch to send traps the SM "
		       "sees "
		       "links only in its sweeps\n");
}
