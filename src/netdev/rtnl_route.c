/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "netdev/rtnl_msg.h"

struct route_get {
	struct rtnl_route route;
	enum rtnl_family family;
	bool got;
};

static int on_attr(const struct nlattr *a, void *arg)
{
	struct route_get *g = arg;
	size_t len = rtnl_ip_len(g->family);

	switch (mnl_attr_get_type(a)) {
	case RTA_OIF:
		if (mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			g->route.ifindex = (int)mnl_attr_get_u32(a);
		break;
	case RTA_GATEWAY:
		if (mnl_attr_get_payload_len(a) != len)
			break;
		g->route.has_gateway = true;
		g->route.gateway.family = g->family;
		memcpy(g->route.gateway.addr, mnl_attr_get_payload(a), len);
		break;
	}
	return MNL_CB_OK;
}

static int on_route(const struct nlmsghdr *nlh, void *arg)
{
	struct route_get *g = arg;

	if (nlh->nlmsg_type != RTM_NEWROUTE)
		return 0;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct rtmsg))
		return -EBADMSG;
	mnl_attr_parse(nlh, sizeof(struct rtmsg), on_attr, g);
	g->got = true;
	return 0;
}

int rtnl_route_get(struct rtnl *nl, const struct rtnl_ip *ip, struct rtnl_route *ret)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct route_get g = { .family = ip->family };
	struct nlmsghdr *nlh;
	struct rtmsg *rtm;
	void *body;
	int err;

	nlh = rtnl_begin(buf, RTM_GETROUTE, 0, sizeof(*rtm), &body);
	rtm = body;
	rtm->rtm_family = rtnl_ip_af(ip->family);
	rtm->rtm_dst_len = (uint8_t)(8 * rtnl_ip_len(ip->family));
	mnl_attr_put(nlh, RTA_DST, rtnl_ip_len(ip->family), ip->addr);
	err = rtnl_talk(nl, nlh, on_route, &g);
	if (err)
		return err;
	if (!g.got || !g.route.ifindex)
		return -ENETUNREACH;
	*ret = g.route;
	return 0;
}
