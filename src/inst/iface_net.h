/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_NET_H
#define INST_IFACE_NET_H

/*
 * DOC: The kernel's settings of an interface
 *
 * Only the helper process may change the MAC, the MTU and the addresses of a TAP, and a busy kernel
 * may take long. So each interface has at most one job that the helper process has not answered,
 * and stores here the settings that it wants to send next. The carrier is raised only after the
 * kernel has acknowledged MAC and MTU, because the kernel sends as soon as there is a carrier.
 *
 * Carrier, and the addresses and the largest MTU of a device of type 32, are set by the descriptor of the device. These
 * calls wait while the kernel changes other links.
 *
 * MACs whose neighbour entries are to be deleted are collected and sent to the helper process in
 * one job, because a job has to search the whole table. After a search the interface waits ten
 * times as long as the search took.
 */

#include <stdbool.h>
#include <stdint.h>

#include "netdev/rtnl.h"
#include "util/timer.h"

enum iface_net_set {
	IFACE_NET_MAC = 1 << 0,
	IFACE_NET_MTU = 1 << 1,
	IFACE_NET_LINKLOCAL =
		1 << 2, /* the fe80:: address of our own interface identifier, inst/iface_iid.h */
	IFACE_NET_TOKEN = 1 << 3, /* the interface identifier for autoconfigured IPv6 addresses */
	IFACE_NET_GONE = 1 << 4, /* deletion of neighbours, used only in iface_net.asked */
	/*
	 * Settings after the namespace was made again, in this order: the TAP, one configured address after the
	 * other, IFF_UP
	 */
	IFACE_NET_TAP = 1 << 5,
	IFACE_NET_ADDR = 1 << 6,
	IFACE_NET_UP = 1 << 7,
	/* removal of an fe80:: address made of a LID that the port no longer has */
	IFACE_NET_LL_OLD = 1 << 8,
};

#define IFACE_GONE_MAX \
	1024 /* hardware addresses whose deletion can wait for one search of the table */

struct inst_iface;

/* Settings of an interface that the kernel is to be told through the helper process. */
struct iface_net {
	unsigned int wanted; /* mask of enum iface_net_set: settings that wait to be sent */
	unsigned int asked; /* settings that the job under way carries */
	unsigned int refused; /* settings that the kernel refused, tried again after 2 to 64 s */
	/* number of times in a row that the TAP's return or IFF_UP was refused */
	unsigned int refusals;
	bool busy; /* a job is under way */
	bool carrier_wanted; /* the link is up, so the carrier is raised once the settings are acknowledged */
	bool token_logged; /* the first refusal of a token was logged */
	/* true if the namespace is gone, or the instance is about to end, so that nothing is sent */
	bool away;
	bool tap_logged; /* the first refusal of the TAP's return was logged */
	bool full_logged; /* true if the log already says that the helper's queue is full */
	/* number of configured addresses sent since the namespace was made again */
	unsigned int naddrs;
	unsigned int mtu;
	uint8_t linklocal[16]; /* the fe80:: address that was sent last; zero: none was sent */
	ns_t asked_at; /* time at which the job under way was queued */
	struct timer pace; /* earliest time of the next deletion of neighbours */
	/* Next try after the TAP's return or IFF_UP was refused, or after the helper's queue was full */
	struct timer again;
	bool lladdr_refused; /* the kernel has refused an address of 20 octets, so there is no carrier */
	unsigned int ngone; /* number of hardware addresses in .gone */
	/* true if .gone had no room for all addresses, so that all learnt neighbour entries have to be deleted */
	bool gone_all;
	/* hardware addresses whose neighbour entries are to be deleted */
	uint8_t gone[IFACE_GONE_MAX][RTNL_HW_MAX];
};

void iface_net_init(struct inst_iface *i);
/* iface_net_fini() - Cancel the helper's jobs, so that none calls back any more */
void iface_net_fini(struct inst_iface *i);

/* iface_net_set_mac() - Make the kernel use i->ifc.mac as the TAP's address */
void iface_net_set_mac(struct inst_iface *i);
void iface_net_set_mtu(struct inst_iface *i, unsigned int mtu);

/*
 * iface_net_set_carrier() - Lower the carrier now, or raise it as soon as the kernel has MAC and MTU; i->carrier
 * shows the present state
 */
void iface_net_set_carrier(struct inst_iface *i, bool up);

/*
 * iface_net_port() - To be called when the port's attributes changed. If the IPv6 interface identifier is made of the
 * LID (ip6-iid = lid) and the LID has changed, send the new identifier to the kernel
 */
void iface_net_port(struct inst_iface *i);

/*
 * iface_net_neigh_gone() - Make the kernel delete the neighbour entries with a hardware address of @len octets
 *
 * When IFACE_GONE_MAX addresses wait and @hw is one more, all entries that the kernel learnt are deleted. The kernel
 * then resolves the addresses of existing neighbours again.
 */
void iface_net_neigh_gone(struct inst_iface *i, const uint8_t *hw, size_t len);

/*
 * iface_net_lost() - Discard the waiting settings, and send nothing more, because the namespace is gone or the
 * instance is about to end
 */
void iface_net_lost(struct inst_iface *i);
/*
 * iface_net_came() - Send the settings of the TAP, the addresses and IFF_UP, because the namespace exists again or
 * the interface has got its network device for the first time
 */
void iface_net_came(struct inst_iface *i);

/* iface_net_retry() - Send settings again that were refused; to be called every few seconds */
void iface_net_retry(struct inst_iface *i);

#endif
