/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/by_pkey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "inst_rig.h"
#include "fabric/fault.h"
#include "helper/priv.h"
#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"

/*
 * `uipoib wait` and `run -- CMD` wait until interfaces count as up. These tests check when an
 * interface counts as up if its section has an interface for each P_Key. The test runs a soft
 * fabric with an SM and an SA, in which the P_Keys 0x7fff and 0x14 have a broadcast group, and 0x18
 * has none. The helper gets requests and never answers, so the test sets the carrier. Time is
 * virtual.
 */

#define DEVICES 3

struct rig {
	struct inst in;
	struct inst_host host;
	struct by_pkey b;
	struct by_pkey_tap tap[DEVICES];
	struct netdev_helper helper;
	int served; /* the helper's end of the socket pair */
	ns_t now;
};

static void run_for(struct rig *r, ns_t span)
{
	ns_t end = r->now + span;

	for (;;) {
		ns_t next;

		r->in.loop.now = r->now;
		for (int i = 0; i < 10000 && inst_work(&r->in, r->now); i++)
			;
		next = timers_next(&r->in.loop.timers);
		if (next > end)
			break;
		r->now = next > r->now ? next : r->now;
	}
	r->now = r->in.loop.now = end;
}

static int add_fabric(struct rig *r)
{
	static const char text[] = "Default=0x7fff, ipoib : ALL=full;\n"
				   "A=0x0014, ipoib : ALL=full;\nE=0x0018 : ALL=full;\n";
	char path[] = "/tmp/uipoib-test-XXXXXX", err[INST_ERR_MAX];
	struct conf_fabric cfg = {
		.name = "lab", .crc = CONF_CRC_FULL, .sm_embedded = true, .partitions = path
	};
	struct topo *t = topo_gen_demo(4, 2);
	int fd = mkstemp(path), status;

	if (fd < 0 || write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1)
		return -EIO;
	close(fd);
	status = t ? fab_add(&r->in, &cfg, t, err) : -ENOMEM;
	unlink(path);
	topo_free(t);
	return status;
}

static int setup(void **state)
{
	const struct conf_port where = { .fabric = "lab", .node = "Hca1", .port = 1 };
	struct rig *r = calloc(1, sizeof(*r));
	char err[INST_ERR_MAX];
	int s[2];

	if (!r || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s))
		return -1;
	if (inst_rig_init(&r->in))
		return -1;
	r->now = r->in.loop.now;
	r->helper.sock = s[0];
	r->helper.pidfd = -1;
	r->served = s[1];
	helper_jobs_init(&r->helper);
	r->in.helper = &r->helper;
	r->host.inst = &r->in;
	r->host.helper = &r->helper;
	r->host.ns = 1;
	r->host.igmp = r->host.igmp6 = -1;
	snprintf(r->host.name, sizeof(r->host.name), "h1");
	list_init(&r->host.ifaces);
	rtnl_attach(&r->host.rtnl, -1);
	if (add_fabric(r) || port_get(&r->in, &where, &r->b.port, err))
		return -1;
	r->b.inst = &r->in;
	r->b.host = &r->host;
	r->b.conf = (struct conf_iface){ .name = "ib0",
					 .devices = DEVICES,
					 .profile = ipoib_profile_find("hld2002"),
					 .mcast_timeout = 100,
					 .path_timeout = 100 };
	r->b.tap = r->tap;
	by_pkey_init(&r->b);
	for (unsigned int k = 0; k < DEVICES; k++)
		r->tap[k] = (struct by_pkey_tap){ .of = &r->b,
						  .tap.fd = -1,
						  .state = BY_PKEY_TAP_USED };
	*state = r;
	run_for(r, NS_SEC(5));
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	struct inst_iface *i, *tmp;

	list_for_each_safe (i, tmp, &r->in.ifaces, link) {
		ifc_set_up(&i->ifc, false, r->now);
		ifc_actions(&i->ifc, r->now);
		i->spare = NULL;
		iface_destroy(i);
	}
	run_for(r, NS_SEC(1));
	port_close(r->b.port);
	for (unsigned int k = 0; k < r->in.nfabs; k++)
		fab_destroy(r->in.fab[k]);
	free(r->in.fab);
	helper_jobs_fini(&r->helper);
	close(r->helper.sock);
	close(r->served);
	pkt_pool_destroy(r->in.pool);
	loop_fini(&r->in.loop);
	free(r);
	return 0;
}

