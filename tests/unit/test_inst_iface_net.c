/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/iface_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "helper/priv.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "os/clock.h"
#include "util/be.h"

/*
 * Tests the settings that the helper makes for an interface. The test acts as the helper, at the
 * other end of a socket pair.
 */

struct rig {
	struct inst in;
	struct inst_host host;
	struct inst_iface iface;
	struct netdev_helper helper;
	int served; /* the helper's end of the socket pair */
	struct helper_req req; /* the last request to the helper */
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int s[2];

	if (!r || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s))
		return -1;
	inst_init(&r->in, &(struct inst_cfg){ 0 });
	if (loop_init(&r->in.loop))
		return -1;
	r->helper.sock = s[0];
	r->helper.pidfd = -1;
	r->served = s[1];
	helper_jobs_init(&r->helper);
	r->in.helper = r->host.helper = &r->helper;
	r->host.inst = r->iface.inst = &r->in;
	r->host.ns = 1;
	r->iface.host = &r->host;
	r->iface.ifindex = 7;
	iface_net_init(&r->iface);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	iface_net_fini(&r->iface);
	helper_jobs_fini(&r->helper);
	close(r->helper.sock);
	close(r->served);
	loop_fini(&r->in.loop);
	free(r);
	return 0;
}

/*
 * If @full is true, fill the helper's queue of jobs, so that the helper refuses further jobs.
 * Otherwise empty the queue again.
 */
static void queue_full(struct rig *r, bool full)
{
	if (full)
		r->helper.njobs += NETDEV_JOBS_MAX;
	else
		r->helper.njobs -= NETDEV_JOBS_MAX;
}

static bool next_request(struct rig *r)
{
	return recv(r->served, &r->req, sizeof(r->req), 0) == sizeof(r->req);
}

static void answer(struct rig *r)
{
	struct helper_rsp rsp = { .seq = r->req.seq, .value = 7 };

	assert_int_equal(send(r->served, &rsp, sizeof(rsp), 0), sizeof(rsp));
	assert_int_equal(netdev_helper_dispatch(&r->helper), 0);
}

static void later(struct rig *r)
{
	struct timers *t = &r->in.loop.timers;

	assert_true(timers_next(t) != NS_NEVER);
	r->in.loop.now = timers_next(t);
	timers_run(t, r->in.loop.now);
}

static void test_iface_net_neighbours_that_the_helper_does_not_take_are_deleted_later(void **state)
{
	static const uint8_t mac[2][RTNL_HW_MAX] = { { 6, 1 }, { 6, 2 } };
	struct rig *r = *state;

	queue_full(r, true);
	iface_net_neigh_gone(&r->iface, mac[0], 6);
	iface_net_neigh_gone(&r->iface, mac[1], 6);
	assert_false(next_request(r));
	later(r);
	assert_false(next_request(r));
	queue_full(r, false);
	later(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_DEL);
	assert_int_equal(r->req.hws.n, 2);
	assert_memory_equal(r->req.hws.hw, mac, sizeof(mac));
	assert_int_equal(r->iface.net.ngone, 0);
}

/*
 * While the helper deletes a neighbour from the kernel's table, the link forgets more neighbours
 * than .gone of struct iface_net can store. The next request must then be to delete all neighbours
 * that the kernel has learnt. Neighbours that the link forgets later must be deleted one by one
 * again.
 */
static void test_iface_net_all_neighbours_are_deleted_if_too_many_are_gone(void **state)
{
	uint8_t hw[RTNL_HW_MAX] = { 0 };
	struct rig *r = *state;

	iface_net_neigh_gone(&r->iface, hw, sizeof(hw));
	assert_true(next_request(r));
	for (unsigned int k = 1; k <= IFACE_GONE_MAX + 2; k++) {
		be32_put(hw, k);
		iface_net_neigh_gone(&r->iface, hw, sizeof(hw));
	}
	answer(r);
	queue_full(r, true);
	later(r);
	assert_false(next_request(r));
	queue_full(r, false);
	later(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_DEL);
	assert_int_equal(r->req.hws.n, 0);
	be32_put(hw, 0xabcd);
	iface_net_neigh_gone(&r->iface, hw, sizeof(hw));
	answer(r);
	later(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_DEL);
	assert_int_equal(r->req.hws.n, 1);
	assert_memory_equal(r->req.hws.hw[0], hw, sizeof(hw));
	answer(r);
	assert_false(next_request(r));
	later(r);
	assert_false(next_request(r));
}

/*
 * To delete neighbours, the helper has to search the kernel's whole neighbour table. With 150,000
 * entries, searches without pauses would keep the helper busy all the time. So after each search,
 * the next search must wait ten times as long as the last search took. Jobs for other settings must
 * not wait.
 */
