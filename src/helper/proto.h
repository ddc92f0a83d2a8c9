/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HELPER_PROTO_H
#define HELPER_PROTO_H

/*
 * Messages between the main process and its helper. Each request and each response has a fixed size and is one
 * SOCK_SEQPACKET message in host byte order; descriptors are sent together with a response. Both sides are the same
 * binary, so messages carry no version. Responses can come in another order than their requests, because
 * HELPER_NEIGH_DEL takes long. So a response repeats the tag .seq of its request.
 */

#include <assert.h>
#include <stdint.h>

#include "helper/helper.h"
#include "netdev/netns.h"

enum helper_op {
	HELPER_HELLO, /* answered when the helper is ready */
	HELPER_NS_OPEN,
	HELPER_NS_CREATE,
	HELPER_NS_ADOPT, /* use the namespace whose descriptor comes with the request */
	HELPER_NS_CLOSE,
	/*
	 * Find out whether the file by which HELPER_NS_OPEN found the namespace still names this
	 * namespace. If it does not, leave the namespace, and open the namespace that the file
	 * names now
	 */
	HELPER_NS_FOLLOW,
	HELPER_NS_FDS,
	HELPER_NS_FILES,
	HELPER_NS_SOCKET,
	HELPER_TAP_CREATE,
	HELPER_TAP_SPARE, /* make a TAP that waits in the parking namespace until it is placed */
	HELPER_TAP_NAMED, /* make a TAP like TAP_SPARE, but for one name only */
	HELPER_TAP_PLACE, /* give a spare TAP a name, and move it into the namespace */
	HELPER_TAP_PARK, /* move a spare TAP out of the namespace again */
	HELPER_TAP_RETURN, /* move a TAP into its namespace, which was deleted and made again */
	HELPER_TAP_FORGET,
	HELPER_LINK_SET,
	HELPER_ADDR_ADD,
	HELPER_ADDR_DEL,
	HELPER_NEIGH_USE, /* have the kernel resolve an address */
	/*
	 * Delete neighbours. The answer comes after the whole table has been searched; until then,
	 * requests for other namespaces are served
	 */
	HELPER_NEIGH_DEL,
	HELPER_RDMA_ADD, /* name a port of an RDMA device, and get the folder for its device files */
	HELPER_RDMA_NODES, /* make the device files of a port that RDMA_ADD named */
	/*
	 * The last request of the start. Afterwards the helper makes only the device files of RDMA_NODES, and passes only
	 * AF_UNIX sockets and the files of namespaces that were made again
	 */
	HELPER_SEAL,
	HELPER_N_OPS
};

struct helper_addr_req {
	struct rtnl_ip ip;
	uint8_t plen;
};

struct helper_hws_req {
	uint32_t n; /* number of addresses in .hw; 0: delete all entries that were learnt */
	uint8_t hw[NETDEV_HWS_MAX][RTNL_HW_MAX];
};

struct helper_req {
	uint32_t op; /* enum helper_op */
	uint32_t seq; /* tag of the request, which its response repeats */
	uint32_t ns; /* handle of the namespace */
	int32_t ifindex; /* index of a TAP; TAP_PLACE and TAP_PARK: number of a spare TAP */
	union {
		/* zero-terminated; NS_OPEN: "" means the namespace srv.home; RDMA_*: "mlx5_0/1" */
		char spec[NETNS_SPEC_MAX + 1];
		uint32_t files; /* NS_FILES: mask of enum netdev_file */
		int32_t socket_type; /* NS_SOCKET: type of the socket */
		/*
		 * NS_FOLLOW: number of the namespace that the caller has open; 0: the caller has
		 * none open
		 */
		uint32_t gen;
		/*
		 * TAP_CREATE, TAP_PLACE and TAP_RETURN. TAP_SPARE and TAP_NAMED use only .stable
		 * and .ifname: the beginning of the names for TAP_SPARE, the name for TAP_NAMED
		 */
		struct netdev_tap_conf tap;
		struct rtnl_link_conf link; /* LINK_SET */
		struct helper_addr_req addr; /* ADDR_ADD, ADDR_DEL and NEIGH_USE */
		struct helper_hws_req hws; /* NEIGH_DEL */
	};
};

#define HELPER_FDS_MAX 6

struct helper_rsp {
	uint32_t seq;
	int32_t err; /* 0 or -errno */
	uint32_t refused; /* enum netdev_refusal: the step that was refused */
	uint32_t ns;
	/*
	 * TAP_CREATE, TAP_PLACE and TAP_RETURN: ifindex; TAP_SPARE, TAP_NAMED: number of the TAP; NEIGH_DEL:
	 * number of neighbours deleted; NS_FOLLOW: struct srv_ns.gen, or 0 if the namespace is
	 * gone; HELLO: 1 in a user namespace
	 */
	int32_t value;
	/* bit k is set if the message has descriptor k; the descriptors are in the order of k */
	uint32_t fds;
	char text[NETDEV_ERR_MAX]; /* zero-terminated */
	struct netdev_ns_info info;
};

static_assert(sizeof(struct helper_req) <= 8192, "fits the stack and one message");
static_assert(sizeof(struct helper_rsp) <= 512, "fits the stack and one message");

#endif
