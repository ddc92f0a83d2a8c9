/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBSIM_PROTO_H
#define IBSIM_PROTO_H

/*
 * DOC: ibsim's client protocol
 *
 * What a program with libumad2sim.so preloaded and ibsim say to each other, by datagrams of
 * abstract UNIX sockets below one name (IBSIM_SOCKNAME, "sim" by default):
 *
 *	client			server
 *	NAME:ctlPID	<->	NAME:ctl	struct ibsim_ctl: a request and its answer, one at a time
 *	NAME:inPID	<->	NAME:outID	struct ibsim_pkt: MADs; ID is what Connect answered
 *
 * The formats are C structures of x86-64 with their padding: integers in host byte order, except
 * what struct ib_user_mad has in network order (LID, QPN, status, and the length, which is 64 bits).
 */

#include "wire/mad.h"

#define IBSIM_MAGIC 0xdeadbeefu
#define IBSIM_STATUS_TIMEOUT 110 /* ETIMEDOUT: the request comes back, nobody answered */

/* --- MADs */

#define IBSIM_PKT_LEN 288

struct ibsim_pkt {
	uint16_t dlid, slid; /* slid of a client's: 0 (its own LID) or permissive */
	uint32_t dest_qp, src_qp; /* 24 bits */
	uint32_t status; /* 0 or IBSIM_STATUS_TIMEOUT */
	uint16_t len; /* octets of @mad that the sender meant, 24 .. 256 */
	uint8_t mad[MAD_LEN]; /* zero behind len */
};

/* ibsim_pkt_decode() - 0; -EBADMSG @n is not 288, or the MAD's length is impossible */
int ibsim_pkt_decode(struct ibsim_pkt *ret, const void *p, size_t n);
/* ibsim_pkt_encode() - Writes IBSIM_PKT_LEN octets */
void ibsim_pkt_encode(void *p, const struct ibsim_pkt *k);

/* --- control */

enum ibsim_ctl_type {
	IBSIM_CTL_ERROR, /* of answers only */
	IBSIM_CTL_CONNECT, /* struct ibsim_client_info, both ways */
	IBSIM_CTL_DISCONNECT,
	IBSIM_CTL_GET_PORT, /* 4 octets: LID, state */
	IBSIM_CTL_GET_VENDOR, /* struct ibsim_vendor */
	IBSIM_CTL_GET_GID, /* 16 octets */
	IBSIM_CTL_GET_GUID, /* 8 octets, big-endian */
	IBSIM_CTL_GET_NODE_INFO, /* 64 octets, as in an SMP */
	IBSIM_CTL_GET_PORT_INFO, /* asked: octet 0 is the port, 0 the client's own; 64 octets */
	IBSIM_CTL_SET_ISSM, /* int */
	IBSIM_CTL_GET_PKEYS, /* the first 32, big-endian */
	IBSIM_CTL_LAST,
};

#define IBSIM_CTL_LEN 80
#define IBSIM_CTL_DATA 64

struct ibsim_ctl {
	uint32_t client; /* id that Connect answered */
	uint32_t type; /* enum ibsim_ctl_type; anything in what a client sent */
	uint32_t len; /* octets of data that count, at most 64 */
	uint8_t data[IBSIM_CTL_DATA];
};

/* ibsim_ctl_decode() - 0; -EBADMSG @n is not 80, another magic, or more data than there is room */
int ibsim_ctl_decode(struct ibsim_ctl *ret, const void *p, size_t n);
/* ibsim_ctl_encode() - Writes IBSIM_CTL_LEN octets */
void ibsim_ctl_encode(void *p, const struct ibsim_ctl *c);

#define IBSIM_NODE_MAX 32 /* octets of a node's name, with the zero */
#define IBSIM_CLIENT_INFO_LEN 44

/* Data of Connect */
struct ibsim_client_info {
	uint32_t id; /* the client's process; in the answer its id */
	uint32_t qp; /* no client sets it */
	bool issm;
	char node[IBSIM_NODE_MAX]; /* "": the default */
};

/* ibsim_client_info_decode() - 0; -EBADMSG @len is not 44, or @node has no end */
int ibsim_client_info_decode(struct ibsim_client_info *ret, const void *p, size_t len);
/* ibsim_client_info_encode() - Writes 44 octets; a name too long is cut as ibsim does */
void ibsim_client_info_encode(void *p, const struct ibsim_client_info *i);

#define IBSIM_VENDOR_LEN 24

struct ibsim_vendor {
	uint32_t vendor_id, part_id, hw_ver;
	uint64_t fw_ver;
};

int ibsim_vendor_decode(struct ibsim_vendor *ret, const void *p, size_t len);
void ibsim_vendor_encode(void *p, const struct ibsim_vendor *v);

#endif
