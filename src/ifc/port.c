/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/port.h"

#include "ifc/pkeys.h"
#include "ifc/qp.h"
#include "ifc/watchdog.h"

/*
 * This function is a callback of the CA, inside which the CA must not be called. So it only stores
 * the event for ifc_port_refresh(), and reports it to .on_event.
 */
static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	struct ifc_port *p = ctx;

	p->dirty = true;
	p->set->ports_dirty = true;
	if (ev == CA_EVENT_CLIENT_REREGISTER)
		p->rereg = true;
	if (ev == CA_EVENT_DEVICE_BACK)
		p->rereg = p->back = true;
	if (p->on_event)
		p->on_event(p, ev, now);
}

static void on_ready(void *ctx, struct ca_qp *qp)
{
	(void)ctx;
	ifc_qp_ready(qp->ctx);
}

static void on_room(void *ctx, ns_t now)
{
	struct ifc_port *p = ctx;
	struct ifc *i;

	(void)now;
	list_for_each (i, &p->ifs, on_port)
		ifc_watchdog_room(i);
}

const struct ca_notify ifc_port_notify = { .event = on_event, .ready = on_ready, .room = on_room };

void ifc_port_init(struct ifc_port *p, struct ifc_set *s)
{
	*p = (struct ifc_port){ .set = s, .log = s->log };
	list_init(&p->link);
	list_init(&p->ifs);
	list_init(&p->pkeys);
}

/* Returns a number that others cannot guess, a different one for each port and purpose. */
static uint64_t port_secret(const struct ifc_port *p, uint64_t purpose)
{
	const uint64_t in[2] = { p->guid, purpose };

	return hash_siphash(&p->set->secret, in, sizeof(in));
}

static int make_agents(struct ifc_port *p)
{
	struct sac_cfg sc = {
		.ep = ca_mad_ep(p->ca),
		.timers = p->set->timers,
		.log = p->log,
		.seed = p->guid,
		.secret = { port_secret(p, 0), port_secret(p, 1) },
		.shared = p->ca->shared,
	};
	struct cm_cfg cc = {
		.ep = ca_mad_ep(p->ca),
		.timers = p->set->timers,
		.log = p->log,
		.seed = port_secret(p, 2),
	};
	int status = sac_create(&p->sac, &sc);

	return status ? status : cm_create(&p->cm, &cc);
}

int ifc_port_start(struct ifc_port *p)
{
	struct ca_port_attr a;
	int status = ca_port_query(p->ca, &a);

	if (status)
		return status;
	p->guid = ib_gid_guid(&a.gid);
	status = make_agents(p);
	if (status)
		return status;
	list_add_tail(&p->set->ports, &p->link);
	p->dirty = p->set->ports_dirty = true;
	return 0;
}

void ifc_port_close(struct ifc_port *p)
{
	list_del(&p->link);
	if (p->cm_supported)
		ca_cm_supported(p->ca, false, p->set->timers->now);
	cm_destroy(p->cm);
	sac_destroy(p->sac);
	ca_close(p->ca);
	p->cm = NULL;
	p->sac = NULL;
	p->ca = NULL;
}

static void tell_links(const struct ifc_port *p, const struct ca_port_attr *a, ns_t now)
{
	struct ifc *i;

	list_for_each (i, &p->ifs, on_port) {
		ipoib_link_port_update(i->ipoib,
				       &(struct ipoib_port){
					       .state = a->state,
					       .lmc = a->lmc,
					       .mtu_code = a->active_mtu_code,
					       .rate_code = a->rate_code,
					       .lid = a->lid,
					       .gid = a->gid,
					       .pkey_index = ca_pkey_find(p->ca, i->pkey),
				       },
				       now);
		if (i->ops->port_changed)
			i->ops->port_changed(i->ctx);
	}
}

/* Sets the bit of CapabilityMask that shows whether the port answers SIDR requests. */
static void show_cm(struct ifc_port *p, ns_t now)
{
	if (cm_serves(p->cm) == p->cm_supported)
		return;
	p->cm_supported = !p->cm_supported;
	ca_cm_supported(p->ca, p->cm_supported, now);
}

/*
 * Adopts the GUID and the offloads of the device, because another adapter may have taken the place
 * of the former adapter.
 */
static void device_back(struct ifc_port *p, const struct ca_port_attr *a, ns_t now)
{
	struct ifc *i;

	p->back = false;
	p->guid = ib_gid_guid(&a->gid);
	list_for_each (i, &p->ifs, on_port) {
		eth_set_csum(i->eth, p->ca->csum);
		ifc_qps_renumbered(i, now);
	}
}

void ifc_port_refresh(struct ifc_port *p, ns_t now)
{
	struct ca_port_attr a;
	bool rereg = p->rereg;
	struct ifc_pkeys *k;

	p->dirty = p->rereg = false;
	show_cm(p, now);
	if (ca_port_query(p->ca, &a))
		return;
	if (p->back)
		device_back(p, &a, now);
	sac_port_update(p->sac,
			&(struct sac_port){
				.state = a.state,
				.sm_sl = a.sm_sl,
				.lid = a.lid,
				.sm_lid = a.sm_lid,
				.gid = a.gid,
			},
			now);
	if (rereg)
		sac_reregister(p->sac, now);
	tell_links(p, &a, now);
	list_for_each (k, &p->pkeys, link)
		ifc_pkeys_update(k, p->ca, now);
}
