/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "mad/smi.h"

#define TRAP_TID 0x7700000077ull

/*
 * A MAD on its way. Its timer fires after the latency of all hops. The MAD then arrives at the node
 * .at.
 */
struct flight {
	struct timer timer;
	struct net_node *at;
	struct mad_addr from;
	uint8_t in_port;
	uint8_t mad[MAD_LEN];
};

static void on_log(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	struct net *net = sink->ctx;
	char line[512];

	vsnprintf(line, sizeof(line), fmt, ap);
	if (getenv("SM_TEST_LOG"))
		fprintf(stderr, "%9.3f ms %s\n", (double)net->now / 1e6, line);
	if (lvl == LOG_LVL_ERR) {
		net->errors++;
		memcpy(net->last_err, line, sizeof(line));
	} else if (lvl == LOG_LVL_WARN) {
		memcpy(net->last_warn, line, sizeof(line));
	}
}

void net_init(struct net *net)
{
	memset(net, 0, sizeof(*net));
	timers_init(&net->timers);
	prng_seed(&net->rnd, 1);
	net->now = NS_SEC(1);
	net->latency = NS_USEC(1);
	net->next_guid = 0x100000;
	net->log = (struct log_sink){ .emit = on_log, .ctx = net, .max = LOG_LVL_DEBUG };
}

void net_fini(struct net *net)
{
	for (unsigned int i = 0; i < net->n; i++)
		mad_ep_destroy(net->node[i]->ep);
	/*
	 * The endpoints have been destroyed, so each timer that is left belongs to a MAD on its
	 * way.
	 */
	while (net->timers.n) {
		struct timer *t = net->timers.heap[1];

		timer_cancel(&net->timers, t);
		free(container_of(t, struct flight, timer));
	}
	for (unsigned int i = 0; i < net->n; i++) {
		free(net->node[i]->port);
		free(net->node[i]->lft);
		free(net->node[i]->mft);
		free(net->node[i]->sltovl);
		free(net->node[i]);
	}
	free(net->node);
	timers_fini(&net->timers);
}

static void port_power_up(struct net_port *p)
{
	bool ext = p->node->info.node_type == IB_NODE_SWITCH && p->num;
	bool up = p->peer && !p->cut;

	p->pi = (struct smp_port_info){
		.local_port = p->num,
		.width_enabled = 3,
		.width_supported = 3,
		.width_active = 2,
		.speed_supported = 7,
		.speed_active = 4,
		.speed_enabled = 7,
		.port_state = up ? IB_PORT_INIT : IB_PORT_DOWN,
		.phys_state = up ? IB_PHYS_LINK_UP : IB_PHYS_POLLING,
		.mtu_cap = IB_MTU_4096,
		.neighbor_mtu = IB_MTU_256,
		.vl_cap = 4,
		.oper_vls = 1,
		.guid_cap = 32,
		.cap_mask = ext ? 0 : SMP_CAP_IS_CLIENT_REREG,
	};
	if (p->num == 0)
		p->pi.port_state = IB_PORT_ACTIVE;
	if (p->node->ep && net_end(p) == p)
		p->pi.cap_mask |= SMP_CAP_IS_SM;
	for (uint8_t sl = 0; sl < 16; sl++)
		p->sltovl[sl] = sl;
	memset(p->pkeys, 0, sizeof(p->pkeys));
	p->pkeys[0] = IB_PKEY_DEFAULT;
}

void net_reset(struct net_node *n)
{
	for (unsigned int i = 0; i <= n->info.nports; i++)
		port_power_up(&n->port[i]);
	if (!n->lft)
		return;
	memset(n->lft, SMP_LFT_NONE, 0xc000);
	memset(n->mft, 0, NET_MLIDS * sizeof(*n->mft));
	for (unsigned int i = 0; i < (n->info.nports + 1u) * (n->info.nports + 1u); i++) {
		for (uint8_t sl = 0; sl < 16; sl++)
			n->sltovl[i][sl] = sl;
	}
	n->si = (struct smp_switch_info){
		.lft_cap = 0xc000,
		.mft_cap = NET_MLIDS,
		.enforce_cap = NET_PKEYS,
		.inbound_enforce = true,
		.outbound_enforce = true,
		.port_state_change = true,
	};
}

