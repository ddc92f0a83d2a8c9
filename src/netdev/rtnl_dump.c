/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdlib.h>
#include <string.h>

#include "netdev/rtnl_msg.h"

#define REQ_BUF 128
#define DUMP_TRIES 8 /* a dump that changes overtook is asked for again */

static int dump(struct rtnl *nl, uint16_t type, uint8_t family, size_t body_len, rtnl_msg_cb cb,
		void *arg)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, type, NLM_F_DUMP, body_len, &body);

	/* The family is the first octet of every rtnetlink header. */
	*(uint8_t *)body = family;
	return rtnl_talk(nl, nlh, cb, arg);
}

/* ----- links */

struct link_cb {
	int (*cb)(const struct rtnl_link *l, void *arg);
	void *arg;
};

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct link_cb *c = arg;
	struct rtnl_link l;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (rtnl_link_decode(&l, nlh))
		return -EBADMSG;
	return c->cb(&l, c->arg);
}

int rtnl_link_dump(struct rtnl *nl, int (*cb)(const struct rtnl_link *l, void *arg), void *arg)
{
	struct link_cb c = { cb, arg };

	return dump(nl, RTM_GETLINK, AF_UNSPEC, sizeof(struct ifinfomsg), on_link, &c);
}

struct link_get {
	struct rtnl_link l;
	bool got;
};

static int got_link(const struct rtnl_link *l, void *arg)
{
	struct link_get *g = arg;

	g->l = *l;
	g->got = true;
	return 0;
}

int rtnl_link_get(struct rtnl *nl, int ifindex, const char *name, struct rtnl_link *ret)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct link_get g = { .got = false };
	struct link_cb c = { got_link, &g };
	struct nlmsghdr *nlh;
	struct ifinfomsg *ifi;
	void *body;
	int err;

	nlh = rtnl_begin(buf, RTM_GETLINK, 0, sizeof(*ifi), &body);
	ifi = body;
	ifi->ifi_index = ifindex;
	if (!ifindex) {
		if (strlen(name) >= IFNAMSIZ)
			return -ENODEV;
		mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	}
	err = rtnl_talk(nl, nlh, on_link, &c);
	if (err)
		return err;
	if (!g.got)
		return -ENODEV;
	*ret = g.l;
	return 0;
}

/* ----- addresses */

struct addr_cb {
	int ifindex;
	int (*cb)(const struct rtnl_addr *a, void *arg);
	void *arg;
};

static int on_addr(const struct nlmsghdr *nlh, void *arg)
{
	const struct addr_cb *c = arg;
	struct rtnl_addr a;

	if (nlh->nlmsg_type != RTM_NEWADDR)
		return 0;
	if (rtnl_addr_decode(&a, nlh))
		return -EBADMSG;
	if (c->ifindex && a.ifindex != c->ifindex)
		return 0;
	return c->cb(&a, c->arg);
}

int rtnl_addr_dump(struct rtnl *nl, int ifindex, int (*cb)(const struct rtnl_addr *a, void *arg),
		   void *arg)
{
	struct addr_cb c = { ifindex, cb, arg };
	int err = dump(nl, RTM_GETADDR, AF_INET, sizeof(struct ifaddrmsg), on_addr, &c);

	if (err)
		return err;
	err = dump(nl, RTM_GETADDR, AF_INET6, sizeof(struct ifaddrmsg), on_addr, &c);
	return err == -EOPNOTSUPP ? 0 : err; /* a kernel without IPv6 */
}

static int is_tentative(const struct rtnl_addr *a, void *arg)
{
	return a->ip.family == RTNL_V6 && (a->flags & IFA_F_TENTATIVE) ? 1 : 0;
}

int rtnl_addr_tentative(struct rtnl *nl, int ifindex)
{
	return rtnl_addr_dump(nl, ifindex, is_tentative, NULL);
}

/* ----- neighbours by MAC */

#define MAC_ENTRIES 64 /* of one MAC in one go: addresses of a station */

struct neigh_match {
	int ifindex;
	const uint8_t *mac;
	unsigned int n;
	struct rtnl_ip ip[MAC_ENTRIES];
};

static int on_neigh(const struct nlmsghdr *nlh, void *arg)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	struct neigh_match *m = arg;
	struct rtnl_ip *ip = &m->ip[m->n];
	const struct nlattr *a;
	bool dst = false, mac = false;

	if (nlh->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(nlh) < sizeof(*ndm))
		return 0;
	if (ndm->ndm_ifindex != m->ifindex || (ndm->ndm_state & (NUD_PERMANENT | NUD_NOARP)))
		return 0;
	if (ndm->ndm_family != AF_INET && ndm->ndm_family != AF_INET6)
		return 0;
	ip->family = ndm->ndm_family == AF_INET ? RTNL_V4 : RTNL_V6;
	mnl_attr_for_each(a, nlh, sizeof(*ndm))
	{
		size_t len = mnl_attr_get_payload_len(a);

		if (mnl_attr_get_type(a) == NDA_DST && len == rtnl_ip_len(ip->family)) {
			memcpy(ip->addr, mnl_attr_get_payload(a), len);
			dst = true;
		} else if (mnl_attr_get_type(a) == NDA_LLADDR && len == 6) {
			mac = !memcmp(mnl_attr_get_payload(a), m->mac, 6);
		}
	}
	if (dst && mac)
		m->n++;
	return m->n == MAC_ENTRIES;
}

static int neigh_find(struct rtnl *nl, struct neigh_match *m, uint8_t family)
{
	int err;

	for (int i = 0; i < DUMP_TRIES; i++) {
		m->n = 0;
		err = dump(nl, RTM_GETNEIGH, family, sizeof(struct ndmsg), on_neigh, m);
		if (err != -EAGAIN)
			break;
	}
	return err < 0 ? err : 0;
}

int rtnl_neigh_del_mac(struct rtnl *nl, int ifindex, const uint8_t mac[6])
{
	static const uint8_t family[] = { AF_INET, AF_INET6 };
	struct neigh_match m = { .ifindex = ifindex, .mac = mac };
	int deleted = 0;

	for (unsigned int f = 0; f < 2; f++) {
		do {
			int err = neigh_find(nl, &m, family[f]), before = deleted;

			if (err)
				return err;
			for (unsigned int i = 0; i < m.n; i++) {
				err = rtnl_neigh_del(nl, ifindex, &m.ip[i]);
				if (err && err != -ENOENT)
					return err;
				deleted += !err;
			}
			if (deleted == before)
				break;
		} while (m.n == MAC_ENTRIES);
	}
	return deleted;
}
