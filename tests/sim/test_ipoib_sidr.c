/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "ipoib/iid.h"
#include "ipoib_rig.h"

/*
 * Links of profile encaparp00 (draft-pelissier-ipoib-encaparp-00): the link learns its broadcast
 * group by SIDR, and its IP MTU follows rules of its own. tests/unit/test_eth_encaparp.c tests the
 * packet formats.
 */

#define GROUP 0xef000001u /* 239.0.0.1 */

static struct ipoib_rig r;
static struct sa_group *bcast; /* the link's group at the SA */

/*
 * Make a link that is administratively down. The SA has the record of a SIDR service, which answers
 * with the values of the broadcast group.
 */
static void make(unsigned int max_ip_mtu)
{
	struct ipoib_link_cfg cfg = { .profile = ipoib_profile_find("encaparp00"),
				      .max_ip_mtu = max_ip_mtu };
	ib_gid g = rig_bcast();

	assert_non_null(cfg.profile);
	rig_init_cfg(&r, &cfg, 1);
	bcast = sa_group_find(&r.s.sa, &g);
}

static void start(ns_t d)
{
	ipoib_link_set_admin(r.link, true, r.s.now);
	rig_run(&r, d);
}

/*
 * Send a packet to the link's broadcast group, as for an IBARP request. Afterwards r.sent[0] is
 * this packet.
 */
static void send_broadcast(void)
{
	struct ipoib_tx v = { .pkt = rig_pkt(&r, 1, 88),
			      .ethertype = ETH_P_ARP4,
			      .dst = IPOIB_DST_BROADCAST };

	r.nsent = 0;
	assert_int_equal(rig_tx(&r, &v), IPOIB_SEND);
	assert_int_equal(r.nsent, 1);
}

static ib_gid shown_mgid(void)
{
	struct ipoib_link_info i;

	ipoib_link_info(r.link, &i);
	return i.mgid;
}

static void test_P18_P24_request_has_the_values_of_sidr(void **state)
{
	const struct ipoib_ah_attr *ah = &r.sent[0].attr;

	make(0);
	r.s.sa.sidr.group.sl = 3;
	r.s.sa.sidr.group.tclass = 0x44;
	r.s.sa.sidr.group.flow_label = 0x12345;
	r.s.sa.sidr.group.hop_limit = 9;
	rig_up(&r);
	assert_int_equal(r.s.sa.sidr.requests,
			 2); /* the link asks SIDR again, because the SA has other values */
	assert_int_equal(r.s.sa.sidr.last.service_id, SIDR_SERVICE_ID_DEFAULT);
	assert_int_equal(r.s.sa.sidr.last.pkey, RIG_PKEY);
	/* The link joins the group in SIDR's answer as a FullMember, and does not create it. */
	assert_int_equal(r.s.sa.joins, 1);
	assert_int_equal(r.s.sa.join_mask, 0x10083);
	assert_int_equal(r.s.sa.last_join.join_state, MCM_JOIN_FULL);
	assert_memory_equal(&r.s.sa.last_join.mgid, &bcast->rec.mgid, 16);
	send_broadcast();
	assert_int_equal(ah->sl, 3);
	assert_int_equal(ah->dlid, bcast->rec.mlid);
	assert_true(ah->has_grh);
	assert_int_equal(ah->tclass, 0x44);
	assert_int_equal(ah->flow_label, 0x12345);
	assert_int_equal(ah->hop_limit, 9);
	assert_memory_equal(&ah->dgid, &bcast->rec.mgid, 16);
	assert_int_equal(r.sent[0].qkey, bcast->rec.qkey);
	assert_int_equal(r.sent[0].dest_qpn, 0xffffff);
	assert_int_equal(r.qp_pkey_index, 1); /* P_Key */
	rig_fini(&r);
}

/*
 * The administrator may choose a broadcast group with another MGID and scope. The link's other
 * groups must have this scope, too.
 */
