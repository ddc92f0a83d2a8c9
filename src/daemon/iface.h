/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IFACE_H
#define DAEMON_IFACE_H

/* An interface: a TAP in a host's namespace, an IPoIB link, the QP between them. */

#include "daemon/inst.h"

/**
 * iface_add() - Make an interface as configured; it comes up by itself
 *
 * Return: 0; -EBUSY the name is taken; -EPERM TAPs are not permitted; -EINVAL; -ENOMEM; with @err
 */
int iface_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX]);

/* iface_shutdown() - Leave the groups; what that sends goes out by inst_settle() */
void iface_shutdown(struct inst_iface *i, ns_t now);
void iface_destroy(struct inst_iface *i);

/* iface_rx_ready() - A QP has something to poll */
void iface_rx_ready(struct inst_qp *q);
/* iface_rx() - Poll a batch; false: the QP was empty and is armed */
bool iface_rx(struct inst_qp *q, ns_t now);
/* iface_actions() - Carry out what the link wants done */
void iface_actions(struct inst_iface *i, ns_t now);

/* iface_link_event() - The kernel says the TAP was set up or down */
void iface_link_event(struct inst_iface *i, bool up, ns_t now);

#endif
