// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * Two parameters of the module add and remove devices:
 *
 *	echo "uib0 listen=10.0.0.2:6001 peer=10.0.0.1:5001 guid=0x2c9" >/sys/module/uib/parameters/add
 *	echo uib0 >/sys/module/uib/parameters/remove		(or: rdma link delete uib0/1)
 *	modprobe uib add='"uib0 peer=10.0.0.1:5001"'
 *
 * The socket of a device is in the network namespace of the process that writes the parameter
 * "add". With netns=FD, it is instead in the namespace to which the descriptor FD of this process
 * refers. When the socket's namespace ends, the device is removed. The device itself, and the
 * interface that ib_ipoib makes for it, are in the namespace of the writer, so programs that use
 * ib0 need not see the socket that carries its packets.
 */

#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/percpu.h>
#include <linux/platform_device.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "uib.h"

#define SPEC_MAX 256
#define DEFAULT_PORT 5001

MODULE_AUTHOR("The uipoib authors");
MODULE_DESCRIPTION("InfiniBand HCA in software, linked over UDP");
MODULE_LICENSE("Dual BSD/GPL");

struct workqueue_struct *uib_wq;

/* protects phase and at_load; held while a device is added, so that devices are added one at a time */
static DEFINE_MUTEX(add_lock);
static enum { LOADING, LIVE, GOING } phase;
static char *at_load; /* the value of the parameter "add" that was given to insmod */

static DEFINE_SPINLOCK(devs_lock); /* protects devs */
static LIST_HEAD(devs);

/* The values in a line of the parameter "add" */
struct spec {
	char name[IB_DEVICE_NAME_MAX];
	struct net *net; /* the socket's namespace, with a reference */
	union uib_addr listen, peer;
	bool has_listen, has_peer;
	u64 guid;
	u8 mtu_cap;
	unsigned int silence_ms; /* how long the link stays SILENT after its start */
};

/* --- parse "NAME netns=FD listen=ADDR:PORT peer=ADDR:PORT guid=0x... mtu=4096 silence=4000" */

/* Parse ADDR[:PORT] or [ADDR6][:PORT]. */
static int parse_addr(struct net *net, char *s, union uib_addr *ret)
{
	char *port = NULL, *end;

	if (*s == '[') {
		end = strchr(++s, ']');
		if (!end)
			return -EINVAL;
		*end++ = '\0';
		if (*end && *end != ':')
			return -EINVAL;
		if (*end)
			port = end + 1;
	} else {
		port = strchr(s, ':');
		if (port)
			*port++ = '\0';
	}
	memset(ret, 0, sizeof(*ret));
	if (inet_pton_with_scope(net, AF_UNSPEC, s, port ?: __stringify(DEFAULT_PORT), &ret->ss))
		return -EINVAL;
	return ret->in4.sin_port ? 0 : -EINVAL;
}

static int parse_mtu(const char *s, u8 *ret)
{
	unsigned int octets, code;

	if (kstrtouint(s, 0, &octets))
		return -EINVAL;
	for (code = IB_MTU_256; code <= IB_MTU_4096; code++)
		if (uib_mtu_octets(code) == octets) {
			*ret = code;
			return 0;
		}
	return -EINVAL;
}

static int parse_silence(const char *s, unsigned int *ret)
{
	return kstrtouint(s, 0, ret) || *ret > UIB_SILENCE_MS ? -EINVAL : 0;
}

/* An address may name an interface (fe80::1%eth0) of the socket's namespace. So netns= must precede the addresses. */
static int parse_netns(struct spec *s, const char *value)
{
	struct net *net;
	unsigned int fd;

	if (s->has_listen || s->has_peer || kstrtouint(value, 10, &fd) || fd > INT_MAX)
		return -EINVAL;
	net = get_net_ns_by_fd(fd);
	if (IS_ERR(net))
		return PTR_ERR(net);
	put_net(s->net);
	s->net = net;
	return 0;
}

