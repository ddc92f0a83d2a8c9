/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CA_CA_SOFT_H
#define CA_CA_SOFT_H

/* The backend of ca.h for ports of a software HCA */

#include "ca/ca.h"
#include "hca/hca.h"

/*
 * Each HCA whose ports can be opened has one struct ca_soft_hca. When the HCA calls hca_ops.event
 * or hca_ops.ready, the owner of the HCA has to call ca_soft_event() or ca_soft_ready().
 *
 * ca_qp_attr.tx_depth has no effect, because a send is complete when ca_post_send() returns. ca.fd is -1, because
 * events are reported only through ca_notify. ca_close() destroys the QPs and AHs that still exist.
 */
struct ca_soft_hca;

/*
 * Functions of the owner of the HCA, who also owns the queues into which the HCA sends. @ctx is the
 * pointer that ca_soft_hca_bind() got. A function that is NULL means that the queues are always
 * empty.
 */
struct ca_soft_queues {
	unsigned int (*queued)(void *ctx, uint8_t port);
	struct ca_send_queue (*send_queue)(void *ctx, uint8_t port);
	unsigned int (*send_flush)(void *ctx, uint8_t port, ns_t now);
};

/*
 * ca_soft_hca_create() - Make a struct without an HCA; NULL if out of memory
 * ca_soft_hca_bind() - Set the HCA and its queues. The HCA is created after the ca_soft_hca,
 * because the hca_ops of the HCA call functions of the ca_soft_hca
 */
struct ca_soft_hca *ca_soft_hca_create(void);
void ca_soft_hca_bind(struct ca_soft_hca *s, struct hca *h, const struct ca_soft_queues *q,
		      void *ctx);
/* ca_soft_hca_destroy() - Close all open ports; to be called before hca_destroy(). NULL is accepted */
void ca_soft_hca_destroy(struct ca_soft_hca *s);

/*
 * Functions that the owner of the HCA calls from hca_ops.event and hca_ops.ready. The functions
 * ignore the events RETRAIN and PHYS, which are for the fabric. ca_soft_ready() must not be called
 * for QPs that were not created through ca.h.
 */
void ca_soft_event(struct ca_soft_hca *s, uint8_t port, enum node_event ev, ns_t now);
void ca_soft_ready(struct ca_soft_hca *s, struct hca_qp *qp);

/*
 * ca_soft_open() - Open a port, which may be open already. Return: 0; -EINVAL: there is no such
 * port; -ENOMEM
 */
int ca_soft_open(struct ca_soft_hca *s, uint8_t port, const struct ca_notify *notify, void *ctx,
		 struct ca **ret);

#endif
