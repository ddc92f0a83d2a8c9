/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/udplink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "inst/fab.h"
#include "train/train.h"
#include "udp/link_why.h"

#define STARVED_FOR NS_MSEC(1)

/* --- sending */

static void on_tx(void *ctx, struct pkt **v, unsigned int n, ns_t now)
{
	struct inst_udp *u = ctx;

	(void)now;
	for (unsigned int i = 0; i < n; i++)
		udp_link_drop(&u->machine, UDP_DROP_TX_QUEUE, udp_queue_add(&u->queue, v[i]));
}

static void watch(struct inst_udp *u)
{
	loop_watch(&u->inst->loop, &u->fd, u->sock.fd,
		   (u->starved ? 0 : EPOLLIN) | (u->blocked ? EPOLLOUT : 0), u->fd.fn);
}

static void writable(struct inst_udp *u, bool wait)
{
	u->blocked = wait;
	watch(u);
}

/*
 * Stops reading the socket for STARVED_FOR, because all buffers are in use. If the loop read the
 * socket again at once, the packets in these buffers would not be processed and freed.
 */
static void starve(struct inst_udp *u, ns_t now)
{
	u->starved = true;
	watch(u);
	timer_arm(&u->inst->loop.timers, &u->feed, now + STARVED_FOR);
}

static void feed(struct timer *t, ns_t now)
{
	struct inst_udp *u = container_of(t, struct inst_udp, feed);

	(void)now;
	u->starved = false;
	watch(u);
}

/* Puts packets into the batch until the batch is full, and computes missing CRCs. */
static void fill(struct udp_batch *b, struct pkt *const *v, unsigned int n)
{
	struct train_walk out;
	const struct pkt *p;

	for (unsigned int i = 0; i < n && b->npackets < PKT_BATCH; i++) {
		if (!pkt_is_train(v[i])) {
			fabric_pkt_seal(v[i]);
			udp_batch_add(b, v[i]);
			continue;
		}
		train_walk_begin(&out, v[i]);
		while (b->npackets < PKT_BATCH && (p = train_out_next(&out)))
			udp_batch_add(b, p);
	}
}

/*
 * Sends the packets v[0] to v[n - 1]. If UDP_SEGMENT is refused, sends them without UDP_SEGMENT.
 * Return: as udp_sock_send()
 */
static int send_batch(struct inst_udp *u, const struct ip_endpoint *peer, struct udp_batch *b,
		      struct pkt *const *v, unsigned int n)
{
	int sent;

	for (;;) {
		udp_batch_begin(b, u->sock.gso);
		fill(b, v, n);
		sent = udp_sock_send(&u->sock, peer, b);
		if (sent != -EOPNOTSUPP)
			return sent;
		log_to(&u->log, LOG_LVL_INFO,
		       "udp link %s: the route or its device does not take UDP_SEGMENT: each "
		       "packet is a message of its own",
		       u->name);
	}
}

/*
 * Handles the result @sent of send_batch(). After an error other than -EAGAIN only the first packet
 * is dropped.
 */
static void finish(struct inst_udp *u, const struct udp_batch *b, struct pkt **v, unsigned int n,
		   int sent)
{
	unsigned int done = sent > 0 ? (unsigned int)sent : sent == -EAGAIN ? 0 : 1;
	uint64_t octets = 0;

	for (unsigned int i = 0; i < done; i++)
		octets += b->len[i];
	if (sent > 0)
		udp_link_sent(&u->machine, done, octets);
	else
		udp_link_drop(&u->machine, UDP_DROP_TX_ERROR, done);
	udp_queue_return(&u->queue, v, n, done);
}

static void purge(struct inst_udp *u)
{
	udp_link_drop(&u->machine, UDP_DROP_TX_DOWN, udp_queue_purge(&u->queue));
}

static void flush(struct inst_udp *u)
{
	const struct ip_endpoint *peer = udp_link_peer(&u->machine);
	struct pkt *v[PKT_BATCH];
	struct udp_batch b;
	unsigned int n;

	if (!peer)
		purge(u);
	while (!u->blocked && (n = udp_queue_take(&u->queue, v, PKT_BATCH))) {
		int sent = send_batch(u, peer, &b, v, n);

		finish(u, &b, v, n, sent);
		if (sent == -EAGAIN)
			writable(u, true);
	}
}

