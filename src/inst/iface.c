/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/iface.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "inst/by_pkey.h"
#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface_groups.h"
#include "inst/iface_net.h"
#include "inst/port.h"
#include "inst/udplink.h"
#include "netdev/ibtap.h"
#include "os/clock.h"

static void iface_log(const struct inst_iface *i, enum log_level lvl, const char *what, int err)
{
	log_to(&i->log, lvl, "%s@%s: %s: %s", i->name, i->host->name, what, strerror(-err));
}

/* --- frames */

/*
 * The TAP is watched edge-triggered. No further event is needed for the frames that wait in the
 * TAP: ifc_transmit() reads the TAP until it is empty, and continues by itself when it had to stop
 * for lack of room.
 */
static void tap_readable(struct loop_fd *fd, uint32_t events, ns_t now)
{
	(void)events;
	(void)now;
	ifc_readable(&container_of(fd, struct inst_iface, tap_fd)->ifc);
}

static int read_tap(void *ctx, struct pkt **ret)
{
	struct inst_iface *i = ctx;
	struct tap_frame f;
	int err = tap_read(&i->tap, &i->inst->tap_rx, &f);

	if (err && tap_deleted(&i->tap, err)) {
		iface_log(i, LOG_LVL_ERR, "the network device was deleted", -ENODEV);
		loop_unwatch(&i->inst->loop, &i->tap_fd);
		iface_link_event(i, false, i->inst->loop.now);
	}
	if (err)
		return err;
	/*
	 * An error of tap_vnet_to_pkt() is ignored. The function fails for two kinds of frames with
	 * a partial checksum. The first kind has VLAN tags; eth_tx() counts and drops these frames.
	 * The second kind has a checksum that would begin in the link header; these frames are sent
	 * with the checksum that they have.
	 */
	tap_vnet_to_pkt(f.pkt, &f.vnet, i->tap.kind);
	busy_poll_frame(&i->inst->loop.poll, i->written + 1 >= i->inst->loop.turns);
	*ret = f.pkt;
	return 0;
}

/* Returns the number of datagrams of a frame: 0 for a TCP super-frame, 1 for any other single packet */
static unsigned int datagrams(const struct tap_vnet *v, uint32_t len)
{
	switch (v->gso) {
	case TAP_GSO_NONE:
		return 1;
	case TAP_GSO_UDP4:
	case TAP_GSO_UDP6:
		return (len - v->hdr_len + v->gso_size - 1) / v->gso_size;
	default:
		return 0;
	}
}

static void let_reader_run(struct inst *in, unsigned int wrote)
{
	ns_t before, now;

	if (!yield_wrote(&in->yield, wrote, in->loop.now))
		return;
	before = clock_now();
	sched_yield();
	now = clock_now();
	yield_took(&in->yield, now - before, now);
}

static void on_deliver(void *ctx, struct eth_frame *f)
{
	struct inst_iface *i = ctx;
	struct iovec iov[1 + ETH_FRAME_PARTS];
	struct tap_vnet vnet;

	/*
	 * A network device that was made outside its host (.number is set) may not be up in the host
	 * yet. Packets that arrive before it is up are dropped.
	 */
	if (i->number && !i->kernel_up) {
		eth_frame_free(f);
		return;
	}
	tap_vnet_from_pkt(&vnet, f->first, i->tap.kind);
	i->written = i->inst->loop.turns;
	if (tap_write(&i->tap, &vnet, iov, eth_frame_iov(f, iov + 1)))
		i->tap_write_errors++;
	else
		let_reader_run(i->inst, datagrams(&vnet, f->len));
	eth_frame_free(f);
}

/* --- callbacks of the IPoIB link, which pass changes of the link on to the network interface */

static void on_neigh_gone(void *ctx, const uint8_t mac[6])
{
	iface_net_neigh_gone(ctx, mac, 6);
}

static void on_lladdr_gone(void *ctx, const struct ipoib_lladdr *a)
{
	uint8_t hw[IPOIB_ALEN];

	ipoib_lladdr_encode(hw, a);
	iface_net_neigh_gone(ctx, hw, sizeof(hw));
}

static void set_mac(void *ctx, const uint8_t mac[6])
{
	(void)mac; /* i->ifc.mac has the same address */
	iface_net_set_mac(ctx);
}

/*
 * Sets the carrier. When the link of a .by_pkey interface is up for the first time, its network
 * device appears in the host. In intel-ipoib-linux-hld-2002, section 2.6, the driver registers its
 * network device at the same moment: when the broadcast group has been joined.
 */
