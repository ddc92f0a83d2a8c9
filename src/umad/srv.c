/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "umad/priv.h"

const struct umad_limits umad_limits_default = {
	.max_conns = 256,
	.max_queue = 4096,
	.max_queue_octets = UMAD_DATA_MAX,
	.max_all_octets = 256u << 20,
	.max_open = 1024,
	.min_open = 8,
	.max_open_octets = UMAD_DATA_MAX,
	/*
	 * All connections to a port together have at most 2048 + 256 * 8 = 4096 open requests:
	 * port_max_open, and min_open for each of max_conns connections. The MAD endpoint of a port
	 * allows 8192. The other half is for the SM and the SA client.
	 */
	.port_max_open = 2048,
	.port_max_open_octets = 128u << 20,
};

const char *umad_drop_name(enum umad_drop d)
{
	static const char *const names[UMAD_DROP_MAX] = {
		[UMAD_DROP_QUEUE] = "not read",	     [UMAD_DROP_MEM] = "no memory",
		[UMAD_DROP_MALFORMED] = "malformed", [UMAD_DROP_BUSY] = "too many under way",
		[UMAD_DROP_DOWN] = "port down",
	};

	return names[d];
}

struct umad_srv *umad_srv_create(const struct umad_srv_ops *ops, void *ctx,
				 const struct umad_limits *lim)
{
	struct umad_srv *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ops = ops;
	s->ctx = ctx;
	s->lim = lim ? *lim : umad_limits_default;
	list_init(&s->ports);
	return s;
}

void umad_srv_destroy(struct umad_srv *s)
{
	free(s);
}

/* --- ports */

static struct umad_port *port_get(struct umad_srv *s, struct node_port *np)
{
	struct umad_port *p;

	list_for_each (p, &s->ports, link)
		if (p->np == np) {
			p->users++;
			return p;
		}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->np = np;
	p->users = 1;
	p->quota.max_open = s->lim.port_max_open;
	p->quota.max_octets = s->lim.port_max_open_octets;
	list_add_tail(&s->ports, &p->link);
	return p;
}

static void port_put(struct umad_port *p)
{
	if (--p->users)
		return;
	list_del(&p->link);
	free(p);
}

/* --- IsSM */

/*
 * Sets IsSM on the port whose issm file a program opens. The issm file of a port can be open only
 * once at a time, as in ib_umad, where a semaphore ensures this. If the port has IsSM already,
 * because the embedded SM runs on it, the program cannot open the file.
 */
static int issm_open(struct umad_conn *c, ns_t now)
{
	struct umad_port *p = c->port;

	if (p->issm)
		return -EAGAIN;
	if (p->np->pi.cap_mask & SMP_CAP_IS_SM)
		return -EBUSY;
	p->issm = c;
	node_set_cap(p->np->node, p->np->num, SMP_CAP_IS_SM, true, now);
	return 0;
}

static void issm_close(struct umad_conn *c, ns_t now)
{
	struct umad_port *p = c->port;

	if (p->issm != c)
		return;
	p->issm = NULL;
	node_set_cap(p->np->node, p->np->num, SMP_CAP_IS_SM, false, now);
}

/* --- life of a connection */

int umad_conn_open(struct umad_srv *s, void *conn_ctx, struct umad_conn **ret)
{
	struct umad_conn *c;

	if (s->nconns >= s->lim.max_conns)
		return -ENOSPC;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->srv = s;
	c->ctx = conn_ctx;
	list_init(&c->queue);
	s->nconns++;
	*ret = c;
	return 0;
}

static void stats_add(struct umad_stats *to, const struct umad_stats *st)
{
	to->sent += st->sent;
	to->received += st->received;
	to->timeouts += st->timeouts;
	for (int d = 0; d < UMAD_DROP_MAX; d++)
		to->drops[d] += st->drops[d];
}

const struct umad_stats *umad_srv_closed(const struct umad_srv *s)
{
	return &s->closed;
}

void umad_conn_close(struct umad_conn *c, ns_t now)
{
	if (!c)
		return;
	for (uint32_t id = 0; id < UMAD_AGENTS_MAX; id++)
		umad_agent_del(c, id);
	if (c->port) {
		issm_close(c, now);
		port_put(c->port);
	}
	umad_queue_clear(c);
	stats_add(&c->srv->closed, &c->st);
	c->srv->nconns--;
	free(c);
}

/* --- messages */

static void answer(struct umad_answer *ret, enum umad_to to, const void *msg, size_t len)
{
	ret->to = to;
	ret->len = len;
	memcpy(ret->msg, msg, len);
}

static void result(struct umad_answer *ret, enum umad_to to, int err, uint32_t id)
{
	struct umad_result r = {
		.msg = { UMAD_RESULT, sizeof(r) },
		.err = err,
		.id = id,
	};

	answer(ret, to, &r, sizeof(r));
}

static bool text_ok(const char *s, size_t size)
{
	return memchr(s, '\0', size);
}

