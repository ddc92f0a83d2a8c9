/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad/ep.h"

#include <errno.h>
#include <stdlib.h>

#include "mad/priv.h"

static const struct mad_ep_limits default_limits = {
	.max_tx = 8192,
	.max_rmpp_rx = 64,
	.max_rmpp_len = 96u << 20,
	.max_rmpp_tx_len = 256u << 20,
};

struct loop_mad {
	struct loop_mad *next;
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
};

/*
 * Take all MADs out of ep->loop. MADs that are added while these MADs are delivered arm the timer
 * again.
 */
static struct loop_mad *loop_take(struct mad_ep *ep)
{
	struct loop_mad *l = ep->loop;

	ep->loop = NULL;
	ep->loop_end = &ep->loop;
	ep->nloop = 0;
	return l;
}

static void loop_run(struct timer *t, ns_t now)
{
	struct mad_ep *ep = container_of(t, struct mad_ep, loop_timer);
	struct loop_mad *next;

	for (struct loop_mad *l = loop_take(ep); l; l = next) {
		next = l->next;
		mad_ep_recv(ep, &l->from, l->mad, now);
		free(l);
	}
}

/*
 * Queue a MAD that mad_ep_recv() got while ops->send was running. A timer delivers the MAD later.
 * The MAD can be the response to a request, and done() must not run inside mad_request().
 */
static int loop_add(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now)
{
	struct loop_mad *l = ep->nloop < MAD_LOOP_MAX ? malloc(sizeof(*l)) : NULL;

	if (!l)
		return -ENOENT;
	l->from = *from;
	memcpy(l->mad, mad, MAD_LEN);
	l->next = NULL;
	*ep->loop_end = l;
	ep->loop_end = &l->next;
	ep->nloop++;
	if (!timer_armed(&ep->loop_timer))
		timer_arm(ep->timers, &ep->loop_timer, now);
	return 0;
}

struct mad_ep *mad_ep_create(const struct mad_ep_ops *ops, void *ctx, struct timers *timers,
			     const struct log_sink *log)
{
	struct mad_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return NULL;
	ep->ops = ops;
	ep->ctx = ctx;
	ep->timers = timers;
	ep->log = log;
	ep->lim = default_limits;
	list_init(&ep->agents);
	list_init(&ep->rxs);
	ep->loop_end = &ep->loop;
	timer_init(&ep->loop_timer, loop_run);
	return ep;
}

void mad_ep_destroy(struct mad_ep *ep)
{
	if (!ep)
		return;
	ep->closing = true;
	while (!list_empty(&ep->agents))
		mad_agent_del(list_first(&ep->agents, struct mad_agent, link));
	while (!list_empty(&ep->rxs))
		mad_rmpp_rx_free(list_first(&ep->rxs, struct rmpp_rx, link));
	timer_cancel(ep->timers, &ep->loop_timer);
	for (struct loop_mad *l = ep->loop, *next; l; l = next) {
		next = l->next;
		free(l);
	}
	htab_fini(&ep->txs);
	free(ep);
}

int mad_ep_send(struct mad_ep *ep, const struct mad_addr *to, const void *mad, ns_t now)
{
	int err;

	ep->st.tx++;
	ep->sending++;
	err = ep->ops->send(ep->ctx, to, mad, now);
	ep->sending--;
	return err;
}

static bool class_valid(const struct mad_addr *from, const void *mad)
{
	return *(const uint8_t *)mad == MAD_BASE_VERSION &&
	       (from->qp == IB_QP0) == mad_class_is_smp(mad_class(mad));
}

static bool wants_class(const struct mad_agent_cfg *c, uint8_t mgmt_class)
{
	if (!c->one_class && mgmt_class == MAD_CLASS_SM_DR)
		mgmt_class = MAD_CLASS_SM_LID;
	return c->mgmt_class == mgmt_class;
}

