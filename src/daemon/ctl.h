/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CTL_H
#define DAEMON_CTL_H

/*
 * The control socket of an instance: server side. See daemon/proto.h for what is said on it.
 * Clients are served from the instance's loop; one that sends garbage gets an error and is
 * dropped, one that does not read for a second is dropped; neither delays a packet.
 */

#include "daemon/inst.h"

/**
 * ctl_open() - Listen under the instance's name
 *
 * A socket that a dead instance left behind is replaced.
 * Return: 0; -EADDRINUSE an instance of that name is running; -errno; with @err
 */
int ctl_open(struct inst *in, char err[INST_ERR_MAX]);

/* ctl_close() - Drop all clients, remove the socket; NULL ctl is accepted */
void ctl_close(struct inst *in);

#endif
