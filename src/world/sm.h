/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_SM_H
#define CONFORM_SM_H

/* The suite's subnet manager */

#include "world/world.h"

/* world_sm_rx() - Handle an SMP of the DUT: the answer for which a case waits, or a trap, which the SM represses */
void world_sm_rx(struct world *w, const struct seen *s);

struct sm_request {
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	const void *data; /* data of the request, 64 octets; NULL means zeros */
	bool by_lid; /* true: routed by LID; false: by a directed route of one hop */
	/* exclusive or of the M_Key to send and the world's M_Key, so 0 sends the right key */
	uint64_t mkey;
	bool once; /* send the request only once */
};

/*
 * world_sm_ask() - Send an SMP to the DUT, up to three times at intervals of a second, and wait for its answer
 * @ret:	packet of the answer; NULL if there is none
 *
 * Return: the MAD status without the D bit; -ETIMEDOUT
 */
int world_sm_ask(struct world *w, const struct sm_request *q, const struct seen **ret);

/* world_sm_port() - Send Set(PortInfo) with the world's values, which @change may modify. Return: as world_sm_ask() */
int world_sm_port(struct world *w, void (*change)(struct smp_port_info *pi, unsigned int arg),
		  unsigned int arg, const struct seen **ret);

/*
 * world_sm_reregister() - Let the SA forget what the DUT has registered, and ask the DUT to register again. Return: as
 * world_sm_ask()
 */
int world_sm_reregister(struct world *w, const struct seen **ret);

/*
 * world_sm_activate() - Set the port's tables and take the port to Active. Return: the status of the first request that the
 * DUT refused, otherwise 0; -ETIMEDOUT
 */
int world_sm_activate(struct world *w, const struct seen **ret);
/*
 * world_sm_restore() - Make the port Active again after the link was down, and wait for the join. False: the DUT did not
 * join in time
 */
bool world_sm_restore(struct world *w);

/* sm_is_trap() matches a trap by its number, a uint16_t; sm_is_trap_again() by its TID, a uint64_t */
bool sm_is_trap(const struct seen *s, const void *trap);
bool sm_is_trap_again(const struct seen *s, const void *tid);

/* sm_attr_data() - Return: the octets of the attribute in the packet of an SMP */
static inline const uint8_t *sm_attr_data(const struct seen *s)
{
	return s->payload + SMP_DATA_OFF;
}

#endif
