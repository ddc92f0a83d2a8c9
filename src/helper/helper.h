/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HELPER_HELPER_H
#define HELPER_HELPER_H

/*
 * DOC: The privileged helper
 *
 * A small process that makes namespaces, TAPs and addresses for the main process, which drops its privileges as soon
 * as the instance runs. The helper keeps running, because MTU, MAC, addresses and neighbours of TAPs change later.
 * The helper is the trust boundary, so it checks each request, and changes only TAPs that it made itself.
 *
 *	struct netdev_helper *h;
 *	struct netdev_ns_files files;
 *	struct netdev_tap_conf conf = { .ifname = "uib0", .mtu = 2044, .mac = { 2, ... } };
 *	struct tap tap;
 *	uint32_t ns;
 *	int fd, ifindex;
 *
 *	err = netdev_helper_start(0, &h);		first of all, before threads
 *	err = netdev_ns_open(h, "h1", &ns, NULL);	name, path, pid:N; NULL for the daemon's own
 *	err = netdev_ns_files(h, ns, NETDEV_FILE_EVENTS | NETDEV_FILE_GROUPS, &files);
 *	err = netdev_tap_create(h, ns, &conf, &fd, &ifindex);
 *	if (err)
 *		log("%s: %s", conf.ifname, netdev_helper_error(h));
 *	err = tap_attach(&tap, conf.kind, fd, TAP_OFFLOAD_DEFAULT);	now poll tap.fd, files.events
 *	err = netdev_link_up(h, ns, ifindex, true);
 *	err = netdev_addr_add(h, ns, ifindex, &ip, 24);
 *	netdev_helper_seal(h); privs_isolate(...); privs_seccomp(...);
 *	err = netdev_post_link(h, ns, ifindex, &link, on_done, ctx);	from here on only jobs
 *	...
 *	netdev_helper_dispatch(h);			whenever netdev_helper_fd() is readable
 *	groups_reader_next(&reader, files.igmp, groups, &n);
 *	tap_close(&tap);				deletes the interface, which takes 16 ms
 *	netdev_post_tap_forget(h, ns, ifindex, NULL, NULL);
 *	netdev_helper_stop(h);				removes the named namespaces that it made
 *
 * A call waits for its answer, so calls are for the start and the end of the daemon, when no event loop
 * runs. Each call returns 0 or -errno. netdev_helper_error() returns the refused step as text, and
 * netdev_helper_refused() returns the step as an enum. -ETIMEDOUT and -EPIPE mean that the helper itself
 * has failed; netdev_helper_fd() then has EPOLLHUP. While the event loop runs, the daemon requests
 * changes as jobs.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "netdev/rtnl.h"
#include "netdev/tap.h"

#define NETDEV_NS_MAX 4096 /* largest number of namespaces at a time */
#define NETDEV_TAP_MAX 16384 /* largest number of TAPs at a time */
#define NETDEV_HWS_MAX 256 /* hardware addresses in one job that deletes neighbours */
#define NETDEV_RDMA_MAX 64 /* largest number of ports of RDMA devices */
#define NETDEV_JOBS_MAX 32768 /* largest number of jobs that wait or are under way */
#define NETDEV_ERR_MAX 160

struct netdev_helper;

enum netdev_helper_flags {
	/*
	 * Make a user namespace and be root in it. Without this flag the helper does so only if the caller lacks
	 * CAP_NET_ADMIN or CAP_SYS_ADMIN.
	 */
	NETDEV_HELPER_USERNS = 1 << 0,
	/* Never make a user namespace. Without privileges calls then fail with -EPERM. */
	NETDEV_HELPER_NO_USERNS = 1 << 1,
};

/*
 * The step at which the last call was refused. The step shows the daemon which permission or kernel
 * module is missing.
 */
