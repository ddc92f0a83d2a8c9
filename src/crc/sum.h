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
 * Each packet is added 1 to CRC_LINE octets further on than the packet before, so that its payload
 * has the same place in the lines of the cache as in the sum (crc/add.h). So each packet is
 * multiplied by another power of x. Both generators are primitive, and no two of these powers are
 * equal modulo either generator. So equal damage in two packets, or in all packets, is found.
 * Damage in one packet is found if and only if the CRC of this packet finds it. Other damage in
 * several packets is not found if it cancels out. Random damage cancels out once in 2^16 for the
 * VCRC and once in 2^32 for the ICRC, as often as random damage in one packet passes the CRC of
 * this packet. Damage always cancels out if it hits the same bits of the sum twice: in one packet,
 * and in a packet that was added d octets further on, where these bits are d octets nearer to the
 * packet's start.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/pkt.h"
#include "wire/ib_hdr.h"

#define CRC_SUM_MAX 32 /* largest number of packets in a sum */
#define CRC_SUM_PAYLOAD 4096
#define CRC_LINE PKT_BUF_ALIGN
#define CRC_SUM_STEP CRC_LINE /* largest distance in the sum from one packet to the next */
#define CRC_SUM_LINES (2 * CRC_LINE) /* a shorter payload is not added in lines (crc/add.h) */
#define CRC_GROUP 4 /* largest number of packets in crc_sum.group */

enum crc_sum_which { CRC_SUM_ICRC = 1 << 0, CRC_SUM_VCRC = 1 << 1 };

/* A run of lines that is added to a sum, and its place in the sum: its first line, and the line after its last one */
struct crc_addend {
	const uint8_t *p;
	uint32_t from, to;
};

struct crc_sum {
	unsigned int which; /* CRCs that are verified (enum crc_sum_which) */
	unsigned int n; /* number of packets added so far */
	uint32_t hdr_len; /* number of octets that each packet has in its pkt.hdr[] */
	uint32_t len; /* number of octets of each packet, from LRH to VCRC */
	uint32_t used; /* octets of the sum that are initialized, a multiple of CRC_LINE */
	bool grh;
	struct crc_sum_pkt {
		uint32_t at; /* offset of the LRH in the sum */
		uint16_t vcrc; /* the complement of the VCRC, in network byte order */
		/*
		 * rows that turn the headers in the message of the VCRC into the headers in the
		 * message of the ICRC: row 0, and with a GRH also the row at CRC_GLOBAL_ROW
		 */
		uint8_t to_icrc[2][16];
	} pkt[CRC_SUM_MAX];
	/*
	 * The packets added last, whose octets are not yet in .octets. Of each packet, the lines
	 * that belong to the payload as a whole stay in their buffer (.payload). The lines before
	 * and after them are copies, which are written in small pieces. The CPU delays a load of a
	 * whole line until such pieces are in the cache, so these lines are read as late as
	 * possible.
	 */
	struct crc_sum_group {
		unsigned int n;
		struct crc_addend payload[CRC_GROUP], front[CRC_GROUP], back[CRC_GROUP];
		struct crc_sum_copy {
			uint8_t front[2 * PKT_HDR_MAX + 2 * CRC_LINE], back[3 * CRC_LINE];
		} copy[CRC_GROUP] __attribute__((aligned(CRC_LINE)));
	} group;
	uint8_t octets[PKT_HDR_MAX + CRC_SUM_PAYLOAD + PKT_TAIL_MAX + CRC_LINE +
		       CRC_SUM_MAX * CRC_SUM_STEP] __attribute__((aligned(CRC_LINE)));
};

/**
 * crc_sum_begin() - Begin a sum of packets with the shape of @p
 * @which:	the CRCs to verify (enum crc_sum_which)
 * @p:		a packet with headers from LRH to DETH in hdr[] and with a tail of pad octets, ICRC and VCRC
 *
 * Return: false if packets of this shape have to be verified one by one
 */
bool crc_sum_begin(struct crc_sum *s, unsigned int which, const struct pkt *p);

/*
 * crc_sum_add() - Add a packet, at most CRC_SUM_MAX. It must have the same LNH, and as many octets
 * of headers, of payload and of the tail, as the packet for which crc_sum_begin() was called. Its
 * payload must not change before the sum is complete
 */
void crc_sum_add(struct crc_sum *s, const struct pkt *p);

/*
 * crc_sum_right() - Tell whether the CRCs of all packets are right; afterwards the sum cannot be
 * used again
 */
bool crc_sum_right(struct crc_sum *s);

#endif