static struct net_node *node_add(struct net *net, enum ib_node_type type, unsigned int nports)
{
	struct net_node *n = calloc(1, sizeof(*n));
	unsigned int count = 1;

	net->node = realloc(net->node, (net->n + 1) * sizeof(*net->node));
	for (unsigned int i = 0; i < net->n; i++)
		count += net->node[i]->info.node_type == type;
	net->node[net->n++] = n;
	n->net = net;
	snprintf(n->desc, sizeof(n->desc), "%c%u HCA-1", type == IB_NODE_CA ? 'h' : 's', count);
	n->info = (struct smp_node_info){
		.base_version = 1,
		.class_version = 1,
		.node_type = (uint8_t)type,
		.nports = (uint8_t)nports,
		.node_guid = net->next_guid,
		.sys_guid = net->next_guid,
		.pkey_cap = NET_PKEYS,
	};
	n->port = calloc(nports + 1, sizeof(*n->port));
	for (unsigned int i = 0; i <= nports; i++) {
		n->port[i].node = n;
		n->port[i].num = (uint8_t)i;
		n->port[i].guid = type == IB_NODE_CA ? net->next_guid + i : net->next_guid;
	}
	net->next_guid += 0x100;
	if (type == IB_NODE_SWITCH) {
		n->lft = malloc(0xc000);
		n->mft = calloc(NET_MLIDS, sizeof(*n->mft));
		n->sltovl = calloc((nports + 1) * (nports + 1), sizeof(*n->sltovl));
	}
	net_reset(n);
	return n;
}

struct net_node *net_switch(struct net *net, unsigned int nports)
{
	return node_add(net, IB_NODE_SWITCH, nports);
}

struct net_node *net_ca(struct net *net, unsigned int nports)
{
	return node_add(net, IB_NODE_CA, nports);
}

void net_link(struct net_node *a, unsigned int ap, struct net_node *b, unsigned int bp)
{
	a->port[ap].peer = &b->port[bp];
	b->port[bp].peer = &a->port[ap];
	port_power_up(&a->port[ap]);
	port_power_up(&b->port[bp]);
}

static unsigned int free_port(const struct net_node *n)
{
	for (unsigned int i = 1; i <= n->info.nports; i++) {
		if (!n->port[i].peer)
			return i;
	}
	return 0;
}

bool net_join(struct net_node *a, struct net_node *b)
{
	unsigned int ap = free_port(a), bp = free_port(b);

	if (!ap || !bp)
		return false;
	net_link(a, ap, b, bp);
	return true;
}

void net_random(struct net *net, uint64_t seed, unsigned int switches, unsigned int cas,
		unsigned int max_ca_ports)
{
	struct prng r;

	prng_seed(&r, seed);
	for (unsigned int s = 0; s < switches; s++) {
		struct net_node *n = net_switch(net, 36);

		while (s && !net_join(n, net->node[prng_below(&r, s)]))
			;
	}
	for (unsigned int i = 0; i < switches; i++) {
		struct net_node *a = net->node[prng_below(&r, switches)];
		struct net_node *b = net->node[prng_below(&r, switches)];

		if (a != b)
			net_join(a, b);
	}
	for (unsigned int i = 0; i < cas; i++) {
		struct net_node *ca = net_ca(net, 1 + prng_below(&r, max_ca_ports));

		for (unsigned int p = 1; p <= ca->info.nports; p++) {
			unsigned int first = prng_below(&r, switches);

			for (unsigned int k = 0; k < switches; k++) {
				if (net_join(ca, net->node[(first + k) % switches]))
					break;
			}
		}
	}
}

void net_ring(struct net *net, struct net_node *s[3])
{
	for (int i = 0; i < 3; i++)
		s[i] = net_switch(net, 8);
	net_link(s[0], 1, s[1], 1);
	net_link(s[1], 2, s[2], 1);
	net_link(s[2], 2, s[0], 2);
	for (int i = 0; i < 3; i++)
		net_join(s[i], net_ca(net, 1));
}

