/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ibsim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "inst/host.h"
#include "tools/ibsim_priv.h"

/*
 * largest number of datagrams that are read from one socket before the loop serves other
 * descriptors
 */
#define CTL_QUOTA 16

/*
 * The length of the address includes the NUL at the end of the name. libumad2sim counts the NUL,
 * too, and all octets of an abstract name are compared.
 */
struct ibsim_addr ibsim_addr(const struct ibsim_net *n, const char *what, const char *id)
{
	struct ibsim_addr a = { .un.sun_family = AF_UNIX };
	int len = snprintf(a.un.sun_path + 1, sizeof(a.un.sun_path) - 1, "%s:%s%s", n->name, what,
			   id);

	a.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len + 1);
	return a;
}

int ibsim_bind(int fd, const struct ibsim_addr *a)
{
	return bind(fd, (const struct sockaddr *)&a->un, a->len) ? -errno : 0;
}

void ibsim_drop_fd(struct ibsim_net *n, struct loop_fd *f)
{
	int fd = f->fd;

	if (fd < 0)
		return;
	loop_unwatch(ibsim_loop(n), f);
	f->fd = -1;
	close(fd);
}

static int ctl_listen(struct ibsim_place *p, int fd);
static void ask_for_spares(struct ibsim_place *p);

static void on_spare(void *ctx, const struct netdev_answer *a)
{
	struct ibsim_place *p = ctx;
	int err;

	p->asked--;
	/*
	 * The control socket was closed when the namespace was deleted. The first socket that is made in the new
	 * namespace becomes the control socket.
	 */
	if (a->fd >= 0 && p->ctl.fd < 0) {
		err = ctl_listen(p, a->fd);
		if (err)
			log_to(&p->net->f->log, LOG_LVL_WARN,
			       "ibsim: the control socket of host %s: %s", p->host->name,
			       strerror(-err));
		else
			ask_for_spares(p);
		return;
	}
	for (unsigned int i = 0; a->fd >= 0 && i < IBSIM_SPARE; i++)
		if (p->spare[i] < 0) {
			p->spare[i] = a->fd;
			return;
		}
	if (a->fd >= 0)
		close(a->fd);
	log_to(&p->net->f->log, LOG_LVL_WARN, "ibsim: a socket for clients: %s", a->text);
}

/* Ask the helper process for new sockets in place of the spare sockets that clients took. */
static void ask_for_spares(struct ibsim_place *p)
{
	struct netdev_helper *h = p->net->f->inst->helper;
	unsigned int have = p->asked;

	for (unsigned int i = 0; i < IBSIM_SPARE; i++)
		have += p->spare[i] >= 0;
	while (have++ < IBSIM_SPARE && !netdev_post_socket(h, p->ns, SOCK_DGRAM, on_spare, p))
		p->asked++;
}

int ibsim_socket(struct ibsim_place *p, int *ret_fd)
{
	int err = -EAGAIN;

	if (p->own) {
		*ret_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		return *ret_fd < 0 ? -errno : 0;
	}
	for (unsigned int i = 0; err && i < IBSIM_SPARE; i++) {
		if (p->spare[i] < 0)
			continue;
		*ret_fd = p->spare[i];
		p->spare[i] = -1;
		err = 0;
	}
	ask_for_spares(p);
	return err;
}

/*
 * Make the control socket of a namespace when the program starts, because only at the start is the
 * loop allowed to wait for the helper process.
 */
static int first_socket(struct ibsim_place *p, int *ret_fd)
{
	int err;

	for (unsigned int i = 0; i < IBSIM_SPARE; i++)
		p->spare[i] = -1;
	if (p->own)
		return ibsim_socket(p, ret_fd);
	err = netdev_ns_socket(p->net->f->inst->helper, p->ns, SOCK_DGRAM, ret_fd);
	if (!err)
		ask_for_spares(p);
	return err;
}

/* --- control */

