/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UMAD_RIG_H
#define TESTS_UMAD_RIG_H

/*
 * Two CAs, A (LID 1) and B (LID 2), joined by a cable, and a umad server that serves both. Time is
 * virtual, and each packet arrives after a millisecond. Host "a" has A, host "b" has B, and host
 * "ab" has both. Node "S" is a switch without a cable.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "umad/umad.h"
#include "wire/sa.h"

#define WIRE_DELAY NS_MSEC(1)
#define WIRE_SEEN 64
#define OUI_TEST 0x00c0ff

struct umad_rig;

struct umad_rig_node {
	struct umad_rig *rig;
	struct node n;
};

struct umad_rig_seen {
	struct mad_addr to;
	uint8_t mad[MAD_LEN];
};

struct umad_rig {
	struct timers timers;
	struct log_sink log;
	ns_t now;
	struct umad_rig_node a, b, s;
	struct umad_srv *srv;
	struct umad_answer ans;
	bool mute; /* true: no packet arrives */
	int xmit_err;
	unsigned int nseen, ready;
	struct umad_rig_seen seen[WIRE_SEEN];
};

struct umad_rig_mad {
	struct timer timer;
	struct umad_rig_node *to;
	struct mad_addr from;
	uint8_t mad[MAD_LEN];
};

static inline void umad_rig_arrive(struct timer *t, ns_t now)
{
	struct umad_rig_mad *m = container_of(t, struct umad_rig_mad, timer);

	if (!m->to->rig->mute)
		node_mad_rx(&m->to->n, 1, &m->from, m->mad, now);
	free(m);
}

static inline int umad_rig_xmit(void *ctx, uint8_t egress, const struct mad_addr *to,
				const void *mad, ns_t now)
{
	struct umad_rig_node *from = ctx;
	struct umad_rig *r = from->rig;
	const struct node_port *np = &from->n.port[egress];
	struct umad_rig_mad *m;
	bool dr = to->qp == IB_QP0 && to->lid == IB_LID_PERMISSIVE;

	if (r->xmit_err)
		return r->xmit_err;
	if (r->nseen < WIRE_SEEN) {
		r->seen[r->nseen].to = *to;
		memcpy(r->seen[r->nseen].mad, mad, MAD_LEN);
	}
	r->nseen++;
	m = calloc(1, sizeof(*m));
	assert_non_null(m);
	m->to = from == &r->a ? &r->b : &r->a;
	if (!dr && to->lid == np->pi.lid)
		m->to = from;
	m->from = *to;
	m->from.lid = dr ? IB_LID_PERMISSIVE : np->pi.lid;
	m->from.qpn = to->qp;
	m->from.port = 1;
	m->from.path_bits = to->lid & 0x7f;
	if (to->has_grh)
		m->from.gid = node_gid(np, to->gid_index);
	memcpy(m->mad, mad, MAD_LEN);
	timer_init(&m->timer, umad_rig_arrive);
	timer_arm(&r->timers, &m->timer, now + WIRE_DELAY);
	return 0;
}

static inline void umad_rig_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	(void)ctx;
	(void)port;
	(void)ev;
	(void)now;
}

static const struct node_ops umad_rig_node_ops = { .xmit = umad_rig_xmit, .event = umad_rig_event };

static inline void umad_rig_node_init(struct umad_rig *r, struct umad_rig_node *n, uint8_t type,
				      uint8_t nports, uint64_t guid, const char *desc)
{
	const uint64_t guids[] = { guid + 1, guid + 2 };
	struct node_cfg cfg = {
		.type = type,
		.nports = nports,
		.sys_guid = guid + 0x10,
		.node_guid = guid,
		.port_guids = guids,
		.desc = desc,
		.revision = 0xa1,
	};

	n->rig = r;
	assert_int_equal(node_init(&n->n, &cfg, &umad_rig_node_ops, n, &r->timers, &r->log), 0);
}

static inline int umad_rig_view(void *ctx, const char *host, const char *node,
				struct umad_view *ret)
{
	struct umad_rig *r = ctx;

