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

/* time limit for an answer of the kernel; a kernel that works answers at once */
#define REPLY_TIMEOUT_S 5

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
	/*
	 * Requests work without these options, too. The options give better error messages,
	 * stricter checks and a time limit.
	 */
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

/* Stores the kernel's text about an error in nl->err, if the message has such a text. */
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

int rtnl_end_status(const struct nlmsghdr *nlh)
{
	const int *status = mnl_nlmsg_get_payload(nlh);

	/*
	 * NLMSG_DONE and NLMSG_ERROR begin with the status, but old kernels end a dump with an
	 * NLMSG_DONE without a status.
	 */
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*status))
		return nlh->nlmsg_type == NLMSG_DONE ? 0 : -EBADMSG;
	return *status > 0 ? -EBADMSG : *status;
}

int rtnl_recv(int fd, void *buf, size_t len, size_t *ret_got)
{
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t got;

	do
		got = recvfrom(fd, buf, len, 0, (struct sockaddr *)&from, &from_len);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	*ret_got = from.nl_pid ? 0 : (size_t)got;
	return 0;
}

/*
 * Processes one message of an answer. Returns 1 if more messages follow; 0 or -errno if the answer
 * ends with this message
 */
static int take_msg(struct rtnl *nl, const struct nlmsghdr *nlh, rtnl_msg_cb cb, void *arg,
		    int *stop)
{
	if (nlh->nlmsg_seq != nl->seq)
		return 1; /* the message answers an earlier request, which timed out */
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR) {
		nl->changed = true;
		*stop = -EAGAIN;
	}
	if (nlh->nlmsg_type == NLMSG_DONE)
		return rtnl_end_status(nlh);
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct nlmsgerr))
			return -EBADMSG;
		take_ext_ack(nl, nlh);
		return rtnl_end_status(nlh);
	}
	/* All messages of the answer have to be read, even if the caller needs no more of them. */
	if (cb && !*stop)
		*stop = cb(nlh, arg);
	return 1;
}

int rtnl_send(struct rtnl *nl, struct nlmsghdr *nlh)
{
	nl->err[0] = 0;
	nl->changed = false;
	nlh->nlmsg_seq = ++nl->seq;
	/*
	 * NLM_F_DUMP consists of two bits, each of which means something else in a request for a
	 * change. So a request is a dump only if both bits are set.
	 */
	if ((nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		nlh->nlmsg_flags |= NLM_F_ACK;
	return send(nl->fd, nlh, nlh->nlmsg_len, 0) < 0 ? -errno : 0;
}

int rtnl_take(struct rtnl *nl, rtnl_msg_cb cb, void *arg, int *stop)
{
	char buf[RTNL_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *m = (const void *)buf;
	size_t got = 0;
	int left, res = rtnl_recv(nl->fd, buf, sizeof(buf), &got);

	if (res)
		return res == -EAGAIN ? -ETIMEDOUT : res;
	left = (int)got;
	res = 1;
	for (; res == 1 && mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left))
		res = take_msg(nl, m, cb, arg, stop);
	return res;
}

int rtnl_talk(struct rtnl *nl, struct nlmsghdr *nlh, rtnl_msg_cb cb, void *arg)
{
	int stop = 0, res = rtnl_send(nl, nlh);

	if (res)
		return res;
	do
		res = rtnl_take(nl, cb, arg, &stop);
	while (res == 1);
	return res ? res : stop;
}

/* ----- changes */

#define REQ_BUF 512

/* Append an IPv4 or IPv6 address as an attribute. */
static void put_ip(struct nlmsghdr *nlh, uint16_t attr, const struct rtnl_ip *ip)
{
	mnl_attr_put(nlh, attr, rtnl_ip_len(ip->family), ip->addr);
}

/* Begin a request about one address. */
static struct nlmsghdr *begin_addr(void *buf, uint16_t type, uint16_t flags, int ifindex,
				   const struct rtnl_ip *ip, uint8_t plen)
{
	struct ifaddrmsg *ifa;
	struct nlmsghdr *nlh;
	void *body;

	nlh = rtnl_begin(buf, type, flags, sizeof(*ifa), &body);
	ifa = body;
	ifa->ifa_family = rtnl_ip_af(ip->family);
	ifa->ifa_prefixlen = plen;
	ifa->ifa_index = (uint32_t)ifindex;
	/*
	 * The kernel sets the scope of an IPv6 address itself. An IPv4 address gets the scope
	 * global unless the request contains another scope.
	 */
	if (ip->family == RTNL_V4 && ip->addr[0] == 169 && ip->addr[1] == 254)
		ifa->ifa_scope = RT_SCOPE_LINK;
	put_ip(nlh, IFA_LOCAL, ip);
	return nlh;
}

int rtnl_addr_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *nlh =
		begin_addr(buf, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, ip, plen);

	put_ip(nlh, IFA_ADDRESS, ip);
	return rtnl_talk(nl, nlh, NULL, NULL);
}

int rtnl_addr_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen)
{
	char buf[REQ_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));

	return rtnl_talk(nl, begin_addr(buf, RTM_DELADDR, 0, ifindex, ip, plen), NULL, NULL);
}