static void test_P18_group_may_be_any(void **state)
{
	ib_gid dgid = { { 0xff, 0x15, 0xca, 0xfe, [15] = 1 } };
	ib_gid mgid = { { 0xff, 0x15, 0x40, 0x1b, 0x80, 0x01, [12] = 0x0f, [15] = 1 } };
	uint8_t group[4];
	struct sa_group *g;

	be32_put(group, GROUP);
	make(0);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now), 0);
	g = sa_group_make(&r.s.sa, &dgid, RIG_PKEY, IB_MTU_2048);
	sa_sidr_offer(&r.s.sa, &g->rec);
	rig_up(&r);
	send_broadcast();
	assert_memory_equal(&r.sent[0].attr.dgid, &dgid, 16);
	assert_int_equal(rig_attached(&r, &dgid, g->rec.mlid), 1);
	assert_non_null(sa_group_find(&r.s.sa, &mgid));
	assert_int_equal(sa_group_find(&r.s.sa, &mgid)->have, MCM_JOIN_FULL);
	assert_int_equal(bcast->joins, 0);
	assert_int_equal(ipoib_mcast_del(r.link, IPOIB_IPV4, group, r.s.now), 0);
	rig_fini(&r);
}

/*
 * The administrator has chosen a broadcast group to which an IP group maps, too. The host must be
 * able to receive the IP group while SIDR names this broadcast group, and also after SIDR has named
 * another one.
 */
static void test_P18_group_may_be_that_of_an_ip_group(void **state)
{
	ib_gid dgid = rig_mgid4(GROUP), former = rig_bcast();
	uint8_t group[4];

	be32_put(group, GROUP);
	make(0);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now), 0);
	sa_sidr_offer(&r.s.sa, &rig_sa_make(&r, GROUP)->rec);
	rig_up(&r);
	assert_int_equal(rig_sa_group(&r, GROUP)->joins, 1);
	assert_int_equal(r.ready_status, 0);
	/*
	 * Now SIDR answers with the former broadcast group again. The host must still receive the
	 * IP group, by a join of its own.
	 */
	sa_sidr_offer(&r.s.sa, &bcast->rec);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(3));
	assert_true(ipoib_link_is_up(r.link));
	assert_int_equal(rig_attached(&r, &former, bcast->rec.mlid), 1);
	assert_int_equal(rig_attached(&r, &dgid, rig_sa_group(&r, GROUP)->rec.mlid), 1);
	assert_int_equal(ipoib_mcast_del(r.link, IPOIB_IPV4, group, r.s.now), 0);
	rig_run(&r, NS_MSEC(10));
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	assert_int_equal(bcast->have, MCM_JOIN_FULL);
	rig_fini(&r);
}

/*
 * Without a usable answer of SIDR the link must stay down, give the reason, and repeat the request
 * until it is up.
 */
static void test_P18_without_an_answer_the_link_is_down_and_says_so(void **state)
{
	static const char *const reasons[] = { "ServiceRecord", "Status 2", "Ver 2", "no answer",
					       "P_Key 0x8123" };

	for (unsigned int i = 0; i < ARRAY_SIZE(reasons); i++) {
		struct sa_sidr *s = &r.s.sa.sidr;
		ib_gid none = { 0 }, shown;

		make(0);
		s->offered = i != 0;
		s->status = i == 1 ? SIDR_STATUS_REJECTED : 0;
		s->group.ver = i == 2 ? 2 : 1;
		s->deaf = i == 3;
		s->group.pkey = i == 4 ? 0x8123 : RIG_PKEY;
		start(NS_SEC(20));
		assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
		assert_reason(&r, reasons[i]);
		assert_int_equal(r.s.sa.joins, 0);
		assert_in_range(s->asks, 2, 8); /* back-off of 1 to 16 s */
		shown = shown_mgid();
		assert_memory_equal(&shown, &none, 16);
		*s = (struct sa_sidr){ .asks = s->asks };
		sa_sidr_offer(&r.s.sa, &bcast->rec);
		rig_run(&r, NS_SEC(25));
		assert_true(ipoib_link_is_up(r.link));
		assert_int_equal(strlen(rig_reason(&r)), 0);
		rig_fini(&r);
	}
}

