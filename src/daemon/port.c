/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/iface.h"

static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	struct inst_port *p = ctx;

	/* Inside a callback of the HCA: only note it, inst_settle() acts. */
	p->dirty = true;
	p->inst->ports_dirty = true;
	if (ev == CA_EVENT_CLIENT_REREGISTER)
		p->rereg = true;
	log_to(&p->inst->cfg.log, LOG_LVL_DEBUG, "port %s/%u: %s", fabric_node_name(p->node),
	       p->num, ca_event_name(ev));
	inst_port_event(p, ev, now);
}

static void on_ready(void *ctx, struct ca_qp *qp)
{
	(void)ctx;
	iface_rx_ready(qp->ctx);
}

static const struct ca_notify notify = { .event = on_event, .ready = on_ready };

static struct inst_port *port_find(struct inst *in, const struct fabric_node *n, uint8_t num)
{
	struct inst_port *p;

	list_for_each (p, &in->ports, link)
		if (p->node == n && p->num == num)
			return p;
	return NULL;
}

static int port_open(struct inst_port *p, struct ca_soft_hca *soft)
{
	struct sac_cfg sc = {
		.timers = &p->inst->loop.timers,
		.log = &p->inst->cfg.log,
	};
	int status = ca_soft_open(soft, p->num, &notify, p, &p->ca);

	if (status)
		return status;
	sc.ep = ca_mad_ep(p->ca);
	sc.seed = fabric_node_node(p->node)->port[p->num].guids[0];
	return sac_create(&p->sac, &sc);
}

static int node_index(struct inst_fabric *f, const struct fabric_node *n)
{
	for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++)
		if (fabric_node_at(f->fabric, i) == n)
			return (int)i;
	return -1;
}

int port_get(struct inst *in, const struct conf_port *where, struct inst_port **ret,
	     char err[INST_ERR_MAX])
{
	struct inst_fabric *f = inst_fabric_find(in, where->fabric);
	struct fabric_node *n = f ? fabric_node_find(f->fabric, where->node) : NULL;
	struct inst_port *p;
	int status;

	if (!n || !fabric_node_hca(n) || !where->port || !fabric_node_port(n, where->port)) {
		snprintf(err, INST_ERR_MAX, "port fabric:%s/%s/%u: %s", where->fabric, where->node,
			 where->port,
			 !f		       ? "no such fabric"
			 : !n		       ? "no such node in the topology"
			 : !fabric_node_hca(n) ? "a switch, expected a port of a CA"
					       : "the CA has no such port");
		return -EINVAL;
	}
	p = port_find(in, n, where->port);
	if (p) {
		*ret = p;
		return 0;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		snprintf(err, INST_ERR_MAX, "port %s/%u: out of memory", where->node, where->port);
		return -ENOMEM;
	}
	list_init(&p->link);
	list_init(&p->ifaces);
	p->inst = in;
	p->fab = f;
	p->node = n;
	p->num = where->port;
	status = port_open(p, f->soft[node_index(f, n)]);
	if (status) {
		snprintf(err, INST_ERR_MAX, "port %s/%u: %s", where->node, where->port,
			 strerror(-status));
		port_close(p);
		return status;
	}
	list_add_tail(&in->ports, &p->link);
	p->dirty = in->ports_dirty = true;
	*ret = p;
	return 0;
}

void port_refresh(struct inst_port *p, ns_t now)
{
	struct ca_port_attr a;
	struct inst_iface *i;
	bool rereg = p->rereg;

	p->dirty = p->rereg = false;
	if (ca_port_query(p->ca, &a))
		return;
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
	list_for_each (i, &p->ifaces, on_port)
		ipoib_link_port_update(i->ipoib,
				       &(struct ipoib_port){
					       .state = a.state,
					       .lmc = a.lmc,
					       .mtu_code = a.active_mtu_code,
					       .rate_code = a.rate_code,
					       .lid = a.lid,
					       .gid = a.gid,
					       .pkey_index = ca_pkey_find(p->ca, i->pkey),
				       },
				       now);
}

void port_close(struct inst_port *p)
{
	list_del(&p->link);
	sac_destroy(p->sac);
	ca_close(p->ca);
	free(p);
}
