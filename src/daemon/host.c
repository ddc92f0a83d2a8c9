/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/host.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "daemon/ibsim.h"
#include "daemon/iface.h"

struct event_ctx {
	struct inst_host *host;
	ns_t now;
};

static void on_rtnl(const struct rtnl_event *ev, void *arg)
{
	struct event_ctx *c = arg;
	struct inst_iface *i;

	if (ev->type != RTNL_LINK_NEW && ev->type != RTNL_LINK_DEL)
		return;
	list_for_each (i, &c->host->ifaces, on_host)
		if (i->ifindex == ev->ifindex)
			iface_link_event(i, ev->type == RTNL_LINK_NEW && (ev->link.flags & IFF_UP),
					 c->now);
}

static int on_dumped(const struct rtnl_link *l, void *arg)
{
	struct rtnl_event ev = { .type = RTNL_LINK_NEW, .ifindex = l->ifindex, .link = *l };

	on_rtnl(&ev, arg);
	return 0;
}

static void events_readable(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_host *h = container_of(fd, struct inst_host, events);
	struct event_ctx c = { .host = h, .now = now };
	int n = rtnl_events_read(fd->fd, on_rtnl, &c);

	(void)events;
	if (n == -ENOBUFS) { /* the kernel dropped some: look at what is */
		struct rtnl nl;

		rtnl_attach(&nl, h->files.rtnl);
		rtnl_link_dump(&nl, on_dumped, &c);
	} else if (n < 0) {
		log_to(&h->inst->cfg.log, LOG_LVL_ERR, "host %s: netlink: %s", h->name,
		       strerror(-n));
		loop_unwatch(&h->inst->loop, fd);
	}
}

static int open_ns(struct inst_host *h, const char *netns)
{
	struct netdev_helper *helper = h->inst->helper;
	int err;

	h->anonymous = !netns && *h->name;
	if (h->anonymous)
		err = netdev_ns_create(helper, &h->ns);
	else
		err = netdev_ns_open(helper, netns, &h->ns, NULL);
	if (err)
		return err;
	return netdev_ns_files(helper, h->ns,
			       NETDEV_FILE_RTNL | NETDEV_FILE_EVENTS | NETDEV_FILE_GROUPS,
			       &h->files);
}

static int host_open(struct inst_host *h, const char *netns, char err[INST_ERR_MAX])
{
	int status = open_ns(h, netns);

	if (!status)
		status = loop_watch(&h->inst->loop, &h->events, h->files.events, EPOLLIN,
				    events_readable);
	if (status) {
		char what[CONF_NAME_MAX + 8];

		snprintf(what, sizeof(what), "host %s", *h->name ? h->name : "(own)");
		return inst_refused(h->inst, status, what, err);
	}
	return 0;
}

int host_get(struct inst *in, const struct conf_iface *c, struct inst_host **ret,
	     char err[INST_ERR_MAX])
{
	struct inst_host *h;
	int status;

	list_for_each (h, &in->hosts, link) {
		if (strcmp(h->name, c->host))
			continue;
		if (strcmp(h->netns, c->netns ? c->netns : "")) {
			snprintf(err, INST_ERR_MAX,
				 "interface %s@%s: netns '%s', but another interface of the host "
				 "has '%s'",
				 c->name, c->host, c->netns ? c->netns : "", h->netns);
			return -EINVAL;
		}
		*ret = h;
		return 0;
	}
	h = calloc(1, sizeof(*h));
	if (!h) {
		snprintf(err, INST_ERR_MAX, "host %s: out of memory", c->host);
		return -ENOMEM;
	}
	list_init(&h->link);
	list_init(&h->ifaces);
	h->inst = in;
	h->ns = HOST_NO_NS;
	h->files = (struct netdev_ns_files){ -1, -1, -1, -1 };
	snprintf(h->name, sizeof(h->name), "%s", c->host);
	snprintf(h->netns, sizeof(h->netns), "%s", c->netns ? c->netns : "");
	status = host_open(h, c->netns, err);
	if (!status)
		status = ibsim_host_add(h, err);
	if (status) {
		host_close(h);
		return status;
	}
	list_add_tail(&in->hosts, &h->link);
	*ret = h;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void host_close(struct inst_host *h)
{
	list_del(&h->link);
	ibsim_host_del(h);
	loop_unwatch(&h->inst->loop, &h->events);
	close_fd(h->files.rtnl);
	close_fd(h->files.events);
	close_fd(h->files.igmp);
	close_fd(h->files.igmp6);
	if (h->ns != HOST_NO_NS)
		netdev_ns_close(h->inst->helper, h->ns);
	free(h);
}
