/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_VNET_H
#define NETDEV_VNET_H

/* The virtio-net header of a TAP (legacy form, 10 octets, host byte order) and its host form. */

#include "netdev/tap.h"

/**
 * vnet_decode() - Decode the header that came with a frame
 * @frame:	the first octets of the frame, at least min(@len, 22) of them
 * @len:	length of the frame
 *
 * Return: 0; -EBADMSG if the frame is too short for Ethernet, or the header names a GSO type that
 * was not asked for, a segment size of 0 or octets outside of the frame
 */
int vnet_decode(struct tap_vnet *ret, const struct virtio_net_hdr *h, const uint8_t *frame,
		size_t len);

void vnet_encode(struct virtio_net_hdr *ret, const struct tap_vnet *v);

#endif
