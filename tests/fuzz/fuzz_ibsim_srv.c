/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * This target drives a server of ibsim's protocol by random sequences of events. An event is a
 * control message or a MAD of a client, an answer to a request, a MAD without a request, a socket
 * that is full or refuses data, or the death of a client. Messages and MADs have any content. Unless
 * the input says otherwise, the target corrects the fields that are checked first.
 *
 * The server must neither crash nor leak memory. A client's socket is open as long as the client
 * exists, and the server sends nothing to a closed socket. The capability bit IsSM of a port is set
 * exactly while a client wants it to be set. No client has more than IBSIM_OPEN_MAX open requests.
 */

#include <errno.h>
#include <stdlib.h>

#include "ibsim/srv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(c)                 \
	do {                     \
		if (!(c))        \
			abort(); \
	} while (0)

#define SENT_MAX 64

static struct {
	struct node n;
	struct timers timers;
	struct log_sink log;
	struct ibsim_srv *srv;
	ns_t now;
	bool open[IBSIM_CLIENTS_MAX], issm[3];
	int send_err;
	unsigned int nsent;
	struct {
		struct mad_addr to;
		uint8_t mad[MAD_LEN];
	} sent[SENT_MAX]; /* the last MADs sent, in a ring */
} f;

static int on_xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad, ns_t now)
{
	unsigned int i = f.nsent++ % SENT_MAX;

	(void)ctx;
	(void)now;
	(void)egress;
	f.sent[i].to = *to;
	memcpy(f.sent[i].mad, mad, MAD_LEN);
	return 0;
}

static void on_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	(void)ctx;
	(void)port;
	(void)ev;
	(void)now;
}

static struct node_port *on_find(void *ctx, void *place, const char *name, const char **ret_name)
{
	(void)ctx;
	(void)place;
	*ret_name = "node";
	return *name == 'x' ? NULL : &f.n.port[*name == '2' ? 2 : 1];
}

static int on_open(void *ctx, unsigned int id, const struct ibsim_peer *peer, uint32_t pid)
{
	(void)ctx;
	(void)peer;
	CHECK(id < IBSIM_CLIENTS_MAX && !f.open[id]);
	if (pid == 0xbad)
		return -ECONNREFUSED;
	f.open[id] = true;
	return 0;
}

static void on_close(void *ctx, unsigned int id)
{
	(void)ctx;
	CHECK(f.open[id]);
	f.open[id] = false;
}

static int on_send(void *ctx, unsigned int id, const void *pkt, size_t len)
{
	struct ibsim_client_show s;
	struct ibsim_pkt k;

	(void)ctx;
	CHECK(f.open[id] && ibsim_srv_client(f.srv, id, &s));
	CHECK(!ibsim_pkt_decode(&k, pkt, len));
	/*
	 * A packet that reports a timeout must go to the client that sent the request. The upper 16
	 * bits of the request's TID are this client's number.
	 */
	if (k.status == IBSIM_STATUS_TIMEOUT)
		CHECK(mad_tid(k.mad) >> 48 == id);
	return f.send_err;
}

static int on_issm(void *ctx, struct node_port *port, bool on, ns_t now)
{
	(void)ctx;
	(void)now;
	CHECK(f.issm[port->num] != on);
	f.issm[port->num] = on;
	return 0;
}

static const struct node_ops node_ops = { .xmit = on_xmit, .event = on_event };
static const struct ibsim_ops ops = {
	.find = on_find,
	.open = on_open,
	.close = on_close,
	.send = on_send,
	.issm = on_issm,
};

static void start(void)
{
	static const uint64_t guids[] = { 0x101, 0x102 };
	struct node_cfg cfg = {
		.type = IB_NODE_CA,
		.nports = 2,
		.sys_guid = 0x100,
		.node_guid = 0x100,
		.port_guids = guids,
		.desc = "node",
	};

	memset(&f, 0, sizeof(f));
	timers_init(&f.timers);
	CHECK(!node_init(&f.n, &cfg, &node_ops, NULL, &f.timers, &f.log));
	node_link(&f.n, 1, true, f.now);
	f.n.port[1].pi.lid = 5;
	f.srv = ibsim_srv_create(&ops, NULL, &f.timers, &f.log);
	CHECK(f.srv);
}

static void check(void)
{
	bool issm[3] = { false };

	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++) {
		struct ibsim_client_show s;

		if (!ibsim_srv_client(f.srv, i, &s))
			continue;
		CHECK(f.open[i] && s.open <= IBSIM_OPEN_MAX && s.queued <= IBSIM_QUEUE_MAX);
		issm[s.port] |= s.issm;
	}
	CHECK(issm[1] == f.issm[1] && issm[2] == f.issm[2]);
}

