/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "tools/ibsim_priv.h"

/*
 * A client of ibsim's protocol: its sockets, its process, and the port of the fabric that it uses.
 */

/*
 * largest number of datagrams that are read from one socket before the loop serves other
 * descriptors
 */
#define MAD_QUOTA 32
#define PROBE_PERIOD NS_SEC(2) /* time between searches for closed sockets of live processes */

static struct ibsim_addr addr_num(const struct ibsim_net *n, const char *what, uint32_t id)
{
	char num[16];

	snprintf(num, sizeof(num), "%u", id);
	return ibsim_addr(n, what, num);
}

static int connect_to(int fd, const struct ibsim_addr *a)
{
	return connect(fd, (const struct sockaddr *)&a->un, a->len) ? -errno : 0;
}

/* --- MADs */

static void mads_ready(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct ibsim_conn *c = container_of(fd, struct ibsim_conn, mads);
	/* one octet more than a packet has, so that datagrams that are too long are recognised */
	uint8_t buf[IBSIM_PKT_LEN + 1];

	if (events & EPOLLOUT) {
		loop_watch(ibsim_loop(c->net), fd, fd->fd, EPOLLIN, mads_ready);
		ibsim_srv_writable(c->net->srv, c->id, now);
	}
	for (int i = 0; i < MAD_QUOTA; i++) {
		ssize_t n = recv(fd->fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == ECONNRESET) {
			ibsim_srv_gone(c->net->srv, c->id, "it closed its socket", now);
			return;
		}
		if (n < 0)
			return;
		ibsim_srv_recv(c->net->srv, c->id, buf, (size_t)n, now);
	}
}

static int on_send(void *ctx, unsigned int id, const void *pkt, size_t len)
{
	struct ibsim_net *n = ctx;
	struct loop_fd *fd = &n->conn[id]->mads;

	if (send(fd->fd, pkt, len, MSG_NOSIGNAL) == (ssize_t)len)
		return 0;
	if (errno != EAGAIN && errno != ENOBUFS)
		return -errno;
	return loop_watch(ibsim_loop(n), fd, fd->fd, EPOLLIN | EPOLLOUT, mads_ready) ? -EIO
										     : -EAGAIN;
}

/*
 * Remove a client if its socket is gone, which a second connect() to the socket shows: it fails if
 * the socket is gone, and changes nothing otherwise.
 */
static void probe(struct ibsim_conn *c, const char *why, ns_t now)
{
	if (connect_to(c->mads.fd, &c->peer) == -ECONNREFUSED)
		ibsim_srv_gone(c->net->srv, c->id, why, now);
}

static void process_ended(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct ibsim_conn *c = container_of(fd, struct ibsim_conn, process);

	(void)events;
	ibsim_drop_fd(c->net, fd);
	/*
	 * Do not remove the client only because its process has ended: a child process may have
	 * inherited the sockets.
	 */
	probe(c, "its process has ended", now);
}

void ibsim_probe_all(struct timer *t, ns_t now)
{
	struct ibsim_net *n = container_of(t, struct ibsim_net, probe);
	bool any = false;

	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++) {
		if (!n->conn[i])
			continue;
		any = true;
		probe(n->conn[i], "its socket is closed", now);
	}
	if (any)
		timer_arm(&ibsim_loop(n)->timers, t, now + PROBE_PERIOD);
}

/*
 * Watch the process of a client. If it cannot be watched by a pidfd, the timer .probe notices the
 * client's end a little later.
 */
static void watch_process(struct ibsim_conn *c, uint32_t pid)
{
	struct loop *l = ibsim_loop(c->net);
	int fd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	c->process.fd = fd;
	if (fd >= 0 && loop_watch(l, &c->process, fd, EPOLLIN, process_ended)) {
		close(fd);
		c->process.fd = -1;
	}
	if (!timer_armed(&c->net->probe))
		timer_arm(&l->timers, &c->net->probe, l->now + PROBE_PERIOD);
}

static int conn_open(struct ibsim_conn *c, struct ibsim_place *p, uint32_t pid)
{
	struct ibsim_addr own = addr_num(c->net, "out", c->id);
	int fd, err = ibsim_socket(p, &fd);

	if (err)
		return err;
	c->peer = addr_num(c->net, "in", pid);
	err = ibsim_bind(fd, &own);
	if (!err)
		err = connect_to(fd, &c->peer);
	if (!err)
		err = loop_watch(ibsim_loop(c->net), &c->mads, fd, EPOLLIN, mads_ready);
	if (err)
		close(fd);
	return err;
}

