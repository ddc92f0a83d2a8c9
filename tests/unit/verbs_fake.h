/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_FAKE_H
#define TESTS_UNIT_VERBS_FAKE_H

/*
 * An imitation of libibverbs and umad over two simulated HCAs (ca_wire.h). The device "fake0" is
 * end 0 and "fake1" is end 1 of a cable; each has one port.
 *
 * As with a real adapter, sends wait until fake_work() sends them, received packets are lost if no
 * buffer is posted, and queue pairs allow only the state changes of the IBTA specification. A test
 * makes faults by setting the members of struct fake.
 */

#include "unit/ca_wire.h"
#include "verbs/lib.h"

#define FAKE_FOR_EVER 1000000

struct fake {
	/*
	 * Each call that can fail decrements this number, for example each call that makes an
	 * object. The call that decrements it to 0 fails with ENOMEM. 0 at the start: no call fails
	 */
	unsigned int fail_in;
	unsigned int made; /* number of calls that .fail_in can make fail, failed ones included */
	int objects; /* number of objects that exist; 0 at the end of a test */
	unsigned int
		/*
		 * Number of work requests that ibv_post_send() accepts, over all calls, before it
		 * fails with ENOMEM.
		 */
		take;
	int max_ah, max_qp_wr; /* limits of the devices; 0: the default */
	bool grh_required;
	/*
	 * The devices have IBV_DEVICE_UD_IP_CSUM: they verify checksums, and make them if .driver
	 * is "mlx4_core".
	 */
	bool csum;
	const char *driver; /* name of the devices' driver; NULL: sysfs has no link to a driver */
	bool hold; /* true: fake_work() leaves the sends in the send queues */
	/*
	 * If not NULL: the packets that wait in this environment are delivered just before the next
	 * CQ is armed. Then this becomes NULL.
	 */
	struct ca_suite_env *race;
	uint8_t link_layer, node_type;
	unsigned int refused_mads; /* number of MADs that the kernel would have refused */
	unsigned int busy_class; /* an agent for this class is refused with EBUSY; 0: none */
};

extern struct fake fake;
extern const struct verbs_lib fake_lib;

/* fake_up() - Make the two simulated HCAs and their devices fake0 and fake1; no fault is set */
void fake_up(struct ca_suite_env *env);
/* fake_down() - Free the ports; the test fails if an object of the library still exists */
void fake_down(struct ca_suite_env *env);
/*
 * fake_work() - Do pending work of the adapters and the kernel once. Return: true if there was any
 */
bool fake_work(struct ca_suite_env *env);
/* fake_remove() - Remove the device of @side, as a hot removal does */
void fake_remove(unsigned int side);
/* fake_restore() - Make the device of @side again, as when its driver is loaded again */
void fake_restore(unsigned int side);
/*
 * fake_fail_send() - Let the oldest waiting send of each queue pair of @side complete with an
 * error, which stops the send queue
 */
void fake_fail_send(unsigned int side);
/* fake_fail_qps() - Put all queue pairs of @side into the error state */
void fake_fail_qps(unsigned int side);
/* fake_qps_work() - Tell whether all queue pairs of @side are in RTS */
bool fake_qps_work(unsigned int side);
/* fake_async() - Report an asynchronous event of the device of @side */
void fake_async(unsigned int side, enum ibv_event_type type);

#endif
