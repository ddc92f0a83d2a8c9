// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/* The file operations of /dev/ibtap, and the ioctls by which owners set up devices. ibtap.h describes each ioctl. */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

#include "ibtap_priv.h"

MODULE_AUTHOR("The uipoib authors");
MODULE_DESCRIPTION("Network devices of type InfiniBand, for programs");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RTNL_LINK("ibtap");

/* --- attach */

static bool may_attach(const struct ibtap *tap)
{
	const struct cred *cred = current_cred();
	bool owner = uid_valid(tap->owner), group = gid_valid(tap->group);

	if (ns_capable(dev_net(tap->dev)->user_ns, CAP_NET_ADMIN))
		return true;
	return (owner || group) && (!owner || uid_eq(cred->euid, tap->owner)) &&
	       (!group || in_egroup_p(tap->group));
}

static int attach_to(struct net_device *dev, struct ibtap_queue *q, u32 flags)
{
	struct ibtap *tap = netdev_priv(dev);

	if (flags & IBTAP_EXCLUSIVE)
		return -EEXIST;
	if (!ibtap_is_ours(dev) || tap->multi_queue != !!(flags & IBTAP_MULTI_QUEUE))
		return -EINVAL;
	if (!may_attach(tap))
		return -EPERM;
	if (tap->n_queues == dev->num_tx_queues)
		return -EBUSY;
	/* A new owner has to set again which offloads it accepts. */
	if (!tap->n_queues)
		ibtap_set_offloads(tap, 0);
	return ibtap_queue_attach(tap, q);
}

