/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_SIDR_H
#define WORLD_SIDR_H

/*
 * Service ID Resolution. The suite's server answers with the values of the link's broadcast group.
 * The suite's client sends requests to a DUT that is itself a SIDR server
 */

#include "world/world.h"

/* world_sidr_rx() - Handle a communication management MAD of the DUT */
void world_sidr_rx(struct world *w, const struct seen *s);
/*
 * world_sidr_ask() - Send a SIDR_REQ to the DUT, up to three times at intervals of a second, and
 * wait for the answer
 * @id:		number that the request has as its RequestID and as its TID
 *
 * Return: the packet with the SIDR_REP; NULL if none came
 */
const struct seen *world_sidr_ask(struct world *w, uint64_t service_id, uint32_t id);

/* Tell whether a packet is a SIDR_REQ of the DUT */
bool sidr_is_request(const struct seen *s, const void *arg);

#endif
