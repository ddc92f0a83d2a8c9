/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/umad.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "tools/umad_msg.h"
#include "os/listener.h"

#define MSG_MAX (sizeof(struct umad_mad) + UMAD_INLINE_MAX)
/*
 * Number of messages that are read from one client at a time, so that a flood does not delay others
 */
#define READS_MAX 32

struct umad_net {
	struct inst *in;
	struct umad_srv *srv;
	struct listener listen;
	struct list clients;
	struct timer reaper; /* frees clients outside the loop's callbacks */
	struct umad_answer answer;
	uint8_t msg[MSG_MAX];
};

struct umad_client {
	struct list link;
	struct umad_net *u;
	struct umad_conn *conn;
	int sock, pid;
	/*
	 * memfd of the MAD to send next, if this MAD is too large for a message and the socket was
	 * full; otherwise -1
	 */
	int big;
	struct loop_fd fd;
	bool dead;
};

/* --- clients */

static void client_drop(struct umad_client *c)
{
	struct loop *loop = &c->u->in->loop;

	if (c->dead)
		return;
	c->dead = true;
	loop_unwatch(loop, &c->fd);
	timer_arm(&loop->timers, &c->u->reaper, 0);
}

static void client_free(struct umad_client *c, ns_t now)
{
	list_del(&c->link);
	umad_conn_close(c->conn, now);
	umad_msg_forget(&c->big);
	close(c->sock);
	free(c);
}

static void reap(struct timer *t, ns_t now)
{
	struct umad_net *u = container_of(t, struct umad_net, reaper);
	struct umad_client *c, *tmp;

	list_for_each_safe (c, tmp, &u->clients, link)
		if (c->dead)
			client_free(c, now);
}

/* --- sending */

static void client_io(struct loop_fd *fd, uint32_t events, ns_t now);

static void client_watch(struct umad_client *c, uint32_t events)
{
	if (loop_watch(&c->u->in->loop, &c->fd, c->sock, events, client_io))
		client_drop(c);
}

/* Send queued MADs until the socket is full. */
static void client_write(struct umad_client *c)
{
	const struct umad_mad *m;
	const void *data;

	while (!c->dead && (m = umad_conn_next(c->conn, &data))) {
		int err = umad_msg_send_mad(c->sock, m, data, &c->big);

		if (err == -EAGAIN) {
			client_watch(c, EPOLLIN | EPOLLOUT);
			return;
		}
		if (err == -EPIPE || err == -ECONNRESET)
			client_drop(c);
		else if (err)
			umad_conn_lost(c->conn);
		else
			umad_conn_sent(c->conn);
	}
	if (!c->dead)
		client_watch(c, EPOLLIN);
}

static void on_ready(void *ctx, void *conn_ctx)
{
	(void)ctx;
	client_write(conn_ctx);
}

/* --- receiving */

/* Reads the memfd into memory if its MAD can be sent. */
static uint8_t *read_big(struct umad_client *c, struct umad_in *in, int fd)
{
	uint8_t head[UMAD_HEAD_LEN], *big = NULL;

	in->big_len = umad_memfd_len(fd);
	if (!in->big_len || !umad_memfd_read(fd, head, sizeof(head)) ||
	    !umad_conn_takes(c->conn, in->msg, in->len, head, in->big_len))
		return NULL;
	big = malloc(in->big_len);
	if (big && !umad_memfd_read(fd, big, in->big_len)) {
		free(big);
		big = NULL;
	}
	in->big = big;
	return big;
}

static void send_answer(struct umad_client *c, int fd)
{
	const struct umad_answer *a = &c->u->answer;

	/*
	 * A failure to send to @fd is ignored, because it only means that the program no longer
	 * reads this socket.
	 */
	if (a->to == UMAD_TO_SOCKET)
		umad_msg_send(fd, a->msg, a->len);
	else if (a->to == UMAD_TO_CONN && umad_msg_send(c->sock, a->msg, a->len))
		client_drop(c); /* the client does not read its answers */
}

static void serve(struct umad_client *c, const struct umad_received *r, ns_t now)
{
	struct umad_net *u = c->u;
	struct umad_in in = { .msg = u->msg, .len = r->len };
	uint8_t *big = NULL;
	int err;

	if (r->fd >= 0) {
		in.has_socket = umad_is_socket(r->fd);
		if (!in.has_socket)
			big = read_big(c, &in, r->fd);
	}
	err = umad_conn_recv(c->conn, &in, &u->answer, now);
	free(big);
	send_answer(c, r->fd);
	if (err)
		client_drop(c);
}

static void client_read(struct umad_client *c, ns_t now)
{
	struct umad_received r;

	for (unsigned int i = 0; i < READS_MAX && !c->dead; i++) {
		int err = umad_msg_recv(c->sock, c->u->msg, sizeof(c->u->msg), &r);

		if (err == -EAGAIN)
			return;
		if (err) {
			client_drop(c);
			return;
		}
		serve(c, &r, now);
		if (r.fd < 0)
			continue;
		close(r.fd);
		/* The message may have been a large MAD, so other clients are served first. */
		return;
	}
}

