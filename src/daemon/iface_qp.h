/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IFACE_QP_H
#define DAEMON_IFACE_QP_H

/* The queue pairs of an interface: its own, and one for each station behind its TAP. */

#include "daemon/inst.h"

/* iface_port_guid() - Of the port it is on */
uint64_t iface_port_guid(const struct inst_iface *i);
/* iface_qpn_hint() - The same QPN after a restart: peers' caches stay right. @mac: of a station, or NULL */
uint32_t iface_qpn_hint(const struct inst_iface *i, const uint8_t *mac);

/* iface_qp_create() - The interface's own. 0 or -errno */
int iface_qp_create(struct inst_iface *i, uint16_t pkey_index, uint32_t qkey);
/* iface_qp_modify() - All of them; what was queued is lost */
int iface_qp_modify(struct inst_iface *i, uint16_t pkey_index, uint32_t qkey);
/* iface_qp_destroy() - The interface's own; those of stations go with eth_if_destroy() */
void iface_qp_destroy(struct inst_iface *i);

/* struct eth_ops */
void iface_post(void *ctx, const struct eth_send *v, unsigned int n, ns_t now);
int iface_station_open(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
		       uint32_t *ret_qpn);
void iface_station_close(void *ctx, void *qp);

#endif
