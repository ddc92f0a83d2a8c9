/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_FRAME_H
#define UTIL_FRAME_H

/*
 * Data about a packet for the Ethernet side of an interface: the checksum and segmentation that the
 * virtio-net header of a TAP describes, and the sender. The data are in the private octets of the
 * descriptor, so that the fabric, which carries the same descriptors, need not know of TCP or TAPs.
 */

#include <assert.h>

#include "util/pkt.h"

enum frame_gso {
	FRAME_GSO_NONE,
	FRAME_GSO_TCP4,
	FRAME_GSO_TCP6,
	FRAME_GSO_UDP, /* UDP segmentation, either family */
};

enum frame_csum {
	FRAME_CSUM_UNKNOWN, /* the TCP or UDP checksum is complete, but was not verified */
	FRAME_CSUM_PARTIAL, /* the checksum field holds only the sum of the pseudo header */
	FRAME_CSUM_OK, /* the checksum is complete and right, because uipoib made or verified it */
};

struct frame_info {
	/* id of the frame's sender, which is a station behind the TAP; 0: the host itself */
	uint32_t station;
	/* FRAME_CSUM_PARTIAL: octets from the IP header to the TCP or UDP header */
	uint16_t csum_start;
	/* FRAME_CSUM_PARTIAL: octets from .csum_start to the checksum field */
	uint16_t csum_offset;
	uint16_t hlen; /* in a train: length of the IP header and the TCP or UDP header together */
	/*
	 * payload octets per segment of a super-frame, a frame that is larger than the MTU and not
	 * segmented yet
	 */
	uint16_t gso_size;
	uint8_t gso; /* enum frame_gso: the kind of segments into which a super-frame is cut */
	uint8_t csum; /* enum frame_csum */
	/*
	 * true in a train whose packets keep FRAME_CSUM_PARTIAL when they are taken off the train,
	 * because the CA makes the checksums
	 */
	uint8_t offload;
	/* in a super-frame that this process made of datagrams of the kernel (eth/coalesce.h): their number */
	uint8_t coalesced : 7;
	/* the packets of such a super-frame have the same IPv4 identification; all have DF */
	uint8_t fixed_id : 1;
};
static_assert(sizeof(struct frame_info) <= PKT_PRIV_LEN, "it lies in struct pkt");

/*
 * Return the struct frame_info of a packet. The struct is zero in a new packet; pkt_clone() copies
 * it.
 */
static inline struct frame_info *frame_info(struct pkt *p)
{
	return (struct frame_info *)p->priv;
}

static inline const struct frame_info *frame_info_const(const struct pkt *p)
{
	return (const struct frame_info *)p->priv;
}

#endif
