/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "node/mad_pkt.h"
#include "node/node.h"

/*
 * A CA and a switch receive MADs from the input, while links change and time passes. Each step of the
 * input has one octet, which chooses the event. For a MAD it also chooses the node, the port and the
 * queue pair, and the octets of the MAD follow. It must be possible to encode every MAD that a node
 * sends.
 */

struct owner {
	struct node n;
	struct pkt_pool *pool;
	struct timers *timers;
};

static int xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct owner *o = ctx;
	bool is_switch = node_is_switch(&o->n);
	struct pkt *p;

	(void)now;
	if (egress > o->n.info.nports || (!is_switch && egress == 0))
		abort();
	p = mad_pkt_build(o->pool, node_end_port(&o->n, egress), to, mad, 0, true);
	if (!p || p->len != ib_ud_hdr_len(to->has_grh && to->qp) + MAD_LEN)
		abort();
	pkt_free(p);
	return 0;
}

static void event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	struct owner *o = ctx;

	(void)ev;
	(void)now;
	if (port > o->n.info.nports)
		abort();
}

static const struct node_ops ops = { .xmit = xmit, .event = event };

/* Conditions that must hold in a node, whatever values a subnet manager writes */
static void check(const struct node *n)
{
	for (unsigned int i = !node_is_switch(n); i <= n->info.nports; i++) {
		const struct smp_port_info *pi = &n->port[i].pi;

		if (pi->port_state < IB_PORT_DOWN || pi->port_state > IB_PORT_ACTIVE)
			abort();
		if (pi->neighbor_mtu > pi->mtu_cap || pi->oper_vls > pi->vl_cap)
			abort();
		if (pi->lid >= IB_LID_MCAST_MIN || pi->sm_lid >= IB_LID_MCAST_MIN)
			abort();
		if (pi->port_state > IB_PORT_DOWN && i && !n->port[i].link_up)
			abort();
	}
	if (node_is_switch(n) && n->sw->si.lft_top >= n->sw->si.lft_cap)
		abort();
}

static void make(struct owner *o, uint8_t type, uint8_t nports, struct pkt_pool *pool,
		 struct timers *timers, const struct log_sink *log)
{
	static const uint64_t guids[] = { 1, 2, 3 };
	struct node_cfg cfg = {
		.type = type,
		.nports = nports,
		.node_guid = 1,
		.port_guids = guids,
		.desc = "fuzz",
	};

	o->pool = pool;
	o->timers = timers;
	if (node_init(&o->n, &cfg, &ops, o, timers, log))
		abort();
	for (uint8_t i = 1; i <= nports; i++)
		node_link(&o->n, i, true, 1);
}

/*
 * Deliver one MAD. Octets beyond the end of the input count as zeros. Returns the number of octets
 * that were used.
 */
static size_t step(struct owner *o, uint8_t how, const uint8_t *data, size_t size, ns_t now)
{
	uint8_t port = (uint8_t)(how >> 2 & 3), mad[MAD_LEN] = { 0 };
	struct mad_addr from = how & 1 ? mad_addr_gmp(7, 0) : mad_addr_smp_lid(7);
	size_t n = size < MAD_LEN ? size : MAD_LEN;

	memcpy(mad, data, n);
	mad[0] = 1;
	if (how & 0x20)
		mad[2] = 1;
	if (how & 0x40)
		from.lid = IB_LID_PERMISSIVE;
	from.port = port;
	node_mad_rx(&o->n, port, &from, mad, now);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct owner node[2];
	struct log_sink log = { 0 };
	struct timers timers;
	struct pkt_pool *pool = pkt_pool_create(2, 2);
	ns_t now = 1;

	if (!pool)
		abort();
	timers_init(&timers);
	make(&node[0], IB_NODE_CA, 2, pool, &timers, &log);
	make(&node[1], IB_NODE_SWITCH, 3, pool, &timers, &log);
	while (size) {
		uint8_t how = *data++;

		size--;
		if (how & 0x80) {
			size_t n = step(&node[how >> 1 & 1], how, data, size, now);

			data += n;
			size -= n;
		} else if (how & 0x40) {
			node_link(&node[how >> 1 & 1].n, (uint8_t)(1 + (how >> 2 & 1)), how & 1,
				  now);
		} else {
			now += NS_MSEC(50) << (how & 7);
			timers_run(&timers, now);
		}
		check(&node[0].n);
		check(&node[1].n);
	}
	node_fini(&node[0].n);
	node_fini(&node[1].n);
	if (timers_next(&timers) != NS_NEVER || pkt_pool_pkts_used(pool))
		abort();
	timers_fini(&timers);
	pkt_pool_destroy(pool);
	return 0;
}
