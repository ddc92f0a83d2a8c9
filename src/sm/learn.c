/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/learn.h"

#include <errno.h>
#include <stdlib.h>

#include "sm/priv.h"

/*
 * All reads for clients of the SA share one queue of SMPs (sm.learnq). A walk over the ports puts a few reads into
 * the queue at a time, because a big subnet has a million SLtoVL tables. When the queue is empty and all walks have
 * ended, all waiting requests are completed.
 */

#define QUEUED 256 /* largest number of SMPs in the queue */

struct learn_wait {
	struct list link;
	sm_learn_fn *done;
	void *ctx;
};

/* A walk over a range of ports, by nodes and then by port numbers. It reads one kind of table. */
struct learn_walk {
	struct list link;
	enum sm_table what;
	uint32_t node, last_node;
	unsigned int port, last_port; /* next port of .node; last port of .last_node */
	unsigned int block; /* next block of the port */
};

static unsigned int pkey_blocks(const struct sm_port *p)
{
	unsigned int n = sm_port_is_end(p) ? p->node->info.pkey_cap
			 : p->node->sw	   ? p->node->sw->si.enforce_cap
					   : 0;

	return n < SM_PKEYS_MAX ? (n + SMP_PKEYS_PER_BLOCK - 1) / SMP_PKEYS_PER_BLOCK
				: SM_PKEYS_MAX / SMP_PKEYS_PER_BLOCK;
}

unsigned int sm_table_blocks(const struct sm_port *p, enum sm_table what)
{
	if (!p->known)
		return 0;
	switch (what) {
	case SM_TABLE_PKEY:
		return p->pkeys ? (p->npkeys + SMP_PKEYS_PER_BLOCK - 1u) / SMP_PKEYS_PER_BLOCK
				: pkey_blocks(p);
	case SM_TABLE_SLTOVL:
		return p->node->sw ? p->node->info.nports + 1u : 1;
	case SM_TABLE_VLARB:
		return SM_VLARB_BLOCKS;
	case SM_TABLE_GUID:
		return sm_port_is_end(p)
			       ? (p->pi.guid_cap + SMP_GUIDS_PER_BLOCK - 1u) / SMP_GUIDS_PER_BLOCK
			       : 0;
	}
	return 0;
}

/*
 * Tell whether block @b of the port's table exists. PortInfo gives the sizes of the VL arbitration
 * tables.
 */
static bool block_exists(const struct sm_port *p, enum sm_table what, unsigned int b)
{
	unsigned int cap;

	if (what != SM_TABLE_VLARB)
		return true;
	cap = b < 2 ? p->pi.vlarb_low_cap : p->pi.vlarb_high_cap;
	return cap > b % 2 * 32;
}

static uint16_t table_attr(enum sm_table what)
{
	static const uint16_t attr[] = {
		[SM_TABLE_PKEY] = SMP_ATTR_PKEY_TABLE,
		[SM_TABLE_SLTOVL] = SMP_ATTR_SLTOVL,
		[SM_TABLE_VLARB] = SMP_ATTR_VLARB,
		[SM_TABLE_GUID] = SMP_ATTR_GUID_INFO,
	};

	return attr[what];
}

/*
 * Return the attribute modifier of a block. For a switch the modifier contains the port number; a
 * CA answers for the port at which the SMP arrives.
 */
static uint32_t block_mod(const struct sm_port *p, enum sm_table what, unsigned int b)
{
	uint32_t num = p->node->sw ? p->num : 0;

	switch (what) {
	case SM_TABLE_PKEY:
		return num << 16 | b;
	case SM_TABLE_SLTOVL:
		return p->node->sw ? b << 8 | num : 0;
	case SM_TABLE_VLARB:
		return (b + 1) << 16 | num;
	case SM_TABLE_GUID:
		break;
	}
	return b;
}

static unsigned int mod_block(const struct sm_port *p, enum sm_table what, uint32_t mod)
{
	switch (what) {
	case SM_TABLE_PKEY:
		return mod & 0xffff;
	case SM_TABLE_SLTOVL:
		return mod >> 8;
	case SM_TABLE_VLARB:
		return (mod >> 16) - 1;
	case SM_TABLE_GUID:
		break;
	}
	return mod;
}

