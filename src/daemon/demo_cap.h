/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_CAP_H
#define DAEMON_DEMO_CAP_H

/* Read a capture back: every record an InfiniBand packet with right lengths and CRCs? */

#include <stdint.h>

struct demo_cap {
	uint64_t packets, octets;
	uint64_t smps, gmps, ipoib; /* VL15; QP1; the rest */
	uint64_t bad; /* lengths, headers, ICRC or VCRC wrong */
};

/* demo_cap_check() - From the beginning of @fd. 0; -EBADMSG not such a file; -errno */
int demo_cap_check(int fd, struct demo_cap *ret);

#endif
