/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_FAB_SM_H
#define INST_FAB_SM_H

/*
 * DOC: This instance's own subnet managers on a fabric
 *
 * Subnet managers that run in this process: the embedded manager, and managers that a client starts
 * in addition to the embedded or an external manager. Each manager has its own end port. The
 * managers learn of each other only by SMInfo, as managers in separate programs do.
 */

#include "inst/fab.h"
#include "sm/sm.h"

struct inst_sm {
	/*
	 * link in inst_fabric.sms; the managers in this list are in the order in which they were
	 * started
	 */
	struct list link;
	struct inst_fabric *fab;
	struct fabric_port *at;
	struct sm *sm;
	struct sa *sa;
	struct sm_listener listener;
};

/*
 * fab_sm() - Return the manager that is master among the managers of this instance on the fabric,
 * or the first manager of .sms if none is master; NULL if .sms is empty
 */
struct inst_sm *fab_sm(const struct inst_fabric *f);
/* fab_sm_at() - Return this instance's manager on a port; NULL if there is none */
struct inst_sm *fab_sm_at(const struct inst_fabric *f, const struct fabric_port *at);

/**
 * fab_sm_start() - Start a manager, with the fabric's partitions
 * @at:		port 0 of a switch or a port of a CA
 * @priority:	0 .. 15
 *
 * Return: 0; -EINVAL: @at has no management endpoint; -EBUSY: @at has a manager; -ENOMEM or another -errno. On failure
 * nothing has changed, and @err has the message
 */
int fab_sm_start(struct inst_fabric *f, struct fabric_port *at, uint8_t priority, ns_t now,
		 char err[INST_ERR_MAX]);

/*
 * fab_sm_stop() - End a manager as if its process had been killed: its state is lost, and it does
 * not notify other managers
 */
void fab_sm_stop(struct inst_sm *m, ns_t now);

/*
 * fab_sm_restart() - Stop a manager and start a new one on the same port with the same priority
 *
 * Return: as fab_sm_start(); after a failure there is neither the old manager nor a new one
 */
int fab_sm_restart(struct inst_sm *m, ns_t now, char err[INST_ERR_MAX]);

/*
 * fab_load_partitions() - Read and check a partition file for the managers that will be started
 *
 * Return: 0; -errno with a message in @err, after which the former partitions stay in use
 */
int fab_load_partitions(struct inst_fabric *f, const char *file, char err[INST_ERR_MAX]);

/*
 * fab_check_managers() - Check that this instance runs a manager on the fabric. Return: 0; -EINVAL
 * with a message in @err
 */
int fab_check_managers(const struct inst_fabric *f, char err[INST_ERR_MAX]);

/*
 * fab_set_partitions() - Replace the partitions of every manager, including managers that will be
 * started later
 * @name:	name of the file that @fd is a copy of, for messages
 * @fd:	sealed memory file that the client made by file_seal(), so that reading it never waits;
 *	the caller keeps and closes it
 *
 * Return: 0; -errno with a message in @err. After an error the former partitions stay in use, with
 * one exception: if memory runs out for one manager, the managers before it in the list have the
 * new partitions.
 */
int fab_set_partitions(struct inst_fabric *f, const char *name, int fd, ns_t now,
		       char err[INST_ERR_MAX]);

void fab_free_partitions(struct inst_fabric *f);

#endif
