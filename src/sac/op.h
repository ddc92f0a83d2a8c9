/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAC_OP_H
#define SAC_OP_H

/*
 * Requests to the SA. At most SAC_MAX_OPEN are open at a time. Further requests wait: urgent
 * requests before normal requests, and the requests of each kind in the order in which they were
 * submitted.
 */

#include "sac/client.h"

/*
 * sac_op_submit() - Queue the request @op, whose .fill and .done are set, and which is neither
 * queued nor open
 */
void sac_op_submit(struct sac *s, struct sac_op *op, bool urgent, ns_t now);

/* sac_op_cancel() - Forget the request @op; no effect if it is neither queued nor open */
void sac_op_cancel(struct sac_op *op);

/* sac_op_is_open() - Tell whether the request was sent, so that the SA may have acted on it */
static inline bool sac_op_is_open(const struct sac_op *op)
{
	return op->tx != NULL;
}

/* sac_op_headers() - Write the headers of a request. The answer must have the same attribute */
void sac_op_headers(struct sac_op *op, uint8_t mad[MAD_LEN], uint8_t method, uint16_t attr_id,
		    uint64_t comp_mask);

#endif
