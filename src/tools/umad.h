/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_UMAD_H
#define TOOLS_UMAD_H

/*
 * The socket for programs with libuipoib-umad.so (umad/proto.h): its connections, and the
 * descriptors that are passed on them. umad/umad.h handles the content of the messages.
 */

#include "fabric/fabric.h"
#include "inst/inst.h"
#include "umad/umad.h"

struct umad_net;

/**
 * umad_open() - Listen on a SOCK_SEQPACKET socket
 * @path:	path of the socket. A file at this path is removed, so the caller has made sure that the
 *	instance's name is not in use (ctl_open()).
 *
 * Return: 0; -ENAMETOOLONG and other -errno with @err
 */
int umad_open(struct umad_net **ret, struct inst *in, const char *path, char err[INST_ERR_MAX]);
/*
 * umad_close() - Drop all clients; NULL is accepted. The control server removes the path, together with the paths of
 * its own sockets
 */
void umad_close(struct umad_net *u);

/* An open umad file of a program, as `stats` shows it. */
struct umad_client_info {
	int pid;
	/* Port of the file, as "Hca1/1"; "" for a connection that only reads sysfs files, which belong to no port */
	char port[FABRIC_NAME_MAX];
	struct umad_conn_info conn;
};
/* umad_each() - Call @fn for each connection */
void umad_each(const struct umad_net *u, void (*fn)(void *ctx, const struct umad_client_info *i),
	       void *ctx);

/* umad_closed_stats() - Compute the sums of the counters of all closed connections */
void umad_closed_stats(const struct umad_net *u, struct umad_stats *ret);

#endif
