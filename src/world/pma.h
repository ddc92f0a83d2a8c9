/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_PMA_H
#define WORLD_PMA_H

/* A manager that asks the performance agent (PMA) of the DUT */

#include "wire/pma.h"
#include "world/world.h"

#define WORLD_PMA_SL 3 /* SL of the manager's requests */

struct pma_request {
	uint8_t method;
	uint16_t attr;
	const void *data; /* data of the request, @len octets; NULL means zeros */
	size_t len;
	bool grh; /* the request has a GRH */
};

/*
 * world_pma_ask() - Send a request to the DUT's PMA, up to three times at intervals of 1 s, and
 * wait for the answer
 * @ret:	packet of the answer; NULL if there is none
 *
 * Return: the MAD status; -ETIMEDOUT
 */
int world_pma_ask(struct world *w, const struct pma_request *q, const struct seen **ret);

/* world_pma_counters() - Get(PortCounters) of the DUT's port. Return as world_pma_ask() */
int world_pma_counters(struct world *w, struct pma_port_counters *ret, const struct seen **ret_s);

/* pma_attr_data() - Return: the octets of the attribute in an answer */
static inline const uint8_t *pma_attr_data(const struct seen *s)
{
	return s->payload + PMA_DATA_OFF;
}

#endif
