// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * A descriptor of /dev/ibtap and its queue. Up to tx_queue_len frames that the kernel sends wait in
 * the queue for read(). When the queue is full, the kernel's transmit queue with the same number is
 * stopped until half of the frames have been read. A written frame is received by the kernel before
 * write() returns.
 */

#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "ibtap_priv.h"

#define VNET_LEN sizeof(struct virtio_net_hdr_v1)
/* Longest frame that is copied into one piece of memory. */
#define LINEAR_MAX (SKB_WITH_OVERHEAD(PAGE_SIZE) - NET_SKB_PAD)
/* Length of the first piece of a longer frame; this piece holds all headers */
#define LINEAR_MIN 256

/* --- attach, detach */

struct ibtap_queue *ibtap_queue_new(struct net *net)
{
	struct ibtap_queue *q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);

	if (!q)
		return NULL;
	q->net = get_net(net);
	init_waitqueue_head(&q->wait);
	spin_lock_init(&q->lock);
	__skb_queue_head_init(&q->frames);
	return q;
}

void ibtap_queue_free(struct ibtap_queue *q)
{
	if (q->net)
		put_net(q->net);
	kfree_rcu(q, rcu);
}

static struct netdev_queue *txq_of(const struct ibtap *tap, const struct ibtap_queue *q)
{
	return netdev_get_tx_queue(tap->dev, q->index);
}

/* Tell the stack how many queues to use. The call can fail only if the number becomes larger. */
static int set_real_queues(struct ibtap *tap, unsigned int n)
{
	if (tap->dev->reg_state != NETREG_REGISTERED)
		return 0;
	return netif_set_real_num_queues(tap->dev, max(n, 1u), max(n, 1u));
}

int ibtap_queue_attach(struct ibtap *tap, struct ibtap_queue *q)
{
	unsigned int i = tap->n_queues;
	int err = set_real_queues(tap, i + 1);

	if (err)
		return err;
	tap->n_queues++;
	put_net(q->net);
	q->net = NULL;
	WRITE_ONCE(q->was_attached, true);
	spin_lock_bh(&q->lock);
	q->index = i;
	rcu_assign_pointer(q->tap, tap);
	spin_unlock_bh(&q->lock);
	rcu_assign_pointer(tap->queue[i], q);
	/* An earlier queue of this number may have left the transmit queue stopped. */
	netif_tx_wake_queue(txq_of(tap, q));
	return 0;
}

static void purge(struct ibtap *tap, struct ibtap_queue *q, enum ibtap_counter c)
{
	lockdep_assert_held(&q->lock);
	ibtap_count_add(tap, c, skb_queue_len(&q->frames));
	__skb_queue_purge(&q->frames);
	netif_tx_wake_queue(txq_of(tap, q));
}

void ibtap_queue_purge(struct ibtap *tap, struct ibtap_queue *q, enum ibtap_counter c)
{
	spin_lock_bh(&q->lock);
	purge(tap, q, c);
	spin_unlock_bh(&q->lock);
}

void ibtap_queue_detach(struct ibtap *tap, struct ibtap_queue *q)
{
	unsigned int i = q->index, end = --tap->n_queues;
	struct ibtap_queue *last = rtnl_dereference(tap->queue[end]);

	/*
	 * Detach q under its lock. A sender that has just found q in tap->queue[] then finds, under
	 * the same lock, that q is detached.
	 */
	spin_lock_bh(&q->lock);
	purge(tap, q, IBTAP_TX_DOWN);
	RCU_INIT_POINTER(q->tap, NULL);
	spin_unlock_bh(&q->lock);
	if (last != q) {
		spin_lock_bh(&last->lock);
		WRITE_ONCE(last->index, i); /* receive() reads .index without the lock */
		spin_unlock_bh(&last->lock);
		rcu_assign_pointer(tap->queue[i], last);
		/* purge() has woken this transmit queue, but a sender may have stopped it again. */
		netif_tx_wake_queue(txq_of(tap, last));
	}
	RCU_INIT_POINTER(tap->queue[end], NULL);
	/*
	 * Frames that were written a moment ago still contain the number of the last queue, which ceases to exist
	 * below. Wait until the stack has taken these frames, because RPS would log a warning about such a number.
	 */
	if (end && tap->dev->reg_state == NETREG_REGISTERED)
		synchronize_net();
	set_real_queues(tap, end);
	wake_up_interruptible_poll(&q->wait, EPOLLERR | EPOLLHUP);
}

/* Count an event of a frame, unless the device is gone. */
static void count(struct ibtap_queue *q, enum ibtap_counter c)
{
	struct ibtap *tap;

	rcu_read_lock();
	tap = rcu_dereference(q->tap);
	if (tap)
		ibtap_count(tap, c);
	rcu_read_unlock();
}

/* --- read */

