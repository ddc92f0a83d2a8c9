/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef IBTAP_COMPAT_H
#define IBTAP_COMPAT_H

/* Differences between the kernels for which ibtap.ko is built */

#include <linux/netdevice.h>
#include <linux/virtio_net.h>

#ifndef CONFIG_64BIT
#error "ibtap: expected a 64-bit kernel: counters have 64 bits and are read without a lock"
#endif

/* A constant of 6.2. The kind of GSO itself is older. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

/* The type of header_ops.parse: newer kernels, and 6.12 in later releases, have the device as second parameter. */
typedef int ibtap_parse(const struct sk_buff *skb, unsigned char *haddr);
typedef int ibtap_parse_dev(const struct sk_buff *skb, const struct net_device *dev,
			    unsigned char *haddr);

/* IBTAP_PARSE() - Choose the one of two functions that the kernel takes */
/* clang-format off */
#define IBTAP_PARSE(with_skb, with_dev)                    \
	_Generic(((struct header_ops *)NULL)->parse,       \
		 ibtap_parse *: (with_skb),                \
		 ibtap_parse_dev *: (with_dev))
/* clang-format on */

#endif
