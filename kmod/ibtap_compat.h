/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef IBTAP_COMPAT_H
#define IBTAP_COMPAT_H

/* Differences between the kernels for which ibtap.ko is built */

#include <linux/netdevice.h>
#include <linux/virtio_net.h>

#ifndef CONFIG_64BIT
#error "ibtap: expected a 64-bit kernel: counters have 64 bits and are read without a lock"
#endif

/*
 * The kernel's headers define this constant since 6.2. Earlier kernels have this kind of GSO (UDP
 * segmentation), too.
 */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#endif
