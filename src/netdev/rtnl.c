/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "netdev/rtnl_msg.h"

#define REPLY_TIMEOUT_S 5 /* the kernel answers at once; this is for a kernel that does not */

int rtnl_open(struct rtnl *ret)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		err = -errno;
		close(fd);
		return err;
	}
	rtnl_attach(ret, fd);
	return 0;
}

void rtnl_attach(struct rtnl *ret, int fd)
{
	struct timeval tv = { .tv_sec = REPLY_TIMEOUT_S };
	int on = 1;

	*ret = (struct rtnl){ .fd = fd };
	/* Both only improve what is said and waited for: without them all works. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

void rtnl_close(struct rtnl *nl)
{
	if (nl->fd >= 0)
		close(nl->fd);
	nl->fd = -1;
}

/* ----- a request and its answers */

struct nlmsghdr *rtnl_begin(void *buf, uint16_t type, uint16_t flags, size_t extra, void **ret_body)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	*ret_body = mnl_nlmsg_put_extra_header(nlh, extra);
	return nlh;
}

/* The kernel's sentence behind an error, if it gives one. */
static void take_ext_ack(struct rtnl *nl, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*e);
	const struct nlattr *a;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) {
		if (e->msg.nlmsg_len < sizeof(e->msg))
			return;
		skip += e->msg.nlmsg_len - sizeof(e->msg);
	}
	if (mnl_nlmsg_get_payload_len(nlh) < skip)
		return;
	mnl_attr_for_each(a, nlh, skip)
	{
		if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			snprintf(nl->err, sizeof(nl->err), "%s", mnl_attr_get_str(a));
	}
}

/* 1: go on; 0 or -errno: that is the answer. */
static int take_msg(struct rtnl *nl, const struct nlmsghdr *nlh, rtnl_msg_cb cb, void *arg,
		    int *stop)
{
	if (nlh->nlmsg_seq != nl->seq)
		return 1; /* of a request that was given up */
	if (nlh->nlmsg_type == NLMSG_DONE)
		return 0;
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

		if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
			return -EBADMSG;
		take_ext_ack(nl, nlh);
		return e->error > 0 ? -EBADMSG : e->error;
	}
	/* Even when that is enough, the rest has to be read. */
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		*stop = -EAGAIN;
	else if (cb && !*stop)
		*stop = cb(nlh, arg);
	return 1;
}

int rtnl_talk(struct rtnl *nl, struct nlmsghdr *nlh, rtnl_msg_cb cb, void *arg)
{
	char buf[RTNL_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	int stop = 0, res = 1;

	nl->err[0] = 0;
	nlh->nlmsg_seq = ++nl->seq;
	/* The two bits of a dump mean something else, one by one, in a change. */
	if ((nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		nlh->nlmsg_flags |= NLM_F_ACK;
	if (send(nl->fd, nlh, nlh->nlmsg_len, 0) < 0)
		return -errno;
	while (res == 1) {
		ssize_t got = recv(nl->fd, buf, sizeof(buf), 0);
		const struct nlmsghdr *m = (const void *)buf;
		int left = (int)got;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		for (; res == 1 && mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left))
			res = take_msg(nl, m, cb, arg, &stop);
	}
	return res ? res : stop;
}

/* ----- changes */

#define REQ_BUF 512

/* An address of either family as netlink has it. */
static void put_ip(struct nlmsghdr *nlh, uint16_t attr, const struct rtnl_ip *ip)
{
	mnl_attr_put(nlh, attr, rtnl_ip_len(ip->family), ip->addr);
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
	struct nlmsghdr *nlh;
	struct ifinfomsg *ifi;
	void *body;

	nlh = rtnl_begin(buf, RTM_NEWLINK, 0, sizeof(*ifi), &body);
	ifi = body;
	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_index = ifindex;
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

static int addr_change(struct rtnl *nl, uint16_t type, uint16_t flags, int ifindex,
		       const struct rtnl_ip *ip, uint8_t plen)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh;
	struct ifaddrmsg *ifa;
	void *body;

	nlh = rtnl_begin(buf, type, flags, sizeof(*ifa), &body);
	ifa = body;
	ifa->ifa_family = rtnl_ip_af(ip->family);
	ifa->ifa_prefixlen = plen;
	ifa->ifa_index = (uint32_t)ifindex;
	/* The kernel finds an IPv6 address' scope itself; an IPv4 one is global unless told. */
	if (ip->family == RTNL_V4 && ip->addr[0] == 169 && ip->addr[1] == 254)
		ifa->ifa_scope = RT_SCOPE_LINK;
	put_ip(nlh, IFA_LOCAL, ip);
	put_ip(nlh, IFA_ADDRESS, ip);
	return rtnl_talk(nl, nlh, NULL, NULL);
}

int rtnl_addr_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen)
{
	return addr_change(nl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, ip, plen);
}

int rtnl_addr_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen)
{
	return addr_change(nl, RTM_DELADDR, 0, ifindex, ip, plen);
}

static struct nlmsghdr *neigh_begin(void *buf, uint16_t type, uint16_t flags, int ifindex,
				    const struct rtnl_ip *ip, uint16_t state)
{
	struct nlmsghdr *nlh;
	struct ndmsg *ndm;
	void *body;

	nlh = rtnl_begin(buf, type, flags, sizeof(*ndm), &body);
	ndm = body;
	ndm->ndm_family = rtnl_ip_af(ip->family);
	ndm->ndm_ifindex = ifindex;
	ndm->ndm_state = state;
	put_ip(nlh, NDA_DST, ip);
	return nlh;
}

int rtnl_neigh_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, const uint8_t mac[6])
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh = neigh_begin(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, ifindex,
					   ip, NUD_REACHABLE);

	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	return rtnl_talk(nl, nlh, NULL, NULL);
}

int rtnl_neigh_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));

	return rtnl_talk(nl, neigh_begin(buf, RTM_DELNEIGH, 0, ifindex, ip, 0), NULL, NULL);
}

int rtnl_route_default(struct rtnl *nl, int ifindex, const struct rtnl_ip *gw)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh;
	struct rtmsg *rtm;
	void *body;

	nlh = rtnl_begin(buf, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*rtm), &body);
	rtm = body;
	rtm->rtm_family = rtnl_ip_af(gw->family);
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_scope = RT_SCOPE_UNIVERSE;
	rtm->rtm_type = RTN_UNICAST;
	put_ip(nlh, RTA_GATEWAY, gw);
	mnl_attr_put_u32(nlh, RTA_OIF, (uint32_t)ifindex);
	return rtnl_talk(nl, nlh, NULL, NULL);
}
