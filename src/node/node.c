/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/node.h"

#include <errno.h>
#include <stdlib.h>

#include "node/priv.h"

struct node_loop {
	struct node_loop *next;
	uint8_t port;
	uint8_t mad[MAD_LEN];
};

static void discard(struct node *n)
{
	n->dropped++;
}

static void deliver(struct node_port *end, const struct mad_addr *from, const void *mad, ns_t now)
{
	if (mad_ep_recv(end->ep, from, mad, now))
		discard(end->node);
}

void node_gmp_answer(struct node_port *end, const struct mad_addr *from, void *mad, uint16_t status,
		     ns_t now)
{
	uint8_t *p = mad;

	p[MAD_OFF_METHOD] = MAD_METHOD_GET_RESP;
	be16_put(p + MAD_OFF_STATUS, status);
	if (end->node->ops->xmit(end->node->ctx, end->num, from, mad, now))
		discard(end->node);
}

/* Handles an SMP whose destination is this node. */
static void smp_local(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad,
		      ns_t now)
{
	struct node_port *end = node_end_port(n, in_port);
	uint8_t method = mad_method(mad);

	if (method == MAD_METHOD_TRAP_REPRESS && node_trap_repress(end, mad, now))
		return;
	if (mad_method_is_response(method) || method == MAD_METHOD_TRAP) {
		deliver(end, from, mad, now);
		return;
	}
	/*
	 * If an SM runs on this port, the SM answers SMInfo. Without an SM the SMA refuses the
	 * attribute.
	 */
	if (mad_attr(mad) == SMP_ATTR_SM_INFO && mad_ep_recv(end->ep, from, mad, now) == 0)
		return;
	node_sma(n, in_port, from, mad, now);
}

/*
 * Takes all SMPs out of n->loop. SMPs that are added while these SMPs are delivered arm the timer
 * again.
 */
static struct node_loop *loop_take(struct node *n)
{
	struct node_loop *l = n->loop;

	n->loop = NULL;
	n->loop_end = &n->loop;
	n->nloop = 0;
	return l;
}

static void loop_run(struct timer *t, ns_t now)
{
	struct node *n = container_of(t, struct node, loop_timer);
	struct node_loop *next;

	for (struct node_loop *l = loop_take(n); l; l = next) {
		struct mad_addr from = mad_addr_smp_dr();

		next = l->next;
		n->smps++;
		from.port = l->port;
		smp_local(n, l->port, &from, l->mad, now);
		free(l);
	}
}

/*
 * Queue an SMP that this node sends to itself. A timer delivers the SMP later, because a sender
 * does not expect the answer before the call that sends the SMP has returned.
 */
static int loop_add(struct node *n, uint8_t port, const void *mad, ns_t now)
{
	struct node_loop *l = n->nloop < NODE_LOOP_MAX ? malloc(sizeof(*l)) : NULL;

	if (!l)
		return -ENOBUFS;
	l->port = port;
	memcpy(l->mad, mad, MAD_LEN);
	l->next = NULL;
	*n->loop_end = l;
	n->loop_end = &l->next;
	n->nloop++;
	if (!timer_armed(&n->loop_timer))
		timer_arm(n->timers, &n->loop_timer, now);
	return 0;
}

/* Sends an SMP with a directed route out of @port; SLID and DLID of its LRH are permissive. */
static int dr_leave(struct node *n, uint8_t port, const void *mad, ns_t now)
{
	struct mad_addr to = mad_addr_smp_dr();

	/*
	 * Check the state of the physical link instead of PortState, because the answer to a
	 * Set(PortInfo) that sets Down must still be sent.
	 */
	if (!n->port[port].link_up)
		return -ENETDOWN;
	to.port = port;
	return n->ops->xmit(n->ctx, port, &to, mad, now);
}

/*
 * Forward an SMP out of @port. A switch forwards packets of VL15 only through a port in PortState
 * Init or higher.
 */
static int dr_forward(struct node *n, uint8_t port, const void *mad, ns_t now)
{
	return n->port[port].pi.port_state < IB_PORT_INIT ? -ENETDOWN : dr_leave(n, port, mad, now);
}

/*
 * Sends an SMP by LID, because the directed part of its route is over or has not begun (14.2.2.2).
 */
static int dr_lid_route(struct node_port *end, uint16_t lid, const void *mad, ns_t now)
{
	struct mad_addr to;

	if (lid == IB_LID_PERMISSIVE)
		lid = be16_at((const uint8_t *)mad + (mad_status(mad) & MAD_STATUS_DR_D
							      ? SMP_OFF_DR_SLID
							      : SMP_OFF_DR_DLID));
	if (!ib_lid_is_unicast(lid))
		return -EINVAL;
	to = mad_addr_smp_lid(lid);
	return end->node->ops->xmit(end->node->ctx, end->num, &to, mad, now);
}

