/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inst/by_pkey.h"
#include "inst/fab_sm.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "reload/set.h"

/* --- the steps that can fail and can be undone. reload_apply() takes these steps before it makes the changes */

static struct inst_iface *find(struct inst *in, const struct reload_remove *r)
{
	struct inst_iface *i;

	list_for_each (i, &in->ifaces, link)
		if (!i->by_pkey && !strcmp(i->name, r->name) && !strcmp(i->host->name, r->host))
			return i;
	return NULL;
}

static int find_all(struct reload_set *s, struct inst *in, char err[INST_ERR_MAX])
{
	for (unsigned int k = 0; k < s->ngone; k++) {
		s->gone[k].iface = find(in, &s->gone[k]);
		if (s->gone[k].iface)
			continue;
		snprintf(err, INST_ERR_MAX, "interface %.*s@%.*s: the instance has none",
			 IFNAMSIZ - 1, s->gone[k].name, CONF_NAME_MAX - 1, s->gone[k].host);
		return -ENODEV;
	}
	return 0;
}

/* Opens the ports. If a later step fails, ports of the fabric stay open without an interface, which does no harm. */
static int open_ports(struct reload_set *s, struct inst *in, char err[INST_ERR_MAX])
{
	int status = 0;

	for (unsigned int k = 0; !status && k < s->nadds; k++)
		status = port_get(in, &s->add[k].conf.port, &s->add[k].port, err);
	return status;
}

static int use_helper(struct reload_set *s, struct inst *in, struct netdev_helper **ret)
{
	int status = netdev_helper_attach(s->helper, ret);

	if (status)
		return status;
	s->helper = -1;
	status = inst_helper_add(in, *ret);
	if (status)
		netdev_helper_stop(*ret);
	return status;
}

static int make_host(struct reload_host *h, struct inst *in, struct netdev_helper *helper)
{
	struct netdev_ns_files files = {
		.rtnl = h->fd[RELOAD_FD_RTNL],
		.events = h->fd[RELOAD_FD_EVENTS],
		.igmp = h->fd[RELOAD_FD_IGMP],
		.igmp6 = h->fd[RELOAD_FD_IGMP6],
		.dump = h->fd[RELOAD_FD_DUMP],
	};
	struct conf_iface c = { .netns = *h->m.netns ? h->m.netns : NULL };
	int net_fd = h->fd[RELOAD_FD_NET], user_fd = h->fd[RELOAD_FD_USER];

	memcpy(c.host, h->m.name, sizeof(c.host));
	memset(h->fd, -1, sizeof(h->fd));
	return host_adopt(in, &c, helper, h->m.ns, h->m.follows, net_fd, user_fd, &files, &h->made);
}

static int make_hosts(struct reload_set *s, struct inst *in, char err[INST_ERR_MAX])
{
	struct netdev_helper *helper;
	int status;

	if (!s->nhosts)
		return 0;
	status = use_helper(s, in, &helper);
	for (unsigned int k = 0; !status && k < s->nhosts; k++)
		status = make_host(&s->host[k], in, helper);
	if (status)
		snprintf(err, INST_ERR_MAX, "hosts of new interfaces: %s", strerror(-status));
	return status;
}

/*
 * Check that all fabrics will accept their partitions. The supervisor has parsed the files, so a
 * fabric refuses its partitions only if its subnet manager was stopped.
 */
static int check_managers(const struct reload_set *s, struct inst *in, char err[INST_ERR_MAX])
{
	int status = 0;

	for (unsigned int k = 0; !status && k < s->nparts; k++) {
		struct inst_fabric *f = inst_fabric_find(in, s->parts[k].fabric);

		if (f)
			status = fab_check_managers(f, err);
	}
	return status;
}

static int set_partitions(struct reload_set *s, struct inst *in, ns_t now, char err[INST_ERR_MAX])
{
	int status = 0;

	for (unsigned int k = 0; !status && k < s->nparts; k++) {
		struct reload_partitions *p = &s->parts[k];
		struct inst_fabric *f = inst_fabric_find(in, p->fabric);

		if (f)
			status = fab_set_partitions(f, p->file, p->fd, now, err);
	}
	return status;
}

