/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IB_HDR_H
#define WIRE_IB_HDR_H

/* The transport headers of a UD packet, LRH to DETH. IBTA volume 1 ch. 7-9. */

#include <stddef.h>

#include "wire/ib.h"

#define IB_LRH_LEN 8
#define IB_GRH_LEN 40
#define IB_BTH_LEN 12
#define IB_DETH_LEN 8
#define IB_ICRC_LEN 4
#define IB_VCRC_LEN 2
#define IB_LNH_RAW 0
#define IB_LNH_IPV6 1
#define IB_LNH_LOCAL 2 /* BTH follows */
#define IB_LNH_GLOBAL 3 /* GRH, then BTH */
#define IB_OP_UD_SEND_ONLY 0x64
#define IB_OP_UD_SEND_ONLY_IMM 0x65
#define IB_GRH_NXTHDR 0x1b
#define IB_PKT_MAX \
	(IB_LRH_LEN + IB_GRH_LEN + IB_BTH_LEN + IB_DETH_LEN + 4096 + IB_ICRC_LEN + IB_VCRC_LEN)

struct ib_lrh {
	uint8_t vl, lver, sl, lnh;
	uint16_t dlid, slid;
	uint16_t pkt_len; /* in 4-octet words, LRH .. ICRC */
};

struct ib_grh {
	uint8_t ip_ver; /* 6 */
	uint8_t tclass;
	uint32_t flow_label; /* 20 bits */
	uint16_t pay_len; /* octets after the GRH up to and with ICRC */
	uint8_t nxt_hdr, hop_limit;
	ib_gid sgid, dgid;
};

struct ib_bth {
	uint8_t opcode;
	bool se, migreq, ack_req;
	uint8_t pad; /* 0..3 */
	uint8_t tver;
	uint16_t pkey;
	uint32_t dest_qp; /* 24 bits */
	uint32_t psn; /* 24 bits */
};

struct ib_deth {
	uint32_t qkey;
	uint32_t src_qp; /* 24 bits */
};

/* Everything before the payload of a UD packet. */
struct ib_ud_hdr {
	struct ib_lrh lrh;
	bool has_grh;
	struct ib_grh grh; /* only if has_grh */
	struct ib_bth bth;
	struct ib_deth deth;
};

/* Codec pairs: decode returns 0 or -EBADMSG (@len too short; it may be longer). */
int ib_lrh_decode(struct ib_lrh *ret, const void *p, size_t len);
void ib_lrh_encode(void *p, const struct ib_lrh *h);
int ib_grh_decode(struct ib_grh *ret, const void *p, size_t len);
void ib_grh_encode(void *p, const struct ib_grh *h);
int ib_bth_decode(struct ib_bth *ret, const void *p, size_t len);
void ib_bth_encode(void *p, const struct ib_bth *h);
int ib_deth_decode(struct ib_deth *ret, const void *p, size_t len);
void ib_deth_encode(void *p, const struct ib_deth *h);

/**
 * ib_ud_hdr_decode() - Decode LRH .. DETH of a UD packet
 * @ret:	written only on success
 * @p:		first octet of the LRH
 * @len:	octets that are there (headers at least)
 *
 * Does not compare lengths with the packet's real size: the caller has that.
 * Return: octets of headers (28 or 68); -EBADMSG too short or LNH raw/IPv6;
 * -EPROTO LVer, TVer or opcode not those of a UD SEND-only
 */
int ib_ud_hdr_decode(struct ib_ud_hdr *ret, const void *p, size_t len);

static inline unsigned int ib_ud_hdr_len(bool has_grh)
{
	return IB_LRH_LEN + (has_grh ? IB_GRH_LEN : 0) + IB_BTH_LEN + IB_DETH_LEN;
}

/* ib_ud_hdr_encode() - Encode; sets PktLen, PayLen and PadCnt from @payload_len. Returns octets written */
unsigned int ib_ud_hdr_encode(void *p, const struct ib_ud_hdr *h, size_t payload_len);

#endif
