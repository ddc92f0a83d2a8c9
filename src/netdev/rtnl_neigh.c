/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "netdev/rtnl_msg.h"

struct neigh_cb {
	int ifindex;
	int (*cb)(const struct rtnl_neigh *n, void *arg);
	void *arg;
};

/* 0; -EOPNOTSUPP not of an IP family; -EBADMSG */
static int decode(struct rtnl_neigh *ret, const struct nlmsghdr *nlh)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	struct rtnl_neigh n = { 0 };
	const struct nlattr *a;
	bool dst = false;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ndm))
		return -EBADMSG;
	if (ndm->ndm_family != AF_INET && ndm->ndm_family != AF_INET6)
		return -EOPNOTSUPP;
	n.ifindex = ndm->ndm_ifindex;
	n.state = ndm->ndm_state;
	n.ip.family = ndm->ndm_family == AF_INET ? RTNL_V4 : RTNL_V6;
	mnl_attr_for_each(a, nlh, sizeof(*ndm))
	{
		size_t len = mnl_attr_get_payload_len(a);

		if (mnl_attr_get_type(a) == NDA_DST && len == rtnl_ip_len(n.ip.family)) {
			memcpy(n.ip.addr, mnl_attr_get_payload(a), len);
			dst = true;
		} else if (mnl_attr_get_type(a) == NDA_LLADDR && len == sizeof(n.mac)) {
			memcpy(n.mac, mnl_attr_get_payload(a), len);
			n.has_mac = true;
		}
	}
	if (!dst)
		return -EBADMSG;
	*ret = n;
	return 0;
}

static int on_neigh(const struct nlmsghdr *nlh, void *arg)
{
	const struct neigh_cb *c = arg;
	struct rtnl_neigh n;
	int err;

	if (nlh->nlmsg_type != RTM_NEWNEIGH)
		return 0;
	err = decode(&n, nlh);
	if (err == -EOPNOTSUPP || (!err && n.ifindex != c->ifindex))
		return 0;
	return err ? err : c->cb(&n, c->arg);
}

static int dump(struct rtnl *nl, uint8_t family, struct neigh_cb *c)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	void *body;
	struct nlmsghdr *nlh =
		rtnl_begin(buf, RTM_GETNEIGH, NLM_F_DUMP, sizeof(struct ndmsg), &body);

	((struct ndmsg *)body)->ndm_family = family;
	return rtnl_talk(nl, nlh, on_neigh, c);
}

int rtnl_neigh_dump(struct rtnl *nl, int ifindex, int (*cb)(const struct rtnl_neigh *n, void *arg),
		    void *arg)
{
	struct neigh_cb c = { ifindex, cb, arg };
	int err = dump(nl, AF_INET, &c);

	if (err)
		return err;
	err = dump(nl, AF_INET6, &c);
	return err == -EOPNOTSUPP ? 0 : err; /* a kernel without IPv6 */
}
