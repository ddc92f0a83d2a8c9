/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UIB_COMPAT_H
#define UIB_COMPAT_H

/* Differences between the kernels for which the module is built, 5.15 and later */

#include <linux/hrtimer.h>
#include <linux/version.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_verbs.h>

#define UIB_KERNEL_FROM(a, b) (LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, 0))

#if !UIB_KERNEL_FROM(5, 15)
#error "uib: expected a kernel from 5.15 on"
#endif
#ifndef CONFIG_64BIT
#error "uib: expected a 64-bit kernel: port and counters have fields of 64 bits that are read without a lock"
#endif
#ifndef CONFIG_INFINIBAND_VIRT_DMA
#error "uib: expected CONFIG_INFINIBAND_VIRT_DMA: an address in a work request is the kernel's"
#endif

/* Type of the last parameter of create_cq(), which Linux 6.11 changed */
#if UIB_KERNEL_FROM(6, 11)
#define uib_cq_udata uverbs_attr_bundle
#else
#define uib_cq_udata ib_udata
#endif

#if UIB_KERNEL_FROM(6, 11)
#define uib_cq_driver_udata(attrs) ((attrs) ? &(attrs)->driver_udata : NULL)
#else
#define uib_cq_driver_udata(udata) (udata)
#endif

/*
 * Wait for the callbacks of call_rcu_tasks(). Without CONFIG_TASKS_RCU, call_rcu_tasks() is the same
 * as call_rcu(), for whose callbacks rcu_barrier() waits.
 */
#ifdef CONFIG_TASKS_RCU
#define uib_rcu_barrier_tasks() rcu_barrier_tasks()
#else
#define uib_rcu_barrier_tasks() rcu_barrier()
#endif

/* Parameter of reg_user_mr() that Linux 6.17 added */
#if UIB_KERNEL_FROM(6, 17)
#define uib_dmah_param struct ib_dmah *dmah,
#else
#define uib_dmah_param
#endif

/*
 * In exclusive mode (rdma system set netns exclusive) a device belongs to one network namespace.
 * Newer kernels have ib_alloc_device_with_net(), which gets this namespace as a parameter.
 */
#ifdef ib_alloc_device_with_net
#define uib_alloc_device(net) ib_alloc_device_with_net(uib_dev, ibdev, net)
#else
#define uib_alloc_device(net) ib_alloc_device(uib_dev, ibdev)
#endif

/* Up to 6.19 the functions of udp_tunnel.h have a parameter of type struct socket; in 7.1 its type is struct sock. */
/* clang-format off */
#define uib_tunnel_sock(s)                          \
	_Generic(&udp_tunnel_sock_release,          \
		 void (*)(struct sock *): (s)->sk,  \
		 void (*)(struct socket *): (s))
/* clang-format on */

/* Last parameter of the functions that send datagrams of a tunnel, which Linux 6.17 added */
#if UIB_KERNEL_FROM(6, 17)
#define uib_no_cb_flags , 0
#else
#define uib_no_cb_flags
#endif

/* Linux 7.1 exports the function that finds a route over IPv6; before, modules reach it by a table. */
#if UIB_KERNEL_FROM(7, 1)
#define uib_route6(net, sk, fl) ip6_dst_lookup_flow(net, sk, fl, NULL)
#else
#include <net/ipv6_stubs.h>
#define uib_route6(net, sk, fl) ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl, NULL)
#endif

static inline void uib_hrtimer_setup(struct hrtimer *t,
				     enum hrtimer_restart (*fn)(struct hrtimer *),
				     enum hrtimer_mode mode)
{
#if UIB_KERNEL_FROM(6, 13)
	hrtimer_setup(t, fn, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(t, CLOCK_MONOTONIC, mode);
	t->function = fn;
#endif
}

/*
 * Set the capabilities that concern only consumers in the kernel. Since Linux 5.19, struct
 * ib_device_attr has a separate member for these capabilities.
 */
static inline void uib_set_kernel_caps(struct ib_device_attr *attr)
{
#if UIB_KERNEL_FROM(5, 19)
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_BLOCK_MULTICAST_LOOPBACK |
				 IBK_ALLOW_USER_UNREG | IBK_UD_TSO;
#else
	attr->device_cap_flags |= IB_DEVICE_LOCAL_DMA_LKEY | IB_DEVICE_BLOCK_MULTICAST_LOOPBACK |
				  IB_DEVICE_ALLOW_USER_UNREG | IB_DEVICE_UD_TSO;
#endif
}

#endif