enum netdev_refusal {
	NETDEV_REFUSED_NONE,
	NETDEV_REFUSED_REQUEST, /* the request is not allowed or makes no sense */
	NETDEV_REFUSED_HELPER, /* the helper has ended, or did not answer in time */
	NETDEV_REFUSED_NETNS, /* opening, making or entering the namespace */
	NETDEV_REFUSED_NAME, /* giving the namespace its name in /run/netns */
	NETDEV_REFUSED_TUN, /* opening /dev/net/tun: TAPs are not permitted in this environment */
	NETDEV_REFUSED_IBTAP, /* opening /dev/ibtap: the kernel module is not loaded */
	/* making the TAP: its name is taken, or CAP_NET_ADMIN is missing */
	NETDEV_REFUSED_TAP,
	NETDEV_REFUSED_LINK,
	NETDEV_REFUSED_ADDR,
	NETDEV_REFUSED_NEIGH,
	NETDEV_REFUSED_TOKEN,
	NETDEV_REFUSED_FILE, /* opening a socket or /proc file of the namespace */
};

/**
 * netdev_helper_start() - Fork the helper
 * @flags:	enum netdev_helper_flags
 *
 * Call this function after daemon(3), from the thread that will live to the end of the process,
 * because the kernel tells the helper that its parent died when this thread ends. The function
 * raises the caller's soft limit of open files to the hard limit, because each interface needs
 * several files. The helper ends when every copy of the caller's socket is closed, or the caller
 * dies.
 * Return: 0; -EPERM, -EUSERS or -ENOSPC if a user namespace was needed and is forbidden; -errno
 */
int netdev_helper_start(uint32_t flags, struct netdev_helper **ret);

/*
 * A task that the helper runs last, after it has removed its namespaces, even if the caller was
 * killed.
 */
struct netdev_helper_end {
	void (*fn)(const void *arg);
	/*
	 * argument of .fn. The helper is forked, so .fn sees the data as they were when the helper was started
	 */
	const void *arg;
	/* File that the helper writes for netdev_helper_clean(), and removes at its end; or NULL */
	const char *record;
};

/*
 * netdev_helper_clean() - Remove the named namespaces that a killed helper left
 * @record:	file in which the helper noted the namespaces; this function removes the file, too
 *
 * A name that now belongs to another namespace is not removed.
 */
void netdev_helper_clean(const char *record);

/* netdev_helper_start_end() - netdev_helper_start() with a last task; @end may be NULL */
int netdev_helper_start_end(uint32_t flags, const struct netdev_helper_end *end,
			    struct netdev_helper **ret);

/*
 * netdev_helper_start_in() - Start a helper for the namespaces of a running instance, whose own helper is sealed
 * @user_fd:	user namespace of the instance's helper (netdev_ns_fds()), which the new helper enters; -1: the instance's
 *		helper has none
 *
 * The caller makes all namespaces and TAPs by calls, and seals the new helper. Then the caller passes the
 * helper to the main process by netdev_helper_detach() and netdev_helper_attach(). Return: as
 * netdev_helper_start()
 */
int netdev_helper_start_in(int user_fd, struct netdev_helper **ret);

/*
 * netdev_helper_detach() - Free the handle of a helper, which keeps running. Return: the socket of
 * the helper, which the caller passes to another process and then closes. @ret_pid gets the process
 * number of the helper. The caller has to wait for the end of this process, and must not end before
 */
int netdev_helper_detach(struct netdev_helper *h, pid_t *ret_pid);

/*
 * netdev_helper_attach() - Make a handle for a helper that another process has detached. On success the handle
 * owns @sock.
 * Return: 0 or -ENOMEM
 */
int netdev_helper_attach(int sock, struct netdev_helper **ret);

/**
 * netdev_helper_seal() - Tell the helper that all namespaces and TAPs have been made
 *
 * The helper drops the privileges that it no longer needs, and filters its system calls. From here
 * on
 *
 * - it makes no namespaces and no TAPs, and changes only the TAPs that it made before;
 * - it makes no device files except those of netdev_post_rdma_nodes();
 * - it opens a namespace only if this was deleted and somebody has made it again under its name
 *   (netdev_post_ns_follow()). The helper then passes the files of this namespace to the daemon;
 * - apart from these files, it passes only AF_UNIX sockets (netdev_post_socket()), and these only
 *   if such a socket was requested before the seal.
 *
 * Return: 0 or -errno
 */
