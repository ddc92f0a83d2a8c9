/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_CRC_H
#define CRC_CRC_H

/*
 * ICRC and VCRC of InfiniBand packets (IBTA volume 1, 7.8). On the wire the ICRC has 32 bits and
 * the VCRC 16, both little-endian; functions here take and return them as host integers.
 *
 * crc32_update(), crc16_update() and crc_icrc_hdr() take and return the raw register, not
 * complemented, so that the CRC of a packet in several parts can be computed part by part.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/pkt.h"

#define CRC32_INIT 0xffffffffu
#define CRC16_INIT 0xffffu

/*
 * crc32_update() - Continue the register of the reflected CRC-32 of Ethernet over @len octets
 * crc16_update() - Continue the register of the CRC-16 with polynomial 0x100B, reflected (0xD008)
 *
 * Both functions use the fastest code for this CPU. To get both CRCs of a packet in one pass, use the functions for
 * packets below.
 */
uint32_t crc32_update(uint32_t reg, const void *p, size_t len);
uint16_t crc16_update(uint16_t reg, const void *p, size_t len);

/**
 * crc_icrc_hdr() - Return the ICRC register after the headers, in which the variant fields are replaced by ones
 * @hdr:	first octet of the LRH
 * @len:	octets of the headers LRH to DETH (28 or 68), or of the headers and some payload
 *
 * The variant fields are:
 *
 *	without a GRH	LRH.VL; octet 4 of the BTH
 *	with a GRH	the whole LRH; TClass, FlowLabel and HopLmt of the GRH; octet 4 of the BTH
 */
uint32_t crc_icrc_hdr(const uint8_t *hdr, size_t len);

/*
 * crc_icrc(), crc_vcrc() - The CRCs of a contiguous packet. @len is the number of octets from LRH to pad (ICRC), or
 * from LRH to ICRC (VCRC)
 */
uint32_t crc_icrc(const uint8_t *pkt, size_t len);
uint16_t crc_vcrc(const uint8_t *pkt, size_t len);
/* Tell whether the CRC of the first @len octets of @pkt follows them, least significant octet first (IBTA 7.8) */
bool crc_icrc_follows(const uint8_t *pkt, size_t len);
bool crc_vcrc_follows(const uint8_t *pkt, size_t len);

/*
 * crc_right() - Tell which CRCs are right in a contiguous packet of @len octets, at least 14, from
 * LRH to VCRC. For a raw packet, which has no ICRC, .icrc is false
 */
struct crc_right {
	bool icrc, vcrc;
};
struct crc_right crc_right(const uint8_t *pkt, size_t len);

/* crc_put() - Append ICRC and VCRC to a contiguous packet, which has @len octets from LRH to pad */
void crc_put(uint8_t *pkt, size_t len);

/*
 * Write the tail of a packet: BTH.PadCnt pad octets, ICRC, VCRC. hdr[] of @p must hold all headers, with the LRH at
 * hdr[head]. Each function sets tail_len, and sets or clears the flags PKT_CRC, PKT_ICRC, PKT_VCRC_OK and
 * PKT_ICRC_OK.
 *
 * crc_pkt_seal() - Pad octets and both CRCs (PKT_CRC)
 * crc_pkt_seal_icrc() - Pad octets, ICRC, and a VCRC of zero (PKT_ICRC)
 * crc_pkt_pad() - Pad octets, and CRCs of zero (neither flag)
 */
void crc_pkt_seal(struct pkt *p);
void crc_pkt_seal_icrc(struct pkt *p);
void crc_pkt_pad(struct pkt *p);

enum crc_verdict {
	CRC_OK,
	CRC_BAD_ICRC,
	CRC_BAD_VCRC,
	CRC_BAD_LEN, /* the packet is too short for its headers, or its tail has no room for the CRCs */
};

/*
 * crc_pkt_check() - Verify the CRCs of a packet with the flag PKT_CRC. If PKT_VCRC_OK is set, only
 * the ICRC is verified. If PKT_ICRC_OK is set, too, neither CRC is verified. Returns CRC_OK at once
 * for packets without PKT_CRC
 */
enum crc_verdict crc_pkt_check(const struct pkt *p);

/* crc_pkt_check_icrc() - Verify a packet with the flag PKT_ICRC; returns CRC_OK at once for other packets */
enum crc_verdict crc_pkt_check_icrc(const struct pkt *p);

/*
 * crc_pkt_check_vcrc() - Verify only the VCRC, as a switch does; works for raw packets, too. Returns CRC_OK at once for
 * packets without the flag PKT_CRC, or with PKT_VCRC_OK
 */
enum crc_verdict crc_pkt_check_vcrc(const struct pkt *p);

/* crc_pkt_mend_vcrc() - Compute the VCRC of a packet again, after octets were changed; the ICRC is not changed */
void crc_pkt_mend_vcrc(struct pkt *p);

/* crc_pkt_set_vl() - Change LRH.VL and p->vl, and correct the VCRC by the difference that the change makes */
void crc_pkt_set_vl(struct pkt *p, uint8_t vl);

#endif
