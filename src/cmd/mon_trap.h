/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_MON_TRAP_H
#define CMD_MON_TRAP_H

#include <jansson.h>

#include "inst/fab_sm.h"

/*
 * mon_trap() - Describe by names the subject of a notice that an SM has received. Return: an array with an object of
 * members for each event row. There is one row, except for trap 128 (link state of a switch, IBA 14.2.5.1), which
 * does not name the port. For trap 128 there is a row for each port of the switch whose link has changed since the
 * SM's last sweep; the row has both ends of the cable. The members are what and issuer. Where they are known there
 * are also port, peer, link (up or down), gid and about
 */
json_t *mon_trap(const struct inst_sm *m, const struct mad_notice *n);

#endif
