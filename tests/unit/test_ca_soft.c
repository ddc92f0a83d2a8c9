/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests of ca_soft. The conformance suite (ca_suite.h) runs over two soft HCAs, which a wire in
 * memory connects. Further tests are about what only this backend allows: one port can have several
 * users, and each of them gets the events of the port.
 */

#include <errno.h>

#include "ca/ca_soft.h"
#include "unit/ca_wire.h"

static struct ca_soft_hca *soft_of(struct wire *w, unsigned int i)
{
	return w->end[i].ctx;
}

static void wire_event(struct wire_end *e, uint8_t port, enum node_event ev, ns_t now)
{
	ca_soft_event(e->ctx, port, ev, now);
}

static void wire_ready(struct wire_end *e, struct hca_qp *qp)
{
	ca_soft_ready(e->ctx, qp);
}

static unsigned int wire_queued(void *ctx, uint8_t port)
{
	const struct wire_end *e = ctx;

	return e->out.n;
}

static struct ca_send_queue wire_send_queue(void *ctx, uint8_t port)
{
	const struct wire_end *e = ctx;

	assert_int_equal(port, 1);
	return (struct ca_send_queue){ .waiting = e->out.n, .sent = e->sent };
}

static unsigned int wire_send_flush(void *ctx, uint8_t port, ns_t now)
{
	struct wire_end *e = ctx;
	unsigned int n = e->out.n;

	assert_int_equal(port, 1);
	pkt_queue_purge(&e->out);
	return n;
}

static const struct ca_soft_queues wire_queues = { wire_queued, wire_send_queue, wire_send_flush };

static int soft_open(struct ca_suite_env *env, const struct ca_notify *notify, void *const ctx[2])
{
	struct wire *w = wire_up(env, wire_event, wire_ready);

	for (unsigned int i = 0; i < 2; i++) {
		struct wire_end *e = &w->end[i];

		e->ctx = ca_soft_hca_create();
		assert_non_null(e->ctx);
		ca_soft_hca_bind(e->ctx, e->hca, &wire_queues, e);
		assert_int_equal(ca_soft_open(e->ctx, 1, notify, ctx[i], &env->ca[i]), 0);
	}
	return 0;
}

static void soft_close(struct ca_suite_env *env)
{
	struct wire *w = env->priv;

	for (unsigned int i = 0; i < 2; i++) {
		ca_close(env->ca[i]);
		ca_soft_hca_destroy(soft_of(w, i));
		w->end[i].ctx = NULL;
	}
	wire_down(env);
}

static void soft_run(struct ca_suite_env *env)
{
	while (wire_carry(env))
		;
}

static void soft_set_pkey(struct ca_suite_env *env, unsigned int side, uint16_t index,
			  uint16_t pkey)
{
	wire_set_pkey(env, side, index, pkey, soft_run);
}

static const struct ca_suite_backend backend = {
	.name = "ca_soft",
	.open = soft_open,
	.close = soft_close,
	.run = soft_run,
	.link_down = wire_link_down,
	.set_pkey = soft_set_pkey,
};

/* --- behaviour that only the soft backend has */

static struct {
	struct ca_suite_env env;
	struct ca *victim;
	unsigned int events[2][CA_EVENT_DEVICE_BACK + 1];
	bool close_in_event, nest;
} t;

static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	unsigned int(*mine)[CA_EVENT_DEVICE_BACK + 1] = ctx;
	struct wire *w = t.env.priv;

	(*mine)[ev]++;
	if (t.nest) {
		t.nest = false;
		ca_soft_event(soft_of(w, 0), 1, NODE_EV_SM_CHANGE, now);
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

	assert_int_equal(ca_soft_open(soft_of(w, 0), 0, &notify, NULL, &ca), -EINVAL);
	assert_int_equal(ca_soft_open(soft_of(w, 0), 2, &notify, NULL, &ca), -EINVAL);
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
		ca_soft_event(soft_of(w, 0), 1, map[i].ev, t.env.now);
		for (int e = 0; e <= CA_EVENT_DEVICE_BACK; e++) {
			assert_int_equal(t.events[0][e], e == map[i].want);
			assert_int_equal(t.events[1][e], 0);
		}
	}
	/* An event of port 2 is reported to no user, because no user has opened port 2. */
	memset(t.events, 0, sizeof(t.events));
	ca_soft_event(soft_of(w, 0), 2, NODE_EV_PORT_ERR, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_PORT_ERR], 0);
}

static void test_every_opener_of_a_port_is_told(void **state)
{
	struct wire *w = t.env.priv;
	struct ca *more[3];

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ca_soft_open(soft_of(w, 0), 1, &notify, &t.events[1], &more[i]),
				 0);
	ca_soft_event(soft_of(w, 0), 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_LID_CHANGE], 1);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 3);
	/*
	 * While a user handles the first event, a second event is raised. All users of the port
	 * must get both events.
	 */
	t.nest = true;
	ca_soft_event(soft_of(w, 0), 1, NODE_EV_PORT_ERR, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_PORT_ERR], 1);
	assert_int_equal(t.events[1][CA_EVENT_PORT_ERR], 3);
	assert_int_equal(t.events[0][CA_EVENT_SM_CHANGE], 1);
	assert_int_equal(t.events[1][CA_EVENT_SM_CHANGE], 3);
	for (unsigned int i = 0; i < 3; i++)
		ca_close(more[i]);
	ca_soft_event(soft_of(w, 0), 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 3);
}

/*
 * Two users have opened the same port, and an event is raised. The user that gets the event first
 * calls ca_close() for the other user, which must then get no event. Later a user calls ca_close()
 * for itself while it handles an event.
 */
static void test_ports_may_be_closed_in_an_event(void **state)
{
	struct wire *w = t.env.priv;
	struct ca_qp_attr attr = { .qkey = 1 };
	struct ca *other = NULL, *own = NULL;
	struct ca_qp *qp = NULL;

	t.close_in_event = true;
	assert_int_equal(ca_soft_open(soft_of(w, 0), 1, &notify, &t.events[1], &other), 0);
	assert_int_equal(ca_qp_create(other, &attr, NULL, &qp), 0);
	t.victim = other;
	ca_soft_event(soft_of(w, 0), 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[0][CA_EVENT_LID_CHANGE], 1);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 0);

	assert_int_equal(ca_soft_open(soft_of(w, 1), 1, &notify, &t.events[0], &own), 0);
	t.victim = t.env.ca[1]; /* its user gets the event first, and then closes the port */
	t.env.ca[1] = NULL;
	ca_soft_event(soft_of(w, 1), 1, NODE_EV_LID_CHANGE, t.env.now);
	assert_int_equal(t.events[1][CA_EVENT_LID_CHANGE], 1);
	assert_int_equal(t.events[0][CA_EVENT_LID_CHANGE], 2);
	ca_close(own);
}

/*
 * A user closes a port without destroying its queue pair and address handle. ca_close() must
 * destroy them; soft_close() checks that all packets were freed.
 */
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
	/* the packet has arrived, and waits in the receive ring of the queue pair @peer */
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
