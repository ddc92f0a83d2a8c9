/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_HOST_H
#define INST_HOST_H

/* A host is a network namespace and the kernel's events about the interfaces in it. */

#include "helper/follow_ask.h"
#include "inst/inst.h"
#include "netdev/rtnl.h"

/* value of inst_host.ns while the namespace is not open */
#define HOST_NO_NS UINT32_MAX

#define HOST_CAS_MAX 64

struct inst_host {
	struct list link; /* link in inst.hosts */
	struct inst *inst;
	/* Name of the host; "" for the namespace of the user who started the instance */
	char name[CONF_NAME_MAX];
	struct log_sink log; /* log of the instance, with the name of this host */
	char netns[256]; /* namespace as given in the configuration; "" if none is given */
	/*
	 * number of the namespace in requests to the helper process; HOST_NO_NS until the namespace
	 * is open
	 */
	uint32_t ns;
	/* helper process that serves requests about the namespace: inst.helper, or one of inst.more_helpers */
	struct netdev_helper *helper;
	bool anonymous;
	/* the helper refused the last question about the namespace, as the log already says */
	bool follow_refused;
	/*
	 * true if host_follow() follows the namespace, which may be deleted and made again
	 * (inst/host_follow.h)
	 */
	bool follows;
	/*
	 * true while the namespace does not exist; then .net_fd, .igmp, .igmp6 and the netlink
	 * sockets are closed
	 */
	bool gone;
	struct follow follow;
	struct timer
		follow_timer; /* timer for the next question about the namespace to the helper process */
	/* namespaces for the command `exec`; .user_fd is -1 if the helper process has no user namespace of its own */
	int net_fd, user_fd;
	/* open files /proc/net/igmp and /proc/net/igmp6 of the namespace, which list the kernel's groups */
	int igmp, igmp6;
	struct rtnl_events events;
	struct loop_fd events_fd;
	/* timer that runs after an error of .events, until the events are read again */
	struct timer events_timer;
	struct rtnl rtnl; /* socket for those requests that the kernel answers at once */
	struct rtnl dump; /* socket for dumps of neighbours, see inst/neigh_dump.h */
	struct loop_fd dump_fd;
	struct list ifaces; /* list of struct inst_iface, linked by .on_host */
	/*
	 * One port of each CA that the host has, in the order of the configuration. Programs in the host see these
	 * CAs as uipoib0, uipoib1 ..., and use uipoib0 by default.
	 */
	struct inst_port *ca[HOST_CAS_MAX];
	unsigned int ncas;
	/* interface for which the lists .igmp and .igmp6 are being read; NULL: none */
	struct inst_iface *groups_of;
};

/**
 * host_get() - Find the host of an interface, or make it on first use
 *
 * The key `netns` names the host's namespace. Without this key a host with a name gets an anonymous
 * namespace, and the host "" uses the namespace of the user who started the instance. Return: 0;
 * -EINVAL: the configuration gives two namespaces to the host; -errno, with a message in @err
 */
int host_get(struct inst *in, const struct conf_iface *c, struct inst_host **ret,
	     char err[INST_ERR_MAX]);

/*
 * host_ca() - Return the number of the CA of port @p on the host; a new CA gets the next number.
 * HOST_CAS_MAX: the host has too many CAs
 */
unsigned int host_ca(struct inst_host *h, struct inst_port *p);

/*
 * host_adopt() - Make a host whose namespace another process has opened
 * @ns:		number of the namespace in requests to @helper
 * @net_fd, @user_fd, @files: descriptors of the namespace, which the function owns, also on failure
 *
 * The function always makes a new struct inst_host. There may be another one with the same name and
 * namespace, but with another helper process. Return: 0 or -errno
 */
int host_adopt(struct inst *in, const struct conf_iface *c, struct netdev_helper *helper,
	       uint32_t ns, bool follows, int net_fd, int user_fd,
	       const struct netdev_ns_files *files, struct inst_host **ret);

/* host_close() - Close a host that has no interfaces any more */
void host_close(struct inst_host *h);

/*
 * host_use_files() - Take ownership of the files of the host's namespace, and watch the kernel's
 * events. Return: 0 or -errno
 */
int host_use_files(struct inst_host *h, const struct netdev_ns_files *files);
/* host_ignore_events() - Ignore from now on the kernel's reports about the links of a host */
void host_ignore_events(struct inst_host *h);
/* host_close_files() - Close .net_fd and the files that host_use_files() took */
void host_close_files(struct inst_host *h);

#endif
