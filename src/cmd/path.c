/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "eth/token.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "text/print.h"

/* `path get`: the path to an address, from the cache of the SA client or from the SA. */

/* --- an address as a GID */

/*
 * Finds the GID by two tables: the kernel's neighbour table maps the IP address to a token or to an
 * address of 20 octets, and the IPoIB link maps that token or address to a GID.
 */
static bool gid_by_neighbour(const struct inst_iface *i, const uint8_t *addr, unsigned int family,
			     ib_gid *ret)
{
	struct rtnl_ip ip = { .family = family == 6 ? RTNL_V6 : RTNL_V4 };
	const struct ipoib_neigh *peer;
	struct rtnl_neigh n;

	memcpy(ip.addr, addr, family == 6 ? 16 : 4);
	if (rtnl_neigh_get(&i->host->rtnl, i->ifindex, &ip, &n) || !rtnl_neigh_resolved(&n))
		return false;
	peer = eth_peer_by_hw(i->ifc.eth, n.hw, n.hw_len);
	if (peer)
		*ret = peer->lladdr.gid;
	return peer;
}

/*
 * Finds the interface of this instance that has the IP address and is on the same IPoIB link as
 * @from, and returns the GID of this interface.
 */
static bool gid_by_config(const struct inst_iface *from, const uint8_t *ip, unsigned int family,
			  ib_gid *ret)
{
	struct inst_iface *i;

	list_for_each (i, &from->inst->ifaces, link) {
		if (!port_on_fabric(i->port, from->port->fab) ||
		    ((i->ifc.pkey ^ from->ifc.pkey) & 0x7fff))
			continue;
		for (unsigned int k = 0; k < i->naddrs; k++) {
			if (i->addr[k].family != family ||
			    memcmp(i->addr[k].octets, ip, family == 6 ? 16 : 4))
				continue;
			*ret = sac_port(i->port->ifc.sac)->gid;
			return true;
		}
	}
	return false;
}

/* --- path get */

/*
 * Largest number of `path get` requests that wait at a time. A request may wait for seconds, and
 * libuipoib-path makes a connection for each request. So the limit is half of the connections that
 * the instance serves. The other half is reserved for other commands.
 */
#define PATH_GETS_MAX (CTL_CLIENTS_MAX / 2)

/* interval at which the kernel is asked whether it has resolved an address */
#define LOOK NS_MSEC(20)
/* The kernel gives up resolving an address after three probes, one per second. */
#define RESOLVE NS_SEC(4)

/*
 * A `path get` request under way. It waits for the kernel to resolve the IP address, if need be, and then for
 * the SA.
 */
struct getter {
	struct ctl_hold hold;
	struct sac_path_wait wait;
	struct inst_watch watch; /* tells when .iface is removed */
	struct inst_iface *iface;
	struct rtnl_ip hop; /* the address that has to be resolved */
	struct timer look;
	ns_t until; /* time at which waiting for the kernel ends */
	/*
	 * true while the helper, which was asked to make the kernel resolve .hop, has not answered
	 */
	bool using;
	ib_gid dgid;
	char text[INET6_ADDRSTRLEN]; /* the address in the client's request, for messages */
};

/* The destination of a path, as a client's request names it */
struct target {
	struct inst_iface *iface;
	/* kinds of the address; both are true for an IPv6 address that may also be a GID */
	bool is_gid, is_ip;
	/* the address; follow_route() replaces it by the next hop on the route to it */
	struct rtnl_ip ip;
	ib_gid gid;
};

static unsigned int family_of(const struct rtnl_ip *ip)
{
	return ip->family == RTNL_V6 ? 6 : 4;
}

static bool find_gid(const struct inst_iface *i, const struct rtnl_ip *ip, ib_gid *ret)
{
	return gid_by_neighbour(i, ip->addr, family_of(ip), ret) ||
	       gid_by_config(i, ip->addr, family_of(ip), ret);
}

