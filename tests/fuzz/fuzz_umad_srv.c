/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "umad/umad.h"
#include "wire/sa.h"

/*
 * Four programs use the umad server of a CA with two ports. A step of the input has 1 octet for
 * the event and the program, 2 octets for a length, and then as many octets as the length says.
 * From the octets after the length, the target makes a message that the program sends to the
 * server. Packets that the CA sends are delivered to the same CA, so that the CA or another program
 * answers requests.
 */

#define CONNS 4
#define LID 1

struct world {
	struct timers timers;
	struct log_sink log;
	struct node node;
	struct umad_srv *srv;
	struct umad_conn *conn[CONNS];
	struct umad_answer ans;
	ns_t now;
	unsigned int loops;
	struct timer loop;
	struct {
		struct mad_addr from;
		uint8_t port, mad[MAD_LEN];
	} wire[64];
	unsigned int nwire;
};

static int xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct world *w = ctx;
	unsigned int i = w->nwire;

	if (i == 64)
		return -1;
	w->nwire++;
	w->wire[i].from = *to;
	w->wire[i].from.qpn = to->qp;
	w->wire[i].port = egress;
	memcpy(w->wire[i].mad, mad, MAD_LEN);
	if (!timer_armed(&w->loop))
		timer_arm(&w->timers, &w->loop, now + 1000);
	return 0;
}

static void come_back(struct timer *t, ns_t now)
{
	struct world *w = container_of(t, struct world, loop);
	unsigned int n = w->nwire;
	static __typeof__(w->wire) v;

	memcpy(v, w->wire, n * sizeof(v[0]));
	w->nwire = 0;
	if (w->loops++ > 2000) /* a bound, because two programs may answer each other for ever */
		return;
	for (unsigned int i = 0; i < n; i++)
		node_mad_rx(&w->node, v[i].port, &v[i].from, v[i].mad, now);
}

static void event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	(void)ctx;
	(void)port;
	(void)ev;
	(void)now;
}

static const struct node_ops node_ops = { .xmit = xmit, .event = event };

static int view(void *ctx, const char *host, const char *node, struct umad_view *ret)
{
	struct world *w = ctx;

	*ret = (struct umad_view){ .n = 0 };
	if (strlen(host) + strlen(node) > 2 * UMAD_NAME_MAX)
		abort();
	if (*host != 'x')
		ret->node[ret->n++] = &w->node;
	return ret->n ? 0 : -2;
}

static void ready(void *ctx, void *conn_ctx)
{
	(void)ctx;
	(void)conn_ctx;
}

static const struct umad_srv_ops srv_ops = { .view = view, .ready = ready };

static void open_conn(struct world *w, unsigned int i)
{
	if (umad_conn_open(w->srv, NULL, &w->conn[i]))
		abort();
}

static void check_answer(const struct world *w)
{
	struct umad_msg m;

	if (w->ans.to == UMAD_TO_NOBODY)
		return;
	if (w->ans.len < sizeof(m) || w->ans.len > sizeof(w->ans.msg))
		abort();
	memcpy(&m, w->ans.msg, sizeof(m));
	if (m.len != w->ans.len || (m.type != UMAD_RESULT && m.type != UMAD_CONTENT))
		abort();
}

static void deliver(struct world *w, unsigned int i, const struct umad_in *in)
{
	int err = umad_conn_recv(w->conn[i], in, &w->ans, w->now);

	check_answer(w);
	if (err) {
		umad_conn_close(w->conn[i], w->now);
		open_conn(w, i);
	}
}

/*
 * Send a message of type @type, with the octets of @p as its body and with right lengths. The
 * message is in a block of the heap of exactly its length, so that the sanitizer notices reads
 * beyond its end.
 */
static void message(struct world *w, unsigned int i, uint32_t type, const uint8_t *p, size_t n)
{
	struct umad_msg h = { type, (uint32_t)(sizeof(h) + n) };
	uint8_t *msg = malloc(h.len);
	struct umad_in in = { .msg = msg, .len = h.len, .has_socket = true };

	if (!msg)
		return;
	memcpy(msg, &h, sizeof(h));
	memcpy(msg + sizeof(h), p, n);
	if (type == UMAD_MAD && n >= sizeof(struct umad_mad) - sizeof(h)) {
		uint32_t data = (uint32_t)(n - (sizeof(struct umad_mad) - sizeof(h)));

		memcpy(msg + offsetof(struct umad_mad, data_len), &data, sizeof(data));
	}
	deliver(w, i, &in);
	free(msg);
}

