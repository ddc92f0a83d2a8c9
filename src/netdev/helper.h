/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_HELPER_H
#define NETDEV_HELPER_H

/*
 * DOC: The privileged helper
 *
 * A small process that makes namespaces, TAPs and addresses for the main process, which
 * drops its privileges as soon as the helper runs. It stays, for interfaces that P_Keys
 * make later. It is the trust boundary: what it is asked is checked, and it touches only
 * TAPs that it made itself, and sysctls of those and of namespaces it made itself.
 *
 *	struct netdev_helper *h;
 *	struct netdev_ns_files files;
 *	struct netdev_tap_conf conf = { .ifname = "uib0", .mtu = 2044, .mac = { 2, ... } };
 *	struct tap tap;
 *	uint32_t ns;
 *	int fd, ifindex;
 *
 *	err = netdev_helper_start(0, &h);		first thing, before threads
 *	err = netdev_ns_open(h, "h1", &ns, NULL);	name, path, pid:N; NULL: the daemon's own
 *	err = netdev_ns_files(h, ns, NETDEV_FILE_EVENTS | NETDEV_FILE_GROUPS, &files);
 *	err = netdev_tap_create(h, ns, &conf, &fd, &ifindex);
 *	if (err)
 *		log("%s: %s", conf.ifname, netdev_helper_error(h));
 *	err = tap_attach(&tap, fd, TAP_OFFLOAD_DEFAULT);	now poll tap.fd, files.events
 *	err = netdev_link_up(h, ns, ifindex, true);
 *	err = netdev_addr_add(h, ns, ifindex, &ip, 24);
 *	privs_drop_caps(...); privs_seccomp(...);
 *	tap_set_carrier(&tap, true);			when the IPoIB link is up
 *	...
 *	n = groups_read(AF_INET, files.igmp, ifindex, groups, max, &n);
 *	err = netdev_ns_check(h, ns);			-ESTALE after `ip netns del h1`
 *	tap_close(&tap);				deletes the interface, which takes 16 ms
 *	netdev_tap_forget(h, ns, ifindex);
 *	netdev_helper_stop(h);				removes the namespaces it named
 *
 * Calls are synchronous and rare. Each returns 0 or -errno; netdev_helper_error() tells
 * what was refused, netdev_helper_refused() the same for a switch. -ETIMEDOUT and -EPIPE
 * mean that the helper itself is in trouble; netdev_helper_fd() then shows a hang-up.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "netdev/rtnl.h"

#define NETDEV_NS_MAX 4096 /* namespaces at a time */
#define NETDEV_TAP_MAX 16384 /* TAPs at a time */
#define NETDEV_KEY_MAX 128 /* sysctl key, with its final zero */
#define NETDEV_VALUE_MAX 64 /* sysctl value, with its final zero */
#define NETDEV_ERR_MAX 160

struct netdev_helper;

enum netdev_helper_flags {
	/* Make a user namespace and be root in it. Without this flag that is done only
	 * where the caller lacks CAP_NET_ADMIN or CAP_SYS_ADMIN. */
	NETDEV_HELPER_USERNS = 1 << 0,
	/* Never do that: without privileges calls fail with -EPERM. */
	NETDEV_HELPER_NO_USERNS = 1 << 1,
};

/* What the last call was refused for: lets a daemon exit with "the environment lacks ...". */
enum netdev_refusal {
	NETDEV_REFUSED_NONE,
	NETDEV_REFUSED_REQUEST, /* the request is not allowed or makes no sense */
	NETDEV_REFUSED_HELPER, /* the helper is gone or late */
	NETDEV_REFUSED_NETNS, /* opening, making or entering the namespace */
	NETDEV_REFUSED_NAME, /* naming it in /run/netns */
	NETDEV_REFUSED_TUN, /* opening /dev/net/tun: TAPs not permitted here */
	NETDEV_REFUSED_TAP, /* making the TAP: name taken, or no CAP_NET_ADMIN there */
	NETDEV_REFUSED_LINK,
	NETDEV_REFUSED_ADDR,
	NETDEV_REFUSED_NEIGH,
	NETDEV_REFUSED_ROUTE,
	NETDEV_REFUSED_TOKEN,
	NETDEV_REFUSED_SYSCTL,
	NETDEV_REFUSED_FILE, /* a socket or /proc file of the namespace */
};