static void *table_alloc(struct sm_tables *t, enum sm_table what, unsigned int n)
{
	if (!n)
		return NULL;
	switch (what) {
	case SM_TABLE_PKEY:
		t->npkey = (uint16_t)n;
		return t->pkey = calloc(n, sizeof(*t->pkey));
	case SM_TABLE_SLTOVL:
		t->nsltovl = (uint16_t)n;
		return t->sltovl = calloc(n, sizeof(*t->sltovl));
	case SM_TABLE_VLARB:
		return t->vlarb = calloc(n, sizeof(*t->vlarb));
	case SM_TABLE_GUID:
		t->nguid = (uint16_t)n;
		return t->guid = calloc(n, sizeof(*t->guid));
	}
	return NULL;
}

static void on_block(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		     ns_t now)
{
	struct sm_port *p = cmd->port;
	enum sm_table what;
	unsigned int b;

	if (status)
		return;
	switch (cmd->attr) {
	case SMP_ATTR_PKEY_TABLE:
		b = mod_block(p, SM_TABLE_PKEY, cmd->mod);
		memcpy(p->tables->pkey[b], data, SMP_DATA_LEN);
		break;
	case SMP_ATTR_SLTOVL:
		b = mod_block(p, SM_TABLE_SLTOVL, cmd->mod);
		memcpy(p->tables->sltovl[b], data, 8);
		break;
	case SMP_ATTR_VLARB:
		b = mod_block(p, SM_TABLE_VLARB, cmd->mod);
		memcpy(p->tables->vlarb[b], data, SMP_DATA_LEN);
		break;
	default:
		what = SM_TABLE_GUID;
		memcpy(p->tables->guid[mod_block(p, what, cmd->mod)], data, SMP_DATA_LEN);
	}
}

/* Tell whether the table @what of a port was requested before, is known from the sweep, or does not exist. */
static bool port_done(const struct sm_port *p, enum sm_table what)
{
	return !sm_table_blocks(p, what) || (what == SM_TABLE_PKEY && p->pkeys) ||
	       (p->tables && p->tables->asked & 1u << what);
}

static bool port_ask(struct sm_port *p, enum sm_table what)
{
	if (!p->tables)
		p->tables = calloc(1, sizeof(*p->tables));
	if (!p->tables || !table_alloc(p->tables, what, sm_table_blocks(p, what)))
		return false;
	p->tables->asked |= (uint8_t)(1u << what);
	return true;
}

static void walk_free(struct learn_walk *w)
{
	list_del(&w->link);
	free(w);
}

/* Step to the next port whose table is to be read. Return: NULL at the end of the walk */
static struct sm_port *walk_port(struct sm *sm, struct learn_walk *w)
{
	for (; w->node <= w->last_node; w->node++, w->port = 0) {
		struct sm_node *n = sm->db->node[w->node];
		unsigned int last = w->node == w->last_node ? w->last_port : n->info.nports;

		for (; w->port <= last && w->port <= n->info.nports; w->port++) {
			struct sm_port *p = &n->port[w->port];

			if (w->block || !port_done(p, w->what))
				return p;
		}
	}
	return NULL;
}

/* Queue reads of the next port while the queue has room. Return: false at the end of the walk */
static bool walk_step(struct sm *sm, struct learn_walk *w, ns_t now)
{
	struct sm_port *p = walk_port(sm, w);
	unsigned int n;

	if (!p)
		return false;
	if (!w->block && !port_ask(p, w->what)) {
		w->port++;
		return true;
	}
	n = sm_table_blocks(p, w->what);
	while (w->block < n && sm->learn_queued < QUEUED) {
		struct smp_cmd c = sm_cmd_port(p, MAD_METHOD_GET, table_attr(w->what),
					       block_mod(p, w->what, w->block), on_block);

		if (block_exists(p, w->what, w->block) && smpq_add(&sm->learnq, &c, now))
			sm->learn_queued++;
		w->block++;
	}
	if (w->block >= n) {
		w->block = 0;
		w->port++;
	}
	return true;
}