/* Return the PathRecord as it is in an SA's answer, 64 octets in hexadecimal digits, for libuipoib-path */
static json_t *record_of(const struct ib_path_rec *rec)
{
	char text[2 * PATH_REC_LEN + 1];
	uint8_t wire[PATH_REC_LEN];

	ib_path_rec_encode(wire, rec);
	for (unsigned int i = 0; i < PATH_REC_LEN; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", wire[i]);
	return json_string(text);
}

/* Return the error of include/uipoib/path.h for a status of the SA client */
static int errno_of(int status)
{
	switch (status) {
	case -ETIMEDOUT:
	case -EBUSY: /* the SA was busy each time it was asked */
		return ETIMEDOUT;
	case -ENXIO:
	case -ENETDOWN:
		return ENETDOWN;
	case -ENODEV:
	case -ENOMEM:
		return -status;
	case -ENOBUFS:
		return ENOMEM;
	default: /* the SA has no path, or its answer is no valid path */
		return EHOSTUNREACH;
	}
}

/* Return advice for a reader who does not know the statuses of the SA */
static const char *hint(int status)
{
	return status == SA_STATUS_NO_RECORDS
		       ? "; no such port is up, or the two ports share no partition in which one "
			 "of "
			 "them is a full member: see `uipoib fabric partitions`"
		       : "";
}

static void answer(struct ctl_req *r, struct inst_iface *i, const ib_gid *dgid, int status,
		   const struct ib_path_rec *rec)
{
	char buf[SAC_STATUS_LEN], gid[PRINT_GID_LEN];
	json_t *row;

	if (status) {
		ctl_end_errno(r, status == -ETIMEDOUT ? PROTO_EXIT_TIMEOUT : PROTO_EXIT_FAILED,
			      errno_of(status), "%s@%s: path to %s: %s%s", i->name, i->host->name,
			      print_gid(gid, sizeof(gid), dgid),
			      sac_status_print(buf, sizeof(buf), status), hint(status));
		return;
	}
	row = cmd_iface_row(i);
	cmd_path_rec(row, rec);
	cmd_set(row, "record", record_of(rec));
	ctl_row(r, row);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

static void getter_free(struct getter *g)
{
	struct inst *in = g->iface->inst;

	inst_unwatch(&g->watch);
	sac_path_cancel(&g->wait);
	timer_cancel(&in->loop.timers, &g->look);
	if (g->using)
		netdev_cancel(g->iface->host->helper, g);
	free(g);
}

static void get_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	struct getter *g = container_of(w, struct getter, wait);

	g->hold.req.now = now;
	answer(&g->hold.req, g->iface, &g->dgid, status, rec);
	getter_free(g);
}

static void get_gone(struct ctl_hold *h)
{
	getter_free(container_of(h, struct getter, hold));
}

static void on_iface(struct inst_watch *w, struct inst_iface *i, bool comes, ns_t now)
{
	struct getter *g = container_of(w, struct getter, watch);

	if (!comes && i == g->iface)
		get_done(&g->wait, -ENODEV, NULL, now);
}

/*
 * Asks the SA. Returns -EINPROGRESS if get_done() will be called; any other value: the request was
 * answered.
 */
static int ask(struct getter *g, struct ctl_req *r)
{
	struct sac *sac = g->iface->port->ifc.sac;
	struct sac_path_key key = {
		.sgid = sac_port(sac)->gid,
		.dgid = g->dgid,
		.pkey = g->iface->ifc.pkey | IB_PKEY_FULL,
	};
	struct ib_path_rec rec;
	int status = sac_path_get(sac, &key, &g->wait, &rec, r->now);

	if (status != -EINPROGRESS)
		answer(r, g->iface, &g->dgid, status, &rec);
	return status;
}

/*
 * Ask the SA, because the kernel has resolved the address. An answer of the helper is no longer
 * needed.
 */
static void go_on(struct getter *g, ns_t now)
{
	if (g->using)
		netdev_cancel(g->iface->host->helper, g);
	g->using = false;
	g->hold.req.now = now;
	if (ask(g, &g->hold.req) != -EINPROGRESS)
		getter_free(g);
}

static void unresolved(struct ctl_req *r, const struct getter *g, int err, const char *why)
{
	ctl_end_errno(r, PROTO_EXIT_FAILED, err, "%s@%s: address %s: %s", g->iface->name,
		      g->iface->host->name, g->text, why);
}

static void give_up(struct getter *g, ns_t now, int err, const char *why)
{
	g->hold.req.now = now;
	unresolved(&g->hold.req, g, err, why);
	getter_free(g);
}

static bool kernel_gave_up(const struct getter *g)
{
	struct rtnl_neigh n;

	return !rtnl_neigh_get(&g->iface->host->rtnl, g->iface->ifindex, &g->hop, &n) &&
	       rtnl_neigh_failed(&n);
}

static void look(struct timer *t, ns_t now)
{
	struct getter *g = container_of(t, struct getter, look);

	if (find_gid(g->iface, &g->hop, &g->dgid))
		go_on(g, now);
	else if (now >= g->until || (!g->using && kernel_gave_up(g)))
		give_up(g, now, ENXIO, "nobody on the link has it");
	else
		timer_arm(&g->iface->inst->loop.timers, t, now + LOOK);
}

/*
 * Return the error of include/uipoib/path.h for the reason why the helper or the kernel did not
 * resolve an address
 */
static int errno_of_use(int err)
{
	switch (err) {
	case -ENOMEM:
	case -ENOBUFS:
		return ENOMEM;
	case -ENETDOWN:
		return ENETDOWN;
	default: /* the network device, its namespace or the helper no longer exists */
		return ENODEV;
	}
}

static void on_used(void *ctx, const struct netdev_answer *a)
{
	struct getter *g = ctx;

	g->using = false;
	if (a->err)
		give_up(g, g->iface->inst->loop.now, errno_of_use(a->err), a->text);
}

/* Makes the kernel resolve g->hop. Return: 0; any other value: the request was answered */
static int resolve(struct getter *g, struct ctl_req *r)
{
	struct inst_iface *i = g->iface;
	int err = netdev_post_neigh_use(i->host->helper, i->host->ns, i->ifindex, &g->hop, on_used,
					g);

	if (err) {
		unresolved(r, g, errno_of_use(err), strerror(-err));
		return err;
	}
	g->using = true;
	g->until = r->now + RESOLVE;
	timer_arm(&i->inst->loop.timers, &g->look, r->now + LOOK);
	return 0;
}

static void get(struct ctl_req *r, const struct target *t, const char *text)
{
	struct getter *g = calloc(1, sizeof(*g));
	bool known;

	if (!g) {
		ctl_end_errno(r, PROTO_EXIT_FAILED, ENOMEM, "out of memory");
		return;
	}
	g->iface = t->iface;
	g->hop = t->ip;
	g->wait.done = get_done;
	timer_init(&g->look, look);
	snprintf(g->text, sizeof(g->text), "%s", text);
	known = t->is_ip && find_gid(t->iface, &t->ip, &g->dgid);
	if (!known && t->is_gid) {
		g->dgid = t->gid;
		known = true;
	}
	if (known ? ask(g, r) == -EINPROGRESS : resolve(g, r) == 0) {
		ctl_hold(r, &g->hold, get_gone);
		g->watch.iface = on_iface;
		inst_watch(r->in, &g->watch);
	} else {
		free(g);
	}
}

/* --- choice of the interface, and kind of the address */

static struct inst_iface *by_index(const struct inst_host *h, int ifindex)
{
	struct inst_iface *i;

	list_for_each (i, &h->ifaces, on_host)
		if (i->ifindex == ifindex)
			return i;
	return NULL;
}

/*
 * Set the interface and the next hop from the host's routing table. Some routes lead to no
 * interface of this instance, for example the route to an address of the host itself. In this case
 * t->iface stays the first interface of the host.
 */
static void follow_route(struct target *t, struct inst_host *h)
{
	struct inst_iface *i = NULL;
	struct rtnl_route route;

	if (!rtnl_route_get(&h->rtnl, &t->ip, &route))
		i = by_index(h, route.ifindex);
	if (!i)
		return;
	t->iface = i;
	if (route.has_gateway)
		t->ip = route.gateway;
}

/*
 * Parses an address. Return: false if it is neither an IP address nor a GID. An IPv6 address with the subnet prefix
 * of the port counts as a GID, unless the client says that it is an IP address (@ip_only).
 */
static bool parse(struct target *t, const char *text, bool ip_only)
{
	t->ip.family = inet_pton(AF_INET, text, t->ip.addr) == 1 ? RTNL_V4 : RTNL_V6;
	t->is_ip = true;
	if (t->ip.family == RTNL_V4)
		return true;
	if (inet_pton(AF_INET6, text, t->ip.addr) != 1 || print_gid_parse(&t->gid, text))
		return false;
	t->is_gid = !ip_only && ib_gid_prefix(&t->gid) ==
					ib_gid_prefix(&sac_port(t->iface->port->ifc.sac)->gid);
	return true;
}

/* Tell whether no node can have the address: unspecified, loopback, multicast, 255.255.255.255 */
static bool is_nobodys(const struct target *t)
{
	struct in6_addr v6;
	uint32_t v4;

	if (t->is_gid)
		return false;
	if (t->ip.family == RTNL_V4) {
		memcpy(&v4, t->ip.addr, sizeof(v4));
		v4 = ntohl(v4);
		return v4 == INADDR_ANY || v4 == INADDR_BROADCAST || v4 >> 24 == IN_LOOPBACKNET ||
		       IN_MULTICAST(v4);
	}
	memcpy(&v6, t->ip.addr, sizeof(v6));
	return IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LOOPBACK(&v6) ||
	       IN6_IS_ADDR_MULTICAST(&v6);
}

static struct inst_iface *first_of(struct inst *in, const char *host)
{
	struct inst_iface *i;

	list_for_each (i, &in->ifaces, link)
		if (!host || !strcmp(i->host->name, host))
			return i;
	return NULL;
}

static void path_get(struct ctl_req *r)
{
	bool bad;
	const char *text = ctl_arg_str(r, "address", &bad);
	const char *host = bad ? NULL : ctl_arg_str(r, "host", &bad);
	bool ip_only = bad ? false : ctl_arg_bool(r, "ip", &bad);
	struct inst_iface *dev = bad ? NULL : ctl_arg_iface(r, &bad);
	struct target t = { .iface = dev };

	if (bad)
		return;
	if (!dev)
		t.iface = first_of(r->in, host);
	if (!text) {
		ctl_end_errno(r, PROTO_EXIT_USAGE, EINVAL, "address: missing");
		return;
	}
	if (!t.iface) {
		if (host)
			ctl_end_errno(r, PROTO_EXIT_USAGE, ENODEV, "host '%.64s': has no interface",
				      host);
		else
			ctl_end_errno(r, PROTO_EXIT_USAGE, ENODEV, "there is no interface");
		return;
	}
	if (!parse(&t, text, ip_only)) {
		ctl_end_errno(r, PROTO_EXIT_USAGE, EINVAL,
			      "address '%.64s': expected an IP address or a GID", text);
		return;
	}
	if (is_nobodys(&t)) {
		ctl_end_errno(r, PROTO_EXIT_USAGE, EADDRNOTAVAIL,
			      "address '%.64s': expected the address of one node", text);
		return;
	}
	if (!dev && !t.is_gid)
		follow_route(&t, t.iface->host);
	get(r, &t, text);
}

const struct ctl_cmd cmd_path[] = {
	{ "path get", CTL_CHANGES, path_get,
	  (const char *const[]){ "address", "dev", "host", "ip", NULL }, .at_most = PATH_GETS_MAX },
	{ NULL },
};