static void test_P18_link_that_asks_says_so(void **state)
{
	make(0);
	r.s.sa.delay = NS_SEC(1);
	start(NS_MSEC(10));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "asking for the link's group by SIDR");
	/* The link is taken down before SIDR has answered. */
	ipoib_link_set_admin(r.link, false, r.s.now);
	rig_run(&r, NS_SEC(10));
	assert_int_equal(r.s.sa.joins, 0);
	assert_int_equal(r.s.sa.sidr.requests, 0);
	rig_fini(&r);
}

/* The SA's answer to the join differs from SIDR's answer, so the link must ask SIDR again. */
static void test_P18_values_that_the_join_contradicts_are_asked_for_again(void **state)
{
	static const char *const reasons[] = { "MLID 0x", "Q_Key 0x", "P_Key 0x" };

	for (unsigned int i = 0; i < ARRAY_SIZE(reasons); i++) {
		unsigned int before;

		make(0);
		r.s.sa.sidr.group.dlid += i == 0;
		r.s.sa.sidr.group.qkey += i == 1;
		if (i == 2)
			bcast->rec.pkey = 0x8777;
		start(NS_MSEC(500));
		assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
		assert_reason(&r, reasons[i]);
		assert_reason(&r, "SIDR said");
		assert_int_equal(bcast->have, 0);
		assert_int_equal(rig_attached(&r, &bcast->rec.mgid, bcast->rec.mlid), 0);
		before = r.s.sa.sidr.requests;
		rig_run(&r, NS_SEC(3));
		assert_true(r.s.sa.sidr.requests > before);
		bcast->rec.pkey = RIG_PKEY;
		sa_sidr_offer(&r.s.sa, &bcast->rec);
		rig_run(&r, NS_SEC(25));
		assert_true(ipoib_link_is_up(r.link));
		rig_fini(&r);
	}
}

/*
 * SIDR's answer names a group, but the SA refuses the join of this group, or the group does not
 * exist any more. The link must ask SIDR again and again, with a growing back-off.
 */
static void test_P18_group_that_the_sa_refuses_is_asked_for_again(void **state)
{
	ib_gid dgid = { { 0xff, 0x12, 0xca, 0xfe, [15] = 1 } }, shown;
	struct sa_group *g;

	make(0);
	bcast->refuse = SA_STATUS_REQ_INVALID;
	start(NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "refused");
	assert_in_range(
		r.s.sa.sidr.requests, 5,
		8); /* requests after 0, 1, 3, 7, 15, 31 and 47 s, or up to a quarter later */
	g = sa_group_make(&r.s.sa, &dgid, RIG_PKEY, IB_MTU_2048);
	sa_sidr_offer(&r.s.sa, &g->rec);
	/* Let the longest back-off pass. As soon as SIDR has answered, the link must join. */
	rig_run(&r, NS_SEC(20));
	assert_true(ipoib_link_is_up(r.link));
	shown = shown_mgid();
	assert_memory_equal(&shown, &dgid, 16);
	rig_fini(&r);
}

static void test_P18_link_that_loses_its_group_asks_for_it_again(void **state)
{
	ib_gid dgid = { { 0xff, 0x12, 0xca, 0xfe, [15] = 1 } }, shown;
	struct sa_group *g;

	make(0);
	rig_up(&r);
	g = sa_group_make(&r.s.sa, &dgid, RIG_PKEY, IB_MTU_2048);
	/*
	 * The SM has replaced the broadcast group by another one. At first SIDR still answers with
	 * the former group.
	 */
	bcast->refuse = SA_STATUS_REQ_INVALID;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(2));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	sa_sidr_offer(&r.s.sa, &g->rec);
	rig_run(&r, NS_SEC(10));
	assert_true(ipoib_link_is_up(r.link));
	shown = shown_mgid();
	assert_memory_equal(&shown, &dgid, 16);
	rig_fini(&r);
}

