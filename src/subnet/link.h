/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LINK_H
#define SUBNET_LINK_H

/*
 * Links that come up and go down in a published database (enum sm_link_change). A change is noted first, and applied
 * when the routes are computed with it.
 */

#include "subnet/db.h"

/* sm_link_gone() - Note that the link at @p no longer exists */
void sm_link_gone(struct sm_port *p);
/*
 * sm_link_came() - Note that there is a link from @p to @q that has trained; both are connected with each other or
 * with nothing. Return: true if the routes do not use the link
 */
bool sm_link_came(struct sm_port *p, struct sm_port *q);
/* sm_links_apply() - Apply the noted changes of the links at a switch */
void sm_links_apply(struct sm_db *db, struct sm_node *sw);

#endif