static bool same_space(const struct inst_host *a, const struct inst_host *b)
{
	return !strcmp(a->netns, b->netns) && (*a->netns || !strcmp(a->name, b->name));
}

/*
 * Tell whether @h must stay open because of interfaces that another helper serves. The first helper
 * has made the named namespaces at the start of the instance. When one of its hosts is closed, the
 * first helper removes the name of the host's namespace. So such a host stays open as long as
 * another helper serves interfaces in the same namespace.
 */
static bool name_in_use(const struct inst_host *h)
{
	const struct inst_host *o;

	if (h->helper != h->inst->helper)
		return false;
	list_for_each (o, &h->inst->hosts, link)
		if (o->helper != h->helper && !list_empty(&o->ifaces) && same_space(o, h))
			return true;
	return false;
}

static bool in_use(const struct inst_host *h)
{
	struct by_pkey *b;

	list_for_each (b, &h->inst->by_pkeys, link)
		if (b->host == h)
			return true;
	return !list_empty(&h->ifaces) || name_in_use(h);
}

/* Closes the hosts that have no interface any more, and ends the helpers that have no host any more. */
static void close_hosts(struct inst *in)
{
	struct inst_host *h, *tmp;

	list_for_each_safe (h, tmp, &in->hosts, link) {
		if (in_use(h))
			continue;
		h->gone = false; /* for inst_watch.host(): the host ends, not only its namespace */
		inst_host_event(h, false);
		host_close(h);
	}
	inst_helper_trim(in);
}

/* --- the changes */

static void remove_one(struct inst_iface *i, ns_t now)
{
	log_to(&i->log, LOG_LVL_INFO,
	       "%s@%s: removed, because the configuration has it no more, or "
	       "changed",
	       i->name, i->host->name);
	inst_iface_event(i, false, now);
	iface_shutdown(i, now);
	iface_destroy(i);
}

static int add_one(struct reload_set *s, struct reload_add *a, ns_t now, char err[INST_ERR_MAX])
{
	struct inst_host *h = s->host[a->host].made;
	struct iface_tap t = { .number = a->number };
	struct inst_iface *i;
	int status;

	/*
	 * The supervisor has set the offloads already. This call sets the offloads again, because
	 * only the call tells which offloads the kernel grants.
	 */
	status = tap_attach(&t.tap, iface_kind(&a->conf), a->fd, TAP_OFFLOAD_DEFAULT);
	if (status) {
		snprintf(err, INST_ERR_MAX, "interface %s@%s: %s", a->conf.name, a->conf.host,
			 strerror(-status));
		return status;
	}
	a->fd = -1;
	host_ca(h, a->port);
	status = iface_add_tap(a->port, h, &a->conf, &t, &i, err);
	if (status)
		return status;
	log_to(&i->log, LOG_LVL_INFO, "%s@%s: added, because the configuration has it", i->name,
	       h->name);
	inst_iface_event(i, true, now);
	return 0;
}

static int add_all(struct reload_set *s, ns_t now, char err[INST_ERR_MAX])
{
	int status = 0;

	for (unsigned int k = 0; k < s->nadds; k++) {
		char why[INST_ERR_MAX];
		int one = add_one(s, &s->add[k], now, why);

		s->add[k].missing = one != 0;
		if (one && !status)
			snprintf(err, INST_ERR_MAX, "only a part was changed: %.700s", why);
		status = status ? status : one;
	}
	return status;
}

int reload_apply(struct reload_set *s, struct inst *in, ns_t now, char err[INST_ERR_MAX])
{
	int status = find_all(s, in, err);

	if (!status)
		status = check_managers(s, in, err);
	if (!status)
		status = open_ports(s, in, err);
	if (!status)
		status = make_hosts(s, in, err);
	if (!status)
		status = set_partitions(s, in, now, err);
	for (unsigned int k = 0; !status && k < s->ngone; k++)
		remove_one(s->gone[k].iface, now);
	if (!status)
		status = add_all(s, now, err);
	close_hosts(in);
	return status;
}
