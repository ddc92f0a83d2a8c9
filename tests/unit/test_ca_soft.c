/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * ca_soft: the conformance suite over two soft HCAs joined by a wire in memory, and the behaviour
 * that only this backend has (several openers of one port, events passed on).
 *
 *	ca[0] - hca 0, port 1  =====  port 1, hca 1 - ca[1]
 */

#include <errno.h>
#include <stdlib.h>

#include "ca/ca_soft.h"
#include "unit/ca_suite.h"

#define PREFIX IB_SUBNET_PREFIX_DEFAULT

struct end {
	struct hca *hca;
	struct ca_soft_hca *soft;
	struct pkt_queue out;
	uint64_t sent; /* packets that have left .out */
	struct end *peer;
};

struct wire {
	struct timers timers;
	struct log_sink log;
	struct end end[2];
};

static void wire_xmit(void *ctx, uint8_t port, struct pkt *p, ns_t now)
{
	struct end *e = ctx;

	assert_int_equal(port, 1);
	pkt_queue_add(&e->out, p);
}

static void wire_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	struct end *e = ctx;

	ca_soft_event(e->soft, port, ev, now);
}

static void wire_ready(void *ctx, struct hca_qp *qp)
{
	struct end *e = ctx;

	ca_soft_ready(e->soft, qp);
}

static const struct hca_ops wire_ops = { wire_xmit, wire_event, wire_ready };

static unsigned int wire_queued(void *ctx, uint8_t port)
{
	const struct end *e = ctx;

	return e->out.n;
}

static struct ca_send_queue wire_send_queue(void *ctx, uint8_t port)
{
	const struct end *e = ctx;

	assert_int_equal(port, 1);
	return (struct ca_send_queue){ .waiting = e->out.n, .sent = e->sent };
}

static unsigned int wire_send_flush(void *ctx, uint8_t port, ns_t now)
{
	struct end *e = ctx;
	unsigned int n = e->out.n;

	assert_int_equal(port, 1);
	pkt_queue_purge(&e->out);
	return n;
}

static const struct ca_soft_queues wire_queues = { wire_queued, wire_send_queue, wire_send_flush };

/* Bring the port into the state in which an SM leaves it. */
static void activate(struct end *e, uint16_t lid, ns_t now)
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
	struct end *e = &w->end[i];

	e->peer = &w->end[!i];
	e->soft = ca_soft_hca_create();
	assert_non_null(e->soft);
	assert_int_equal(hca_create(&e->hca, &cfg, &wire_ops, e, &w->timers, env->pool, &w->log),
			 0);
	ca_soft_hca_bind(e->soft, e->hca, &wire_queues, e);
	activate(e, (uint16_t)(0x10 + i), env->now);
}

static int soft_open(struct ca_suite_env *env, const struct ca_notify *notify, void *const ctx[2])
{
	struct wire *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	env->priv = w;
	env->now = NS_SEC(1);
	env->pool = pkt_pool_create(512, 160);
	assert_non_null(env->pool);
	timers_init(&w->timers);
	for (unsigned int i = 0; i < 2; i++) {
		end_up(w, i, env);
		assert_int_equal(ca_soft_open(w->end[i].soft, 1, notify, ctx[i], &env->ca[i]), 0);
	}
	return 0;
}

