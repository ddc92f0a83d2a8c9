/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IFC_WATCHDOG_H
#define IFC_WATCHDOG_H

/* The transmit watchdog of an interface; see IFC_TX_TIMEOUT for its effect. */

#include "ifc/ifc.h"

void ifc_watchdog_init(struct ifc *i, const struct ifc_cfg *cfg);
/*
 * ifc_watchdog_posted() - Start the watchdog's timer if packets wait in the send queue and the
 * timer does not run. Call this function after packets were posted to a queue pair of the interface
 */
void ifc_watchdog_posted(struct ifc *i, ns_t now);
/*
 * ifc_watchdog_block() - Tell whether the send queue, which has no room, is stalled. If it is
 * stalled, ifc_readable() is called when the queue has room, is not stalled any more, or was
 * flushed
 */
bool ifc_watchdog_block(struct ifc *i, ns_t now);
/*
 * ifc_watchdog_room() - Let the TAP be read again, because the CA reports that packets have left a
 * stalled send queue
 */
void ifc_watchdog_room(struct ifc *i);

#endif