static void set_carrier(void *ctx, bool up)
{
	struct inst_iface *i = ctx;

	iface_net_set_carrier(i, up);
	if (!up || i->device)
		return;
	i->device = true;
	if (!i->host->gone)
		iface_net_came(i);
}

/*
 * The kernel needs the address of the broadcast group: it copies the scope and the P_Key of this
 * address into the hardware addresses to which it maps IP groups (ip_ib_mc_map(),
 * ipv6_ib_mc_map()).
 */
void iface_put_lladdrs(struct inst_iface *i)
{
	struct ipoib_lladdr group = { .qpn = IB_QPN_MCAST, .gid = i->ifc.broadcast };
	uint8_t own[IPOIB_ALEN], broadcast[IPOIB_ALEN];
	int err = 0, own_err = 0;

	if (i->tap.fd < 0)
		return;
	ipoib_lladdr_encode(own, &i->ifc.own);
	ipoib_lladdr_encode(broadcast, &group);
	if (!ib_gid_is_zero(&group.gid))
		err = ibtap_set_broadcast(&i->tap, broadcast);
	if (i->ifc.own.qpn)
		own_err = ibtap_set_addr(&i->tap, own);
	if (!err)
		err = own_err;
	if (err && !i->net.lladdr_refused)
		iface_log(i, LOG_LVL_WARN, "setting the link-layer addresses", err);
	i->net.lladdr_refused = err;
}

static void set_lladdr(void *ctx, const struct ipoib_lladdr *own, const ib_gid *broadcast)
{
	(void)own, (void)broadcast; /* i->ifc has the same addresses */
	iface_put_lladdrs(ctx);
}

static void set_mtu(void *ctx, unsigned int mtu)
{
	struct inst_iface *i = ctx;
	int err = 0;

	/*
	 * For a device of type 32, the daemon sets the largest MTU that the administrator can
	 * choose. A TAP has no such limit. If its MTU is larger than the link's, the link drops
	 * packets that are too long.
	 */
	if (i->kind == TAP_INFINIBAND && i->tap.fd >= 0)
		err = ibtap_set_max_mtu(&i->tap, mtu);
	if (err)
		iface_log(i, LOG_LVL_WARN, "setting the largest MTU", err);
	iface_net_set_mtu(i, mtu);
}

static void state_changed(void *ctx)
{
	struct inst_iface *i = ctx;

	i->inst->link_changes++;
}

static void port_changed(void *ctx)
{
	iface_net_port(ctx);
}

static const struct ifc_ops ifc_ops = {
	.read = read_tap,
	.deliver = on_deliver,
	.neigh_gone = on_neigh_gone,
	.lladdr_gone = on_lladdr_gone,
	.set_mac = set_mac,
	.set_lladdr = set_lladdr,
	.set_mtu = set_mtu,
	.set_carrier = set_carrier,
	.state_changed = state_changed,
	.port_changed = port_changed,
};

/* --- the TAP was set up or down */

void iface_link_event(struct inst_iface *i, bool up, ns_t now)
{
	if (i->kernel_up == up)
		return;
	i->kernel_up = up;
	ifc_set_up(&i->ifc, up, now);
	if (up)
		iface_groups_start(i, now);
	else
		iface_groups_stop(i);
}

/* --- multicast routers */

static void follow_mc(struct inst_iface *i, ns_t now)
{
	int err;

	/* A link whose profile ignores the SA's Reports about groups cannot belong to a multicast router. */
	if (i->router != CONF_ROUTER_AUTO || !ipoib_link_profile(i->ifc.ipoib)->reports)
		return;
	err = ifc_set_router(&i->ifc, i->routes_mc[RTNL_V4] || i->routes_mc[RTNL_V6], now);
	if (err && !i->mc_refused)
		log_to(&i->log, LOG_LVL_WARN,
		       "%s@%s: the host routes multicast, but the interface does not receive all "
		       "groups: %s",
		       i->name, i->host->name, strerror(-err));
	i->mc_refused = err;
}

void iface_mc_event(struct inst_iface *i, enum rtnl_family family, bool on, ns_t now)
{
	i->routes_mc[family] = on;
	follow_mc(i, now);
}

void iface_mc_retry(struct inst_iface *i, ns_t now)
{
	if (i->mc_refused)
		follow_mc(i, now);
}

/* --- the namespace is deleted and made again */

void iface_ns_lost(struct inst_iface *i, ns_t now)
{
	iface_net_lost(i);
	i->ifindex = 0;
	iface_link_event(i, false, now);
	/* In a new namespace no program routes multicast yet. */
	i->routes_mc[RTNL_V4] = i->routes_mc[RTNL_V6] = false;
	follow_mc(i, now);
}

