/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_QUEUE_H
#define UDP_QUEUE_H

/*
 * DOC: Packets that wait to be sent
 *
 * Management packets (on VL15, or to QP1) are sent before all others. Each of the two classes,
 * management and other packets, is a first-in, first-out queue with a limit of its own. All packets
 * have CRCs, except the packets of trains, which get their CRCs when they are sent (train/train.h).
 */

#include "util/pkt.h"

#define UDP_QUEUE_DEPTH 4096 /* largest number of packets of each class */

/* A queue. A zeroed struct is valid and empty. */
struct udp_queue {
	struct pkt_queue mgmt, data;
};

/*
 * udp_queue_add() - Add a packet or a train, of which the queue takes ownership. Return: number of
 * packets discarded because the queue is full
 */
unsigned int udp_queue_add(struct udp_queue *q, struct pkt *p);

/*
 * udp_queue_take() - Take descriptors from the head until they represent @max packets or more
 * @v:		room for @max descriptors
 *
 * Return: number of descriptors
 */
unsigned int udp_queue_take(struct udp_queue *q, struct pkt **v, unsigned int max);

/*
 * udp_queue_return() - Free the first @done packets of the @n descriptors that udp_queue_take()
 * returned, and put the other packets back at the head of the queue
 */
void udp_queue_return(struct udp_queue *q, struct pkt **v, unsigned int n, unsigned int done);

/* udp_queue_purge() - Free all packets. Return: the number of packets */
unsigned int udp_queue_purge(struct udp_queue *q);

static inline unsigned int udp_queue_len(const struct udp_queue *q)
{
	return q->mgmt.n + q->data.n;
}

#endif