/*
 * The link asks SIDR again after a refused join. If the SA grants the join after all, the link must
 * use the group and stop asking SIDR.
 */
static void test_P18_group_that_is_granted_after_all_is_not_asked_for(void **state)
{
	unsigned int before;

	make(0);
	bcast->refuse = SA_STATUS_REQ_INVALID;
	start(NS_SEC(20));
	bcast->refuse = 0;
	r.s.sa.sidr.deaf = true;
	rig_run(&r, NS_SEC(25));
	assert_true(ipoib_link_is_up(r.link));
	assert_int_equal(strlen(rig_reason(&r)), 0);
	before = r.s.sa.sidr.requests;
	rig_run(&r, NS_SEC(60));
	assert_int_equal(r.s.sa.sidr.requests, before);
	rig_fini(&r);
}

/* The SA grants the join, but the group does not suit the port. The link must ask SIDR again. */
static void test_P18_group_that_does_not_fit_is_asked_for_again(void **state)
{
	ib_gid dgid = { { 0xff, 0x12, 0xca, 0xfe, [15] = 1 } };
	struct sa_group *g;

	make(0);
	bcast->rec.mtu_code = IB_MTU_256;
	start(NS_SEC(5));
	assert_reason(&r, "MTU 256");
	g = sa_group_make(&r.s.sa, &dgid, RIG_PKEY, IB_MTU_2048);
	sa_sidr_offer(&r.s.sa, &g->rec);
	rig_run(&r, NS_SEC(25));
	assert_true(ipoib_link_is_up(r.link));
	rig_fini(&r);
}

/* If SIDR's values stay wrong, the link must ask at growing intervals. */
static void test_P18_wrong_values_are_asked_for_with_the_backoff(void **state)
{
	make(0);
	r.s.sa.sidr.group.dlid++;
	start(NS_SEC(60));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_in_range(r.s.sa.sidr.requests, 5, 8);
	rig_fini(&r);
}

/* After ClientReregister the link must ask SIDR for all values again, and stay up meanwhile. */
static void test_P18_asked_again_after_client_reregister(void **state)
{
	uint16_t mlid;

	make(0);
	rig_up(&r);
	mlid = bcast->rec.mlid;
	sa_forget(&r.s.sa); /* the group has another MLID */
	sa_sidr_offer(&r.s.sa, &bcast->rec);
	r.s.sa.sidr.group.sl = 5;
	r.s.sa.sidr.deaf = true;
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(2));
	assert_int_equal(rig_state(&r), IPOIB_LINK_REJOINING);
	send_broadcast();
	/* SIDR has not answered with the values of the new group yet. */
	assert_int_equal(r.sent[0].attr.dlid, mlid);
	rig_run(&r, NS_SEC(10));
	assert_reason(&r, "no answer");
	r.s.sa.sidr.deaf = false;
	rig_run(&r, NS_SEC(25));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	send_broadcast();
	assert_true(r.sent[0].attr.dlid != mlid);
	assert_int_equal(r.sent[0].attr.dlid, bcast->rec.mlid);
	assert_int_equal(r.sent[0].attr.sl, 5);
	assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 1);
	rig_fini(&r);
}

/*
 * After ClientReregister SIDR answers with another broadcast group. The link must leave the former
 * broadcast group and all other groups.
 */