/* Queue a frame for the reader; takes @skb. The caller has disabled bottom halves. */
void ibtap_queue_push(struct ibtap *tap, struct ibtap_queue *q, struct sk_buff *skb)
{
	bool first;

	spin_lock(&q->lock);
	if (!rcu_access_pointer(q->tap)) {
		spin_unlock(&q->lock);
		ibtap_count(tap, IBTAP_TX_NO_QUEUE);
		kfree_skb(skb);
		return;
	}
	first = skb_queue_empty(&q->frames);
	__skb_queue_tail(&q->frames, skb);
	if (skb_queue_len(&q->frames) >= READ_ONCE(tap->dev->tx_queue_len))
		netif_tx_stop_queue(txq_of(tap, q));
	spin_unlock(&q->lock);
	/* If the queue was not empty, its reader has been woken already, and reads until the queue is empty. */
	if (first)
		wake_up_interruptible_poll(&q->wait, EPOLLIN | EPOLLRDNORM);
}

static int not_attached(const struct ibtap_queue *q)
{
	return READ_ONCE(q->was_attached) ? -EBUSY : -EBADFD;
}

/* Remove the oldest frame from the queue. Return: the frame; an error pointer if the queue is empty */
static struct sk_buff *pop(struct ibtap_queue *q)
{
	struct sk_buff *skb = ERR_PTR(-EAGAIN);
	struct netdev_queue *txq;
	struct ibtap *tap;

	spin_lock_bh(&q->lock);
	tap = rcu_dereference_protected(q->tap, lockdep_is_held(&q->lock));
	if (!tap) {
		skb = ERR_PTR(not_attached(q));
	} else if (!skb_queue_empty(&q->frames)) {
		skb = __skb_dequeue(&q->frames);
		txq = txq_of(tap, q);
		if (netif_tx_queue_stopped(txq) &&
		    skb_queue_len(&q->frames) <= READ_ONCE(tap->dev->tx_queue_len) / 2)
			netif_tx_wake_queue(txq);
	}
	spin_unlock_bh(&q->lock);
	return skb;
}

static bool has_news(const struct ibtap_queue *q)
{
	return !skb_queue_empty_lockless(&q->frames) || !rcu_access_pointer(q->tap);
}

static struct sk_buff *wait_for_frame(struct ibtap_queue *q, bool nonblock)
{
	struct sk_buff *skb;
	int err;

	while ((skb = pop(q)) == ERR_PTR(-EAGAIN) && !nonblock) {
		err = wait_event_interruptible(q->wait, has_news(q));
		if (err)
			return ERR_PTR(err);
	}
	return skb;
}

static void count_sent(struct ibtap_queue *q, const struct sk_buff *skb)
{
	struct ibtap *tap;

	rcu_read_lock();
	tap = rcu_dereference(q->tap);
	if (tap) {
		ibtap_count(tap, IBTAP_TX_PACKETS);
		ibtap_count_add(tap, IBTAP_TX_BYTES, skb->len - IBTAP_HLEN);
	}
	rcu_read_unlock();
}

/* Copy a frame to the reader. Return: number of octets; a negative errno, with the counter of this error in @ret */
static ssize_t copy_out(struct sk_buff *skb, struct iov_iter *to, enum ibtap_counter *ret)
{
	struct virtio_net_hdr_v1 h;

	*ret = IBTAP_TX_VNET;
	if (ibtap_vnet_from_skb(&h, skb))
		return -EIO;
	*ret = IBTAP_TX_TOO_LONG;
	if (iov_iter_count(to) < VNET_LEN + skb->len)
		return -EMSGSIZE;
	*ret = IBTAP_TX_FAULT;
	if (copy_to_iter(&h, VNET_LEN, to) != VNET_LEN ||
	    skb_copy_datagram_iter(skb, 0, to, skb->len))
		return -EFAULT;
	return VNET_LEN + skb->len;
}

static bool is_nonblock(const struct kiocb *iocb)
{
	return iocb->ki_filp->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT;
}

static ssize_t ibtap_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct ibtap_queue *q = iocb->ki_filp->private_data;
	struct sk_buff *skb = wait_for_frame(q, is_nonblock(iocb));
	enum ibtap_counter reason;
	ssize_t n;

	if (IS_ERR(skb))
		return PTR_ERR(skb);
	n = copy_out(skb, to, &reason);
	if (n < 0) {
		count(q, reason);
		kfree_skb(skb);
		return n;
	}
	count_sent(q, skb);
	consume_skb(skb);
	return n;
}

/* --- write */

static struct sk_buff *alloc_frame(size_t len)
{
	size_t linear = len <= LINEAR_MAX ? len : LINEAR_MIN;
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(NET_SKB_PAD + linear, len - linear, PAGE_ALLOC_COSTLY_ORDER,
				   &err, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD);
	skb_put(skb, linear);
	skb->data_len = len - linear;
	skb->len = len;
	return skb;
}

/*
 * Read a virtio-net header and a frame from @from, the data of a write(). @len is the length of the frame. Return: the
 * frame; or an error pointer, and then @ret is the counter to be incremented
 */
