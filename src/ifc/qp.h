/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IFC_QP_H
#define IFC_QP_H

/* The queue pairs of an interface: the main queue pair, and one for each station behind its TAP. */

#include "ifc/ifc.h"

/* ifc_qp_create() - Make the queue pair of the interface itself. Return: 0 or -errno */
int ifc_qp_create(struct ifc *i, uint16_t pkey_index, uint32_t qkey);
/*
 * ifc_qp_modify() - Modify all queue pairs; packets in their receive rings are lost. Return: 0 or
 * -errno
 */
int ifc_qp_modify(struct ifc *i, uint16_t pkey_index, uint32_t qkey);
/*
 * ifc_qp_destroy() - Destroy the interface's main queue pair; eth_if_destroy() closes the queue
 * pairs of stations
 */
void ifc_qp_destroy(struct ifc *i);

/*
 * ifc_qps_renumbered() - Adopt the new numbers of all queue pairs, which were made again
 * (CA_EVENT_DEVICE_BACK)
 */
void ifc_qps_renumbered(struct ifc *i, ns_t now);

/*
 * ifc_qp_ready() - Put the queue pair into the list of those that have received packets
 * (ifc_set.rx_ready)
 */
void ifc_qp_ready(struct ifc_qp *q);
/*
 * ifc_qp_poll() - Receive up to PKT_BATCH packets
 * @ret_more:	true: the queue pair has more packets; false: it is empty, and armed to report the
 *		next packet
 *
 * Return: number of packets received
 */
unsigned int ifc_qp_poll(struct ifc_qp *q, bool *ret_more, ns_t now);

/* Functions for struct eth_ops */
void ifc_post(void *ctx, const struct eth_send *v, unsigned int n, ns_t now);
int ifc_station_open(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
		     uint32_t *ret_qpn);
void ifc_station_close(void *ctx, void *qp);

#endif
