/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_CTL_H
#define CTL_CTL_H

/*
 * The server side of an instance's control socket and of its read-only socket; proto/proto.h describes the protocol.
 * Clients are served from the instance's loop. A client gets an error and is dropped if it sends a text that is no
 * request. A client that does not read its answers for a second is dropped. So no client delays packets.
 */

#include "inst/inst.h"

struct ctl;
struct ctl_cmd;
struct tools;

/**
 * ctl_open() - Listen under the instance's name
 *
 * Sockets that a dead instance left behind are replaced.
 * The server borrows @in, which must outlive the server, and @tables, the commands that it answers (ctl/req.h),
 * of which the last entry is NULL.
 * Return: 0; -EADDRINUSE: an instance with this name is running; -errno; with @err
 */
int ctl_open(struct ctl **ret, struct inst *in, const struct ctl_cmd *const *tables,
	     char err[INST_ERR_MAX]);

/*
 * ctl_set_tools() - Give the server the sockets of management programs, for `exec` and `stats show`; @tools
 * must outlive the server
 */
void ctl_set_tools(struct ctl *ctl, const struct tools *tools);

/*
 * ctl_set_supervisor() - Give the server a pidfd of the supervisor, the process of the instance
 * that ends last. `stop` passes this pidfd to the client. -1: there is none. The caller keeps the
 * descriptor open as long as the server lives.
 */
void ctl_set_supervisor(struct ctl *ctl, int pidfd);

/* ctl_close() - Drop all clients, remove the sockets; NULL is accepted */
void ctl_close(struct ctl *ctl);

#endif
