/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_UMAD_H
#define DAEMON_UMAD_H

/*
 * The socket of programs with libuipoib-umad.so (umad/proto.h): connections, descriptors that
 * come and go with messages. What is said on them is umad/umad.h's business.
 */

#include "daemon/inst.h"
#include "umad/umad.h"

/* umad_open() - Listen at NAME.umad; the instance's name must be ours already (ctl_open()). 0 or -errno with @err */
int umad_open(struct inst *in, char err[INST_ERR_MAX]);
/* umad_close() - Drop all clients; the socket's name goes with the control socket's */
void umad_close(struct inst *in);

/* A program's open file, as `stats` shows it. */
struct umad_client_info {
	int pid;
	char port[FABRIC_NAME_MAX]; /* "Hca1/1"; "": of none (sysfs) */
	struct umad_conn_info conn;
};
/* umad_each() - fn() for each connection */
void umad_each(const struct inst *in, void (*fn)(void *ctx, const struct umad_client_info *i),
	       void *ctx);

/* umad_closed_stats() - What connections that are gone have counted */
void umad_closed_stats(const struct inst *in, struct umad_stats *ret);

#endif
