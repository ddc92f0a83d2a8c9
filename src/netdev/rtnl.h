/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_RTNL_H
#define NETDEV_RTNL_H

/*
 * DOC: rtnetlink
 *
 * A netlink socket belongs to the namespace in which it was opened, even if a process in another
 * namespace uses it. A request that changes something succeeds only if both the process that opened
 * the socket and the process that sends the request have CAP_NET_ADMIN. So the main process, which
 * has dropped this capability, can dump and listen on sockets that the privileged helper process
 * made, but asks the helper process for changes.
 *
 * A socket has one request at a time. The kernel answers the request before sendto() returns.
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
	char err[RTNL_ERR_MAX]; /* text with which the kernel explained its last refusal, or "" */
	/*
	 * true if the table changed during the last dump, so that entries may be missing or
	 * repeated
	 */
	bool changed;
};

enum rtnl_family {
	RTNL_V4,
	RTNL_V6,
};

struct rtnl_ip {
	enum rtnl_family family;
	uint8_t addr[16]; /* address in network order; IPv4 uses the first four octets */
};

/* rtnl_open() - Open a socket in the caller's namespace. Return: 0 or -errno */
int rtnl_open(struct rtnl *ret);

/* rtnl_attach() - Use a socket that another process opened, and take ownership of it */
void rtnl_attach(struct rtnl *ret, int fd);
void rtnl_close(struct rtnl *nl);

/* ----- links */

struct rtnl_link {
	int ifindex;
	uint32_t flags; /* IFF_* flags, such as IFF_UP and IFF_LOWER_UP */
	uint32_t mtu;
	uint32_t txqlen;
	uint8_t operstate; /* IF_OPER_* */
	uint8_t carrier;
	bool has_mac;
	uint8_t mac[6];
	char name[IFNAMSIZ];
	/*
	 * kind of the link, such as "tun" for a TAP; "" if it has no kind, or if the name is longer
	 * than this array
	 */
	char kind[IFNAMSIZ];
	/* alias of the link; "" if it has no alias, or if the alias is longer than this array */
	char alias[24];
};

enum rtnl_link_set {
	RTNL_SET_UP = 1 << 0,
	RTNL_SET_DOWN = 1 << 1,
	RTNL_SET_MTU = 1 << 2,
	RTNL_SET_MAC = 1 << 3,
	RTNL_SET_TXQLEN = 1 << 4,
	/* Do not make an fe80:: address from the MAC. This must be set before the link goes up */
	RTNL_SET_ADDRGEN_NONE = 1 << 5,
	/* set the interface identifier for autoconfigured IPv6 addresses */
	RTNL_SET_TOKEN = 1 << 6,
};

struct rtnl_link_conf {
	/* mask of enum rtnl_link_set: the attributes to change, whose values are in the other members */
	uint32_t set;
	uint32_t mtu;
	uint32_t txqlen;
	uint8_t mac[6];
	uint8_t token[8]; /* low 64 bits of autoconfigured IPv6 addresses, in network order */
};

/**
 * rtnl_link_set() - Change several attributes of a link by one request
 *
 * Return: 0 or -errno. The kernel refuses a token with -EINVAL while forwarding is on or accept_ra
 * is off for the interface; nl->err says which of the two is the reason.
 */
int rtnl_link_set(struct rtnl *nl, int ifindex, const struct rtnl_link_conf *conf);

/* rtnl_link_alias() - Set the alias of a link, which moves with the link to other namespaces. Return: 0 or -errno */
int rtnl_link_alias(struct rtnl *nl, int ifindex, const char *alias);

/*
 * rtnl_link_move() - Move a link to the namespace @ns_fd, in which it is down and has the name @name
 *
 * The link loses its addresses and neighbours, and it may get another index. Return: 0; -ENODEV;
 * -EEXIST: another link has the name; -errno
 */
int rtnl_link_move(struct rtnl *nl, int ifindex, int ns_fd, const char *name);

/*
 * rtnl_link_get() - Find a link by index, or by name if @ifindex is 0. Return: 0; -ENODEV; -errno
 */
int rtnl_link_get(struct rtnl *nl, int ifindex, const char *name, struct rtnl_link *ret);

/* ----- addresses and neighbours */

struct rtnl_addr {
	int ifindex;
	struct rtnl_ip ip;
	uint8_t plen;
	uint8_t scope; /* RT_SCOPE_* */
	/*
	 * IFA_F_*; while IFA_F_TENTATIVE is set, duplicate address detection is running, and the
	 * address cannot be used
	 */
	uint32_t flags;
};

/* rtnl_addr_add() - Add an address to a link. Return: 0; -EEXIST; -errno */
int rtnl_addr_add(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen);

/* rtnl_addr_del() - Delete an address of a link. Return: 0; -EADDRNOTAVAIL; -errno */
int rtnl_addr_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, uint8_t plen);

/* rtnl_neigh_del() - Delete the neighbour entry of an address. Return: 0; -ENOENT; -errno */
int rtnl_neigh_del(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip);

/*
 * rtnl_neigh_use() - Make the kernel resolve an address, as if a packet were to be sent to it.
 * Return: 0 or -errno
 *
 * rtnl_neigh_get() shows whether the kernel has resolved the address.
 */
int rtnl_neigh_use(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip);

/* The route of a packet to an address */
struct rtnl_route {
	int ifindex; /* interface by which the packet leaves */
	/* true if .gateway is the next hop; false if the destination is the next hop */
	bool has_gateway;
	struct rtnl_ip gateway;
};

