/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/neigh_dump.h"

#include <errno.h>
#include <sys/epoll.h>

#include "inst/host.h"

static void readable(struct loop_fd *fd, uint32_t events, ns_t now);

static struct neigh_dumps *dumps_of(const struct inst_host *h)
{
	return &h->inst->neigh_dumps;
}

/*
 * Asks the kernel for the table of d->family. The kernel has made the first piece when the call
 * returns.
 */
static int ask(struct neigh_dump *d)
{
	int err = rtnl_neigh_dump_start(&d->host->dump, d->ifindex, d->family);

	if (!err)
		dumps_of(d->host)->dumps++;
	return err;
}

static int begin(struct neigh_dump *d)
{
	struct inst_host *h = d->host;
	int err = loop_watch(&h->inst->loop, &h->dump_fd, h->dump.fd, EPOLLIN, readable);

	if (!err)
		err = ask(d);
	if (err) {
		loop_unwatch(&h->inst->loop, &h->dump_fd);
		return err;
	}
	dumps_of(h)->reading = h;
	dumps_of(h)->active = d;
	return 0;
}

static void begin_next(struct neigh_dumps *n)
{
	while (!n->reading && !list_empty(&n->waiting)) {
		struct neigh_dump *d = list_first(&n->waiting, struct neigh_dump, link);
		int err;

		list_del(&d->link);
		err = begin(d);
		if (err)
			d->done(d, err);
	}
}

/* Ends the dump that was read from the host's socket: calls the dump's done(), and begins the next dump. */
static void end(struct inst_host *h, int err)
{
	struct neigh_dumps *n = dumps_of(h);
	struct neigh_dump *d = n->active;

	loop_unwatch(&h->inst->loop, &h->dump_fd);
	n->reading = NULL;
	n->active = NULL;
	/*
	 * The next dump is begun before done() is called, because done() may request another dump,
	 * and other dumps have waited longer.
	 */
	begin_next(n);
	if (d)
		d->done(d, err);
}

static int on_entry(const struct rtnl_neigh *e, void *arg)
{
	struct neigh_dumps *n = arg;

	if (n->active) {
		n->entries++;
		n->active->entry(n->active, e);
	}
	return 0;
}

static void readable(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_host *h = container_of(fd, struct inst_host, dump_fd);
	struct neigh_dumps *n = dumps_of(h);
	struct neigh_dump *d = n->active;
	int res = rtnl_neigh_dump_piece(&h->dump, d ? d->ifindex : 0, on_entry, n);

	(void)events;
	(void)now;
	/*
	 * The socket was reported as readable, but there was nothing to read, so wait for the next
	 * report.
	 */
	if (res == -ETIMEDOUT)
		return;
	n->pieces++;
	if (res == 1)
		return;
	if (!res && h->dump.changed)
		res = -EAGAIN;
	if (!res && d && d->family == RTNL_V4) {
		d->family = RTNL_V6;
		res = ask(d);
		if (!res)
			return;
	}
	/* A kernel without IPv6 has no IPv6 neighbours, so the dump is complete. */
	if (res == -EOPNOTSUPP && d && d->family == RTNL_V6)
		res = 0;
	end(h, res);
}

void neigh_dumps_init(struct neigh_dumps *n)
{
	list_init(&n->waiting);
}

int neigh_dump_start(struct neigh_dump *d)
{
	struct neigh_dumps *n = dumps_of(d->host);

	list_init(&d->link);
	d->family = RTNL_V4;
	if (!n->reading)
		return begin(d);
	list_add_tail(&n->waiting, &d->link);
	return 0;
}

void neigh_dump_cancel(struct neigh_dump *d)
{
	struct neigh_dumps *n = dumps_of(d->host);

	list_del(&d->link);
	if (n->active == d)
		n->active = NULL;
}

void neigh_dump_host_gone(struct inst_host *h)
{
	struct neigh_dumps *n = dumps_of(h);
	struct neigh_dump *d, *tmp;
	struct list gone;

	list_init(&gone);
	list_for_each_safe (d, tmp, &n->waiting, link) {
		if (d->host != h)
			continue;
		list_del(&d->link);
		list_add_tail(&gone, &d->link);
	}
	if (n->reading == h)
		end(h, -ENODEV);
	while (!list_empty(&gone)) {
		d = list_first(&gone, struct neigh_dump, link);
		list_del(&d->link);
		d->done(d, -ENODEV);
	}
}