void net_two_switches(struct net *net, unsigned int parallel)
{
	struct net_node *s1 = net_switch(net, 12), *s2 = net_switch(net, 12);

	for (unsigned int i = 0; i < parallel; i++)
		net_join(s1, s2);
	for (int i = 0; i < 4; i++)
		net_join(i < 2 ? s1 : s2, net_ca(net, 1));
}

struct net_port *net_end(struct net_port *p)
{
	return p->node->lft ? &p->node->port[0] : p;
}

/* --- the SMA */

static void set_port_info(struct net_port *p, const struct smp_port_info *s, uint16_t *status)
{
	struct smp_port_info *pi = &p->pi;
	struct net_node *n = p->node;

	if (net_end(p) == p) {
		pi->lid = s->lid;
		pi->lmc = s->lmc;
		pi->sm_lid = s->sm_lid;
		pi->sm_sl = s->sm_sl;
		pi->gid_prefix = s->gid_prefix;
		pi->mkey = s->mkey;
		pi->mkey_lease = s->mkey_lease;
		pi->mkey_protect = s->mkey_protect;
		pi->subnet_timeout = s->subnet_timeout;
		p->reregisters += s->client_reregister;
	}
	pi->neighbor_mtu = s->neighbor_mtu;
	pi->oper_vls = s->oper_vls;
	pi->part_enforce_in = s->part_enforce_in;
	pi->part_enforce_out = s->part_enforce_out;
	p->pi_sets++;
	if (s->port_state == IB_PORT_NOP)
		return;
	if ((s->port_state == IB_PORT_ARMED && pi->port_state != IB_PORT_INIT) ||
	    (s->port_state == IB_PORT_ACTIVE && pi->port_state != IB_PORT_ARMED)) {
		*status = MAD_STATUS_BAD_VALUE;
		return;
	}
	pi->port_state = s->port_state;
	if (s->port_state == IB_PORT_ACTIVE && n->lft) {
		unsigned int routes = 0;

		for (unsigned int i = 0; i < 0xc000; i++)
			routes += n->lft[i] != SMP_LFT_NONE;
		n->net->active_unrouted += routes < 2;
	}
}

static struct net_port *mod_port(struct net_node *n, unsigned int num)
{
	return num <= n->info.nports ? &n->port[num] : NULL;
}

static void sma_port_info(struct net_node *n, bool set, uint32_t mod, uint8_t in_port,
			  uint8_t *data, uint16_t *status)
{
	struct net_port *p = mod_port(n, mod & 0xff);
	struct smp_port_info s;

	if (!p || (!n->lft && !p->num)) {
		*status = MAD_STATUS_BAD_VALUE;
		return;
	}
	if (set) {
		smp_port_info_decode(&s, data, SMP_DATA_LEN);
		if (n->refuses_arm && s.port_state == IB_PORT_ARMED) {
			*status = MAD_STATUS_BAD_VALUE;
			return;
		}
		set_port_info(p, &s, status);
	}
	s = p->pi;
	s.local_port = in_port;
	smp_port_info_encode(data, &s);
}

static void sma_pkeys(struct net_node *n, bool set, uint32_t mod, uint8_t in_port, uint8_t *data,
		      uint16_t *status)
{
	struct net_port *p = n->lft ? mod_port(n, mod >> 16) : &n->port[in_port];
	unsigned int block = mod & 0xffff;

	if (!p || block >= NET_PKEYS / SMP_PKEYS_PER_BLOCK) {
		*status = MAD_STATUS_BAD_VALUE;
		return;
	}
	if (set) {
		smp_pkey_block_decode(p->pkeys + block * SMP_PKEYS_PER_BLOCK, data, SMP_DATA_LEN);
		p->pkey_sets++;
	}
	smp_pkey_block_encode(data, p->pkeys + block * SMP_PKEYS_PER_BLOCK);
}