static int attach(struct umad_conn *c, const struct umad_hello *h, ns_t now)
{
	struct umad_srv *s = c->srv;
	struct node_port *np;
	int err = s->ops->view(s->ctx, h->host, h->node, &c->view);

	if (err)
		return err;
	c->dev = h->dev;
	if (h->kind == UMAD_KIND_ATTR)
		return 0;
	np = umad_view_port(&c->view, h->dev, NULL);
	if (!np)
		return -ENOENT;
	c->port = port_get(s, np);
	if (!c->port)
		return -ENOMEM;
	c->quota = (struct mad_quota){
		.up = &c->port->quota,
		.max_open = s->lim.max_open,
		.min_open = s->lim.min_open,
		.max_octets = s->lim.max_open_octets,
	};
	return h->kind == UMAD_KIND_ISSM ? issm_open(c, now) : 0;
}

static int on_hello(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret,
		    ns_t now)
{
	struct umad_hello h;
	int err;

	if (in->len != sizeof(h))
		return -EPROTO;
	memcpy(&h, in->msg, sizeof(h));
	if (h.version != UMAD_VERSION) {
		result(ret, UMAD_TO_CONN, -EPROTONOSUPPORT, 0);
		return -EPROTO;
	}
	if (h.kind < UMAD_KIND_MAD || h.kind > UMAD_KIND_ATTR || !text_ok(h.host, sizeof(h.host)) ||
	    !text_ok(h.node, sizeof(h.node)))
		return -EPROTO;
	err = attach(c, &h, now);
	result(ret, UMAD_TO_CONN, err, 0);
	if (err)
		return -EPROTO;
	c->kind = (enum umad_kind)h.kind;
	return 0;
}

static int on_register(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret)
{
	struct umad_register r;
	uint32_t id = 0;
	int err;

	if (in->len != sizeof(r) || !in->has_socket)
		return -EPROTO;
	memcpy(&r, in->msg, sizeof(r));
	err = umad_agent_add(c, &r, &id);
	result(ret, UMAD_TO_SOCKET, err, id);
	return 0;
}

static int on_unregister(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret)
{
	struct umad_unregister u;

	if (in->len != sizeof(u) || !in->has_socket)
		return -EPROTO;
	memcpy(&u, in->msg, sizeof(u));
	result(ret, UMAD_TO_SOCKET, umad_agent_del(c, u.id), u.id);
	return 0;
}

static int on_mad(struct umad_conn *c, const struct umad_in *in, ns_t now)
{
	struct umad_mad m;

	if (in->len < sizeof(m))
		return -EPROTO;
	memcpy(&m, in->msg, sizeof(m));
	if (in->len > sizeof(m)) {
		if (m.data_len != in->len - sizeof(m))
			return -EPROTO;
		umad_send(c, &m, (const uint8_t *)in->msg + sizeof(m), m.data_len, now);
	} else {
		if (!in->big_len || m.data_len != in->big_len)
			return -EPROTO;
		if (in->big)
			umad_send(c, &m, in->big, m.data_len, now);
		else
			c->st.drops[UMAD_DROP_BUSY]++;
	}
	return 0; /* umad_send() has already counted a MAD that it refused */
}

static int on_attr(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret)
{
	struct umad_content *content = (struct umad_content *)(void *)ret->msg;
	struct umad_attr a;
	bool dir = false;
	int n;

	if (in->len != sizeof(a))
		return -EPROTO;
	memcpy(&a, in->msg, sizeof(a));
	if (!text_ok(a.path, sizeof(a.path)))
		return -EPROTO;
	n = umad_attr_read(&c->view, a.path, (char *)(content + 1), UMAD_ATTR_MAX, &dir);
	*content = (struct umad_content){
		.msg = { UMAD_CONTENT, (uint32_t)(sizeof(*content) + (n > 0 ? (size_t)n : 0)) },
		.err = n < 0 ? n : 0,
		.dir = dir,
		.data_len = n > 0 ? (uint32_t)n : 0,
	};
	ret->to = UMAD_TO_CONN;
	ret->len = content->msg.len;
	return 0;
}

int umad_conn_recv(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret, ns_t now)
{
	struct umad_msg m;

	ret->to = UMAD_TO_NOBODY;
	if (in->len < sizeof(m))
		return -EPROTO;
	memcpy(&m, in->msg, sizeof(m));
	if (m.len != in->len)
		return -EPROTO;
	if (!c->kind)
		return m.type == UMAD_HELLO ? on_hello(c, in, ret, now) : -EPROTO;
	if (c->kind == UMAD_KIND_ATTR)
		return m.type == UMAD_ATTR ? on_attr(c, in, ret) : -EPROTO;
	if (c->kind != UMAD_KIND_MAD)
		return -EPROTO;
	switch (m.type) {
	case UMAD_REGISTER:
		return on_register(c, in, ret);
	case UMAD_UNREGISTER:
		return on_unregister(c, in, ret);
	case UMAD_MAD:
		return on_mad(c, in, now);
	default:
		return -EPROTO;
	}
}

void umad_conn_info(const struct umad_conn *c, struct umad_conn_info *ret)
{
	*ret = (struct umad_conn_info){
		.kind = c->kind,
		.port = c->port ? c->port->np : NULL,
		.dev = c->dev,
		.queued = c->nqueue,
		.st = c->st,
	};
	for (unsigned int i = 0; i < UMAD_AGENTS_MAX; i++)
		ret->agents += c->agent[i].mad != NULL;
}
