/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/iface.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/host.h"
#include "daemon/iface_qp.h"
#include "daemon/port.h"
#include "daemon/udplink.h"
#include "ipoib/iid.h"
#include "netdev/groups.h"

#define BACKLOG 1024 /* packets in the fabric's queues, each of which has room for twice as many */
#define GROUPS_MAX 1024 /* groups of one family on an interface */
#define GROUPS_PERIOD NS_SEC(2) /* how often the kernel's lists are compared while up */
static void iface_log(const struct inst_iface *i, enum log_level lvl, const char *what, int err)
{
	log_to(&i->inst->cfg.log, lvl, "%s@%s: %s: %s", i->name, i->host->name, what,
	       strerror(-err));
}

/* --- TAP -> fabric */

static void tap_readable(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_iface *i = container_of(fd, struct inst_iface, tap_fd);
	struct tap_frame f[PKT_BATCH];
	struct pkt *v[PKT_BATCH];
	int n;

	/* It stays readable, and the loop does not sleep while packets are queued. */
	if (fabric_queued(i->port->fab->fabric) > BACKLOG)
		return;
	n = tap_read_batch(&i->tap, &i->inst->tap_rx, f, PKT_BATCH);
	if (n < 0) {
		if (n == -EBADFD) {
			iface_log(i, LOG_LVL_ERR, "the TAP was deleted", n);
			loop_unwatch(&i->inst->loop, &i->tap_fd);
			iface_link_event(i, false, now);
		}
		return;
	}
	for (int k = 0; k < n; k++) {
		v[k] = f[k].pkt;
		/* It refuses VLAN tags, which eth_tx() counts and drops. */
		tap_vnet_to_pkt(v[k], &f[k].vnet);
	}
	if (n)
		eth_tx(i->eth, v, (unsigned int)n, now);
	(void)events;
}

/* --- fabric -> TAP */

static void on_deliver(void *ctx, struct eth_frame *f)
{
	struct inst_iface *i = ctx;
	struct iovec iov[ETH_FRAME_PARTS];
	struct tap_vnet vnet;

	tap_vnet_from_pkt(&vnet, f->first);
	if (tap_write(&i->tap, &vnet, iov, eth_frame_iov(f, iov)))
		i->tap_write_errors++;
	eth_frame_free(f);
}

static void on_neigh_gone(void *ctx, const uint8_t mac[6])
{
	struct inst_iface *i = ctx;
	int err = netdev_neigh_del_mac(i->inst->helper, i->host->ns, i->ifindex, mac);

	if (err < 0)
		iface_log(i, LOG_LVL_WARN, "deleting a neighbour", err);
}

static const struct eth_ops eth_ops = {
	.post = iface_post,
	.deliver = on_deliver,
	.neigh_gone = on_neigh_gone,
	.station_open = iface_station_open,
	.station_close = iface_station_close,
};

/* --- what the link wants done */

static void set_own_addr(struct inst_iface *i, uint32_t qpn)
{
	struct ipoib_link_info info;
	uint8_t mac[6];
	int err = 0;

	ipoib_link_info(i->ipoib, &info);
	eth_own_mac(mac, iface_port_guid(i), i->pkey, qpn);
	if (memcmp(mac, i->mac, sizeof(mac))) {
		memcpy(i->mac, mac, sizeof(mac));
		err = netdev_link_mac(i->inst->helper, i->host->ns, i->ifindex, mac);
	}
	if (err)
		iface_log(i, LOG_LVL_WARN, "setting the MAC", err);
	eth_if_set_addr(i->eth, i->mac, &info.lladdr);
}

static void qp_create(struct inst_iface *i, const struct ipoib_action *a, ns_t now)
{
	int err = iface_qp_create(i, a->qp.pkey_index, a->qp.qkey);

	ipoib_qp_ready(i->ipoib, err ? 0 : ca_qp_num(i->qp.ca), err, now);
	if (!err)
		set_own_addr(i, ca_qp_num(i->qp.ca));
}

