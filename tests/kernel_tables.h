/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_KERNEL_TABLES_H
#define TESTS_KERNEL_TABLES_H

/*
 * Requests to the kernel's tables of addresses and neighbours. Only tests need them, so src/netdev
 * does not have them.
 */

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>

#include "netdev/rtnl_msg.h"

/*
 * kernel_neigh_put() - Add a neighbour in the state @state (NUD_...), or replace the neighbour's
 * existing entry. Return: 0 or -errno
 */
static inline int kernel_neigh_put(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip,
				   const uint8_t mac[6], uint16_t state)
{
	char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE,
					  sizeof(struct ndmsg), &body);
	struct ndmsg *ndm = body;

	ndm->ndm_family = rtnl_ip_af(ip->family);
	ndm->ndm_ifindex = ifindex;
	ndm->ndm_state = state;
	mnl_attr_put(nlh, NDA_DST, rtnl_ip_len(ip->family), ip->addr);
	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	return rtnl_talk(nl, nlh, NULL, NULL);
}

static inline int kernel_neigh_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip,
				   const uint8_t mac[6])
{
	return kernel_neigh_put(nl, ifindex, ip, mac, NUD_REACHABLE);
}

struct kernel_addr_cb {
	int ifindex;
	int (*cb)(const struct rtnl_addr *a, void *arg);
	void *arg;
};

static inline int kernel_on_addr(const struct nlmsghdr *nlh, void *arg)
{
	const struct kernel_addr_cb *c = arg;
	struct rtnl_addr a;

	if (nlh->nlmsg_type != RTM_NEWADDR)
		return 0;
	if (rtnl_addr_decode(&a, nlh))
		return -EBADMSG;
	return a.ifindex == c->ifindex ? c->cb(&a, c->arg) : 0;
}

/*
 * kernel_addr_dump() - Call @cb for each address of a link, until @cb returns another value than 0
 *
 * Return: 0; -errno; the value of @cb if it is not 0
 */
static inline int kernel_addr_dump(struct rtnl *nl, int ifindex,
				   int (*cb)(const struct rtnl_addr *a, void *arg), void *arg)
{
	char buf[128] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct kernel_addr_cb c = { ifindex, cb, arg };
	void *body;

	/* rtnl_begin() has set the family to 0 (AF_UNSPEC), which means all families. */
	return rtnl_talk(nl,
			 rtnl_begin(buf, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg), &body),
			 kernel_on_addr, &c);
}

#endif
