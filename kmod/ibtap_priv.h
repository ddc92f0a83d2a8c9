/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef IBTAP_PRIV_H
#define IBTAP_PRIV_H

/*
 *	ibtap.h		the interface for programs
 *	ibtap_main.c	/dev/ibtap: open, close, ioctl; attaches descriptors to devices
 *	ibtap_dev.c	the network device: header, transmit, groups, statistics, rtnetlink's kind
 *	ibtap_queue.c	the queue of a descriptor: read, write, poll
 *	ibtap_vnet.c	the virtio-net header of a frame, in both directions
 *	ibtap_compat.h	differences between kernels
 *
 * Locks. RTNL protects the set of queues of a device and all members that ioctls change. The lock of a queue protects
 * its frames and its members .tap and .index; code that holds this lock may wake a transmit queue. Code that reads
 * ibtap.queue[] and .tap without a lock is in an RCU section.
 *
 * A device is removed
 *  - by `ip link del`,
 *  - when its namespace is deleted, or
 *  - when its last descriptor is closed, unless the device is persistent.
 * The queues of the device are then detached under RTNL. read() and write() hold no reference to
 * the device, and use it only in an RCU section or under the queue's lock. So the removal waits
 * neither for a blocked reader, nor for a writer whose buffer is slow to read.
 */

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/uidgid.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "ibtap.h"
#include "ibtap_compat.h"

#define IBTAP_HLEN ((unsigned int)sizeof(struct ibtap_header))
#define IBTAP_MAX_PAYLOAD 65535u

enum ibtap_counter {
	IBTAP_RX_PACKETS,
	IBTAP_RX_BYTES,
	IBTAP_RX_MULTICAST,
	IBTAP_TX_PACKETS,
	IBTAP_TX_BYTES,
	/* frames that were discarded, by reason */
	IBTAP_RX_LENGTH, /* shorter than its headers, or longer than an IP packet can be */
	IBTAP_RX_VNET, /* the virtio-net header is wrong */
	IBTAP_RX_DOWN,
	IBTAP_RX_NO_MEMORY,
	IBTAP_RX_FAULT, /* the writer's buffer could not be read */
	IBTAP_TX_SHORT, /* shorter than struct ibtap_header */
	IBTAP_TX_NO_QUEUE, /* no descriptor is attached */
	IBTAP_TX_NO_MEMORY,
	IBTAP_TX_DOWN, /* the frame was still queued when the device went down or its descriptor was closed */
	IBTAP_TX_TIMEOUT, /* the frame was in a full queue that has stopped senders for too long */
	IBTAP_TX_TOO_LONG, /* longer than the reader's buffer */
	IBTAP_TX_VNET, /* the virtio-net header cannot express the frame's kind of GSO */
	IBTAP_TX_FAULT, /* the reader's buffer could not be written */
	IBTAP_C_MAX,
};

struct ibtap_queue;

/* Private part of a network device. RTNL protects all members unless their comments name another protection. */
struct ibtap {
	struct net_device *dev;
	u64 __percpu *counters;
	bool multi_queue, persist;
	kuid_t owner;
	kgid_t group;
	u32 offloads; /* IBTAP_OFFLOAD_* */
	unsigned int n_queues;
	struct ibtap_queue __rcu
		/* the first n_queues entries are in use; start_xmit() reads them by RCU */
		*queue[IBTAP_MAX_QUEUES];
};

/* An open descriptor */
struct ibtap_queue {
	/*
	 * network namespace in which the descriptor was opened; NULL after the descriptor was
	 * attached; RTNL protects this member
	 */
	struct net *net;
	bool was_attached; /* set once, while RTNL is held */
	bool groups_changed; /* the groups have changed since the last IBTAP_GET_GROUPS */
	wait_queue_head_t wait;
	spinlock_t lock; /* taken with bottom halves disabled */
	struct ibtap __rcu
		*tap; /* NULL before the queue was attached and after its device was removed */
	unsigned int index; /* index in tap->queue[], and of the device's transmit queue */
	struct sk_buff_head frames;
	struct rcu_head rcu;
};

static inline void ibtap_count(struct ibtap *tap, enum ibtap_counter c)
{
	this_cpu_inc(tap->counters[c]);
}

static inline void ibtap_count_add(struct ibtap *tap, enum ibtap_counter c, u64 n)
{
	this_cpu_add(tap->counters[c], n);
}

/* --- ibtap_dev.c */

extern struct rtnl_link_ops ibtap_link_ops;

void ibtap_setup(struct net_device *dev);
bool ibtap_is_ours(const struct net_device *dev);
/*
 * ibtap_set_offloads() - Offer the offloads in @offloads to the stack. Return: 0; -EINVAL if a bit is unknown, or
 * requires another bit that is missing
 */
int ibtap_set_offloads(struct ibtap *tap, u32 offloads);

/* --- ibtap_queue.c */

struct ibtap_queue *ibtap_queue_new(struct net *net);
/* ibtap_queue_free() - Free a queue, which must be detached */
void ibtap_queue_free(struct ibtap_queue *q);
/* ibtap_queue_attach() - Make @q the last queue of the device; under RTNL */
int ibtap_queue_attach(struct ibtap *tap, struct ibtap_queue *q);
/*
 * ibtap_queue_detach() - Detach @q. The device's last queue gets the index of @q. The caller holds
 * RTNL
 */
void ibtap_queue_detach(struct ibtap *tap, struct ibtap_queue *q);
/* ibtap_queue_purge() - Discard the frames of @q for reason @c and let the stack send again */
void ibtap_queue_purge(struct ibtap *tap, struct ibtap_queue *q, enum ibtap_counter c);
/* ibtap_queue_push() - Queue a frame for the reader; takes @skb. Called by the transmit function of the device */
void ibtap_queue_push(struct ibtap *tap, struct ibtap_queue *q, struct sk_buff *skb);

extern const struct file_operations ibtap_fops;

/* --- ibtap_vnet.c */

/*
 * ibtap_vnet_from_skb() - Write the virtio-net header of a frame that is sent. Return -EINVAL if the header cannot
 * express the frame's kind of GSO
 */
int ibtap_vnet_from_skb(struct virtio_net_hdr_v1 *ret, const struct sk_buff *skb);
/*
 * ibtap_vnet_to_skb() - Apply the virtio-net header of a received frame to the skb
 * @skb:	begins with struct ibtap_header; its protocol and network header are set
 *
 * Return: 0; -EINVAL if the header is wrong or contradicts the frame; -ENOMEM
 */
int ibtap_vnet_to_skb(struct sk_buff *skb, const struct virtio_net_hdr_v1 *h);

/* --- ibtap_main.c */

long ibtap_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int ibtap_open(struct inode *inode, struct file *file);
int ibtap_release(struct inode *inode, struct file *file);

#endif
