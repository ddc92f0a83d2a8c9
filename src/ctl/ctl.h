/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_CTL_H
#define CTL_CTL_H

/*
 * The server side of an instance's control socket and of its read-only socket; proto/proto.h describes the protocol.
 * Clients are served from the instance's loop, which never waits for a client, so no client delays
 * packets. A client that sends a text that is no request gets an error, and is dropped. A client is
 * also dropped if an answer waits and the client reads nothing for a second.
 */

#include "inst/inst.h"

struct ctl;
struct ctl_cmd;
struct tools;

/**
 * ctl_open() - Listen under the instance's name
 *
 * Sockets that a dead instance left behind are replaced. The server borrows @in and @tables, which
 * must outlive the server. @tables are the tables of the commands that the server answers
 * (ctl/req.h); the last entry is NULL.
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
 * ctl_set_supervisor() - Give the server a pidfd of the supervisor, which ends after all other
 * processes of the instance. `stop` passes this pidfd to the client. -1: there is no supervisor.
 * The caller keeps the descriptor open as long as the server lives.
 */
void ctl_set_supervisor(struct ctl *ctl, int pidfd);

/* ctl_close() - Drop all clients, remove the sockets; NULL is accepted */
void ctl_close(struct ctl *ctl);

#endif
