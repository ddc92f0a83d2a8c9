/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "verbs/priv.h"

#define EVENTS_MAX 64 /* largest number of events of one kind that one ca_dispatch() handles */

static int watch(int epfd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int no_wait(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

int verbs_events_watch(struct verbs_port *p)
{
	const int fds[] = { p->ctx->async_fd, p->channel->fd };
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(fds); i++) {
		err = no_wait(fds[i]);
		if (!err)
			err = watch(p->ca.fd, fds[i]);
	}
	if (!err && p->mads.fd >= 0)
		err = watch(p->ca.fd, p->mads.fd);
	return err;
}

void verbs_unwatch(struct verbs_port *p, int fd)
{
	epoll_ctl(p->ca.fd, EPOLL_CTL_DEL, fd, NULL);
}

/* --- completions */

/*
 * Find the queue pair of a CQ. Return: NULL if the queue pair was destroyed, but not its CQ,
 * because the adapter could not destroy the CQ
 */
static struct verbs_qp *qp_of(const struct verbs_port *p, const struct ibv_cq *cq)
{
	struct verbs_qp *q;

	list_for_each (q, &p->qps, link)
		if (q->rcq == cq || q->scq == cq)
			return q;
	return NULL;
}

static void completion(struct verbs_port *p, const struct ibv_cq *cq, ns_t now)
{
	const struct ca_notify *n = p->ca.notify;
	struct verbs_qp *q = qp_of(p, cq);

	if (!q)
		return;
	if (cq == q->rcq) {
		if (n && n->ready)
			n->ready(p->ca.ctx, &q->qp);
		return;
	}
	q->scq_armed = false;
	verbs_tx_reap(q);
	if (n && n->room)
		n->room(p->ca.ctx, now);
}

/*
 * Handle events of CQs. Each event is acknowledged at once, because a CQ with an event that is not
 * acknowledged cannot be destroyed.
 */
static void completions(struct verbs_port *p, ns_t now)
{
	struct ibv_cq *cq;
	void *ctx;

	for (unsigned int i = 0; i < EVENTS_MAX && !p->lib->get_cq_event(p->channel, &cq, &ctx);
	     i++) {
		p->lib->ack_cq_events(cq, 1);
		completion(p, cq, now);
	}
}

/* --- asynchronous events */

static int event_of(enum ibv_event_type t)
{
	switch (t) {
	case IBV_EVENT_PORT_ACTIVE:
		return CA_EVENT_PORT_ACTIVE;
	case IBV_EVENT_PORT_ERR:
		return CA_EVENT_PORT_ERR;
	case IBV_EVENT_LID_CHANGE:
		return CA_EVENT_LID_CHANGE;
	case IBV_EVENT_PKEY_CHANGE:
		return CA_EVENT_PKEY_CHANGE;
	case IBV_EVENT_SM_CHANGE:
		return CA_EVENT_SM_CHANGE;
	case IBV_EVENT_CLIENT_REREGISTER:
		return CA_EVENT_CLIENT_REREGISTER;
	case IBV_EVENT_GID_CHANGE:
		return CA_EVENT_GID_CHANGE;
	default:
		return -1;
	}
}

static void mend(struct verbs_port *p, const struct ibv_async_event *ev)
{
	struct verbs_qp *q;

	list_for_each (q, &p->qps, link)
		if ((ev->event_type == IBV_EVENT_CQ_ERR &&
		     (ev->element.cq == q->scq || ev->element.cq == q->rcq)) ||
		    (ev->event_type != IBV_EVENT_CQ_ERR && ev->element.qp == q->h))
			q->broken = true;
	list_for_each (q, &p->qps, link)
		verbs_qp_mend(q);
}

static void async(struct verbs_port *p, const struct ibv_async_event *ev, ns_t now)
{
	int what = event_of(ev->event_type);

	switch (ev->event_type) {
	case IBV_EVENT_DEVICE_FATAL:
		verbs_died(p, "the device failed or was removed", now);
		return;
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		mend(p, ev);
		return;
	default:
		break;
	}
	if (what < 0 || ev->element.port_num != p->num)
		return;
	if (what == CA_EVENT_PKEY_CHANGE || what == CA_EVENT_PORT_ACTIVE)
		verbs_pkeys_read(p);
	if (p->ca.notify && p->ca.notify->event)
		p->ca.notify->event(p->ca.ctx, (enum ca_event)what, now);
}

/*
 * Handle asynchronous events. Each event is acknowledged before its callback, because the callback
 * might destroy the event's queue pair.
 */
static void asyncs(struct verbs_port *p, ns_t now)
{
	struct ibv_async_event ev;

	for (unsigned int i = 0; i < EVENTS_MAX; i++) {
		errno = 0;
		if (p->lib->get_async_event(p->ctx, &ev)) {
			if (errno && errno != EAGAIN && errno != EINTR) {
				verbs_unwatch(p, p->ctx->async_fd);
				verbs_died(p, "the device was removed", now);
			}
			return;
		}
		p->lib->ack_async_event(&ev);
		async(p, &ev, now);
	}
}

void verbs_dispatch(struct ca *ca, ns_t now)
{
	struct verbs_port *p = verbs_port_of(ca);
	struct epoll_event ev[4];
	int n = epoll_wait(ca->fd, ev, ARRAY_SIZE(ev), 0);

	for (int i = 0; p->ctx && i < n; i++) {
		if (ev[i].data.fd == p->ctx->async_fd)
			asyncs(p, now);
		else if (ev[i].data.fd == p->channel->fd)
			completions(p, now);
		else
			verbs_mads_recv(p, now);
	}
	/*
	 * Stop watching descriptors that only report an error, because they would keep the event
	 * loop awake.
	 */
	for (int i = 0; p->dead && i < n; i++)
		if (ev[i].events & (EPOLLERR | EPOLLHUP))
			verbs_unwatch(p, ev[i].data.fd);
}