int netdev_helper_seal(struct netdev_helper *h);

/**
 * netdev_helper_stop() - End the helper and wait until it has ended; NULL is accepted
 *
 * The helper removes the named namespaces that it made. Close the TAPs first.
 */
void netdev_helper_stop(struct netdev_helper *h);

/*
 * netdev_helper_fd() - Return the descriptor for epoll: it is readable when jobs were answered, and has EPOLLHUP when
 * the helper has ended
 */
int netdev_helper_fd(const struct netdev_helper *h);

/*
 * netdev_helper_in_userns() - Tell whether the helper has made a user namespace, to which its
 * network namespaces belong
 */
bool netdev_helper_in_userns(const struct netdev_helper *h);

/*
 * netdev_helper_error() - Return the error of the last call as text, such as "making the TAP: Operation not
 * permitted"; "" if the call succeeded
 */
const char *netdev_helper_error(const struct netdev_helper *h);
enum netdev_refusal netdev_helper_refused(const struct netdev_helper *h);

/* ----- namespaces */

struct netdev_ns_info {
	bool created; /* true if this helper made the namespace */
	bool named; /* true if a file names the namespace; .path is this file */
	/*
	 * True if netdev_post_ns_follow() may be called for the namespace. This becomes false when the same namespace
	 * is also opened in another way: by a process number, by another path or with a @spec of NULL
	 */
	bool follows;
	/* for example "/run/netns/h1" or "/proc/7/ns/net"; "" if no file names the namespace */
	char path[272];
};

/**
 * netdev_ns_open() - Get a handle for a namespace
 * @spec:	a name (made if it does not exist), a path, "pid:N"; NULL for the namespace in
 *		which netdev_helper_start() was called
 * @ret_ns:	handle; further calls for the same namespace return the same handle, and each needs a netdev_ns_close()
 *		of its own
 * @ret_info:	may be NULL
 *
 * A helper in a user namespace cannot make a name in /run/netns. If such a helper gets a name that
 * does not exist in /run/netns, it makes a namespace without a file. Only this helper finds the
 * namespace under the name; ret_info->named is false, and .created is true.
 * Return: 0; -EINVAL: @spec is wrong; -ENOENT; -EPERM; -errno
 */
int netdev_ns_open(struct netdev_helper *h, const char *spec, uint32_t *ret_ns,
		   struct netdev_ns_info *ret_info);

/* netdev_ns_create() - Make an anonymous namespace and get a handle for it. 0 or -errno */
int netdev_ns_create(struct netdev_helper *h, uint32_t *ret_ns);

/*
 * netdev_ns_adopt() - Get a handle for the namespace of the descriptor @fd. The caller still has to close @fd
 *
 * The helper does not follow such a namespace. Return: 0; -EINVAL: @fd is no network namespace; -errno
 */
int netdev_ns_adopt(struct netdev_helper *h, int fd, uint32_t *ret_ns);

/*
 * netdev_ns_close() - Release a handle. When the handle was released as often as it was returned, the helper closes
 * the namespace, and removes its name if the helper made this name
 */
int netdev_ns_close(struct netdev_helper *h, uint32_t ns);

/**
 * netdev_ns_fds() - Get descriptors of the namespaces that `uipoib exec` has to enter by
 * netns_enter()
 * @ret_user_fd: user namespace; -1 if the helper made none; may be NULL
 */
int netdev_ns_fds(struct netdev_helper *h, uint32_t ns, int *ret_net_fd, int *ret_user_fd);

enum netdev_file {
	NETDEV_FILE_RTNL = 1 << 0, /* socket for requests, see netdev/rtnl.h */
	NETDEV_FILE_EVENTS = 1 << 1, /* non-blocking socket for rtnl_events_read() */
	NETDEV_FILE_GROUPS = 1 << 2, /* files /proc/net/igmp and igmp6 */
	NETDEV_FILE_DUMP = 1 << 3, /* non-blocking socket for rtnl_neigh_dump_piece() */
};

/*
 * Descriptors of the files of a namespace. A descriptor is -1 if the caller did not ask for the file. .igmp6 is also
 * -1 if the kernel has no IPv6.
 */