static bool agent_wants(const struct mad_agent *a, uint8_t qp, uint8_t mgmt_class, uint8_t version,
			uint32_t oui)
{
	const struct mad_agent_cfg *c = &a->cfg;

	return c->qp == qp && wants_class(c, mgmt_class) && c->class_version == version &&
	       (!mad_class_has_oui(mgmt_class) || c->oui == oui);
}

/*
 * Return the first agent with an id above @after that has registered for @mad. The list of agents
 * is in the order of their ids.
 */
static struct mad_agent *agent_after(struct mad_ep *ep, uint32_t after, const struct mad_addr *from,
				     const void *mad)
{
	uint8_t version = ((const uint8_t *)mad)[2], method = mad_method(mad);
	struct mad_agent *a;

	list_for_each (a, &ep->agents, link)
		if (a->id > after &&
		    agent_wants(a, from->qp, mad_class(mad), version, mad_oui(mad)) &&
		    a->cfg.methods[method >> 6 & 1] & 1ull << (method & 63))
			return a;
	return NULL;
}

struct mad_agent *mad_agent_find(struct mad_ep *ep, const struct mad_addr *from, const void *mad)
{
	return agent_after(ep, 0, from, mad);
}

bool mad_ep_wants(struct mad_ep *ep, const struct mad_addr *from, const void *mad)
{
	return mad_agent_find(ep, from, mad) != NULL;
}

/* Return the agent whose request @mad answers. The upper half of the TID is the id of the agent. */
static struct mad_agent *agent_by_tid(struct mad_ep *ep, const void *mad)
{
	uint32_t id = (uint32_t)(mad_tid(mad) >> 32);
	struct mad_agent *a;

	list_for_each (a, &ep->agents, link)
		if (a->id == id)
			return a;
	return NULL;
}

/*
 * Tell whether the endpoint handles RMPP for the agent of @mad. As in ib_mad, an agent may instead
 * handle segments and ACKs itself.
 */
static bool rmpp_wanted(struct mad_ep *ep, const struct mad_addr *from, const void *mad)
{
	const struct mad_agent *a;
	const struct mad_tx *tx;

	if (!mad_rmpp_active(mad))
		return false;
	tx = mad_tx_find_response(ep, from, mad);
	if (tx)
		return tx->agent->cfg.rmpp;
	if (mad_tx_find_segments(ep, from, mad))
		return true;
	a = mad_method_is_response(mad_method(mad)) ? agent_by_tid(ep, mad)
						    : mad_agent_find(ep, from, mad);
	return a && a->cfg.rmpp;
}

/*
 * Deliver an unsolicited MAD to all agents that have registered for it. The next agent is looked up
 * only after recv() of the agent before, because recv() may have deleted agents.
 */
static int recv_unsolicited(struct mad_ep *ep, const struct mad_addr *from, const void *mad,
			    ns_t now)
{
	struct mad_agent *a = mad_agent_find(ep, from, mad);
	uint32_t id;

	if (!a) {
		ep->st.rx_unclaimed++;
		return -ENOENT;
	}
	for (; a; a = agent_after(ep, id, from, mad)) {
		id = a->id;
		a->cfg.recv(a->cfg.ctx, from, mad, MAD_LEN, now);
	}
	return 0;
}

static int recv_response(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now)
{
	struct mad_tx *tx = mad_tx_find_response(ep, from, mad);
	struct mad_agent *a = tx || !mad_rmpp_active(mad) ? NULL : agent_by_tid(ep, mad);

	if (a && a->cfg.user_rmpp && a->cfg.qp == from->qp) {
		a->cfg.recv(a->cfg.ctx, from, mad, MAD_LEN, now);
		return 0;
	}
	if (!tx) {
		ep->st.rx_late++;
		return -ENOENT;
	}
	mad_tx_finish(tx, 0, from, mad, MAD_LEN, now);
	return 0;
}

int mad_ep_recv(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now)
{
	if (ep->sending)
		return loop_add(ep, from, mad, now);
	ep->now = now;
	ep->st.rx++;
	if (!class_valid(from, mad)) {
		ep->st.rx_malformed++;
		return -EBADMSG;
	}
	if (rmpp_wanted(ep, from, mad))
		return mad_rmpp_recv(ep, from, mad, now);
	if (mad_method_is_response(mad_method(mad)))
		return recv_response(ep, from, mad, now);
	return recv_unsolicited(ep, from, mad, now);
}

