/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_SUM_H
#define CRC_SUM_H

/*
 * DOC: The CRCs of many packets at once
 *
 * A CRC is linear: the CRC of a sum (XOR) of messages of one length is the sum of their CRCs. So
 * the packets of a train, which have one length, are added up. Two CRCs of the sum then tell
 * whether the ICRCs and the VCRCs of all packets are right. To add an octet takes less time than to
 * fold it (crc/kern.h).
 *
 *	packet 0	|headers|        payload        |pad ICRC|
 *	packet 1	         |headers|        payload        |pad ICRC|
 *	packet 2	                  |headers|        payload        |pad ICRC|
 *	sum		|--------------------------------------------------|
 *
 * Each packet is added CRC_SUM_STEP octets further on than the packet before, so each packet is
 * multiplied by another power of x. Both generators are primitive, and no two of these powers are
 * equal modulo either generator. So equal damage in two packets, or in all packets, is found.
 * Damage in one packet is found if and only if the CRC of this packet finds it. Other damage in
 * several packets is not found if it cancels out. Random damage cancels out once in 2^16 for the
 * VCRC and once in 2^32 for the ICRC, as often as random damage in one packet passes the CRC of
 * this packet. Damage always cancels out if it hits the same bits of the sum twice: in one packet,
 * and in the packet d places later, where these bits are d * CRC_SUM_STEP octets nearer to the
 * packet's start.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/pkt.h"

#define CRC_SUM_MAX 32 /* largest number of packets in a sum */
#define CRC_SUM_STEP 64
#define CRC_SUM_PAYLOAD 4096

enum crc_sum_which { CRC_SUM_ICRC = 1 << 0, CRC_SUM_VCRC = 1 << 1 };

struct crc_sum {
	unsigned int which; /* CRCs that are verified (enum crc_sum_which) */
	unsigned int n; /* number of packets added so far */
	uint32_t start; /* offset of the LRH of the first packet in .octets */
	uint32_t len; /* octets of each packet from LRH to ICRC */
	bool grh;
	/* for each packet: the VCRC, and the bits that the ICRC takes as ones although they are zeros (crc_global_ones) */
	struct crc_sum_pkt {
		uint8_t vcrc[2];
		uint8_t ones[2][16];
	} pkt[CRC_SUM_MAX];
	/* The payload of the first packet begins at PKT_HDR_MAX. */
	uint8_t octets[PKT_HDR_MAX + CRC_SUM_PAYLOAD + PKT_TAIL_MAX +
		       (CRC_SUM_MAX - 1) * CRC_SUM_STEP] __attribute__((aligned(64)));
};

/**
 * crc_sum_begin() - Begin a sum of packets with the shape of @p
 * @which:	the CRCs to verify (enum crc_sum_which)
 * @p:		a packet with headers from LRH to DETH in hdr[] and with a tail of pad octets, ICRC and VCRC
 * @npkts:	the number of packets that will be added, 1 to CRC_SUM_MAX
 *
 * Return: false if packets of this shape have to be verified one by one
 */
bool crc_sum_begin(struct crc_sum *s, unsigned int which, const struct pkt *p, unsigned int npkts);

/*
 * crc_sum_add() - Add a packet. It must have the same LNH, and as many octets of headers, of payload and of the tail,
 * as the packet for which crc_sum_begin() was called
 */
void crc_sum_add(struct crc_sum *s, const struct pkt *p);

/*
 * crc_sum_right() - Tell whether the CRCs of all packets are right; afterwards the sum cannot be
 * used again
 */
bool crc_sum_right(struct crc_sum *s);

#endif
