/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <ctype.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netdev/ibtap.h"

#define TXQLEN 1000
#define MTU_MIN 68 /* smallest MTU of IPv4 (RFC 791) */
/*
 * largest MTU that a TAP and an ibtap device accept; the largest MTU of a TAP is 65535 less an
 * Ethernet header
 */
#define MTU_MAX 65520

/* ----- the TAPs that this helper made; the helper changes no other interface */

struct srv_tap *srv_tap_at(const struct srv_ns *ns, int32_t ifindex)
{
	for (unsigned int i = 0; i < ns->ntaps; i++) {
		if (ifindex && ns->taps[i].ifindex == ifindex)
			return &ns->taps[i];
	}
	return NULL;
}

struct srv_tap *srv_tap_named(const struct srv_ns *ns, const char *name)
{
	for (unsigned int i = 0; i < ns->ntaps; i++) {
		if (!strcmp(ns->taps[i].name, name))
			return &ns->taps[i];
	}
	return NULL;
}

int srv_tap_remember(struct srv *s, struct srv_ns *ns, const struct srv_tap *t)
{
	if (ns->ntaps == ns->taps_cap) {
		unsigned int cap = ns->taps_cap ? 2 * ns->taps_cap : 4;
		struct srv_tap *v = realloc(ns->taps, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		ns->taps = v;
		ns->taps_cap = cap;
	}
	ns->taps[ns->ntaps++] = *t;
	s->ntaps++;
	return 0;
}

void srv_tap_drop(struct srv *s, struct srv_ns *ns, struct srv_tap *t)
{
	*t = ns->taps[--ns->ntaps];
	s->ntaps--;
}

bool srv_tap_is(const struct srv_tap *t, const struct rtnl_link *l)
{
	bool marked = *t->mark && !strcmp(l->alias, t->mark);

	/*
	 * rtnetlink does not show the MAC of a device of type 32. If somebody has changed the
	 * alias, the kind, the index and the name together identify the device. They are enough,
	 * because only programs that can open /dev/ibtap make links of the kind "ibtap".
	 */
	if (t->kind == TAP_INFINIBAND)
		return !strcmp(l->kind, "ibtap") &&
		       (marked || (l->ifindex == t->ifindex && !strcmp(l->name, t->name)));
	return !strcmp(l->kind, "tun") && (marked || !memcmp(l->mac, t->mac, sizeof(t->mac)));
}

/*
 * Gives the TAP a number, and sets the alias of its link to t->mark. If the kernel refuses the
 * alias, the function goes on, because srv_tap_is() does not need the alias. It then recognizes a
 * TAP by its MAC, and a device of type 32 by its index and name.
 */
void srv_tap_number(struct srv *s, struct rtnl *nl, int ifindex, struct srv_tap *t)
{
	t->number = ++s->numbers;
	snprintf(t->mark, sizeof(t->mark), "uipoib-%x-%x", (unsigned int)getpid(), t->number);
	if (rtnl_link_alias(nl, ifindex, t->mark))
		*t->mark = 0;
}

int srv_tap_present(struct srv_ns *ns, const struct srv_tap *t)
{
	struct rtnl_link l;
	int err;

	if (!t->ifindex)
		return -ENODEV;
	err = rtnl_link_get(&ns->nl, t->ifindex, NULL, &l);
	if (err)
		return err;
	return srv_tap_is(t, &l) ? 0 : -ENODEV;
}

int srv_tap_forget(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	struct srv_tap *t = srv_tap_at(ns, req->ifindex);

	if (!t)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENODEV, "not a TAP of ours");
	srv_tap_drop(s, ns, t);
	return 0;
}

int srv_tap_enter(struct srv_ns *ns, int32_t ifindex, struct srv_reply *r)
{
	struct srv_tap *t = srv_tap_at(ns, ifindex);
	int err;

	if (!t)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENODEV, "not a TAP of ours");
	err = srv_ns_rtnl(ns);
	if (err)
		return srv_refuse(r, NETDEV_REFUSED_NETNS, err, "entering the namespace");
	err = srv_tap_present(ns, t);
	return err ? srv_refuse(r, NETDEV_REFUSED_LINK, err, "looking for the TAP") : 0;
}

/* ----- making a TAP */

struct make_tap {
	enum tap_kind kind;
	const char *ifname;
	int *ret_fd;
	const char **ret_what;
};

static int make_tap(void *arg)
{
	struct make_tap *m = arg;

	if (m->kind == TAP_INFINIBAND)
		return ibtap_open(m->ifname, m->ret_fd, m->ret_what);
	return tap_open(m->ifname, m->ret_fd, m->ret_what);
}