static bool cfg_valid(const struct mad_agent_cfg *c)
{
	bool methods = c->methods[0] | c->methods[1];

	if (c->qp > IB_QP1)
		return false;
	if (c->mgmt_class ? (c->qp == IB_QP0) != mad_class_is_smp(c->mgmt_class) : methods)
		return false;
	if (c->rmpp && (c->user_rmpp || (c->mgmt_class && !rmpp_hdr_len(c->mgmt_class))))
		return false;
	if (c->oui > 0xffffff)
		return false;
	return c->recv || !(methods || c->user_rmpp);
}

/*
 * Tell whether two agents register for a common class and method. An agent for both classes of SMPs
 * is registered with class 0x01.
 */
static bool cfg_overlap(const struct mad_agent_cfg *a, const struct mad_agent_cfg *b)
{
	if (a->qp != b->qp || a->class_version != b->class_version)
		return false;
	if (a->qp == IB_QP0 ? a->one_class && b->one_class && a->mgmt_class != b->mgmt_class
			    : a->mgmt_class != b->mgmt_class)
		return false;
	if (mad_class_has_oui(a->mgmt_class) && a->oui != b->oui)
		return false;
	return (a->methods[0] & b->methods[0]) | (a->methods[1] & b->methods[1]);
}

static bool methods_taken(const struct mad_ep *ep, const struct mad_agent_cfg *c)
{
	const struct mad_agent *a;

	list_for_each (a, &ep->agents, link)
		if (!(a->cfg.shared || c->shared) && cfg_overlap(&a->cfg, c))
			return true;
	return false;
}

int mad_agent_add(struct mad_ep *ep, const struct mad_agent_cfg *cfg, struct mad_agent **ret)
{
	struct mad_agent_cfg c = *cfg;
	struct mad_agent *a;

	if (c.mgmt_class == MAD_CLASS_SM_DR && !c.one_class)
		c.mgmt_class = MAD_CLASS_SM_LID;
	if (!cfg_valid(&c))
		return -EINVAL;
	if (ep->closing || methods_taken(ep, &c))
		return -EBUSY;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->ep = ep;
	a->cfg = c;
	a->id = ++ep->next_agent;
	list_init(&a->txs);
	list_add_tail(&ep->agents, &a->link);
	*ret = a;
	return 0;
}

uint32_t mad_agent_id(const struct mad_agent *a)
{
	return a->id;
}

bool mad_agent_is_alone(const struct mad_agent *a)
{
	const struct mad_agent *b;

	list_for_each (b, &a->ep->agents, link)
		if (b->cfg.recv != a->cfg.recv && cfg_overlap(&b->cfg, &a->cfg))
			return false;
	return true;
}

void mad_agent_del(struct mad_agent *a)
{
	/*
	 * The code below cancels the agent's requests, and the done() of a request may call this
	 * function again for the same agent. The analyzer does not see that list_del() removed a
	 * freed agent from mad_ep_destroy()'s list.
	 */
	if (!a || a->closing) /* NOLINT(clang-analyzer-unix.Malloc) */
		return;
	a->closing = true;
	list_del(&a->link);
	while (!list_empty(&a->txs))
		mad_tx_finish(list_first(&a->txs, struct mad_tx, link), -ECANCELED, NULL, NULL, 0,
			      a->ep->now);
	free(a);
}

const struct mad_ep_stats *mad_ep_stats(const struct mad_ep *ep)
{
	return &ep->st;
}

void mad_ep_set_limits(struct mad_ep *ep, const struct mad_ep_limits *l)
{
	ep->lim = *l;
	if (!ep->lim.max_rmpp_tx_len)
		ep->lim.max_rmpp_tx_len = default_limits.max_rmpp_tx_len;
}
