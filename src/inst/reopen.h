/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_REOPEN_H
#define INST_REOPEN_H

/*
 * Ports of the kernel's RDMA devices whose device failed or was removed: once a second the helper looks for the device,
 * and when it is there, the port opens it again.
 */

#include "inst/inst.h"

#define REOPEN_INTERVAL NS_SEC(1)

struct inst_port;

struct reopen {
	struct timer timer;
	bool asked; /* the helper has not answered yet */
	char why[INST_ERR_MAX]; /* reason for which the device could not be opened, as it was logged last */
};

void reopen_init(struct inst_port *p);
/* reopen_allow() - Name the port to the helper, before it is sealed. Without privileges this only leaves a log message */
void reopen_allow(struct inst_port *p);
/* reopen_start() - The device has failed. May be called in a callback of the port */
void reopen_start(struct inst_port *p, ns_t now);
void reopen_fini(struct inst_port *p);

#endif
