/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IB_HDR_H
#define WIRE_IB_HDR_H

/* The headers of a UD packet, LRH to DETH (IBTA volume 1 ch. 7-9) */

#include <stddef.h>

#include "wire/ib.h"

#define IB_LRH_LEN 8
#define IB_GRH_LEN 40
#define IB_BTH_LEN 12
#define IB_DETH_LEN 8
#define IB_ICRC_LEN 4
#define IB_VCRC_LEN 2
#define IB_CRCS_LEN (IB_ICRC_LEN + IB_VCRC_LEN)
#define IB_LNH_RAW 0
#define IB_LNH_IPV6 1
#define IB_LNH_LOCAL 2 /* BTH follows */
#define IB_LNH_GLOBAL 3 /* GRH, then BTH */
#define IB_OP_UD_SEND_ONLY 0x64
#define IB_OP_UD_SEND_ONLY_IMM 0x65
#define IB_GRH_NXTHDR 0x1b
#define IB_UD_HDR_MAX (IB_LRH_LEN + IB_GRH_LEN + IB_BTH_LEN + IB_DETH_LEN)
#define IB_PKT_MAX (IB_UD_HDR_MAX + 4096 + IB_CRCS_LEN)

/* Offsets of fields that the data path reads or writes in place, counted from the beginning of their header */
#define IB_LRH_OFF_DLID 2
#define IB_LRH_OFF_PKT_LEN 4
#define IB_LRH_PKT_LEN_MASK 0x7ffu
#define IB_LRH_OFF_SLID 6
#define IB_GRH_OFF_PAY_LEN 4
#define IB_BTH_OFF_PKEY 2
#define IB_BTH_OFF_DEST_QP 4
#define IB_BTH_OFF_PSN 8
#define IB_DETH_OFF_QKEY 0
#define IB_DETH_OFF_SRC_QP 4

/* Accessors of fields in place. @lrh is the first octet of the packet, @bth the first octet of its BTH. */
static inline uint8_t ib_lrh_vl(const uint8_t *lrh)
{
	return lrh[0] >> 4;
}

static inline uint8_t ib_lrh_lver(const uint8_t *lrh)
{
	return lrh[0] & 0xf;
}

static inline uint8_t ib_lrh_sl(const uint8_t *lrh)
{
	return lrh[1] >> 4;
}

static inline bool ib_lrh_has_grh(const uint8_t *lrh)
{
	return (lrh[1] & 3) == IB_LNH_GLOBAL;
}

/* ib_lrh_has_bth() - Tell whether the packet has a BTH and an ICRC; raw packets have neither */
static inline bool ib_lrh_has_bth(const uint8_t *lrh)
{
	return lrh[1] & 2; /* IB_LNH_LOCAL and IB_LNH_GLOBAL */
}

/*
 * ib_bth_off() - Return the offset of the BTH, which is the length of the LRH and, if there is one, of the GRH. The
 * packet must have a BTH
 */
static inline unsigned int ib_bth_off(const uint8_t *lrh)
{
	return IB_LRH_LEN + (lrh[1] & 1u) * IB_GRH_LEN;
}

/* ib_bth_pad() - Return PadCnt, the number of octets between payload and ICRC, 0 to 3 */
static inline unsigned int ib_bth_pad(const uint8_t *bth)
{
	return bth[1] >> 4 & 3;
}

/* ib_bth_set_pad() - Set PadCnt; the other fields of the octet, SE, M and TVer, become 0 */
static inline void ib_bth_set_pad(uint8_t *bth, unsigned int pad)
{
	bth[1] = (uint8_t)(pad << 4);
}

static inline uint16_t ib_bth_pkey(const uint8_t *bth)
{
	return be16_at(bth + IB_BTH_OFF_PKEY);
}

static inline uint32_t ib_bth_dest_qp(const uint8_t *bth)
{
	return be32_at(bth + IB_BTH_OFF_DEST_QP) & IB_QPN_MASK;
}

struct ib_lrh {
	uint8_t vl, lver, sl, lnh;
	uint16_t dlid, slid;
	uint16_t pkt_len; /* length from LRH to ICRC in 4-octet words */
};

struct ib_grh {
	uint8_t ip_ver; /* always 6 */
	uint8_t tclass;
	uint32_t flow_label; /* 20 bits */
	uint16_t pay_len; /* octets after the GRH, up to and including the ICRC */
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

/* All headers of a UD packet */
struct ib_ud_hdr {
	struct ib_lrh lrh;
	bool has_grh;
	struct ib_grh grh; /* valid if has_grh */
	struct ib_bth bth;
	struct ib_deth deth;
};

/*
 * The decoders return 0, or -EBADMSG if @len is less than the header. @len may be more than the
 * header.
 */
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
 * @len:	octets at @p; the headers must be among them
 *
 * The length fields are not compared with the size of the packet, because only the caller knows the
 * size.
 * Return: octets of the headers (28 or 68); -EBADMSG: too short, or a raw packet; -EPROTO: LVer,
 * TVer or opcode are not those of a UD SEND-only
 */
int ib_ud_hdr_decode(struct ib_ud_hdr *ret, const void *p, size_t len);

static inline unsigned int ib_ud_hdr_len(bool has_grh)
{
	return IB_LRH_LEN + (has_grh ? IB_GRH_LEN : 0) + IB_BTH_LEN + IB_DETH_LEN;
}

/* ib_ud_hdr_encode() - Encode LRH to DETH, with PktLen, PayLen and PadCnt for @payload_len. Returns octets written */
unsigned int ib_ud_hdr_encode(void *p, const struct ib_ud_hdr *h, size_t payload_len);

#endif
