/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/helper_srv.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netdev/tap.h"

#define TXQLEN 1000
#define MTU_MIN 68 /* RFC 791 */
#define MTU_MAX 65521 /* what a TAP takes: 65535 less an Ethernet header */

/* ----- TAPs that we made: nothing else is touched */

static int32_t *find_tap(const struct srv_ns *ns, int32_t ifindex)
{
	for (unsigned int i = 0; i < ns->ntaps; i++) {
		if (ns->taps[i] == ifindex)
			return &ns->taps[i];
	}
	return NULL;
}

static int remember_tap(struct srv *s, struct srv_ns *ns, int32_t ifindex)
{
	if (ns->ntaps == ns->taps_cap) {
		unsigned int cap = ns->taps_cap ? 2 * ns->taps_cap : 4;
		int32_t *v = realloc(ns->taps, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		ns->taps = v;
		ns->taps_cap = cap;
	}
	ns->taps[ns->ntaps++] = ifindex;
	s->ntaps++;
	return 0;
}

int srv_tap_forget(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	int32_t *t = find_tap(ns, req->ifindex);

	if (!t)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENODEV, "not a TAP of ours");
	*t = ns->taps[--ns->ntaps];
	s->ntaps--;
	return 0;
}

/* A TAP of ours in @ns and a netlink socket to reach it. */
static int enter_dev(struct srv_ns *ns, int32_t ifindex, struct srv_reply *r)
{
	int err;

	if (!find_tap(ns, ifindex))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENODEV, "not a TAP of ours");
	err = srv_ns_rtnl(ns);
	return err ? srv_refuse(r, NETDEV_REFUSED_NETNS, err, "entering the namespace") : 0;
}

/* ----- making one */

struct make_tap {
	const char *ifname;
	int fd;
	const char *what; /* NULL until the namespace has been entered */
};

static int make_tap(void *arg)
{
	struct make_tap *m = arg;

	return tap_open(m->ifname, &m->fd, &m->what);
}

static bool conf_ok(const struct netdev_tap_conf *c)
{
	if (!memchr(c->ifname, 0, sizeof(c->ifname)) || !c->ifname[0])
		return false;
	for (const char *p = c->ifname; *p; p++) {
		if (!isgraph((unsigned char)*p) || strchr("/:%", *p))
			return false;
	}
	if (c->mac[0] & 1)
		return false;
	return !c->mtu || (c->mtu >= MTU_MIN && c->mtu <= MTU_MAX);
}

static enum netdev_refusal tap_refusal(const char *what)
{
	if (!what)
		return NETDEV_REFUSED_NETNS;
	return strstr(what, "/dev/net/tun") ? NETDEV_REFUSED_TUN : NETDEV_REFUSED_TAP;
}

static int set_up(struct srv_ns *ns, const struct netdev_tap_conf *c, int *ret_ifindex)
{
	static const uint8_t no_mac[6];
	struct rtnl_link_conf lc = {
		.set = RTNL_SET_TXQLEN,
		.txqlen = c->txqlen ? c->txqlen : TXQLEN,
		.mtu = c->mtu,
	};
	struct rtnl_link l;
	int err = rtnl_link_get(&ns->nl, 0, c->ifname, &l);

	if (err)
		return err;
	memcpy(lc.mac, c->mac, sizeof(lc.mac));
	if (c->mtu)
		lc.set |= RTNL_SET_MTU;
	if (memcmp(c->mac, no_mac, sizeof(no_mac)) != 0)
		lc.set |= RTNL_SET_MAC;
	*ret_ifindex = l.ifindex;
	err = rtnl_link_set(&ns->nl, l.ifindex, &lc);
	if (err || c->addrgen)
		return err;
	lc.set = RTNL_SET_ADDRGEN_NONE;
	err = rtnl_link_set(&ns->nl, l.ifindex, &lc);
	return err == -EAFNOSUPPORT || err == -EOPNOTSUPP ? 0 : err; /* no IPv6 */
}

int srv_tap_create(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	struct make_tap m = { .ifname = req->tap.ifname };
	int err, ifindex = 0;

	if (!conf_ok(&req->tap))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "name, MAC or MTU of a TAP");
	if (s->ntaps >= NETDEV_TAP_MAX)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSPC, "too many TAPs");
	err = srv_ns_rtnl(ns);
	if (!err)
		err = netns_call(ns->fd, make_tap, &m);
	if (err)
		return srv_refuse(r, tap_refusal(m.what), err,
				  m.what ? m.what : "entering the namespace");
	err = set_up(ns, &req->tap, &ifindex);
	if (err) {
		close(m.fd);
		return srv_rtnl_result(r, NETDEV_REFUSED_LINK, err, "setting up the TAP", &ns->nl);
	}
	err = remember_tap(s, ns, ifindex);
	if (err) {
		close(m.fd);
		return srv_refuse(r, NETDEV_REFUSED_TAP, err, "remembering the TAP");
	}
	r->rsp.value = ifindex;
	srv_reply_fd(r, 0, m.fd);
	return 0;
}

/* ----- changing one */

int srv_link_set(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	bool token = req->link.set & RTNL_SET_TOKEN;
	int err = enter_dev(ns, req->ifindex, r);

	if (err)
		return err;
	err = rtnl_link_set(&ns->nl, req->ifindex, &req->link);
	return srv_rtnl_result(r, token ? NETDEV_REFUSED_TOKEN : NETDEV_REFUSED_LINK, err,
			       token ? "setting the IPv6 token" : "changing the interface",
			       &ns->nl);
}