static void soft_close(struct ca_suite_env *env)
{
	struct wire *w = env->priv;

	for (unsigned int i = 0; i < 2; i++) {
		ca_close(env->ca[i]);
		ca_soft_hca_destroy(w->end[i].soft);
		w->end[i].soft = NULL;
		hca_destroy(w->end[i].hca);
		pkt_queue_purge(&w->end[i].out);
	}
	assert_int_equal(pkt_pool_pkts_used(env->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(env->pool), 0);
	timers_fini(&w->timers);
	pkt_pool_destroy(env->pool);
	free(w);
}

static bool carry(struct end *e, ns_t now)
{
	struct pkt *v[PKT_BATCH];
	unsigned int n = 0;

	while (n < PKT_BATCH && e->out.n)
		v[n++] = pkt_queue_pop(&e->out);
	e->sent += n;
	if (n)
		hca_rx(e->peer->hca, 1, v, n, now);
	return n > 0;
}

static void soft_run(struct ca_suite_env *env)
{
	struct wire *w = env->priv;
	bool moved;

	do {
		timers_run(&w->timers, env->now);
		moved = carry(&w->end[0], env->now);
		moved |= carry(&w->end[1], env->now);
	} while (moved);
}

static void soft_link_down(struct ca_suite_env *env)
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

/* Set(P_KeyTable) by a LID-routed SMP from the other end. */
static void soft_set_pkey(struct ca_suite_env *env, unsigned int side, uint16_t index,
			  uint16_t pkey)
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
	assert_int_equal(mad_agent_add(ca_mad_ep(env->ca[!side]), &c, &agent), 0);
	assert_int_equal(mad_request(agent, &q, NULL, env->now), 0);
	soft_run(env);
	assert_int_equal(done, 1);
	mad_agent_del(agent);
}

static const struct ca_suite_backend backend = {
	.name = "ca_soft",
	.open = soft_open,
	.close = soft_close,
	.run = soft_run,
	.link_down = soft_link_down,
	.set_pkey = soft_set_pkey,
};

/* --- behaviour that only the soft backend has */

static struct {
	struct ca_suite_env env;
	struct ca *victim;
	unsigned int events[2][CA_EVENT_DEVICE_FATAL + 1];
	bool close_in_event, nest;
} t;

static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	unsigned int(*mine)[CA_EVENT_DEVICE_FATAL + 1] = ctx;
	struct wire *w = t.env.priv;

	(*mine)[ev]++;
	if (t.nest) {
		t.nest = false;
		ca_soft_event(w->end[0].soft, 1, NODE_EV_SM_CHANGE, now);
	}
	if (t.close_in_event && t.victim) {
		struct ca *v = t.victim;

		t.victim = NULL;
		ca_close(v);
	}
}

static const struct ca_notify notify = { .event = on_event };

static int setup(void **state)
{
	void *ctx[2] = { &t.events[0], &t.events[1] };

	memset(&t, 0, sizeof(t));
	return soft_open(&t.env, &notify, ctx);
}

static int teardown(void **state)
{
	soft_close(&t.env);
	return 0;
}

static void test_open_refuses_ports_that_are_not_there(void **state)
{
	struct wire *w = t.env.priv;
	struct ca *ca = NULL;

	assert_int_equal(ca_soft_open(w->end[0].soft, 0, &notify, NULL, &ca), -EINVAL);
	assert_int_equal(ca_soft_open(w->end[0].soft, 2, &notify, NULL, &ca), -EINVAL);
	assert_null(ca);
	ca_close(NULL);
	ca_soft_hca_destroy(NULL);
}

static void test_node_events_become_ca_events(void **state)
{
	static const struct {
		enum node_event ev;
		int want;
	} map[] = {
		{ NODE_EV_PORT_ACTIVE, CA_EVENT_PORT_ACTIVE },
		{ NODE_EV_PORT_ERR, CA_EVENT_PORT_ERR },
		{ NODE_EV_LID_CHANGE, CA_EVENT_LID_CHANGE },
		{ NODE_EV_PKEY_CHANGE, CA_EVENT_PKEY_CHANGE },
		{ NODE_EV_SM_CHANGE, CA_EVENT_SM_CHANGE },
		{ NODE_EV_CLIENT_REREGISTER, CA_EVENT_CLIENT_REREGISTER },
		{ NODE_EV_GID_CHANGE, CA_EVENT_GID_CHANGE },
		{ NODE_EV_RETRAIN, -1 },
		{ NODE_EV_PHYS, -1 },
	};
	struct wire *w = t.env.priv;

	for (unsigned int i = 0; i < sizeof(map) / sizeof(*map); i++) {
		memset(t.events, 0, sizeof(t.events));
		ca_soft_event(w->end[0].soft, 1, map[i].ev, t.env.now);
		for (int e = 0; e <= CA_EVENT_DEVICE_FATAL; e++) {
			assert_int_equal(t.events[0][e], e == map[i].want);
			assert_int_equal(t.events[1][e], 0);
		}
	}
	/* An event of a port that no user has open is not reported. */
	memset(t.events, 0, sizeof(t.events));
	ca_soft_event(w->end[0].soft, 2, NODE_EV_PORT_ERR, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_PORT_ERR], 0);
}

