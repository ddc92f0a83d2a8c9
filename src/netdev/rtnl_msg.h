/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_RTNL_MSG_H
#define NETDEV_RTNL_MSG_H

/* What the rtnl_*.c files share: sending a request, decoding messages. */

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "netdev/rtnl.h"

#define RTNL_BUF 32768 /* what the kernel fills at most in one piece of a dump */

/* For each message of an answer; other than 0 ends it. */
typedef int (*rtnl_msg_cb)(const struct nlmsghdr *nlh, void *arg);

/* rtnl_begin() - A message with a zeroed fixed part of @extra octets in @buf */
struct nlmsghdr *rtnl_begin(void *buf, uint16_t type, uint16_t flags, size_t extra,
			    void **ret_body);

/**
 * rtnl_talk() - Send a request and take its answers
 *
 * Return: 0; what @cb returned; -errno of the kernel, nl->err says more; -ETIMEDOUT;
 * -EAGAIN a dump was overtaken by changes
 */
int rtnl_talk(struct rtnl *nl, struct nlmsghdr *nlh, rtnl_msg_cb cb, void *arg);

/* Decoders: 0 or -EBADMSG. */
int rtnl_link_decode(struct rtnl_link *ret, const struct nlmsghdr *nlh);
int rtnl_addr_decode(struct rtnl_addr *ret, const struct nlmsghdr *nlh);

static inline size_t rtnl_ip_len(enum rtnl_family family)
{
	return family == RTNL_V4 ? 4 : 16;
}

static inline uint8_t rtnl_ip_af(enum rtnl_family family)
{
	return family == RTNL_V4 ? AF_INET : AF_INET6;
}

#endif
