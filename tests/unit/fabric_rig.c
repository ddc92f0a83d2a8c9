/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "crc/crc.h"
#include "wire/smp.h"

void rig_init_topo(struct rig *r, struct topo *t)
{
	assert_non_null(t);
	timers_init(&r->ts);
	r->pool = pkt_pool_create(16384, 4096);
	assert_non_null(r->pool);
	r->cfg.timers = &r->ts;
	r->cfg.pool = r->pool;
	r->now = NS_SEC(1);
	assert_int_equal(fabric_create(&r->f, t, &r->cfg, r->now), 0);
	topo_free(t);
	rig_settle(r);
}

void rig_init(struct rig *r, const char *text)
{
	struct topo_err err;
	struct topo *t = NULL;

	if (topo_parse(&t, "rig", text, strlen(text), NULL, &err))
		fail_msg("%s", err.text);
	rig_init_topo(r, t);
}

void rig_fini(struct rig *r)
{
	for (unsigned int i = 0; i < r->nends; i++)
		rig_end_clear(&r->end[i]);
	fabric_destroy(r->f);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(r->pool), 0);
	assert_int_equal(timers_next(&r->ts), NS_NEVER);
	timers_fini(&r->ts);
	pkt_pool_destroy(r->pool);
	memset(r, 0, sizeof(*r));
}

struct fabric_node *rig_node(struct rig *r, const char *name)
{
	struct fabric_node *n = fabric_node_find(r->f, name);

	assert_non_null(n);
	return n;
}

struct fabric_port *rig_port(struct rig *r, const char *name)
{
	struct fabric_port *p = NULL;

	assert_int_equal(fabric_port_find(r->f, name, &p), 0);
	return p;
}

struct node_port *rig_np(struct rig *r, const char *name)
{
	struct fabric_port *p = rig_port(r, name);

	return &fabric_node_node(fabric_port_node(p))->port[fabric_port_num(p)];
}

struct node *rig_sw(struct rig *r, const char *name)
{
	struct node *n = fabric_node_node(rig_node(r, name));

	assert_non_null(n->sw);
	return n;
}

static void on_event(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now)
{
	struct rig *r = ctx;

	r->events[ev]++;
}

void rig_watch(struct rig *r, const char *name)
{
	static const struct fabric_notify fn = { .event = on_event };

	fabric_set_hca_notify(r->f, rig_node(r, name), &fn, r);
}

void rig_settle(struct rig *r)
{
	unsigned int rounds = 0;

	do {
		timers_run(&r->ts, r->now);
		assert_true(++rounds < 10000);
	} while (fabric_run(r->f, r->now) || timers_next(&r->ts) <= r->now);
}

void rig_pass(struct rig *r, ns_t t)
{
	ns_t end = r->now + t;

	rig_settle(r);
	while (timers_next(&r->ts) <= end) {
		r->now = timers_next(&r->ts);
		rig_settle(r);
	}
	r->now = end;
}

/* --- configuration */

static bool linked(const struct fabric_port *p)
{
	return fabric_link_state(p) == FABRIC_LINK_UP;
}

static void configure_port(struct node *n, unsigned int num)
{
	struct smp_port_info *pi = &n->port[num].pi;

	pi->port_state = IB_PORT_ACTIVE;
	pi->phys_state = IB_PHYS_LINK_UP;
	pi->neighbor_mtu = IB_MTU_4096;
}

static void configure_sltovl(struct node *n)
{
	size_t rows = (n->info.nports + 1u) * (n->info.nports + 1u);

	for (size_t i = 0; i < rows; i++)
		for (uint8_t sl = 0; sl < 16; sl++)
			node_sltovl_own(n)[i][sl] = sl % 8;
}

/*
 * Set the entries for @lid in all LFTs. A breadth-first search begins at node @to, which has the
 * LID. Each switch sends packets for the LID to the port by which the search reached this switch.
 */
static void route_lid(struct rig *r, struct fabric_node *to, unsigned int to_port, uint16_t lid)
{
	unsigned int n = fabric_nnodes(r->f), head = 0, tail = 0;
	struct fabric_node **queue = calloc(n + 1, sizeof(*queue));
	bool first = true;

	if (fabric_node_node(to)->sw)
		fabric_node_node(to)->sw->lft[lid] = 0;
	queue[tail++] = to;
	while (head < tail) {
		struct fabric_node *at = queue[head++];
		struct node *nd = fabric_node_node(at);
		bool ca = fabric_node_hca(at) != NULL;

		for (unsigned int k = 1; k <= nd->info.nports && (first || !ca); k++) {
			struct fabric_port *p = fabric_node_port(at, k),
					   *peer = fabric_port_peer(p);
			struct node *pn;

			if ((ca && k != to_port) || !peer || !fabric_port_node(peer) || !linked(p))
				continue;
			pn = fabric_node_node(fabric_port_node(peer));
			if (!pn->sw || pn->sw->lft[lid] != SMP_LFT_NONE)
				continue;
			pn->sw->lft[lid] = (uint8_t)fabric_port_num(peer);
			queue[tail++] = fabric_port_node(peer);
		}
		first = false;
	}
	free(queue);
}