static void ah_create(struct inst_iface *i, const struct ipoib_action *a, ns_t now)
{
	const struct ipoib_ah_attr *p = &a->ah_create.attr;
	struct ca_ah_attr attr = {
		.dlid = p->dlid,
		.sl = p->sl,
		.src_path_bits = p->src_path_bits,
		.static_rate = p->rate_code,
		.has_grh = p->has_grh,
		.tclass = p->tclass,
		.hop_limit = p->hop_limit,
		.flow_label = p->flow_label,
		.dgid = p->dgid,
	};
	struct ca_ah *ah = NULL;
	int err = ca_ah_create(i->port->ca, &attr, &ah);

	ipoib_ah_ready(i->ipoib, a->ah_create.cookie, ah, err, now);
}

/* Addresses that the kernel may only have while the link is up: its own fe80:: one, the token. */
static void set_ip6(struct inst_iface *i)
{
	struct ipoib_link_info info;
	struct rtnl_ip ip = { .family = RTNL_V6 };
	uint8_t iid[8];
	int err;

	ipoib_link_info(i->ipoib, &info);
	ipoib_iid_from_guid(iid, ib_gid_guid(&info.lladdr.gid));
	ipoib_linklocal(ip.addr, iid);
	err = netdev_addr_add(i->inst->helper, i->host->ns, i->ifindex, &ip, 64);
	if (err && err != -EEXIST)
		iface_log(i, LOG_LVL_WARN, "adding the fe80:: address", err);
	err = netdev_token_set(i->inst->helper, i->host->ns, i->ifindex, iid);
	if (err && !i->token_said) {
		/* With forwarding on or accept_ra off the kernel takes none: said once, retried. */
		i->token_said = true;
		iface_log(i, LOG_LVL_INFO, "setting the IPv6 token", err);
	}
	i->token_set = !err;
}

static void set_carrier(struct inst_iface *i, bool up)
{
	struct ipoib_link_info info;
	int err;

	ipoib_link_info(i->ipoib, &info);
	if (up) {
		/* The subnet prefix may have changed, and our link-layer address with it. */
		eth_if_set_addr(i->eth, i->mac, &info.lladdr);
		set_ip6(i);
	}
	err = tap_set_carrier(&i->tap, up);
	if (err)
		iface_log(i, LOG_LVL_WARN, "setting the carrier", err);
	i->carrier = up;
	log_to(&i->inst->cfg.log, LOG_LVL_INFO, "%s@%s: %s%s%s", i->name, i->host->name,
	       up ? "up" : "down", *info.reason ? ": " : "", info.reason);
}

static void set_mtu(struct inst_iface *i, unsigned int mtu)
{
	int err = netdev_link_mtu(i->inst->helper, i->host->ns, i->ifindex, mtu);

	if (err)
		iface_log(i, LOG_LVL_WARN, "setting the MTU", err);
}

static void one_action(struct inst_iface *i, const struct ipoib_action *a, ns_t now)
{
	int err = 0;

	if (eth_action(i->eth, a, now))
		return;
	switch (a->type) {
	case IPOIB_ACT_QP_CREATE:
		qp_create(i, a, now);
		break;
	case IPOIB_ACT_QP_MODIFY:
		err = iface_qp_modify(i, a->qp.pkey_index, a->qp.qkey);
		break;
	case IPOIB_ACT_AH_CREATE:
		ah_create(i, a, now);
		break;
	case IPOIB_ACT_AH_DESTROY:
		ca_ah_destroy(a->ah);
		break;
	case IPOIB_ACT_ATTACH:
		err = ca_attach(i->qp.ca, &a->mcast.mgid, a->mcast.mlid);
		break;
	case IPOIB_ACT_DETACH:
		ca_detach(i->qp.ca, &a->mcast.mgid, a->mcast.mlid);
		break;
	case IPOIB_ACT_CARRIER:
		set_carrier(i, a->carrier.up);
		break;
	case IPOIB_ACT_MTU:
		set_mtu(i, a->ip_mtu);
		break;
	case IPOIB_ACT_NEIGH_GONE:
	case IPOIB_ACT_MCAST_READY:
	case IPOIB_ACT_SEND:
		break; /* eth_action() took them */
	}
	if (err)
		ipoib_action_failed(i->ipoib, a, err, now);
}

