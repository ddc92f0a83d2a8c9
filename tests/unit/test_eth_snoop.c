/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/group.h"
#include "eth/held.h"
#include "unit/eth_report.h"

static const uint8_t all_nodes6[16] = { 0xff, 2, [15] = 1 };
static const uint8_t group_mac[6] = { 1, 0, 0x5e, 1, 2, 3 };
static const uint8_t group6_mac[6] = { 0x33, 0x33, 0, 0, 0, 9 };

static const uint8_t g1[4] = { 239, 1, 2, 3 }, g2[4] = { 239, 1, 2, 4 };
static const uint8_t h1[16] = { 0xff, 5, [15] = 9 };

/* --- joins */

static bool member(const uint8_t *group, bool v6)
{
	struct sa_group *g;
	ib_gid mgid;

	if (v6)
		assert_int_equal(mgid_from_ipv6(&mgid, group, RIG_PKEY, 2), 0);
	else
		assert_int_equal(mgid_from_ipv4(&mgid, group, RIG_PKEY, 2), 0);
	g = sa_group_find(&er.r.s.sa, &mgid);
	return g && (g->have & MCM_JOIN_FULL) && rig_attached(&er.r, &mgid, g->rec.mlid) == 1;
}

static void tx4(const uint8_t *b, size_t n)
{
	er_tx(group_mac, ETH_P_IPV4, b, n);
}

static void report(uint8_t type, const uint8_t group[4])
{
	uint8_t b[64];

	tx4(b, report_igmp(b, type, group));
}

static void report3(uint8_t type, uint16_t nsrc, const uint8_t group[4])
{
	struct report_rec r = { .type = type, .nsrc = nsrc };
	uint8_t b[256];

	memcpy(r.group, group, 4);
	tx4(b, report_igmp3(b, &r, 1));
}

static void sync4(const uint8_t (*v4)[4], unsigned int n)
{
	er_groups_sync(v4, n, NULL, 0);
	er_run(NS_MSEC(10));
}

/*
 * Make the rig. Also make the groups 224.0.0.2 and 224.0.0.22, to which hosts send reports, so that
 * reports can be sent.
 */
static void begin(void)
{
	er_init();
	rig_sa_make(&er.r, 0xe0000002);
	rig_sa_make(&er.r, 0xe0000016);
}

static void test_I30_all_systems_are_joined_unasked(void **state)
{
	static const uint8_t all4[4] = { 224, 0, 0, 1 };

	er_init();
	assert_true(member(all4, false));
	assert_true(member(all_nodes6, true));
	sync4(NULL, 0); /* the interface must stay a member nevertheless */
	report(V2_LEAVE, all4);
	er_run(NS_SEC(300));
	sync4(NULL, 0);
	assert_true(member(all4, false));
	assert_true(member(all_nodes6, true));
	er_fini();
}

static void test_M19_report_waits_for_the_join(void **state)
{
	begin();
	report(V2_REPORT, g1);
	assert_int_equal(er.nsent, 0);
	assert_false(member(g1, false));
	er_run(NS_MSEC(10));
	assert_true(member(g1, false));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].data[4 + 20], V2_REPORT);
	assert_int_equal(eth_if_stats(er.e)->igmp, 1);
	/* the group is joined already, so the repeated report is sent at once */
	report(V2_REPORT, g1);
	assert_int_equal(er.nsent, 2);
	er_fini();
}

static void test_M19_mld_report_waits_for_the_join(void **state)
{
	struct report_rec r = { TO_EX, 0, 0, { 0xff, 5, [15] = 9 } };
	uint8_t b[256];
	ib_gid mgid;

	begin();
	assert_int_equal(mgid_from_ipv6(&mgid, report_mldv2_dst, RIG_PKEY, 2), 0);
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	er_tx(group6_mac, ETH_P_IPV6_, b, report_mld2(b, &r, 1));
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(10));
	assert_true(member(h1, true));
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, 4 + 40 + 8 + 8 + 20);
	assert_int_equal(eth_if_stats(er.e)->mld, 1);
	er_fini();
}

static void test_several_groups_of_a_report_are_all_waited_for(void **state)
{
	static const struct report_rec r[] = { { TO_EX, 0, 0, { 239, 1, 2, 3 } },
					       { TO_EX, 0, 0, { 239, 1, 2, 4 } } };
	uint8_t b[256];

	begin();
	tx4(b, report_igmp3(b, r, 2));
	er_run(NS_MSEC(10));
	assert_true(member(g1, false));
	assert_true(member(g2, false));
	assert_int_equal(er.nsent, 1);
	er_fini();
}

