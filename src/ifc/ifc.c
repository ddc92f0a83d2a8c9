/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/ifc.h"

#include <stdio.h>
#include <string.h>

#include "ifc/qp.h"
#include "ifc/watchdog.h"
#include "wire/mgid.h"

/* Creation and destruction of an interface, and execution of the actions of its link. */

static void on_deliver(void *ctx, struct eth_frame *f)
{
	struct ifc *i = ctx;

	i->ops->deliver(i->ctx, f);
}

static void on_neigh_gone(void *ctx, const uint8_t mac[6])
{
	struct ifc *i = ctx;

	i->ops->neigh_gone(i->ctx, mac);
}

static void on_lladdr_gone(void *ctx, const struct ipoib_lladdr *a)
{
	struct ifc *i = ctx;

	if (i->ops->lladdr_gone)
		i->ops->lladdr_gone(i->ctx, a);
}

static const struct eth_ops eth_ops = {
	.post = ifc_post,
	.deliver = on_deliver,
	.neigh_gone = on_neigh_gone,
	.lladdr_gone = on_lladdr_gone,
	.station_open = ifc_station_open,
	.station_close = ifc_station_close,
};

/* --- actions of the link */

static void tell_mac(struct ifc *i, const struct ipoib_link_info *info)
{
	uint8_t mac[6];

	eth_own_mac(mac, i->port->guid, i->pkey, info->qpn);
	if (!memcmp(mac, i->mac, sizeof(mac)))
		return;
	memcpy(i->mac, mac, sizeof(mac));
	i->ops->set_mac(i->ctx, mac);
}

static void tell_lladdr(struct ifc *i, const struct ipoib_link_info *info)
{
	if (i->own.qpn == info->lladdr.qpn && ib_gid_equal(&i->own.gid, &info->lladdr.gid) &&
	    ib_gid_equal(&i->broadcast, &info->mgid))
		return;
	i->own = info->lladdr;
	i->broadcast = info->mgid;
	i->ops->set_lladdr(i->ctx, &i->own, ib_gid_is_zero(&i->broadcast) ? NULL : &i->broadcast);
}

static void set_own_addr(struct ifc *i)
{
	struct ipoib_link_info info;

	ipoib_link_info(i->ipoib, &info);
	if (i->shape == ETH_SHAPE_ETHERNET)
		tell_mac(i, &info);
	else
		tell_lladdr(i, &info);
	eth_if_set_addr(i->eth, i->mac, &info.lladdr);
}

static void qp_create(struct ifc *i, const struct ipoib_action *a, ns_t now)
{
	int err = ifc_qp_create(i, a->qp.pkey_index, a->qp.qkey);

	ipoib_qp_ready(i->ipoib, err ? 0 : ca_qp_num(i->qp.ca), err, now);
	if (!err)
		set_own_addr(i);
}

static void ah_create(struct ifc *i, const struct ipoib_action *a, ns_t now)
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

static void set_carrier(struct ifc *i, bool up)
{
	/*
	 * While the link was down, the subnet prefix can have changed, and with it the link-layer
	 * address of the interface. Or SIDR can have named another broadcast group.
	 */
	if (up)
		set_own_addr(i);
	i->ops->set_carrier(i->ctx, up);
}

static void one_action(struct ifc *i, const struct ipoib_action *a, ns_t now)
{
	int err = 0;

	if (eth_action(i->eth, a, now))
		return;
	switch (a->type) {
	case IPOIB_ACT_QP_CREATE:
		qp_create(i, a, now);
		break;
	case IPOIB_ACT_QP_MODIFY:
		err = ifc_qp_modify(i, a->qp.pkey_index, a->qp.qkey);
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
		i->ops->set_mtu(i->ctx, a->ip_mtu);
		break;
	case IPOIB_ACT_NEIGH_GONE:
	case IPOIB_ACT_MCAST_READY:
	case IPOIB_ACT_SEND:
		break; /* eth_action() has already carried out these actions */
	}
	if (err)
		ipoib_action_failed(i->ipoib, a, err, now);
}

void ifc_actions(struct ifc *i, ns_t now)
{
	struct ipoib_action a;

	while (!ipoib_next_action(i->ipoib, &a))
		one_action(i, &a, now);
	/*
	 * An action may have released a super-frame that the link had held back. If the send queue
	 * had room for only a part of the super-frame, ifc_transmit() sends the rest.
	 */
	if (eth_tx_waiting(i->eth))
		ifc_readable(i);
}

/* --- the SIDR server */

/*
 * This function may run inside a callback of the CA, so it only sets the flag .dirty of the port,
 * and ifc_work() does the rest.
 */
static void offer_changed(struct sidr_offer *o)
{
	struct ifc *i = container_of(o, struct ifc, offer);

	i->port->dirty = i->set->ports_dirty = true;
}

static void offer(struct ifc *i, bool up, ns_t now)
{
	uint16_t pkey = i->pkey | IB_PKEY_FULL;
	ib_gid mgid;
	int err;

	if (!i->sidr_server)
		return;
	if (!up) {
		sidr_offer_stop(&i->offer, now);
		return;
	}
	err = mgid_broadcast(&mgid, pkey, i->sidr_scope);
	if (!err)
		err = sidr_offer_start(&i->offer, i->port->cm, i->port->sac, i->sidr_service, pkey,
				       &mgid, now);
	if (err)
		log_to(i->set->log, LOG_LVL_WARN, "%s: SIDR server: errno %d", i->name, -err);
}

