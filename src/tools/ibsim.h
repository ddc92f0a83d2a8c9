/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_IBSIM_H
#define TOOLS_IBSIM_H

/*
 * The sockets of ibsim's client protocol. The daemon has a socket NAME:ctl in its own network
 * namespace and in the namespace of each host. For each client it has a socket NAME:outID in the
 * namespace of the client.
 */

#include "inst/inst.h"
#include "ibsim/srv.h"

struct ibsim_net;

/*
 * ibsim_open() - Serve clients of @f under @name, in the network namespaces of the daemon and of
 * all hosts. The namespaces must exist already
 *
 * Return: 0; -EADDRINUSE: another ibsim has the name; -errno; with @err
 */
int ibsim_open(struct ibsim_net **ret, struct inst_fabric *f, const char *name,
	       char err[INST_ERR_MAX]);
/* ibsim_close() - Drop all clients and close the sockets; NULL is accepted */
void ibsim_close(struct ibsim_net *n);

/* ibsim_name() - The name that clients give in IBSIM_SOCKNAME */
const char *ibsim_name(const struct ibsim_net *n);
const struct ibsim_srv *ibsim_server(const struct ibsim_net *n);

#endif
