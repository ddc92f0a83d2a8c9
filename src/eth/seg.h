/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_SEG_H
#define ETH_SEG_H

/*
 * Segmentation of TCP and UDP super-frames to the link's MTU, and completion of
 * partial checksums. The segments are slices of the super-frame's buffer: no payload
 * is copied. RFC 9293 §3.7.1, RFC 768, RFC 3168 §6.1.2 (CWR).
 */

#include "util/frame.h"

/*
 * Bounds on the segments of a super-frame, as in Linux. UDP_SEGMENT makes at most 128 datagrams
 * (UDP_MAX_SEGMENTS; 64 before Linux 6.10). TCP has gso_size 8 or more (TCP_MIN_GSO_SIZE): the smallest MSS is 48
 * (net.ipv4.tcp_min_snd_mss), of which options take up to 40.
 */
#define ETH_SEG_UDP_MAX 128
#define ETH_SEG_TCP_MIN 8

struct eth_seg {
	struct pkt *super;
	/* octets of payload in the segments made so far; octets of payload left */
	uint32_t off, left;
	uint32_t seq; /* TCP sequence number of the next segment */
	uint16_t ip_id;
	uint16_t mss;
	uint16_t l3, l4; /* offsets of the IP and L4 headers */
	uint16_t hlen; /* octets before the payload */
	bool ipv6, udp, first;
};

/**
 * eth_seg_start() - Begin to segment
 * @s:		written whole
 * @super:	a packet with gso, gso_size and csum_start set, whose IP header begins after @l3
 *		octets. Borrowed until the last segment was taken
 * @l3:		octets before the IP header (the encapsulation, which may have none), repeated in each segment
 * @ip_mtu:	octets an IP packet may have
 *
 * Return: 0; -EBADMSG: the headers contradict gso, or the segments exceed the bounds above;
 * -EMSGSIZE: a UDP datagram, or the headers alone, exceed @ip_mtu
 */
int eth_seg_start(struct eth_seg *s, struct pkt *super, unsigned int l3, unsigned int ip_mtu);

/* eth_seg_next() - The next segment, checksums complete (FRAME_CSUM_OK); NULL: none left or no memory */
struct pkt *eth_seg_next(struct eth_seg *s);

static inline bool eth_seg_done(const struct eth_seg *s)
{
	return s->left == 0;
}

/**
 * eth_csum_complete() - Replace a partial checksum by the whole one
 * @l3:		octets before the IP header
 *
 * No effect without FRAME_CSUM_PARTIAL.
 * Return: 0; -EBADMSG csum_start and csum_offset lie outside the packet; -ENOMEM
 */
int eth_csum_complete(struct pkt *p, unsigned int l3);

#endif
