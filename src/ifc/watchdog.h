/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IFC_WATCHDOG_H
#define IFC_WATCHDOG_H

/* The transmit watchdog of an interface; see IFC_TX_TIMEOUT for its effect. */

#include "ifc/ifc.h"

void ifc_watchdog_init(struct ifc *i, const struct ifc_cfg *cfg);
/* ifc_watchdog_posted() - Note that packets were posted to a queue pair of the interface */
void ifc_watchdog_posted(struct ifc *i, ns_t now);
/*
 * ifc_watchdog_block() - Tell whether the send queue, which has no room, is stalled. If it is
 * stalled, ifc_readable() is called when the queue has room, is not stalled any more, or was
 * flushed
 */
bool ifc_watchdog_block(struct ifc *i, ns_t now);
/* ifc_watchdog_room() - Note that packets have left a stalled send queue, as the CA reports */
void ifc_watchdog_room(struct ifc *i);

#endif