/*
 * Send a MAD whose data are in a memfd. @p has the struct umad_mad and then the data, whose first two
 * octets are also their length.
 */
static void big(struct world *w, unsigned int i, const uint8_t *p, size_t n)
{
	size_t len = n >= sizeof(struct umad_mad) + 2 ? (size_t)p[sizeof(struct umad_mad)] << 8 |
								p[sizeof(struct umad_mad) + 1]
						      : 0;
	uint8_t *data;
	struct umad_mad m;
	struct umad_in in = { .msg = &m, .len = sizeof(m) };

	if (len < UMAD_HEAD_LEN)
		return;
	data = calloc(1, len);
	if (!data)
		return;
	memcpy(&m, p, sizeof(m));
	m.msg = (struct umad_msg){ UMAD_MAD, sizeof(m) };
	m.data_len = (uint32_t)len;
	n -= sizeof(m);
	memcpy(data, p + sizeof(m), n < len ? n : len);
	in.big_len = len;
	if (umad_conn_takes(w->conn[i], &m, sizeof(m), data, len))
		in.big = data;
	deliver(w, i, &in);
	free(data);
}

static void hello(struct world *w, unsigned int i, uint8_t what)
{
	struct umad_hello h = {
		.msg = { UMAD_HELLO, sizeof(h) },
		.version = UMAD_VERSION,
		.kind = what & 3,
		.dev = what >> 2 & 3,
		.host = "h",
	};
	struct umad_in in = { .msg = &h, .len = sizeof(h) };

	deliver(w, i, &in);
}

static void read_some(struct world *w, unsigned int i)
{
	const struct umad_mad *m;
	const void *data;
	uint8_t *copy;

	while ((m = umad_conn_next(w->conn[i], &data))) {
		copy = malloc(m->data_len);
		if (copy)
			memcpy(copy, data, m->data_len);
		free(copy);
		umad_conn_sent(w->conn[i]);
	}
}

static void run(struct world *w, ns_t t)
{
	w->now += t;
	timers_run(&w->timers, w->now);
}

static void step(struct world *w, uint8_t what, const uint8_t *p, size_t n)
{
	unsigned int i = what >> 6;
	struct umad_in raw = { .msg = p, .len = n, .has_socket = what & 8 };

	switch (what & 7) {
	case 0:
		hello(w, i, n ? *p : 0);
		break;
	case 1:
		message(w, i, UMAD_REGISTER, p, n);
		break;
	case 2:
	case 3:
		message(w, i, UMAD_MAD, p, n);
		break;
	case 4:
		message(w, i, n ? *p : 0, p, n);
		break;
	case 5:
		big(w, i, p, n);
		break;
	case 6:
		if (what & 16)
			read_some(w, i);
		else
			run(w, NS_MSEC(n ? *p : 1));
		break;
	default:
		deliver(w, i, &raw);
		break;
	}
}

static void start(struct world *w)
{
	static const uint64_t guids[] = { 0x101, 0x102 };
	const struct node_cfg cfg = {
		.type = IB_NODE_CA,
		.nports = 2,
		.node_guid = 0x100,
		.sys_guid = 0x100,
		.port_guids = guids,
		.desc = "fuzz",
	};

	memset(w, 0, sizeof(*w));
	timers_init(&w->timers);
	timer_init(&w->loop, come_back);
	w->now = NS_SEC(1);
	if (node_init(&w->node, &cfg, &node_ops, w, &w->timers, &w->log))
		abort();
	w->node.port[1].pi.lid = LID;
	node_link(&w->node, 1, true, w->now);
	w->srv = umad_srv_create(&srv_ops, w, NULL);
	if (!w->srv)
		abort();
	for (unsigned int i = 0; i < CONNS; i++)
		open_conn(w, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	start(&w);
	while (size >= 3) {
		size_t n = (size_t)data[1] << 8 | data[2];
		uint8_t what = data[0];

		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		step(&w, what, data, n);
		run(&w, NS_MSEC(1));
		data += n;
		size -= n;
	}
	for (unsigned int i = 0; i < CONNS; i++)
		umad_conn_close(w.conn[i], w.now);
	umad_srv_destroy(w.srv);
	node_fini(&w.node);
	timers_fini(&w.timers);
	return 0;
}
