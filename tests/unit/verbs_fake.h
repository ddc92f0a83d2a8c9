/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_FAKE_H
#define TESTS_UNIT_VERBS_FAKE_H

/*
 * libibverbs and umad on two soft HCAs (ca_wire.h). The device "fake0" is end 0 and "fake1" is end 1; each has one port.
 *
 * As with an adapter, sends wait until fake_work() sends them, received packets are lost without a posted buffer, and
 * queue pairs check the states that the IBTA specification allows. Faults are made by the members of struct fake.
 */

#include "unit/ca_wire.h"
#include "verbs/lib.h"

#define FAKE_FOR_EVER 1000000

struct fake {
	/* The call that makes an object and is this number of calls away fails with ENOMEM; 0: none does */
	unsigned int fail_in;
	unsigned int made; /* calls that made objects */
	int objects; /* objects that exist: 0 at the end */
	unsigned int
		take; /* work requests that ibv_post_send() takes before ENOMEM, over all calls */
	int max_ah, max_qp_wr; /* limits of the devices; 0: the default */
	bool grh_required;
	bool hold; /* fake_work() leaves the sends in the send queues */
	/* Deliver what waits when a CQ is armed, before it is armed */
	struct ca_suite_env *race;
	uint8_t link_layer, node_type;
	unsigned int refused_mads; /* MADs that the kernel would have refused */
	unsigned int busy_class; /* class whose unsolicited MADs another program has */
};

extern struct fake fake;
extern const struct verbs_lib fake_lib;

/* fake_up() - Make the HCAs and both devices; all faults are off */
void fake_up(struct ca_suite_env *env);
/* fake_down() - Free them; fails the test if an object of a library is left */
void fake_down(struct ca_suite_env *env);
/* fake_work() - Do once what the adapters and the kernel do; returns whether there was anything to do */
bool fake_work(struct ca_suite_env *env);
/* fake_remove() - Take the device of @side away, as at a hot removal */
void fake_remove(unsigned int side);
/* fake_fail_send() - The oldest send that waits completes with an error, and stops its send queue */
void fake_fail_send(unsigned int side);
/* fake_fail_qps() - All queue pairs of @side get into the error state */
void fake_fail_qps(unsigned int side);
/* fake_qps_work() - Tell whether all queue pairs of @side are in RTS */
bool fake_qps_work(unsigned int side);
/* fake_async() - Report an asynchronous event of @side */
void fake_async(unsigned int side, enum ibv_event_type type);

#endif
