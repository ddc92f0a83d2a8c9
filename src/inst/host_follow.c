/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/host_follow.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "inst/iface.h"
#include "netdev/netns.h"

static void lost(struct inst_host *h, ns_t now)
{
	struct inst_iface *i;

	log_to(&h->log, LOG_LVL_WARN,
	       "host %s: the network namespace %s is gone; its interfaces are down until there is "
	       "one of that name",
	       h->name, h->netns);
	h->gone = true;
	list_for_each (i, &h->ifaces, on_host)
		iface_ns_lost(i, now);
	inst_host_event(h, false);
	host_close_files(h);
}

static void came(struct inst_host *h, const struct netdev_answer *a)
{
	struct inst_iface *i;
	int err;

	h->net_fd = a->fd;
	h->gone = false;
	log_to(&h->log, LOG_LVL_INFO, "host %s: the network namespace %s is back", h->name,
	       h->netns);
	err = host_use_files(h, &a->files);
	if (err)
		log_to(&h->log, LOG_LVL_ERR, "host %s: netlink: %s", h->name, strerror(-err));
	list_for_each (i, &h->ifaces, on_host)
		if (i->device)
			iface_net_came(i);
	inst_host_event(h, true);
}

static void plan(struct inst_host *h)
{
	timer_arm(&h->inst->loop.timers, &h->follow_timer, follow_next(&h->follow));
}

static void on_answer(void *ctx, const struct netdev_answer *a)
{
	struct inst_host *h = ctx;
	ns_t now = h->inst->loop.now;
	enum follow_change change = follow_answered(&h->follow, a->err ? a->err : a->value, now);

	if (a->err == -EINVAL) {
		log_to(&h->log, LOG_LVL_WARN,
		       "host %s: the removal of the network namespace %s is not noticed, because "
		       "another host names the same namespace in another way",
		       h->name, h->netns);
		host_unfollow(h);
		return;
	}
	if (a->err && !h->follow_refused)
		log_to(&h->log, LOG_LVL_WARN, "host %s: %s", h->name, a->text);
	h->follow_refused = a->err;
	if (change == FOLLOW_LOST)
		lost(h, now);
	if (change == FOLLOW_CAME)
		came(h, a);
	plan(h);
}

static void ask(struct timer *t, ns_t now)
{
	struct inst_host *h = container_of(t, struct inst_host, follow_timer);
	uint32_t gen = follow_asked(&h->follow);
	int err = netdev_post_ns_follow(h->helper, h->ns, gen, on_answer, h);

	if (!err)
		return;
	follow_answered(&h->follow, err, now);
	plan(h);
}

static void names_changed(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst *in = container_of(fd, struct inst, netns_watch);
	struct inst_host *h;

	(void)events;
	(void)now;
	netns_watch_drain(fd->fd);
	list_for_each (h, &in->hosts, link) {
		if (!h->follows)
			continue;
		follow_event(&h->follow);
		plan(h);
	}
}

static int watch_names(struct inst *in, const char *spec)
{
	struct netns_spec s;
	int err = netns_spec_parse(&s, spec), fd = in->netns_watch.fd;

	if (!err && fd < 0) {
		err = netns_watch(&fd);
		if (!err)
			err = loop_watch(&in->loop, &in->netns_watch, fd, EPOLLIN, names_changed);
		if (err && fd >= 0) {
			in->netns_watch.fd = -1;
			close(fd);
		}
	}
	return err ? err : netns_watch_add(fd, &s);
}

void host_follow(struct inst_host *h, const char *spec)
{
	int err = watch_names(h->inst, spec);

	/*
	 * The inotify watch cannot be made for a host that a reload adds, because the daemon's root
	 * directory is empty by then. Even if there is a watch, the daemon asks the helper process
	 * at intervals, because the watch does not report every change.
	 */
	if (err)
		log_to(&h->log, LOG_LVL_DEBUG,
		       "host %s: the namespace %s is asked about at intervals only: %s", h->name,
		       spec, strerror(-err));
	h->follows = true;
	timer_init(&h->follow_timer, ask);
	follow_init(&h->follow, h->inst->loop.now);
	plan(h);
}

void host_unfollow(struct inst_host *h)
{
	if (!h->follows)
		return;
	h->follows = false;
	timer_cancel(&h->inst->loop.timers, &h->follow_timer);
	netdev_cancel(h->helper, h);
}

void host_watch_close(struct inst *in)
{
	int fd = in->netns_watch.fd;

	if (fd < 0)
		return;
	loop_unwatch(&in->loop, &in->netns_watch);
	close(fd);
	in->netns_watch.fd = -1;
}