static void test_P18_another_group_after_client_reregister(void **state)
{
	ib_gid dgid = { { 0xff, 0x18, 0xca, 0xfe, [15] = 1 } }, shown;
	ib_gid mgid = { { 0xff, 0x18, 0x40, 0x1b, 0x80, 0x01, [12] = 0x0f, [15] = 1 } };
	uint8_t group[4];
	struct sa_group *g;

	be32_put(group, GROUP);
	make(0);
	assert_int_equal(ipoib_mcast_add(r.link, IPOIB_IPV4, group, r.s.now), 0);
	rig_up(&r);
	assert_int_equal(rig_tx_group(&r, GROUP + 1, 7), IPOIB_HELD);
	g = sa_group_make(&r.s.sa, &dgid, RIG_PKEY, IB_MTU_4096);
	r.port.mtu_code = IB_MTU_4096;
	rig_port(&r);
	sa_sidr_offer(&r.s.sa, &g->rec);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(2));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	shown = shown_mgid();
	assert_memory_equal(&shown, &dgid, 16);
	assert_int_equal(r.mtu, 2048);
	assert_int_equal(bcast->have, 0);
	assert_int_equal(rig_sa_group(&r, GROUP)->have, 0);
	assert_non_null(sa_group_find(&r.s.sa, &mgid));
	assert_int_equal(r.natt, 2);
	assert_int_equal(rig_attached(&r, &dgid, g->rec.mlid), 1);
	rig_fini(&r);
}

/*
 * The SM deletes the broadcast group and creates it again with another MLID, as it does to change
 * the MTU.
 */
static void make_anew(void)
{
	bcast->have = 0;
	bcast->rec.mlid = r.s.sa.next_mlid++;
	sa_report(&r.s.sa, 67, &bcast->rec.mgid, r.s.now);
	sa_report(&r.s.sa, 66, &bcast->rec.mgid, r.s.now);
}

/*
 * The values of SIDR's last answer were right until the SM created the group anew. So the link must
 * ask SIDR at once, and stay up.
 */
static void test_P18_group_that_is_made_anew_does_not_take_the_link_down(void **state)
{
	make(0);
	rig_up(&r);
	rig_run(&r, NS_SEC(1)); /* time for the subscriptions to the traps */
	for (unsigned int i = 2; i < 5; i++) {
		make_anew();
		sa_sidr_offer(&r.s.sa, &bcast->rec);
		rig_run(&r, NS_MSEC(50));
		assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
		assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 1);
		assert_int_equal(r.s.sa.sidr.requests, i);
		send_broadcast();
		assert_int_equal(r.sent[0].attr.dlid, bcast->rec.mlid);
		assert_int_equal(rig_attached(&r, &bcast->rec.mgid, bcast->rec.mlid), 1);
	}
	rig_fini(&r);
}

/*
 * After the link had asked SIDR, the SM changed the SL of the broadcast group. The SA's answer to
 * the join shows the new SL, so the link must ask SIDR once more.
 */
static void test_P18_sl_that_the_join_contradicts_is_asked_for_once_more(void **state)
{
	make(0);
	bcast->rec.sl = 5; /* SIDR has given another SL */
	start(NS_SEC(1));
	assert_int_equal(r.s.sa.sidr.requests, 2);
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	/* If SIDR repeats its value, the link must use it. */
	send_broadcast();
	assert_int_equal(r.sent[0].attr.sl, r.s.sa.sidr.group.sl);
	rig_run(&r, NS_SEC(60));
	assert_int_equal(r.s.sa.sidr.requests, 2);
	/* If SIDR and the SA agree, one request to SIDR is enough. */
	sa_sidr_offer(&r.s.sa, &bcast->rec);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(2));
	assert_int_equal(r.s.sa.sidr.requests, 3);
	send_broadcast();
	assert_int_equal(r.sent[0].attr.sl, 5);
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

/*
 * The SM has created the group anew, but SIDR still answers with the old values. The old values are
 * wrong now, so the link must repeat its request to SIDR with a back-off.
 */