static void sma_mft(struct net_node *n, bool set, uint32_t mod, uint8_t *data, uint16_t *status)
{
	unsigned int block = mod & 0x1ff, pos = mod >> 28;
	uint16_t masks[SMP_MFT_PER_BLOCK];

	if (block >= NET_MLIDS / SMP_MFT_PER_BLOCK) {
		*status = MAD_STATUS_BAD_VALUE;
		return;
	}
	if (!set) {
		for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++)
			masks[i] = (uint16_t)(n->mft[block * SMP_MFT_PER_BLOCK + i][pos / 4] >>
					      pos % 4 * 16);
		smp_mft_block_encode(data, masks);
		return;
	}
	n->mft_sets++;
	smp_mft_block_decode(masks, data, SMP_DATA_LEN);
	for (unsigned int i = 0; i < SMP_MFT_PER_BLOCK; i++) {
		uint64_t *w = &n->mft[block * SMP_MFT_PER_BLOCK + i][pos / 4];

		*w = (*w & ~(0xffffull << pos % 4 * 16)) | (uint64_t)masks[i] << pos % 4 * 16;
	}
}

static void sma_sltovl(struct net_node *n, bool set, uint32_t mod, uint8_t in_port, uint8_t *data,
		       uint16_t *status)
{
	unsigned int in = mod >> 8 & 0xff, out = mod & 0xff;
	uint8_t *map = n->port[in_port].sltovl;

	if (n->lft) {
		if (in > n->info.nports || out > n->info.nports) {
			*status = MAD_STATUS_BAD_VALUE;
			return;
		}
		map = n->sltovl[in * (n->info.nports + 1u) + out];
	}
	n->sltovl_sets += set;
	if (set)
		smp_sltovl_decode(map, data, SMP_DATA_LEN);
	smp_sltovl_encode(data, map);
}

static void sma_switch_info(struct net_node *n, bool set, uint8_t *data)
{
	struct smp_switch_info s;

	if (set) {
		smp_switch_info_decode(&s, data, SMP_DATA_LEN);
		n->si.lft_top = s.lft_top;
		n->si.mft_top = s.mft_top;
		n->si.life_time = s.life_time;
		if (s.port_state_change)
			n->si.port_state_change = false;
		n->si_sets++;
	}
	smp_switch_info_encode(data, &n->si);
}

static void sma(struct net_node *n, uint8_t in_port, uint8_t *mad)
{
	bool set = mad_method(mad) == MAD_METHOD_SET;
	uint32_t mod = mad_attr_mod(mad);
	uint8_t *data = smp_data(mad);
	struct smp_node_info ni = n->info;
	uint16_t status = 0;

	switch (mad_attr(mad)) {
	case SMP_ATTR_NODE_INFO:
		ni.local_port = in_port;
		ni.port_guid = n->port[n->lft ? 0 : in_port].guid;
		smp_node_info_encode(data, &ni);
		break;
	case SMP_ATTR_NODE_DESC:
		memcpy(data, n->desc, 64);
		break;
	case SMP_ATTR_PORT_INFO:
		sma_port_info(n, set, mod, in_port, data, &status);
		break;
	case SMP_ATTR_PKEY_TABLE:
		sma_pkeys(n, set, mod, in_port, data, &status);
		break;
	case SMP_ATTR_SLTOVL:
		sma_sltovl(n, set, mod, in_port, data, &status);
		break;
	case SMP_ATTR_SWITCH_INFO:
		sma_switch_info(n, set, data);
		break;
	case SMP_ATTR_LFT:
		if (set)
			memcpy(n->lft + mod * SMP_LFT_PER_BLOCK, data, SMP_LFT_PER_BLOCK);
		else
			memcpy(data, n->lft + mod * SMP_LFT_PER_BLOCK, SMP_LFT_PER_BLOCK);
		n->lft_sets += set;
		break;
	case SMP_ATTR_MFT:
		sma_mft(n, set, mod, data, &status);
		break;
	default:
		status = MAD_STATUS_BAD_ATTR;
	}
	smi_make_response(mad, status);
}

/* --- transport */

static void deliver(struct net_node *n, uint8_t in_port, const struct mad_addr *from, uint8_t *mad);
static void fly(struct net_node *n, uint8_t in_port, const struct mad_addr *from,
		const uint8_t *mad, unsigned int hops);

/*
 * Let the abyss @n (see net_node.abyss_ports) answer the SMP @mad in place of the SMP's
 * destination. The answer is that of a switch with a new GUID and with all ports up, unless
 * .abyss_guid or .abyss_type says otherwise. Returns false if the abyss does not answer
 */
