/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst/fab.h"

/* Runs inside a callback of the CA, so it may only report the event. */
static void on_event(struct ifc_port *ip, enum ca_event ev, ns_t now)
{
	struct inst_port *p = container_of(ip, struct inst_port, ifc);

	log_to(&p->inst->cfg.log, LOG_LVL_DEBUG, "port %s: %s", p->name, ca_event_name(ev));
	inst_port_event(p, ev, now);
}

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
	int status;

	ifc_port_init(&p->ifc, &p->inst->ifcs);
	p->ifc.on_event = on_event;
	status = ca_soft_open(soft, p->num, &ifc_port_notify, &p->ifc, &p->ifc.ca);
	return status ? status : ifc_port_start(&p->ifc);
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
	p->inst = in;
	p->fab = f;
	p->node = n;
	p->num = where->port;
	snprintf(p->name, sizeof(p->name), "%s/%u", fabric_node_name(n), p->num);
	status = port_open(p, f->soft[node_index(f, n)]);
	if (status) {
		snprintf(err, INST_ERR_MAX, "port %s/%u: %s", where->node, where->port,
			 strerror(-status));
		port_close(p);
		return status;
	}
	list_add_tail(&in->ports, &p->link);
	*ret = p;
	return 0;
}

void port_close(struct inst_port *p)
{
	list_del(&p->link);
	ifc_port_close(&p->ifc);
	free(p);
}