static void test_P18_old_values_of_a_group_that_was_made_anew(void **state)
{
	make(0);
	rig_up(&r);
	rig_run(&r, NS_SEC(1));
	make_anew();
	rig_run(&r, NS_MSEC(500));
	assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
	assert_reason(&r, "but SIDR said DLID");
	assert_int_equal(r.s.sa.sidr.requests, 2);
	rig_run(&r, NS_SEC(60));
	assert_in_range(r.s.sa.sidr.requests, 6, 9);
	sa_sidr_offer(&r.s.sa, &bcast->rec);
	rig_run(&r, NS_SEC(25));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	rig_fini(&r);
}

/*
 * The SM has created the group anew, and the SIDR server is silent. The link must stay up with its
 * old values, as after ClientReregister.
 */
static void test_P18_silence_about_a_group_that_was_made_anew(void **state)
{
	make(0);
	rig_up(&r);
	rig_run(&r, NS_SEC(1));
	make_anew();
	r.s.sa.sidr.deaf = true;
	rig_run(&r, NS_SEC(10));
	assert_int_equal(rig_state(&r), IPOIB_LINK_REJOINING);
	assert_reason(&r, "no answer");
	r.s.sa.sidr.deaf = false;
	sa_sidr_offer(&r.s.sa, &bcast->rec);
	rig_run(&r, NS_SEC(25));
	assert_int_equal(rig_state(&r), IPOIB_LINK_UP);
	assert_int_equal(r.acts[IPOIB_ACT_CARRIER], 1);
	rig_fini(&r);
}

static void test_P7_group_of_another_mtu_makes_no_link(void **state)
{
	for (uint8_t code = IB_MTU_256; code <= IB_MTU_1024; code++) {
		char why[64];

		make(0);
		bcast->rec.mtu_code = code;
		start(NS_SEC(5));
		assert_int_equal(rig_state(&r), IPOIB_LINK_JOINING);
		snprintf(why, sizeof(why), "MTU %u, which no link of profile encaparp00 has",
			 ib_mtu_octets(code));
		assert_reason(&r, why);
		assert_int_equal(bcast->have, 0);
		bcast->rec.mtu_code = IB_MTU_2048;
		rig_run(&r, NS_SEC(20));
		assert_true(ipoib_link_is_up(r.link));
		rig_fini(&r);
	}
}

static void test_P7_path_of_another_mtu_is_not_used(void **state)
{
	struct ipoib_neigh *n;

	make(0);
	rig_up(&r);
	rig_peer(&r, 7)->mtu_code = IB_MTU_1024;
	rig_peer(&r, 8)->mtu_code = IB_MTU_4096;
	n = rig_neigh(&r, 7, 0x77);
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 0);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_PATH), 1);
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_DROP);
	n = rig_neigh(&r, 8, 0x88);
	assert_int_equal(rig_tx_neigh(&r, n, 3), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].tag, 3);
	rig_fini(&r);
}

/*
 * The IP MTU is 2048 by default, provided that the broadcast group's MTU has room for such a packet
 * with its encapsulation. The configuration can only lower the IP MTU.
 */
