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

/*
 * Decodes a neighbour entry. Return: 0; -EOPNOTSUPP: the entry is neither IPv4 nor IPv6; -EBADMSG
 */
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
		} else if (mnl_attr_get_type(a) == NDA_LLADDR && len <= sizeof(n.hw)) {
			memcpy(n.hw, mnl_attr_get_payload(a), len);
			n.hw_len = (uint8_t)len;
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

static struct nlmsghdr *begin(void *buf, uint16_t type, int ifindex, const struct rtnl_ip *ip)
{
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, type, 0, sizeof(struct ndmsg), &body);
	struct ndmsg *ndm = body;

	ndm->ndm_family = rtnl_ip_af(ip->family);
	ndm->ndm_ifindex = ifindex;
	mnl_attr_put(nlh, NDA_DST, rtnl_ip_len(ip->family), ip->addr);
	return nlh;
}

int rtnl_neigh_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));

	return rtnl_talk(nl, begin(buf, RTM_DELNEIGH, ifindex, ip), NULL, NULL);
}

int rtnl_neigh_use(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = begin(buf, RTM_NEWNEIGH, ifindex, ip);
	struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);

	nlh->nlmsg_flags |= NLM_F_CREATE;
	ndm->ndm_flags = NTF_USE;
	ndm->ndm_state = NUD_NONE;
	return rtnl_talk(nl, nlh, NULL, NULL);
}

struct neigh_get {
	struct rtnl_neigh n;
	bool got;
};

static int got_neigh(const struct rtnl_neigh *n, void *arg)
{
	struct neigh_get *g = arg;

	g->n = *n;
	g->got = true;
	return 0;
}

int rtnl_neigh_get(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, struct rtnl_neigh *ret)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct neigh_get g = { .got = false };
	struct neigh_cb c = { ifindex, got_neigh, &g };
	int err = rtnl_talk(nl, begin(buf, RTM_GETNEIGH, ifindex, ip), on_neigh, &c);

	if (err)
		return err;
	if (!g.got)
		return -ENOENT;
	*ret = g.n;
	return 0;
}

bool rtnl_neigh_resolved(const struct rtnl_neigh *n)
{
	return n->hw_len && !(n->state & (NUD_NOARP | NUD_FAILED | NUD_INCOMPLETE));
}

bool rtnl_neigh_failed(const struct rtnl_neigh *n)
{
	return n->state & NUD_FAILED;
}

bool rtnl_neigh_learnt(const struct rtnl_neigh *n)
{
	return !(n->state & (NUD_PERMANENT | NUD_NOARP));
}

int rtnl_neigh_dump_start(struct rtnl *nl, int ifindex, enum rtnl_family family)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	void *body;
	struct nlmsghdr *nlh =
		rtnl_begin(buf, RTM_GETNEIGH, NLM_F_DUMP, sizeof(struct ndmsg), &body);

	((struct ndmsg *)body)->ndm_family = rtnl_ip_af(family);
	/*
	 * With this attribute, Linux 4.20 and later leave out the entries of other interfaces.
	 * Older kernels ignore the attribute.
	 */
	mnl_attr_put_u32(nlh, NDA_IFINDEX, (uint32_t)ifindex);
	return rtnl_send(nl, nlh);
}

int rtnl_neigh_dump_piece(struct rtnl *nl, int ifindex,
			  int (*cb)(const struct rtnl_neigh *n, void *arg), void *arg)
{
	struct neigh_cb c = { ifindex, cb, arg };
	int stop = 0, res = rtnl_take(nl, on_neigh, &c, &stop);

	/*
	 * If the table changed during this dump, an entry may be missing. The caller's next search
	 * finds this entry.
	 */
	if (res || stop == -EAGAIN)
		return res;
	return stop;
}
