/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_GRO_H
#define ETH_GRO_H

/*
 * DOC: Coalescing
 *
 * Coalescing is the inverse of segmentation. Packets of one batch become one super-frame if they
 * are TCP packets of one flow with consecutive sequence numbers, or UDP datagrams of one flow with
 * equal sizes. One system call writes the super-frame to the TAP. No packet waits for a later
 * batch. Packets of a flow keep their order: if a packet cannot join its flow's super-frame, the
 * super-frame is written before the packet.
 *
 * A received packet is coalesced only if its checksum is known to be right: either this process
 * computed the checksum (FRAME_CSUM_OK), or gro.c has verified it. The super-frame has a partial
 * checksum, as super-frames of the kernel's own stack have.
 *
 * Datagrams that the kernel sends are coalesced by the same code (eth_gro_init_sent()), if their
 * checksums are partial. No receiver and no capture shows a difference: the packets that are cut from
 * the super-frame (train/train.h) have the same octets, and the same order, as the datagrams.
 */

#include <sys/uio.h>

#include "util/frame.h"

#define ETH_GRO_FLOWS 8
/* largest number of packets in one super-frame; UDP_MAX_SEGMENTS of Linux before 6.10 */
#define ETH_GRO_SEGS 64
#define ETH_FRAME_PARTS (3 * ETH_GRO_SEGS)

/* Layout of the link header (Ethernet or InfiniBand) with which each frame of a TAP begins */
struct eth_head {
	uint8_t len; /* octets before the IP header */
	uint8_t type_at; /* offset of the ethertype */
};

/*
 * A packet, or a super-frame: a chain of packets by pkt->next. The first packet has the headers up
 * to the L4 header, and its struct frame_info has the values for the virtio-net header (csum_start
 * is an offset from the IP header). The other packets have payload only.
 */
struct eth_frame {
	struct pkt *first;
	unsigned int n; /* number of packets in the chain */
	uint32_t len; /* octets of the frame, including those before the IP header */
};

/*
 * Called with each finished frame. The callback owns the frame's chain of packets, and has to free
 * it by eth_frame_free().
 */
typedef void eth_emit_fn(void *ctx, struct eth_frame *f);

struct eth_gro_flow {
	struct eth_frame frame;
	struct pkt *last;
	uint32_t next_seq; /* TCP sequence number that a packet must have to join the super-frame */
	/*
	 * .mss: octets of payload in the first packet; .hlen: octets of headers, including those
	 * before the IP header; .ip_id: IPv4 identification that a packet must have to join
	 */
	uint16_t mss, hlen, ip_id;
	uint8_t l4; /* offset of the L4 header */
	bool ipv6, udp;
	bool fixed_id; /* see struct frame_info */
};

struct eth_gro {
	struct eth_gro_flow flow[ETH_GRO_FLOWS];
	unsigned int n;
	unsigned int l3; /* octets before the IP header of each packet */
	bool tcp, udp; /* kinds of packets that may be coalesced */
	bool sent; /* the packets come from the kernel, see eth_gro_init_sent() */
	eth_emit_fn *emit;
	void *ctx;
};

/*
 * eth_gro_init() - Initialize for received packets
 * @l3:	octets before the IP header of each packet
 * @tcp, @udp: kinds of super-frames that the TAP accepts
 */
void eth_gro_init(struct eth_gro *g, unsigned int l3, bool tcp, bool udp, eth_emit_fn *emit,
		  void *ctx);
/*
 * eth_gro_init_sent() - Initialize for packets that the kernel sends, of which UDP datagrams with
 * partial checksums are coalesced
 */
void eth_gro_init_sent(struct eth_gro *g, unsigned int l3, eth_emit_fn *emit, void *ctx);

/*
 * eth_gro_add() - Add a packet of this ethertype; takes ownership of the packet. The octets before
 * its IP header must be contiguous in pkt.hdr[]
 */
void eth_gro_add(struct eth_gro *g, struct pkt *p, uint16_t ethertype);

/* eth_gro_flush() - Emit all super-frames; called at the end of each batch of received packets */
void eth_gro_flush(struct eth_gro *g);

/*
 * eth_frame_iov() - Describe a frame as an iovec, with adjacent parts merged. Return: number of
 * entries, at most ETH_FRAME_PARTS
 */
unsigned int eth_frame_iov(const struct eth_frame *f, struct iovec iov[ETH_FRAME_PARTS]);
void eth_frame_free(struct eth_frame *f);

#endif