/**
 * netdev_helper_start() - Fork the helper
 * @flags:	enum netdev_helper_flags
 *
 * To be called by the process, and the thread, that will live to the end: after daemon(3).
 * Raises the soft limit of open files to the hard one: each interface takes some. The
 * helper ends when every copy of the caller's socket is closed, or the caller dies.
 * Return: 0; -EPERM, -EUSERS or -ENOSPC if a user namespace was needed and is forbidden; -errno
 */
int netdev_helper_start(uint32_t flags, struct netdev_helper **ret);

/**
 * netdev_helper_stop() - End the helper and wait for it; NULL is accepted
 *
 * It removes the namespaces it named. Close the TAPs first.
 */
void netdev_helper_stop(struct netdev_helper *h);

/* netdev_helper_fd() - For epoll: EPOLLHUP when the helper is gone; never readable otherwise */
int netdev_helper_fd(const struct netdev_helper *h);

/* netdev_helper_in_userns() - Are the namespaces in a user namespace of the helper's own? */
bool netdev_helper_in_userns(const struct netdev_helper *h);

/* netdev_helper_error() - "making the TAP: Operation not permitted" of the last call, or "" */
const char *netdev_helper_error(const struct netdev_helper *h);
enum netdev_refusal netdev_helper_refused(const struct netdev_helper *h);

/* netdev_helper_set_timeout() - Patience per call; 5000 at the start */
void netdev_helper_set_timeout(struct netdev_helper *h, unsigned int timeout_ms);

/* ----- namespaces */

struct netdev_ns_info {
	bool created; /* made by this helper */
	bool named; /* has a name or path whose end netdev_ns_check() can see */
	char path[272]; /* "/run/netns/h1", "/proc/7/ns/net", or "" */
};

/**
 * netdev_ns_open() - A handle for a namespace
 * @spec:	a name (made if it does not exist), a path, "pid:N"; NULL: the namespace in
 *		which netdev_helper_start() was called
 * @ret_ns:	the same handle for the same namespace, counted
 * @ret_info:	may be NULL
 *
 * In a user namespace no name can be made in /run/netns: a name that does not exist
 * there is then known to this helper only (info->named is false, created is true).
 * Return: 0; -EINVAL @spec; -ENOENT; -EPERM; -errno
 */
int netdev_ns_open(struct netdev_helper *h, const char *spec, uint32_t *ret_ns,
		   struct netdev_ns_info *ret_info);

/* netdev_ns_create() - A handle for a new anonymous namespace. 0 or -errno */
int netdev_ns_create(struct netdev_helper *h, uint32_t *ret_ns);

/* netdev_ns_close() - Give a handle back; the last one lets go, and removes a name it made */
int netdev_ns_close(struct netdev_helper *h, uint32_t ns);

/* netdev_ns_check() - 0; -ESTALE if its name was deleted (see netdev/tap.h), or process N ended */
int netdev_ns_check(struct netdev_helper *h, uint32_t ns);

/**
 * netdev_ns_fds() - What `exec` has to enter, see netns_enter()
 * @ret_user_fd: user namespace, -1 if there is none of the helper's own; may be NULL
 */
int netdev_ns_fds(struct netdev_helper *h, uint32_t ns, int *ret_net_fd, int *ret_user_fd);

enum netdev_file {
	NETDEV_FILE_RTNL = 1 << 0, /* for dumps, see netdev/rtnl.h */
	NETDEV_FILE_EVENTS = 1 << 1, /* rtnl_events_read(), non-blocking */
	NETDEV_FILE_GROUPS = 1 << 2, /* /proc/net/igmp and igmp6 */
};

/* Descriptors of a namespace; -1: not asked for, or (igmp6) the kernel has none. */
struct netdev_ns_files {
	int rtnl;
	int events;
	int igmp;
	int igmp6;
};