static void client_io(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct umad_client *c = container_of(fd, struct umad_client, fd);

	if (events & EPOLLOUT)
		client_write(c);
	if (!c->dead && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		client_read(c, now);
}

/* --- the CAs that a program sees */

static void view_add(struct umad_view *v, struct node *n)
{
	for (unsigned int i = 0; i < v->n; i++)
		if (v->node[i] == n)
			return;
	if (v->n < UMAD_CAS_MAX)
		v->node[v->n++] = n;
}

static int view_of_node(struct inst *in, const char *name, struct umad_view *ret)
{
	for (unsigned int k = 0; k < in->nfabs; k++) {
		struct fabric_node *n = fabric_node_find(in->fab[k]->fabric, name);

		if (n) {
			view_add(ret, fabric_node_node(n));
			return 0;
		}
	}
	return -ENOENT;
}

static struct inst_host *only_host(struct inst *in)
{
	struct inst_host *first, *h;

	if (list_empty(&in->hosts))
		return NULL;
	first = list_first(&in->hosts, struct inst_host, link);
	list_for_each (h, &in->hosts, link)
		if (strcmp(h->name, first->name) != 0)
			return NULL;
	return first;
}

static void view_cas(struct umad_view *ret, const struct inst_host *h)
{
	for (unsigned int k = 0; k < h->ncas; k++)
		/* skip a real CA, because the kernel itself has devices for its ports */
		if (h->ca[k]->node)
			view_add(ret, fabric_node_node(h->ca[k]->node));
}

static int view_of_host(struct inst *in, const char *name, struct umad_view *ret)
{
	struct inst_host *first = *name ? inst_host_find(in, name) : only_host(in), *h;

	if (!first)
		return -ENOENT;
	/*
	 * If a reload adds interfaces to a host that runs already, these interfaces get another
	 * struct inst_host of the same name.
	 */
	list_for_each (h, &in->hosts, link)
		if (!strcmp(h->name, first->name))
			view_cas(ret, h);
	return ret->n ? 0 : -ENOENT;
}

static int on_view(void *ctx, const char *host, const char *node, struct umad_view *ret)
{
	struct umad_net *u = ctx;

	*ret = (struct umad_view){ .n = 0 };
	return *node ? view_of_node(u->in, node, ret) : view_of_host(u->in, host, ret);
}

static const struct umad_srv_ops srv_ops = { .view = on_view, .ready = on_ready };

/* --- listening */

static int client_add(struct umad_net *u, int sock, int pid)
{
	struct umad_client *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (!err)
		err = umad_conn_open(u->srv, c, &c->conn);
	if (err) {
		free(c);
		return err;
	}
	c->u = u;
	c->sock = sock;
	c->pid = pid;
	c->big = -1;
	list_add_tail(&u->clients, &c->link);
	client_watch(c, EPOLLIN);
	return 0;
}

static void on_client(struct listener *l, int sock, int pid, ns_t now)
{
	(void)now;
	if (client_add(container_of(l, struct umad_net, listen), sock, pid))
		close(sock);
}

int umad_open(struct umad_net **ret, struct inst *in, const char *path, char err[INST_ERR_MAX])
{
	struct umad_net *u = calloc(1, sizeof(*u));
	int status = u ? 0 : -ENOMEM, s = -1;

	if (u) {
		u->in = in;
		list_init(&u->clients);
		listener_init(&u->listen);
		timer_init(&u->reaper, reap);
		u->srv = umad_srv_create(&srv_ops, u, NULL);
		status = u->srv ? listener_socket(&s, path, SOCK_SEQPACKET, 64) : -ENOMEM;
	}
	if (!status)
		status = listener_start(&u->listen, &in->loop, s, on_client);
	if (!status) {
		*ret = u;
		return 0;
	}
	snprintf(err, INST_ERR_MAX, "socket %s: %s", path, strerror(-status));
	if (s >= 0)
		close(s);
	if (u)
		umad_srv_destroy(u->srv);
	free(u);
	return status;
}

void umad_close(struct umad_net *u)
{
	struct umad_client *c, *tmp;

	if (!u)
		return;
	list_for_each_safe (c, tmp, &u->clients, link) {
		client_drop(c);
		client_free(c, u->in->loop.now);
	}
	timer_cancel(&u->in->loop.timers, &u->reaper);
	listener_stop(&u->listen);
	umad_srv_destroy(u->srv);
	free(u);
}

/* --- statistics */

/* Write the name of a port as NODE/NUMBER. */
static void port_name(const struct inst *in, const struct node_port *np, char *buf, size_t size)
{
	*buf = '\0';
	for (unsigned int k = 0; np && k < in->nfabs; k++)
		for (unsigned int i = 0; i < fabric_nnodes(in->fab[k]->fabric); i++) {
			struct fabric_node *n = fabric_node_at(in->fab[k]->fabric, i);

			if (fabric_node_node(n) == np->node)
				snprintf(buf, size, "%s/%u", fabric_node_name(n), np->num);
		}
}

void umad_each(const struct umad_net *u, void (*fn)(void *ctx, const struct umad_client_info *i),
	       void *ctx)
{
	const struct umad_client *c;

	list_for_each (c, &u->clients, link) {
		struct umad_client_info i = { .pid = c->pid };

		if (c->dead)
			continue;
		umad_conn_info(c->conn, &i.conn);
		port_name(u->in, i.conn.port, i.port, sizeof(i.port));
		fn(ctx, &i);
	}
}

void umad_closed_stats(const struct umad_net *u, struct umad_stats *ret)
{
	*ret = *umad_srv_closed(u->srv);
}
