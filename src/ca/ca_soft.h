/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CA_CA_SOFT_H
#define CA_CA_SOFT_H

/* ca.h over a port of a soft HCA. */

#include "ca/ca.h"
#include "hca/hca.h"

/*
 * The owner of the HCA passes its hca_ops callbacks on: one struct ca_soft_hca per
 * HCA, ports opened on it.
 *
 * ca_qp_attr.tx_depth is inert: a send is over when ca_post_send() returns. Nothing
 * is to be polled for; ca.fd is -1 and ca_notify alone tells. ca_close() destroys
 * QPs and AHs that are left.
 */
struct ca_soft_hca;

/* @h may be attached after creation because hca_create() wants its ops first. NULL: no memory */
struct ca_soft_hca *ca_soft_hca_create(void);
void ca_soft_hca_bind(struct ca_soft_hca *s, struct hca *h);
/* Closes what is open, so before hca_destroy(); NULL is accepted. */
void ca_soft_hca_destroy(struct ca_soft_hca *s);

/*
 * To be called from hca_ops.event and hca_ops.ready of that HCA. RETRAIN and PHYS are the
 * fabric's business and go no further. QPs that were not made through ca.h are not known here:
 * ready() must not be called for them.
 */
void ca_soft_event(struct ca_soft_hca *s, uint8_t port, enum node_event ev, ns_t now);
void ca_soft_ready(struct ca_soft_hca *s, struct hca_qp *qp);

/* ca_soft_open() - Several may be open on one port. 0, -EINVAL (no such port), -ENOMEM */
int ca_soft_open(struct ca_soft_hca *s, uint8_t port, const struct ca_notify *notify, void *ctx,
		 struct ca **ret);

#endif
