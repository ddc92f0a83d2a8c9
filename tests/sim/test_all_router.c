/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Host 0 is a multicast router on a link (RFC 4391 §11): it must receive every IP multicast group
 * that any other host receives, from every sender, and join these groups at the SA as a NonMember.
 * There are so many groups that the SA's answer with the list of groups has several RMPP segments.
 */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "ipoib/link.h"
#include "sm/group.h"
#include "unit/all_lab_check.h"

#define HOSTS 5
/* 60 records of 56 octets: the SA's answer to the router's query has several RMPP segments */
#define GROUPS 60

static const bool all[HOSTS] = { true, true, true, true, true };
static struct lab lab;
static unsigned int got[HOSTS]; /* number of packets to groups that each host received */

static void on_rx(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		  const uint8_t *data, size_t len)
{
	got[to->index]++;
}

static void begin(unsigned int routers)
{
	struct topo *t = topo_gen_demo(HOSTS, 3);

	lab_create(&lab, &(struct lab_cfg){ .topo = t, .seed = 1, .routers = routers });
	topo_free(t);
	lab.rx = on_rx;
	lab_wait_up(&lab, all, NS_SEC(30), 0, "at the start");
	lab_run(&lab, NS_SEC(10)); /* time for the list of groups, and for the subscriptions */
}

static void group_addr(uint8_t ret[4], unsigned int i)
{
	be32_put(ret, 0xef010000u + i);
}

static void member(unsigned int host, unsigned int i, bool in)
{
	struct ipoib_link *l = lab.host[host].link;
	uint8_t addr[4];

	group_addr(addr, i);
	if (in)
		assert_int_equal(ipoib_mcast_add(l, IPOIB_IPV4, addr, lab.now), 0);
	else
		assert_int_equal(ipoib_mcast_del(l, IPOIB_IPV4, addr, lab.now), 0);
}

/* Let host 4 send one packet to group @i. Returns the number of copies that the router receives. */
static unsigned int router_hears(unsigned int i)
{
	uint8_t addr[4];

	group_addr(addr, i);
	memset(got, 0, sizeof(got));
	lab_send_group(&lab.host[4], addr, "x", 1);
	lab_run(&lab, NS_SEC(3));
	return got[0];
}

static uint8_t state_in(const ib_gid *mgid)
{
	struct sm_group *g = sm_group_find(lab.sm, mgid);
	uint64_t guid = ib_gid_guid(&sac_port(lab.host[0].sac)->gid);
	struct sm_mcmember *m = g ? sm_group_member(g, guid) : NULL;

	return m ? m->join_state : 0;
}

/* Returns the JoinState of the router in group @i; 0 also if the group does not exist. */
static uint8_t router_state(unsigned int i)
{
	uint8_t addr[4];
	ib_gid mgid;

	group_addr(addr, i);
	assert_int_equal(mgid_from_ipv4(&mgid, addr, 0xffff, 2), 0);
	return state_in(&mgid);
}

static void test_R70_router_receives_groups_that_were_there(void **state)
{
	begin(0);
	for (unsigned int i = 0; i < GROUPS; i++)
		member(2, i, true);
	lab_run(&lab, NS_SEC(5));
	assert_int_equal(router_hears(7), 0); /* host 0 is not a router yet */
	lab.host[0].router = true;
	lab_host_restart(&lab.host[0]);
	lab_run(&lab, NS_SEC(10));
	for (unsigned int i = 0; i < GROUPS; i++)
		assert_int_equal(router_state(i), MCM_JOIN_NON);
	assert_int_equal(router_hears(7), 1);
	assert_int_equal(got[2], 1);
	assert_int_equal(router_hears(GROUPS - 1), 1);
	lab_check_beliefs(&lab, all, 0);
	lab_destroy(&lab);
}

static void test_R70_router_follows_groups_that_are_made_and_deleted(void **state)
{
	static const uint8_t v6[16] = { 0xff, 0x05, [14] = 0x43, [15] = 0x91 };
	ib_gid mgid;

	begin(1);
	assert_int_equal(mgid_from_ipv6(&mgid, v6, 0xffff, 2), 0);
	member(2, 1, true);
	assert_int_equal(ipoib_mcast_add(lab.host[3].link, IPOIB_IPV6, v6, lab.now), 0);
	lab_run(&lab, NS_SEC(3));
	assert_int_equal(router_state(1), MCM_JOIN_NON);
	assert_int_equal(router_hears(1), 1);
	assert_int_equal(state_in(&mgid), MCM_JOIN_NON);
	/*
	 * When the last FullMember leaves, the SA deletes the group, although the router is still a
	 * NonMember. Host 4, which has joined the group as a sender, becomes idle and leaves, too.
	 */
	member(2, 1, false);
	lab_run(&lab, NS_SEC(200));
	assert_int_equal(router_state(1), 0);
	assert_int_equal(state_in(&mgid), MCM_JOIN_NON);
	/*
	 * When a host joins the group again, the router must join as a NonMember again, and receive
	 * the group.
	 */
	member(3, 1, true);
	lab_run(&lab, NS_SEC(3));
	assert_int_equal(router_hears(1), 1);
	lab_check_beliefs(&lab, all, 0);
	lab_destroy(&lab);
}

/*
 * A Report of trap 67 (group deleted) about an earlier group of this MGID is delayed, so that it
 * arrives after the Report of trap 66 (group created). The router leaves, and must find the group
 * again.
 */
