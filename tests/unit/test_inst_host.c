/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/host.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "os/clock.h"

/* Make a host that gets the kernel's events from a socket; @ret_kernel gets the kernel's end */
static void host_of_kernel(struct inst *in, struct inst_host *h, int *ret_kernel)
{
	struct netdev_ns_files files = { .igmp = -1, .igmp6 = -1, .rtnl = -1, .dump = -1 };
	int s[2];

	inst_init(in, &(struct inst_cfg){ 0 });
	assert_int_equal(loop_init(&in->loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s), 0);
	files.events = s[0];
	h->inst = in;
	h->net_fd = -1;
	assert_int_equal(host_use_files(h, &files), 0);
	*ret_kernel = s[1];
}

/* Run the loop once, and run the timers that are due at @now */
static void turn(struct inst *in, ns_t now)
{
	bool busy = false;

	assert_int_equal(loop_turn(&in->loop, &busy, 0), 0);
	while (timers_run(&in->loop.timers, now))
		;
}

static void refuse(int kernel, int error)
{
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr e;
	} m = { .nlh = { sizeof(m), NLMSG_ERROR, 0, 0, 0 }, .e = { .error = error } };

	assert_int_equal(send(kernel, &m, sizeof(m), 0), sizeof(m));
}

static unsigned int asked_for(int kernel)
{
	struct nlmsghdr nlh[8];

	return recv(kernel, nlh, sizeof(nlh), 0) > 0 ? nlh->nlmsg_type : 0;
}

/*
 * Events of the kernel were lost, so the host asks the kernel for the list of links, but the kernel
 * has no memory for an answer. The host must ask for the list again.
 */
static void test_host_whose_events_fail_asks_for_its_links_again(void **state)
{
	struct inst in;
	struct inst_host h = { .name = "h1" };
	ns_t now = clock_now();
	int kernel;

	(void)state;
	host_of_kernel(&in, &h, &kernel);
	h.events.dumping = 1;
	refuse(kernel, -ENOMEM);
	turn(&in, now);
	assert_int_equal(asked_for(kernel), 0);
	for (int i = 0; i < 3; i++) {
		now += NS_SEC(20);
		turn(&in, now);
		assert_int_equal(asked_for(kernel), RTM_GETLINK);
		refuse(kernel, -ENOMEM);
		turn(&in, now);
	}
	host_close_files(&h);
	assert_false(timer_armed(&h.events_timer));
	close(kernel);
	loop_fini(&in.loop);
}

/*
 * Events of the kernel are waiting when a stop begins. The host must not read them, because the
 * events would bring up interfaces that are leaving their groups.
 */
static void test_host_reads_no_events_after_a_stop_began(void **state)
{
	struct inst in;
	struct inst_host h = { .name = "h1" };
	int kernel;

	(void)state;
	host_of_kernel(&in, &h, &kernel);
	list_add_tail(&in.hosts, &h.link);
	refuse(kernel, -ENOMEM);
	h.events.dumping = 1;
	turn(&in, clock_now());
	assert_true(timer_armed(&h.events_timer));
	inst_leave(&in);
	assert_false(timer_armed(&h.events_timer));
	refuse(kernel, -ENOMEM);
	turn(&in, clock_now() + NS_SEC(60));
	assert_int_equal(asked_for(kernel), 0);
	host_close_files(&h);
	close(kernel);
	loop_fini(&in.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_whose_events_fail_asks_for_its_links_again),
		cmocka_unit_test(test_host_reads_no_events_after_a_stop_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
