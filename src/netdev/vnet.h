/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_VNET_H
#define NETDEV_VNET_H

/*
 * Translation between the virtio-net header of a frame and struct tap_vnet. The header of a TAP has 10 octets
 * (the legacy form). The header of a device of /dev/ibtap has these 10 octets and two more, which are ignored.
 * Both headers are in host byte order.
 */

#include "netdev/tap.h"

#define VNET_LEN_MAX 12

/* vnet_len() - Return the length of the virtio-net header in octets */
unsigned int vnet_len(enum tap_kind kind);
/* vnet_link_len() - Return the length of the link header in octets, without VLAN tags */
unsigned int vnet_link_len(enum tap_kind kind);

/**
 * vnet_decode() - Decode the header that came with a frame
 * @frame:	the first octets of the frame, at least min(@len, 44) of them
 * @len:	length of the frame
 *
 * Return: 0; -EBADMSG in these cases:
 *	- the frame is shorter than its link header
 *	- the GSO type is unknown, or is UDP although the frame is neither IPv4 nor IPv6
 *	- a super-frame has the segment size 0, or no partial checksum
 *	- a partial checksum begins in the link header, or is outside of the frame
 */
int vnet_decode(struct tap_vnet *ret, const struct virtio_net_hdr *h, const uint8_t *frame,
		size_t len, enum tap_kind kind);

void vnet_encode(struct virtio_net_hdr *ret, const struct tap_vnet *v);

#endif
