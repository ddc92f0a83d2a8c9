/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "survey/priv.h"

/*
 * Largest number of waiting tasks. The largest fabric has a task for each port and for each of its
 * tables.
 */
#define TASKS_MAX (1u << 20)

void ask_add(struct survey *s, enum ask ask, uint32_t node, uint8_t port, uint32_t count,
	     uint32_t blocks)
{
	const struct task new = {
		.node = node, .port = port, .ask = ask, .count = count, .blocks = blocks
	};
	struct task *t = s->ntasks < TASKS_MAX ? malloc(sizeof(*t)) : NULL;

	if (!t) {
		s->f->cut = true;
		answer_unasked(s, &new);
		return;
	}
	*t = new;
	if (s->first)
		s->last->next = t;
	else
		s->first = t;
	s->last = t;
	s->ntasks++;
}

/* --- routes */

/* Build the directed route to a node and, unless @port is 0, one hop further through this port */
static bool route(const struct chk_node *n, uint8_t port, uint8_t *ret_hops, uint8_t path[64])
{
	memcpy(path, n->path, n->nhops + 1u);
	*ret_hops = n->nhops;
	if (!port)
		return true;
	if (n->nhops == IB_MAX_HOPS)
		return false;
	path[++*ret_hops] = port;
	return true;
}

/*
 * Build the directed route for a request about port @o->port of a node. A CA answers for the port
 * at which the SMP arrives, so the route to a CA ends with the link of this port.
 */
static bool route_of(const struct survey *s, const struct open *o, uint8_t *ret_hops,
		     uint8_t path[64])
{
	const struct chk_node *n = s->f->node[o->node], *peer;

	if (o->ask == ASK_NODE_INFO)
		return route(n, o->port, ret_hops, path);
	if (n->sw || !o->port || o->port == n->arrived)
		return route(n, 0, ret_hops, path);
	peer = chk_peer(s->f, &n->port[o->port]);
	return peer && peer->sw && route(peer, n->port[o->port].peer_port, ret_hops, path);
}

/* --- requests */

static bool smp(const struct survey *s, struct open *o, struct survey_mad *ret, uint16_t attr,
		uint32_t mod)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.tid = o->tid,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .mkey = s->cfg.mkey,
			     .dr_slid = IB_LID_PERMISSIVE,
			     .dr_dlid = IB_LID_PERMISSIVE };
	uint8_t hops = 0;

	if (o->node != CHK_NO_NODE && !route_of(s, o, &hops, dr.initial_path))
		return false;
	o->attr = attr;
	o->mod = mod;
	o->qpn = 0;
	h.class_specific = hops;
	smp_encode(ret->mad, &h, &dr, NULL);
	ret->qpn = 0;
	ret->dlid = IB_LID_PERMISSIVE;
	return true;
}

static bool counters(const struct survey *s, struct open *o, struct survey_mad *ret)
{
	const struct chk_node *n = s->f->node[o->node];
	const struct chk_port *p = &n->port[o->port], *end = chk_end(n, p);
	const struct pma_port_counters c = { .port_select = o->port };
	const struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.tid = o->tid,
		.attr_id = PMA_ATTR_PORT_COUNTERS,
	};

	if (!chk_carries(s->f, p) || !ib_lid_is_unicast(end->lid))
		return false;
	o->attr = PMA_ATTR_PORT_COUNTERS;
	o->mod = 0;
	o->qpn = 1;
	memset(ret, 0, sizeof(*ret));
	mad_hdr_encode(ret->mad, &h);
	pma_port_counters_encode(ret->mad + PMA_DATA_OFF, &c);
	ret->qpn = 1;
	ret->dlid = end->lid;
	return true;
}

bool ask_fill(const struct survey *s, struct open *o, struct survey_mad *ret)
{
	bool by_port = o->node != CHK_NO_NODE && s->f->node[o->node]->sw;

	switch (o->ask) {
	case ASK_NODE_INFO:
		return smp(s, o, ret, SMP_ATTR_NODE_INFO, 0);
	case ASK_NODE_DESC:
		return smp(s, o, ret, SMP_ATTR_NODE_DESC, 0);
	case ASK_SWITCH_INFO:
		return smp(s, o, ret, SMP_ATTR_SWITCH_INFO, 0);
	case ASK_PORT_INFO:
		return smp(s, o, ret, SMP_ATTR_PORT_INFO, o->port);
	case ASK_LFT:
		return smp(s, o, ret, SMP_ATTR_LFT, o->step);
	case ASK_MFT:
		return smp(s, o, ret, SMP_ATTR_MFT,
			   o->step / o->blocks << 28 | o->step % o->blocks);
	case ASK_PKEYS:
		return smp(s, o, ret, SMP_ATTR_PKEY_TABLE,
			   (by_port ? (uint32_t)o->port << 16 : 0) | o->step);
	case ASK_SLTOVL:
		return smp(s, o, ret, SMP_ATTR_SLTOVL, o->blocks << 8 | o->port);
	case ASK_SM_INFO:
		return smp(s, o, ret, SMP_ATTR_SM_INFO, 0);
	case ASK_COUNTERS:
		return counters(s, o, ret);
	}
	return false;
}
