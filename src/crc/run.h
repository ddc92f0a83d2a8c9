/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_RUN_H
#define CRC_RUN_H

/*
 * DOC: Making the CRCs of packets with almost equal headers
 *
 * The packets of a train have one length, and equal headers except for a few words. CRCs are
 * linear, so what the common headers contribute is computed once for all packets. What a word
 * contributes is the product of the word and a power of x, which takes one multiplication. So a
 * packet takes one pass over its payload, which also makes the sum for the TCP or UDP checksum, and
 * a multiplication for each word. The checksum is one of these words.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/pkt.h"

#define CRC_RUN_WORDS 8 /* largest number of words in which the headers differ */

struct crc_run {
	uint32_t len; /* number of octets of each payload */
	uint32_t pad; /* number of pad octets */
	uint64_t common[2]; /* register of the common headers, folded over payload and pad */
	unsigned int nwords;
	uint64_t by[CRC_RUN_WORDS]; /* [i]: constant by which word i is multiplied */
};

/* What a payload contributes: the register into which it is folded, and its inet_sum() */
struct crc_body {
	uint64_t reg[2];
	uint32_t sum;
};

/**
 * crc_run_begin() - Begin a run of packets
 * @p:		the first packet, with headers from LRH to DETH in hdr[], with its payload in one slice, and with a tail
 *		of pad octets, ICRC and VCRC. The words in which the packets differ are 0
 * @at:		offsets of these words of 4 octets from the LRH, multiples of 4. The words contain no field of the LRH
 *		or the GRH, and no reserved bits of the BTH
 * @n:		number of these words, at most CRC_RUN_WORDS
 *
 * Return: false if the CRCs of packets of this shape have to be made one by one
 */
bool crc_run_begin(struct crc_run *r, const struct pkt *p, const uint32_t *at, unsigned int n);

/* crc_run_body() - Return what the payload at @payload contributes, which has r->len octets */
struct crc_body crc_run_body(const struct crc_run *r, const uint8_t *payload);

/*
 * crc_run_crcs() - Write ICRC and VCRC, as on the wire, of the packet with @body. Each of @words
 * has, in memory, the same octets as the packet
 */
void crc_run_crcs(const struct crc_run *r, const struct crc_body *body, const uint32_t *words,
		  uint8_t *crcs);

#endif
