/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_MON_TRAP_H
#define CMD_MON_TRAP_H

#include <jansson.h>

#include "inst/fab_sm.h"

/*
 * mon_trap() - Describe by names the subject of a notice that an SM has received. Return: an array with an object of
 * members for each event row. There is one row, except for trap 128 (link state of a switch, IBA 14.2.5.1), which
 * does not name the port. For trap 128 there is a row for each port of the switch whose link has changed since the
 * SM's last sweep. Each object has the members "what" and "issuer", and the members that the list below names for its
 * trap. A member is null where the SM does not know the name:
 *
 *	64-67	gid; for 64 and 65 also about, the port that has the GID
 *	128	port, peer, link (up or down): the cable
 *	129-131	port, peer
 *	144	capabilities, changed, about (if the port is not the issuer)
 *	145	system_guid, about
 *	256	from, request, modifier
 *	257-259	pkey or qkey; from, to, and for each of them _lid, _qp and _gid; for 259 also port, peer
 */
json_t *mon_trap(const struct inst_sm *m, const struct mad_notice *n);

#endif
