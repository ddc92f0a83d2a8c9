/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_LEARN_H
#define SM_LEARN_H

/*
 * DOC: Tables that nobody needs until somebody asks
 *
 * SLtoVL and VL arbitration tables, GUID tables and the P_Key tables of switch ports that do not enforce
 * are nothing that a sweep decides by. They are read by SMPs when the SA is asked for them, each
 * at most once for a database, and forgotten with it: a sweep costs not one SMP more.
 */

#include "sm/sm.h"

enum sm_table {
	SM_TABLE_PKEY,
	SM_TABLE_SLTOVL,
	SM_TABLE_VLARB,
	SM_TABLE_GUID,
};

#define SM_VLARB_BLOCKS 4 /* from 1: low priority in two, high priority in two */

/* What was read, as it was on the wire; zero where the port refused or did not answer. */
struct sm_tables {
	uint8_t asked; /* bit per enum sm_table */
	uint8_t (*pkey)[SMP_DATA_LEN]; /* [npkey] */
	uint8_t (*sltovl)[8]; /* [nsltovl], by ingress port; CAs have one */
	uint8_t (*vlarb)[SMP_DATA_LEN]; /* [SM_VLARB_BLOCKS] */
	uint8_t (*guid)[SMP_DATA_LEN]; /* [nguid] */
	uint16_t npkey, nsltovl, nguid;
};

/* sm_tables_of() - NULL: nothing of @p was read */
static inline const struct sm_tables *sm_tables_of(const struct sm_port *p)
{
	return p->tables;
}
void sm_tables_free(struct sm_tables *t);

/* sm_table_blocks() - Blocks (SLtoVL: ingress ports) that the table of @p has; 0: it has none */
unsigned int sm_table_blocks(const struct sm_port *p, enum sm_table what);

/* Everything is read, or there is another database. Not called from inside sm_learn(). */
typedef void sm_learn_fn(void *ctx, ns_t now);

/**
 * sm_learn() - Read the tables of a kind
 * @p:		of the published database; NULL: of all ports
 * @all_ports:	the other ports of @p's node too
 * @done:	called once, if there is something to wait for
 *
 * Return: 0 it is all there, done() is not called; -EINPROGRESS; -ENOMEM; -EAGAIN there is no database
 */
int sm_learn(struct sm *sm, enum sm_table what, const struct sm_port *p, bool all_ports,
	     sm_learn_fn *done, void *ctx, ns_t now);

/* sm_learn_forget() - done() is not called for @ctx any more */
void sm_learn_forget(struct sm *sm, const void *ctx);

#endif
