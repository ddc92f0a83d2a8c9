/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_H
#define INST_IFACE_H

/* An interface is a TAP in a host's namespace, an IPoIB link, and the QP of this link. */

#include "inst/iface_groups.h"
#include "inst/iface_iid.h"
#include "inst/iface_net.h"
#include "inst/inst.h"

/* Configured settings that are stored to start the link, to set up its TAP, and for `link show` */
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
	unsigned int mtu; /* MTU as configured; 0 if the MTU of the link is to be used */
	struct ifc ifc; /* IPoIB link, Ethernet interface and queue pairs */
	struct log_sink log; /* the instance's log, with the level of detail of this interface */
	struct iface_params params;

	/* Section that has an interface for each P_Key, one of which is this interface; NULL for other interfaces */
	struct by_pkey *by_pkey;
	/* TAP of .by_pkey that the interface uses, of which .tap is a copy; NULL if it has none (yet) */
	struct by_pkey_tap *spare;
	/* true if the log already says that .by_pkey has no TAP left for this interface */
	bool no_tap_said;
	/*
	 * True if the network device is in the host, or will be. An interface of .by_pkey first has to join its
	 * broadcast group
	 */
	bool device;
	enum tap_kind kind; /* kind of .tap, valid even while there is no TAP */
	struct tap tap;
	struct loop_fd tap_fd;
	int ifindex;
	bool kernel_up; /* true while the kernel shows IFF_UP */
	bool carrier; /* state of the TAP's carrier; inst/iface_net.h raises it */
	enum conf_router router;
	bool mc_refused; /* the interface could not become a multicast router, which was logged */
	bool routes_mc
		/* for each enum rtnl_family: true if the kernel routes multicast from and to the TAP */
		[2];
	struct iface_net net;
	struct iface_iid iid;
	uint64_t tap_write_errors;
	uint64_t written; /* value of inst->loop.turns when a frame was last written to the TAP */
	struct iface_groups groups; /* comparison with the kernel's lists */
};

/**
 * iface_add() - Make an interface from its configuration; the interface comes up when the fabric is ready
 *
 * Return: 0; -EBUSY: another device has the name; -EPERM TAPs are not permitted; -EINVAL; -ENOMEM,
 * with a message in @err
 */
int iface_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX]);

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
 * iface_use_tap() - Assign the TAP @t to an interface of iface_add_pkey(), and let its link join the broadcast group
 */
void iface_use_tap(struct inst_iface *i, struct by_pkey_tap *t);

/* iface_shutdown() - Leave the groups of an interface; the next inst_work() sends the MADs */
void iface_shutdown(struct inst_iface *i, ns_t now);
void iface_destroy(struct inst_iface *i);

/* iface_link_event() - Follow the kernel, which reports that the TAP was set up or down */
void iface_link_event(struct inst_iface *i, bool up, ns_t now);

/* iface_mc_event() - Follow the kernel, which began or ended to route multicast of a family from and to the TAP */
void iface_mc_event(struct inst_iface *i, enum rtnl_family family, bool on, ns_t now);
/* iface_mc_retry() - Try again to become a multicast router, to be called every few seconds */
void iface_mc_retry(struct inst_iface *i, ns_t now);
/*
 * iface_ns_lost() - Handle the loss of the namespace, after the helper process has moved the TAP
 * out of it. iface_net_came() is called when the namespace exists again
 */
void iface_ns_lost(struct inst_iface *i, ns_t now);

/* iface_tap_conf() - The settings of the interface's TAP, before it has addresses and is set up */
struct netdev_tap_conf iface_tap_conf(const struct inst_iface *i);

/* iface_put_lladdrs() - Set the address and the broadcast address of a device of type 32, as far as they are known */
void iface_put_lladdrs(struct inst_iface *i);

/* iface_kind() - The kind of network device that a section of the configuration asks for */
enum tap_kind iface_kind(const struct conf_iface *c);

/* iface_addr() - Address number @k of .addr in the form that netdev/ uses */
struct rtnl_ip iface_addr(const struct inst_iface *i, unsigned int k);

/*
 * iface_reason() - Return the reason why the interface is not up, as text; "" if it is up. @info is the state of the
 * interface's link
 */
const char *iface_reason(const struct inst_iface *i, const struct ipoib_link_info *info);

#endif
