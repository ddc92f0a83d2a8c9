/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_PORT_H
#define INST_PORT_H

/*
 * A CA port in use. All interfaces on the port share its access layer (ca/ca.h) and its SA client.
 */

#include "fabric/fabric.h"
#include "inst/inst.h"
#include "inst/reopen.h"

struct inst_port {
	struct list link; /* link in inst.ports */
	struct inst *inst;
	uint64_t
		serial; /* number of the port, which no other port had or gets; .ports of the instance is in this order */
	struct inst_fabric
		*fab; /* software fabric to which the port belongs; NULL for a port of the kernel */
	struct fabric_node *node; /* CA of the port in the fabric .fab; NULL if .fab is NULL */
	uint8_t num; /* number of the port on its CA */
	char ca_name
		[FABRIC_NAME_MAX]; /* name of the CA, which is unique among the CAs with the same .fab */
	/* the name CA/PORT, for messages and for answers to clients */
	char name[FABRIC_NAME_MAX + 4];
	struct log_sink log; /* log of .fab or of the instance, with the name of this port */
	struct ifc_port ifc; /* access layer, SA client, and the interfaces of this port */
	struct reopen reopen; /* opens the RDMA device of a port of the kernel again */
	struct loop_fd
		ca_fd; /* watch of the access layer's descriptor, if the access layer has a descriptor */
};

/* port_on_fabric() - Tell whether the port belongs to the software fabric @f, which may be NULL */
static inline bool port_on_fabric(const struct inst_port *p, const struct inst_fabric *f)
{
	return f && p->fab == f;
}

/* port_same_ca() - Tell whether two ports belong to the same CA */
bool port_same_ca(const struct inst_port *a, const struct inst_port *b);

/**
 * port_get() - Find the port that a configuration names, or open it on first use
 *
 * Return: 0; -EINVAL: no such fabric, node or port, or the node is no CA; an -errno of
 * verbs_open(); -ENOMEM. After each of these errors, @err has a message
 */
int port_get(struct inst *in, const struct conf_port *where, struct inst_port **ret,
	     char err[INST_ERR_MAX]);

/* port_verbs_find() - Return the open port verbs:DEVICE/PORT of the kernel, or NULL */
struct inst_port *port_verbs_find(const struct inst *in, const char *name);

/* port_any_verbs() - Tell whether any open port belongs to the kernel (libibverbs) */
bool port_any_verbs(const struct inst *in);

/* port_close() - Close a port that has no interfaces any more */
void port_close(struct inst_port *p);

#endif