static int parse_key(struct spec *s, const char *key, char *value)
{
	if (!strcmp(key, "netns"))
		return parse_netns(s, value);
	if (!strcmp(key, "listen")) {
		s->has_listen = true;
		return parse_addr(s->net, value, &s->listen);
	}
	if (!strcmp(key, "peer")) {
		s->has_peer = true;
		return parse_addr(s->net, value, &s->peer);
	}
	if (!strcmp(key, "guid"))
		return kstrtou64(value, 16, &s->guid) || !s->guid ? -EINVAL : 0;
	if (!strcmp(key, "mtu"))
		return parse_mtu(value, &s->mtu_cap);
	if (!strcmp(key, "silence"))
		return parse_silence(value, &s->silence_ms);
	return -EINVAL;
}

static bool is_loopback(const union uib_addr *a)
{
	return a->sa.sa_family == AF_INET ? ipv4_is_loopback(a->in4.sin_addr.s_addr)
					  : ipv6_addr_loopback(&a->in6.sin6_addr);
}

static int fill_in(struct spec *s)
{
	if (!s->has_listen) {
		s->listen.sa.sa_family = s->has_peer ? s->peer.sa.sa_family : AF_INET;
		/* sin6_port is at the same offset, so this sets IPv6 ports, too */
		s->listen.in4.sin_port = htons(DEFAULT_PORT);
	}
	if (s->has_peer && s->peer.sa.sa_family != s->listen.sa.sa_family)
		return -EAFNOSUPPORT;
	/*
	 * The link is not authenticated, so if other machines can reach the socket, the peer's address must be
	 * configured.
	 */
	if (!s->has_peer && !is_loopback(&s->listen))
		return -EDESTADDRREQ;
	/* A random GUID, marked as locally administered (EUI-64: bit 1 of the first octet) */
	if (!s->guid) {
		get_random_bytes(&s->guid, sizeof(s->guid));
		s->guid = (s->guid & ~(0xffull << 56)) | 2ull << 56;
	}
	return 0;
}

/* Tell whether a device may have this name. ib_core uses the name as a format string, so a % is not allowed. */
static bool name_ok(const char *name)
{
	const char *c = name;

	while (isalnum(*c) || *c == '_' || *c == '-' || *c == '.')
		c++;
	return isalnum(*name) && !*c;
}

static int parse(char *text, struct spec *s)
{
	char *word, *value;
	int err;

	text = strim(text);
	word = strsep(&text, " ");
	if (!name_ok(word) || strscpy(s->name, word, sizeof(s->name)) < 0)
		return -EINVAL;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = '\0';
		err = parse_key(s, word, value);
		if (err) {
			pr_err("uib: %s: %*pE: expected a key and a value as modinfo uib lists "
			       "them\n",
			       s->name, (int)strlen(word), word);
			return err;
		}
	}
	return fill_in(s);
}

/* --- devices */

static void init_dev(struct uib_dev *dev, const struct spec *s)
{
	struct ib_device *ibdev = &dev->ibdev;

	dev->link.net = s->net;
	dev->link.listen = s->listen;
	dev->link.peer = s->peer;
	dev->link.has_peer = s->has_peer;
	dev->link.start_silence = msecs_to_jiffies(s->silence_ms);
	uib_port_init(&dev->port, s->guid, s->mtu_cap);
	uib_traps_init(dev);
	uib_samples_init(dev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	dev->next_qpn = UIB_FIRST_QPN;
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	dev->next_mr = 1;
	mutex_init(&dev->quota_lock);
	INIT_LIST_HEAD(&dev->quotas);
	dev->mcast_seed = get_random_u32();
	spin_lock_init(&dev->mcast_lock);
	INIT_LIST_HEAD(&dev->node);
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->node_guid = cpu_to_be64(s->guid);
	ibdev->local_dma_lkey = UIB_LOCAL_DMA_LKEY;
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc), "%.31s %.31s",
		 init_utsname()->nodename, s->name);
	/* the commands of ib_uverbs by which the provider ipathverbs (ABI 1) posts and polls */
	ibdev->uverbs_cmd_mask |=
		BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ) | BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
		BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) | BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_set_device_ops(ibdev, &uib_ops);
}

