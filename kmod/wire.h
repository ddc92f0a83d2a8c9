/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UIB_WIRE_H
#define UIB_WIRE_H

/*
 * The headers of a UD packet, LRH to DETH (IBTA volume 1, chapters 7 to 9), and its CRCs. The formats of MADs are in
 * <rdma/ib_smi.h> and <rdma/ib_pma.h>.
 */

#include <linux/types.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#define UIB_LRH_LEN 8
#define UIB_GRH_LEN 40
#define UIB_BTH_LEN 12
#define UIB_DETH_LEN 8
#define UIB_IMM_LEN 4
#define UIB_ICRC_LEN 4
#define UIB_VCRC_LEN 2
#define UIB_HDR_MAX (UIB_LRH_LEN + UIB_GRH_LEN + UIB_BTH_LEN + UIB_DETH_LEN + UIB_IMM_LEN)
#define UIB_TAIL_MAX (3 + UIB_ICRC_LEN + UIB_VCRC_LEN)
#define UIB_PKT_MIN (UIB_LRH_LEN + UIB_ICRC_LEN + UIB_VCRC_LEN)
/* IBTA 7.7.8: a payload of 4096 octets and at most 126 octets of headers and CRCs */
#define UIB_PKT_MAX 4222

#define UIB_LNH_LOCAL 2
#define UIB_LNH_GLOBAL 3
#define UIB_OP_SEND 0x64
#define UIB_OP_SEND_IMM 0x65
#define UIB_GRH_NXTHDR 0x1b
#define UIB_VL15 15
#define UIB_LID_MCAST 0xc000
#define UIB_LID_PERMISSIVE 0xffff
#define UIB_QPN_MASK 0xffffff
#define UIB_DEFAULT_PREFIX 0xfe80000000000000ull
#define UIB_PKEY_FULL 0x8000
#define UIB_QKEY_CONTROLLED 0x80000000

static inline bool uib_lid_is_mcast(u16 lid)
{
	return lid >= UIB_LID_MCAST && lid != UIB_LID_PERMISSIVE;
}

/*
 * Tell whether two P_Keys match: their low 15 bits are equal and not 0, and at least one of the two P_Keys is that of a
 * full member (IBTA 10.9.3).
 */
static inline bool uib_pkey_match(u16 a, u16 b)
{
	return !((a ^ b) & ~UIB_PKEY_FULL) && (a & ~UIB_PKEY_FULL) && ((a | b) & UIB_PKEY_FULL);
}

void uib_crc_init(void);

/* uib_vcrc() - Continue a VCRC over @len octets. The first @crc is U16_MAX; the packet has the complement, little-endian */
u16 uib_vcrc(u16 crc, const void *p, size_t len);

/*
 * uib_icrc_hdr() - Begin an ICRC: the CRC-32 of LRH .. DETH (@len octets, at most UIB_HDR_MAX), in which all bits that
 * switches and routers may change are replaced by ones. The caller continues the ICRC by crc32_le(). The packet
 * contains the complement, little-endian
 */
u32 uib_icrc_hdr(const u8 *hdr, size_t len);

#endif
