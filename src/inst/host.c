/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/host.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "inst/host_follow.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "os/fdpass.h"

struct event_ctx {
	struct inst_host *host;
	ns_t now;
};

/*
 * Warns if the administrator has set an MTU that is larger than the link's, because the kernel then
 * makes packets that the link must drop. @mtu is from an event of the kernel. Writes no warning
 * while settings of the daemon for the interface wait or have no answer: one of them can be a new
 * MTU, and the event can still contain the former MTU.
 */
static void warn_of_mtu(struct inst_iface *i, unsigned int mtu)
{
	unsigned int ours = ipoib_link_ip_mtu(i->ifc.ipoib);
	bool above = ours && mtu > ours && !i->net.busy && !i->net.wanted;

	if (above && mtu != i->mtu_warned)
		log_to(&i->log, LOG_LVL_WARN,
		       "%s@%s: its MTU is %u now, but the link carries %u octets and drops longer "
		       "packets. Type: %s%s%sip link set %s mtu %u",
		       i->name, i->host->name, mtu, ours, *i->host->name ? "uipoib exec " : "",
		       i->host->name, *i->host->name ? " " : "", i->name, ours);
	i->mtu_warned = above ? mtu : 0;
}

static void on_rtnl(const struct rtnl_event *ev, void *arg)
{
	struct event_ctx *c = arg;
	struct inst_iface *i;

	list_for_each (i, &c->host->ifaces, on_host) {
		if (i->ifindex != ev->ifindex)
			continue;
		if (ev->type == RTNL_LINK_NEW || ev->type == RTNL_LINK_DEL)
			iface_link_event(i, ev->type == RTNL_LINK_NEW && (ev->link.flags & IFF_UP),
					 c->now);
		if (ev->type == RTNL_LINK_NEW)
			warn_of_mtu(i, ev->link.mtu);
		if (ev->type == RTNL_MC_FORWARDING)
			iface_mc_event(i, ev->mc.family, ev->mc.on, c->now);
	}
}

/* Time after which the socket for the kernel's events is read again after an error */
#define EVENTS_AGAIN NS_SEC(10)

static void events_readable(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_host *h = container_of(fd, struct inst_host, events_fd);
	struct event_ctx c = { .host = h, .now = now };
	int n = rtnl_events_read(&h->events, on_rtnl, &c);

	(void)events;
	if (n >= 0)
		return;
	log_to(&h->log, LOG_LVL_ERR, "host %s: netlink: %s", h->name, strerror(-n));
	loop_unwatch(&h->inst->loop, fd);
	timer_arm(&h->inst->loop.timers, &h->events_timer, now + EVENTS_AGAIN);
}

static int watch_events(struct inst_host *h)
{
	return loop_watch(&h->inst->loop, &h->events_fd, h->events.fd, EPOLLIN, events_readable);
}

/* Watches the socket again. Events may have been lost since the error, so the kernel is asked to report all links. */
static void events_again(struct timer *t, ns_t now)
{
	struct inst_host *h = container_of(t, struct inst_host, events_timer);

	rtnl_events_lost(&h->events);
	if (watch_events(h))
		timer_arm(&h->inst->loop.timers, t, now + EVENTS_AGAIN);
	else
		events_readable(&h->events_fd, EPOLLIN, now);
}

int host_use_files(struct inst_host *h, const struct netdev_ns_files *files)
{
	h->igmp = files->igmp;
	h->igmp6 = files->igmp6;
	h->events = (struct rtnl_events){ .fd = files->events };
	rtnl_attach(&h->rtnl, files->rtnl);
	rtnl_attach(&h->dump, files->dump);
	timer_init(&h->events_timer, events_again);
	return watch_events(h);
}

static int open_ns(struct inst_host *h, const char *netns)
{
	struct netdev_helper *helper = h->helper;
	struct netdev_ns_info info = { .follows = false };
	struct netdev_ns_files files;
	int err;

	h->anonymous = !netns && *h->name;
	if (h->anonymous)
		err = netdev_ns_create(helper, &h->ns);
	else
		err = netdev_ns_open(helper, netns, &h->ns, &info);
	if (!err && info.follows)
		host_follow(h, netns);
	if (!err)
		err = netdev_ns_fds(helper, h->ns, &h->net_fd, &h->user_fd);
	if (!err)
		err = netdev_ns_files(helper, h->ns,
				      NETDEV_FILE_RTNL | NETDEV_FILE_EVENTS | NETDEV_FILE_GROUPS |
					      NETDEV_FILE_DUMP,
				      &files);
	return err ? err : host_use_files(h, &files);
}