static void learn_fill(struct sm *sm, ns_t now)
{
	struct learn_walk *w, *tmp;

	list_for_each_safe (w, tmp, &sm->learn_walks, link) {
		while (sm->learn_queued < QUEUED) {
			if (!walk_step(sm, w, now)) {
				walk_free(w);
				break;
			}
		}
		if (sm->learn_queued >= QUEUED)
			return;
	}
}

static void waits_finish(struct sm *sm, ns_t now)
{
	struct list due;

	/* Move the waits to a list of their own: done() may call sm_learn(), whose new wait must not end here. */
	list_init(&due);
	while (!list_empty(&sm->learn_waits)) {
		struct learn_wait *w = list_first(&sm->learn_waits, struct learn_wait, link);

		list_del(&w->link);
		list_add_tail(&due, &w->link);
	}
	while (!list_empty(&due)) {
		struct learn_wait *w = list_first(&due, struct learn_wait, link);
		struct learn_wait mine = *w;

		list_del(&w->link);
		free(w);
		mine.done(mine.ctx, now);
	}
}

static void on_idle(void *ctx, ns_t now)
{
	struct sm *sm = ctx;

	sm->learn_queued = 0;
	learn_fill(sm, now);
	if (smpq_idle(&sm->learnq) && list_empty(&sm->learn_walks))
		waits_finish(sm, now);
}

int sm_learn(struct sm *sm, enum sm_table what, const struct sm_port *p, bool all_ports,
	     sm_learn_fn *done, void *ctx, ns_t now)
{
	struct learn_walk walk = { .what = what }, *w;
	struct learn_wait *wait;

	if (!sm->db)
		return -EAGAIN;
	walk.last_node = p ? p->node->index : sm->db->nnodes - 1;
	walk.node = p ? walk.last_node : 0;
	walk.port = p && !all_ports ? p->num : 0;
	walk.last_port = p && !all_ports ? p->num : UINT8_MAX;
	/* If all tables were requested before, and no answer is outstanding, there is nothing to wait for. */
	if (!walk_port(sm, &walk) && smpq_idle(&sm->learnq) && list_empty(&sm->learn_walks))
		return 0;
	w = malloc(sizeof(*w));
	wait = malloc(sizeof(*wait));
	if (!w || !wait) {
		free(w);
		free(wait);
		return -ENOMEM;
	}
	*w = walk;
	*wait = (struct learn_wait){ .done = done, .ctx = ctx };
	list_add_tail(&sm->learn_waits, &wait->link);
	list_add_tail(&sm->learn_walks, &w->link);
	learn_fill(sm, now);
	/*
	 * If none of the blocks exists, nothing was sent and no answer will end the wait. Return 0
	 * at once, because done() must not be called inside sm_learn().
	 */
	if (smpq_idle(&sm->learnq) && list_empty(&sm->learn_walks)) {
		list_del(&wait->link);
		free(wait);
		return 0;
	}
	return -EINPROGRESS;
}

void sm_learn_forget(struct sm *sm, const void *ctx)
{
	struct learn_wait *w, *tmp;

	list_for_each_safe (w, tmp, &sm->learn_waits, link) {
		if (w->ctx == ctx) {
			list_del(&w->link);
			free(w);
		}
	}
}

void sm_learn_reset(struct sm *sm, ns_t now)
{
	struct learn_walk *w, *tmp;

	smpq_cancel(&sm->learnq);
	sm->learn_queued = 0;
	list_for_each_safe (w, tmp, &sm->learn_walks, link)
		walk_free(w);
	waits_finish(sm, now);
}

void sm_learn_init(struct sm *sm)
{
	const struct smpq_cfg c = sm_smpq_cfg(sm, on_idle);

	smpq_init(&sm->learnq, &c);
}

void sm_learn_fini(struct sm *sm)
{
	struct learn_wait *w, *tmp;
	struct learn_walk *k, *knext;

	smpq_cancel(&sm->learnq);
	list_for_each_safe (k, knext, &sm->learn_walks, link)
		walk_free(k);
	list_for_each_safe (w, tmp, &sm->learn_waits, link) {
		list_del(&w->link);
		free(w);
	}
}
