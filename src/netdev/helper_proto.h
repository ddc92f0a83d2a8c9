/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_HELPER_PROTO_H
#define NETDEV_HELPER_PROTO_H

/*
 * What the main process and its helper say to each other: one request and one response
 * of fixed size, one SOCK_SEQPACKET message each, host byte order, descriptors beside the
 * response. Both sides are the same binary, so there is no version.
 */

#include <assert.h>
#include <stdint.h>

#include "netdev/helper.h"
#include "netdev/netns.h"

enum helper_op {
	HELPER_HELLO, /* answered once the helper is ready */
	HELPER_NS_OPEN,
	HELPER_NS_CREATE,
	HELPER_NS_CLOSE,
	HELPER_NS_CHECK,
	HELPER_NS_FDS,
	HELPER_NS_FILES,
	HELPER_NS_SOCKET,
	HELPER_TAP_CREATE,
	HELPER_TAP_FORGET,
	HELPER_LINK_SET,
	HELPER_ADDR_ADD,
	HELPER_ADDR_DEL,
	HELPER_NEIGH_ADD,
	HELPER_NEIGH_DEL,
	HELPER_NEIGH_DEL_MAC,
	HELPER_ROUTE_DEFAULT,
	HELPER_SYSCTL_SET,
	HELPER_N_OPS
};

struct helper_addr_req {
	struct rtnl_ip ip;
	uint8_t plen; /* addresses */
	uint8_t mac[6]; /* neighbours */
};

struct helper_sysctl_req {
	char key[NETDEV_KEY_MAX]; /* zero-terminated */
	char value[NETDEV_VALUE_MAX]; /* zero-terminated */
};

struct helper_socket_req {
	int32_t family;
	int32_t type;
};

struct helper_req {
	uint32_t op; /* enum helper_op */
	uint32_t seq; /* comes back in the response */
	uint32_t ns; /* handle */
	int32_t ifindex;
	union {
		char spec[NETNS_SPEC_MAX + 1]; /* NS_OPEN, zero-terminated; "": the own one */
		uint32_t files; /* NS_FILES */
		struct helper_socket_req socket; /* NS_SOCKET */
		struct netdev_tap_conf tap; /* TAP_CREATE */
		struct rtnl_link_conf link; /* LINK_SET */
		struct helper_addr_req addr; /* ADDR_*, NEIGH_*, ROUTE_DEFAULT */
		struct helper_sysctl_req sysctl; /* SYSCTL_SET */
	};
};

#define HELPER_FDS_MAX 4

struct helper_rsp {
	uint32_t seq;
	int32_t err; /* 0 or -errno */
	uint32_t refused; /* enum netdev_refusal */
	uint32_t ns;
	int32_t value; /* ifindex, or how many */
	uint32_t fds; /* mask: which of HELPER_FDS_MAX descriptors come, in this order */
	char text[NETDEV_ERR_MAX]; /* zero-terminated */
	struct netdev_ns_info info;
};

static_assert(sizeof(struct helper_req) <= 512, "fits the stack and one message");
static_assert(sizeof(struct helper_rsp) <= 512, "fits the stack and one message");

#endif
