/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DOC_PLATFORM_H
#define DOC_PLATFORM_H

/*
 * Functions that the programs of this folder share. They print one TAP line for each fact, and make
 * namespaces in which the facts are tried.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int facts, wrong;

static inline void fact(bool holds, const char *text)
{
	printf("%s %d - %s\n", holds ? "ok" : "not ok", ++facts, text);
	wrong += !holds;
}

static inline int done(void)
{
	printf("1..%d\n", facts);
	return wrong ? 1 : 0;
}

/* End the test as skipped, because the machine lacks something. */
static inline void lacks(const char *what)
{
	printf("1..0 # skip %s: %s\n", what, strerror(errno));
	exit(0);
}

static inline int here(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		lacks("/proc/self/ns/net");
	return fd;
}

static inline void go(int ns)
{
	if (setns(ns, CLONE_NEWNET)) {
		perror("setns");
		exit(1);
	}
}

/* Enter a new network namespace. */
static inline void go_new(void)
{
	if (unshare(CLONE_NEWNET))
		lacks("a network namespace");
}

static inline int open_tun(void)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		lacks("/dev/net/tun");
	return fd;
}

/* Turn @fd, from open_tun(), into the TAP t0. */
static inline void make_tap(int fd, int flags)
{
	struct ifreq ifr = { .ifr_name = "t0" };

	ifr.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | flags);
	if (ioctl(fd, TUNSETIFF, &ifr))
		lacks("a TAP");
}

static inline int tap(int flags)
{
	int fd = open_tun();

	make_tap(fd, flags);
	return fd;
}

/* Return the flags of an interface in this namespace, or -1 if there is none. */
static inline int if_flags(const char *name)
{
	struct ifreq ifr = { 0 };
	int s = socket(AF_INET, SOCK_DGRAM, 0), res;

	strcpy(ifr.ifr_name, name);
	res = ioctl(s, SIOCGIFFLAGS, &ifr) ? -1 : (unsigned short)ifr.ifr_flags;
	close(s);
	return res;
}

static inline void set_up(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(ifr.ifr_name, name);
	if (ioctl(s, SIOCSIFFLAGS, &ifr))
		perror("SIOCSIFFLAGS");
	close(s);
}

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

/* An rtnetlink request about a link: its headers, and the attributes that link_req_put() appends. */
struct link_req {
	struct nlmsghdr nlh;
	struct ifinfomsg ifi;
	char attrs[128];
};

static inline void link_req_init(struct link_req *r, unsigned short type, unsigned short flags)
{
	memset(r, 0, sizeof(*r));
	r->nlh.nlmsg_len = NLMSG_LENGTH(sizeof(r->ifi));
	r->nlh.nlmsg_type = type;
	r->nlh.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
}

/*
 * Append an attribute with @len octets of content. If it is a nested attribute, the attributes that
 * are appended until link_req_close() belong to it.
 */
static inline struct rtattr *link_req_put(struct link_req *r, unsigned short type, const void *data,
					  size_t len)
{
	struct rtattr *a = (struct rtattr *)((char *)r + NLMSG_ALIGN(r->nlh.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	r->nlh.nlmsg_len = NLMSG_ALIGN(r->nlh.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static inline void link_req_close(struct link_req *r, struct rtattr *nest)
{
	nest->rta_len = (unsigned short)((char *)r + r->nlh.nlmsg_len - (char *)nest);
}

/* Send the request and return the kernel's answer: 0 or -errno, or 1 if the answer was data. */
static inline int link_req_send(int nl, const struct link_req *r)
{
	char buf[32768] __attribute__((aligned(4)));
	struct nlmsghdr *h = (struct nlmsghdr *)buf;

	if (send(nl, r, r->nlh.nlmsg_len, 0) < 0 || recv(nl, buf, sizeof(buf), 0) < 0)
		return -errno;
	if (h->nlmsg_type == NLMSG_ERROR)
		return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
	return 1;
}

#endif
