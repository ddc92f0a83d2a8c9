/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "netdev/rtnl_msg.h"

#define REQ_BUF 512

static struct nlmsghdr *begin(void *buf, uint16_t type, int ifindex)
{
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, type, 0, sizeof(struct ifinfomsg), &body);

	((struct ifinfomsg *)body)->ifi_index = ifindex;
	return nlh;
}

struct link_get {
	struct rtnl_link l;
	bool got;
};

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	struct link_get *g = arg;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (rtnl_link_decode(&g->l, nlh))
		return -EBADMSG;
	g->got = true;
	return 0;
}

int rtnl_link_get(struct rtnl *nl, int ifindex, const char *name, struct rtnl_link *ret)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct link_get g = { .got = false };
	struct nlmsghdr *nlh = begin(buf, RTM_GETLINK, ifindex);
	int err;

	if (!ifindex) {
		if (strlen(name) >= IFNAMSIZ)
			return -ENODEV;
		mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	}
	err = rtnl_talk(nl, nlh, on_link, &g);
	if (err)
		return err;
	if (!g.got)
		return -ENODEV;
	*ret = g.l;
	return 0;
}

static void put_inet6(struct nlmsghdr *nlh, const struct rtnl_link_conf *c)
{
	struct nlattr *spec = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
	struct nlattr *inet6 = mnl_attr_nest_start(nlh, AF_INET6);
	uint8_t token[16] = { 0 };

	if (c->set & RTNL_SET_ADDRGEN_NONE)
		mnl_attr_put_u8(nlh, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	if (c->set & RTNL_SET_TOKEN) {
		memcpy(token + 8, c->token, 8);
		mnl_attr_put(nlh, IFLA_INET6_TOKEN, sizeof(token), token);
	}
	mnl_attr_nest_end(nlh, inet6);
	mnl_attr_nest_end(nlh, spec);
}

int rtnl_link_set(struct rtnl *nl, int ifindex, const struct rtnl_link_conf *c)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, ifindex);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	if (c->set & (RTNL_SET_UP | RTNL_SET_DOWN)) {
		ifi->ifi_change = IFF_UP;
		ifi->ifi_flags = c->set & RTNL_SET_UP ? IFF_UP : 0;
	}
	if (c->set & RTNL_SET_MTU)
		mnl_attr_put_u32(nlh, IFLA_MTU, c->mtu);
	if (c->set & RTNL_SET_MAC)
		mnl_attr_put(nlh, IFLA_ADDRESS, sizeof(c->mac), c->mac);
	if (c->set & RTNL_SET_TXQLEN)
		mnl_attr_put_u32(nlh, IFLA_TXQLEN, c->txqlen);
	if (c->set & (RTNL_SET_ADDRGEN_NONE | RTNL_SET_TOKEN))
		put_inet6(nlh, c);
	return rtnl_talk(nl, nlh, NULL, NULL);
}

int rtnl_link_alias(struct rtnl *nl, int ifindex, const char *alias)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, ifindex);

	mnl_attr_put_str(nlh, IFLA_IFALIAS, alias);
	return rtnl_talk(nl, nlh, NULL, NULL);
}

int rtnl_link_move(struct rtnl *nl, int ifindex, int ns_fd, const char *name)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin(buf, RTM_NEWLINK, ifindex);

	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)ns_fd);
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return rtnl_talk(nl, nlh, NULL, NULL);
}