void iface_actions(struct inst_iface *i, ns_t now)
{
	struct ipoib_action a;

	while (!ipoib_next_action(i->ipoib, &a))
		one_action(i, &a, now);
}

/* --- the kernel's side */

static void sync_groups(struct inst_iface *i, ns_t now)
{
	static struct netdev_group v[2 * GROUPS_MAX];
	static uint8_t v4[GROUPS_MAX][4], v6[GROUPS_MAX][16];
	size_t n4 = 0, n6 = 0;
	int err;

	err = groups_read(AF_INET, i->host->files.igmp, i->ifindex, v, GROUPS_MAX, &n4);
	if (err && err != -ENOSPC)
		return; /* better nothing than half a list: groups would be left */
	for (size_t k = 0; k < n4; k++)
		memcpy(v4[k], v[k].addr, sizeof(v4[k]));
	err = groups_read(AF_INET6, i->host->files.igmp6, i->ifindex, v, GROUPS_MAX, &n6);
	if (err && err != -ENOSPC)
		return;
	for (size_t k = 0; k < n6; k++)
		memcpy(v6[k], v[k].addr, sizeof(v6[k]));
	eth_groups_sync(i->eth, v4, (unsigned int)n4, v6, (unsigned int)n6, now);
}

static void groups_tick(struct timer *t, ns_t now)
{
	struct inst_iface *i = container_of(t, struct inst_iface, groups_timer);

	if (!i->kernel_up)
		return;
	sync_groups(i, now);
	if (i->carrier && !i->token_set)
		set_ip6(i);
	timer_arm(&i->inst->loop.timers, t, now + GROUPS_PERIOD);
}

void iface_link_event(struct inst_iface *i, bool up, ns_t now)
{
	if (i->kernel_up == up)
		return;
	i->kernel_up = up;
	ipoib_link_set_admin(i->ipoib, up, now);
	eth_if_set_up(i->eth, up, now);
	if (up)
		timer_arm(&i->inst->loop.timers, &i->groups_timer, now);
	else
		timer_cancel(&i->inst->loop.timers, &i->groups_timer);
}

/* --- life */

static int make_link(struct inst_iface *i, const struct conf_iface *c)
{
	struct inst *in = i->inst;
	struct ipoib_link_cfg lc = {
		.sac = i->port->sac,
		.timers = &in->loop.timers,
		.log = &in->cfg.log,
		.profile = ipoib_profile_find(c->profile),
		.pkey = c->pkey,
		.max_ip_mtu = c->mtu,
	};
	struct eth_if_cfg ec = {
		.pool = in->pool,
		.timers = &in->loop.timers,
		.log = &in->cfg.log,
		.pkey = c->pkey | IB_PKEY_FULL,
		.gro_tcp = i->tap.offload & TAP_OFFLOAD_TSO,
		.gro_udp = i->tap.offload & TAP_OFFLOAD_USO,
		.dhcp_raw = c->dhcp_raw,
		.stations = c->stations,
	};
	int err;

	snprintf(lc.name, sizeof(lc.name), "%.15s@%.15s", i->name, i->host->name);
	err = ipoib_link_create(&i->ipoib, &lc);
	if (err)
		return err;
	ec.link = i->ipoib;
	return eth_if_create(&i->eth, &ec, &eth_ops, i);
}

static int refused(struct inst_iface *i, int status, char err[INST_ERR_MAX])
{
	char what[IFNAMSIZ + CONF_NAME_MAX + 16];

	snprintf(what, sizeof(what), "interface %s@%s", i->name, i->host->name);
	return inst_refused(i->inst, status, what, err);
}

static int make_tap(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	struct netdev_tap_conf tc = { .mtu = c->mtu ? c->mtu : 2044 };
	int fd, status;

	eth_own_mac(i->mac, iface_port_guid(i), i->pkey, iface_qpn_hint(i, NULL));
	memcpy(tc.mac, i->mac, sizeof(tc.mac));
	memcpy(tc.ifname, i->name, sizeof(tc.ifname));
	status = netdev_tap_create(i->inst->helper, i->host->ns, &tc, &fd, &i->ifindex);
	if (!status)
		status = tap_attach(&i->tap, fd, TAP_OFFLOAD_DEFAULT);
	return status ? refused(i, status, err) : 0;
}

