/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "survey/priv.h"

/* --- nodes */

static void set_route(struct chk_node *n, const struct chk_node *from, uint8_t by, uint8_t arrived)
{
	n->arrived = arrived;
	if (!from)
		return;
	memcpy(n->path, from->path, from->nhops + 1u);
	n->nhops = from->nhops;
	n->path[++n->nhops] = by;
}

static bool same_device(const struct chk_node *n, const struct smp_node_info *i)
{
	return n->type == i->node_type && n->nports == i->nports && n->sys_guid == i->sys_guid;
}

/*
 * Record that behind port @by of @from is another node with the GUID of @first, a known node. The
 * link is not recorded. It would have to lead to a port of @first, but the port number in the
 * answer is that of the other node, and @first may not have such a port.
 */
static void twin(struct survey *s, const struct chk_node *first, struct chk_node *from, uint8_t by)
{
	from->port[by].mute = true;
	chk_add_twin(s->f, first->index, from->index, by);
}

/*
 * Record that the known node @n is behind port @by of @from. If @n is a CA, this function also sets
 * the other end of its link. The survey does not ask which nodes are behind the ports of CAs,
 * except for the CA from which it sends.
 */
static void known_node(struct survey *s, struct chk_node *n, const struct smp_node_info *i,
		       struct chk_node *from, uint8_t by)
{
	struct chk_port *p;

	if (!same_device(n, i)) {
		twin(s, n, from, by);
		return;
	}
	p = &n->port[i->local_port]; /* exists, because same_device() has compared the numbers of ports */
	if (!n->sw && p->peer != CHK_NO_NODE && (p->peer != from->index || p->peer_port != by)) {
		twin(s, n, from, by);
		return;
	}
	from->port[by].peer = n->index;
	from->port[by].peer_port = i->local_port;
	if (n->sw || p->peer != CHK_NO_NODE)
		return;
	p->peer = from->index;
	p->peer_port = by;
	p->guid = i->port_guid;
	if (!p->known)
		ask_add(s, ASK_PORT_INFO, n->index, p->num, 1, 0);
}

static void new_node(struct survey *s, const struct smp_node_info *i, struct chk_node *from,
		     uint8_t by)
{
	struct chk_node *n;
	struct chk_port *p;

	if (chk_add_node(s->f, i, "", &n) < 0) {
		if (from)
			from->port[by].mute = true;
		return;
	}
	set_route(n, from, by, i->local_port);
	p = &n->port[n->sw ? 0 : i->local_port];
	p->guid = i->port_guid;
	if (from) {
		from->port[by].peer = n->index;
		from->port[by].peer_port = i->local_port;
	}
	if (from && !n->sw) {
		p->peer = from->index;
		p->peer_port = by;
	}
	ask_add(s, ASK_NODE_DESC, n->index, 0, 1, 0);
	if (n->sw)
		ask_add(s, ASK_SWITCH_INFO, n->index, 0, 1, 0);
	ask_add(s, ASK_PORT_INFO, n->index, n->sw ? 0 : i->local_port, n->sw ? n->nports + 1u : 1,
		0);
}

static void node_info(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_node *from = o->node == CHK_NO_NODE ? NULL : s->f->node[o->node], *n;
	struct smp_node_info i;

	smp_node_info_decode(&i, data, SMP_DATA_LEN);
	/*
	 * LocalPortNum 0 is valid only if the survey asks its own node (@from is NULL) and this is
	 * a switch: a CA has no port 0, and no link leads to port 0 of a switch.
	 */
	if (!i.nports || i.nports > 254 || i.local_port > i.nports ||
	    (!i.local_port && (i.node_type != IB_NODE_SWITCH || from)) ||
	    i.node_type < IB_NODE_CA || i.node_type > IB_NODE_ROUTER) {
		answer_none(s, o, MAD_STATUS_BAD_VALUE);
		return;
	}
	n = chk_find(s->f, i.node_guid);
	if (n && from)
		known_node(s, n, &i, from, o->port);
	else if (!n)
		new_node(s, &i, from, o->port);
}

