/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netconf.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev/rtnl_msg.h"

/* Constants of Linux 6.15, which older headers lack */
#define GRP_IPV4_MCADDR 37
#define GRP_IPV6_MCADDR 38
#define MSG_NEWMULTICAST 56
#define MSG_DELMULTICAST 57

/*
 * Largest number of reads from the socket in one call of rtnl_events_read(), so that a flood of
 * events does not delay the caller's other work
 */
#define READS_MAX 64
/* largest number of repetitions of a dump after a loss of events, if links change during each dump */
#define REPEATS_MAX 8

struct events_cb {
	void (*cb)(const struct rtnl_event *ev, void *arg);
	void *arg;
	int n; /* number of calls of .cb */
};

/* ----- decoders */

static uint32_t get_u32(const struct nlattr *a, uint32_t otherwise)
{
	return mnl_attr_validate(a, MNL_TYPE_U32) < 0 ? otherwise : mnl_attr_get_u32(a);
}

static uint8_t get_u8(const struct nlattr *a)
{
	return mnl_attr_validate(a, MNL_TYPE_U8) < 0 ? 0 : mnl_attr_get_u8(a);
}

static void take_text(char *text, size_t size, const struct nlattr *a)
{
	if (mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 && mnl_attr_get_payload_len(a) <= size)
		memcpy(text, mnl_attr_get_str(a), mnl_attr_get_payload_len(a));
}

static void take_kind(struct rtnl_link *l, const struct nlattr *info)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, info)
	{
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
			take_text(l->kind, sizeof(l->kind), a);
	}
}

static void link_attr(struct rtnl_link *l, const struct nlattr *a)
{
	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		take_text(l->name, sizeof(l->name), a);
		break;
	case IFLA_IFALIAS:
		take_text(l->alias, sizeof(l->alias), a);
		break;
	case IFLA_LINKINFO:
		take_kind(l, a);
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
		case IFA_LOCAL:
			/*
			 * IFA_LOCAL is the local address. On a point-to-point link IFA_ADDRESS is
			 * the address of the peer
			 */
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

/*
 * Decodes a change of multicast forwarding. Return: 0; -EOPNOTSUPP: the message is about other
 * settings, or about all interfaces; -EBADMSG
 */
static int netconf_decode(struct rtnl_event *ret, const struct nlmsghdr *nlh)
{
	const struct netconfmsg *ncm = mnl_nlmsg_get_payload(nlh);
	bool have = false;
	const struct nlattr *a;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ncm))
		return -EBADMSG;
	if (ncm->ncm_family != AF_INET && ncm->ncm_family != AF_INET6)
		return -EOPNOTSUPP;
	ret->mc.family = ncm->ncm_family == AF_INET ? RTNL_V4 : RTNL_V6;
	mnl_attr_for_each(a, nlh, sizeof(*ncm))
	{
		if (mnl_attr_get_type(a) == NETCONFA_IFINDEX)
			ret->ifindex = (int)get_u32(a, 0);
		if (mnl_attr_get_type(a) != NETCONFA_MC_FORWARDING)
			continue;
		have = true;
		ret->mc.on = get_u32(a, 0);
	}
	return have && ret->ifindex > 0 ? 0 : -EOPNOTSUPP;
}

int rtnl_event_decode(struct rtnl_event *ret, const struct nlmsghdr *nlh)
{
	static const struct {
		uint16_t msg;
		enum rtnl_event_type type;
	} types[] = {
		{ RTM_NEWLINK, RTNL_LINK_NEW },		{ RTM_DELLINK, RTNL_LINK_DEL },
		{ RTM_NEWADDR, RTNL_ADDR_NEW },		{ RTM_DELADDR, RTNL_ADDR_DEL },
		{ MSG_NEWMULTICAST, RTNL_GROUP_NEW },	{ MSG_DELMULTICAST, RTNL_GROUP_DEL },
		{ RTM_NEWNETCONF, RTNL_MC_FORWARDING },
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
	} else if (ev.type == RTNL_MC_FORWARDING) {
		err = netconf_decode(&ev, nlh);
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
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
			     1 << (RTNLGRP_IPV4_NETCONF - 1) | 1 << (RTNLGRP_IPV6_NETCONF - 1),
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
	/*
	 * Kernels before Linux 6.15 refuse these groups. IGMP and MLD snooping works without the
	 * events of these groups.
	 */
	for (int i = 0; i < 2; i++)
		setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group[i], sizeof(group[i]));
	*ret_fd = fd;
	return 0;
}

