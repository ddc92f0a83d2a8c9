/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_LEARN_H
#define SM_LEARN_H

/*
 * DOC: Tables that are read on request
 *
 * No decision of a sweep depends on SLtoVL and VL arbitration tables, GUID tables, and the P_Key tables of
 * switch ports that do not check P_Keys. So sweeps do not read these tables. The SM reads them by SMPs when a client
 * asks the SA for them, at most once for each database. The tables are freed together with the database.
 */

#include "sm/sm.h"

enum sm_table {
	SM_TABLE_PKEY,
	SM_TABLE_SLTOVL,
	SM_TABLE_VLARB,
	SM_TABLE_GUID,
};

/*
 * sm_table_blocks() - Return the number of blocks of a table of @p, or 0 if @p has no such table. The
 * SLtoVL table has one block for each ingress port
 */
unsigned int sm_table_blocks(const struct sm_port *p, enum sm_table what);

/*
 * Called when all requested tables have been read, or when another database is published, but never
 * from inside sm_learn().
 */
typedef void sm_learn_fn(void *ctx, ns_t now);

/**
 * sm_learn() - Read the tables of the kind @what of one port or of several ports
 * @p:		port of the published database; NULL: all ports
 * @all_ports:	read the tables of all other ports of @p's node too
 * @done:		called once, if -EINPROGRESS is returned
 *
 * Return: 0 if all tables are known, and done() is not called; -EINPROGRESS; -ENOMEM; -EAGAIN: there
 * is no database
 */
int sm_learn(struct sm *sm, enum sm_table what, const struct sm_port *p, bool all_ports,
	     sm_learn_fn *done, void *ctx, ns_t now);

/* sm_learn_forget() - Cancel all pending calls of done() that would get @ctx */
void sm_learn_forget(struct sm *sm, const void *ctx);

#endif
