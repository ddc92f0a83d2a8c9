/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_PORT_H
#define INST_PORT_H

/* A CA port in use, with an access layer and an SA client that its interfaces share. */

#include "fabric/fabric.h"
#include "inst/inst.h"

struct inst_port {
	struct list link; /* link in inst.ports */
	struct inst *inst;
	struct inst_fabric *fab;
	struct fabric_node *node;
	uint8_t num;
	char name[FABRIC_NAME_MAX]; /* in messages and in answers: NODE/PORT */
	struct ifc_port ifc; /* access layer, SA client, and the interfaces of this port */
};

/**
 * port_get() - Find the port that a configuration names, or open it on first use
 *
 * Return: 0; -EINVAL no such fabric, node or port, or the node is no CA; -ENOMEM; with @err
 */
int port_get(struct inst *in, const struct conf_port *where, struct inst_port **ret,
	     char err[INST_ERR_MAX]);

/* port_close() - Close a port, of which no interface may be left */
void port_close(struct inst_port *p);

#endif