/* Add the interface of a P_Key. The interface gets TAP number @k, or no TAP if @k is DEVICES */
static struct inst_iface *add(struct rig *r, uint16_t pkey, unsigned int k)
{
	struct conf_iface c = r->b.conf;
	struct inst_iface *i;

	c.profile->ifname(c.name, 0, 1, pkey);
	c.pkey = pkey;
	assert_int_equal(iface_add_pkey(&r->b, &c, &i), 0);
	if (k < DEVICES)
		i->spare = &r->tap[k];
	ifc_set_up(&i->ifc, true, r->now);
	return i;
}

static bool waited_for(struct rig *r, const struct inst_iface *i)
{
	char why[INST_ERR_MAX] = "";
	bool up = by_pkey_up(&r->b, why);

	if (!up && !strstr(why, i->name))
		fail_msg("'%s' does not name %s", why, i->name);
	return !up;
}

static struct inst_iface *add_up(struct rig *r)
{
	struct inst_iface *i = add(r, 0xffff, 0);

	run_for(r, NS_SEC(1));
	assert_true(ipoib_link_is_up(i->ifc.ipoib));
	i->carrier = true;
	assert_true(by_pkey_up(&r->b, NULL));
	return i;
}

static unsigned int fault(struct rig *r, const char *text)
{
	struct fault_spec spec;
	unsigned int id;
	char err[128];

	assert_int_equal(fault_parse(&spec, text, err, sizeof(err)), 0);
	assert_int_equal(fabric_fault_add(fabric_node_port(r->b.port->node, 1), &spec, &id), 0);
	return id;
}

/*
 * The first join of a partition's broadcast group got no answer. This does not mean that the group
 * is missing, so the interface of this partition must still be waited for.
 */
static void test_by_pkey_waits_for_a_partition_whose_first_join_was_lost(void **state)
{
	struct rig *r = *state;
	uint64_t changes;
	struct inst_iface *i;
	unsigned int id;

	add_up(r);
	id = fault(r, "cut mad");
	i = add(r, 0x8014, 1);
	run_for(r, NS_MSEC(300));
	assert_true(ipoib_link_stats(i->ifc.ipoib)->joins_failed > 0);
	assert_true(waited_for(r, i));
	assert_int_equal(fabric_fault_del(r->in.fab[0]->fabric, id, r->now), 0);
	changes = r->in.link_changes;
	run_for(r, NS_SEC(60));
	assert_true(ipoib_link_is_up(i->ifc.ipoib));
	assert_true(r->in.link_changes > changes); /* `monitor` compares the states only then */
	/* the interface must also be waited for until its device has carrier */
	assert_true(waited_for(r, i));
	i->carrier = true;
	assert_true(by_pkey_up(&r->b, NULL));
}

static void test_by_pkey_does_not_wait_for_a_partition_without_a_group(void **state)
{
	struct rig *r = *state;
	struct inst_iface *i;

	add_up(r);
	i = add(r, 0x8018, 1);
	assert_true(waited_for(r, i)); /* the SA has not answered yet */
	run_for(r, NS_SEC(2));
	assert_true(by_pkey_up(&r->b, NULL));
	/*
	 * Now the SA does not answer, so it is not known whether the group exists. The interface
	 * must be waited for.
	 */
	fault(r, "cut mad");
	run_for(r, NS_SEC(60));
	assert_true(waited_for(r, i));
}

static void test_by_pkey_waits_for_a_device_that_is_about_to_be_free(void **state)
{
	struct rig *r = *state;
	struct inst_iface *i;

	add_up(r);
	i = add(r, 0x8014, DEVICES);
	run_for(r, NS_SEC(1));
	/* no TAP will be free for interface i, so nothing is waited for */
	assert_true(by_pkey_up(&r->b, NULL));
	r->tap[2].state = BY_PKEY_TAP_RETURNS;
	assert_true(waited_for(r, i));
	r->tap[2].state = BY_PKEY_TAP_DRAINS;
	assert_true(waited_for(r, i));
	r->tap[2].state = BY_PKEY_TAP_LOST;
	assert_true(by_pkey_up(&r->b, NULL));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_by_pkey_waits_for_a_partition_whose_first_join_was_lost),
		CASE(test_by_pkey_does_not_wait_for_a_partition_without_a_group),
		CASE(test_by_pkey_waits_for_a_device_that_is_about_to_be_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