void udplink_flush_all(struct udp_links *l)
{
	struct inst_udp *u;

	list_for_each (u, &l->links, link)
		if (udp_queue_len(&u->queue))
			flush(u);
}

/* --- receiving */

/*
 * Count errors of the link layer in the counters of the port, which the port's PMA reports. Datagrams from unknown
 * senders are not counted in these counters.
 */
static void count_error(struct inst_udp *u, enum udp_drop why)
{
	switch (why) {
	case UDP_DROP_VCRC:
		fabric_ext_rx_error(u->end, true);
		break;
	case UDP_DROP_SHORT:
	case UDP_DROP_OVERSIZED:
	case UDP_DROP_LVER:
	case UDP_DROP_TRUNCATED:
	case UDP_DROP_LEN:
		fabric_ext_rx_error(u->end, false);
		break;
	default:
		break;
	}
}

static int receive(struct inst_udp *u, ns_t now)
{
	const struct udp_dgram *d = NULL;
	struct pkt *v[PKT_BATCH];
	int got = udp_sock_recv(&u->sock, u->inst->udps.rx, &d);
	unsigned int n = 0;

	for (int i = 0; i < got; i++) {
		enum udp_drop why = udp_link_rx(&u->machine, &d[i].from, d[i].data, d[i].len, now);

		if (why)
			count_error(u, why);
		if (why || !d[i].len)
			continue;
		if (fabric_pkt_from_buf(&v[n], u->inst->pool, d[i].buf, d[i].data, d[i].len)) {
			udp_link_drop(&u->machine, UDP_DROP_NO_MEM, 1);
			continue;
		}
		v[n]->flags |= PKT_VCRC_OK | (u->machine.icrc_right ? PKT_ICRC_OK : 0);
		if (++n < PKT_BATCH)
			continue;
		fabric_ext_rx(u->end, v, n, now);
		n = 0;
	}
	if (n)
		fabric_ext_rx(u->end, v, n, now);
	return got;
}

static void on_event(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_udp *u = container_of(fd, struct inst_udp, fd);

	if (events & EPOLLERR)
		udp_sock_errors(&u->sock);
	if (events & EPOLLOUT) {
		writable(u, false);
		flush(u);
	}
	if (events & EPOLLIN && receive(u, now) < 0)
		starve(u, now);
}

/* --- events that the state machine of udp/link.h and the fabric report to each other */

static void on_keepalive(void *ctx, const struct ip_endpoint *peer, ns_t now)
{
	struct inst_udp *u = ctx;

	(void)now;
	if (udp_sock_send_empty(&u->sock, peer))
		udp_link_drop(&u->machine, UDP_DROP_TX_ERROR, 1);
}

static const char *why_down(const struct inst_udp *u)
{
	return u->machine.timed_out	       ? LINK_WHY_SILENT
	       : fabric_link_retrains(u->port) ? LINK_WHY_RETRAIN
					       : LINK_WHY_DISABLED;
}

static void on_carrier(void *ctx, bool up, ns_t now)
{
	struct inst_udp *u = ctx;
	char peer[CONF_ENDPOINT_MAX], port[FABRIC_NAME_MAX];

	if (!up)
		purge(u);
	log_to(&u->log, LOG_LVL_INFO, "udp link %s at %s: %s%s", u->name,
	       fabric_port_name(u->port, port, sizeof(port)), up ? "up, peer " : "down: ",
	       up ? conf_print_endpoint(&u->machine.peer, peer) : why_down(u));
	fabric_ext_carrier(u->end, up, now);
}

static void on_want(void *ctx, bool on, ns_t now)
{
	struct inst_udp *u = ctx;

	udp_link_want(&u->machine, on, now);
}

static const struct udp_link_ops link_ops = { .keepalive = on_keepalive, .carrier = on_carrier };
static const struct fabric_ext_ops ext_ops = { .tx = on_tx, .want = on_want, .trains = true };

/* --- opening and closing */

void udplink_close(struct inst_udp *u)
{
	ns_t now = u->inst->loop.now;

	list_del(&u->link);
	udp_link_fini(&u->machine);
	timer_cancel(&u->inst->loop.timers, &u->feed);
	loop_unwatch(&u->inst->loop, &u->fd);
	udp_sock_close(&u->sock);
	if (u->end)
		fabric_ext_detach(u->end, now);
	udp_queue_purge(&u->queue);
	free(u);
}

