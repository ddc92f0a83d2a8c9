/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev/rtnl_msg.h"

/* Linux 6.15; older headers do not have them. */
#define GRP_IPV4_MCADDR 37
#define GRP_IPV6_MCADDR 38
#define MSG_NEWMULTICAST 56
#define MSG_DELMULTICAST 57

#define READS_MAX 64 /* per call, lest a flood starve the caller's other work */

/* ----- decoders */

static uint32_t get_u32(const struct nlattr *a, uint32_t otherwise)
{
	return mnl_attr_validate(a, MNL_TYPE_U32) < 0 ? otherwise : mnl_attr_get_u32(a);
}

static uint8_t get_u8(const struct nlattr *a)
{
	return mnl_attr_validate(a, MNL_TYPE_U8) < 0 ? 0 : mnl_attr_get_u8(a);
}

static void link_attr(struct rtnl_link *l, const struct nlattr *a)
{
	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		if (mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 &&
		    mnl_attr_get_payload_len(a) <= IFNAMSIZ)
			memcpy(l->name, mnl_attr_get_str(a), mnl_attr_get_payload_len(a));
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(a) == sizeof(l->mac)) {
			memcpy(l->mac, mnl_attr_get_payload(a), sizeof(l->mac));
			l->has_mac = true;
		}
		break;
	case IFLA_MTU:
		l->mtu = get_u32(a, 0);
		break;
	case IFLA_TXQLEN:
		l->txqlen = get_u32(a, 0);
		break;
	case IFLA_OPERSTATE:
		l->operstate = get_u8(a);
		break;
	case IFLA_CARRIER:
		l->carrier = get_u8(a);
		break;
	}
}

int rtnl_link_decode(struct rtnl_link *ret, const struct nlmsghdr *nlh)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi))
		return -EBADMSG;
	*ret = (struct rtnl_link){ .ifindex = ifi->ifi_index, .flags = ifi->ifi_flags };
	mnl_attr_for_each(a, nlh, sizeof(*ifi)) link_attr(ret, a);
	return 0;
}

static bool take_ip(struct rtnl_ip *ip, const struct nlattr *a)
{
	size_t len = rtnl_ip_len(ip->family);

	if (mnl_attr_get_payload_len(a) != len)
		return false;
	memcpy(ip->addr, mnl_attr_get_payload(a), len);
	return true;
}

int rtnl_addr_decode(struct rtnl_addr *ret, const struct nlmsghdr *nlh)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	bool have = false, local = false;
	const struct nlattr *a;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifa) ||
	    (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6))
		return -EBADMSG;
	*ret = (struct rtnl_addr){
		.ifindex = (int)ifa->ifa_index,
		.plen = ifa->ifa_prefixlen,
		.scope = ifa->ifa_scope,
		.flags = ifa->ifa_flags,
		.ip.family = ifa->ifa_family == AF_INET ? RTNL_V4 : RTNL_V6,
	};
	mnl_attr_for_each(a, nlh, sizeof(*ifa))
	{
		switch (mnl_attr_get_type(a)) {
		case IFA_LOCAL: /* ours, where IFA_ADDRESS is the peer's */
			local = take_ip(&ret->ip, a);
			have |= local;
			break;
		case IFA_ADDRESS:
		case IFA_MULTICAST:
			if (!local)
				have |= take_ip(&ret->ip, a);
			break;
		case IFA_FLAGS:
			ret->flags = get_u32(a, ret->flags);
			break;
		}
	}
	return have ? 0 : -EBADMSG;
}

int rtnl_event_decode(struct rtnl_event *ret, const struct nlmsghdr *nlh)
{
	static const struct {
		uint16_t msg;
		enum rtnl_event_type type;
	} types[] = {
		{ RTM_NEWLINK, RTNL_LINK_NEW },	      { RTM_DELLINK, RTNL_LINK_DEL },
		{ RTM_NEWADDR, RTNL_ADDR_NEW },	      { RTM_DELADDR, RTNL_ADDR_DEL },
		{ MSG_NEWMULTICAST, RTNL_GROUP_NEW }, { MSG_DELMULTICAST, RTNL_GROUP_DEL },
	};
	struct rtnl_event ev = { 0 };
	unsigned int i = 0;
	int err;

	while (i < sizeof(types) / sizeof(types[0]) && types[i].msg != nlh->nlmsg_type)
		i++;
	if (i == sizeof(types) / sizeof(types[0]))
		return -EOPNOTSUPP;
	ev.type = types[i].type;
	if (ev.type == RTNL_LINK_NEW || ev.type == RTNL_LINK_DEL) {
		err = rtnl_link_decode(&ev.link, nlh);
		ev.ifindex = ev.link.ifindex;
	} else {
		err = rtnl_addr_decode(&ev.addr, nlh);
		ev.ifindex = ev.addr.ifindex;
	}
	if (err)
		return err;
	*ret = ev;
	return 0;
}

/* ----- the socket */

int rtnl_events_open(int *ret_fd)
{
	struct sockaddr_nl sa = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int group[] = { GRP_IPV4_MCADDR, GRP_IPV6_MCADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		err = -errno;
		close(fd);
		return err;
	}
	/* A kernel that does not know them says so, and snooping does without. */
	for (int i = 0; i < 2; i++)
		setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group[i], sizeof(group[i]));
	*ret_fd = fd;
	return 0;
}

static int from_kernel(int fd, void *buf, size_t len, ssize_t *ret_got)
{
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t got;

	do
		got = recvfrom(fd, buf, len, 0, (struct sockaddr *)&from, &from_len);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	/* Any process may send to a netlink port; the kernel is port 0. */
	*ret_got = from.nl_pid ? 0 : got;
	return 0;
}

int rtnl_events_read(int fd, void (*cb)(const struct rtnl_event *ev, void *arg), void *arg)
{
	char buf[RTNL_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	int n = 0;

	for (int i = 0; i < READS_MAX; i++) {
		const struct nlmsghdr *nlh = (const void *)buf;
		struct rtnl_event ev;
		ssize_t got = 0;
		int left, err = from_kernel(fd, buf, sizeof(buf), &got);

		if (err == -EAGAIN)
			return n;
		if (err)
			return err;
		for (left = (int)got; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			if (rtnl_event_decode(&ev, nlh))
				continue;
			cb(&ev, arg);
			n++;
		}
	}
	return n;
}
