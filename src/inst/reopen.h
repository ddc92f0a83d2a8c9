/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_REOPEN_H
#define INST_REOPEN_H

/*
 * A port over an RDMA device of the kernel (verbs) is opened again after the device failed or was removed. Once a
 * second the helper looks for the device. When the device is back, the port opens it.
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
/*
 * reopen_allow() - Name the port to the helper, before the helper is sealed. If the helper lacks the privileges to make
 * device files, only a log line is written
 */
void reopen_allow(struct inst_port *p);
/*
 * reopen_start() - Begin to open the device again after it has failed. May be called in a callback
 * of the port
 */
void reopen_start(struct inst_port *p, ns_t now);
void reopen_fini(struct inst_port *p);

#endif
