/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CRC_H
#define WIRE_CRC_H

/*
 * ICRC and VCRC of InfiniBand packets (IBTA volume 1, 7.8). Both are kept as host
 * integers of the octets as stored: the ICRC little-endian 32 bits, the VCRC
 * little-endian 16 bits.
 *
 * The running forms take and give the raw register (not complemented), so that a
 * packet in parts is fed part by part.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/pkt.h"

#define CRC32_INIT 0xffffffffu
#define CRC16_INIT 0xffffu

/* CRC-32 as in Ethernet (reflected): ISA-L, or a portable table where that is not built in. */
uint32_t crc32_update(uint32_t reg, const void *p, size_t len);

/* CRC-16, polynomial 0x100B reflected (0xD008): the fastest kernel the CPU has, chosen once. */
uint16_t crc16_update(uint16_t reg, const void *p, size_t len);

/* Every kernel of crc16_update() that this CPU can run, for tests and bench: name and function. */
struct crc16_kernel {
	const char *name; /* "vpclmulqdq", "pclmulqdq", "slice16" */
	uint16_t (*update)(uint16_t reg, const void *p, size_t len);
};
const struct crc16_kernel *crc16_kernels(size_t *ret_n);

/**
 * crc_icrc_hdr() - The running CRC over the headers with variant fields as ones
 * @hdr:	first octet of the LRH
 * @len:	octets: 28 or 68 (LRH .. DETH), or more of the packet
 *
 * Without GRH: LRH.VL and BTH byte 4 as ones. With GRH (LNH 3): all of LRH,
 * GRH TClass, FlowLabel, HopLmt and BTH byte 4.
 */
uint32_t crc_icrc_hdr(const uint8_t *hdr, size_t len);

/* crc_icrc(), crc_vcrc() - Of a contiguous packet; @len counts LRH .. pad, or LRH .. ICRC */
uint32_t crc_icrc(const uint8_t *pkt, size_t len);
uint16_t crc_vcrc(const uint8_t *pkt, size_t len);

/*
 * crc_pkt_seal() - Complete the tail of @p (hdr[head..] starts with the LRH): pad
 * octets as BTH.PadCnt says, ICRC, VCRC; sets PKT_CRC and tail_len
 */
void crc_pkt_seal(struct pkt *p);

/* crc_pkt_pad() - The same without CRCs (crc = off): pad octets, CRC octets zero, PKT_CRC clear */
void crc_pkt_pad(struct pkt *p);

enum crc_verdict {
	CRC_OK,
	CRC_BAD_ICRC,
	CRC_BAD_VCRC,
	CRC_BAD_LEN, /* tail or headers not there */
};

/* crc_pkt_check() - Verify a packet that carries PKT_CRC; without the flag CRC_OK at once */
enum crc_verdict crc_pkt_check(const struct pkt *p);

/*
 * crc_pkt_check_vcrc() - The VCRC alone, as a switch verifies it, of any packet (raw ones too);
 * without PKT_CRC CRC_OK at once
 */
enum crc_verdict crc_pkt_check_vcrc(const struct pkt *p);

/* crc_pkt_mend_vcrc() - The VCRC of what a packet with PKT_CRC is now; its ICRC stays */
void crc_pkt_mend_vcrc(struct pkt *p);

/* crc_pkt_set_vl() - Change LRH.VL (and p->vl) and mend the VCRC incrementally */
void crc_pkt_set_vl(struct pkt *p, uint8_t vl);

#endif
