/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LINK_H
#define SUBNET_LINK_H

/*
 * Links that come up and go down in a published database (enum sm_link_change). A change is first recorded. It takes
 * effect when the new routes have been computed.
 */

#include "subnet/db.h"

/* sm_link_gone() - Note that the link at @p no longer exists */
void sm_link_gone(struct sm_port *p);
/*
 * sm_link_came() - Record that a link from @p to @q has trained. Before the call, the two ports are connected with
 * each other or not at all. Return: true if the routes do not use the link
 */
bool sm_link_came(struct sm_port *p, struct sm_port *q);
/* sm_links_apply() - Apply the noted changes of the links at a switch */
void sm_links_apply(struct sm_db *db, struct sm_node *sw);

#endif