static bool abyss_answer(struct net_node *n, uint8_t *mad)
{
	uint8_t *data = smp_data(mad);
	struct smp_node_info ni = n->info;
	struct smp_port_info pi = n->port[1].pi;
	bool edge = mad[SMP_OFF_HOP_CNT] <= 1;
	uint16_t status = 0;

	switch (mad_attr(mad)) {
	case SMP_ATTR_NODE_INFO:
		ni.node_type = edge || !n->abyss_type ? IB_NODE_SWITCH : n->abyss_type;
		ni.nports = (uint8_t)n->abyss_ports;
		ni.node_guid = ni.port_guid = ni.sys_guid = n->net->next_guid++;
		if (!edge && n->abyss_guid)
			ni.node_guid = ni.port_guid = n->abyss_guid;
		ni.local_port = 1;
		smp_node_info_encode(data, &ni);
		break;
	case SMP_ATTR_PORT_INFO:
		pi.port_state = IB_PORT_ACTIVE;
		pi.phys_state = IB_PHYS_LINK_UP;
		if (mad_method(mad) == MAD_METHOD_GET)
			smp_port_info_encode(data, &pi);
		break;
	case SMP_ATTR_SWITCH_INFO:
		smp_switch_info_encode(
			data, &(struct smp_switch_info){ .lft_cap = 0xc000, .mft_cap = 64 });
		break;
	default:
		break;
	}
	if (mad_method(mad) == MAD_METHOD_SET)
		status = n->abyss_status;
	smi_make_response(mad, status);
	n->net->held = n->abyss_delay;
	return !n->abyss_mute || mad_attr(mad) == SMP_ATTR_NODE_INFO;
}

/*
 * Let node @n send the SMP @mad by port @out, and follow the SMP's directed route to the node that
 * processes the SMP.
 */
static void route(struct net_node *n, uint8_t out, uint8_t *mad)
{
	struct mad_addr from = mad_addr_smp_dr();
	enum smi_verdict v;
	unsigned int hops = 0;

	for (;;) {
		struct net_port *p = &n->port[out];

		if (out > n->info.nports || !p->peer || p->cut || p->peer->node->dead || n->dead)
			return;
		hops++;
		p = p->peer;
		n = p->node;
		if (n->abyss_ports) {
			if (!abyss_answer(n, mad))
				return;
			/*
			 * The abyss has turned the request into its answer, which returns on the
			 * same path, so the hop pointer must be that of a returning SMP.
			 */
			p = p->peer;
			n = p->node;
			hops++;
		}
		v = smi_recv(mad, n->lft != NULL, p->num, n->info.nports, &out);
		if (v == SMI_FORWARD)
			continue;
		if (v == SMI_LOCAL)
			fly(n, p->num, &from, mad, hops);
		return;
	}
}

/* Deliver a MAD of class 0x01 (LID routed) directly to the node that has the LID to->lid. */
static void route_lid(struct net_node *n, const struct mad_addr *to, uint8_t *mad)
{
	struct mad_addr from = *to;

	for (unsigned int i = 0; i < n->net->n; i++) {
		struct net_node *d = n->net->node[i];
		unsigned int first = d->lft ? 0 : 1, last = d->lft ? 0 : d->info.nports;

		for (unsigned int p = first; p <= last; p++) {
			if (d->port[p].pi.lid != to->lid || d->dead)
				continue;
			from.lid = n->port[n->lft ? 0 : 1].pi.lid;
			fly(d, (uint8_t)p, &from, mad, 3);
			return;
		}
	}
}

static void leave(struct net_node *n, const struct mad_addr *to, uint8_t *mad)
{
	struct mad_addr from = mad_addr_smp_dr();
	uint8_t out = 0;

	n->net->smps++;
	if (n->net->loss_ppm && prng_chance(&n->net->rnd, n->net->loss_ppm))
		return;
	if (mad_class(mad) == MAD_CLASS_SM_LID) {
		route_lid(n, to, mad);
		return;
	}
	switch (smi_send(mad, n->lft != NULL, n->info.nports, &out)) {
	case SMI_FORWARD:
		route(n, out, mad);
		break;
	case SMI_LOCAL:
		/* On a CA, the SM uses port 1. */
		fly(n, n->lft ? 0 : 1, &from, mad, 0);
		break;
	default:
		break;
	}
}