static int on_open(void *ctx, unsigned int id, const struct ibsim_peer *peer, uint32_t pid)
{
	struct ibsim_net *n = ctx;
	struct ibsim_addr says = addr_num(n, "ctl", pid);
	struct ibsim_conn *c;
	int err;

	/*
	 * The number @pid in the client's request is a part of the names of the client's sockets. A
	 * client that gave the number of another process would make this server send the MADs to
	 * the socket of that process. So @pid must be the number in the name of the control socket
	 * from which the request came.
	 */
	if (peer->len != says.len || memcmp(peer->addr, &says.un, says.len) != 0)
		return -EPERM;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->net = n;
	c->id = id;
	err = conn_open(c, peer->place, pid);
	if (err) {
		free(c);
		return err;
	}
	n->conn[id] = c;
	watch_process(c, peer->pid);
	return 0;
}

static void on_close(void *ctx, unsigned int id)
{
	struct ibsim_net *n = ctx;
	struct ibsim_conn *c = n->conn[id];

	ibsim_drop_fd(n, &c->process);
	ibsim_drop_fd(n, &c->mads);
	n->conn[id] = NULL;
	free(c);
}

/* --- where clients sit */

/* Return the first end port that has a cable, because some ports of a CA may have no cable */
static struct node_port *end_port_of(struct fabric_node *fn)
{
	struct node *n = fabric_node_node(fn);

	if (node_is_switch(n))
		return &n->port[0];
	for (unsigned int i = 1; i <= n->info.nports; i++)
		if (fabric_port_peer(fabric_node_port(fn, i)))
			return &n->port[i];
	return &n->port[1];
}

static struct node_port *port_named(struct fabric *f, const char *name, struct fabric_node **ret)
{
	struct fabric_port *p;
	struct node_port *np;

	*ret = fabric_node_find(f, name);
	if (*ret)
		return end_port_of(*ret);
	if (fabric_port_find(f, name, &p))
		return NULL;
	*ret = fabric_port_node(p);
	np = &fabric_node_node(*ret)->port[fabric_port_num(p)];
	return np->ep ? np : NULL;
}

/* Return the port of the host's CA; without a host, the first CA of the fabric, as ibsim does */
static struct node_port *port_default(const struct ibsim_place *p, struct fabric_node **ret)
{
	struct fabric *f = p->net->f->fabric;

	for (unsigned int k = 0; p->host && k < p->host->ncas; k++) {
		const struct inst_port *ca = p->host->ca[k];

		if (port_on_fabric(ca, p->net->f)) {
			*ret = ca->node;
			return &fabric_node_node(*ret)->port[ca->num];
		}
	}
	for (unsigned int k = 0; k < fabric_nnodes(f); k++) {
		*ret = fabric_node_at(f, k);
		if (fabric_node_hca(*ret))
			return end_port_of(*ret);
	}
	*ret = fabric_node_at(f, 0);
	return end_port_of(*ret);
}

static struct node_port *on_find(void *ctx, void *place, const char *name, const char **ret_name)
{
	struct ibsim_net *n = ctx;
	struct fabric_node *fn;
	struct node_port *np;

	np = *name ? port_named(n->f->fabric, name, &fn) : port_default(place, &fn);
	if (np)
		*ret_name = fabric_node_name(fn);
	return np;
}

/*
 * Set or clear IsSM. Setting fails if IsSM is set already, by the embedded SM, or by an SM that uses
 * libuipoib-umad.so at this port.
 */
static int on_issm(void *ctx, struct node_port *port, bool on, ns_t now)
{
	(void)ctx;
	if (on && port->pi.cap_mask & SMP_CAP_IS_SM)
		return -EBUSY;
	node_set_cap(port->node, port->num, SMP_CAP_IS_SM, on, now);
	return 0;
}

const struct ibsim_ops ibsim_client_ops = {
	.find = on_find,
	.open = on_open,
	.close = on_close,
	.send = on_send,
	.issm = on_issm,
};