static int host_open(struct inst_host *h, const char *netns, char err[INST_ERR_MAX])
{
	int status = open_ns(h, netns);

	if (status) {
		char what[CONF_NAME_MAX + 8];

		snprintf(what, sizeof(what), "host %s", *h->name ? h->name : "(own)");
		return inst_refused(h->inst, status, what, err);
	}
	return 0;
}

/* Makes a host that is in no list and has no namespace. Return: NULL if out of memory */
static struct inst_host *host_alloc(struct inst *in, const struct conf_iface *c)
{
	struct inst_host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	list_init(&h->link);
	list_init(&h->ifaces);
	h->inst = in;
	h->log = in->cfg.log;
	h->log.about.host = h->name;
	h->helper = in->helper;
	h->ns = HOST_NO_NS;
	h->net_fd = h->user_fd = h->igmp = h->igmp6 = -1;
	h->events.fd = h->rtnl.fd = h->dump.fd = -1;
	snprintf(h->name, sizeof(h->name), "%s", c->host);
	snprintf(h->netns, sizeof(h->netns), "%s", conf_netns(c));
	return h;
}

int host_adopt(struct inst *in, const struct conf_iface *c, struct netdev_helper *helper,
	       uint32_t ns, bool follows, int net_fd, int user_fd,
	       const struct netdev_ns_files *files, struct inst_host **ret)
{
	struct inst_host *h = host_alloc(in, c);
	int err;

	if (!h) {
		fdpass_close((const int[]){ net_fd, user_fd, files->rtnl, files->events,
					    files->igmp, files->igmp6, files->dump },
			     7);
		return -ENOMEM;
	}
	h->helper = helper;
	h->ns = ns;
	h->net_fd = net_fd;
	h->user_fd = user_fd;
	h->anonymous = !c->netns && *h->name;
	if (follows)
		host_follow(h, c->netns);
	err = host_use_files(h, files);
	if (err) {
		host_close(h);
		return err;
	}
	list_add_tail(&in->hosts, &h->link);
	*ret = h;
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
		if (strcmp(h->netns, conf_netns(c))) {
			snprintf(err, INST_ERR_MAX,
				 "interface %s@%s: netns '%s', but another interface of the host "
				 "has '%s'",
				 c->name, c->host, conf_netns(c), h->netns);
			return -EINVAL;
		}
		*ret = h;
		return 0;
	}
	h = host_alloc(in, c);
	if (!h) {
		snprintf(err, INST_ERR_MAX, "host %s: out of memory", c->host);
		return -ENOMEM;
	}
	status = host_open(h, c->netns, err);
	if (status) {
		host_close(h);
		return status;
	}
	list_add_tail(&in->hosts, &h->link);
	*ret = h;
	return 0;
}

unsigned int host_ca(struct inst_host *h, struct inst_port *p)
{
	for (unsigned int k = 0; k < h->ncas; k++)
		if (port_same_ca(h->ca[k], p))
			return k;
	if (h->ncas == HOST_CAS_MAX)
		return HOST_CAS_MAX;
	h->ca[h->ncas] = p;
	return h->ncas++;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void host_ignore_events(struct inst_host *h)
{
	loop_unwatch(&h->inst->loop, &h->events_fd);
	timer_cancel(&h->inst->loop.timers, &h->events_timer);
}

void host_close_files(struct inst_host *h)
{
	host_ignore_events(h);
	neigh_dump_host_gone(h);
	rtnl_close(&h->rtnl);
	rtnl_close(&h->dump);
	close_fd(&h->events.fd);
	close_fd(&h->net_fd);
	close_fd(&h->igmp);
	close_fd(&h->igmp6);
}

void host_close(struct inst_host *h)
{
	list_del(&h->link);
	host_unfollow(h);
	host_close_files(h);
	close_fd(&h->user_fd);
	if (h->ns != HOST_NO_NS)
		netdev_post_ns_close(h->helper, h->ns);
	free(h);
}