static void flight_land(struct timer *t, ns_t now)
{
	struct flight *f = container_of(t, struct flight, timer);

	deliver(f->at, f->in_port, &f->from, f->mad);
	free(f);
}

static void fly(struct net_node *n, uint8_t in_port, const struct mad_addr *from,
		const uint8_t *mad, unsigned int hops)
{
	struct flight *f = calloc(1, sizeof(*f));
	struct net *net = n->net;

	timer_init(&f->timer, flight_land);
	f->at = n;
	f->in_port = in_port;
	f->from = *from;
	memcpy(f->mad, mad, MAD_LEN);
	timer_arm(&net->timers, &f->timer, net->now + net->held + net->latency * (hops + 1));
	net->held = 0;
}

static void deliver(struct net_node *n, uint8_t in_port, const struct mad_addr *from, uint8_t *mad)
{
	uint8_t method = mad_method(mad);
	bool for_agent = mad_method_is_response(method) || method == MAD_METHOD_TRAP ||
			 mad_attr(mad) == SMP_ATTR_SM_INFO;

	if (n->dead)
		return;
	n->net->represses += method == MAD_METHOD_TRAP_REPRESS && mad_tid(mad) == TRAP_TID;
	if (for_agent) {
		if (n->ep)
			mad_ep_recv(n->ep, from, mad, n->net->now);
		return;
	}
	if (n->die_after && --n->die_after == 0) {
		n->dead = true;
		return;
	}
	sma(n, in_port, mad);
	leave(n, from, mad);
}

static int ep_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	uint8_t copy[MAD_LEN];

	memcpy(copy, mad, sizeof(copy));
	leave(ctx, to, copy);
	return 0;
}

struct mad_ep *net_ep(struct net_node *n, bool is_sm)
{
	static const struct mad_ep_ops ops = { .send = ep_send };

	if (!n->ep)
		n->ep = mad_ep_create(&ops, n, &n->net->timers, NULL);
	if (is_sm)
		n->port[n->lft ? 0 : 1].pi.cap_mask |= SMP_CAP_IS_SM;
	return n->ep;
}

struct sm *net_sm(struct net_node *n, const struct sm_cfg *cfg)
{
	struct sm_cfg dflt = sm_cfg_default();
	struct sm *sm = NULL;

	assert_int_equal(
		sm_create(&sm, net_ep(n, true), cfg ? cfg : &dflt, &n->net->timers, &n->net->log),
		0);
	sm_start(sm, n->net->now);
	return sm;
}

void net_run(struct net *net, ns_t until)
{
	while (timers_next(&net->timers) <= until) {
		net->now = timers_next(&net->timers);
		timers_run(&net->timers, net->now);
	}
	net->now = until;
}

bool net_until_up(struct net *net, struct sm *sm, uint64_t gen)
{
	ns_t end = net->now + NS_SEC(30);

	while (timers_next(&net->timers) <= end) {
		if (sm_db(sm) && sm_db(sm)->generation >= gen)
			return true;
		net->now = timers_next(&net->timers);
		timers_run(&net->timers, net->now);
	}
	return sm_db(sm) && sm_db(sm)->generation >= gen;
}

static void trap_link_state(struct net_node *n)
{
	struct mad_notice no = {
		.generic = true,
		.type = MAD_NOTICE_TYPE_URGENT,
		.producer = IB_NODE_SWITCH,
		.trap = MAD_TRAP_LINK_STATE,
		.issuer_lid = n->port[0].pi.lid,
	};
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.method = MAD_METHOD_TRAP,
		.attr_id = SMP_ATTR_NOTICE,
		.tid = TRAP_TID,
	};
	struct mad_addr to = mad_addr_smp_lid(n->port[0].pi.sm_lid);
	struct smp_dr dr = { 0 };
	uint8_t mad[MAD_LEN], notice[MAD_NOTICE_GID_LEN];

	if (!to.lid)
		return;
	mad_notice_lid(&no, no.issuer_lid);
	mad_notice_encode(notice, &no);
	smp_encode(mad, &h, &dr, notice);
	leave(n, &to, mad);
}

