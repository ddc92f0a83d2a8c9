/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UIB_COMPAT_H
#define UIB_COMPAT_H

/* What differs between the kernels that the module is built for, 5.15 and later. */

#include <linux/version.h>
#include <rdma/ib_verbs.h>

#define UIB_KERNEL_FROM(a, b) (LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, 0))

/* What completes a verb that user space may call, too. */
#if UIB_KERNEL_FROM(6, 11)
#define uib_cq_udata uverbs_attr_bundle
#else
#define uib_cq_udata ib_udata
#endif

/* Capabilities that only kernel users see. */
static inline void uib_set_kernel_caps(struct ib_device_attr *attr)
{
#if UIB_KERNEL_FROM(5, 19)
	attr->kernel_cap_flags =
		IBK_LOCAL_DMA_LKEY | IBK_BLOCK_MULTICAST_LOOPBACK | IBK_ALLOW_USER_UNREG;
#else
	attr->device_cap_flags |= IB_DEVICE_LOCAL_DMA_LKEY | IB_DEVICE_BLOCK_MULTICAST_LOOPBACK |
				  IB_DEVICE_ALLOW_USER_UNREG;
#endif
}

#endif
