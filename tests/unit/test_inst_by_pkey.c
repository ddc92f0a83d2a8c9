/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/by_pkey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "helper/priv.h"
#include "inst/host.h"
#include "inst/iface.h"

/*
 * Tests the TAPs of a configuration section that has an interface for each P_Key. The test acts as
 * the helper, at the other end of a socket pair, and as the kernel, which puts frames into a TAP.
 */

#define PKTS 8
#define BUFS 4

struct rig {
	struct inst in;
	struct inst_host host;
	struct by_pkey b;
	struct by_pkey_tap tap;
	struct netdev_helper helper;
	int served; /* the helper's end of the socket pair */
	int kernel; /* the kernel's end of the TAP */
	struct helper_req req; /* the last request to the helper */
	struct pkt *taken[PKTS];
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int s[2], t[2];

	if (!r || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, t))
		return -1;
	inst_init(&r->in, &(struct inst_cfg){ 0 });
	if (loop_init(&r->in.loop))
		return -1;
	r->in.pool = pkt_pool_create(PKTS, BUFS);
	tap_rx_init(&r->in.tap_rx, r->in.pool);
	r->helper.sock = s[0];
	r->helper.pidfd = -1;
	r->served = s[1];
	helper_jobs_init(&r->helper);
	r->in.helper = r->host.helper = &r->helper;
	r->host.inst = &r->in;
	r->host.ns = 1;
	list_init(&r->host.ifaces);
	r->b = (struct by_pkey){ .inst = &r->in, .host = &r->host, .tap = &r->tap };
	r->b.conf.devices = 1;
	by_pkey_init(&r->b);
	r->tap = (struct by_pkey_tap){
		.of = &r->b, .tap.fd = t[0], .number = 5, .state = BY_PKEY_TAP_USED
	};
	r->kernel = t[1];
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	timer_cancel(&r->in.loop.timers, &r->b.again);
	timer_cancel(&r->in.loop.timers, &r->b.drain);
	helper_jobs_fini(&r->helper);
	if (r->tap.tap.fd >= 0)
		close(r->tap.tap.fd);
	close(r->kernel);
	close(r->helper.sock);
	close(r->served);
	tap_rx_fini(&r->in.tap_rx);
	pkt_pool_destroy(r->in.pool);
	loop_fini(&r->in.loop);
	free(r);
	return 0;
}

/*
 * Put @frames frames of the host into the TAP, where they wait to be read. Each frame consists of a
 * virtio-net header and an Ethernet frame.
 */
static void host_sends(struct rig *r, unsigned int frames)
{
	static const uint8_t frame[10 + 60];

	for (unsigned int k = 0; k < frames; k++)
		assert_int_equal(send(r->kernel, frame, sizeof(frame), 0), sizeof(frame));
}

static bool frame_waits(struct rig *r)
{
	uint8_t octet;

	return recv(r->tap.tap.fd, &octet, 1, MSG_PEEK) > 0;
}

static void park(struct rig *r, int err)
{
	struct helper_rsp rsp = { .err = err };

	by_pkey_release(&r->tap, &r->tap.tap);
	assert_int_equal(r->tap.state, BY_PKEY_TAP_RETURNS);
	assert_int_equal(recv(r->served, &r->req, sizeof(r->req), 0), sizeof(r->req));
	assert_int_equal(r->req.op, HELPER_TAP_PARK);
	assert_int_equal(r->req.ifindex, 5);
	rsp.seq = r->req.seq;
	assert_int_equal(send(r->served, &rsp, sizeof(rsp), 0), sizeof(rsp));
	assert_int_equal(netdev_helper_dispatch(&r->helper), 0);
}

/* Let time pass until the next timer fires. Returns false if there is no timer. */
static bool turn(struct rig *r)
{
	struct timers *t = &r->in.loop.timers;

	if (timers_next(t) == NS_NEVER)
		return false;
	r->in.loop.now = timers_next(t);
	timers_run(t, r->in.loop.now);
	return true;
}

/*
 * Frames that the host sent to one P_Key's interface must never be sent with another P_Key. So a
 * TAP must not become free for another P_Key before it is empty.
 */
static void test_H30_a_tap_is_free_when_no_frame_waits_in_it(void **state)
{
	struct rig *r = *state;
	unsigned int turns = 0;

	host_sends(r, 150);
	park(r, 0);
	for (; r->tap.state != BY_PKEY_TAP_FREE; turns++) {
		assert_int_equal(r->tap.state, BY_PKEY_TAP_DRAINS);
		assert_true(turn(r));
	}
	assert_false(frame_waits(r));
	/*
	 * The TAP must be read in several rounds of the loop, between which the loop serves other
	 * work.
	 */
	assert_true(turns >= 2);
	assert_false(turn(r));
}

static void test_H30_a_tap_is_not_free_while_there_is_no_memory_to_read_it(void **state)
{
	struct rig *r = *state;

	for (unsigned int k = 0; k < PKTS; k++) {
		r->taken[k] = pkt_alloc(r->in.pool);
		assert_non_null(r->taken[k]);
	}
	host_sends(r, 3);
	park(r, 0);
	for (unsigned int k = 0; k < 20; k++) {
		ns_t before = r->in.loop.now;

		assert_int_equal(r->tap.state, BY_PKEY_TAP_DRAINS);
		assert_true(frame_waits(r));
		assert_true(turn(r));
		/* the next round must not follow at once, because no packet descriptor is free */
		assert_true(k == 0 || r->in.loop.now > before);
	}
	for (unsigned int k = 0; k < PKTS; k++)
		pkt_free(r->taken[k]);
	assert_true(turn(r));
	assert_int_equal(r->tap.state, BY_PKEY_TAP_FREE);
	assert_false(frame_waits(r));
}

static void test_H30_a_tap_that_cannot_be_read_is_lost(void **state)
{
	struct rig *r = *state;

	close(r->tap.tap.fd);
	r->tap.tap.fd = open("/", O_RDONLY | O_CLOEXEC);
	park(r, 0);
	assert_int_equal(r->tap.state, BY_PKEY_TAP_LOST);
	assert_int_equal(r->tap.tap.fd, -1);
	assert_false(turn(r));
}

static void test_H30_a_tap_that_the_helper_lost_is_lost(void **state)
{
	struct rig *r = *state;

	park(r, -ENODEV);
	assert_int_equal(r->tap.state, BY_PKEY_TAP_LOST);
	assert_int_equal(r->tap.tap.fd, -1);
	assert_false(turn(r));
}

/*
 * The instance is stopping, and leaves all groups. No interface may get a TAP now, because an
 * interface that gets a TAP joins its broadcast group.
 */
static void test_H30_no_interface_gets_a_tap_after_a_stop_began(void **state)
{
	struct rig *r = *state;
	struct inst_iface i = { .by_pkey = &r->b, .host = &r->host, .inst = &r->in };

	list_add_tail(&r->host.ifaces, &i.on_host);
	by_pkey_stop(&r->b);
	host_sends(r, 100);
	park(r, 0);
	while (turn(r))
		;
	assert_int_equal(r->tap.state, BY_PKEY_TAP_FREE);
	assert_null(i.spare);
	list_del(&i.on_host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_H30_a_tap_is_free_when_no_frame_waits_in_it,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_H30_a_tap_is_not_free_while_there_is_no_memory_to_read_it, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_H30_no_interface_gets_a_tap_after_a_stop_began,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_H30_a_tap_that_cannot_be_read_is_lost, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_H30_a_tap_that_the_helper_lost_is_lost, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
