/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_SM_H
#define CONFORM_SM_H

/* The suite's subnet manager */

#include "world/world.h"

/* world_sm_rx() - The DUT sent an SMP: the answer that a case waits for, or a trap, which is repressed */
void world_sm_rx(struct world *w, const struct seen *s);

struct sm_request {
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	const void *data; /* 64 octets; NULL: zeros */
	bool by_lid; /* routed by LID; else a directed route of one hop */
	uint64_t mkey; /* added to the world's by exclusive or, so that 0 is the right one */
	bool once; /* do not repeat it */
};

/*
 * world_sm_ask() - Send an SMP to the DUT and wait for its answer; it is sent three times, a second apart
 * @ret:	packet of the answer; NULL if there is none
 *
 * Return: the MAD status without the D bit; -ETIMEDOUT
 */
int world_sm_ask(struct world *w, const struct sm_request *q, const struct seen **ret);

/* world_sm_port() - Set(PortInfo) with the values of the world and @change applied to them. Return as world_sm_ask() */
int world_sm_port(struct world *w, void (*change)(struct smp_port_info *pi, unsigned int arg),
		  unsigned int arg, const struct seen **ret);

/* world_sm_reregister() - The SA forgets what the DUT has registered, and asks for it. Return as world_sm_ask() */
int world_sm_reregister(struct world *w, const struct seen **ret);

/*
 * world_sm_activate() - Set the port's tables and take it to Active. Return: the status of the first request that was not
 * granted, else 0; -ETIMEDOUT
 */
int world_sm_activate(struct world *w, const struct seen **ret);
/* world_sm_restore() - After the link was down: make the port Active again, and wait for the join. False: in vain */
bool world_sm_restore(struct world *w);

/* Matches a trap of this number, a uint16_t; a trap with this TID, a uint64_t */
bool sm_is_trap(const struct seen *s, const void *trap);
bool sm_is_trap_again(const struct seen *s, const void *tid);

/* The octets of an SMP's attribute in its packet */
static inline const uint8_t *sm_attr_data(const struct seen *s)
{
	return s->payload + SMP_DATA_OFF;
}

#endif