static void link_changed(struct net_port *p)
{
	struct net_node *n = p->node;
	bool up = !p->cut;

	p->pi.port_state = up ? IB_PORT_INIT : IB_PORT_DOWN;
	p->pi.phys_state = up ? IB_PHYS_LINK_UP : IB_PHYS_POLLING;
	if (!n->lft)
		return;
	n->si.port_state_change = true;
	trap_link_state(n);
}

void net_cut(struct net_node *a, unsigned int ap, bool cut)
{
	struct net_port *p = &a->port[ap];

	p->cut = p->peer->cut = cut;
	link_changed(p);
	link_changed(p->peer);
}

/* --- walking the tables */

static struct net_port *cross(const struct net_port *p)
{
	if (!p->peer || p->cut || p->pi.port_state != IB_PORT_ACTIVE ||
	    p->peer->pi.port_state != IB_PORT_ACTIVE || p->peer->node->dead)
		return NULL;
	return p->peer;
}

int net_walk(const struct net_port *src, const struct net_port *dst, uint16_t dlid)
{
	const struct net_port *at = src;
	int hops = 0;

	if (!src->node->lft) {
		at = cross(src);
		hops++;
	}
	while (at && at->node->lft && hops < 64) {
		uint8_t out = dlid <= at->node->si.lft_top ? at->node->lft[dlid] : SMP_LFT_NONE;

		if (out == 0)
			return &at->node->port[0] == dst ? hops : -1;
		if (out > at->node->info.nports)
			return -1;
		at = cross(&at->node->port[out]);
		hops++;
	}
	return at == dst ? hops : -1;
}

struct flood {
	uint16_t mlid;
	void (*hit)(void *, struct net_port *);
	void *ctx;
	int copies;
};

static void flood_into(struct flood *f, struct net_port *in)
{
	struct net_node *n = in->node;
	const uint64_t *mask;

	if (!n->lft) {
		f->hit(f->ctx, in);
		return;
	}
	mask = n->mft[f->mlid - IB_LID_MCAST_MIN];
	for (unsigned int i = 0; i <= n->info.nports && f->copies < 10000; i++) {
		struct net_port *next;

		if (!(mask[i / 64] >> i % 64 & 1) || i == in->num)
			continue;
		if (i == 0) {
			f->hit(f->ctx, &n->port[0]);
			continue;
		}
		next = cross(&n->port[i]);
		if (!next)
			continue;
		f->copies++;
		flood_into(f, next);
	}
}

int net_flood(const struct net_port *src, uint16_t mlid, void (*hit)(void *, struct net_port *),
	      void *ctx)
{
	struct flood f = { .mlid = mlid, .hit = hit, .ctx = ctx };
	struct net_port *in = src->node->lft ? &src->node->port[0] : cross(src);

	if (in)
		flood_into(&f, in);
	return f.copies < 10000 ? f.copies : -1;
}

static struct net_port *end_port(struct net_node *n, unsigned int i)
{
	if (n->lft)
		return i == 0 ? &n->port[0] : NULL;
	return i >= 1 && n->port[i].peer && !n->port[i].cut ? &n->port[i] : NULL;
}

static void assert_reaches_all(struct net *net, struct net_port *src)
{
	for (unsigned int i = 0; i < net->n; i++) {
		struct net_node *d = net->node[i];

		for (unsigned int p = 0; p <= d->info.nports && !d->dead; p++) {
			struct net_port *dst = end_port(d, p);

			if (!dst || dst == src)
				continue;
			for (unsigned int k = 0; k < 1u << dst->pi.lmc; k++) {
				uint16_t lid = (uint16_t)(dst->pi.lid + k);

				if (net_walk(src, dst, lid) < 0)
					fail_msg("%s port %u does not reach %s port %u, LID %u",
						 src->node->desc, src->num, d->desc, dst->num, lid);
			}
		}
	}
}

void net_assert_connected(struct net *net)
{
	for (unsigned int i = 0; i < net->n; i++) {
		for (unsigned int p = 0; p <= net->node[i]->info.nports; p++) {
			struct net_port *src = end_port(net->node[i], p);

			if (src && !net->node[i]->dead)
				assert_reaches_all(net, src);
		}
	}
}