static void test_report_goes_out_after_two_seconds_anyway(void **state)
{
	begin();
	er.no_ready = true;
	report3(TO_EX, 0, g1);
	er_run(NS_MSEC(1000));
	/*
	 * each report must be sent two seconds after it came from the TAP, even if the join of its
	 * group has not ended
	 */
	report3(TO_EX, 0, g2);
	er_run(NS_MSEC(999));
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(2));
	assert_int_equal(er.nsent, 1);
	assert_memory_equal(er.sent[0].data + 4 + 24 + 8 + 4, g1, 4);
	er_run(NS_MSEC(998));
	assert_int_equal(er.nsent, 1);
	er_run(NS_MSEC(2));
	assert_int_equal(er.nsent, 2);
	er_fini();
}

/* The SA does not answer the join. The interface must send the report when the join has failed. */
static void test_unanswered_join_lets_the_report_go(void **state)
{
	begin();
	report3(TO_EX, 0, g2); /* makes the interface join 224.0.0.22, to which reports are sent */
	er_run(NS_MSEC(10));
	er_clear();
	er.r.s.sa.deaf = true;
	report3(TO_EX, 0, g1);
	er_run(NS_MSEC(1900));
	assert_int_equal(er.nsent, 1);
	er_fini();
}

static void test_refused_join_lets_the_report_go(void **state)
{
	begin();
	rig_sa_make(&er.r, 0xef010203)->refuse = SA_STATUS_NO_RESOURCES;
	report3(TO_EX, 0, g1);
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(100));
	assert_int_equal(er.nsent, 1);
	er_fini();
}

/* A report that leaves a group must not overtake an earlier report that joins one. */
static void test_reports_keep_their_order(void **state)
{
	static const uint8_t want[] = { TO_EX, TO_IN, TO_EX, IS_EX };

	begin();
	report3(TO_EX, 0, g2);
	/* the link has joined g2 now, so a report about g2 alone would be sent at once */
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	er_clear();
	report3(TO_EX, 0, g1);
	report3(TO_IN, 1, g2);
	report3(TO_EX, 0, g2);
	report3(IS_EX, 0, g1);
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, ARRAY_SIZE(want));
	for (unsigned int i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(er.sent[i].data[4 + 24 + 8], want[i]);
	er_fini();
}

static void test_leave_releases_the_join_it_undoes(void **state)
{
	begin();
	report3(TO_EX, 0, g1);
	assert_int_equal(er.nsent, 0);
	report3(TO_IN, 0, g1);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 2);
	assert_int_equal(er.sent[0].data[4 + 24 + 8], TO_EX);
	assert_int_equal(er.sent[1].data[4 + 24 + 8], TO_IN);
	assert_false(member(g1, false));
	er_fini();
}

static void test_too_many_held_reports_are_dropped(void **state)
{
	begin();
	er.r.s.sa.deaf = true;
	for (unsigned int i = 0; i < ETH_HELD_MAX + 5; i++)
		report3(TO_EX, 0, g1);
	assert_int_equal(er_drops(ETH_DROP_HELD), 5);
	assert_int_equal(er_drops_sum(), 5);
	er.r.s.sa.deaf = false;
	er_run(NS_SEC(20));
	assert_int_equal(er.nsent, ETH_HELD_MAX);
	er_fini();
}

static void test_held_reports_are_dropped_with_the_tap(void **state)
{
	begin();
	report3(TO_EX, 0, g1);
	report3(TO_EX, 0, g2);
	eth_if_set_up(er.e, false, er.r.s.now);
	assert_int_equal(er_drops(ETH_DROP_HELD), 2);
	er_run(NS_SEC(5));
	assert_int_equal(er.nsent, 0);
	assert_false(member(g1, false));
	er_fini();
}

