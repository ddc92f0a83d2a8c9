// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The network device. Its net_device_ops have no function that sets the address, because the owner
 * sets the address by an ioctl. They have no function that changes the MTU, because the stack
 * itself compares a new MTU with min_mtu and max_mtu.
 */

#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "ibtap_priv.h"

#define DEFAULT_MTU 2044 /* MTU of IPoIB on an InfiniBand MTU of 2048 */
#define DEFAULT_MAX_MTU \
	4096 /* largest InfiniBand MTU; without encapsulation header it is also the largest IP MTU */
#define DEFAULT_TX_QUEUE_LEN 500

static unsigned int timeout = 60000;
module_param(timeout, uint, 0644);
MODULE_PARM_DESC(timeout, "milliseconds after which frames in a full queue that nobody reads are "
			  "discarded (60000); for new devices");

/* Broadcast address until the owner sets another one: scope 2, P_Key 0xffff */
static const u8 default_broadcast[IBTAP_ALEN] = {
	0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

/* --- header */

/*
 * Write the header of a frame. Some programs use the destination of all ones as the broadcast address of every device,
 * so such a destination is replaced by the address of the broadcast group. Without a destination, the function writes
 * zeros in its place, and returns a negative length, which means that the header is not complete.
 */
static int header_create(struct sk_buff *skb, struct net_device *dev, unsigned short type,
			 const void *daddr, const void *saddr, unsigned int len)
{
	struct ibtap_header *h = skb_push(skb, sizeof(*h));

	memcpy(h->source, saddr ?: dev->dev_addr, IBTAP_ALEN);
	h->proto = htons(type);
	h->reserved = 0;
	if (!daddr) {
		memset(h->dest, 0, IBTAP_ALEN);
		return -(int)sizeof(*h);
	}
	memcpy(h->dest, memchr_inv(daddr, 0xff, IBTAP_ALEN) ? daddr : dev->broadcast, IBTAP_ALEN);
	return sizeof(*h);
}

/* Return the protocol of a packet; 0: a raw socket or a filter has left its header incomplete */
static __be16 header_parse_protocol(const struct sk_buff *skb)
{
	if (!skb_mac_header_was_set(skb) ||
	    skb_mac_header(skb) + IBTAP_HLEN > skb_tail_pointer(skb))
		return 0;
	return ((const struct ibtap_header *)skb_mac_header(skb))->proto;
}

/*
 * Like ib_ipoib, this driver has no function .parse. The function would write an address of 20
 * octets, but its callers have room for 8 octets only. nfnetlink_queue and nfnetlink_log have this
 * room in a struct on the stack. AF_PACKET has it in a ring, directly before the frame.
 */
static const struct header_ops header_ops = {
	.create = header_create,
	.parse_protocol = header_parse_protocol,
};

/* --- transmit */

/*
 * A raw socket of a program that knows ib_ipoib, such as keepalived, begins a frame with the
 * destination, since ib_ipoib's header has no source. So if a frame does not begin with the
 * device's own address, this function assumes that it begins with the destination, and puts the
 * device's address before it as the source.
 */
static int add_source(struct sk_buff *skb, const struct net_device *dev)
{
	if (!memcmp(skb->data + 1, dev->dev_addr + 1, IBTAP_ALEN - 1))
		return 0;
	if (skb_cow_head(skb, IBTAP_ALEN))
		return -ENOMEM;
	memcpy(skb_push(skb, IBTAP_ALEN), dev->dev_addr, IBTAP_ALEN);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, IBTAP_HLEN);
	return 0;
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ibtap *tap = netdev_priv(dev);
	enum ibtap_counter reason;
	struct ibtap_queue *q;

	rcu_read_lock();
	q = rcu_dereference(tap->queue[skb_get_queue_mapping(skb)]);
	reason = IBTAP_TX_NO_QUEUE;
	if (!q)
		goto drop;
	reason = IBTAP_TX_SHORT;
	if (!pskb_may_pull(skb, IBTAP_HLEN))
		goto drop;
	/* The frame may wait for long, so it must not pin the pages of a sender that sends without copying. */
	reason = IBTAP_TX_NO_MEMORY;
	if (add_source(skb, dev) || skb_orphan_frags_rx(skb, GFP_ATOMIC))
		goto drop;
	skb_tx_timestamp(skb);
	/*
	 * Drop the frame's reference to its sender's socket, too. With this reference, a waiting
	 * frame would keep the socket in existence, and so the namespace of the socket.
	 */
	skb_orphan(skb);
	nf_reset_ct(skb);
	ibtap_queue_push(tap, q, skb);
	rcu_read_unlock();
	return NETDEV_TX_OK;

drop:
	rcu_read_unlock();
	ibtap_count(tap, reason);
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static int net_open(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
	return 0;
}

static int net_stop(struct net_device *dev)
{
	struct ibtap *tap = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < tap->n_queues; i++)
		ibtap_queue_purge(tap, rtnl_dereference(tap->queue[i]), IBTAP_TX_DOWN);
	netif_tx_stop_all_queues(dev);
	return 0;
}