void udplink_close_all(struct udp_links *l)
{
	struct inst_udp *u, *tmp;

	list_for_each_safe (u, tmp, &l->links, link)
		udplink_close(u);
	udp_rx_destroy(l->rx);
	l->rx = NULL;
}

/*
 * Logs that the receive buffer is small, so that the administrator can raise net.core.rmem_max.
 * Only one link logs this, because the limit is the same for all links.
 */
static void say_buffers(struct inst_udp *u)
{
	if (u->sock.rcvbuf >= UDP_SOCK_BUF || u->inst->udps.small_buffer_logged)
		return;
	u->inst->udps.small_buffer_logged = true;
	log_to(&u->log, LOG_LVL_WARN,
	       "udp link %s: a receive buffer of %d KB, not %d: no CAP_NET_ADMIN, and "
	       "net.core.rmem_max is smaller",
	       u->name, u->sock.rcvbuf / 1024, UDP_SOCK_BUF / 1024);
}

/* Warns that the link is not authenticated, unless it listens at a loopback address. */
static void say_open(struct inst_udp *u, const struct ip_endpoint *listen)
{
	char text[CONF_ENDPOINT_MAX];

	if (ip_endpoint_is_loopback(listen))
		return;
	log_to(&u->log, LOG_LVL_WARN,
	       "udp link %s: listens at %s: the link is not authenticated, whoever can send "
	       "from the peer's address is on the fabric",
	       u->name, conf_print_endpoint(listen, text));
}

/* The two ends of a link, as given by the configuration or by a client */
struct ends {
	int fd; /* socket that a client made; -1: a new socket is bound to .listen */
	const struct ip_endpoint *listen;
	/* Address of the peer; NULL: the link learns it from the first datagram */
	const struct ip_endpoint *peer;
	bool fresh; /* true if the peer has no state from an earlier link */
};

static int open_link(struct inst_udp *u, const struct ends *e)
{
	struct inst *in = u->inst;
	char label[CONF_NAME_MAX + 8];
	int status;

	if (!in->udps.rx)
		in->udps.rx = udp_rx_create(in->pool);
	if (!in->udps.rx) {
		if (e->fd >= 0)
			close(e->fd);
		return -ENOMEM;
	}
	status = e->fd >= 0 ? udp_sock_adopt(&u->sock, e->fd, &u->bound)
			    : udp_sock_open(&u->sock, e->listen, &u->bound);
	if (status)
		return status;
	if (e->fd < 0)
		say_buffers(u);
	snprintf(label, sizeof(label), "%s%s", strncmp(u->name, "udp:", 4) ? "udp:" : "", u->name);
	status = fabric_ext_attach(u->port, label, &ext_ops, u, &u->end);
	if (status)
		return status;
	udp_link_init(&u->machine, &in->loop.timers, e->peer, &link_ops, u, in->loop.now);
	if (e->fresh)
		udp_link_fresh(&u->machine, in->loop.now);
	return loop_watch(&in->loop, &u->fd, u->sock.fd, EPOLLIN, on_event);
}

static int add(struct inst *in, const char *name, struct inst_fabric *f, struct fabric_port *port,
	       const struct ends *e, struct inst_udp **ret, char err[INST_ERR_MAX])
{
	struct inst_udp *u = calloc(1, sizeof(*u));
	char text[CONF_ENDPOINT_MAX], at[FABRIC_NAME_MAX];
	int status;

	if (!u) {
		if (e->fd >= 0)
			close(e->fd);
		snprintf(err, INST_ERR_MAX, "udp link %s: out of memory", name);
		return -ENOMEM;
	}
	u->inst = in;
	u->fab = f;
	u->port = port;
	u->sock.fd = u->fd.fd = -1;
	timer_init(&u->feed, feed);
	snprintf(u->name, sizeof(u->name), "%s", name);
	u->log = f->log;
	u->log.about.udp_link = u->name;
	list_add_tail(&in->udps.links, &u->link);
	status = open_link(u, e);
	if (!status) {
		if (ret)
			*ret = u;
		return 0;
	}
	if (status == -EBUSY && !u->end)
		snprintf(err, INST_ERR_MAX,
			 "udp-link %s: port fabric:%s/%s: it has a cable, expected a free port",
			 name, f->name, fabric_port_name(port, at, sizeof(at)));
	else
		snprintf(err, INST_ERR_MAX, "udp-link %s: listen %s: %s", name,
			 conf_print_endpoint(e->listen ? e->listen : &u->bound, text),
			 strerror(-status));
	udplink_close(u);
	return status;
}