/* ib_core calls this function when the device is unregistered, for any reason. */
void uib_dealloc(struct ib_device *ibdev)
{
	struct uib_dev *dev = to_uib(ibdev);

	debugfs_remove(dev->debugfs);
	uib_link_stop(&dev->link);
	uib_traps_exit(dev);
	uib_samples_exit(dev);
	uib_link_close(&dev->link);
	WARN_ON(!xa_empty(&dev->qps));
	xa_destroy(&dev->qps);
	WARN_ON(!xa_empty(&dev->mrs));
	xa_destroy(&dev->mrs);
	free_percpu(dev->counters);
	platform_device_unregister(dev->parent);
	spin_lock(&devs_lock);
	list_del(&dev->node);
	spin_unlock(&devs_lock);
}

/* ib_core calls this function before consumers see the device. */
int uib_enable(struct ib_device *ibdev)
{
	struct uib_dev *dev = to_uib(ibdev);

	spin_lock(&devs_lock);
	list_add_tail(&dev->node, &devs);
	spin_unlock(&devs_lock);
	uib_stats_add(dev);
	return 0;
}

/*
 * Start the link. This function is called when all consumers know the device, so that no SM finds
 * the port earlier. An SM that finds the port requests ClientReregister, and ib_core then removes
 * each GID from its table for a moment and adds it again. If ib_ipoib read GID 0 at this moment, it
 * would make no interface for the port, and would not try again.
 *
 * The device may have been unregistered already. If not, the reference that this function takes
 * makes ib_core wait with the removal of the device until this function ends.
 */
static void start(struct uib_dev *dev)
{
	if (!ib_device_try_get(&dev->ibdev))
		return;
	uib_link_start(&dev->link);
	ib_device_put(&dev->ibdev);
}

/* Add a device to namespace @net. */
static int add(struct net *net, const struct spec *s)
{
	struct uib_dev *dev = uib_alloc_device(net);
	struct platform_device *parent;
	int err = -ENOMEM;

	if (!dev)
		return -ENOMEM;
	init_dev(dev, s);
	dev->counters = __alloc_percpu(UIB_C_MAX * sizeof(u64), sizeof(u64));
	if (!dev->counters)
		goto err_dealloc;
	err = uib_link_open(&dev->link);
	if (err)
		goto err_dealloc;
	/*
	 * ib_ipoib (for ethtool -i) uses the parent device without a check for NULL, so the device needs a parent.
	 * The parent of a hardware HCA is its PCI device.
	 */
	parent = platform_device_register_simple("uib", PLATFORM_DEVID_AUTO, NULL, 0);
	err = PTR_ERR_OR_ZERO(parent);
	if (err)
		goto err_dealloc;
	dev->parent = parent;
	dev->ibdev.dev.parent = &parent->dev;
	/* Another process may remove the device before start() has ended. */
	get_device(&dev->ibdev.dev);
	err = ib_register_device(&dev->ibdev, s->name, NULL);
	if (!err)
		start(dev);
	put_device(&dev->ibdev.dev);
	if (err)
		goto err_dealloc;
	return 0;

err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return err;
}

static int add_text(struct net *net, const char *text)
{
	struct spec s = { .mtu_cap = IB_MTU_4096, .silence_ms = UIB_SILENCE_MS };
	char copy[SPEC_MAX];
	int err;

	if (strscpy(copy, text, sizeof(copy)) < 0)
		return -E2BIG;
	/*
	 * This reference lasts for this call only. The device keeps none, so that the namespace can
	 * end and remove the device.
	 */
	s.net = get_net(net);
	err = parse(copy, &s);
	if (!err)
		err = add(net, &s);
	put_net(s.net);
	return err;
}