/*
 * The kernel's watchdog calls this function when the queue @index has been full, and its senders stopped, for the time
 * that the module parameter timeout gives.
 */
static void tx_timeout(struct net_device *dev, unsigned int index)
{
	struct ibtap *tap = netdev_priv(dev);
	struct ibtap_queue *q;

	rcu_read_lock();
	q = rcu_dereference(tap->queue[index]);
	if (q)
		ibtap_queue_purge(tap, q, IBTAP_TX_TIMEOUT);
	else
		netif_tx_wake_queue(netdev_get_tx_queue(dev, index));
	rcu_read_unlock();
}

/*
 * Called when the groups or flags of the device have changed. The caller holds a spin lock, so this
 * function only notifies the owner, which then gets the groups by IBTAP_GET_GROUPS.
 */
static void set_rx_mode(struct net_device *dev)
{
	struct ibtap *tap = netdev_priv(dev);
	struct ibtap_queue *q;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < IBTAP_MAX_QUEUES; i++) {
		q = rcu_dereference(tap->queue[i]);
		if (!q)
			continue;
		WRITE_ONCE(q->groups_changed, true);
		wake_up_interruptible_poll(&q->wait, EPOLLPRI);
	}
	rcu_read_unlock();
}

/* --- offloads */

static const struct {
	u32 bit;
	netdev_features_t feature;
} offloads[] = {
	{ IBTAP_OFFLOAD_CSUM, NETIF_F_HW_CSUM },   { IBTAP_OFFLOAD_TSO4, NETIF_F_TSO },
	{ IBTAP_OFFLOAD_TSO6, NETIF_F_TSO6 },	   { IBTAP_OFFLOAD_TSO_ECN, NETIF_F_TSO_ECN },
	{ IBTAP_OFFLOAD_USO, NETIF_F_GSO_UDP_L4 },
};

#define OFFLOAD_FEATURES \
	(NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN | NETIF_F_GSO_UDP_L4)

static netdev_features_t features_of(u32 bits)
{
	netdev_features_t f = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offloads); i++)
		if (bits & offloads[i].bit)
			f |= offloads[i].feature;
	return f;
}

static netdev_features_t fix_features(struct net_device *dev, netdev_features_t features)
{
	struct ibtap *tap = netdev_priv(dev);

	return features & (~OFFLOAD_FEATURES | features_of(tap->offloads));
}

int ibtap_set_offloads(struct ibtap *tap, u32 bits)
{
	unsigned int i;
	u32 known = 0;

	for (i = 0; i < ARRAY_SIZE(offloads); i++)
		known |= offloads[i].bit;
	if (bits & ~known || (bits && !(bits & IBTAP_OFFLOAD_CSUM)))
		return -EINVAL;
	tap->offloads = bits;
	tap->dev->wanted_features &= ~OFFLOAD_FEATURES;
	tap->dev->wanted_features |= features_of(bits);
	netdev_update_features(tap->dev);
	return 0;
}