static void test_leave_by_each_version(void **state)
{
	begin();
	report(V2_REPORT, g1);
	er_run(NS_MSEC(10));
	report(V2_LEAVE, g1);
	er_run(NS_MSEC(10));
	assert_false(member(g1, false));
	report3(IS_EX, 0, g1);
	er_run(NS_MSEC(10));
	assert_true(member(g1, false));
	report3(BLOCK, 2, g1); /* blocks only the listed sources, so g1 must stay joined */
	er_run(NS_MSEC(10));
	assert_true(member(g1, false));
	report3(TO_IN, 0, g1);
	er_run(NS_MSEC(10));
	assert_false(member(g1, false));
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

static void test_groups_that_never_appear_on_a_link_are_not_joined(void **state)
{
	static const uint8_t node[16] = { 0xff, 1, [15] = 9 }, uni[16] = { 0x20, 1, [15] = 9 };
	static const uint8_t uni4[4] = { 10, 1, 2, 3 };
	struct ipoib_link_info a, b;
	struct report_rec r = { .type = TO_EX };
	uint8_t o[256];

	begin();
	ipoib_link_info(er.r.link, &a);
	memcpy(r.group, node, 16);
	er_tx(group6_mac, ETH_P_IPV6_, o, report_mld2(o, &r, 1));
	memcpy(r.group, uni, 16);
	er_tx(group6_mac, ETH_P_IPV6_, o, report_mld2(o, &r, 1));
	report3(TO_EX, 0, uni4);
	er_groups_sync(&uni4, 1, &node, 1);
	er_run(NS_MSEC(10));
	ipoib_link_info(er.r.link, &b);
	/* The only new groups are those to which the reports were sent, 224.0.0.22 and ff02::16. */
	assert_int_equal(b.groups, a.groups + 2);
	er_fini();
}

/* --- the kernel's lists */

static void test_I30_sync_joins_what_snooping_missed_and_leaves_what_is_gone(void **state)
{
	static const uint8_t list[2][4] = { { 239, 1, 2, 3 }, { 239, 1, 2, 4 } };

	begin();
	sync4(list, 2);
	assert_true(member(g1, false));
	assert_true(member(g2, false));
	sync4(list + 1, 1);
	assert_false(member(g1, false));
	assert_true(member(g2, false));
	er_groups_sync(NULL, 0, &h1, 1);
	er_run(NS_MSEC(10));
	assert_false(member(g2, false));
	assert_true(member(h1, true));
	er_fini();
}

/*
 * A host may report a group that is not in the kernel's list (yet). The interface must stay a
 * member for 260 s after each report.
 */
static void test_I30_reported_group_outlives_the_list(void **state)
{
	begin();
	report(V2_REPORT, g1);
	er_run(NS_SEC(200));
	sync4(NULL, 0);
	assert_true(member(g1, false));
	report(V2_REPORT, g1); /* as the answer to a query */
	er_run(NS_SEC(259));
	sync4(NULL, 0);
	assert_true(member(g1, false));
	er_run(NS_SEC(2));
	sync4(NULL, 0);
	assert_false(member(g1, false));
	er_fini();
}

/*
 * A group was in the kernel's list and is now missing from this list. The interface must leave the
 * group, although no report has announced a leave.
 */
static void test_I30_list_is_the_last_word_on_what_it_had(void **state)
{
	begin();
	report(V2_REPORT, g1);
	er_run(NS_MSEC(10));
	sync4(&g1, 1);
	assert_true(member(g1, false));
	sync4(NULL, 0);
	assert_false(member(g1, false));
	er_fini();
}

/*
 * A report announces the leave of a group that is in the kernel's list. The interface must stay a
 * member until the group is missing from the list.
 */
static void test_leave_of_a_listed_group_waits_for_the_list(void **state)
{
	begin();
	sync4(&g1, 1);
	report(V2_LEAVE, g1);
	er_run(NS_MSEC(10));
	assert_true(member(g1, false));
	sync4(&g1, 1);
	assert_true(member(g1, false));
	report(V2_LEAVE, g1);
	sync4(NULL, 0);
	assert_false(member(g1, false));
	er_fini();
}

static void test_I31_down_leaves_all_groups_and_up_joins_again(void **state)
{
	static const uint8_t all4[4] = { 224, 0, 0, 1 };
	uint8_t b[64];

	begin();
	report(V2_REPORT, g1);
	sync4(&g2, 1);
	assert_int_equal(er.r.natt, 5);
	eth_if_set_up(er.e, false, er.r.s.now);
	er_run(NS_MSEC(10));
	/* only the broadcast group, which the link itself has joined, is left */
	assert_int_equal(er.r.natt, 1);
	assert_false(member(all4, false) || member(all_nodes6, true) || member(g1, false) ||
		     member(g2, false));
	/*
	 * neither a report that was still in the TAP's queue nor a late list of the kernel's groups
	 * may cause a join
	 */
	tx4(b, report_igmp(b, V2_REPORT, g1));
	sync4(&g2, 1);
	assert_int_equal(er.r.natt, 1);
	eth_if_set_up(er.e, true, er.r.s.now);
	er_run(NS_MSEC(10));
	assert_true(member(all4, false));
	assert_true(member(all_nodes6, true));
	assert_false(member(g1, false));
	sync4(&g2, 1);
	assert_true(member(g2, false));
	er_fini();
}

/*
 * A link that comes up again joins all its groups again. A report must wait until its group has
 * been joined again.
 */
static void test_report_waits_for_the_join_after_the_link_was_down(void **state)
{
	uint64_t held;

	begin();
	report3(TO_EX, 0, g1);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	er_clear();
	er.r.port.state = IB_PORT_INIT;
	er.r.s.port.state = IB_PORT_INIT;
	sac_port_update(er.r.s.sac, &er.r.s.port, er.r.s.now);
	ipoib_link_port_update(er.r.link, &er.r.port, er.r.s.now);
	er_run(NS_MSEC(10));
	assert_false(er.r.carrier);
	report3(TO_EX, 0, g1); /* the link is down, so the link drops the report */
	assert_int_equal(ipoib_link_stats(er.r.link)->drops[IPOIB_DROP_LINK_DOWN], 1);

	er.r.port.state = er.r.s.port.state = IB_PORT_ACTIVE;
	sac_port_update(er.r.s.sac, &er.r.s.port, er.r.s.now);
	ipoib_link_port_update(er.r.link, &er.r.port, er.r.s.now);
	while (!ipoib_link_is_up(er.r.link))
		er_run(NS_USEC(1));
	held = ipoib_link_stats(er.r.link)->tx_held;
	report3(TO_EX, 0, g1);
	assert_int_equal(er.nsent, 0);
	/*
	 * until the join ends, the interface itself must keep the report. If the interface had
	 * passed it to the link, the link would count a held packet
	 */
	assert_int_equal(ipoib_link_stats(er.r.link)->tx_held, held);
	er_run(NS_MSEC(100));
	assert_int_equal(er.nsent, 1);
	assert_true(member(g1, false));
	er_fini();
}

/*
 * Two groups that differ only in their scope have one MGID on the link. As soon as the link has
 * joined the group with this MGID, the reports of both groups must be sent.
 */
static void test_scopes_that_share_an_mgid_are_settled_together(void **state)
{
	static const uint8_t narrow[16] = { 0xff, 2, [15] = 9 };
	struct report_rec r = { .type = TO_EX };
	uint8_t b[256];
	ib_gid mgid;

	begin();
	assert_int_equal(mgid_from_ipv6(&mgid, report_mldv2_dst, RIG_PKEY, 2), 0);
	sa_group_make(&er.r.s.sa, &mgid, RIG_PKEY, IB_MTU_2048);
	memcpy(r.group, narrow, 16);
	er_tx(group6_mac, ETH_P_IPV6_, b, report_mld2(b, &r, 1));
	memcpy(r.group, h1, 16);
	er_tx(group6_mac, ETH_P_IPV6_, b, report_mld2(b, &r, 1));
	assert_int_equal(er.nsent, 0);
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 2);
	er_fini();
}

