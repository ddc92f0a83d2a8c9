/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IBSIM_H
#define DAEMON_IBSIM_H

/*
 * The sockets of ibsim's client protocol: NAME:ctl in the daemon's own network namespace and in each host's,
 * and for each client NAME:outID in its namespace.
 */

#include "daemon/inst.h"
#include "ibsim/srv.h"

struct ibsim_net;

/* ibsim_open() - Serve clients of @f under @name, in all namespaces there are. 0; -EADDRINUSE, -errno, with @err */
int ibsim_open(struct inst_fabric *f, const char *name, char err[INST_ERR_MAX]);
/* NULL is accepted. */
void ibsim_close(struct ibsim_net *n);

/* ibsim_host_add() - A host was made: serve in its namespace, too. As ibsim_open() */
int ibsim_host_add(struct inst_host *h, char err[INST_ERR_MAX]);
/* ibsim_host_del() - Its namespace is about to be closed */
void ibsim_host_del(struct inst_host *h);

/* ibsim_name() - IBSIM_SOCKNAME of its clients */
const char *ibsim_name(const struct ibsim_net *n);
const struct ibsim_srv *ibsim_server(const struct ibsim_net *n);

#endif