/* --- statistics */

static u64 sum(const struct ibtap *tap, enum ibtap_counter c)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(per_cpu_ptr(tap->counters, cpu)[c]);
	return n;
}

static void get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s)
{
	const struct ibtap *tap = netdev_priv(dev);

	s->rx_packets = sum(tap, IBTAP_RX_PACKETS);
	s->rx_bytes = sum(tap, IBTAP_RX_BYTES);
	s->multicast = sum(tap, IBTAP_RX_MULTICAST);
	s->tx_packets = sum(tap, IBTAP_TX_PACKETS);
	s->tx_bytes = sum(tap, IBTAP_TX_BYTES);
	s->rx_length_errors = sum(tap, IBTAP_RX_LENGTH);
	s->rx_frame_errors = sum(tap, IBTAP_RX_VNET);
	s->rx_errors = s->rx_length_errors + s->rx_frame_errors + sum(tap, IBTAP_RX_FAULT);
	s->rx_dropped = sum(tap, IBTAP_RX_DOWN) + sum(tap, IBTAP_RX_NO_MEMORY);
	s->tx_errors = sum(tap, IBTAP_TX_SHORT) + sum(tap, IBTAP_TX_TIMEOUT) +
		       sum(tap, IBTAP_TX_TOO_LONG) + sum(tap, IBTAP_TX_VNET) +
		       sum(tap, IBTAP_TX_FAULT);
	s->tx_dropped = sum(tap, IBTAP_TX_NO_QUEUE) + sum(tap, IBTAP_TX_NO_MEMORY) +
			sum(tap, IBTAP_TX_DOWN);
}

static const char counter_names[][ETH_GSTRING_LEN] = {
	[IBTAP_RX_PACKETS] = "rx_packets",
	[IBTAP_RX_BYTES] = "rx_bytes",
	[IBTAP_RX_MULTICAST] = "rx_multicast",
	[IBTAP_TX_PACKETS] = "tx_packets",
	[IBTAP_TX_BYTES] = "tx_bytes",
	[IBTAP_RX_LENGTH] = "rx_drop_length",
	[IBTAP_RX_VNET] = "rx_drop_vnet_header",
	[IBTAP_RX_DOWN] = "rx_drop_down",
	[IBTAP_RX_NO_MEMORY] = "rx_drop_no_memory",
	[IBTAP_RX_FAULT] = "rx_drop_fault",
	[IBTAP_TX_SHORT] = "tx_drop_short",
	[IBTAP_TX_NO_QUEUE] = "tx_drop_no_queue",
	[IBTAP_TX_NO_MEMORY] = "tx_drop_no_memory",
	[IBTAP_TX_DOWN] = "tx_drop_down",
	[IBTAP_TX_TIMEOUT] = "tx_drop_timeout",
	[IBTAP_TX_TOO_LONG] = "tx_drop_too_long",
	[IBTAP_TX_VNET] = "tx_drop_vnet_header",
	[IBTAP_TX_FAULT] = "tx_drop_fault",
};
static_assert(ARRAY_SIZE(counter_names) == IBTAP_C_MAX);

static int get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? IBTAP_C_MAX : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *ret)
{
	if (set == ETH_SS_STATS)
		memcpy(ret, counter_names, sizeof(counter_names));
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *ret)
{
	const struct ibtap *tap = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < IBTAP_C_MAX; i++)
		ret[i] = sum(tap, i);
}

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "ibtap", sizeof(info->driver));
	strscpy(info->bus_info, "ibtap", sizeof(info->bus_info));
}

static const struct ethtool_ops ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_ethtool_stats,
};

/* --- the device */