/*
 * The kernel's list has more groups than an interface may join. The interface must send reports
 * about the groups beyond this bound, but must not join them. When the list becomes shorter, the
 * interface must join groups again.
 */
static void test_groups_are_bounded(void **state)
{
	static uint8_t list[ETH_GROUPS_MAX + 8][4];
	struct ipoib_link_info i;

	begin();
	report3(TO_EX, 0, g2); /* makes the interface join 224.0.0.22, to which reports are sent */
	er_run(NS_MSEC(10));
	er_clear();
	for (unsigned int k = 0; k < ARRAY_SIZE(list); k++)
		be32_put(list[k], 0xef000000 + k);
	er.r.s.sa.deaf = true; /* the fake SA cannot store so many groups, so it answers no join */
	er_groups_sync(list, ARRAY_SIZE(list), NULL, 0);
	ipoib_link_info(er.r.link, &i);
	assert_true(i.groups <= IPOIB_MAX_GROUPS);
	report3(TO_EX, 0, g1);
	assert_int_equal(er.nsent, 1);
	assert_memory_equal(er.sent[0].data + 4 + 24 + 8 + 4, g1, 4);
	assert_false(member(g1, false));
	er_groups_sync(NULL, 0, NULL, 0);
	er.r.s.sa.deaf = false;
	er_run(NS_SEC(300));
	sync4(&g1, 1);
	er_run(NS_SEC(30));
	assert_true(member(g1, false));
	er_fini();
}

