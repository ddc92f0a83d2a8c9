/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_SIDR_H
#define WORLD_SIDR_H

/* Service ID Resolution: the server that gives out the link's group, and a client of a DUT that is such a server */

#include "world/world.h"

/* world_sidr_rx() - The DUT sent a MAD of communication management */
void world_sidr_rx(struct world *w, const struct seen *s);
/*
 * world_sidr_ask() - Send a SIDR_REQ to the DUT, and wait for its answer
 * @id:		RequestID and TID
 *
 * Return: the packet of the SIDR_REP; NULL: none came, asked three times, a second apart
 */
const struct seen *world_sidr_ask(struct world *w, uint64_t service_id, uint32_t id);

/* Matches a SIDR_REQ of the DUT */
bool sidr_is_request(const struct seen *s, const void *arg);

#endif
