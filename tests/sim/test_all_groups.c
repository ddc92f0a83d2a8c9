/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Instances read the kernel's lists of multicast groups (/proc/net/igmp and igmp6). The list of a
 * host that has joined 40,000 groups must not delay the other hosts.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/iface_groups.h"
#include "inst/inst.h"
#include "unit/all_lab.h"

#define GROUPS 40000
#define MOST_AT_ONCE (16 * 1024) /* most octets that may be read between two pauses */

/*
 * Return a file with the content of /proc/net/igmp on a host that joined @n groups on interface 2.
 */
static int igmp_of(unsigned int n)
{
	int fd = memfd_create("igmp", 0);

	assert_true(fd >= 0);
	dprintf(fd,
		"Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n2\tuib0      : %u "
		"     V3\n",
		n);
	for (unsigned int k = 0; k < n; k++)
		dprintf(fd, "\t\t\t\t%08X     1 0:00000000\t\t0\n", (k << 8) + 0xef);
	return fd;
}

/*
 * The instance reads the kernel's list of groups every two seconds. It must read a long list in
 * pieces with pauses, because the kernel takes 76 to 108 ms for a read of the whole list.
 */
static void test_I30_a_long_list_is_read_in_pieces_with_pauses(void **state)
{
	struct inst_host host = { .igmp = igmp_of(GROUPS), .igmp6 = -1 };
	struct inst_iface *i = calloc(1, sizeof(*i));
	struct topo *t = topo_gen_demo(2, 1);
	struct inst *in = calloc(1, sizeof(*in));
	off_t size = lseek(host.igmp, 0, SEEK_END), before = 0;
	unsigned int rounds = 0;
	struct lab lab;
	ns_t now;

	(void)state;
	assert_true(i && in && size > GROUPS);
	lab_create(&lab, &(struct lab_cfg){ .topo = t, .seed = 1 });
	topo_free(t);
	lab_run(&lab, NS_SEC(5));
	i->inst = in;
	i->host = &host;
	i->ifindex = 2;
	i->ifc.eth = lab.host[0].ifc.eth;
	now = lab.now;
	iface_groups_init(i);
	iface_groups_start(i, now);
	do {
		timers_run(&in->loop.timers, now);
		if (i->groups.reading && !i->groups.v6) {
			assert_in_range(i->groups.reader.off - before, 1, MOST_AT_ONCE);
			before = i->groups.reader.off;
		}
		assert_true(timers_next(&in->loop.timers) >=
			    now + NS_MSEC(10)); /* the event loop does other work in this pause */
		now = timers_next(&in->loop.timers);
		rounds++;
	} while (i->groups.reading);
	assert_in_range(rounds, size / MOST_AT_ONCE, GROUPS);
	iface_groups_stop(i);
	lab_destroy(&lab);
	close(host.igmp);
	timers_fini(&in->loop.timers);
	free(in);
	free(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I30_a_long_list_is_read_in_pieces_with_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
