/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * DOC: Nodes behind external ports
 *
 * A port that leads out of the fabric (a UDP link) shows the nodes that its other end claims to have. These
 * nodes may be an endless chain, in which every SMP with one more hop is answered by another switch of 254
 * ports. A legal subnet may have as many nodes as there are LIDs. If there were only one limit for all nodes
 * together, the nodes behind one external port could use up memory and LIDs. None would be left for the nodes
 * elsewhere.
 *
 * The owner of the SM knows which ports are external (sm_cfg.is_external). A node belongs to the
 * external port that the directed route to the node crossed last. Behind each external port a sweep accepts at most
 * sm_cfg.outside_nodes nodes, and 8 times as many ports, because each port costs memory and SMPs. After
 * SM_OUTSIDE_LOST unanswered SMPs, or after SM_OUTSIDE_TIME, the sweep accepts no further nodes. Nodes accepted until
 * then belong to the subnet if they answer in time. The rest of the fabric comes up as if the nodes that were left
 * out did not exist. The log lines about faults of nodes behind each external port are limited, so that they neither
 * fill the log nor hide faults elsewhere.
 */

static struct sm_outside *outside_at(struct sm *sm, uint16_t number)
{
	return number ? &sm->outside[number - 1] : NULL;
}

static uint16_t outside_add(struct sm *sm, uint64_t node_guid, uint8_t port)
{
	struct sm_outside *v;

	if (sm->noutside == UINT16_MAX)
		return UINT16_MAX;
	v = realloc(sm->outside, (sm->noutside + 1u) * sizeof(*v));
	if (!v) {
		sm->sweepq.failed = true;
		return 0;
	}
	sm->outside = v;
	v[sm->noutside] = (struct sm_outside){ .node_guid = node_guid, .port = port };
	return ++sm->noutside;
}

uint16_t sm_outside_of(struct sm *sm, const struct sm_port *from)
{
	uint64_t guid;

	if (!from)
		return 0;
	guid = from->node->info.node_guid;
	if (!sm->cfg.is_external || !sm->cfg.is_external(sm->cfg.is_external_ctx, guid, from->num))
		return from->node->outside;
	for (uint16_t i = 0; i < sm->noutside; i++) {
		if (sm->outside[i].node_guid == guid && sm->outside[i].port == from->num)
			return i + 1;
	}
	return outside_add(sm, guid, from->num);
}

void sm_outside_begin(struct sm *sm)
{
	sm->full_said &= sm->last.left_out > 0;
	for (uint16_t i = 0; i < sm->noutside; i++) {
		struct sm_outside *o = &sm->outside[i];

		o->said &= o->full || o->lost >= SM_OUTSIDE_LOST;
		o->nodes = o->ports = o->lost = 0;
		o->since = 0;
		o->full = false;
	}
}

void sm_outside_fini(struct sm *sm)
{
	free(sm->outside);
	sm->outside = NULL;
	sm->noutside = 0;
}

static const char *desc_of(const struct sm *sm, const struct sm_outside *o)
{
	const struct sm_node *n = sm->next ? sm_db_node(sm->next, o->node_guid) : NULL;

	return n ? n->desc : "?";
}

static bool outside_admit(struct sm *sm, struct sm_outside *o, unsigned int nports)
{
	uint32_t max = sm->cfg.outside_nodes;

	if (o->nodes < max && o->ports + nports < max * SM_OUTSIDE_PORTS) {
		o->nodes++;
		o->ports += nports + 1;
		return true;
	}
	o->full = true;
	if (!o->said)
		sm_err(sm,
		       "behind \"%s\" port %u are more than %u nodes or %u ports: the others are "
		       "left out "
		       "([fabric] outside-nodes)",
		       desc_of(sm, o), o->port, max, max * SM_OUTSIDE_PORTS);
	o->said = true;
	return false;
}

static bool sweep_admit(struct sm *sm, unsigned int nports)
{
	if (sm->next->nnodes < SM_NODES_MAX && sm->next->nports + nports < SM_PORTS_MAX)
		return true;
	if (!sm->full_said)
		sm_err(sm, "the subnet has more than %u nodes or %u ports: the others are left out",
		       SM_NODES_MAX, SM_PORTS_MAX);
	sm->full_said = true;
	return false;
}

bool sm_outside_admit(struct sm *sm, const struct sm_port *from, unsigned int nports)
{
	struct sm_outside *o = outside_at(sm, sm_outside_of(sm, from));

	if (sweep_admit(sm, nports) && (!o || outside_admit(sm, o, nports)))
		return true;
	sm->sweep.left_out++;
	return false;
}

bool sm_outside_lost(struct sm *sm, uint16_t outside)
{
	struct sm_outside *o = outside_at(sm, outside);

	return !o || ++o->lost <= SM_OUTSIDE_LINES;
}

void sm_fault(struct sm *sm, uint16_t outside, ns_t now, const char *fmt, ...)
{
	struct sm_outside *o = outside_at(sm, outside);
	char text[384], left_out[PACE_LINE];
	va_list ap;

	sm->sweep.errors++;
	if (!pace_line(o ? &o->faults : &sm->faults, SM_FAULT_LINES, SM_FAULT_EVERY, now, left_out))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sm_err(sm, "%s%s", text, left_out);
}

/*
 * Tell whether the sweep accepts no more nodes behind an external port. Without SM_OUTSIDE_LOST and
 * SM_OUTSIDE_TIME, these nodes could make the sweep last for ever.
 */
static bool used_up(struct sm *sm, struct sm_outside *o, ns_t now)
{
	if (!o->since)
		o->since = now;
	if (o->lost < SM_OUTSIDE_LOST && now - o->since <= SM_OUTSIDE_TIME)
		return false;
	o->lost = SM_OUTSIDE_LOST;
	if (!o->said)
		sm_err(sm,
		       "what is behind \"%s\" port %u answers too slowly, or not: it is left out",
		       desc_of(sm, o), o->port);
	o->said = true;
	return true;
}

bool sm_outside_useless(void *ctx, const struct smp_cmd *cmd, ns_t now)
{
	struct sm *sm = ctx;
	/* Get(NodeInfo) goes to the node behind cmd->port; cmd->node is the node that has this port. */
	bool visit = cmd->attr == SMP_ATTR_NODE_INFO;
	uint16_t number = 0;

	if (visit)
		number = sm_outside_of(sm, cmd->port);
	else if (cmd->node)
		number = cmd->node->outside;
	if (number && used_up(sm, outside_at(sm, number), now))
		return true;
	return cmd->node && cmd->node->lost;
}
