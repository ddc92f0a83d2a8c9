/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_RELAY_H
#define VM_RELAY_H

/* Passes datagrams between the guest's wire (vm/net.h) and the socket that leads to the instance, in batches. */

#include <stdbool.h>
#include <sys/socket.h>

#include "vm/net.h"

#define RELAY_BATCH 32

struct relay_slot {
	uint8_t hdr[VM_NET_HDR_LEN];
	uint8_t data[VM_NET_FRAME_MAX];
};

struct relay {
	int eth; /* datagram socket for frames; QEMU has the other end */
	int udp; /* connected UDP socket */
	/* slots [at, n) wait for room in .eth; .udp must not be read meanwhile */
	unsigned int n, at;
	struct mmsghdr msg[RELAY_BATCH];
	struct iovec iov[RELAY_BATCH][2];
	struct relay_slot slot[RELAY_BATCH];
};

/*
 * relay_init() - Begin to relay between two sockets; both must be non-blocking, and the caller
 * closes them
 */
void relay_init(struct relay *r, int eth, int udp);
/*
 * relay_blocked() - Tell whether frames wait for QEMU: if so, poll .eth for POLLOUT too, and do not
 * poll .udp
 */
static inline bool relay_blocked(const struct relay *r)
{
	return r->at < r->n;
}
/*
 * relay_to_guest() - Pass datagrams to the guest, when .udp can be read or .eth can be written again. 0 or the
 * error of .eth
 */
int relay_to_guest(struct relay *r);
/* relay_from_guest() - Pass on datagrams from the guest, when .eth is readable. Return: 0; -errno: QEMU has ended */
int relay_from_guest(struct relay *r);

#endif