static void node_desc(struct survey *s, const struct open *o, const uint8_t *data)
{
	char *desc = s->f->node[o->node]->desc;

	memcpy(desc, data, 64);
	desc[64] = 0;
}

void answer_twins(struct survey *s)
{
	const struct chk_fabric *f = s->f;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct chk_node *n = f->node[i];

		for (unsigned int k = 1; n->sw && k <= n->nports; k++) {
			const struct chk_node *m = chk_peer(f, &n->port[k]);
			const struct chk_port *q = m ? &m->port[n->port[k].peer_port] : NULL;

			/*
			 * Port @k of node @n leads to port @q of the known node @m. But port @q has
			 * another link, so the node behind port @k is another node with the GUID
			 * of @m.
			 */
			if (q && m->sw && q->known && !q->mute &&
			    (q->peer != i || q->peer_port != k))
				chk_add_twin(s->f, m->index, i, (uint8_t)k);
		}
	}
}

/* --- ports */

static bool link_is_up(const struct smp_port_info *pi)
{
	return pi->port_state >= IB_PORT_INIT;
}

static void port_info(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_node *n = s->f->node[o->node];
	struct chk_port *p = &n->port[o->port];

	smp_port_info_decode(&p->pi, data, SMP_DATA_LEN);
	p->known = true;
	if (chk_is_end(n, p)) {
		p->lid = p->pi.lid;
		p->lmc = p->pi.lmc;
	}
	/*
	 * A CA does not forward SMPs. So the survey asks for the node behind a CA port only if this
	 * is a port of the CA from which the survey sends (index 0).
	 */
	if (o->port && link_is_up(&p->pi) && (n->sw || !n->index))
		ask_add(s, ASK_NODE_INFO, n->index, o->port, 1, 0);
}

static void pkeys(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_port *p = &s->f->node[o->node]->port[o->port];
	uint32_t want = (o->step + 1) * SMP_PKEYS_PER_BLOCK;

	if (want > 65535)
		return;
	if (want > p->npkeys) {
		uint16_t *v = chk_grow(s->f, p->pkeys, p->npkeys, want, sizeof(*v));

		if (!v) {
			p->pkeys_gaps = true;
			return;
		}
		p->pkeys = v;
		p->npkeys = (uint16_t)want;
	}
	smp_pkey_block_decode(p->pkeys + o->step * SMP_PKEYS_PER_BLOCK, data, SMP_DATA_LEN);
}

static void count(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_port *p = &s->f->node[o->node]->port[o->port];
	struct pma_port_counters c;

	pma_port_counters_decode(&c, data, MAD_LEN - PMA_DATA_OFF);
	if (!p->counters)
		p->counters = chk_alloc(s->f, 1, sizeof(*p->counters));
	if (!p->counters)
		return;
	if (s->phase == COUNT) {
		p->counters->first = c;
		p->counters->at_ms[0] = s->now / NS_MSEC(1);
		p->counters->nread = 1;
	} else if (p->counters->nread == 1) {
		p->counters->last = c;
		p->counters->at_ms[1] = s->now / NS_MSEC(1);
		p->counters->nread = 2;
	}
}

/* --- tables */

static void switch_info(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_switch *sw = s->f->node[o->node]->sw;

	smp_switch_info_decode(&sw->si, data, SMP_DATA_LEN);
	if (sw->si.lft_top >= IB_LID_MCAST_MIN)
		sw->si.lft_top = IB_LID_MCAST_MIN - 1;
	sw->known = true;
}

static void lft(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_switch *sw = s->f->node[o->node]->sw;
	uint32_t first = o->step * SMP_LFT_PER_BLOCK;

	for (uint32_t i = 0; i < SMP_LFT_PER_BLOCK; i++)
		if (first + i <= sw->si.lft_top && chk_set_lft(s->f, sw, first + i, data[i]) < 0)
			sw->lft_gaps = true;
}