/* enter_dev() for requests that carry an address. */
static int enter_addr(struct srv_ns *ns, const struct helper_req *req, struct srv_reply *r)
{
	const struct rtnl_ip *ip = &req->addr.ip;

	if ((ip->family != RTNL_V4 && ip->family != RTNL_V6) ||
	    req->addr.plen > (ip->family == RTNL_V4 ? 32 : 128))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "address family or prefix");
	return enter_dev(ns, req->ifindex, r);
}

int srv_addr_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	int err = enter_addr(ns, req, r);

	if (err)
		return err;
	err = rtnl_addr_add(&ns->nl, req->ifindex, &req->addr.ip, req->addr.plen);
	return srv_rtnl_result(r, NETDEV_REFUSED_ADDR, err, "adding an address", &ns->nl);
}

int srv_addr_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	int err = enter_addr(ns, req, r);

	if (err)
		return err;
	err = rtnl_addr_del(&ns->nl, req->ifindex, &req->addr.ip, req->addr.plen);
	return srv_rtnl_result(r, NETDEV_REFUSED_ADDR, err, "deleting an address", &ns->nl);
}

int srv_neigh_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	int err = enter_addr(ns, req, r);

	if (err)
		return err;
	err = rtnl_neigh_add(&ns->nl, req->ifindex, &req->addr.ip, req->addr.mac);
	return srv_rtnl_result(r, NETDEV_REFUSED_NEIGH, err, "adding a neighbour", &ns->nl);
}

int srv_neigh_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	int err = enter_addr(ns, req, r);

	if (err)
		return err;
	err = rtnl_neigh_del(&ns->nl, req->ifindex, &req->addr.ip);
	return srv_rtnl_result(r, NETDEV_REFUSED_NEIGH, err, "deleting a neighbour", &ns->nl);
}

int srv_neigh_del_mac(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		      struct srv_reply *r)
{
	int err = enter_dev(ns, req->ifindex, r);

	if (err)
		return err;
	err = rtnl_neigh_del_mac(&ns->nl, req->ifindex, req->addr.mac);
	if (err < 0)
		return srv_rtnl_result(r, NETDEV_REFUSED_NEIGH, err, "deleting a MAC's neighbours",
				       &ns->nl);
	r->rsp.value = err;
	return 0;
}

int srv_route_default(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		      struct srv_reply *r)
{
	int err = enter_addr(ns, req, r);

	if (err)
		return err;
	err = rtnl_route_default(&ns->nl, req->ifindex, &req->addr.ip);
	return srv_rtnl_result(r, NETDEV_REFUSED_ROUTE, err, "adding a default route", &ns->nl);
}

/* ----- sysctls */

struct set_sysctl {
	const struct helper_req *req;
	char path[NETDEV_KEY_MAX + IFNAMSIZ];
};

static bool part_ok(const char *part, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!islower((unsigned char)part[i]) && !isdigit((unsigned char)part[i]) &&
		    part[i] != '_' && part[i] != '-')
			return false;
	}
	return len;
}

/* "net.a.b" to "net/a/b"; @ifname, where there is one, stands for exactly one part "IF". */
static int key_to_path(const char *key, const char *ifname, char *path, size_t size)
{
	unsigned int ifs = 0, parts = 0;
	size_t n = 0;

	if (strncmp(key, "net.", 4) != 0)
		return -EINVAL;
	for (;;) {
		size_t len = strcspn(key, ".");
		bool is_if = len == 2 && !memcmp(key, "IF", 2);
		int put;

		if (!is_if && !part_ok(key, len))
			return -EINVAL;
		ifs += is_if;
		put = is_if ? snprintf(path + n, size - n, "%s%s", parts ? "/" : "",
				       ifname ? ifname : "")
			    : snprintf(path + n, size - n, "%s%.*s", parts ? "/" : "", (int)len,
				       key);
		n += (size_t)put;
		if (n >= size)
			return -EINVAL;
		parts++;
		if (!key[len])
			break;
		key += len + 1;
	}
	return ifs == (ifname ? 1 : 0) && parts >= 3 ? 0 : -EINVAL;
}

static int set_sysctl(void *arg)
{
	struct set_sysctl *a = arg;
	char ifname[IFNAMSIZ];
	int err;

	/* By its present name: it may have been renamed. */
	if (a->req->ifindex && !if_indextoname((unsigned int)a->req->ifindex, ifname))
		return -errno;
	err = key_to_path(a->req->sysctl.key, a->req->ifindex ? ifname : NULL, a->path,
			  sizeof(a->path));
	return err ? err : netns_sysctl_write(a->path, a->req->sysctl.value);
}

static bool value_ok(const char *value)
{
	for (const char *p = value; *p; p++) {
		if (!isprint((unsigned char)*p))
			return false;
	}
	return *value;
}

int srv_sysctl_set(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	const struct helper_sysctl_req *q = &req->sysctl;
	struct set_sysctl a = { .req = req };
	int err;

	if (!memchr(q->key, 0, sizeof(q->key)) || !memchr(q->value, 0, sizeof(q->value)) ||
	    !value_ok(q->value))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "sysctl key or value");
	if (req->ifindex ? !find_tap(ns, req->ifindex) : !ns->created)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "sysctl of what is not ours");
	err = netns_call(ns->fd, set_sysctl, &a);
	return err ? srv_refuse(r, NETDEV_REFUSED_SYSCTL, err, q->key) : 0;
}