static int create(const char *name, struct ibtap_queue *q, u32 flags, struct net_device **ret)
{
	unsigned int n = flags & IBTAP_MULTI_QUEUE ? IBTAP_MAX_QUEUES : 1;
	struct net_device *dev;
	struct ibtap *tap;
	int err;

	if (!ns_capable(q->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	dev = alloc_netdev_mqs(sizeof(*tap), name, NET_NAME_USER, ibtap_setup, n, n);
	if (!dev)
		return -ENOMEM;
	tap = netdev_priv(dev);
	tap->multi_queue = flags & IBTAP_MULTI_QUEUE;
	dev_net_set(dev, q->net);
	dev->rtnl_link_ops = &ibtap_link_ops;
	netif_carrier_off(dev);
	err = register_netdevice(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	err = ibtap_queue_attach(tap, q);
	if (err) {
		unregister_netdevice(dev);
		return err;
	}
	*ret = dev;
	return 0;
}

static int attach(struct ibtap_queue *q, struct ibtap_attach *a)
{
	struct net_device *dev;
	int err;

	if (a->flags & ~(IBTAP_MULTI_QUEUE | IBTAP_EXCLUSIVE))
		return -EINVAL;
	a->name[IBTAP_NAMSIZ - 1] = '\0';
	if (q->was_attached)
		return -EBUSY;
	dev = __dev_get_by_name(q->net, a->name);
	if (dev)
		err = attach_to(dev, q, a->flags);
	else
		err = create(*a->name ? a->name : "ibtap%d", q, a->flags, &dev);
	if (err)
		return err;
	strscpy_pad(a->name, dev->name, sizeof(a->name));
	a->ifindex = dev->ifindex;
	return 0;
}

/* --- addresses and groups */

static int set_addr(struct net_device *dev, const struct ibtap_addr *a)
{
	if (a->addr[4] == 0xff)
		return -EADDRNOTAVAIL;
	if (!memcmp(dev->dev_addr, a->addr, IBTAP_ALEN))
		return 0;
	dev_addr_set(dev, a->addr);
	dev->addr_assign_type = NET_ADDR_SET;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
	netdev_state_change(dev);
	return 0;
}

/*
 * The addresses of all IP groups contain parts of the broadcast address. IPv4 and IPv6 compute
 * these addresses again when the type of a device changes. So this function reports a change of the
 * type, although the type stays the same. Neighbour entries for groups still contain the old
 * addresses, so this function also reports CHANGEADDR. This makes IPv4 and IPv6 delete all
 * neighbour entries.
 */
static int set_broadcast(struct net_device *dev, const struct ibtap_addr *a)
{
	int err;

	if (memchr_inv(a->addr + 1, 0xff, 4))
		return -EADDRNOTAVAIL;
	if (!memcmp(dev->broadcast, a->addr, IBTAP_ALEN))
		return 0;
	err = notifier_to_errno(call_netdevice_notifiers(NETDEV_PRE_TYPE_CHANGE, dev));
	if (!err)
		memcpy(dev->broadcast, a->addr, IBTAP_ALEN);
	call_netdevice_notifiers(NETDEV_POST_TYPE_CHANGE, dev);
	if (err)
		return err;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
	netdev_state_change(dev);
	return 0;
}

/* Copy up to @room addresses of groups to @ret. Return: the number of all groups of the device */
static u32 list_groups(struct net_device *dev, struct ibtap_addr *ret, u32 room)
{
	struct netdev_hw_addr *ha;
	u32 n = 0;

	netif_addr_lock_bh(dev);
	netdev_for_each_mc_addr(ha, dev)
	{
		if (n < room)
			memcpy(ret[n].addr, ha->addr, IBTAP_ALEN);
		n++;
	}
	netif_addr_unlock_bh(dev);
	return n;
}

/*
 * Store the flags and the number of the groups in @g. *@ret_addrs gets an array of the first *@ret_n addresses, as
 * many as the caller has room for. The caller frees the array by kvfree().
 */
static int get_groups(struct ibtap_queue *q, struct net_device *dev, struct ibtap_groups *g,
		      struct ibtap_addr **ret_addrs, u32 *ret_n)
{
	u32 room = min_t(u32, g->count, netdev_mc_count(dev));
	struct ibtap_addr *addrs = NULL;

	WRITE_ONCE(q->groups_changed, false);
	if (room) {
		addrs = kvcalloc(room, sizeof(*addrs), GFP_KERNEL);
		if (!addrs)
			return -ENOMEM;
	}
	g->count = list_groups(dev, addrs, room);
	g->flags = (dev->flags & IFF_ALLMULTI ? IBTAP_ALLMULTI : 0) |
		   (dev->flags & IFF_PROMISC ? IBTAP_PROMISC : 0);
	*ret_addrs = addrs;
	*ret_n = min(g->count, room);
	return 0;
}

/* --- numbers */

static int set_max_mtu(struct net_device *dev, u32 mtu)
{
	if (mtu < IBTAP_MIN_MTU || mtu > IBTAP_MAX_MTU)
		return -EINVAL;
	dev->max_mtu = mtu;
	return dev->mtu > mtu ? dev_set_mtu(dev, mtu) : 0;
}

static int set_carrier(struct net_device *dev, bool on)
{
	if (on)
		netif_carrier_on(dev);
	else
		netif_carrier_off(dev);
	return 0;
}

static int set_owner(struct ibtap *tap, u32 id)
{
	kuid_t uid = make_kuid(current_user_ns(), id);

	if (id != (u32)-1 && !uid_valid(uid))
		return -EINVAL;
	tap->owner = uid;
	return 0;
}

static int set_group(struct ibtap *tap, u32 id)
{
	kgid_t gid = make_kgid(current_user_ns(), id);

	if (id != (u32)-1 && !gid_valid(gid))
		return -EINVAL;
	tap->group = gid;
	return 0;
}

static int set_number(struct ibtap *tap, unsigned int cmd, u32 n)
{
	switch (cmd) {
	case IBTAP_SET_CARRIER:
		return n > 1 ? -EINVAL : set_carrier(tap->dev, n);
	case IBTAP_SET_MAX_MTU:
		return set_max_mtu(tap->dev, n);
	case IBTAP_SET_OFFLOADS:
		return ibtap_set_offloads(tap, n);
	case IBTAP_SET_PERSIST:
		if (n > 1)
			return -EINVAL;
		tap->persist = n;
		return 0;
	case IBTAP_SET_OWNER:
		return set_owner(tap, n);
	case IBTAP_SET_GROUP:
		return set_group(tap, n);
	default:
		return -ENOTTY;
	}
}

static int get_info(const struct ibtap *tap, struct ibtap_info *ret)
{
	const struct net_device *dev = tap->dev;

	*ret = (struct ibtap_info){
		.ifindex = dev->ifindex,
		.queues = tap->n_queues,
		.flags = tap->multi_queue ? IBTAP_MULTI_QUEUE : 0,
		.persist = tap->persist,
		.owner = from_kuid(current_user_ns(), tap->owner),
		.group = from_kgid(current_user_ns(), tap->group),
		.offloads = tap->offloads,
		.carrier = netif_carrier_ok(dev),
		.mtu = dev->mtu,
		.max_mtu = dev->max_mtu,
	};

	strscpy_pad(ret->name, dev->name, sizeof(ret->name));
	memcpy(ret->addr, dev->dev_addr, IBTAP_ALEN);
	memcpy(ret->broadcast, dev->broadcast, IBTAP_ALEN);
	return 0;
}

/* --- the file */

/*
 * An ioctl and its argument. The argument is read before RTNL is taken, and written after RTNL is
 * released. An access to a user's memory can last for any length of time, because a process of the
 * user may serve the page (userfaultfd, FUSE). Every user may open /dev/ibtap. So if this memory
 * were accessed under RTNL, every user could block RTNL.
 */
struct command {
	unsigned int cmd;
	union {
		struct ibtap_attach attach;
		struct ibtap_addr addr;
		struct ibtap_groups groups;
		struct ibtap_info info;
		u32 number;
	} arg;
	struct ibtap_addr *group; /* array for the addresses in arg.groups.addrs */
	u32 n_groups; /* number of elements of .group */
};

static int carry_out(struct ibtap_queue *q, struct command *c)
{
	struct ibtap *tap = rtnl_dereference(q->tap);

	if (c->cmd == IBTAP_ATTACH)
		return attach(q, &c->arg.attach);
	if (!tap)
		return q->was_attached ? -EBUSY : -EBADFD;
	switch (c->cmd) {
	case IBTAP_SET_ADDR:
		return set_addr(tap->dev, &c->arg.addr);
	case IBTAP_SET_BROADCAST:
		return set_broadcast(tap->dev, &c->arg.addr);
	case IBTAP_GET_GROUPS:
		return get_groups(q, tap->dev, &c->arg.groups, &c->group, &c->n_groups);
	case IBTAP_GET_INFO:
		return get_info(tap, &c->arg.info);
	default:
		return set_number(tap, c->cmd, c->arg.number);
	}
}

static int copy_result(const struct command *c, void __user *arg)
{
	if (_IOC_DIR(c->cmd) & _IOC_READ && copy_to_user(arg, &c->arg, _IOC_SIZE(c->cmd)))
		return -EFAULT;
	if (c->n_groups && copy_to_user(u64_to_user_ptr(c->arg.groups.addrs), c->group,
					c->n_groups * sizeof(*c->group)))
		return -EFAULT;
	return 0;
}

long ibtap_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct command c = { .cmd = cmd };
	int err;

	if (_IOC_TYPE(cmd) != _IOC_TYPE(IBTAP_ATTACH) || _IOC_SIZE(cmd) > sizeof(c.arg))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE &&
	    copy_from_user(&c.arg, (const void __user *)arg, _IOC_SIZE(cmd)))
		return -EFAULT;
	rtnl_lock();
	err = carry_out(file->private_data, &c);
	rtnl_unlock();
	if (!err)
		err = copy_result(&c, (void __user *)arg);
	kvfree(c.group);
	return err;
}

int ibtap_open(struct inode *inode, struct file *file)
{
	struct ibtap_queue *q = ibtap_queue_new(current->nsproxy->net_ns);

	if (!q)
		return -ENOMEM;
	file->private_data = q;
	return nonseekable_open(inode, file);
}

int ibtap_release(struct inode *inode, struct file *file)
{
	struct ibtap_queue *q = file->private_data;
	struct ibtap *tap;

	rtnl_lock();
	tap = rtnl_dereference(q->tap);
	if (tap) {
		ibtap_queue_detach(tap, q);
		if (!tap->n_queues) {
			netif_carrier_off(tap->dev);
			if (!tap->persist)
				unregister_netdevice(tap->dev);
		}
	}
	rtnl_unlock();
	ibtap_queue_free(q);
	return 0;
}

static struct miscdevice misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ibtap",
	.fops = &ibtap_fops,
	.mode = 0666, /* every user may open it, like /dev/net/tun; IBTAP_ATTACH checks rights */
};

static int __init ibtap_init(void)
{
	int err = rtnl_link_register(&ibtap_link_ops);

	if (err)
		return err;
	err = misc_register(&misc);
	if (err)
		rtnl_link_unregister(&ibtap_link_ops);
	return err;
}

/* No descriptor is open when the module is removed, so the remaining devices are persistent ones. */
static void __exit ibtap_exit(void)
{
	misc_deregister(&misc);
	rtnl_link_unregister(&ibtap_link_ops);
}

module_init(ibtap_init);
module_exit(ibtap_exit);