/*
 * rtnl_route_get() - Ask the kernel for the route to an address. Return: 0; -ENETUNREACH or -EHOSTUNREACH: there is
 * no route; -errno
 */
int rtnl_route_get(struct rtnl *nl, const struct rtnl_ip *ip, struct rtnl_route *ret);

#define RTNL_HW_MAX 20 /* octets of the longest hardware address, that of InfiniBand */

struct rtnl_neigh {
	int ifindex;
	struct rtnl_ip ip;
	/*
	 * octets of .hw: 6 for a MAC, 20 for InfiniBand; 0 if the entry has no hardware address, or
	 * one that is longer than .hw
	 */
	uint8_t hw_len;
	uint8_t hw[RTNL_HW_MAX];
	uint16_t state; /* NUD_* */
};

/**
 * rtnl_neigh_get() - Find the neighbour entry of one IP address
 *
 * Return: 0; -ENOENT: there is no such entry; -EOPNOTSUPP: the kernel is older than Linux 5.0;
 * -errno
 */
int rtnl_neigh_get(struct rtnl *nl, int ifindex, const struct rtnl_ip *ip, struct rtnl_neigh *ret);

/*
 * rtnl_neigh_resolved() - Tell whether the entry has a hardware address, which the kernel has
 * learnt or the administrator has set
 */
bool rtnl_neigh_resolved(const struct rtnl_neigh *n);

/* rtnl_neigh_failed() - Tell whether the kernel has tried in vain to resolve the address of the entry */
bool rtnl_neigh_failed(const struct rtnl_neigh *n);

/*
 * rtnl_neigh_learnt() - Tell whether the kernel has learnt the entry; false if the administrator
 * has made it permanent
 */
bool rtnl_neigh_learnt(const struct rtnl_neigh *n);

/*
 * rtnl_neigh_dump_start() - Ask for the neighbours of a link, to be read by rtnl_neigh_dump_piece()
 * Return: 0 or -errno
 */
int rtnl_neigh_dump_start(struct rtnl *nl, int ifindex, enum rtnl_family family);

/**
 * rtnl_neigh_dump_piece() - Read the next piece of a dump, at most 32 KiB
 *
 * The socket must not be used for anything else until the dump has ended. If the kernel reports that the table changed
 * during the dump, nl->changed is set.
 * Return: 1: the dump continues; 0: the dump has ended; -ETIMEDOUT: no message came (a non-blocking socket returns this at
 * once); another -errno: the dump failed and has ended
 */
int rtnl_neigh_dump_piece(struct rtnl *nl, int ifindex,
			  int (*cb)(const struct rtnl_neigh *n, void *arg), void *arg);

/* ----- events */

enum rtnl_event_type {
	RTNL_LINK_NEW, /* a link was made or changed; .link.flags has its state */
	RTNL_LINK_DEL, /* a link was deleted, or moved to another namespace */
	RTNL_ADDR_NEW,
	RTNL_ADDR_DEL,
	/* The interface became a member of a multicast group; only Linux 6.15 and later send this event */
	RTNL_GROUP_NEW,
	RTNL_GROUP_DEL,
	/* For one address family, the kernel began or stopped routing multicast on an interface */
	RTNL_MC_FORWARDING,
};

struct rtnl_event {
	enum rtnl_event_type type;
	int ifindex;
	struct rtnl_link link; /* the link, for RTNL_LINK_* */
	/* The address for RTNL_ADDR_*; for RTNL_GROUP_* .addr.ip is the group */
	struct rtnl_addr addr;
	/* Value for RTNL_MC_FORWARDING */
	struct {
		enum rtnl_family family;
		bool on;
	} mc;
};

/*
 * rtnl_events_open() - Open a non-blocking socket for all events of enum rtnl_event_type in the
 * caller's namespace
 * Return: 0 or -errno
 */
int rtnl_events_open(int *ret_fd);

/* Reader of a socket that rtnl_events_open() made. At first all members except .fd are zero. */
struct rtnl_events {
	int fd;
	unsigned int stale; /* mask of the dumps that must be requested, because events were lost */
	/* bit of the dump that the kernel is sending; 0: the kernel sends no dump */
	unsigned int dumping;
	/* number of times that a dump was repeated because links changed while it was sent */
	unsigned int repeats;
};

/**
 * rtnl_events_read() - Call @cb for the events that are waiting
 * @cb:		must not close @e->fd
 *
 * If the kernel had to drop events, this function requests dumps of all links over the same socket.
 * Later calls report each link as RTNL_LINK_NEW. They report the link's multicast forwarding as
 * RTNL_MC_FORWARDING, once for IPv4 and once for IPv6. So the last event about an existing link
 * always has the link's present state. The event that a link was deleted may be lost.
 *
 * One call reads a limited number of messages, or one piece of the dump, 32 KiB at most. If more messages wait, the
 * socket stays readable.
 * Return: number of events; -errno
 */
int rtnl_events_read(struct rtnl_events *e, void (*cb)(const struct rtnl_event *ev, void *arg),
		     void *arg);

/*
 * rtnl_events_lost() - Let the next calls of rtnl_events_read() report all links and their
 * multicast forwarding, as after a loss of events
 */
void rtnl_events_lost(struct rtnl_events *e);

/**
 * rtnl_event_decode() - Decode one message of the kernel
 * @nlh:	complete message, padded to NLMSG_ALIGNTO, whose length the caller has checked
 *
 * Return: 0; -EBADMSG; -EOPNOTSUPP if enum rtnl_event_type does not have the message's type
 */
int rtnl_event_decode(struct rtnl_event *ret, const struct nlmsghdr *nlh);

#endif
