/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_REPORT_H
#define TESTS_ETH_REPORT_H

/* Makes membership reports of IGMP and MLD as whole IP packets, for tests of src/eth. */

#include "unit/eth_rig.h"

#define V1_REPORT 0x12
#define V2_REPORT 0x16
#define V2_LEAVE 0x17
#define V3_REPORT 0x22
#define MLD_REPORT 131
#define MLD_DONE 132
#define MLD2_REPORT 143
enum { IS_IN = 1, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK };

struct report_rec {
	uint8_t type, aux;
	uint16_t nsrc;
	uint8_t group[16];
};

extern const uint8_t report_mldv2_dst[16];

/*
 * Write an IP packet that contains a membership report; returns its length. The functions are, in
 * this order, for IGMPv1 and v2, for IGMPv3, for MLDv1, and for MLDv2.
 */
size_t report_igmp(uint8_t *b, uint8_t type, const uint8_t group[4]);
size_t report_igmp3(uint8_t *b, const struct report_rec *r, unsigned int n);
size_t report_mld(uint8_t *b, uint8_t type, const uint8_t group[16]);
size_t report_mld2(uint8_t *b, const struct report_rec *r, unsigned int n);

/* Compute the checksum of a report of @len octets again, after the test has changed some octets. */
void report_mend_igmp(uint8_t *ip, size_t len);
void report_mend_mld(uint8_t *b, size_t len);

#endif
