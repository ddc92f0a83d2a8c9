/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_UDP_BATCH_H
#define NETDEV_UDP_BATCH_H

/*
 * DOC: Packets to send, as the messages of one sendmmsg()
 *
 * Each packet is one datagram. Consecutive packets of equal length are one message with
 * UDP_SEGMENT, which the kernel cuts into these datagrams; only the last packet of a message may be
 * shorter. The headers and the tail of each packet are copied into the batch, but its payload is
 * not. The copies of all packets follow each other in memory. So the tail of a packet and the
 * headers of the next packet can be one part (struct iovec). In a message of several packets each
 * packet needs only two parts: its payload, and the octets between this payload and the payload of
 * the next packet.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/pkt.h"

#define UDP_BATCH_SEGS \
	64 /* largest number of packets of a message: the lowest UDP_MAX_SEGMENTS of all kernels */
#define UDP_BATCH_OCTETS \
	65507 /* largest length of a message: the largest IPv4 packet less its IP and UDP headers */
#define UDP_BATCH_PARTS 4 /* largest number of parts of a packet: headers, two slices, tail */

struct udp_msg {
	/* the message consists of .nparts parts, from udp_batch.part[first_part] on */
	unsigned int first_part, nparts;
	unsigned int packets;
	uint32_t octets;
	uint16_t seg; /* length of each packet of the message except the last */
	/*
	 * true after a packet that is shorter than .seg; this packet must be the last one of the
	 * message
	 */
	bool closed;
};

struct udp_batch {
	/*
	 * true if a message may consist of several packets; false if each packet is a message of
	 * its own
	 */
	bool gso;
	unsigned int nmsgs, npackets, nparts;
	uint32_t used; /* number of octets in use of room[] */
	struct udp_msg msg[PKT_BATCH];
	uint32_t len[PKT_BATCH]; /* length of each packet in octets */
	struct iovec part[PKT_BATCH * UDP_BATCH_PARTS];
	uint8_t room[PKT_BATCH * (PKT_HDR_MAX + PKT_TAIL_MAX)];
};

/* udp_batch_begin() - Empty a batch */
void udp_batch_begin(struct udp_batch *b, bool gso);

/*
 * udp_batch_add() - Add a packet. Until the batch is sent, the payload of the packet must not
 * change. The struct pkt itself may change
 *
 * Return: false: the batch is full
 */
bool udp_batch_add(struct udp_batch *b, const struct pkt *p);

#endif