static int set_addresses(struct inst_iface *i, char err[INST_ERR_MAX])
{
	for (unsigned int k = 0; k < i->naddrs; k++) {
		struct rtnl_ip ip = { .family = i->addr[k].family == 6 ? RTNL_V6 : RTNL_V4 };
		int status;

		memcpy(ip.addr, i->addr[k].octets, sizeof(ip.addr));
		status = netdev_addr_add(i->inst->helper, i->host->ns, i->ifindex, &ip,
					 i->addr[k].prefix_len);
		if (status && status != -EEXIST)
			return refused(i, status, err);
	}
	return 0;
}

static int bring_up(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	struct inst *in = i->inst;
	int status = make_tap(i, c, err);

	if (status)
		return status;
	status = make_link(i, c);
	if (!status)
		status = loop_watch(&in->loop, &i->tap_fd, i->tap.fd, EPOLLIN, tap_readable);
	if (status) {
		snprintf(err, INST_ERR_MAX, "interface %s@%s: %s", i->name, i->host->name,
			 strerror(-status));
		return status;
	}
	status = set_addresses(i, err);
	if (status)
		return status;
	status = netdev_link_up(in->helper, i->host->ns, i->ifindex, true);
	if (status)
		return refused(i, status, err);
	iface_link_event(i, true, in->loop.now);
	return 0;
}

int iface_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	struct inst_iface *i;
	struct inst_port *port;
	struct inst_host *host;
	int status = c->port.udp ? udplink_hca(in, &c->port, c->host, err) : 0;

	if (!status)
		status = port_get(in, &c->port, &port, err);
	if (!status)
		status = host_get(in, c, &host, err);
	if (status)
		return status;
	i = calloc(1, sizeof(*i));
	if (!i) {
		snprintf(err, INST_ERR_MAX, "interface %s: out of memory", c->name);
		return -ENOMEM;
	}
	list_init(&i->link);
	list_init(&i->on_port);
	list_init(&i->on_host);
	list_init(&i->qp.rx_link);
	list_init(&i->station_qps);
	i->qp.iface = i;
	timer_init(&i->groups_timer, groups_tick);
	i->inst = in;
	i->port = port;
	i->host = host;
	i->tap.fd = -1;
	i->pkey = c->pkey;
	i->mtu = c->mtu;
	i->qpn = c->qpn;
	i->naddrs = c->naddrs;
	memcpy(i->addr, c->addr, sizeof(i->addr));
	snprintf(i->name, sizeof(i->name), "%s", c->name);
	status = bring_up(i, c, err);
	if (status) {
		iface_destroy(i);
		return status;
	}
	list_add_tail(&in->ifaces, &i->link);
	list_add_tail(&port->ifaces, &i->on_port);
	list_add_tail(&host->ifaces, &i->on_host);
	if (!host->port)
		host->port = port;
	port->dirty = in->ports_dirty = true;
	return 0;
}

void iface_shutdown(struct inst_iface *i, ns_t now)
{
	iface_link_event(i, false, now);
	iface_actions(i, now);
}

/* What is still queued after the link went down: nothing is sent any more. */
static void drop_actions(struct inst_iface *i)
{
	struct ipoib_action a;

	while (!ipoib_next_action(i->ipoib, &a)) {
		if (a.type == IPOIB_ACT_SEND)
			pkt_free(a.send.pkt);
		else if (a.type == IPOIB_ACT_AH_DESTROY)
			ca_ah_destroy(a.ah);
	}
}

void iface_destroy(struct inst_iface *i)
{
	struct inst *in = i->inst;

	timer_cancel(&in->loop.timers, &i->groups_timer);
	loop_unwatch(&in->loop, &i->tap_fd);
	list_del(&i->link);
	list_del(&i->on_port);
	list_del(&i->on_host);
	eth_if_destroy(i->eth);
	if (i->ipoib)
		drop_actions(i);
	ipoib_link_destroy(i->ipoib);
	iface_qp_destroy(i);
	if (i->tap.fd >= 0) {
		tap_close(&i->tap);
		netdev_tap_forget(in->helper, i->host->ns, i->ifindex);
	}
	free(i);
}