static uint32_t pid_of(struct msghdr *m)
{
	struct ucred cred;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_CREDENTIALS &&
		    h->cmsg_len == CMSG_LEN(sizeof(cred))) {
			memcpy(&cred, CMSG_DATA(h), sizeof(cred));
			return (uint32_t)cred.pid;
		}
	return 0;
}

/* Execute one control message and send its answer. Return: false if no message is waiting. */
static bool ctl_one(struct ibsim_place *p, ns_t now)
{
	char cbuf[CMSG_SPACE(sizeof(struct ucred))];
	uint8_t buf[IBSIM_CTL_LEN + 1], answer[IBSIM_CTL_LEN];
	struct iovec iov = { buf, sizeof(buf) };
	struct ibsim_addr from;
	struct msghdr m = {
		.msg_name = &from.un,
		.msg_namelen = sizeof(from.un),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = cbuf,
		.msg_controllen = sizeof(cbuf),
	};
	struct ibsim_peer peer = { .place = p };
	ssize_t n = recvmsg(p->ctl.fd, &m, MSG_CMSG_CLOEXEC);

	if (n < 0)
		return false;
	if (m.msg_namelen > sizeof(peer.addr))
		return true;
	peer.len = m.msg_namelen;
	memcpy(peer.addr, &from.un, peer.len);
	peer.pid = pid_of(&m);
	n = (ssize_t)ibsim_srv_ctl(p->net->srv, &peer, buf, (size_t)n, answer, now);
	/* Sending fails if the client does not read, or if its socket has no name. The answer is then lost. */
	if (n && sendto(p->ctl.fd, answer, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&from.un,
			m.msg_namelen) < 0)
		log_to(&p->net->f->log, LOG_LVL_DEBUG, "ibsim: pid %u: answer: %s", peer.pid,
		       strerror(errno));
	return true;
}

static void ctl_ready(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct ibsim_place *p = container_of(fd, struct ibsim_place, ctl);

	(void)events;
	for (int i = 0; i < CTL_QUOTA && ctl_one(p, now); i++)
		;
}

/*
 * Close the control socket and the spare sockets of a namespace. The sockets of connected clients
 * stay open, and keep the namespace in existence.
 */
static void close_sockets(struct ibsim_place *p)
{
	ibsim_drop_fd(p->net, &p->ctl);
	netdev_cancel(p->net->f->inst->helper, p);
	p->asked = 0;
	for (unsigned int i = 0; i < IBSIM_SPARE; i++) {
		if (p->spare[i] >= 0)
			close(p->spare[i]);
		p->spare[i] = -1;
	}
}

static void place_close(struct ibsim_place *p)
{
	struct inst *in = p->net->f->inst;

	close_sockets(p);
	if (p->own && p->ns != HOST_NO_NS)
		netdev_ns_close(in->helper, p->ns);
	list_del(&p->link);
	free(p);
}

/* Make @fd the control socket of a namespace; takes @fd. Return: 0 or -errno */
static int ctl_listen(struct ibsim_place *p, int fd)
{
	struct ibsim_addr a = ibsim_addr(p->net, "ctl", "");
	int one = 1, err = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)))
		err = -errno;
	if (!err)
		err = ibsim_bind(fd, &a);
	if (!err)
		err = loop_watch(ibsim_loop(p->net), &p->ctl, fd, EPOLLIN, ctl_ready);
	if (err) {
		p->ctl.fd = -1;
		close(fd);
	}
	return err;
}

static int place_listen(struct ibsim_place *p)
{
	int fd, err = first_socket(p, &fd);

	return err ? err : ctl_listen(p, fd);
}

/*
 * Called when the namespace of a host appears (@comes) or disappears. If several hosts share a
 * namespace, the function is called for each of these hosts. But the namespace has only one set of
 * sockets. These are made or closed only if the host is the one in ibsim_place.host.
 */