const char *iface_reason(const struct inst_iface *i, const struct ipoib_link_info *info)
{
	if (i->host->gone)
		return "the network namespace is gone";
	if (i->by_pkey && !i->spare)
		return "all network devices of the section are in use (devices)";
	if (i->by_pkey && !i->ifindex)
		return i->device ? "the network device is not in the network namespace"
				 : info->reason;
	return i->ifindex ? info->reason : "the TAP is not back in the network namespace";
}

/* --- making and removing an interface */

/*
 * Returns the configuration for ifc_start(). @link_name: buffer for the name of the link, which
 * must stay valid until ifc_start() has returned
 */
static struct ifc_cfg ifc_cfg(const struct inst_iface *i, const struct conf_iface *c,
			      char link_name[IPOIB_NAME_LEN])
{
	snprintf(link_name, IPOIB_NAME_LEN, "%.15s@%.15s", i->name, i->host->name);
	return (struct ifc_cfg){
		.name = i->name,
		.link_name = link_name,
		.shape = i->kind == TAP_INFINIBAND ? ETH_SHAPE_INFINIBAND : ETH_SHAPE_ETHERNET,
		.profile = c->profile,
		.pkey = c->pkey,
		.max_ip_mtu = c->mtu,
		.max_neighs = c->neighbours,
		.scope = c->scope,
		.subnet = c->subnet,
		.sl_from = c->sl_from,
		.sl = c->sl,
		.log = &i->log,
		.sq_depth = i->params.sq_depth,
		.rq_depth = i->params.rq_depth,
		.tx_timeout = i->params.tx_timeout,
		.join_tries = i->params.join_tries,
		.path_tries = i->params.path_tries,
		.router = c->router == CONF_ROUTER_YES,
		.qpn = c->qpn,
		.gro_tcp = i->tap.offload & TAP_OFFLOAD_TSO,
		.gro_udp = i->tap.offload & TAP_OFFLOAD_USO,
		.dhcp_raw = c->dhcp_raw,
		.stations = i->kind == TAP_ETHERNET ? c->stations : 0,
		.sidr_server = c->sidr_server,
		.sidr_service = c->sidr_service,
	};
}

enum tap_kind iface_kind(const struct conf_iface *c)
{
	return c->netdev == CONF_NETDEV_IBTAP ? TAP_INFINIBAND : TAP_ETHERNET;
}

static int make_link(struct inst_iface *i, const struct conf_iface *c)
{
	char link_name[IPOIB_NAME_LEN];
	struct ifc_cfg cfg = ifc_cfg(i, c, link_name);

	return ifc_start(&i->ifc, &cfg);
}

static int refused(struct inst_iface *i, int status, char err[INST_ERR_MAX])
{
	char what[IFNAMSIZ + CONF_NAME_MAX + 16];

	snprintf(what, sizeof(what), "interface %s@%s", i->name, i->host->name);
	return inst_refused(i->inst, status, what, err);
}

struct netdev_tap_conf iface_tap_conf(const struct inst_iface *i)
{
	struct netdev_tap_conf tc = {
		.kind = i->kind,
		.mtu = i->mtu ? i->mtu : 2044,
		.txqlen = i->params.tx_queue_len,
	};

	/*
	 * If the namespace was deleted and made again, the TAP gets the MTU that the link had
	 * before.
	 */
	if (i->net.mtu)
		tc.mtu = i->net.mtu;
	if (i->kind == TAP_ETHERNET)
		memcpy(tc.mac, i->ifc.mac, sizeof(tc.mac));
	memcpy(tc.ifname, i->name, sizeof(tc.ifname));
	tc.stable = i->iid.from == CONF_IID_STABLE;
	memcpy(tc.stable_secret, i->iid.secret, sizeof(tc.stable_secret));
	return tc;
}

/*
 * Sets the provisional link-layer address that a device of type 32 has until the port is Active. It
 * has the default subnet prefix and the expected queue pair number. Programs may look for a device
 * by its address, so every device needs an address at once.
 */
static void put_first_lladdr(struct inst_iface *i)
{
	struct ipoib_lladdr a = {
		.qpn = ifc_qpn_hint(&i->ifc, NULL),
		.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, i->port->ifc.guid),
	};
	uint8_t own[IPOIB_ALEN];

	ipoib_lladdr_encode(own, &a);
	ibtap_set_addr(&i->tap, own);
}

