/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_NET_H
#define INST_IFACE_NET_H

/*
 * DOC: The kernel's settings of an interface
 *
 * Only the helper process may change the MAC, the MTU and the addresses of a TAP, and a busy kernel
 * may take long. So each interface has at most one job that the helper process has not answered.
 * The settings to send next are stored in struct iface_net. The carrier is raised only after the
 * kernel has acknowledged MAC and MTU, because the kernel sends as soon as there is a carrier.
 *
 * The daemon itself sets the carrier by ioctl() on the descriptor of the device. For a device of
 * type 32 it also sets the addresses and the largest MTU in this way. These calls wait while the
 * kernel changes other links.
 *
 * MACs whose neighbour entries are to be deleted are collected. One job for the helper process has
 * up to NETDEV_HWS_MAX of these MACs, because the kernel's whole neighbour table is searched in
 * each job. The next such job is sent after a pause that is ten times as long as the search.
 */

#include <stdbool.h>
#include <stdint.h>

#include "netdev/rtnl.h"
#include "util/timer.h"

enum iface_net_set {
	IFACE_NET_MAC = 1 << 0,
	IFACE_NET_MTU = 1 << 1,
	IFACE_NET_LINKLOCAL =
		1 << 2, /* add the fe80:: address with the identifier of iface_iid_own() */
	/* set the interface identifier for autoconfigured IPv6 addresses */
	IFACE_NET_TOKEN = 1 << 3,
	IFACE_NET_GONE = 1 << 4, /* delete neighbour entries; used only in iface_net.asked */
	/*
	 * After the namespace was made again, these three settings are sent in this order: move the
	 * TAP into the namespace; add the configured addresses one after the other; set IFF_UP
	 */
	IFACE_NET_TAP = 1 << 5,
	IFACE_NET_ADDR = 1 << 6,
	IFACE_NET_UP = 1 << 7,
	/* delete the fe80:: address that was made from the port's former LID */
	IFACE_NET_LL_OLD = 1 << 8,
};

/* largest number of hardware addresses that can wait for the deletion of their neighbour entries */
#define IFACE_GONE_MAX 1024

struct inst_iface;

/* Settings of an interface that the helper process is to make in the kernel */
struct iface_net {
	unsigned int wanted; /* mask of enum iface_net_set: settings that wait to be sent */
	/* settings in the request to the helper process that is not answered yet */
	unsigned int asked;
	/*
	 * settings that the kernel refused and that will be sent again. The timer .again sends the
	 * TAP's move and IFF_UP again after 2 to 64 s. iface_net_retry() sends all others again.
	 */
	unsigned int refused;
	/*
	 * number of times in a row that the TAP's move into the namespace, or IFF_UP, was refused
	 */
	unsigned int refusals;
	bool busy; /* true while a request to the helper process is not answered */
	/*
	 * true if the carrier has to be on, because the link is up; the carrier is raised when the
	 * kernel has acknowledged MAC and MTU
	 */
	bool carrier_wanted;
	bool token_logged; /* true if the first refusal of a token was logged */
	/* true if no settings are sent, because the namespace is gone or the instance is about to end */
	bool away;
	bool tap_logged; /* true if the first refusal to move the TAP was logged */
	bool full_logged; /* true if the log already says that the helper's queue is full */
	/* number of configured addresses sent since the namespace was made again */
	unsigned int naddrs;
	unsigned int mtu;
	/* the fe80:: address that was sent to the kernel last; zero: none was sent */
	uint8_t linklocal[16];
	ns_t asked_at; /* time at which the request that is not answered yet was queued */
	/* timer for the earliest time at which neighbour entries may be deleted again */
	struct timer pace;
	/*
	 * timer for the next try after the TAP's move or IFF_UP was refused, or the queue of the
	 * helper process was full
	 */
	struct timer again;
	bool lladdr_refused; /* true if the kernel refused an address of 20 octets; the carrier then stays off */
	unsigned int ngone; /* number of hardware addresses in .gone */
	/* true if .gone had no room for all addresses, so that all learnt neighbour entries have to be deleted */
	bool gone_all;
	/* hardware addresses whose neighbour entries are to be deleted */
	uint8_t gone[IFACE_GONE_MAX][RTNL_HW_MAX];
};

void iface_net_init(struct inst_iface *i);
/*
 * iface_net_fini() - Cancel the requests to the helper process, so that no answer is reported any
 * more
 */
void iface_net_fini(struct inst_iface *i);

/* iface_net_set_mac() - Make the kernel use i->ifc.mac as the TAP's address */
void iface_net_set_mac(struct inst_iface *i);
void iface_net_set_mtu(struct inst_iface *i, unsigned int mtu);

/*
 * iface_net_set_carrier() - Turn the carrier off now, or turn it on as soon as the kernel has
 * acknowledged MAC and MTU; i->carrier is the carrier's present state
 */
void iface_net_set_carrier(struct inst_iface *i, bool up);

/*
 * iface_net_port() - Handle a change of the port's attributes. If the IPv6 interface identifier is
 * made from the LID (ip6-iid = lid) and the LID has changed, send the new identifier to the kernel
 */
void iface_net_port(struct inst_iface *i);

/*
 * iface_net_neigh_gone() - Make the kernel delete the neighbour entries with a hardware address of @len octets
 *
 * If IFACE_GONE_MAX addresses wait already when the function is called with another address, all
 * entries that the kernel has learnt are deleted. The kernel then resolves the addresses of
 * existing neighbours again.
 */
void iface_net_neigh_gone(struct inst_iface *i, const uint8_t *hw, size_t len);

/*
 * iface_net_lost() - Discard the waiting settings, and send nothing more, because the namespace is gone or the
 * instance is about to end
 */
void iface_net_lost(struct inst_iface *i);
/*
 * iface_net_came() - Request that the TAP is moved into the namespace and gets its addresses and
 * IFF_UP. Called when the namespace exists again, or when the interface gets its network device for
 * the first time
 */
void iface_net_came(struct inst_iface *i);

/*
 * iface_net_retry() - Send those settings again that the kernel refused, except the TAP's move and
 * IFF_UP, which the timer .again repeats; called every few seconds
 */
void iface_net_retry(struct inst_iface *i);

#endif