static int dr_send(struct node_port *end, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct node *n = end->node;
	uint8_t m[MAD_LEN], port;

	memcpy(m, mad, sizeof(m));
	switch (smi_send(m, node_is_switch(n), n->info.nports, &port)) {
	case SMI_LOCAL:
		return loop_add(n, end->num, m, now);
	case SMI_FORWARD:
		if (!node_is_switch(n) && port != end->num)
			return -EINVAL;
		return dr_leave(n, port, m, now);
	case SMI_LID_ROUTE:
		return dr_lid_route(end, to->lid, m, now);
	case SMI_DISCARD:
		break;
	}
	return -EINVAL;
}

int node_smp_send(struct node_port *end, const struct mad_addr *to, const void *mad, ns_t now)
{
	if (mad_class(mad) == MAD_CLASS_SM_DR)
		return dr_send(end, to, mad, now);
	return end->node->ops->xmit(end->node->ctx, end->num, to, mad, now);
}

static int ep_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct node_port *end = ctx;

	if (to->qp == IB_QP0)
		return node_smp_send(end, to, mad, now);
	return end->node->ops->xmit(end->node->ctx, end->num, to, mad, now);
}

static const struct mad_ep_ops ep_ops = { .send = ep_send };

static void dr_rx(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now)
{
	uint8_t port;
	int err = -EINVAL;

	switch (smi_recv(mad, node_is_switch(n), in_port, n->info.nports, &port)) {
	case SMI_LOCAL:
		smp_local(n, in_port, from, mad, now);
		return;
	case SMI_FORWARD:
		err = dr_forward(n, port, mad, now);
		break;
	case SMI_LID_ROUTE:
		err = dr_lid_route(&n->port[0], IB_LID_PERMISSIVE, mad, now);
		break;
	case SMI_DISCARD:
		break;
	}
	if (err)
		discard(n);
}

uint8_t node_smp_pass(struct node *n, uint8_t in_port, void *mad)
{
	const struct node_port *out;
	uint8_t port;

	n->smps++;
	if (smi_recv(mad, true, in_port, n->info.nports, &port) != SMI_FORWARD)
		return 0;
	out = &n->port[port];
	return out->pi.port_state >= IB_PORT_INIT && out->link_up ? port : 0;
}

static void smp_rx(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad,
		   ns_t now)
{
	n->smps++;
	if (mad_class(mad) == MAD_CLASS_SM_DR)
		dr_rx(n, in_port, from, mad, now);
	else if (mad_class(mad) == MAD_CLASS_SM_LID)
		smp_local(n, in_port, from, mad, now);
	else
		discard(n);
}

static void gmp_rx(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad,
		   ns_t now)
{
	struct node_port *end = node_end_port(n, in_port);
	uint8_t method = mad_method(mad);
	int err;

	n->gmps++;
	if (node_pma(end, from, mad, now))
		return;
	/*
	 * If an `ibping -S` has registered for the class on this port, this ibping answers instead
	 * of node_ping().
	 */
	if (!mad_ep_wants(end->ep, from, mad) && node_ping(end, from, mad, now))
		return;
	err = mad_ep_recv(end->ep, from, mad, now);
	if (!err)
		return;
	discard(n);
	/*
	 * Refuse a class for which no agent has registered, as Linux does, so that the requester need not wait for its
	 * time-out.
	 */
	if (err == -ENOENT && (method == MAD_METHOD_GET || method == MAD_METHOD_SET))
		node_gmp_answer(end, from, mad, MAD_STATUS_BAD_ATTR, now);
}

void node_mad_rx(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now)
{
	if (in_port > n->info.nports || (in_port == 0 && !node_is_switch(n))) {
		discard(n);
		return;
	}
	if (from->qp == IB_QP0)
		smp_rx(n, in_port, from, mad, now);
	else
		gmp_rx(n, in_port, from, mad, now);
}

void node_raise(struct node *n, uint8_t port, uint32_t events, ns_t now)
{
	for (unsigned int ev = 0; events; ev++, events >>= 1)
		if (events & 1)
			n->ops->event(n->ctx, port, (enum node_event)ev, now);
}

static int switch_init(struct node *n, const struct node_cfg *cfg)
{
	struct node_switch *sw = calloc(1, sizeof(*sw));

	if (!sw)
		return -ENOMEM;
	n->sw = sw;
	sw->si = (struct smp_switch_info){
		.lft_cap = sizeof(sw->lft),
		.mft_cap = NODE_MCAST_LIDS,
		.default_mcast_primary = SMP_LFT_NONE,
		.default_mcast_not_primary = SMP_LFT_NONE,
		.enforce_cap = NODE_PKEYS,
		.inbound_enforce = true,
		.outbound_enforce = true,
		.filter_raw_in = true,
		.filter_raw_out = true,
		.enhanced_port0 = cfg->enhanced_port0,
	};
	memset(sw->lft, SMP_LFT_NONE, sizeof(sw->lft));
	return 0;
}

