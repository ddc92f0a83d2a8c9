/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_REOPEN_H
#define INST_REOPEN_H

/*
 * A port over an RDMA device of the kernel (verbs) is opened again after the device failed or was removed. Once a
 * second the helper process looks for the device. When the device is back, the daemon opens the port again.
 */

#include "inst/inst.h"

#define REOPEN_INTERVAL NS_SEC(1)

struct inst_port;

struct reopen {
	struct timer timer;
	bool asked; /* true while a request to the helper process is not answered */
	char why[INST_ERR_MAX]; /* the last logged reason why the device could not be opened */
};

void reopen_init(struct inst_port *p);
/*
 * reopen_allow() - Allow the helper process to look for this port later. Call this function before
 * the helper process is sealed. If the helper process lacks the privileges to make device files,
 * only a log line is written
 */
void reopen_allow(struct inst_port *p);
/*
 * reopen_start() - Begin to open the device again after it has failed. This function may be called
 * inside a callback of the port
 */
void reopen_start(struct inst_port *p, ns_t now);
void reopen_fini(struct inst_port *p);

#endif