static int make_tap(struct inst_iface *i, char err[INST_ERR_MAX])
{
	struct netdev_tap_conf tc = iface_tap_conf(i);
	int fd, status;

	status = netdev_tap_create(i->host->helper, i->host->ns, &tc, &fd, &i->ifindex);
	if (!status)
		status = tap_attach(&i->tap, i->kind, fd, TAP_OFFLOAD_DEFAULT);
	if (status)
		return refused(i, status, err);
	if (i->kind == TAP_INFINIBAND)
		put_first_lladdr(i);
	return 0;
}

struct rtnl_ip iface_addr(const struct inst_iface *i, unsigned int k)
{
	struct rtnl_ip ip = { .family = i->addr[k].family == 6 ? RTNL_V6 : RTNL_V4 };

	memcpy(ip.addr, i->addr[k].octets, sizeof(ip.addr));
	return ip;
}

static int set_addresses(struct inst_iface *i, char err[INST_ERR_MAX])
{
	for (unsigned int k = 0; k < i->naddrs; k++) {
		struct rtnl_ip ip = iface_addr(i, k);
		int status;

		status = netdev_addr_add(i->host->helper, i->host->ns, i->ifindex, &ip,
					 i->addr[k].prefix_len);
		if (status && status != -EEXIST)
			return refused(i, status, err);
	}
	return 0;
}

static int bring_up(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	struct inst *in = i->inst;
	int status = make_tap(i, err);

	if (status)
		return status;
	status = make_link(i, c);
	if (!status)
		status = loop_watch(&in->loop, &i->tap_fd, i->tap.fd, EPOLLIN | EPOLLET,
				    tap_readable);
	if (status) {
		snprintf(err, INST_ERR_MAX, "interface %s@%s: %s", i->name, i->host->name,
			 strerror(-status));
		return status;
	}
	status = set_addresses(i, err);
	if (status)
		return status;
	status = netdev_link_up(i->host->helper, i->host->ns, i->ifindex, true);
	if (status)
		return refused(i, status, err);
	iface_link_event(i, true, in->loop.now);
	return 0;
}

static struct iface_params params_of(const struct conf_iface *c)
{
	return (struct iface_params){
		.tx_queue_len = c->tx_queue_len,
		.sq_depth = c->sq_depth,
		.rq_depth = c->rq_depth,
		.tx_timeout = NS_MSEC(c->tx_timeout),
		.join_tries = { c->mcast_timeout, c->mcast_retries },
		.path_tries = { c->path_timeout, SAC_RETRIES },
	};
}

int iface_place(struct inst *in, const struct conf_iface *c, struct inst_port **ret_port,
		struct inst_host **ret_host, char err[INST_ERR_MAX])
{
	int status = c->port.udp ? udplink_hca(in, &c->port, c->host, err) : 0;

	if (!status)
		status = port_get(in, &c->port, ret_port, err);
	if (!status)
		status = host_get(in, c, ret_host, err);
	if (!status && host_ca(*ret_host, *ret_port) == HOST_CAS_MAX) {
		snprintf(err, INST_ERR_MAX, "host %s: more than %d CAs", c->host, HOST_CAS_MAX);
		status = -EINVAL;
	}
	return status;
}

/* Makes an interface that has no TAP yet and is in no list. Return: NULL if out of memory */
static struct inst_iface *iface_alloc(struct inst *in, struct inst_port *port,
				      struct inst_host *host, const struct conf_iface *c)
{
	struct inst_iface *i = calloc(1, sizeof(*i));
	char link_name[IPOIB_NAME_LEN];
	struct ifc_cfg cfg;

	if (!i)
		return NULL;
	list_init(&i->link);
	list_init(&i->on_host);
	iface_groups_init(i);
	i->inst = in;
	iface_net_init(i);
	i->port = port;
	i->host = host;
	i->kind = iface_kind(c);
	i->tap.fd = -1;
	i->mtu = c->mtu;
	i->router = c->router;
	i->log = in->cfg.log;
	i->log.about = (struct log_about){ .iface = i->name, .host = host->name };
	if (c->debug != CONF_DEBUG_DEFAULT)
		i->log.max = (enum log_level)c->debug;
	i->params = params_of(c);
	i->naddrs = c->naddrs;
	memcpy(i->addr, c->addr, sizeof(i->addr));
	snprintf(i->name, sizeof(i->name), "%s", c->name);
	cfg = ifc_cfg(i, c, link_name);
	ifc_init(&i->ifc, &port->ifc, &cfg, &ifc_ops, i);
	return i;
}