/* netdev_ns_files() - Open them; the caller closes them. 0 or -errno */
int netdev_ns_files(struct netdev_helper *h, uint32_t ns, uint32_t files,
		    struct netdev_ns_files *ret);

/**
 * netdev_ns_socket() - An unbound, non-blocking socket of a namespace
 * @family:	AF_UNIX (abstract names are per network namespace), AF_INET or AF_INET6
 * @type:	SOCK_STREAM, SOCK_DGRAM or SOCK_SEQPACKET
 *
 * Return: 0; -EINVAL another family or type; -errno
 */
int netdev_ns_socket(struct netdev_helper *h, uint32_t ns, int family, int type, int *ret_fd);

/* ----- interfaces; @ns and @ifindex are those of a TAP that this helper made */

struct netdev_tap_conf {
	char ifname[IFNAMSIZ];
	uint8_t mac[6]; /* all zero: the kernel's choice */
	uint32_t mtu; /* 0: the kernel's choice, 1500 */
	uint32_t txqlen; /* frames queued towards us; 0: 1000 */
	bool addrgen; /* let the kernel make an fe80:: address from the MAC */
};

/**
 * netdev_tap_create() - Make a TAP, down and without carrier
 * @ret_fd:	for tap_attach()
 *
 * Return: 0; -EBUSY the name is taken; -EPERM, -EACCES, -ENOENT, -ENODEV see
 * netdev_helper_refused(); -errno
 */
int netdev_tap_create(struct netdev_helper *h, uint32_t ns, const struct netdev_tap_conf *conf,
		      int *ret_fd, int *ret_ifindex);

/* netdev_tap_forget() - The TAP was closed, or is the administrator's now. 0; -ENODEV */
int netdev_tap_forget(struct netdev_helper *h, uint32_t ns, int ifindex);

int netdev_link_up(struct netdev_helper *h, uint32_t ns, int ifindex, bool up);
int netdev_link_mtu(struct netdev_helper *h, uint32_t ns, int ifindex, uint32_t mtu);
int netdev_link_mac(struct netdev_helper *h, uint32_t ns, int ifindex, const uint8_t mac[6]);

/* netdev_addr_add() - 0; -EEXIST; -errno */
int netdev_addr_add(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		    uint8_t plen);
/* netdev_addr_del() - 0; -EADDRNOTAVAIL; -errno */
int netdev_addr_del(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		    uint8_t plen);

/**
 * netdev_token_set() - Interface identifier for the addresses that IPv6 autoconfigures
 * @token:	64 bits, network order
 *
 * Return: 0; -EINVAL refused while forwarding is on or accept_ra off (try again later); -errno
 */
int netdev_token_set(struct netdev_helper *h, uint32_t ns, int ifindex, const uint8_t token[8]);

/* netdev_neigh_add() - Make an entry reachable. 0 or -errno */
int netdev_neigh_add(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		     const uint8_t mac[6]);
/* netdev_neigh_del() - Delete the entry of an address. 0; -ENOENT; -errno */
int netdev_neigh_del(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip);
/* netdev_neigh_del_mac() - Delete all entries that name a MAC. How many, or -errno */
int netdev_neigh_del_mac(struct netdev_helper *h, uint32_t ns, int ifindex, const uint8_t mac[6]);

/* netdev_route_default() - Default route via @gw. 0; -EEXIST; -errno */
int netdev_route_default(struct netdev_helper *h, uint32_t ns, int ifindex,
			 const struct rtnl_ip *gw);

/**
 * netdev_sysctl_set() - Set a sysctl of the namespace
 * @ifindex:	of a TAP; its present name replaces the part "IF" of @key. 0: @key has no such
 *		part, and the namespace must be one that this helper made
 * @key:	"net.ipv6.conf.IF.accept_ra", parts of a-z 0-9 _ -
 * @value:	printable
 *
 * Return: 0; -EINVAL @key; -EPERM not allowed; -ENOENT no such key; -errno
 */
int netdev_sysctl_set(struct netdev_helper *h, uint32_t ns, int ifindex, const char *key,
		      const char *value);

#endif