static struct sk_buff *copy_in(struct iov_iter *from, size_t len, enum ibtap_counter *ret)
{
	struct virtio_net_hdr_v1 h;
	struct sk_buff *skb;
	int err;

	*ret = IBTAP_RX_FAULT;
	if (!copy_from_iter_full(&h, VNET_LEN, from))
		return ERR_PTR(-EFAULT);
	*ret = IBTAP_RX_NO_MEMORY;
	skb = alloc_frame(len);
	if (!skb)
		return ERR_PTR(-ENOMEM);
	*ret = IBTAP_RX_FAULT;
	err = skb_copy_datagram_from_iter(skb, 0, from, len);
	if (!err) {
		skb_reset_mac_header(skb);
		skb_set_network_header(skb, IBTAP_HLEN);
		skb->protocol = ((struct ibtap_header *)skb->data)->proto;
		err = ibtap_vnet_to_skb(skb, &h);
		*ret = err == -ENOMEM ? IBTAP_RX_NO_MEMORY : IBTAP_RX_VNET;
	}
	if (!err)
		return skb;
	kfree_skb(skb);
	return ERR_PTR(err);
}

/*
 * Return the packet type (PACKET_*) of a frame. The octet of flags is not compared, because a peer may put other flags
 * before the interface's QPN and GID than the interface does (RFC 4391 §9.1.1).
 */
static u8 pkt_type(const struct net_device *dev, const struct ibtap_header *h)
{
	const u8 *gid = h->dest + 4;

	if (gid[0] == 0xff)
		return memcmp(gid, dev->broadcast + 4, 16) ? PACKET_MULTICAST : PACKET_BROADCAST;
	return memcmp(h->dest + 1, dev->dev_addr + 1, IBTAP_ALEN - 1) ? PACKET_OTHERHOST
								      : PACKET_HOST;
}

/* Pass a frame to the kernel; takes @skb. Called in an RCU read-side section */
static void receive(struct ibtap *tap, struct ibtap_queue *q, struct sk_buff *skb)
{
	skb->dev = tap->dev;
	skb->pkt_type = pkt_type(tap->dev, (struct ibtap_header *)skb->data);
	skb_pull(skb, IBTAP_HLEN);
	skb_record_rx_queue(skb, READ_ONCE(q->index));
	ibtap_count(tap, IBTAP_RX_PACKETS);
	ibtap_count_add(tap, IBTAP_RX_BYTES, skb->len);
	if (skb->pkt_type == PACKET_MULTICAST || skb->pkt_type == PACKET_BROADCAST)
		ibtap_count(tap, IBTAP_RX_MULTICAST);
	local_bh_disable();
	netif_receive_skb(skb);
	local_bh_enable();
}

static int deliver(struct ibtap_queue *q, struct sk_buff *skb)
{
	struct ibtap *tap;
	int err = 0;

	rcu_read_lock();
	tap = rcu_dereference(q->tap);
	if (!tap) {
		err = not_attached(q);
	} else if (!(READ_ONCE(tap->dev->flags) & IFF_UP)) {
		ibtap_count(tap, IBTAP_RX_DOWN);
		err = -EIO;
	} else {
		receive(tap, q, skb);
	}
	rcu_read_unlock();
	if (err)
		kfree_skb(skb);
	return err;
}

static ssize_t ibtap_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct ibtap_queue *q = iocb->ki_filp->private_data;
	size_t total = iov_iter_count(from), len = total - VNET_LEN;
	enum ibtap_counter reason = IBTAP_RX_LENGTH;
	struct sk_buff *skb;
	int err;

	if (!rcu_access_pointer(q->tap))
		return not_attached(q);
	if (total < VNET_LEN + IBTAP_HLEN)
		skb = ERR_PTR(-EINVAL);
	else if (len > IBTAP_HLEN + IBTAP_MAX_PAYLOAD)
		skb = ERR_PTR(-EMSGSIZE);
	else
		skb = copy_in(from, len, &reason);
	if (IS_ERR(skb)) {
		count(q, reason);
		return PTR_ERR(skb);
	}
	err = deliver(q, skb);
	return err ?: total;
}

/* --- poll */

static __poll_t ibtap_poll(struct file *file, poll_table *wait)
{
	struct ibtap_queue *q = file->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(file, &q->wait, wait);
	if (!rcu_access_pointer(q->tap))
		return EPOLLERR | EPOLLHUP;
	if (!skb_queue_empty_lockless(&q->frames))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(q->groups_changed))
		mask |= EPOLLPRI;
	return mask;
}

const struct file_operations ibtap_fops = {
	.owner = THIS_MODULE,
	.open = ibtap_open,
	.release = ibtap_release,
	.read_iter = ibtap_read_iter,
	.write_iter = ibtap_write_iter,
	.poll = ibtap_poll,
	.unlocked_ioctl = ibtap_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
