/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_CAP_H
#define DEMO_CAP_H

/* Reads a capture, and checks that each record is an InfiniBand packet with correct lengths and CRCs. */

#include <stdint.h>

struct demo_cap {
	uint64_t packets, octets;
	uint64_t smps; /* packets on VL15 */
	uint64_t gmps; /* packets to QP1 */
	uint64_t ipoib; /* all other packets */
	uint64_t bad; /* packets with a wrong length, header, ICRC or VCRC */
};

/*
 * demo_cap_check() - Check the capture in @fd from its beginning. Return: 0; -EBADMSG: the file is
 * no valid capture; -errno
 */
int demo_cap_check(int fd, struct demo_cap *ret);

#endif