static void add_to_lists(struct inst_iface *i)
{
	list_add_tail(&i->inst->ifaces, &i->link);
	list_add_tail(&i->host->ifaces, &i->on_host);
}

int iface_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	struct inst_iface *i;
	struct inst_port *port;
	struct inst_host *host;
	int status = iface_place(in, c, &port, &host, err);

	if (status)
		return status;
	i = iface_alloc(in, port, host, c);
	if (!i) {
		snprintf(err, INST_ERR_MAX, "interface %s: out of memory", c->name);
		return -ENOMEM;
	}
	i->device = true;
	status = iface_iid_init(i, c, err);
	if (!status)
		status = bring_up(i, c, err);
	if (status) {
		iface_destroy(i);
		return status;
	}
	add_to_lists(i);
	return 0;
}

static int start_with_tap(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	int status = iface_iid_init(i, c, err);

	if (status)
		return status;
	if (i->kind == TAP_INFINIBAND)
		put_first_lladdr(i);
	status = make_link(i, c);
	if (!status)
		status = loop_watch(&i->inst->loop, &i->tap_fd, i->tap.fd, EPOLLIN | EPOLLET,
				    tap_readable);
	if (status)
		snprintf(err, INST_ERR_MAX, "interface %s@%s: %s", i->name, i->host->name,
			 strerror(-status));
	return status;
}

int iface_add_tap(struct inst_port *port, struct inst_host *host, const struct conf_iface *c,
		  const struct iface_tap *t, struct inst_iface **ret, char err[INST_ERR_MAX])
{
	struct inst_iface *i = iface_alloc(host->inst, port, host, c);
	int status;

	if (!i) {
		snprintf(err, INST_ERR_MAX, "interface %s@%s: out of memory", c->name, c->host);
		close(t->tap.fd);
		return -ENOMEM;
	}
	i->tap = t->tap;
	i->number = t->number;
	i->device = i->net.away = true;
	status = start_with_tap(i, c, err);
	if (status) {
		iface_destroy(i);
		return status;
	}
	add_to_lists(i);
	iface_net_came(i);
	*ret = i;
	return 0;
}

int iface_add_pkey(struct by_pkey *b, const struct conf_iface *c, struct inst_iface **ret)
{
	struct inst_iface *i = iface_alloc(b->inst, b->port, b->host, c);
	char text[INST_ERR_MAX];
	int err;

	if (!i)
		return -ENOMEM;
	i->by_pkey = b;
	i->net.away = true;
	i->tap.offload = b->tap[0].tap.offload; /* all TAPs of the section have the same offloads */
	err = iface_iid_init(i, c, text);
	if (!err)
		err = make_link(i, c);
	if (err) {
		iface_destroy(i);
		return err;
	}
	add_to_lists(i);
	*ret = i;
	return 0;
}

void iface_use_tap(struct inst_iface *i, struct by_pkey_tap *t)
{
	struct inst *in = i->inst;
	int err;

	i->spare = t;
	i->number = t->number;
	i->tap = t->tap;
	err = loop_watch(&in->loop, &i->tap_fd, i->tap.fd, EPOLLIN | EPOLLET, tap_readable);
	if (err)
		iface_log(i, LOG_LVL_ERR, "watching the TAP", err);
	if (i->kind == TAP_INFINIBAND)
		iface_put_lladdrs(i);
	/*
	 * The link joins its broadcast group now, without waiting for IFF_UP, because the device
	 * appears in the host only after the join.
	 */
	ifc_set_up(&i->ifc, true, in->loop.now);
}

void iface_shutdown(struct inst_iface *i, ns_t now)
{
	/*
	 * Settings that wait are discarded, because the answer to a request that sets the TAP up
	 * would bring the link up again.
	 */
	iface_net_lost(i);
	iface_link_event(i, false, now);
	ifc_set_up(&i->ifc, false, now);
	ifc_actions(&i->ifc, now);
}

void iface_destroy(struct inst_iface *i)
{
	struct inst *in = i->inst;

	iface_groups_stop(i);
	iface_net_fini(i);
	loop_unwatch(&in->loop, &i->tap_fd);
	list_del(&i->link);
	list_del(&i->on_host);
	ifc_destroy(&i->ifc);
	if (i->spare) {
		by_pkey_release(i->spare, &i->tap);
	} else if (i->tap.fd >= 0) {
		tap_close(&i->tap);
		/* A TAP that was never placed has no index by which the helper knows it. */
		if (i->ifindex)
			netdev_post_tap_forget(i->host->helper, i->host->ns, i->ifindex, NULL,
					       NULL);
	}
	free(i);
}
