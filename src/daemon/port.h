/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_PORT_H
#define DAEMON_PORT_H

/* A CA port in use: its access layer and its SA client, shared by the interfaces on it. */

#include "daemon/inst.h"

/**
 * port_get() - The port that a configuration names, opened on first use
 *
 * Return: 0; -EINVAL no such fabric, node or port, or not a CA's; -ENOMEM; with @err
 */
int port_get(struct inst *in, const struct conf_port *where, struct inst_port **ret,
	     char err[INST_ERR_MAX]);

/* port_refresh() - Read its attributes and tell the SA client and the interfaces */
void port_refresh(struct inst_port *p, ns_t now);

/* port_close() - Its interfaces must be gone */
void port_close(struct inst_port *p);

#endif
