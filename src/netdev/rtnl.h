/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_RTNL_H
#define NETDEV_RTNL_H

/*
 * DOC: rtnetlink
 *
 * A netlink socket belongs to the namespace in which it was opened, whoever uses it
 * later. What changes something needs CAP_NET_ADMIN both of the opener and of the
 * caller: the main process, which has dropped it, can dump and listen on sockets that
 * the helper made, and asks the helper to change things.
 *
 * One request at a time; the kernel answers before sendto() returns.
 */

#include <linux/netlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTNL_ERR_MAX 96

struct rtnl {
	int fd;
	uint32_t seq;
	char err[RTNL_ERR_MAX]; /* the kernel's own words on the last refusal, or "" */
};

enum rtnl_family {
	RTNL_V4,
	RTNL_V6,
};

struct rtnl_ip {
	enum rtnl_family family;
	uint8_t addr[16]; /* network order; IPv4 in the first four */
};

/* rtnl_open() - A socket in the caller's namespace; 0 or -errno */
int rtnl_open(struct rtnl *ret);

/* rtnl_attach() - Use a socket that another process opened; taken */
void rtnl_attach(struct rtnl *ret, int fd);
void rtnl_close(struct rtnl *nl);

/* ----- links */

struct rtnl_link {
	int ifindex;
	uint32_t flags; /* IFF_UP, IFF_RUNNING, IFF_LOWER_UP */
	uint32_t mtu;
	uint32_t txqlen;
	uint8_t operstate; /* IF_OPER_* */
	uint8_t carrier;
	bool has_mac;
	uint8_t mac[6];
	char name[IFNAMSIZ];
};

enum rtnl_link_set {
	RTNL_SET_UP = 1 << 0,
	RTNL_SET_DOWN = 1 << 1,
	RTNL_SET_MTU = 1 << 2,
	RTNL_SET_MAC = 1 << 3,
	RTNL_SET_TXQLEN = 1 << 4,
	RTNL_SET_ADDRGEN_NONE = 1 << 5, /* no fe80:: from the MAC; before the link goes up */
	RTNL_SET_TOKEN = 1 << 6, /* interface identifier for autoconfigured IPv6 addresses */
};

struct rtnl_link_conf {
	uint32_t set; /* mask of enum rtnl_link_set: which members count */
	uint32_t mtu;
	uint32_t txqlen;
	uint8_t mac[6];
	uint8_t token[8]; /* the low 64 bits of an address, network order */
};

/**
 * rtnl_link_set() - Change several things of a link by one request
 *
 * Return: 0 or -errno. A token is refused with -EINVAL while forwarding is on or
 * accept_ra is off for the interface, nl->err says which.
 */
int rtnl_link_set(struct rtnl *nl, int ifindex, const struct rtnl_link_conf *conf);

/* rtnl_link_get() - By index, or by name if @ifindex is 0. 0; -ENODEV; -errno */
int rtnl_link_get(struct rtnl *nl, int ifindex, const char *name, struct rtnl_link *ret);

/**
 * rtnl_link_dump() - @cb for every link
 *
 * Return: 0; what @cb returned other than 0, which ends the dump; -EAGAIN something changed
 * meanwhile, so the dump may lack or repeat links; -errno
 */
int rtnl_link_dump(struct rtnl *nl, int (*cb)(const struct rtnl_link *l, void *arg), void *arg);

/* ----- addresses, neighbours, routes */

struct rtnl_addr {
	int ifindex;
	struct rtnl_ip ip;
	uint8_t plen;
	uint8_t scope; /* RT_SCOPE_* */
	uint32_t flags; /* IFA_F_*; IFA_F_TENTATIVE: not usable before detection ends */
};

/* rtnl_addr_add() - 0; -EEXIST; -errno */
int rtnl_addr_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen);
/* rtnl_addr_del() - 0; -EADDRNOTAVAIL; -errno */
int rtnl_addr_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen);

/* rtnl_addr_dump() - Addresses of a link, of all links if @ifindex is 0; as rtnl_link_dump() */
int rtnl_addr_dump(struct rtnl *nl, int ifindex, int (*cb)(const struct rtnl_addr *a, void *arg),
		   void *arg);

/* rtnl_addr_tentative() - 1 while a link has an IPv6 address under duplicate detection; 0; -errno */
int rtnl_addr_tentative(struct rtnl *nl, int ifindex);

/* rtnl_neigh_add() - A reachable entry, replacing one that exists. 0 or -errno */
int rtnl_neigh_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, const uint8_t mac[6]);

/* rtnl_neigh_del() - Delete one entry. 0; -ENOENT; -errno */
int rtnl_neigh_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip);

/**
 * rtnl_neigh_del_mac() - Delete all entries of a link, IPv4 and IPv6, that name a MAC
 *
 * Permanent entries are the administrator's and stay.
 * Return: how many were deleted, or -errno
 */
int rtnl_neigh_del_mac(struct rtnl *nl, int ifindex, const uint8_t mac[6]);

struct rtnl_neigh {
	int ifindex;
	struct rtnl_ip ip;
	bool has_mac;
	uint8_t mac[6];
	uint16_t state; /* NUD_* */
};

/* rtnl_neigh_dump() - Neighbours of a link, IPv4 and IPv6; as rtnl_link_dump() */
int rtnl_neigh_dump(struct rtnl *nl, int ifindex, int (*cb)(const struct rtnl_neigh *n, void *arg),
		    void *arg);

/* rtnl_route_default() - Add a default route via @gw. 0; -EEXIST; -ENETUNREACH; -errno */
int rtnl_route_default(struct rtnl *nl, int ifindex, const struct rtnl_ip *gw);

/* ----- events */

enum rtnl_event_type {
	RTNL_LINK_NEW, /* made or changed: look at link.flags */
	RTNL_LINK_DEL, /* deleted, or moved to another namespace */
	RTNL_ADDR_NEW,
	RTNL_ADDR_DEL,
	RTNL_GROUP_NEW, /* a membership; only from kernels that tell (6.15) */
	RTNL_GROUP_DEL,
};

struct rtnl_event {
	enum rtnl_event_type type;
	int ifindex;
	struct rtnl_link link; /* RTNL_LINK_* */
	struct rtnl_addr addr; /* RTNL_ADDR_* ; RTNL_GROUP_*: the group in addr.ip */
};

/* rtnl_events_open() - A non-blocking socket that hears of links and addresses here. 0 or -errno */
int rtnl_events_open(int *ret_fd);

/**
 * rtnl_events_read() - Deliver what is waiting
 * @cb:		may not close @fd
 *
 * A flood is read in portions: the socket stays readable.
 * Return: number of events; -ENOBUFS some were lost: dump and go on; -errno
 */
int rtnl_events_read(int fd, void (*cb)(const struct rtnl_event *ev, void *arg), void *arg);

/**
 * rtnl_event_decode() - One message as the kernel sends it
 * @nlh:	a whole message, its length checked by the caller, padded to NLMSG_ALIGNTO
 *
 * Return: 0; -EBADMSG; -EOPNOTSUPP for a type that is of no interest
 */
int rtnl_event_decode(struct rtnl_event *ret, const struct nlmsghdr *nlh);

#endif
