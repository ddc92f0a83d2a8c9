/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_FAB_SM_H
#define DAEMON_FAB_SM_H

/*
 * DOC: Subnet managers of ours on a fabric
 *
 * The embedded one, and those that a client starts beside it (or beside an external one), each on an end port of
 * its own. They know nothing of each other but what SMInfo tells.
 */

#include "daemon/inst.h"

struct inst_sm {
	struct list link; /* in inst_fabric.sms, in the order of their starts */
	struct inst_fabric *fab;
	struct fabric_port *at;
	struct sm *sm;
	struct sa *sa;
	struct sm_listener listener;
};

/* fab_sm() - The master, else the first one; NULL: none is ours */
struct inst_sm *fab_sm(const struct inst_fabric *f);
/* fab_sm_at() - The one on that port; NULL: none */
struct inst_sm *fab_sm_at(const struct inst_fabric *f, const struct fabric_port *at);

/**
 * fab_sm_start() - Start a manager, with the fabric's partitions
 * @at:		port 0 of a switch or a port of a CA
 * @priority:	0 .. 15
 *
 * Return: 0; -EINVAL, -EBUSY, -ENOMEM, -errno of the partitions' file, with @err; nothing changed then
 */
int fab_sm_start(struct inst_fabric *f, struct fabric_port *at, uint8_t priority, ns_t now,
		 char err[INST_ERR_MAX]);

/* fab_sm_stop() - It ends as if its process had been killed: what it knew is gone, nobody is told */
void fab_sm_stop(struct inst_sm *m, ns_t now);

/* fab_sm_restart() - The same, and a new one on that port with that priority, as fab_sm_start() */
int fab_sm_restart(struct inst_sm *m, ns_t now, char err[INST_ERR_MAX]);

/*
 * fab_set_partitions() - Read a partition file and hand it to every manager, also to those that come.
 * 0; -errno with @err; nothing changed then
 */
int fab_set_partitions(struct inst_fabric *f, const char *file, ns_t now, char err[INST_ERR_MAX]);

#endif