static void mft(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_switch *sw = s->f->node[o->node]->sw;
	uint32_t first = IB_LID_MCAST_MIN + o->step % o->blocks * SMP_MFT_PER_BLOCK;
	uint16_t mask[SMP_MFT_PER_BLOCK];

	smp_mft_block_decode(mask, data, SMP_DATA_LEN);
	for (uint32_t i = 0; i < SMP_MFT_PER_BLOCK && first + i <= IB_LID_MCAST_MAX; i++)
		if (chk_set_mft(s->f, sw, first + i, o->step / o->blocks, mask[i]) < 0)
			sw->mft_gaps = true;
}

static void sltovl(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_node *n = s->f->node[o->node];
	struct chk_port *p = &n->port[o->port];

	if (!p->sltovl) {
		p->sltovl = chk_alloc(s->f, n->nports + 1u, sizeof(*p->sltovl));
		if (!p->sltovl)
			return;
		memset(p->sltovl, CHK_NO_VL, (n->nports + 1u) * sizeof(*p->sltovl));
	}
	smp_sltovl_decode(p->sltovl[o->blocks], data, SMP_DATA_LEN);
}

/* --- subnet managers */

static void manager(struct survey *s, const struct open *o, const uint8_t *data)
{
	struct chk_manager m = { .node = o->node, .port = o->port };

	if (smp_sm_info_decode(&m.info, data, SMP_DATA_LEN) == 0)
		chk_add_manager(s->f, &m);
}

/* --- all answers */

void answer(struct survey *s, const struct open *o, const uint8_t *data)
{
	static void (*const fn[])(struct survey *, const struct open *, const uint8_t *) = {
		[ASK_NODE_INFO] = node_info,
		[ASK_NODE_DESC] = node_desc,
		[ASK_SWITCH_INFO] = switch_info,
		[ASK_PORT_INFO] = port_info,
		[ASK_LFT] = lft,
		[ASK_MFT] = mft,
		[ASK_PKEYS] = pkeys,
		[ASK_SLTOVL] = sltovl,
		[ASK_COUNTERS] = count,
		[ASK_SM_INFO] = manager,
	};

	fn[o->ask](s, o, data);
}

void answer_unknown(struct survey *s, enum ask ask, uint32_t node, uint8_t port)
{
	struct chk_node *n = s->f->node[node];

	/*
	 * If the request for the PortInfo of a switch port got no answer, the node behind this port is not looked
	 * for.
	 */
	if (ask == ASK_NODE_INFO || (ask == ASK_PORT_INFO && n->sw))
		n->port[port].mute = true;
	if (ask == ASK_LFT)
		n->sw->lft_gaps = true;
	if (ask == ASK_MFT)
		n->sw->mft_gaps = true;
	if (ask == ASK_PKEYS)
		n->port[port].pkeys_gaps = true;
}

void answer_unasked(struct survey *s, const struct task *t)
{
	bool ports = t->ask == ASK_PORT_INFO;

	if (t->node == CHK_NO_NODE)
		return;
	for (uint32_t i = ports ? t->step : 0; i < (ports ? t->count : 1); i++)
		answer_unknown(s, t->ask, t->node, (uint8_t)(t->port + i));
}

void answer_none(struct survey *s, const struct open *o, uint16_t status)
{
	struct chk_silence x = {
		.node = o->node,
		.port = o->port,
		.behind = o->ask == ASK_NODE_INFO,
		.attr = o->attr,
		.pma = o->qpn == 1,
		.status = status,
	};

	if (o->node == CHK_NO_NODE) /* the survey's own port does not answer */
		return;
	answer_unknown(s, o->ask, o->node, o->port);
	/* no silence is recorded, because some SMs answer only requests with their M_Key */
	if (o->ask == ASK_SM_INFO)
		return;
	chk_add_silence(s->f, &x);
}