	*ret = (struct umad_view){ .n = 0 };
	if (!strcmp(node, "S"))
		ret->node[ret->n++] = &r->s.n;
	else if (*node)
		return -ENOENT;
	else
		for (const char *h = host; *h; h++)
			ret->node[ret->n++] = *h == 'a' ? &r->a.n : &r->b.n;
	return ret->n ? 0 : -ENOENT;
}

static inline void umad_rig_ready(void *ctx, void *conn_ctx)
{
	struct umad_rig *r = ctx;

	(void)conn_ctx;
	r->ready++;
}

static const struct umad_srv_ops umad_rig_ops = { .view = umad_rig_view, .ready = umad_rig_ready };

static inline void umad_rig_init(struct umad_rig *r, const struct umad_limits *lim)
{
	memset(r, 0, sizeof(*r));
	timers_init(&r->timers);
	r->now = NS_SEC(1);
	umad_rig_node_init(r, &r->a, IB_NODE_CA, 2, 0x0002c90300000100ull, "node A");
	umad_rig_node_init(r, &r->b, IB_NODE_CA, 1, 0x0002c90300000200ull, "node B");
	umad_rig_node_init(r, &r->s, IB_NODE_SWITCH, 3, 0x0002c90300000300ull, "switch S");
	r->a.n.port[1].pi.lid = 1;
	r->b.n.port[1].pi.lid = 2;
	node_link(&r->a.n, 1, true, r->now);
	node_link(&r->b.n, 1, true, r->now);
	r->srv = umad_srv_create(&umad_rig_ops, r, lim);
	assert_non_null(r->srv);
}

static inline void umad_rig_run(struct umad_rig *r, ns_t for_ns)
{
	ns_t end = r->now + for_ns, next;

	while ((next = timers_next(&r->timers)) <= end) {
		if (next > r->now)
			r->now = next;
		timers_run(&r->timers, r->now);
	}
	r->now = end;
}

/*
 * Destroy the rig. The caller must have closed all connections. The test fails if a timer is still
 * armed.
 */
static inline void umad_rig_fini(struct umad_rig *r)
{
	umad_srv_destroy(r->srv);
	r->mute = true;
	umad_rig_run(r, 2 * WIRE_DELAY);
	node_fini(&r->a.n);
	node_fini(&r->b.n);
	node_fini(&r->s.n);
	assert_int_equal(timers_next(&r->timers), NS_NEVER);
	timers_fini(&r->timers);
}

/* --- what a program does, by messages to the umad server */

static inline struct umad_conn *umad_rig_conn(struct umad_rig *r)
{
	struct umad_conn *c;

	assert_int_equal(umad_conn_open(r->srv, NULL, &c), 0);
	return c;
}

static inline int umad_rig_msg(struct umad_rig *r, struct umad_conn *c, const void *msg, size_t len,
			       bool sock)
{
	const struct umad_in in = { .msg = msg, .len = len, .has_socket = sock };

	return umad_conn_recv(c, &in, &r->ans, r->now);
}

static inline struct umad_result umad_rig_result(const struct umad_rig *r, enum umad_to to)
{
	struct umad_result res;

	assert_int_equal(r->ans.to, to);
	assert_int_equal(r->ans.len, sizeof(res));
	memcpy(&res, r->ans.msg, sizeof(res));
	assert_int_equal(res.msg.type, UMAD_RESULT);
	assert_int_equal(res.msg.len, sizeof(res));
	return res;
}

/* Send a hello message on the connection @c. Returns the error in the server's answer. */
static inline int umad_rig_hello(struct umad_rig *r, struct umad_conn *c, uint32_t kind,
				 const char *host, const char *node, uint32_t dev)
{
	struct umad_hello h = {
		.msg = { UMAD_HELLO, sizeof(h) },
		.version = UMAD_VERSION,
		.kind = kind,
		.dev = dev,
	};
	int err;

	strcpy(h.host, host);
	strcpy(h.node, node);
	err = umad_rig_msg(r, c, &h, sizeof(h), false);
	assert_int_equal(err, umad_rig_result(r, UMAD_TO_CONN).err ? -EPROTO : 0);
	return umad_rig_result(r, UMAD_TO_CONN).err;
}

