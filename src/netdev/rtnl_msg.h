/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_RTNL_MSG_H
#define NETDEV_RTNL_MSG_H

/* Functions that the rtnl_*.c files share: they make requests, and decode messages */

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "netdev/rtnl.h"

#define RTNL_BUF 32768 /* largest number of octets that the kernel sends as one piece of a dump */

/* Called for each message of an answer. After a return value other than 0 the function is not called again. */
typedef int (*rtnl_msg_cb)(const struct nlmsghdr *nlh, void *arg);

/*
 * rtnl_begin() - Begin a message in @buf with a fixed part of @extra octets, all zero. Return: the
 * header; *ret_body points to the fixed part
 */
struct nlmsghdr *rtnl_begin(void *buf, uint16_t type, uint16_t flags, size_t extra,
			    void **ret_body);

/**
 * rtnl_talk() - Send a request and wait for its answers
 *
 * Return: 0; the value other than 0 that @cb returned; -errno of the kernel, whose text is then in
 * nl->err; -ETIMEDOUT; -EAGAIN: the kernel's table changed during a dump
 */
int rtnl_talk(struct rtnl *nl, struct nlmsghdr *nlh, rtnl_msg_cb cb, void *arg);

/* rtnl_send() - Send a request without waiting for answers. Return: 0 or -errno */
int rtnl_send(struct rtnl *nl, struct nlmsghdr *nlh);

/**
 * rtnl_take() - Wait for the next part of the answer to the last request
 * @stop:	set to the return value of @cb, or to -EAGAIN if the table changed during the dump.
 *		While *@stop is not 0, @cb is not called
 *
 * Return: 1: the answer is not complete; 0: the answer is complete; -errno of the kernel; -ETIMEDOUT
 */
int rtnl_take(struct rtnl *nl, rtnl_msg_cb cb, void *arg, int *stop);

/**
 * rtnl_recv() - Receive messages of the kernel
 * @ret_got:	number of octets; 0 for a message that another process sent, so that the caller
 *		ignores it. The kernel sends from netlink port 0; any process with CAP_NET_ADMIN in
 *		the namespace may send from another port
 *
 * Return: 0; -EAGAIN: no message has arrived; -errno
 */
int rtnl_recv(int fd, void *buf, size_t len, size_t *ret_got);

/*
 * rtnl_end_status() - Return the status that a message NLMSG_DONE or NLMSG_ERROR contains: 0;
 * -errno of the kernel; -EBADMSG
 */
int rtnl_end_status(const struct nlmsghdr *nlh);

/* Decoders return 0 or -EBADMSG. */
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