int srv_tap_open(const struct srv_tap *t, int ns_fd, const char *ifname, int *ret_fd,
		 const char **ret_what)
{
	return netns_call(ns_fd, make_tap, &(struct make_tap){ t->kind, ifname, ret_fd, ret_what });
}

static bool is_zero_mac(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !memcmp(mac, zero, sizeof(zero));
}

bool srv_tap_conf_ok(const struct netdev_tap_conf *c)
{
	if (!memchr(c->ifname, 0, sizeof(c->ifname)) || !c->ifname[0])
		return false;
	for (const char *p = c->ifname; *p; p++) {
		if (!isgraph((unsigned char)*p) || strchr("/:%", *p))
			return false;
	}
	if (c->kind != TAP_ETHERNET && c->kind != TAP_INFINIBAND)
		return false;
	if (c->kind == TAP_INFINIBAND ? !is_zero_mac(c->mac) : c->mac[0] & 1)
		return false;
	return !c->mtu || (c->mtu >= MTU_MIN && c->mtu <= MTU_MAX);
}

int srv_tap_refuse(struct srv_reply *r, int err, const char *what)
{
	enum netdev_refusal refused = NETDEV_REFUSED_NETNS;

	if (what && strstr(what, "/dev/net/tun"))
		refused = NETDEV_REFUSED_TUN;
	else if (what && strstr(what, "/dev/ibtap"))
		refused = NETDEV_REFUSED_IBTAP;
	else if (what)
		refused = NETDEV_REFUSED_TAP;
	if (refused == NETDEV_REFUSED_IBTAP && err == -ENOENT)
		what = "opening /dev/ibtap (load the kernel module: modprobe ibtap; "
		       "kmod/README.md)";
	return srv_refuse(r, refused, err, what ? what : "entering the namespace");
}

/*
 * Stores the present MAC of the link. The kernel is asked for this MAC, because a request with several settings
 * may have failed after the kernel changed the MAC.
 */
static void note_mac(struct srv_ns *ns, struct srv_tap *t)
{
	char text[sizeof(ns->nl.err)];
	struct rtnl_link l;

	memcpy(text, ns->nl.err, sizeof(text));
	if (!rtnl_link_get(&ns->nl, t->ifindex, NULL, &l))
		memcpy(t->mac, l.mac, sizeof(t->mac));
	/*
	 * rtnl_link_get() may have overwritten the kernel's text about the earlier request, and the
	 * response needs this text
	 */
	memcpy(ns->nl.err, text, sizeof(text));
}

int srv_tap_set_up(struct srv *s, struct srv_ns *ns, struct srv_tap *t,
		   const struct netdev_tap_conf *c)
{
	struct rtnl_link_conf lc = {
		.set = RTNL_SET_TXQLEN,
		.txqlen = c->txqlen ? c->txqlen : TXQLEN,
		.mtu = c->mtu,
	};
	int err;

	memcpy(lc.mac, c->mac, sizeof(lc.mac));
	if (c->mtu)
		lc.set |= RTNL_SET_MTU;
	if (!is_zero_mac(c->mac))
		lc.set |= RTNL_SET_MAC;
	err = rtnl_link_set(&ns->nl, t->ifindex, &lc);
	if (lc.set & RTNL_SET_MAC)
		note_mac(ns, t);
	if (err || c->addrgen)
		return err;
	lc.set = RTNL_SET_ADDRGEN_NONE;
	err = rtnl_link_set(&ns->nl, t->ifindex, &lc);
	if (err == -EAFNOSUPPORT || err == -EOPNOTSUPP)
		return 0; /* the kernel has no IPv6 */
	return err || !c->stable ? err : srv_stable_set(s, ns, t, c->stable_secret);
}

static int make_here(struct srv *s, struct srv_ns *ns, struct srv_tap *t, int *ret_fd,
		     const char **ret_what)
{
	struct rtnl_link l;
	int err = srv_tap_open(t, ns->fd, t->name, ret_fd, ret_what);

	if (err)
		return err;
	err = rtnl_link_get(&ns->nl, 0, t->name, &l);
	if (err) {
		close(*ret_fd);
		return err;
	}
	t->ifindex = l.ifindex;
	memcpy(t->mac, l.mac, sizeof(t->mac));
	srv_tap_number(s, &ns->nl, t->ifindex, t);
	return 0;
}