/*
 * A long list is read in pieces, and entries that are added or removed meanwhile can hide other
 * entries. So a group must be left only when two lists in a row lack it.
 */
static void test_I30_a_list_in_pieces_must_miss_a_group_twice(void **state)
{
	static const uint8_t group[4] = { 239, 1, 1, 1 };

	er_init();
	er_groups_sync(&group, 1, NULL, 0);
	er_run(NS_MSEC(10));
	assert_true(member(group, false));
	eth_groups_sync_begin(er.e);
	eth_groups_sync_end(er.e, false, er.r.s.now);
	er_run(NS_MSEC(10));
	assert_true(member(group, false));
	eth_groups_sync_begin(er.e);
	eth_groups_sync_seen(er.e, IPOIB_IPV4, group, er.r.s.now);
	eth_groups_sync_end(er.e, false, er.r.s.now);
	eth_groups_sync_begin(er.e);
	eth_groups_sync_end(er.e, false, er.r.s.now);
	er_run(NS_MSEC(10));
	assert_true(member(group, false));
	eth_groups_sync_begin(er.e);
	eth_groups_sync_end(er.e, false, er.r.s.now);
	er_run(NS_MSEC(10));
	assert_false(member(group, false));
	er_fini();
}

static bool carries_ipv6_only(uint16_t ethertype)
{
	return ethertype == ETH_P_IPV6_;
}

/*
 * The link's profile carries no IPv4. The IPv4 groups in the kernel's list must be ignored without
 * an error.
 */
static void test_groups_of_ip_that_the_link_does_not_carry_are_ignored(void **state)
{
	static const uint8_t v4[4] = { 239, 1, 1, 1 }, v6[16] = { 0xff, 0x05, [15] = 9 };
	struct ipoib_profile p = *ipoib_profile_at(0);

	p.encap.carries = carries_ipv6_only;
	er_profile = &p;
	er_init();
	er_groups_sync(&v4, 1, &v6, 1);
	er_run(NS_MSEC(10));
	assert_false(member((const uint8_t[]){ 224, 0, 0, 1 }, false));
	assert_false(member(v4, false));
	assert_true(member(v6, true));
	/* the joins are those of the broadcast group, ff02::1 and ff05::9 */
	assert_int_equal(er.r.s.sa.joins, 3);
	er_fini();
	er_profile = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I30_all_systems_are_joined_unasked),
		cmocka_unit_test(test_M19_report_waits_for_the_join),
		cmocka_unit_test(test_M19_mld_report_waits_for_the_join),
		cmocka_unit_test(test_several_groups_of_a_report_are_all_waited_for),
		cmocka_unit_test(test_report_goes_out_after_two_seconds_anyway),
		cmocka_unit_test(test_unanswered_join_lets_the_report_go),
		cmocka_unit_test(test_refused_join_lets_the_report_go),
		cmocka_unit_test(test_reports_keep_their_order),
		cmocka_unit_test(test_leave_releases_the_join_it_undoes),
		cmocka_unit_test(test_too_many_held_reports_are_dropped),
		cmocka_unit_test(test_held_reports_are_dropped_with_the_tap),
		cmocka_unit_test(test_leave_by_each_version),
		cmocka_unit_test(test_groups_that_never_appear_on_a_link_are_not_joined),
		cmocka_unit_test(test_I30_sync_joins_what_snooping_missed_and_leaves_what_is_gone),
		cmocka_unit_test(test_I30_reported_group_outlives_the_list),
		cmocka_unit_test(test_I30_list_is_the_last_word_on_what_it_had),
		cmocka_unit_test(test_leave_of_a_listed_group_waits_for_the_list),
		cmocka_unit_test(test_I31_down_leaves_all_groups_and_up_joins_again),
		cmocka_unit_test(test_report_waits_for_the_join_after_the_link_was_down),
		cmocka_unit_test(test_scopes_that_share_an_mgid_are_settled_together),
		cmocka_unit_test(test_groups_are_bounded),
		cmocka_unit_test(test_I30_a_list_in_pieces_must_miss_a_group_twice),
		cmocka_unit_test(test_groups_of_ip_that_the_link_does_not_carry_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