static void test_P5_P8_P9_ip_mtu(void **state)
{
	static const unsigned int want[][3] = {
		{ IB_MTU_2048, 0, 2044 },    { IB_MTU_4096, 0, 2048 },
		{ IB_MTU_4096, 4092, 2048 }, { IB_MTU_4096, 2048, 2048 },
		{ IB_MTU_4096, 2047, 2047 }, { IB_MTU_2048, 2048, 2044 },
		{ IB_MTU_2048, 1500, 1500 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		make(want[i][1]);
		bcast->rec.mtu_code = (uint8_t)want[i][0];
		r.port.mtu_code = IB_MTU_4096;
		rig_port(&r);
		rig_up(&r);
		assert_int_equal(r.mtu, want[i][2]);
		rig_fini(&r);
	}
}

/*
 * DHCP or an administrator may set an MTU on the device, and the link must not overwrite this MTU.
 * So the link must report its MTU only when the MTU has changed, and not after each outage.
 */
static void test_P11_mtu_that_was_set_on_the_device_stays_after_an_outage(void **state)
{
	make(0);
	rig_up(&r);
	assert_int_equal(r.acts[IPOIB_ACT_MTU], 1);
	for (unsigned int i = 0; i < 3; i++) {
		r.port.state = IB_PORT_DOWN;
		rig_port(&r);
		assert_false(r.carrier);
		r.port.state = IB_PORT_ACTIVE;
		rig_port(&r);
		rig_run(&r, NS_SEC(1));
		assert_true(r.carrier);
	}
	assert_int_equal(r.acts[IPOIB_ACT_MTU], 1);
	bcast->rec.mtu_code = r.port.mtu_code = IB_MTU_4096;
	rig_port(&r);
	sac_reregister(r.s.sac, r.s.now);
	rig_run(&r, NS_SEC(1));
	assert_int_equal(r.acts[IPOIB_ACT_MTU], 2);
	assert_int_equal(r.mtu, 2048);
	rig_fini(&r);
}

/*
 * The interface identifier is the EUI-64 with its u bit complemented, whether this bit was 0 or 1.
 */
static void test_P12_P13_addresses_are_made_of_the_eui64(void **state)
{
	static const uint8_t want[2][16] = { { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = 5 },
					     { 0xfe, 0x80, [8] = 0, 2, 0xc9, 3, [15] = 5 } };
	const struct ipoib_profile *p = ipoib_profile_find("encaparp00");
	uint8_t iid[8], addr[16];

	for (unsigned int u = 0; u < 2; u++) {
		p->iid(iid, 0x0002c90300000005 | (uint64_t)u << 57);
		ipoib_linklocal(addr, iid);
		assert_memory_equal(addr, want[u], 16);
	}
}

static void test_link_without_an_agent_is_refused(void **state)
{
	struct ipoib_link_cfg cfg = { .profile = ipoib_profile_find("encaparp00"),
				      .pkey = RIG_PKEY };
	struct ipoib_link *l;

	assert_int_equal(ipoib_link_create(&l, &cfg), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_P18_P24_request_has_the_values_of_sidr),
		cmocka_unit_test(test_P18_group_may_be_any),
		cmocka_unit_test(test_P18_group_may_be_that_of_an_ip_group),
		cmocka_unit_test(test_P18_without_an_answer_the_link_is_down_and_says_so),
		cmocka_unit_test(test_P18_link_that_asks_says_so),
		cmocka_unit_test(test_P18_values_that_the_join_contradicts_are_asked_for_again),
		cmocka_unit_test(test_P18_group_that_the_sa_refuses_is_asked_for_again),
		cmocka_unit_test(test_P18_link_that_loses_its_group_asks_for_it_again),
		cmocka_unit_test(test_P18_group_that_is_granted_after_all_is_not_asked_for),
		cmocka_unit_test(test_P18_group_that_does_not_fit_is_asked_for_again),
		cmocka_unit_test(test_P18_wrong_values_are_asked_for_with_the_backoff),
		cmocka_unit_test(test_P18_asked_again_after_client_reregister),
		cmocka_unit_test(test_P18_another_group_after_client_reregister),
		cmocka_unit_test(test_P18_group_that_is_made_anew_does_not_take_the_link_down),
		cmocka_unit_test(test_P18_sl_that_the_join_contradicts_is_asked_for_once_more),
		cmocka_unit_test(test_P18_old_values_of_a_group_that_was_made_anew),
		cmocka_unit_test(test_P18_silence_about_a_group_that_was_made_anew),
		cmocka_unit_test(test_P7_group_of_another_mtu_makes_no_link),
		cmocka_unit_test(test_P7_path_of_another_mtu_is_not_used),
		cmocka_unit_test(test_P5_P8_P9_ip_mtu),
		cmocka_unit_test(test_P11_mtu_that_was_set_on_the_device_stays_after_an_outage),
		cmocka_unit_test(test_P12_P13_addresses_are_made_of_the_eui64),
		cmocka_unit_test(test_link_without_an_agent_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