void rig_configure(struct rig *r)
{
	uint16_t lid = 1;

	for (unsigned int i = 0; i < fabric_nnodes(r->f); i++) {
		struct fabric_node *fn = fabric_node_at(r->f, i);
		struct node *n = fabric_node_node(fn);

		if (n->sw) {
			configure_sltovl(n);
			n->port[0].pi.port_state = IB_PORT_ACTIVE;
			n->port[0].pi.lid = lid++;
			memset(n->sw->lft, SMP_LFT_NONE, sizeof(n->sw->lft));
		}
		for (unsigned int k = 1; k <= n->info.nports; k++) {
			if (linked(fabric_node_port(fn, k)))
				configure_port(n, k);
			if (!n->sw)
				n->port[k].pi.lid = lid++;
		}
	}
	for (unsigned int i = 0; i < fabric_nnodes(r->f); i++) {
		struct fabric_node *fn = fabric_node_at(r->f, i);
		struct node *n = fabric_node_node(fn);

		if (n->sw)
			n->sw->si.lft_top = lid;
		if (n->sw)
			route_lid(r, fn, 0, n->port[0].pi.lid);
		for (unsigned int k = 1; !n->sw && k <= n->info.nports; k++)
			route_lid(r, fn, k, n->port[k].pi.lid);
	}
}

uint16_t rig_lid(struct rig *r, const char *name)
{
	return rig_np(r, name)->pi.lid;
}

void rig_set_state(struct rig *r, const char *port, enum ib_port_state s)
{
	rig_np(r, port)->pi.port_state = (uint8_t)s;
}

/* --- external ends */

static void end_tx(void *ctx, struct pkt **v, unsigned int n, ns_t now)
{
	struct rig_end *e = ctx;

	for (unsigned int i = 0; i < n; i++) {
		assert_true(e->n < RIG_KEEP);
		e->got[e->n++] = v[i];
	}
}

static void end_state(void *ctx, enum fabric_link_state s, ns_t now)
{
	struct rig_end *e = ctx;

	e->states++;
	e->state = s;
}

struct rig_end *rig_attach(struct rig *r, const char *port)
{
	static const struct fabric_ext_ops ops = { .tx = end_tx,
						   .state = end_state,
						   .inside = true };
	struct rig_end *e = &r->end[r->nends++];
	char label[FABRIC_NAME_MAX + 8];

	snprintf(label, sizeof(label), "far:%s", port);
	assert_true(r->nends <= RIG_ENDS);
	e->rig = r;
	assert_int_equal(fabric_ext_attach(rig_port(r, port), label, &ops, e, &e->end), 0);
	fabric_ext_carrier(e->end, true, r->now);
	rig_settle(r);
	return e;
}

void rig_end_clear(struct rig_end *e)
{
	pkt_free_batch(e->got, e->n);
	e->n = 0;
}

/* --- packets */

struct pkt *rig_make(struct rig *r, const struct rig_pkt *s)
{
	struct ib_ud_hdr h = {
		.lrh = { .vl = s->vl,
			 .sl = s->sl,
			 .lnh = s->dgid ? IB_LNH_GLOBAL : IB_LNH_LOCAL,
			 .dlid = s->dlid,
			 .slid = s->slid },
		.has_grh = s->dgid != NULL,
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 .pkey = s->pkey ? s->pkey : IB_PKEY_DEFAULT,
			 .dest_qp = s->dest_qp },
		.deth = { .qkey = s->qkey, .src_qp = s->src_qp },
	};
	size_t len = s->mad ? 256 : s->len;
	uint8_t *data = malloc(len + 1);
	struct pkt *p;

	if (s->dgid) {
		h.grh = (struct ib_grh){ .ip_ver = 6, .nxt_hdr = IB_GRH_NXTHDR, .hop_limit = 1 };
		h.grh.dgid = *s->dgid;
		h.grh.sgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x77);
	}
	for (size_t i = 0; i < len; i++)
		data[i] = s->mad ? ((const uint8_t *)s->mad)[i] : (uint8_t)i;
	p = pkt_from_data(r->pool, data, len);
	assert_non_null(p);
	free(data);
	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(h.has_grh)), &h, len);
	p->vl = s->vl;
	crc_pkt_seal(p);
	return p;
}

void rig_send_pkt(struct rig_end *e, struct pkt *p)
{
	fabric_ext_rx(e->end, &p, 1, e->rig->now);
	rig_settle(e->rig);
}

void rig_send(struct rig_end *e, const struct rig_pkt *s)
{
	rig_send_pkt(e, rig_make(e->rig, s));
}

void rig_smp(uint8_t mad[256], uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *path,
	     unsigned int hops, const void *data)
{
	static uint64_t tid = 1;
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = method,
		.tid = tid++,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .dr_slid = IB_LID_PERMISSIVE, .dr_dlid = IB_LID_PERMISSIVE };

	if (hops)
		memcpy(dr.initial_path + 1, path, hops);
	smp_encode(mad, &h, &dr, data);
	mad[SMP_OFF_HOP_CNT] = (uint8_t)hops;
}

/*
 * Send from @e a directed-route SMP of one hop, so that the node at the other end of @e's link
 * processes it.
 */
void rig_send_smp(struct rig_end *e, uint8_t method, uint16_t attr, uint32_t mod, const void *data)
{
	static const uint8_t out = 1;
	uint8_t mad[256];

	rig_smp(mad, method, attr, mod, &out, 1, data);
	mad[SMP_OFF_HOP_PTR] = 1;
	rig_send(e, &(struct rig_pkt){ .slid = 0xffff, .dlid = 0xffff, .vl = IB_VL15, .mad = mad });
}

void rig_mad_of(const struct pkt *p, uint8_t ret[256])
{
	bool grh = (p->hdr[p->head + 1] & 3) == IB_LNH_GLOBAL;

	assert_int_equal(p->len, ib_ud_hdr_len(grh) + 256);
	assert_int_equal(pkt_copy_out(p, ib_ud_hdr_len(grh), ret, 256), 256);
}