/* Scope of the broadcast group of the interface's own link */
static uint8_t link_scope(const struct ifc_cfg *cfg)
{
	const struct ipoib_profile *p = cfg->profile ? cfg->profile : ipoib_profile_at(0);

	return ipoib_profile_map(p, cfg->pkey, cfg->scope, cfg->subnet).scope;
}

/* --- start and end */

void ifc_init(struct ifc *i, struct ifc_port *port, const struct ifc_cfg *cfg,
	      const struct ifc_ops *ops, void *ctx)
{
	*i = (struct ifc){
		.set = port->set,
		.port = port,
		.ops = ops,
		.ctx = ctx,
		.pkey = cfg->pkey,
		.shape = cfg->shape,
		.qpn = cfg->qpn,
		.sq_depth = cfg->sq_depth ? cfg->sq_depth : IFC_ROOM,
		.rq_depth = cfg->rq_depth ? cfg->rq_depth : IFC_RQ_DEPTH,
		.sidr_server = cfg->sidr_server,
		.sidr_service = cfg->sidr_service ? cfg->sidr_service : SIDR_SERVICE_ID_DEFAULT,
		.sidr_scope = link_scope(cfg),
		.offer = { .changed = offer_changed },
	};
	list_init(&i->link);
	list_init(&i->on_port);
	list_init(&i->act_link);
	list_init(&i->tx_link);
	list_init(&i->qp.rx_link);
	list_init(&i->station_qps);
	i->qp.ifc = i;
	ifc_watchdog_init(i, cfg);
	snprintf(i->name, sizeof(i->name), "%s", cfg->name);
	snprintf(i->link_name, sizeof(i->link_name), "%s",
		 cfg->link_name ? cfg->link_name : cfg->name);
	i->log = cfg->log ? cfg->log : i->set->log;
	eth_own_mac(i->mac, port->guid, i->pkey, ifc_qpn_hint(i, NULL));
}

static void on_action(void *ctx)
{
	struct ifc *i = ctx;

	if (list_empty(&i->act_link))
		list_add_tail(&i->set->acting, &i->act_link);
}

static void on_state(void *ctx)
{
	struct ifc *i = ctx;

	if (i->ops->state_changed)
		i->ops->state_changed(i->ctx);
}

int ifc_start(struct ifc *i, const struct ifc_cfg *cfg)
{
	struct ipoib_link_cfg lc = {
		.sac = i->port->sac,
		.cm = i->port->cm,
		.sidr_service = i->sidr_service,
		.timers = i->set->timers,
		.log = i->log,
		.on_action = on_action,
		.on_state = on_state,
		.on_ctx = i,
		.profile = cfg->profile,
		.pkey = cfg->pkey,
		.max_ip_mtu = cfg->max_ip_mtu,
		.max_neighs = cfg->max_neighs,
		.scope = cfg->scope,
		.subnet = cfg->subnet,
		.sl_from = cfg->sl_from,
		.sl = cfg->sl,
		.join_tries = cfg->join_tries,
		.path_tries = cfg->path_tries,
		.router = cfg->router,
	};
	struct eth_if_cfg ec = {
		.shape = cfg->shape,
		.pool = i->set->pool,
		.timers = i->set->timers,
		.log = i->log,
		.pkey = cfg->pkey | IB_PKEY_FULL,
		.gro_tcp = cfg->gro_tcp,
		.gro_udp = cfg->gro_udp,
		.trains = i->port->ca->trains,
		.dhcp_raw = cfg->dhcp_raw,
		.stations = cfg->stations,
	};
	int err;

	snprintf(lc.name, sizeof(lc.name), "%s", cfg->link_name);
	err = ipoib_link_create(&i->ipoib, &lc);
	if (err)
		return err;
	ec.link = i->ipoib;
	err = eth_if_create(&i->eth, &ec, &eth_ops, i);
	if (err)
		return err;
	eth_set_csum(i->eth, i->port->ca->csum);
	list_add_tail(&i->set->all, &i->link);
	list_add_tail(&i->port->ifs, &i->on_port);
	i->port->dirty = i->set->ports_dirty = true;
	return 0;
}

/* Frees the packets and address handles that are in the last actions of a link that is down. */
static void drop_actions(struct ifc *i)
{
	struct ipoib_action a;

	while (!ipoib_next_action(i->ipoib, &a)) {
		if (a.type == IPOIB_ACT_SEND)
			pkt_free(a.send.pkt);
		else if (a.type == IPOIB_ACT_AH_DESTROY)
			ca_ah_destroy(a.ah);
	}
}

void ifc_destroy(struct ifc *i)
{
	list_del(&i->link);
	list_del(&i->on_port);
	list_del(&i->tx_link);
	timer_cancel(i->set->timers, &i->watchdog.timer);
	eth_if_destroy(i->eth);
	offer(i, false, i->set->timers->now);
	if (i->ipoib) {
		ipoib_link_set_admin(i->ipoib, false, i->set->timers->now);
		drop_actions(i);
	}
	ipoib_link_destroy(i->ipoib);
	list_del(&i->act_link); /* after the end of the link, which may have queued actions */
	ifc_qp_destroy(i);
	i->eth = NULL;
	i->ipoib = NULL;
}

int ifc_set_router(struct ifc *i, bool router, ns_t now)
{
	return ipoib_link_set_router(i->ipoib, router, now);
}

void ifc_set_up(struct ifc *i, bool up, ns_t now)
{
	ipoib_link_set_admin(i->ipoib, up, now);
	offer(i, up, now);
	eth_if_set_up(i->eth, up, now);
}
