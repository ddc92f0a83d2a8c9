/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELOAD_MSG_H
#define RELOAD_MSG_H

/*
 * Messages by which the supervisor passes the data of a reload to the main process, on a
 * SOCK_SEQPACKET socket. All messages have the same size. Both sides are the same binary, so
 * messages carry no version.
 *
 *	message		what it passes				how often
 *	HELPER		the socket of a sealed helper		at most once
 *	HOST		a namespace that the helper has opened:	for each host that an ADD names
 *			the descriptors of enum reload_host_fd
 *	PARTITIONS	a memory file				for each fabric that has partitions
 *	REMOVE		the name of an interface to remove	for each such interface
 *	ADD		an interface to add, and its TAP	for each such interface
 *	END		nothing					once, as the last message
 */

#include "conf/conf.h"

enum reload_kind {
	RELOAD_HELPER,
	RELOAD_HOST,
	RELOAD_PARTITIONS,
	RELOAD_REMOVE,
	RELOAD_ADD,
	RELOAD_END,
};

/* descriptors of RELOAD_HOST, in this order; bit k of .fds is set if the message has descriptor k */
enum reload_host_fd {
	RELOAD_FD_NET,
	RELOAD_FD_USER,
	RELOAD_FD_RTNL,
	RELOAD_FD_EVENTS,
	RELOAD_FD_IGMP,
	RELOAD_FD_IGMP6,
	RELOAD_FD_DUMP,
	RELOAD_FDS,
};

struct reload_host_msg {
	uint32_t ns; /* handle of the namespace in requests to the helper of RELOAD_HELPER */
	uint32_t fds;
	bool follows; /* as in struct netdev_ns_info */
	char name[CONF_NAME_MAX], netns[256];
};

struct reload_add_msg {
	struct conf_iface conf; /* configuration of the interface; its pointers are NULL */
	char profile[32];
	/* number of the message RELOAD_HOST of the interface's host; the first one has number 0 */
	uint32_t host;
	/*
	 * number of the TAP in requests to the helper of RELOAD_HELPER; the TAP's descriptor comes
	 * with this message
	 */
	uint32_t number;
};

struct reload_msg {
	uint32_t kind; /* enum reload_kind */
	union {
		struct reload_host_msg host;
		struct reload_add_msg add;
		struct {
			char name[IFNAMSIZ], host[CONF_NAME_MAX];
		} remove;
		struct {
			char fabric[CONF_NAME_MAX], file[256];
		} partitions;
	};
};

#endif