uint64_t (*node_mft_own(struct node_switch *sw))[4]
{
	if (!sw->mft)
		sw->mft = calloc(NODE_MCAST_LIDS, sizeof(*sw->mft));
	return sw->mft;
}

uint8_t (*node_sltovl_own(struct node *n))[16]
{
	size_t pairs = (n->info.nports + 1ul) * (n->info.nports + 1ul);
	struct node_switch *sw = n->sw;

	if (sw->sltovl)
		return sw->sltovl;
	sw->sltovl = calloc(pairs, sizeof(*sw->sltovl));
	for (size_t i = 0; sw->sltovl && i < pairs; i++)
		memcpy(sw->sltovl[i], n->port[0].sltovl, sizeof(sw->sltovl[i]));
	return sw->sltovl;
}

static int end_port_init(struct node_port *p, uint64_t guid)
{
	p->guids = calloc(NODE_GUIDS, sizeof(*p->guids));
	if (!p->guids)
		return -ENOMEM;
	p->guids[0] = guid;
	p->pi.gid_prefix = IB_SUBNET_PREFIX_DEFAULT;
	p->pi.guid_cap = node_is_switch(p->node) ? 1 : NODE_GUIDS;
	p->ep = mad_ep_create(&ep_ops, p, p->node->timers, p->node->log);
	return p->ep ? 0 : -ENOMEM;
}

static int ports_init(struct node *n, const struct node_cfg *cfg)
{
	bool is_switch = cfg->type == IB_NODE_SWITCH;
	int err;

	n->port = calloc(cfg->nports + 1u, sizeof(*n->port));
	if (!n->port)
		return -ENOMEM;
	for (unsigned int i = 0; i <= cfg->nports; i++) {
		n->port[i].node = n;
		n->port[i].num = (uint8_t)i;
		node_port_init(&n->port[i]);
	}
	if (is_switch) {
		err = switch_init(n, cfg);
		return err ? err : end_port_init(&n->port[0], cfg->port_guids[0]);
	}
	for (unsigned int i = 1; i <= cfg->nports; i++) {
		err = end_port_init(&n->port[i], cfg->port_guids[i - 1]);
		if (err)
			return err;
	}
	return 0;
}

int node_init(struct node *n, const struct node_cfg *cfg, const struct node_ops *ops, void *ctx,
	      struct timers *timers, const struct log_sink *log)
{
	int err;

	if (cfg->nports < 1 || cfg->nports > NODE_MAX_PORTS ||
	    (cfg->type != IB_NODE_CA && cfg->type != IB_NODE_SWITCH))
		return -EINVAL;
	*n = (struct node){
		.info = {
			.base_version = MAD_BASE_VERSION,
			.class_version = SMP_CLASS_VERSION,
			.node_type = cfg->type,
			.nports = cfg->nports,
			.sys_guid = cfg->sys_guid,
			.node_guid = cfg->node_guid,
			.port_guid = cfg->port_guids[0],
			.pkey_cap = NODE_PKEYS,
			.device_id = cfg->device_id,
			.revision = cfg->revision,
			.vendor_id = cfg->vendor_id,
		},
		.timers = timers,
		.log = log,
		.ops = ops,
		.ctx = ctx,
	};
	strncpy(n->desc, cfg->desc, sizeof(n->desc) - 1);
	n->loop_end = &n->loop;
	timer_init(&n->loop_timer, loop_run);
	err = ports_init(n, cfg);
	if (err)
		node_fini(n);
	return err;
}

static void port_fini(struct node_port *p)
{
	mad_ep_destroy(p->ep);
	p->ep = NULL;
	node_traps_fini(p);
	pma_samples_fini(p);
	free(p->rare);
	p->rare = NULL;
	free(p->guids);
	p->guids = NULL;
	timer_cancel(p->node->timers, &p->mkey_lease);
}

void node_fini(struct node *n)
{
	if (n->port) {
		for (unsigned int i = 0; i <= n->info.nports && n->port[i].node; i++)
			port_fini(&n->port[i]);
		timer_cancel(n->timers, &n->loop_timer);
	}
	for (struct node_loop *l = loop_take(n), *next; l; l = next) {
		next = l->next;
		free(l);
	}
	if (n->sw) {
		free(n->sw->mft);
		free(n->sw->sltovl);
		free(n->sw);
		n->sw = NULL;
	}
	free(n->port);
	n->port = NULL;
}