static void finish(void)
{
	ibsim_srv_destroy(f.srv, f.now);
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++)
		CHECK(!f.open[i]);
	CHECK(!f.issm[1] && !f.issm[2]);
	node_fini(&f.n);
	timers_fini(&f.timers);
}

/*
 * --- steps. The input is a sequence of steps. A step is an octet that selects the kind of step, an
 * octet with details, an octet that is a length, and as many further octets as this length says
 */

static void do_ctl(uint8_t who, const uint8_t *p, size_t n)
{
	struct ibsim_peer from = { .len = 1, .addr = { who & 7 }, .pid = who };
	struct ibsim_ctl m = { .client = who >> 3 };
	uint8_t msg[IBSIM_CTL_LEN], answer[IBSIM_CTL_LEN];

	if (n && p[0] & 0x80) { /* the message is sent unchanged */
		ibsim_srv_ctl(f.srv, &from, p, n, answer, f.now);
		return;
	}
	m.type = n ? p[0] & 15 : 0;
	m.len = m.type == IBSIM_CTL_CONNECT ? IBSIM_CLIENT_INFO_LEN : 4;
	if (n > 1)
		memcpy(m.data, p + 1, n - 1 < sizeof(m.data) ? n - 1 : sizeof(m.data));
	ibsim_ctl_encode(msg, &m);
	ibsim_srv_ctl(f.srv, &from, msg, sizeof(msg), answer, f.now);
}

static void do_mad(uint8_t who, const uint8_t *p, size_t n)
{
	struct ibsim_pkt k = { .dlid = who & 0x80 ? 0xffff : 7, .len = MAD_LEN };
	uint8_t raw[IBSIM_PKT_LEN];

	if (who & 0x40) {
		ibsim_srv_recv(f.srv, who & 7, p, n, f.now);
		return;
	}
	memcpy(k.mad, p, n < MAD_LEN ? n : MAD_LEN);
	k.mad[0] = MAD_BASE_VERSION;
	ibsim_pkt_encode(raw, &k);
	ibsim_srv_recv(f.srv, who & 7, raw, sizeof(raw), f.now);
}

/* Answer a request that the server sent. The octets of @p replace the beginning of the answer. */
static void do_answer(uint8_t which, const uint8_t *p, size_t n)
{
	unsigned int have = f.nsent < SENT_MAX ? f.nsent : SENT_MAX;
	struct mad_addr from;
	uint8_t mad[MAD_LEN];

	if (!have)
		return;
	from = f.sent[which % have].to;
	memcpy(mad, f.sent[which % have].mad, sizeof(mad));
	mad[3] |= MAD_METHOD_RESP;
	if (n)
		memcpy(mad + SMP_OFF_MKEY, p, n < 200 ? n : 200);
	from.port = 1;
	node_mad_rx(&f.n, 1, &from, mad, f.now);
}

static void do_unsolicited(uint8_t detail, const uint8_t *p, size_t n)
{
	struct mad_addr from = detail & 1 ? mad_addr_gmp(9, 0) : mad_addr_smp_lid(9);
	uint8_t mad[MAD_LEN] = { 0 };

	memcpy(mad, p, n < MAD_LEN ? n : MAD_LEN);
	mad[0] = MAD_BASE_VERSION;
	from.port = 1;
	node_mad_rx(&f.n, 1, &from, mad, f.now);
}

static void do_socket(uint8_t detail)
{
	static const int errs[] = { 0, -EAGAIN, -ECONNREFUSED, 0 };

	f.send_err = errs[detail >> 6];
	if (detail & 0x20)
		ibsim_srv_gone(f.srv, detail & 7, "fuzz", f.now);
	else
		ibsim_srv_writable(f.srv, detail & 7, f.now);
}

static void step(uint8_t what, uint8_t detail, const uint8_t *p, size_t n)
{
	switch (what % 6) {
	case 0:
		do_ctl(detail, p, n);
		break;
	case 1:
		do_mad(detail, p, n);
		break;
	case 2:
		do_answer(detail, p, n);
		break;
	case 3:
		do_unsolicited(detail, p, n);
		break;
	case 4:
		do_socket(detail);
		break;
	case 5:
		f.now += NS_MSEC(detail * 4);
		timers_run(&f.timers, f.now);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	start();
	while (size >= 3) {
		size_t n = data[2] < size - 3 ? data[2] : size - 3;

		step(data[0], data[1], data + 3, n);
		check();
		data += 3 + n;
		size -= 3 + n;
	}
	finish();
	return 0;
}