/*
 * Find the first device with the name @name whose socket is in namespace @net; NULL matches any name. The caller gets
 * a reference.
 */
static struct uib_dev *find(const struct net *net, const char *name)
{
	struct uib_dev *dev, *found = NULL;

	spin_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node)
		if ((!net || dev->link.net == net) && (!name || !strcmp(dev->ibdev.name, name))) {
			found = dev;
			get_device(&dev->ibdev.dev);
			break;
		}
	spin_unlock(&devs_lock);
	return found;
}

/*
 * `rdma link delete` may be removing the same device at this moment. ib_core lets one caller do the work and makes
 * the others wait. So when this function returns, no code of the module runs for this device any
 * more.
 */
static void remove(struct uib_dev *dev)
{
	ib_unregister_device(&dev->ibdev);
	put_device(&dev->ibdev.dev);
}

static bool remove_named(const char *name)
{
	struct uib_dev *dev = find(NULL, name);

	if (dev)
		remove(dev);
	return dev;
}

static void remove_all(const struct net *net)
{
	struct uib_dev *dev;

	while ((dev = find(net, NULL))) {
		remove(dev);
		/*
		 * remove() has no effect on a device whose registration has just failed. Such a device stays in
		 * the list, and find() returns it again, until add() removes it. Let add() run meanwhile.
		 */
		cond_resched();
	}
}

/* --- the parameters */

static int add_set(const char *text, const struct kernel_param *kp)
{
	int err = -ENODEV;

	mutex_lock(&add_lock);
	if (phase == LIVE) {
		err = add_text(current->nsproxy->net_ns, text);
	} else if (phase == LOADING && !at_load) {
		at_load = kstrdup(text, GFP_KERNEL);
		err = at_load ? 0 : -ENOMEM;
	}
	mutex_unlock(&add_lock);
	return err;
}

static int remove_set(const char *text, const struct kernel_param *kp)
{
	char copy[IB_DEVICE_NAME_MAX + 1];

	if (READ_ONCE(phase) != LIVE)
		return -ENODEV;
	if (strscpy(copy, text, sizeof(copy)) < 0)
		return -ENODEV;
	return remove_named(strim(copy)) ? 0 : -ENODEV;
}

static const struct kernel_param_ops add_ops = { .set = add_set };
static const struct kernel_param_ops remove_ops = { .set = remove_set };
module_param_cb(add, &add_ops, NULL, 0200);
MODULE_PARM_DESC(add,
		 "NAME [netns=FD] [listen=ADDR:PORT] [peer=ADDR:PORT] [guid=HEX] [mtu=256..4096] "
		 "[silence=0..4000]");
module_param_cb(remove, &remove_ops, NULL, 0200);
MODULE_PARM_DESC(remove, "NAME");

/* --- the module */

static void __net_exit net_exit(struct net *net)
{
	remove_all(net);
}

static struct pernet_operations net_ops = { .exit = net_exit };

static int __init uib_init(void)
{
	int err;

	uib_crc_init();
	uib_wq = alloc_workqueue("uib", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!uib_wq)
		return -ENOMEM;
	uib_stats_init();
	err = register_pernet_subsys(&net_ops);
	if (err)
		goto err_wq;
	mutex_lock(&add_lock);
	if (at_load)
		err = add_text(current->nsproxy->net_ns, at_load);
	phase = err ? GOING : LIVE;
	kfree(at_load);
	mutex_unlock(&add_lock);
	if (err)
		goto err_net;
	return 0;

err_net:
	unregister_pernet_subsys(&net_ops);
err_wq:
	uib_stats_exit();
	destroy_workqueue(uib_wq);
	return err;
}

static void __exit uib_exit(void)
{
	mutex_lock(&add_lock);
	phase = GOING;
	mutex_unlock(&add_lock);
	remove_all(NULL);
	unregister_pernet_subsys(&net_ops);
	uib_stats_exit();
	uib_stub_exit();
	destroy_workqueue(uib_wq);
}

module_init(uib_init);
module_exit(uib_exit);