static void test_iface_net_searches_of_a_large_table_have_pauses(void **state)
{
	static const uint8_t mac[RTNL_HW_MAX] = { 6, 1 };
	struct rig *r = *state;
	ns_t began;

	iface_net_neigh_gone(&r->iface, mac, 6);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_DEL);
	began = r->iface.net.asked_at -= NS_MSEC(500);
	iface_net_neigh_gone(&r->iface, mac, 6);
	answer(r);
	assert_false(next_request(r));
	assert_true(timers_next(&r->in.loop.timers) >= began + NS_MSEC(5500));
	iface_net_set_mtu(&r->iface, 1500);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_LINK_SET);
	answer(r);
	assert_false(next_request(r));
	later(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_DEL);
	r->iface.net.asked_at -= NS_SEC(3600);
	answer(r);
	assert_true(timers_next(&r->in.loop.timers) <= clock_now() + NS_SEC(10));
}

/*
 * The namespace exists again, so the addresses of the interface have to be set. At first the
 * helper's queue of jobs is full. So the requests must be sent later, in the order of the
 * addresses. Each request must wait until the helper has answered the request before it.
 */
static void test_iface_net_addresses_that_the_helper_does_not_take_are_added_later(void **state)
{
	struct rig *r = *state;

	r->iface.naddrs = 2;
	for (uint8_t k = 0; k < 2; k++)
		r->iface.addr[k] = (struct conf_addr){ 4, 24, { 10, 0, 0, k } };
	iface_net_came(&r->iface);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_TAP_RETURN);
	queue_full(r, true);
	answer(r);
	assert_false(next_request(r));
	queue_full(r, false);
	later(r);
	for (uint8_t k = 0; k < 2; k++) {
		assert_true(next_request(r));
		assert_int_equal(r->req.op, HELPER_ADDR_ADD);
		assert_int_equal(r->req.addr.ip.addr[3], k);
		answer(r);
	}
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_LINK_SET);
	assert_int_equal(r->req.link.set, RTNL_SET_UP);
}

/*
 * The link-local address was made from the port's LID, and this LID has changed. So the old address
 * must be deleted. Then the MTU changes twice, while the helper's queue of jobs is full. When the
 * queue has room, the request with the last MTU must be sent first, and then the request to delete
 * the old address.
 */
static void test_iface_net_an_address_that_the_helper_does_not_take_is_deleted_later(void **state)
{
	struct rig *r = *state;

	r->iface.net.wanted = IFACE_NET_LL_OLD;
	r->iface.net.linklocal[0] = 0xfe;
	queue_full(r, true);
	iface_net_set_mtu(&r->iface, 2044);
	iface_net_set_mtu(&r->iface, 1500);
	assert_false(next_request(r));
	later(r);
	assert_false(next_request(r));
	queue_full(r, false);
	later(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_LINK_SET);
	assert_int_equal(r->req.link.mtu, 1500);
	answer(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_ADDR_DEL);
	assert_int_equal(r->req.addr.ip.addr[0], 0xfe);
	answer(r);
	assert_false(next_request(r));
	assert_int_equal(timers_next(&r->in.loop.timers), NS_NEVER);
}

/*
 * As the test above, but here the helper's queue becomes full after the request with the MTU was
 * sent. The old address must be deleted when the queue has room again.
 */
static void test_iface_net_nothing_waits_for_ever_for_an_address_to_be_deleted(void **state)
{
	struct rig *r = *state;

	r->iface.net.wanted = IFACE_NET_LL_OLD;
	r->iface.net.linklocal[0] = 0xfe;
	iface_net_set_mtu(&r->iface, 1500);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_LINK_SET);
	queue_full(r, true);
	answer(r);
	assert_false(next_request(r));
	queue_full(r, false);
	later(r);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_ADDR_DEL);
}

/*
 * The secret of a stable interface identifier cannot be written, so the helper refuses each request
 * to bring back the TAP. The requests must become rarer, because the TAP appears and disappears
 * with each request.
 */
static void test_iface_net_a_tap_that_is_refused_is_asked_for_less_and_less_often(void **state)
{
	static const unsigned int want[] = { 2, 4, 8, 16, 32, 64, 64 };
	struct rig *r = *state;

	iface_net_came(&r->iface);
	for (unsigned int k = 0; k < ARRAY_SIZE(want); k++) {
		struct helper_rsp rsp = { .err = -EROFS };
		ns_t before = r->in.loop.now;

		assert_true(next_request(r));
		assert_int_equal(r->req.op, HELPER_TAP_RETURN);
		rsp.seq = r->req.seq;
		assert_int_equal(send(r->served, &rsp, sizeof(rsp), 0), sizeof(rsp));
		assert_int_equal(netdev_helper_dispatch(&r->helper), 0);
		later(r);
		assert_int_equal(r->in.loop.now - before, NS_SEC(want[k]));
	}
	assert_true(next_request(r));
	answer(r);
	assert_int_equal(r->iface.net.refusals, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_iface_net_neighbours_that_the_helper_does_not_take_are_deleted_later,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_iface_net_all_neighbours_are_deleted_if_too_many_are_gone, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_iface_net_searches_of_a_large_table_have_pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_iface_net_addresses_that_the_helper_does_not_take_are_added_later,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_iface_net_an_address_that_the_helper_does_not_take_is_deleted_later,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_iface_net_nothing_waits_for_ever_for_an_address_to_be_deleted, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_iface_net_a_tap_that_is_refused_is_asked_for_less_and_less_often,
			setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
