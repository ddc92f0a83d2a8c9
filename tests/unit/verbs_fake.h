/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_FAKE_H
#define TESTS_UNIT_VERBS_FAKE_H

/*
 * libibverbs and umad on two soft HCAs (ca_wire.h). The device "fake0" is end 0 and "fake1" is end 1; each has one port.
 *
 * As with an adapter, sends wait until fake_work() sends them, received packets are lost if no buffer is posted, and
 * queue pairs only allow the state changes of the IBTA specification. Faults are made by the members of struct fake.
 */

#include "unit/ca_wire.h"
#include "verbs/lib.h"

#define FAKE_FOR_EVER 1000000

struct fake {
	/*
	 * Each call that makes an object decrements this number, and the call that makes it 0 fails with ENOMEM. 0: no
	 * call fails
	 */
	unsigned int fail_in;
	unsigned int made; /* calls that made objects */
	int objects; /* objects that exist: 0 at the end */
	unsigned int
		/* number of work requests that ibv_post_send() accepts, over all calls, before it returns ENOMEM */
		take;
	int max_ah, max_qp_wr; /* limits of the devices; 0: the default */
	bool grh_required;
	bool hold; /* fake_work() leaves the sends in the send queues */
	/* When a CQ is armed, deliver the waiting packets of this environment first */
	struct ca_suite_env *race;
	uint8_t link_layer, node_type;
	unsigned int refused_mads; /* MADs that the kernel would have refused */
	unsigned int busy_class; /* class whose unsolicited MADs another program has */
};

extern struct fake fake;
extern const struct verbs_lib fake_lib;

/* fake_up() - Make the HCAs and both devices; all faults are off */
void fake_up(struct ca_suite_env *env);
/* fake_down() - Free the ports; fail the test if an object of the library still exists */
void fake_down(struct ca_suite_env *env);
/* fake_work() - Do the work of the adapters and the kernel once. Return: whether there was anything to do */
bool fake_work(struct ca_suite_env *env);
/* fake_remove() - Take the device of @side away, as at a hot removal */
void fake_remove(unsigned int side);
/* fake_restore() - Bring the device of @side back, as after a driver was loaded again */
void fake_restore(unsigned int side);
/* fake_fail_send() - The oldest send that waits completes with an error, and stops its send queue */
void fake_fail_send(unsigned int side);
/* fake_fail_qps() - All queue pairs of @side get into the error state */
void fake_fail_qps(unsigned int side);
/* fake_qps_work() - Tell whether all queue pairs of @side are in RTS */
bool fake_qps_work(unsigned int side);
/* fake_async() - Report an asynchronous event of @side */
void fake_async(unsigned int side, enum ibv_event_type type);

#endif