struct netdev_ns_files {
	int rtnl;
	int events;
	int igmp;
	int igmp6;
	int dump;
};

/* netdev_ns_files() - Open files of a namespace; the caller has to close them. 0 or -errno */
int netdev_ns_files(struct netdev_helper *h, uint32_t ns, uint32_t files,
		    struct netdev_ns_files *ret);

/**
 * netdev_ns_socket() - Open an unbound, non-blocking AF_UNIX socket in a namespace, for abstract socket addresses in
 * this namespace
 * @type:	SOCK_STREAM, SOCK_DGRAM or SOCK_SEQPACKET
 *
 * Return: 0; -EINVAL: @type is not one of these; -errno
 */
int netdev_ns_socket(struct netdev_helper *h, uint32_t ns, int type, int *ret_fd);

/* ----- interfaces; @ns and @ifindex identify a TAP that this helper made */

struct netdev_tap_conf {
	char ifname[IFNAMSIZ];
	enum tap_kind kind;
	/*
	 * MAC; all zero: the kernel chooses one. Always zero for TAP_INFINIBAND, whose address the owner of the
	 * descriptor sets by ibtap_set_addr()
	 */
	uint8_t mac[6];
	uint32_t mtu; /* MTU; 0 for the kernel's default, 1500 */
	/* largest number of frames that the kernel queues for the reader; 0 for 1000 */
	uint32_t txqlen;
	bool addrgen; /* true to let the kernel make an fe80:: address from the MAC */
	/*
	 * true to let the kernel make stable opaque interface identifiers (RFC 7217) from .stable_secret, for the
	 * fe80:: address and for autoconfigured addresses
	 */
	bool stable;
	uint8_t stable_secret[16];
};

/**
 * netdev_tap_create() - Make a TAP, which is down and has no carrier
 * @ret_fd:	descriptor for tap_attach()
 *
 * Return: 0; -EBUSY: another device has the name; -EPERM, -EACCES, -ENOENT, -ENODEV: see
 * netdev_helper_refused(); -errno
 */
int netdev_tap_create(struct netdev_helper *h, uint32_t ns, const struct netdev_tap_conf *conf,
		      int *ret_fd, int *ret_ifindex);

/**
 * netdev_tap_spare() - Make a TAP that belongs to @ns, but stays in the parking namespace until it
 * is placed
 * @kind:	kind of the TAP
 * @prefix:	beginning of the names that the TAP may get; a name ends with a hexadecimal number of at most four
 *		digits
 * @stable:	true if netdev_post_tap_place() may be called with a secret (struct
 *		netdev_tap_conf.stable)
 * @ret_number:	number of the TAP for netdev_post_tap_place() and netdev_post_tap_park()
 *
 * Return: as netdev_tap_create()
 */
int netdev_tap_spare(struct netdev_helper *h, uint32_t ns, enum tap_kind kind, const char *prefix,
		     bool stable, int *ret_fd, uint32_t *ret_number);

/* netdev_tap_named() - As netdev_tap_spare(), but the only name that the TAP may get is @name */
int netdev_tap_named(struct netdev_helper *h, uint32_t ns, enum tap_kind kind, const char *name,
		     bool stable, int *ret_fd, uint32_t *ret_number);

int netdev_link_up(struct netdev_helper *h, uint32_t ns, int ifindex, bool up);

/* netdev_addr_add() - Add an address. Return: 0; -EEXIST; -errno */
int netdev_addr_add(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		    uint8_t plen);

/* ----- device files of RDMA devices */

/**
 * netdev_rdma_add() - Allow netdev_post_rdma_nodes() to make the device files of the port @port after
 * the seal
 * @port:	DEVICE/PORT, for example "mlx5_0/1"
 * @ret_folder:	folder of the device files, a mount that is attached nowhere (fsmount(2)); the same for all ports
 *
 * Return: 0; -EINVAL: @port is not of the form DEVICE/PORT, or NETDEV_RDMA_MAX ports are named
 * already; -EPERM: the helper may not make device files; -errno
 */
