/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_H
#define INST_IFACE_H

/* An interface is a TAP in a host's namespace, an IPoIB link, and the QP of this link. */

#include "inst/iface_groups.h"
#include "inst/iface_iid.h"
#include "inst/iface_net.h"
#include "inst/inst.h"

/*
 * Settings of the configuration that are stored for the start of the link, for the TAP, and for
 * `link show`
 */
struct iface_params {
	unsigned int tx_queue_len, sq_depth, rq_depth;
	ns_t tx_timeout;
	struct sac_tries join_tries, path_tries;
};

struct by_pkey;
struct by_pkey_tap;

struct inst_iface {
	struct list link; /* link in inst.ifaces */
	struct list on_host;
	struct inst *inst;
	struct inst_host *host;
	struct inst_port *port;
	char name[IFNAMSIZ];
	struct conf_addr addr[CONF_ADDRS_MAX];
	unsigned int naddrs;
	unsigned int mtu; /* MTU in the configuration; 0: the interface has the MTU of the link */
	struct ifc ifc; /* IPoIB link, code between link and TAP (eth/), queue pairs */
	/* log of the instance, with the names and the level of detail of this interface */
	struct log_sink log;
	struct iface_params params;

	/*
	 * section that made this interface for a P_Key (inst/by_pkey.h); NULL for an ordinary
	 * interface
	 */
	struct by_pkey *by_pkey;
	/*
	 * the TAP that .by_pkey has assigned to the interface; .tap is a copy of spare->tap. NULL:
	 * the interface has no TAP yet
	 */
	struct by_pkey_tap *spare;
	/*
	 * number of the TAP in requests to the helper process, if the TAP was made outside of its host; 0: the
	 * TAP was made in its host
	 */
	uint32_t number;
	/* true if the log already says that .by_pkey has no TAP left for this interface */
	bool no_tap_said;
	/*
	 * true if the network device is in the host, or is being moved there. An interface of
	 * .by_pkey first has to join its broadcast group
	 */
	bool device;
	enum tap_kind kind; /* kind of .tap, valid even while there is no TAP */
	struct tap tap;
	struct loop_fd tap_fd;
	int ifindex;
	bool kernel_up; /* true while the kernel shows IFF_UP for the TAP */
	bool carrier; /* present state of the TAP's carrier; only inst/iface_net.c changes it */
	enum conf_router router;
	/* true if the log already says that the interface does not receive all groups */
	bool mc_refused;
	bool routes_mc
		/*
		 * indexed by enum rtnl_family: true if the kernel routes multicast of this family
		 * from and to the TAP
		 */
		[2];
	struct iface_net net;
	struct iface_iid iid;
	uint64_t tap_write_errors;
	unsigned int
		mtu_warned; /* MTU for which the log says that it is larger than the link's; 0: none */
	uint64_t written; /* value of inst->loop.turns at the last write of a frame to the TAP */
	struct iface_groups groups; /* comparison with the kernel's lists of groups */
};

/**
 * iface_add() - Make an interface from its configuration; the interface comes up when the fabric is
 * ready
 *
 * Return: 0; -EBUSY: another device has the name; -EPERM: TAPs are not permitted; -EINVAL; -ENOMEM.
 * After each of these errors, @err has a message
 */
int iface_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX]);

/* A TAP that another process has made for an interface, and that is not in the interface's host yet */
struct iface_tap {
	struct tap tap;
	uint32_t number; /* number of the TAP, for netdev_post_tap_place() */
};

/**
 * iface_add_tap() - Make an interface while the instance runs; the helper process of @host places its TAP
 * @t:		the TAP, which the interface takes, also on failure
 *
 * Return: 0; -ENOMEM or another -errno, after which @err has a message
 */
int iface_add_tap(struct inst_port *port, struct inst_host *host, const struct conf_iface *c,
		  const struct iface_tap *t, struct inst_iface **ret, char err[INST_ERR_MAX]);

/* iface_place() - Find, or make, the port and the host of a section. Return: as iface_add() */
int iface_place(struct inst *in, const struct conf_iface *c, struct inst_port **ret_port,
		struct inst_host **ret_host, char err[INST_ERR_MAX]);

/**
 * iface_add_pkey() - Make the interface for one P_Key of a section; it is down until iface_use_tap() gives it a
 * TAP
 * @c:		copy of the section b->conf with this interface's P_Key, name and addresses
 */
int iface_add_pkey(struct by_pkey *b, const struct conf_iface *c, struct inst_iface **ret);
/*
 * iface_use_tap() - Assign the TAP @t to an interface that iface_add_pkey() made, and let the interface's link join
 * the broadcast group
 */
void iface_use_tap(struct inst_iface *i, struct by_pkey_tap *t);

/* iface_shutdown() - Leave the groups of an interface; the next inst_work() sends the MADs */
void iface_shutdown(struct inst_iface *i, ns_t now);
void iface_destroy(struct inst_iface *i);

/* iface_link_event() - Handle the kernel's report that the TAP was set up or down */
void iface_link_event(struct inst_iface *i, bool up, ns_t now);

/*
 * iface_mc_event() - Handle the kernel's report that it began or stopped routing multicast of a
 * family from and to the TAP
 */
void iface_mc_event(struct inst_iface *i, enum rtnl_family family, bool on, ns_t now);
/*
 * iface_mc_retry() - If the interface could not receive all groups for a multicast router, try
 * again; called every few seconds
 */
void iface_mc_retry(struct inst_iface *i, ns_t now);
/*
 * iface_ns_lost() - Handle the loss of the namespace, after the helper process has moved the TAP
 * out of the namespace. When the namespace exists again, the caller calls iface_net_came()
 */
void iface_ns_lost(struct inst_iface *i, ns_t now);

/*
 * iface_tap_conf() - Return the settings that the interface's TAP has before it gets addresses and
 * is set up
 */
struct netdev_tap_conf iface_tap_conf(const struct inst_iface *i);

/*
 * iface_put_lladdrs() - Set the link-layer address and the broadcast address of a device of type
 * 32, as far as they are known
 */
void iface_put_lladdrs(struct inst_iface *i);

/* iface_kind() - Return the kind of network device that a section of the configuration asks for */
enum tap_kind iface_kind(const struct conf_iface *c);

/* iface_addr() - Return element @k of .addr in the form that netdev/ uses */
struct rtnl_ip iface_addr(const struct inst_iface *i, unsigned int k);

/*
 * iface_reason() - Return the reason why the interface is not up, as text; "" if it is up. @info is the state of the
 * interface's link
 */
const char *iface_reason(const struct inst_iface *i, const struct ipoib_link_info *info);

#endif
