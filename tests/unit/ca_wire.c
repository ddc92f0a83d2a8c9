/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/ca_wire.h"

#include <stdlib.h>

#define PREFIX IB_SUBNET_PREFIX_DEFAULT

static void on_xmit(void *ctx, uint8_t port, struct pkt *p, ns_t now)
{
	struct wire_end *e = ctx;

	assert_int_equal(port, 1);
	pkt_queue_add(&e->out, p);
}

static void on_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	struct wire_end *e = ctx;

	e->event(e, port, ev, now);
}

static void on_ready(void *ctx, struct hca_qp *qp)
{
	struct wire_end *e = ctx;

	e->ready(e, qp);
}

static const struct hca_ops ops = { on_xmit, on_event, on_ready };

/* Bring port 1 into the state that it has after an SM has configured it: LID @lid, Active. */
static void activate(struct wire_end *e, uint16_t lid, ns_t now)
{
	struct node_port *np = &hca_node(e->hca)->port[1];

	node_link(hca_node(e->hca), 1, true, now);
	np->pi.lid = lid;
	np->pi.gid_prefix = PREFIX;
	np->pi.port_state = IB_PORT_ACTIVE;
	np->pi.neighbor_mtu = IB_MTU_2048;
	np->pkeys[1] = CA_SUITE_PKEY;
}

static void end_up(struct wire *w, unsigned int i, struct ca_suite_env *env)
{
	const uint64_t guid = 0x0002c90300000011ull + 16 * i;
	struct hca_cfg cfg = {
		.node = {
			.type = IB_NODE_CA,
			.nports = 1,
			.sys_guid = guid - 1,
			.node_guid = guid - 1,
			.port_guids = &guid,
			.desc = "end",
		},
	};
	struct wire_end *e = &w->end[i];

	e->peer = &w->end[!i];
	assert_int_equal(hca_create(&e->hca, &cfg, &ops, e, &w->timers, env->pool, &w->log), 0);
}

static void nothing(struct wire_end *e, uint8_t port, enum node_event ev, ns_t now)
{
}

struct wire *wire_up(struct ca_suite_env *env,
		     void (*event)(struct wire_end *e, uint8_t port, enum node_event ev, ns_t now),
		     void (*ready)(struct wire_end *e, struct hca_qp *qp))
{
	struct wire *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	env->priv = w;
	env->now = NS_SEC(1);
	env->pool = pkt_pool_create(512, 160);
	assert_non_null(env->pool);
	timers_init(&w->timers);
	for (unsigned int i = 0; i < 2; i++) {
		w->end[i].event = nothing;
		w->end[i].ready = ready;
		end_up(w, i, env);
		activate(&w->end[i], (uint16_t)(0x10 + i), env->now);
		w->end[i].event = event;
	}
	return w;
}

void wire_down(struct ca_suite_env *env)
{
	struct wire *w = env->priv;

	for (unsigned int i = 0; i < 2; i++) {
		w->end[i].event = nothing;
		hca_destroy(w->end[i].hca);
		pkt_queue_purge(&w->end[i].out);
	}
	assert_int_equal(pkt_pool_pkts_used(env->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(env->pool), 0);
	timers_fini(&w->timers);
	pkt_pool_destroy(env->pool);
	free(w);
}

static bool carry(struct wire_end *e, ns_t now)
{
	struct pkt *v[PKT_BATCH];
	unsigned int n = 0;

	while (n < PKT_BATCH && e->out.n) {
		v[n] = pkt_queue_pop(&e->out);
		if (e->carried)
			e->carried(e, v[n]);
		n++;
	}
	e->sent += n;
	if (n)
		hca_rx(e->peer->hca, 1, v, n, now);
	return n > 0;
}

bool wire_carry(struct ca_suite_env *env)
{
	struct wire *w = env->priv;
	bool moved;

	timers_run(&w->timers, env->now);
	moved = carry(&w->end[0], env->now);
	return carry(&w->end[1], env->now) || moved;
}

void wire_link_down(struct ca_suite_env *env)
{
	struct wire *w = env->priv;

	for (unsigned int i = 0; i < 2; i++)
		node_link(hca_node(w->end[i].hca), 1, false, env->now);
}

static void pkey_set_done(void *ctx, int status, const struct mad_addr *from, const void *mad,
			  size_t len, ns_t now)
{
	unsigned int *done = ctx;

	assert_int_equal(status, 0);
	assert_int_equal(mad_status(mad), 0);
	++*done;
}

void wire_set_pkey(struct ca_suite_env *env, unsigned int side, uint16_t index, uint16_t pkey,
		   void (*run)(struct ca_suite_env *env))
{
	struct wire *w = env->priv;
	const struct node_port *np = &hca_node(w->end[side].hca)->port[1];
	struct mad_agent_cfg c = { .qp = 0, .mgmt_class = MAD_CLASS_SM_LID, .class_version = 1 };
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.method = MAD_METHOD_SET,
		.attr_id = SMP_ATTR_PKEY_TABLE,
	};
	struct smp_dr dr = { 0 };
	uint8_t data[SMP_DATA_LEN], mad[MAD_LEN];
	uint16_t block[SMP_PKEYS_PER_BLOCK];
	struct mad_agent *agent = NULL;
	unsigned int done = 0;
	struct mad_req q = {
		.to = mad_addr_smp_lid(np->pi.lid),
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = 100,
		.done = pkey_set_done,
		.ctx = &done,
	};

	assert_true(index < SMP_PKEYS_PER_BLOCK);
	memcpy(block, np->pkeys, sizeof(block));
	block[index] = pkey;
	smp_pkey_block_encode(data, block);
	smp_encode(mad, &h, &dr, data);
	assert_int_equal(mad_agent_add(hca_node(w->end[!side].hca)->port[1].ep, &c, &agent), 0);
	assert_int_equal(mad_request(agent, &q, NULL, env->now), 0);
	run(env);
	assert_int_equal(done, 1);
	mad_agent_del(agent);
}
