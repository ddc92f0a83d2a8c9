/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_RELAY_H
#define VM_RELAY_H

/* Passes datagrams between the guest's wire (vm/net.h) and the sockets that lead to the fabric, one for each HCA, in batches. */

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
	const int *udp; /* connected UDP sockets, in the order of the HCAs */
	unsigned int nudp;
	/*
	 * the datagrams msg[at] to msg[n - 1] wait for room in .eth; until all are sent, no socket
	 * in .udp may be read
	 */
	unsigned int n, at;
	struct mmsghdr msg[RELAY_BATCH];
	struct iovec iov[RELAY_BATCH][2];
	struct relay_slot slot[RELAY_BATCH];
};

/*
 * relay_init() - Begin to relay between @eth and @nudp sockets @udp; all sockets must be non-blocking, and the caller
 * keeps the array and closes the sockets
 */
void relay_init(struct relay *r, int eth, const int *udp, unsigned int nudp);
/*
 * relay_blocked() - Tell whether frames wait for QEMU. If so, the caller polls .eth for POLLOUT,
 * too, and does not poll the sockets in .udp
 */
static inline bool relay_blocked(const struct relay *r)
{
	return r->at < r->n;
}
/*
 * relay_flush() - Pass on frames that wait. Call it when .eth can be written again. Return: 0 or
 * the error of .eth
 */
int relay_flush(struct relay *r);
/*
 * relay_to_guest() - Pass datagrams to HCA number @hca of the guest. Call it when the socket of
 * this HCA can be read. If frames still wait, nothing is read. Return: 0 or the error of .eth
 */
int relay_to_guest(struct relay *r, unsigned int hca);
/*
 * relay_from_guest() - Pass on datagrams from the guest. Call it when .eth is readable. Return: 0;
 * -errno: QEMU has ended
 */
int relay_from_guest(struct relay *r);

#endif
