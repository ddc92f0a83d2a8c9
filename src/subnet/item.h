/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_ITEM_H
#define SUBNET_ITEM_H

/* The SM writes tables to ports. An item is the part of such a table that one SMP reads. */

#include "subnet/db.h"

enum sm_item_table { SM_ITEM_PKEYS, SM_ITEM_SLTOVL, SM_ITEM_LFT, SM_ITEM_MFT };

struct sm_item {
	enum sm_item_table what;
	/* number of the block; for the SLtoVL tables of a switch, the ingress port */
	unsigned int block;
	unsigned int position; /* position of the MFT block: ports 16 * position and up */
};

/* sm_port_items() - Return the number of items of @p */
unsigned int sm_port_items(const struct sm_port *p);
/* sm_port_item() - Return the item of @p with number @i, which is below sm_port_items() */
struct sm_item sm_port_item(const struct sm_port *p, unsigned int i);
/* sm_db_items() - Return the number of items of all ports */
uint64_t sm_db_items(const struct sm_db *db);

#endif
