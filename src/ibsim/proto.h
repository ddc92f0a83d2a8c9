/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBSIM_PROTO_H
#define IBSIM_PROTO_H

/*
 * DOC: ibsim's client protocol
 *
 * ibsim exchanges datagrams with programs that run with libumad2sim.so preloaded. Both sides use
 * abstract UNIX sockets, whose names begin with NAME. NAME is IBSIM_SOCKNAME ("sim" by default):
 *
 *	client			server
 *	NAME:ctlPID	<->	NAME:ctl	struct ibsim_ctl: a request and its answer, one at a time
 *	NAME:inPID	<->	NAME:outID	struct ibsim_pkt: MADs; ID is in the answer to Connect
 *
 * The formats are C structures of x86-64 with their padding. Integers are in host byte order, but
 * LIDs, QPNs, status and length (64 bits) of struct ibsim_pkt are in network order.
 */

#include "wire/mad.h"

#define IBSIM_MAGIC 0xdeadbeefu
#define IBSIM_STATUS_TIMEOUT 110 /* ETIMEDOUT, in a request that is returned without an answer */

/* --- MADs */

#define IBSIM_PKT_LEN 288

struct ibsim_pkt {
	/*
	 * LIDs; in a MAD from a client, slid is either 0, which stands for the client's own LID, or
	 * the permissive LID
	 */
	uint16_t dlid, slid;
	uint32_t dest_qp, src_qp; /* QPNs, 24 bits */
	uint32_t status; /* 0 or IBSIM_STATUS_TIMEOUT */
	uint16_t len; /* octets of .mad that are valid, 24 to 256 */
	uint8_t mad[MAD_LEN]; /* the MAD, with zeros after .len octets */
};

/*
 * ibsim_pkt_decode() - Read a MAD message. Return: 0; -EBADMSG: @n is not 288, or the length in the
 * message is not that of a MAD
 */
int ibsim_pkt_decode(struct ibsim_pkt *ret, const void *p, size_t n);
/* ibsim_pkt_encode() - Write @k as a MAD message, IBSIM_PKT_LEN octets */
void ibsim_pkt_encode(void *p, const struct ibsim_pkt *k);

/* --- control */

enum ibsim_ctl_type {
	IBSIM_CTL_ERROR, /* only in an answer, if the request was refused */
	IBSIM_CTL_CONNECT, /* struct ibsim_client_info in the request and in the answer */
	IBSIM_CTL_DISCONNECT,
	IBSIM_CTL_GET_PORT, /* 4 octets: LID (2), port state (1), unused (1) */
	IBSIM_CTL_GET_VENDOR, /* struct ibsim_vendor */
	IBSIM_CTL_GET_GID, /* GID of the client's port, 16 octets */
	IBSIM_CTL_GET_GUID, /* node GUID, 8 octets, big-endian */
	IBSIM_CTL_GET_NODE_INFO, /* 64 octets, as in an SMP */
	/*
	 * PortInfo, 64 octets; octet 0 of the request is the number of the port, where 0 means the
	 * client's port
	 */
	IBSIM_CTL_GET_PORT_INFO,
	IBSIM_CTL_SET_ISSM, /* data is an int: 1: the client is an SM; 0: the client is no SM */
	IBSIM_CTL_GET_PKEYS, /* 64 octets: the first 32 P_Keys, big-endian */
	IBSIM_CTL_LAST,
};

#define IBSIM_CTL_LEN 80
#define IBSIM_CTL_DATA 64

struct ibsim_ctl {
	uint32_t client; /* id of the client, from the answer to Connect */
	uint32_t type; /* enum ibsim_ctl_type; a client may send any other value, too */
	uint32_t len; /* octets of .data that are valid, at most 64 */
	uint8_t data[IBSIM_CTL_DATA];
};

/*
 * ibsim_ctl_decode() - Read a control message. Return: 0; -EBADMSG: @n is not 80, the magic is
 * wrong, or .len is too large
 */
int ibsim_ctl_decode(struct ibsim_ctl *ret, const void *p, size_t n);
/* ibsim_ctl_encode() - Write @c as a control message, IBSIM_CTL_LEN octets */
void ibsim_ctl_encode(void *p, const struct ibsim_ctl *c);

#define IBSIM_NODE_MAX 32 /* largest number of octets of the name of a node, with the final zero */
#define IBSIM_CLIENT_INFO_LEN 44

/* Data of Connect. */
struct ibsim_client_info {
	/*
	 * in the request: PID of the client; in the answer: id that the server has given to the
	 * client
	 */
	uint32_t id;
	uint32_t qp; /* unused, no client sets it */
	bool issm;
	char node[IBSIM_NODE_MAX]; /* name of the node, "" for the default node */
};

/*
 * ibsim_client_info_decode() - Read the data of a Connect. Return: 0; -EBADMSG: @len is not 44, or
 * the name of the node has no final zero
 */
int ibsim_client_info_decode(struct ibsim_client_info *ret, const void *p, size_t len);
/*
 * ibsim_client_info_encode() - Write 44 octets. If the name of the node is too long, it is cut, as
 * ibsim does
 */
void ibsim_client_info_encode(void *p, const struct ibsim_client_info *i);

#define IBSIM_VENDOR_LEN 24

struct ibsim_vendor {
	uint32_t vendor_id, part_id, hw_ver;
	uint64_t fw_ver;
};

void ibsim_vendor_encode(void *p, const struct ibsim_vendor *v);

#endif
