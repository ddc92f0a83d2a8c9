/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_LINK_H
#define SUBNET_LINK_H

/*
 * Links between the ports of a database. In a published database a change (enum sm_link_change) is first recorded, and
 * takes effect together with the new routes (sm_links_apply()).
 */

#include "subnet/db.h"

/* sm_link_join() - Connect two ports. Return: false if one of them has another link */
bool sm_link_join(struct sm_port *a, struct sm_port *b);
/* sm_link_gone() - Record that the link at @p no longer exists */
void sm_link_gone(struct sm_port *p);
/*
 * sm_link_came() - Record that a link from @p to @q has trained. Before the call, the two ports are connected with
 * each other or not at all. Return: true if the routes do not use the link
 */
bool sm_link_came(struct sm_port *p, struct sm_port *q);
/*
 * sm_link_measure() - Compute MTU code and rate code of the link at @p from the PortInfo of its ends; the MTU is at most
 * @max_mtu_code
 */
void sm_link_measure(struct sm_port *p, uint8_t max_mtu_code);
/* sm_links_measure() - Measure all links of a database that discovery has filled, and count them in .nlinks */
void sm_links_measure(struct sm_db *db, uint8_t max_mtu_code);
/*
 * sm_link_harmless() - Tell whether @p may become Active before its switch has the new tables. This
 * does no harm if the old tables of the switch are known, and if the published routes use @p only
 * for its present link, or not at all
 * @db:	published database
 * @p:	port of a switch, with a link, in the database that the running sweep fills or changes
 */
bool sm_link_harmless(const struct sm_db *db, const struct sm_port *p);
/* sm_links_apply() - Apply the recorded changes of the links at a switch */
void sm_links_apply(struct sm_db *db, struct sm_node *sw);

#endif