int udplink_add(struct inst *in, const struct conf_udp_link *c, char err[INST_ERR_MAX])
{
	struct inst_fabric *f = inst_fabric_find(in, c->port.fabric);
	struct fabric_node *n = f ? fabric_node_find(f->fabric, c->port.node) : NULL;
	struct fabric_port *p = n && c->port.port ? fabric_node_port(n, c->port.port) : NULL;
	struct ends e = { .fd = -1,
			  .listen = &c->listen,
			  .peer = c->peer.family ? &c->peer : NULL };
	struct inst_udp *u = NULL;
	int status;

	if (!p) {
		snprintf(err, INST_ERR_MAX, "udp-link %s: port fabric:%s/%s/%u: %s", c->name,
			 c->port.fabric, c->port.node, c->port.port,
			 !f   ? "no such fabric"
			 : !n ? "no such node in the topology"
			      : "the node has no such port");
		return -EINVAL;
	}
	status = add(in, c->name, f, p, &e, &u, err);
	if (!status)
		say_open(u, &c->listen);
	return status;
}

int udplink_attach(struct inst_udp **ret, struct inst_fabric *f, struct fabric_port *port,
		   const char *name, int fd, const struct ip_endpoint *peer, bool fresh,
		   char err[INST_ERR_MAX])
{
	struct ends e = { .fd = fd, .peer = peer, .fresh = fresh };

	return add(f->inst, name, f, port, &e, ret, err);
}

static struct topo *one_ca(const struct conf_port *where, const char *host)
{
	char name[64] = "", desc[TOPO_DESC_MAX + 1];
	struct topo *t = topo_create();
	struct topo_node *n;
	uint32_t index;

	if (!*host && gethostname(name, sizeof(name) - 1))
		snprintf(name, sizeof(name), "uipoib");
	snprintf(desc, sizeof(desc), "%.50s HCA-1", *host ? host : name);
	if (!t || topo_add_node(t, IB_NODE_CA, 1, where->node, desc, &index) ||
	    topo_set_guids(t, index, where->guid)) {
		topo_free(t);
		return NULL;
	}
	n = t->node[index];
	n->port[1].guid = where->guid;
	/* link widths 1x and 4x and speeds SDR to QDR, as in generated topologies */
	n->port[1].rate = (struct topo_rate){ .width = 3, .speed = 7 };
	return t;
}

int udplink_hca(struct inst *in, const struct conf_port *where, const char *host,
		char err[INST_ERR_MAX])
{
	struct conf_fabric fc = { .crc = CONF_CRC_LAZY };
	struct ip_endpoint any = { .family = where->peer.family };
	struct ends e = { .fd = -1,
			  .listen = where->listen.family ? &where->listen : &any,
			  .peer = &where->peer };
	struct inst_fabric *f;
	struct topo *t;
	int status;

	if (inst_fabric_find(in, where->fabric))
		return 0;
	/*
	 * If the peer has a loopback address, the socket listens at the same address, so that no other machine
	 * can reach it.
	 */
	if (ip_endpoint_is_loopback(&where->peer))
		memcpy(any.addr, where->peer.addr, sizeof(any.addr));
	snprintf(fc.name, sizeof(fc.name), "%s", where->fabric);
	t = one_ca(where, host);
	if (!t) {
		snprintf(err, INST_ERR_MAX, "port %s: out of memory", where->fabric);
		return -ENOMEM;
	}
	status = fab_add(in, &fc, t, err);
	topo_free(t);
	if (status)
		return status;
	f = in->fab[in->nfabs - 1];
	return add(in, where->fabric, f, fabric_node_port(fabric_node_at(f->fabric, 0), 1), &e,
		   NULL, err);
}

struct inst_udp *udplink_find(const struct udp_links *l, const struct fabric_port *port)
{
	struct inst_udp *u;

	list_for_each (u, &l->links, link)
		if (u->port == port)
			return u;
	return NULL;
}
