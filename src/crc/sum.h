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
 *	packet 0	|headers|        payload        |pad|CRCs|
 *	packet 1	    |headers|        payload        |pad|CRCs|
 *	packet 2	        |headers|        payload        |pad|CRCs|
 *	sum		|------------------------------------------------|
 *
 * The packets of a train have equal headers, except for a few words, and their payloads follow each
 * other in memory. So crc_sum_begin() adds the headers and pad octets that all packets have in
 * common, which takes little more time than to add those of one packet, and all payloads. The
 * caller then adds the words in which the headers differ, and the CRCs, packet by packet.
 *
 * From one packet to the next, the place in the sum moves by 1 to CRC_LINE octets, such that each
 * octet of a payload has the same place in a line of the cache as in the sum (crc/add.h). So each
 * packet is multiplied by another power of x. Both generators are primitive, and no two of these
 * powers are equal modulo either generator. So equal damage in two packets, or in all packets, is
 * found. Damage in one packet is found if and only if the CRC of this packet finds it. Other damage
 * in several packets is not found if it cancels out. Random damage cancels out once in 2^16 for the
 * VCRC and once in 2^32 for the ICRC, as often as random damage in one packet passes the CRC of
 * this packet. Damage always cancels out if it hits the same bits of the sum twice: in one packet,
 * and in a packet whose place is d octets further on, where these bits are d octets nearer to the
 * packet's start.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/be.h"
#include "util/pkt.h"
#include "wire/ib_hdr.h"

#define CRC_SUM_MAX 32 /* largest number of packets in a sum */
#define CRC_SUM_PAYLOAD 4096
#define CRC_LINE PKT_BUF_ALIGN
/* largest number of octets of a sum, whose first packet begins in its first line */
#define CRC_SUM_LEN \
	(CRC_LINE + PKT_HDR_MAX + CRC_SUM_PAYLOAD + PKT_TAIL_MAX + (CRC_SUM_MAX - 1) * CRC_LINE)

struct crc_sum {
	unsigned int which; /* CRCs that are verified (enum crc_sum_which) */
	unsigned int n; /* number of packets */
	uint32_t len; /* number of octets of each packet, from LRH to VCRC */
	uint32_t at; /* offset in .octets of the packet that comes first in the sum */
	/* distance from each packet in the sum to the packet that comes next in the sum */
	uint32_t step;
	uint8_t *first; /* packet 0 in .octets, from its LRH on */
	/* distance in .octets from each packet to the packet with the next number: .step, or -.step */
	ptrdiff_t next;
	/*
	 * XOR of the messages of VCRC and ICRC, in the headers that all packets have in common. They differ in the
	 * fields that switches may change, and in the initial register.
	 */
	uint8_t to_icrc[IB_UD_HDR_MAX];
	/* number of octets of .to_icrc, which are those of the headers from LRH to DETH */
	uint32_t ud_hdr_len;
	/* of each packet, the complement of the VCRC, as a word for crc_sum_mix() */
	uint32_t vcrc[CRC_SUM_MAX];
	/* whole lines, and room behind them for crc_sum_mix() with a word that begins in the last octets */
	uint8_t octets[(CRC_SUM_LEN / CRC_LINE + 2) * CRC_LINE] __attribute__((aligned(CRC_LINE)));
};

enum crc_sum_which { CRC_SUM_ICRC = 1 << 0, CRC_SUM_VCRC = 1 << 1 };

/**
 * crc_sum_begin() - Begin a sum of packets of equal length, whose headers differ only in some words, and whose payloads
 *	follow each other in memory
 * @which:	the CRCs to verify (enum crc_sum_which)
 * @p:		the first packet, with headers from LRH to DETH in hdr[], with its payload in one slice, and with a tail
 *		of pad octets, ICRC and VCRC. In the words that differ, all packets have what they have here, plus
 *		(XOR) what the caller adds. No field of the LRH or the GRH differs, and no reserved bits of the BTH
 * @n:		number of packets, 1 to CRC_SUM_MAX
 *
 * The payloads must not change before the sum is complete.
 * Return: false if packets of this shape have to be verified one by one
 */
bool crc_sum_begin(struct crc_sum *s, unsigned int which, const struct pkt *p, unsigned int n);

/*
 * crc_sum_mix() - Add a word of 4 octets, whose octets in memory are those of the packet, at @to in the sum. A sum of words
 * that all have the same place in a packet, modulo 4, is made without delays if the length of the
 * payload is a multiple of 4, because the CPU then passes each word from its store to the next load
 */
static inline void crc_sum_mix(uint8_t *to, uint32_t word)
{
	uint32_t sum;

	memcpy(&sum, to, sizeof(sum));
	sum ^= word;
	memcpy(to, &sum, sizeof(sum));
}

/*
 * crc_sum_crcs() - Add the ICRC and the VCRC of packet @k, which are at @crcs as on the wire, to the packet at @to in
 * the sum
 */
static inline void crc_sum_crcs(struct crc_sum *s, unsigned int k, uint8_t *to, const uint8_t *crcs)
{
	uint16_t vcrc = be16_at(crcs + IB_ICRC_LEN);
	uint32_t icrc;

	memcpy(&icrc, crcs, sizeof(icrc));
	s->vcrc[k] = BE_SWAP32((uint32_t)(uint16_t)~vcrc << 16);
	to += s->len - IB_CRCS_LEN;
	crc_sum_mix(to, icrc);
	crc_sum_mix(to + IB_ICRC_LEN, s->vcrc[k]);
}

/*
 * crc_sum_right() - Tell whether the CRCs of all packets are right; afterwards the sum cannot be
 * used again
 */
bool crc_sum_right(struct crc_sum *s);

#endif
