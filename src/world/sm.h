/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_SM_H
#define CONFORM_SM_H

/* The suite's subnet manager */

#include "world/world.h"

/*
 * world_sm_rx() - Handle an SMP of the DUT: store the answer for which a case waits; answer a trap
 * with TrapRepress
 */
void world_sm_rx(struct world *w, const struct seen *s);

struct sm_request {
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	const void *data; /* data of the request, 64 octets; NULL means zeros */
	bool by_lid; /* true: routed by LID; false: by a directed route of one hop */
	/*
	 * value that is XORed with the right M_Key to make the M_Key of the request; 0: the request
	 * has the right M_Key
	 */
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

/*
 * world_sm_port() - Send Set(PortInfo) with the values that @w has for the port. @change, if not
 * NULL, modifies the values first. Return: as world_sm_ask()
 */
int world_sm_port(struct world *w, void (*change)(struct smp_port_info *pi, unsigned int arg),
		  unsigned int arg, const struct seen **ret);

/*
 * world_sm_reregister() - Delete the DUT's group memberships and subscriptions from the SA, and ask
 * the DUT to register again. Return: as world_sm_ask()
 */
int world_sm_reregister(struct world *w, const struct seen **ret);

/*
 * world_sm_activate() - Set the port's tables and take the port to Active. Return: the status of the first request that the
 * DUT refused, otherwise 0; -ETIMEDOUT
 */
int world_sm_activate(struct world *w, const struct seen **ret);
/*
 * world_sm_restore() - Make the port Active again after the link was down, and wait until the DUT
 * has joined the broadcast group. Return: false if the DUT did not join in time
 */
bool world_sm_restore(struct world *w);

/*
 * Matchers of SMPs from the DUT. sm_is_trap() accepts a trap with the number @trap, a uint16_t;
 * sm_is_trap_again() accepts a trap with the TID @tid, a uint64_t
 */
bool sm_is_trap(const struct seen *s, const void *trap);
bool sm_is_trap_again(const struct seen *s, const void *tid);

/* sm_attr_data() - Return: the octets of the attribute in the packet of an SMP */
static inline const uint8_t *sm_attr_data(const struct seen *s)
{
	return s->payload + SMP_DATA_OFF;
}

#endif