static void host_changed(struct inst_watch *w, struct inst_host *h, bool comes)
{
	struct ibsim_net *n = container_of(w, struct ibsim_net, watch);
	struct ibsim_place *p;

	list_for_each (p, &n->places, link) {
		if (p->host != h)
			continue;
		if (comes)
			ask_for_spares(p);
		else if (h->gone || !p->own)
			close_sockets(p);
		/* If a host disappears while its namespace still exists, a reload has removed the host. */
		if (!comes && !h->gone)
			p->host = NULL;
	}
}

static int place_add(struct ibsim_net *n, struct inst_host *h, bool own, uint32_t ns,
		     char err[INST_ERR_MAX])
{
	struct ibsim_place *p = calloc(1, sizeof(*p));
	int status = p ? 0 : -ENOMEM;

	if (p) {
		*p = (struct ibsim_place){
			.net = n,
			.host = h,
			.own = own,
			.ns = ns,
			.ctl.fd = -1,
		};
		list_add_tail(&n->places, &p->link);
		status = place_listen(p);
		if (status)
			place_close(p);
	}
	if (!status)
		return 0;
	snprintf(err, INST_ERR_MAX, "fabric %s: ibsim = %s%s%s: %s", n->f->name, n->name,
		 h ? ": host " : "", h ? h->name : "",
		 status == -EADDRINUSE ? "the name is taken: another ibsim, or instance, serves it"
				       : strerror(-status));
	return status;
}

/* If several hosts share a namespace, clients in this namespace belong to the first of these hosts. */
static int host_place(struct ibsim_net *n, struct inst_host *h, char err[INST_ERR_MAX])
{
	struct ibsim_place *p;

	list_for_each (p, &n->places, link) {
		if (p->ns != h->ns)
			continue;
		if (!p->host)
			p->host = h;
		return 0;
	}
	return place_add(n, h, false, h->ns, err);
}

/* --- start and end */

static int serve(struct ibsim_net *n, char err[INST_ERR_MAX])
{
	struct inst *in = n->f->inst;
	uint32_t ns = HOST_NO_NS;
	struct inst_host *h;
	int status;

	/*
	 * The handle of the daemon's own namespace serves only to recognise a host in this
	 * namespace. If the handle cannot be opened, no host has a handle either.
	 */
	if (netdev_ns_open(in->helper, NULL, &ns, NULL))
		ns = HOST_NO_NS;
	status = place_add(n, NULL, true, ns, err);
	list_for_each (h, &in->hosts, link)
		if (!status)
			status = host_place(n, h, err);
	return status;
}

int ibsim_open(struct ibsim_net **ret, struct inst_fabric *f, const char *name,
	       char err[INST_ERR_MAX])
{
	struct ibsim_net *n = calloc(1, sizeof(*n));
	struct inst *in = f->inst;
	int status;

	if (n) {
		n->f = f;
		list_init(&n->places);
		timer_init(&n->probe, ibsim_probe_all);
		snprintf(n->name, sizeof(n->name), "%s", name);
		n->srv = ibsim_srv_create(&ibsim_client_ops, n, &in->loop.timers, &f->log);
	}
	if (!n || !n->srv) {
		free(n);
		snprintf(err, INST_ERR_MAX, "fabric %s: ibsim: out of memory", f->name);
		return -ENOMEM;
	}
	n->watch.host = host_changed;
	inst_watch(in, &n->watch);
	status = serve(n, err);
	if (status) {
		ibsim_close(n);
		return status;
	}
	*ret = n;
	return 0;
}

void ibsim_close(struct ibsim_net *n)
{
	struct ibsim_place *p, *tmp;

	if (!n)
		return;
	inst_unwatch(&n->watch);
	ibsim_srv_destroy(n->srv, ibsim_loop(n)->now);
	list_for_each_safe (p, tmp, &n->places, link)
		place_close(p);
	timer_cancel(&ibsim_loop(n)->timers, &n->probe);
	free(n);
}

const char *ibsim_name(const struct ibsim_net *n)
{
	return n->name;
}

const struct ibsim_srv *ibsim_server(const struct ibsim_net *n)
{
	return n->srv;
}