/*
 * Dumps that are requested after a loss of events. Bit n of rtnl_events.stale and .dumping stands
 * for row n.
 */
static const struct {
	uint16_t type;
	uint8_t family;
} dumps[] = {
	{ RTM_GETLINK, AF_UNSPEC },
	{ RTM_GETNETCONF, AF_INET },
	{ RTM_GETNETCONF, AF_INET6 },
};

#define ALL_DUMPS ((1u << (sizeof(dumps) / sizeof(dumps[0]))) - 1)

void rtnl_events_lost(struct rtnl_events *e)
{
	e->stale = ALL_DUMPS;
	e->repeats = 0;
}

/*
 * Request the next dump. The kernel answers through this socket, so answers and events arrive in the order in which
 * the kernel made them.
 */
static int start_dump(struct rtnl_events *e)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	unsigned int k = (unsigned int)__builtin_ctz(e->stale);
	void *body;
	/* A request for netconf has a shorter header than struct ifinfomsg; the kernel ignores the rest. */
	struct nlmsghdr *nlh =
		rtnl_begin(buf, dumps[k].type, NLM_F_DUMP, sizeof(struct ifinfomsg), &body);

	*(uint8_t *)body = dumps[k].family;
	if (send(e->fd, nlh, nlh->nlmsg_len, 0) < 0)
		return -errno;
	e->dumping = 1u << k;
	e->stale &= ~e->dumping;
	return 0;
}

/*
 * Process one message that may belong to a dump. Returns 0, or -errno if the kernel refused the dump of links. A
 * refusal of another dump is ignored, because a kernel without IPv6 or multicast routing refuses some dumps.
 */
static int take_dump(struct rtnl_events *e, const struct nlmsghdr *nlh)
{
	bool links = e->dumping & 1;

	if (!e->dumping)
		return 0;
	if ((nlh->nlmsg_flags & NLM_F_DUMP_INTR) && !(e->stale & e->dumping) &&
	    e->repeats < REPEATS_MAX) {
		e->repeats++;
		e->stale |= e->dumping;
	}
	if (nlh->nlmsg_type != NLMSG_DONE && nlh->nlmsg_type != NLMSG_ERROR)
		return 0;
	e->dumping = 0;
	return links ? rtnl_end_status(nlh) : 0;
}

/* Returns 1 if the messages were a part of a dump, 0 if they were events, or -errno. */
static int take_all(struct rtnl_events *e, const void *buf, size_t got, struct events_cb *c)
{
	const struct nlmsghdr *nlh = buf;
	struct rtnl_event ev;
	int left = (int)got, piece = 0;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		int err = take_dump(e, nlh);

		if (err)
			return err;
		piece |= !!(nlh->nlmsg_flags & NLM_F_MULTI);
		if (rtnl_event_decode(&ev, nlh))
			continue;
		c->cb(&ev, c->arg);
		c->n++;
	}
	return piece;
}

int rtnl_events_read(struct rtnl_events *e, void (*cb)(const struct rtnl_event *ev, void *arg),
		     void *arg)
{
	char buf[RTNL_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct events_cb c = { .cb = cb, .arg = arg };

	for (int i = 0; i < READS_MAX; i++) {
		size_t got = 0;
		int res = rtnl_recv(e->fd, buf, sizeof(buf), &got);

		/*
		 * After a loss the kernel drops all events until the queue is empty, so the dumps are requested only
		 * when the queue is empty.
		 */
		if (res == -EAGAIN) {
			res = e->stale && !e->dumping ? start_dump(e) : 0;
			return res ? res : c.n;
		}
		if (res == -ENOBUFS) {
			rtnl_events_lost(e);
			continue;
		}
		if (!res)
			res = take_all(e, buf, got, &c);
		if (res < 0)
			return res;
		/*
		 * One call reads only one piece of a dump. After the last piece of a dump the loop
		 * continues and requests the next dump, because nothing else would make the socket
		 * readable.
		 */
		if (res && (e->dumping || !e->stale))
			break;
	}
	return c.n;
}