int netdev_rdma_add(struct netdev_helper *h, const char *port, int *ret_folder);

/*
 * ----- jobs: requests whose answers are reported by callbacks, so that the event loop does not
 * wait for the kernel
 */

struct netdev_answer {
	int err; /* 0 or -errno */
	const char *text; /* the refused step and the reason, or "" */
	/*
	 * depends on the job: number of neighbours deleted, interface index, or as described at
	 * netdev_post_link() and netdev_post_ns_follow()
	 */
	int value;
	/*
	 * Descriptor that netdev_post_socket() or netdev_post_ns_follow() gets: the socket, or the namespace that was
	 * made again. -1: none. The callback has to close the descriptor.
	 */
	int fd;
	/* Files of the namespace that was made again; -1 if there are none. The callback has to close them. */
	struct netdev_ns_files files;
};

/*
 * Called once for each job that was not cancelled, from netdev_helper_dispatch() or from within a
 * call that waits for another answer.
 */
typedef void (*netdev_done)(void *ctx, const struct netdev_answer *a);

/*
 * netdev_post_*() - Queue a request
 *
 * Requests for one namespace are served in the order in which they were queued; requests for different namespaces do
 * not wait for each other. Return: 0; -ENOBUFS: NETDEV_JOBS_MAX jobs wait already; -ENOMEM; -EPIPE: the helper has
 * ended; -EINVAL
 */

/* Releases a handle as netdev_ns_close() does; the caller gets no answer */
int netdev_post_ns_close(struct netdev_helper *h, uint32_t ns);
/*
 * Makes the helper forget a TAP that was closed, or that the administrator has moved to another namespace. The answer
 * is -ENODEV if the helper does not manage the TAP.
 */
int netdev_post_tap_forget(struct netdev_helper *h, uint32_t ns, int ifindex, netdev_done done,
			   void *ctx);
/*
 * Changes a link as rtnl_link_set() does. An IPv6 interface identifier (RTNL_SET_TOKEN) is refused
 * with -EINVAL while forwarding is on or accept_ra is off; the caller may try again later. If the
 * former MTU was too small for IPv6 and the new MTU is large enough, the kernel begins IPv6 on the
 * interface again. The answer's value is then 1, and the interface has no fe80:: address and no
 * token.
 */
int netdev_post_link(struct netdev_helper *h, uint32_t ns, int ifindex,
		     const struct rtnl_link_conf *conf, netdev_done done, void *ctx);
/* The answer is -EEXIST for an address that exists already. */
int netdev_post_addr(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		     uint8_t plen, netdev_done done, void *ctx);
/* The answer is -EADDRNOTAVAIL for an address that does not exist. */
int netdev_post_addr_del(struct netdev_helper *h, uint32_t ns, int ifindex,
			 const struct rtnl_ip *ip, uint8_t plen, netdev_done done, void *ctx);
/*
 * Make the kernel resolve an address by ARP or Neighbour Discovery. The answer comes before the address is resolved.
 */
int netdev_post_neigh_use(struct netdev_helper *h, uint32_t ns, int ifindex,
			  const struct rtnl_ip *ip, netdev_done done, void *ctx);
/*
 * Deletes all neighbour entries that the kernel learnt and that have one of @n hardware addresses (@n is at most
 * NETDEV_HWS_MAX). In @hw, zeros follow an address that is shorter than RTNL_HW_MAX.
 */
int netdev_post_neigh_del(struct netdev_helper *h, uint32_t ns, int ifindex,
			  const uint8_t (*hw)[RTNL_HW_MAX], unsigned int n, netdev_done done,
			  void *ctx);
/* Deletes all neighbour entries that the kernel learnt on this interface. */
int netdev_post_neigh_del_all(struct netdev_helper *h, uint32_t ns, int ifindex, netdev_done done,
			      void *ctx);
/* Opens a socket, as netdev_ns_socket() does. */
int netdev_post_socket(struct netdev_helper *h, uint32_t ns, int type, netdev_done done, void *ctx);

