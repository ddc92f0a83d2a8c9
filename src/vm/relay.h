/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_RELAY_H
#define VM_RELAY_H

/* Datagrams between the guest's wire (vm/net.h) and a socket of the instance, in batches. */

#include <stdbool.h>
#include <sys/socket.h>

#include "vm/net.h"

#define RELAY_BATCH 32

struct relay_slot {
	uint8_t hdr[VM_NET_HDR_LEN];
	uint8_t data[VM_NET_FRAME_MAX];
};

struct relay {
	int eth; /* frames: a datagram socket, whose other end is QEMU's */
	int udp; /* datagrams: connected */
	unsigned int n, at; /* slots [at, n) wait for room in eth: do not poll udp meanwhile */
	struct mmsghdr msg[RELAY_BATCH];
	struct iovec iov[RELAY_BATCH][2];
	struct relay_slot slot[RELAY_BATCH];
};

/* relay_init() - Both sockets are non-blocking and stay the caller's */
void relay_init(struct relay *r, int eth, int udp);
/* relay_blocked() - Poll eth for POLLOUT, too, and not udp */
static inline bool relay_blocked(const struct relay *r)
{
	return r->at < r->n;
}
/* relay_to_guest() - udp can be read, or eth can be written again. 0 or -errno of eth */
int relay_to_guest(struct relay *r);
/* relay_from_guest() - eth can be read. 0; -errno: QEMU is gone */
int relay_from_guest(struct relay *r);

#endif