static void test_R70_router_that_left_by_a_late_trap_67_finds_the_group_again(void **state)
{
	struct ipoib_link *l;
	uint8_t addr[4];
	ib_gid mgid;

	begin(1);
	member(2, 1, true);
	lab_run(&lab, NS_SEC(3));
	assert_int_equal(router_state(1), MCM_JOIN_NON);
	l = lab.host[0].link;
	group_addr(addr, 1);
	assert_int_equal(mgid_from_ipv4(&mgid, addr, 0xffff, 2), 0);
	ipoib_link_event(&l->user, SAC_EV_GROUP_DELETED, &mgid, lab.now);
	lab_run(&lab, NS_SEC(1));
	assert_int_equal(router_state(1), 0);
	lab_run(&lab, IPOIB_ABSENT_TTL_BLIND);
	assert_int_equal(router_state(1), MCM_JOIN_NON);
	assert_int_equal(router_hears(1), 1);
	lab_check_beliefs(&lab, all, 0);
	lab_destroy(&lab);
}

/*
 * RFC 4391 §10: a packet to a group that has no receivers is sent to the all-routers group, so the
 * router must receive this packet.
 */
static void test_R61_R70_router_receives_what_has_no_group(void **state)
{
	begin(1);
	assert_int_equal(router_hears(5), 1);
	assert_int_equal(router_state(5), 0);
	lab_destroy(&lab);
	begin(0);
	assert_int_equal(router_hears(5), 0);
	lab_destroy(&lab);
}

static void test_R70_router_is_there_again_after_another_sm(void **state)
{
	begin(1);
	member(2, 1, true);
	lab_run(&lab, NS_SEC(3));
	lab_sm_stop(&lab);
	lab_run(&lab, NS_SEC(2));
	lab_sm_start(&lab, NULL, NULL);
	lab_run(&lab, NS_SEC(40));
	assert_int_equal(router_state(1), MCM_JOIN_NON);
	assert_int_equal(router_hears(1), 1);
	lab_check_beliefs(&lab, all, 0);
	lab_destroy(&lab);
}

/* Return the MGIDs of the link's all-routers groups: [0] for IPv4, and [1] for IPv6. */
static void all_routers_mgids(ib_gid ret[2])
{
	static const uint8_t v4[4] = { 224, 0, 0, 2 }, v6[16] = { 0xff, 0x02, [15] = 2 };

	assert_int_equal(mgid_from_ipv4(&ret[0], v4, 0xffff, 2), 0);
	assert_int_equal(mgid_from_ipv6(&ret[1], v6, 0xffff, 2), 0);
}

static void test_R70_link_becomes_a_router_and_ends_that_while_up(void **state)
{
	struct ipoib_link *l;
	ib_gid all_routers[2];

	begin(0);
	all_routers_mgids(all_routers);
	l = lab.host[0].link;
	member(2, 1, true);
	member(0, 2, true);
	lab_run(&lab, NS_SEC(3));
	for (int round = 0; round < 2; round++) {
		assert_int_equal(ipoib_link_set_router(l, true, lab.now), 0);
		assert_int_equal(ipoib_link_set_router(l, true, lab.now), 0);
		lab_run(&lab, NS_SEC(10));
		assert_int_equal(router_state(1), MCM_JOIN_NON);
		assert_int_equal(router_state(2), MCM_JOIN_FULL | MCM_JOIN_NON);
		assert_int_equal(router_hears(1), 1);
		for (int i = 0; i < 2; i++)
			assert_true(state_in(&all_routers[i]) & MCM_JOIN_FULL);
		assert_int_equal(ipoib_link_set_router(l, false, lab.now), 0);
		lab_run(&lab, NS_SEC(10));
		assert_int_equal(router_state(1), 0);
		assert_int_equal(router_state(2), MCM_JOIN_FULL);
		assert_int_equal(router_hears(1), 0);
		assert_int_equal(router_hears(2), 1);
		for (int i = 0; i < 2; i++)
			assert_int_equal(state_in(&all_routers[i]), 0);
		/* groups are created and deleted while the host is not a router */
		member(2, 3, round == 0);
		lab_run(&lab, NS_SEC(3));
		assert_int_equal(router_state(3), 0);
	}
	lab_check_beliefs(&lab, all, 0);
	lab_destroy(&lab);
}

/*
 * Groups are created and deleted while packets are lost. When the losses have ended, the router
 * must receive exactly the groups that exist.
 */
static void one_seed(uint64_t seed)
{
	bool in[20] = { false };
	struct prng r;

	prng_seed(&r, seed);
	begin(1);
	lab_faults_on(&lab);
	for (int step = 0; step < 100; step++) {
		unsigned int i = prng_below(&r, 20);

		in[i] = !in[i];
		member(2, i, in[i]);
		lab_run(&lab, NS_MSEC(prng_below(&r, 400)));
	}
	lab_faults_off(&lab);
	lab_run(&lab, NS_SEC(400)); /* the router lists the groups again within 300 s */
	for (unsigned int i = 0; i < 20; i++)
		if (router_state(i) != (in[i] ? MCM_JOIN_NON : 0))
			fail_msg("seed %llu: group %u: the router has JoinState %u",
				 (unsigned long long)seed, i, router_state(i));
	lab_check_beliefs(&lab, all, seed);
	lab_destroy(&lab);
}

static void test_R70_router_under_loss(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		one_seed(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R70_router_receives_groups_that_were_there),
		cmocka_unit_test(test_R70_router_follows_groups_that_are_made_and_deleted),
		cmocka_unit_test(test_R70_router_that_left_by_a_late_trap_67_finds_the_group_again),
		cmocka_unit_test(test_R61_R70_router_receives_what_has_no_group),
		cmocka_unit_test(test_R70_router_is_there_again_after_another_sm),
		cmocka_unit_test(test_R70_link_becomes_a_router_and_ends_that_while_up),
		cmocka_unit_test(test_R70_router_under_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