static int net_init(struct net_device *dev)
{
	struct ibtap *tap = netdev_priv(dev);

	tap->dev = dev;
	tap->owner = INVALID_UID;
	tap->group = INVALID_GID;
	tap->counters = __alloc_percpu(IBTAP_C_MAX * sizeof(u64), sizeof(u64));
	return tap->counters ? 0 : -ENOMEM;
}

/* Called when the device is removed. The device is down, and nothing is sent on it any more. */
static void net_uninit(struct net_device *dev)
{
	struct ibtap *tap = netdev_priv(dev);

	while (tap->n_queues)
		ibtap_queue_detach(tap, rtnl_dereference(tap->queue[tap->n_queues - 1]));
}

static void net_destructor(struct net_device *dev)
{
	struct ibtap *tap = netdev_priv(dev);

	free_percpu(tap->counters);
}

static const struct net_device_ops netdev_ops = {
	.ndo_init = net_init,
	.ndo_uninit = net_uninit,
	.ndo_open = net_open,
	.ndo_stop = net_stop,
	.ndo_start_xmit = start_xmit,
	.ndo_tx_timeout = tx_timeout,
	.ndo_set_rx_mode = set_rx_mode,
	.ndo_fix_features = fix_features,
	.ndo_get_stats64 = get_stats64,
};

/* --- files in /sys/class/net/NAME that ib_ipoib's devices have, and that programs such as NetworkManager read and write */

static ssize_t mode_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "datagram\n");
}

static ssize_t mode_store(struct device *d, struct device_attribute *attr, const char *buf,
			  size_t n)
{
	return sysfs_streq(buf, "datagram") ? (ssize_t)n : -EINVAL;
}
static DEVICE_ATTR_RW(mode);

static ssize_t pkey_show(struct device *d, struct device_attribute *attr, char *buf)
{
	const u8 *gid = to_net_dev(d)->broadcast + 4;

	return sysfs_emit(buf, "0x%04x\n", gid[4] << 8 | gid[5]);
}
static DEVICE_ATTR_RO(pkey);

static struct attribute *files[] = { &dev_attr_mode.attr, &dev_attr_pkey.attr, NULL };
static const struct attribute_group file_group = { .attrs = files };

bool ibtap_is_ours(const struct net_device *dev)
{
	return dev->netdev_ops == &netdev_ops;
}

void ibtap_setup(struct net_device *dev)
{
	dev->netdev_ops = &netdev_ops;
	dev->header_ops = &header_ops;
	dev->ethtool_ops = &ethtool_ops;
	dev->sysfs_groups[0] = &file_group;
	dev->type = ARPHRD_INFINIBAND;
	dev->addr_len = IBTAP_ALEN;
	dev->hard_header_len = IBTAP_HLEN;
	dev->min_header_len = IBTAP_HLEN;
	memcpy(dev->broadcast, default_broadcast, IBTAP_ALEN);
	dev->flags = IFF_BROADCAST | IFF_MULTICAST;
	dev->mtu = DEFAULT_MTU;
	dev->min_mtu = IBTAP_MIN_MTU;
	dev->max_mtu = DEFAULT_MAX_MTU;
	dev->tx_queue_len = DEFAULT_TX_QUEUE_LEN;
	dev->watchdog_timeo = msecs_to_jiffies(clamp(READ_ONCE(timeout), 100u, 600000u));
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HIGHDMA | NETIF_F_VLAN_CHALLENGED;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | OFFLOAD_FEATURES;
	dev->needs_free_netdev = true;
	dev->priv_destructor = net_destructor;
}

static int link_validate(struct nlattr *tb[], struct nlattr *data[], struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG(extack, "devices of this kind are made by programs, with /dev/ibtap");
	return -EOPNOTSUPP;
}

struct rtnl_link_ops ibtap_link_ops = {
	.kind = "ibtap",
	.priv_size = sizeof(struct ibtap),
	.setup = ibtap_setup,
	.validate = link_validate,
};