static void test_every_opener_of_a_port_is_told(void **state)
{
	struct wire *w = t.env.priv;
	struct ca *more[3];

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ca_soft_open(w->end[0].soft, 1, &notify, &t.events[1], &more[i]),
				 0);
	ca_soft_event(w->end[0].soft, 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_LID_CHANGE], 1);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 3);
	/*
	 * An event that is raised while another event is reported reaches all openers, and so does
	 * the first event.
	 */
	t.nest = true;
	ca_soft_event(w->end[0].soft, 1, NODE_EV_PORT_ERR, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_PORT_ERR], 1);
	assert_int_equal(t.events[1][CA_EVENT_PORT_ERR], 3);
	assert_int_equal(t.events[0][CA_EVENT_SM_CHANGE], 1);
	assert_int_equal(t.events[1][CA_EVENT_SM_CHANGE], 3);
	for (unsigned int i = 0; i < 3; i++)
		ca_close(more[i]);
	ca_soft_event(w->end[0].soft, 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 3);
}

/* An opener that gets an event may close a port that is to get the event next, or its own port. */
static void test_ports_may_be_closed_in_an_event(void **state)
{
	struct wire *w = t.env.priv;
	struct ca_qp_attr attr = { .qkey = 1 };
	struct ca *other = NULL, *own = NULL;
	struct ca_qp *qp = NULL;

	t.close_in_event = true;
	assert_int_equal(ca_soft_open(w->end[0].soft, 1, &notify, &t.events[1], &other), 0);
	assert_int_equal(ca_qp_create(other, &attr, NULL, &qp), 0);
	t.victim = other;
	ca_soft_event(w->end[0].soft, 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_LID_CHANGE], 1);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 0);

	assert_int_equal(ca_soft_open(w->end[1].soft, 1, &notify, &t.events[0], &own), 0);
	t.victim = t.env.ca[1]; /* gets the event first, and closes itself */
	t.env.ca[1] = NULL;
	ca_soft_event(w->end[1].soft, 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 1);
	assert_int_equal(t.events[0][CA_EVENT_LID_CHANGE], 2);
	ca_close(own);
}

/* Closing a port destroys the objects that its user left; soft_close() checks the pool. */
static void test_close_destroys_what_is_left(void **state)
{
	struct ca_qp_attr attr = { .qkey = 1 };
	struct ca_ah_attr ah_attr = { .dlid = 0x11 };
	struct ca_ah *ah = NULL;
	struct ca_qp *qp = NULL, *peer = NULL;
	struct ca_send s;

	assert_int_equal(ca_qp_create(t.env.ca[0], &attr, NULL, &qp), 0);
	assert_int_equal(ca_qp_create(t.env.ca[1], &attr, NULL, &peer), 0);
	assert_int_equal(ca_ah_create(t.env.ca[0], &ah_attr, &ah), 0);
	s = (struct ca_send){ pkt_from_data(t.env.pool, "x", 1), ah, ca_qp_num(peer), 1 };
	assert_int_equal(ca_post_send(qp, &s, 1, t.env.now), 1);
	soft_run(&t.env);
	/* the packet waits in the receive ring of peer */
	assert_int_equal(pkt_pool_pkts_used(t.env.pool), 1);
}

static void test_qpn_hint_is_passed_on(void **state)
{
	struct ca_qp_attr attr = { .qkey = 1, .qpn_hint = 0x123456 };
	struct ca_qp *qp = NULL;

	assert_int_equal(ca_qp_create(t.env.ca[0], &attr, NULL, &qp), 0);
	assert_int_equal(ca_qp_num(qp), 0x123456);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_open_refuses_ports_that_are_not_there),
		T(test_node_events_become_ca_events),
		T(test_every_opener_of_a_port_is_told),
		T(test_ports_may_be_closed_in_an_event),
		T(test_close_destroys_what_is_left),
		T(test_qpn_hint_is_passed_on),
	};
	int failed = ca_suite_run(&backend);

	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