int srv_tap_create(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	struct srv_tap t = { .kind = req->tap.kind, .stable = req->tap.stable };
	const char *what = NULL;
	int fd, err;

	if (!srv_tap_conf_ok(&req->tap))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "name, MAC or MTU of a TAP");
	if (s->ntaps >= NETDEV_TAP_MAX)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSPC, "too many TAPs");
	/* srv_tap_conf_ok() has checked that the name ends with a NUL. */
	memcpy(t.name, req->tap.ifname, sizeof(t.name));
	err = srv_ns_rtnl(ns);
	if (!err && ns->follow)
		err = srv_park_make(s, ns, &t, &fd, &what);
	else if (!err)
		err = make_here(s, ns, &t, &fd, &what);
	if (err)
		return srv_tap_refuse(r, err, what);
	err = srv_tap_set_up(s, ns, &t, &req->tap);
	if (err) {
		close(fd);
		return srv_rtnl_result(r, NETDEV_REFUSED_LINK, err, "setting up the TAP", &ns->nl);
	}
	err = srv_tap_remember(s, ns, &t);
	if (err) {
		close(fd);
		return srv_refuse(r, NETDEV_REFUSED_TAP, err, "remembering the TAP");
	}
	r->rsp.value = t.ifindex;
	srv_reply_fd(r, 0, fd);
	return 0;
}

/* ----- changing a TAP */

/*
 * Tells whether the MTU in @c makes the kernel begin IPv6 on the TAP again; always false for a TAP
 * with .stable. While the MTU of a device is below IPV6_MIN_MTU, the kernel has no IPv6 on the
 * device, and forgets the device's IPv6 addresses and settings. When the MTU is raised to
 * IPV6_MIN_MTU or more, the kernel begins again with its default settings, and makes an fe80::
 * address from the MAC.
 */
static bool ipv6_begins(struct srv_ns *ns, const struct srv_tap *t, const struct rtnl_link_conf *c)
{
	struct rtnl_link l;

	return (c->set & RTNL_SET_MTU) && c->mtu >= IPV6_MIN_MTU && !t->stable &&
	       !rtnl_link_get(&ns->nl, t->ifindex, NULL, &l) && l.mtu < IPV6_MIN_MTU;
}

/*
 * Tell the kernel to make no fe80:: address, as srv_tap_set_up() does, and delete the fe80::
 * address that the kernel has made from the MAC. That address is wrong, because the MAC is only a
 * token for the link-layer address. The main process adds the right address. A failure is ignored,
 * because the kernel then has no IPv6, or has made no fe80:: address.
 */
static void ipv6_begun(struct srv_ns *ns, const struct srv_tap *t)
{
	const struct rtnl_link_conf c = { .set = RTNL_SET_ADDRGEN_NONE };
	const uint8_t *m = t->mac;
	const struct rtnl_ip ip = {
		.family = RTNL_V6,
		.addr = { 0xfe, 0x80, [8] = m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5] },
	};

	if (!rtnl_link_set(&ns->nl, t->ifindex, &c) && !is_zero_mac(m))
		rtnl_addr_del(&ns->nl, t->ifindex, &ip, 64);
}

int srv_link_set(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	bool token = req->link.set & RTNL_SET_TOKEN, begins;
	int err = srv_tap_enter(ns, req->ifindex, r);
	struct srv_tap *t;

	if (err)
		return err;
	t = srv_tap_at(ns, req->ifindex);
	begins = ipv6_begins(ns, t, &req->link);
	err = rtnl_link_set(&ns->nl, req->ifindex, &req->link);
	if (req->link.set & RTNL_SET_MAC)
		note_mac(ns, t);
	if (!err && begins) {
		ipv6_begun(ns, t);
		r->rsp.value = 1;
	}
	return srv_rtnl_result(r, token ? NETDEV_REFUSED_TOKEN : NETDEV_REFUSED_LINK, err,
			       token ? "setting the IPv6 token" : "changing the interface",
			       &ns->nl);
}

/* Check a request that carries an IP address, and then call srv_tap_enter(). */
static int enter_addr(struct srv_ns *ns, const struct helper_req *req, struct srv_reply *r)
{
	const struct rtnl_ip *ip = &req->addr.ip;

	if ((ip->family != RTNL_V4 && ip->family != RTNL_V6) ||
	    req->addr.plen > (ip->family == RTNL_V4 ? 32 : 128))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "address family or prefix");
	return srv_tap_enter(ns, req->ifindex, r);
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

int srv_neigh_use(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	int err = enter_addr(ns, req, r);

	if (err)
		return err;
	err = rtnl_neigh_use(&ns->nl, req->ifindex, &req->addr.ip);
	return srv_rtnl_result(r, NETDEV_REFUSED_NEIGH, err, "resolving an address", &ns->nl);
}
