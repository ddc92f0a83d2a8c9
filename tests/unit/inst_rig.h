/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UNIT_INST_RIG_H
#define UNIT_INST_RIG_H

/* An instance without a daemon, for tests that run its event loop with a virtual time */

#include "inst/inst.h"

/*
 * inst_rig_init() - Make an empty instance with a pool of 4096 descriptors and 64 buffers. The
 * instance's .loop.now is the virtual time. Return: 0, or -1 if memory or file descriptors ran out
 */
static inline int inst_rig_init(struct inst *in)
{
	inst_init(in, &(struct inst_cfg){ 0 });
	if (loop_init(&in->loop))
		return -1;
	ifc_set_init(&in->ifcs, &in->loop.timers, NULL, NULL);
	/*
	 * inst_work() reads the real clock after its first round. The virtual time begins later
	 * than any uptime, so that no timer for a virtual time is due by the real clock.
	 */
	in->loop.now = NS_SEC(1000000000);
	in->pool = pkt_pool_create(4096, 64);
	return in->pool ? 0 : -1;
}

#endif
