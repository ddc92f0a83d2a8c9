/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_MON_TRAP_H
#define CMD_MON_TRAP_H

#include <jansson.h>

#include "inst/fab_sm.h"

/*
 * mon_trap() - Describe a notice that an SM has received, with the names of the ports that it is
 * about. Return: an array of objects; each object has the members of one event row. There is one
 * row, except for trap 128 (link state of a switch, IBA 14.2.5.1), which does not name a port. For
 * trap 128 there is a row for each port of the switch whose link has changed since the SM's last
 * sweep. If no link has changed, there is one row without the members of trap 128 below.
 *
 * Each object has the members "what" and "issuer", and the members that the list below has for its
 * trap. A member is null if the SM does not know the name. The member "about" is the port that the
 * notice is about; for traps 144 and 145 it exists only if this port is not the issuer.
 *
 *	64-65	gid, about (the port that has the GID)
 *	66-67	gid
 *	128	port, peer (the ends of the cable), link (up or down)
 *	129-131	port, peer
 *	144	capabilities, changed, about
 *	145	system_guid, about
 *	256	from, request, modifier
 *	257-259	pkey or qkey; from, to, and for each of them _lid, _qp and _gid; for 259 also port, peer
 */
json_t *mon_trap(const struct inst_sm *m, const struct mad_notice *n);

#endif