/* Open the device umad<@dev> of a host. */
static inline struct umad_conn *umad_rig_open(struct umad_rig *r, const char *host, uint32_t dev)
{
	struct umad_conn *c = umad_rig_conn(r);

	assert_int_equal(umad_rig_hello(r, c, UMAD_KIND_MAD, host, "", dev), 0);
	return c;
}

static inline struct umad_register umad_rig_reg(uint8_t mgmt_class, uint8_t version, uint8_t rmpp)
{
	return (struct umad_register){
		.msg = { UMAD_REGISTER, sizeof(struct umad_register) },
		.qpn = !mad_class_is_smp(mgmt_class),
		.mgmt_class = mgmt_class,
		.class_version = version,
		.rmpp_version = rmpp,
		.oui = OUI_TEST,
	};
}

/* Register an agent. Returns the number of the agent, or -errno. */
static inline int umad_rig_register(struct umad_rig *r, struct umad_conn *c,
				    const struct umad_register *reg)
{
	struct umad_result res;

	assert_int_equal(umad_rig_msg(r, c, reg, sizeof(*reg), true), 0);
	res = umad_rig_result(r, UMAD_TO_SOCKET);
	return res.err ? res.err : (int)res.id;
}

/*
 * Register an agent for the requests of one method (0: for none). Returns the number of the agent.
 */
static inline uint32_t umad_rig_agent(struct umad_rig *r, struct umad_conn *c, uint8_t mgmt_class,
				      uint8_t version, uint8_t rmpp, uint8_t method)
{
	struct umad_register reg = umad_rig_reg(mgmt_class, version, rmpp);
	int id;

	if (method)
		reg.methods[method >> 6 & 1] |= 1ull << (method & 63);
	id = umad_rig_register(r, c, &reg);
	assert_true(id >= 0);
	return (uint32_t)id;
}

static inline struct umad_mad umad_rig_hdr(uint32_t id, uint16_t lid, uint32_t qpn)
{
	struct umad_mad m = { .msg = { UMAD_MAD, 0 }, .id = id };

	be16_put(m.lid, lid);
	be32_put(m.qpn, qpn);
	return m;
}

/*
 * Let the server get a MAD in the form in which the preload library sends it: inside the message if
 * the MAD is short enough, otherwise in a memfd.
 */
static inline int umad_rig_write(struct umad_rig *r, struct umad_conn *c, const struct umad_mad *m,
				 const void *data, size_t len)
{
	static uint8_t msg[sizeof(*m) + UMAD_INLINE_MAX];
	struct umad_in in = { .msg = msg, .len = sizeof(*m) };
	struct umad_mad h = *m;

	h.data_len = (uint32_t)len;
	if (len <= UMAD_INLINE_MAX) {
		in.len += len;
		memcpy(msg + sizeof(h), data, len);
	} else {
		in.big = data;
		in.big_len = len;
	}
	h.msg.len = (uint32_t)in.len;
	memcpy(msg, &h, sizeof(h));
	return umad_conn_recv(c, &in, &r->ans, r->now);
}

/*
 * Take the next MAD that the program can read. Returns its octets, which stay valid until the next
 * call, or NULL if there is none.
 */
static inline const uint8_t *umad_rig_read(struct umad_conn *c, struct umad_mad *ret)
{
	static uint8_t *copy;
	const struct umad_mad *m;
	const void *data;

	free(copy);
	copy = NULL;
	m = umad_conn_next(c, &data);
	if (!m)
		return NULL;
	*ret = *m;
	assert_int_equal(m->msg.type, UMAD_MAD);
	assert_int_equal(m->msg.len, sizeof(*m) + m->data_len);
	copy = malloc(m->data_len);
	assert_non_null(copy);
	memcpy(copy, data, m->data_len);
	umad_conn_sent(c);
	return copy;
}

static inline struct umad_stats umad_rig_stats(const struct umad_conn *c)
{
	struct umad_conn_info i;

	umad_conn_info(c, &i);
	return i.st;
}

static inline void umad_rig_mad(uint8_t mad[MAD_LEN], uint8_t mgmt_class, uint8_t version,
				uint8_t method, uint16_t attr, uint64_t tid)
{
	const struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = version,
		.method = method,
		.tid = tid,
		.attr_id = attr,
	};

	memset(mad, 0, MAD_LEN);
	mad_hdr_encode(mad, &h);
}

#endif