/**
 * netdev_post_ns_follow() - Find out whether the file that names the namespace @ns still names this
 * namespace
 * @gen:	number of the namespace that the caller has open: 1 at first, later the value of the last answer
 *		that had files; 0 after an answer that this namespace is gone, to get the new namespace
 *
 * The file is always the file of the specification that the caller gave to netdev_ns_open(). If the
 * file is gone or names another namespace, the helper leaves the old namespace. It moves the TAPs
 * to the parking namespace, which only the helper uses, and closes its descriptors of the old
 * namespace. If the file names a new namespace, now or at a later call, the helper opens the new
 * namespace. While there is no new namespace, requests that need the namespace are refused with
 * -ESTALE.
 *
 * The answer's value is 0 if the namespace with number @gen is gone, or if @gen is 0 and there is
 * no new namespace yet. In all other cases the value is the number of the namespace that is open.
 * If the value is not 0 and @gen is 0, the answer has .fd and .files of the new namespace, and the
 * TAPs wait for netdev_post_tap_return().
 *
 * Before a call with @gen 0, the caller closes the files of the old namespace, because the caller's
 * limit of open files may be too low for the files of both namespaces. Error: -EINVAL: the helper
 * does not look for a new namespace, see netdev_ns_info.follows.
 */
int netdev_post_ns_follow(struct netdev_helper *h, uint32_t ns, uint32_t gen, netdev_done done,
			  void *ctx);

/**
 * netdev_post_tap_return() - Move a TAP into its namespace after the namespace was made again, and configure the TAP
 * like a new one
 * @conf:	as for netdev_tap_create(), with the same name
 *
 * The descriptor of the TAP stays as it is. The answer's value is the new interface index. The interface is down and
 * has no addresses. Errors: -EBUSY: another device has the name; -ENODEV: the TAP was deleted; -ESTALE: the namespace
 * is gone again
 */
int netdev_post_tap_return(struct netdev_helper *h, uint32_t ns, const struct netdev_tap_conf *conf,
			   netdev_done done, void *ctx);

/**
 * netdev_post_tap_place() - Move a spare TAP into its namespace, under the name in @conf, and configure it like a new
 * TAP
 *
 * The request may be repeated until it succeeds, and must be repeated when the namespace was made
 * again. The answer's value is the interface index. The interface is down and has no addresses.
 * Errors: -EBUSY: another device has the name; -ENODEV: the TAP was deleted; -ESTALE: the namespace
 * is gone; -EALREADY: the TAP is placed under another name; -EPERM: netdev_tap_spare() did not
 * allow the name, or @conf has .stable but the TAP was made without .stable
 */
int netdev_post_tap_place(struct netdev_helper *h, uint32_t ns, uint32_t number,
			  const struct netdev_tap_conf *conf, netdev_done done, void *ctx);
/**
 * netdev_post_tap_park() - Undo netdev_post_tap_place(), so that the TAP leaves its namespace and may be placed again
 *
 * The descriptor of the TAP stays open, and the caller can still read frames that the kernel sent before. -ENODEV:
 * the TAP was deleted, or moved to another namespace; in this case the helper has dropped the TAP, and the caller has
 * to close its descriptor
 */
int netdev_post_tap_park(struct netdev_helper *h, uint32_t ns, uint32_t number, netdev_done done,
			 void *ctx);

/*
 * netdev_post_rdma_nodes() - Make the device files uverbsN and umadN of a port, and remove the port's older
 * device files. The answer is -ENODEV while the port does not exist, and -EPERM for a port that
 * netdev_rdma_add() did not name
 */
int netdev_post_rdma_nodes(struct netdev_helper *h, const char *port, netdev_done done, void *ctx);

/*
 * netdev_cancel() - Cancel the jobs queued with @ctx. Jobs that wait are dropped. A job that is
 * under way is completed, but does not call back
 */
void netdev_cancel(struct netdev_helper *h, const void *ctx);

/*
 * netdev_helper_dispatch() - Take the helper's answers, when netdev_helper_fd() is readable
 * Return: 0; -EPIPE: the helper has ended
 */
int netdev_helper_dispatch(struct netdev_helper *h);

#endif
