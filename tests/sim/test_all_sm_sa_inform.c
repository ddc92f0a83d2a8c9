/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_sa.h"

#include <errno.h>

#include "check.h"
#include "wire/mgid.h"

/*
 * Tests of InformInfo and Reports (rows I25, I26 and R65 of CONFORMANCE.md), of ServiceRecords, and
 * of the state that an SA loses when its SM stops being master.
 */

#define LINUX_BROADCAST 0x10083u
#define LINUX_GROUP 0x173f7u

struct fix {
	struct sa_rig r;
	struct sa_client c; /* client that subscribes */
	struct sa_client d; /* client whose joins and leaves cause the Reports */
};

static void fix_init(struct fix *f, const char *parts)
{
	sa_rig_init(&f->r, &(struct sa_rig_cfg){
				   .hosts = 4, .switches = 2, .sm_key = 7, .partitions = parts });
	sa_client_init(&f->c, &f->r, "Hca1/1");
	sa_client_init(&f->d, &f->r, "Hca2/1");
}

static void fix_fini(struct fix *f)
{
	sa_client_fini(&f->c);
	sa_client_fini(&f->d);
	sa_rig_fini(&f->r);
}

/*
 * Let client d send @method, a join or a leave, for group number @n of partition @pkey. Returns the
 * group's MGID.
 */
static ib_gid group(struct fix *f, uint16_t pkey, unsigned int n, uint8_t method)
{
	const uint8_t ip[4] = { 239, 0, 0, (uint8_t)n };
	struct ib_mcmember_rec rec;
	ib_gid bc, mgid;

	assert_int_equal(mgid_broadcast(&bc, pkey, 2), 0);
	assert_int_equal(mgid_from_ipv4(&mgid, ip, pkey, 2), 0);
	rec = sm_group_find(f->r.sm, &bc)->rec;
	rec.mtu_sel = rec.rate_sel = SA_SEL_EXACT;
	rec.mgid = mgid;
	rec.port_gid = sa_rig_gid(&f->r, "Hca2/1");
	rec.join_state = MCM_JOIN_FULL;
	assert_int_equal(sa_client_mcm(&f->d, method, LINUX_GROUP, &rec, NULL), 0);
	sa_rig_pass(&f->r, NS_MSEC(1));
	return mgid;
}

static void test_R65_I25_traps_66_and_67_carry_the_mgid(void **state)
{
	struct fix f;
	ib_gid mgid, about;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	assert_int_equal(f.c.resp.mad.method, MAD_METHOD_GET_RESP);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_DELETED, true), 0);
	mgid = group(&f, 0xffff, 1, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 1);
	assert_int_equal(f.c.report[0].trap, MAD_TRAP_MC_CREATED);
	assert_true(f.c.report[0].generic);
	about = mad_notice_get_gid(&f.c.report[0]);
	assert_true(ib_gid_equal(&about, &mgid));
	about = sa_rig_gid(&f.r, "Switch1/0");
	assert_true(ib_gid_equal(&f.c.report[0].issuer_gid, &about));
	assert_int_equal(f.c.report[0].issuer_lid, f.c.np->pi.sm_lid);
	assert_int_equal(f.c.nreports, 1);
	group(&f, 0xffff, 1, MAD_METHOD_DELETE);
	assert_int_equal(f.c.nreports, 2);
	assert_int_equal(f.c.report[1].trap, MAD_TRAP_MC_DELETED);
	assert_int_equal(sa_stats(f.r.sa)->reports_answered, 2);
	fix_fini(&f);
}

static void test_I25_unsubscribing_and_subscribing_twice(void **state)
{
	struct fix f;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, false), SA_STATUS_REQ_INVALID);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	group(&f, 0xffff, 1, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 1);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, false), 0);
	assert_null(sa_subscription_next(f.r.sa, NULL));
	group(&f, 0xffff, 2, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 1);
	/* A trap to which the client has not subscribed is not reported to it. */
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_GID_IN_SERVICE, true), 0);
	group(&f, 0xffff, 3, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 1);
	/* Subscribe to all traps. */
	assert_int_equal(sa_client_inform(&f.c, 0xffff, true), 0);
	group(&f, 0xffff, 4, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 2);
	fix_fini(&f);
}

static void test_I25_a_report_is_repeated_then_dropped(void **state)
{
	struct fix f;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	f.c.answer_reports = false;
	group(&f, 0xffff, 1, MAD_METHOD_SET);
	sa_rig_pass(&f.r, NS_SEC(20));
	assert_int_equal(f.c.nreports, 1);
	assert_int_equal(f.c.repeats, 4);
	assert_int_equal(sa_stats(f.r.sa)->reports_lost, 1);
	assert_int_equal(sa_subscription_next(f.r.sa, NULL)->lost, 1);
	/* The client did not acknowledge a Report. Its subscription must remain. */
	f.c.answer_reports = true;
	group(&f, 0xffff, 2, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 2);
	assert_int_equal(sa_stats(f.r.sa)->reports_answered, 1);
	fix_fini(&f);
}

static void test_I25_silent_subscribers_do_not_hold_up_others(void **state)
{
	struct fix f;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.d, MAD_TRAP_MC_CREATED, true), 0);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	f.d.answer_reports = false;
	for (unsigned int i = 1; i <= 40; i++)
		group(&f, 0xffff, i, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 40);
	fix_fini(&f);
}

static void cut(struct fix *f, const char *name, bool up);

/*
 * Make as many subscriptions as a port may have. The subscriptions differ only in LIDRangeEnd,
 * which the SA ignores if LIDRangeBegin means all LIDs.
 */
static void subscribe_often(struct sa_client *c)
{
	struct mad_inform_info info = {
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = true,
		.type = 0xffff,
		.trap = 0xffff,
		.qpn = IB_QP1,
		.resp_time = 19,
		.producer = 0xffffff,
	};
	uint8_t wire[MAD_INFORM_INFO_LEN];

	c->answer_reports = false;
	for (uint16_t i = 0; i < SA_MAX_SUBSCRIPTIONS_PORT; i++) {
		info.lid_end = i + 1;
		mad_inform_info_encode(wire, &info);
		assert_int_equal(sa_client_ask(c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire,
					       sizeof(wire)),
				 0);
	}
}

/*
 * Two clients do not acknowledge their hundreds of Reports. A third client, which acknowledges,
 * must get every Report at once. When one of the silent clients begins to acknowledge, it must get
 * the Reports of all its subscriptions within a second.
 */
static void test_I25_hundreds_of_silent_subscriptions_hold_up_nobody(void **state)
{
	struct sa_client silent[2];
	unsigned int n = 0;
	struct fix f;

	fix_init(&f, NULL);
	sa_client_init(&silent[0], &f.r, "Hca3/1");
	sa_client_init(&silent[1], &f.r, "Hca4/1");
	subscribe_often(&f.d);
	subscribe_often(&silent[0]);
	subscribe_often(&silent[1]);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	for (; n < 30; n++) {
		group(&f, 0xffff, n, MAD_METHOD_SET);
		sa_rig_pass(&f.r, NS_MSEC(5));
		assert_int_equal(f.c.nreports, n + 1);
	}
	/*
	 * Only a few Reports are sent to a silent client: the first one of each subscription, and
	 * one more. The other Reports wait, or are lost.
	 */
	sa_rig_pass(&f.r, NS_SEC(120));
	assert_true(sa_stats(f.r.sa)->reports_lost > 0);
	silent[1].answer_reports = true;
	silent[1].nreports = 0;
	group(&f, 0xffff, n++, MAD_METHOD_SET);
	sa_rig_pass(&f.r, NS_SEC(1));
	assert_int_equal(silent[1].nreports, SA_MAX_SUBSCRIPTIONS_PORT);
	/*
	 * When the client's port leaves the subnet, the SA must drop the Reports that wait for this
	 * client.
	 */
	group(&f, 0xffff, n++, MAD_METHOD_SET);
	cut(&f, "Hca3/1", false);
	sa_rig_pass(&f.r, NS_SEC(5));
	assert_int_equal(f.c.nreports, n);
	sa_client_fini(&silent[1]);
	sa_client_fini(&silent[0]);
	fix_fini(&f);
}

static void test_I25_a_report_waits_for_room_at_the_endpoint(void **state)
{
	const struct mad_ep_limits none = { .max_rmpp_rx = 1, .max_rmpp_len = 1u << 20 };
	struct mad_ep_limits some = none;
	struct node_port *at;
	struct fix f;

	fix_init(&f, NULL);
	at = sa_rig_port(&f.r, "Switch1/0");
	some.max_tx = 64;
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_DELETED, true), 0);
	group(&f, 0xffff, 1, MAD_METHOD_SET);
	mad_ep_set_limits(at->ep, &none);
	group(&f, 0xffff, 1, MAD_METHOD_DELETE);
	sa_rig_pass(&f.r, NS_MSEC(200));
	assert_int_equal(f.c.nreports, 0);
	mad_ep_set_limits(at->ep, &some);
	sa_rig_pass(&f.r, NS_MSEC(60));
	assert_int_equal(f.c.nreports, 1);
	assert_int_equal(sa_stats(f.r.sa)->reports_lost, 0);
	fix_fini(&f);
}

static void cut(struct fix *f, const char *name, bool up)
{
	struct fabric_port *p;

	assert_int_equal(fabric_port_find(f->r.f, name, &p), 0);
	assert_int_equal(fabric_link_set(p, up, f->r.now), 0);
	sa_rig_pass(&f->r, NS_SEC(3));
}

static void test_I25_traps_64_and_65_carry_the_gid(void **state)
{
	struct fix f;
	ib_gid gid, about;

	fix_init(&f, NULL);
	gid = sa_rig_gid(&f.r, "Hca3/1");
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_GID_IN_SERVICE, true), 0);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_GID_OUT_OF_SERVICE, true), 0);
	cut(&f, "Hca3/1", false);
	assert_int_equal(f.c.nreports, 1);
	assert_int_equal(f.c.report[0].trap, MAD_TRAP_GID_OUT_OF_SERVICE);
	about = mad_notice_get_gid(&f.c.report[0]);
	assert_true(ib_gid_equal(&about, &gid));
	cut(&f, "Hca3/1", true);
	assert_int_equal(f.c.nreports, 2);
	assert_int_equal(f.c.report[1].trap, MAD_TRAP_GID_IN_SERVICE);
	about = mad_notice_get_gid(&f.c.report[1]);
	assert_true(ib_gid_equal(&about, &gid));
	fix_fini(&f);
}

static void test_I25_a_subscriber_that_left_is_forgotten(void **state)
{
	struct fix f;
	ib_gid mgid;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_DELETED, true), 0);
	assert_int_equal(sa_client_inform(&f.d, MAD_TRAP_MC_CREATED, true), 0);
	mgid = group(&f, 0xffff, 1, MAD_METHOD_SET);
	cut(&f, "Hca2/1", false);
	/*
	 * The port left the subnet, so its membership ended. The group had no other member, so the
	 * group ended, too, and trap 67 reports its end.
	 */
	assert_null(sm_group_find(f.r.sm, &mgid));
	assert_int_equal(f.c.nreports, 1);
	assert_int_equal(f.c.report[0].trap, MAD_TRAP_MC_DELETED);
	assert_int_equal(sa_subscription_next(f.r.sa, NULL)->port_guid, f.c.np->guids[0]);
	assert_null(sa_subscription_next(f.r.sa, sa_subscription_next(f.r.sa, NULL)));
	fix_fini(&f);
}

static void test_I25_selection_by_gid_and_lid(void **state)
{
	struct mad_inform_info info = {
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = true,
		.type = 0xffff,
		.trap = MAD_TRAP_MC_CREATED,
		.qpn = 1,
		.producer = 0xffffff,
	};
	uint8_t wire[MAD_INFORM_INFO_LEN];
	const uint8_t ip[4] = { 239, 0, 0, 2 };
	struct fix f;

	fix_init(&f, NULL);
	mgid_from_ipv4(&info.gid, ip, 0xffff, 2);
	mad_inform_info_encode(wire, &info);
	assert_int_equal(
		sa_client_ask(&f.c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire, sizeof(wire)), 0);
	group(&f, 0xffff, 1, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 0);
	group(&f, 0xffff, 2, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 1);
	/* Subscribe to traps from a range of LIDs that does not contain the SM's LID. */
	memset(&info.gid, 0, sizeof(info.gid));
	info.lid_begin = info.lid_end = 0x4000;
	mad_inform_info_encode(wire, &info);
	assert_int_equal(
		sa_client_ask(&f.c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire, sizeof(wire)), 0);
	group(&f, 0xffff, 3, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 1);
	info.lid_begin = 1;
	info.lid_end = 0xbfff;
	mad_inform_info_encode(wire, &info);
	assert_int_equal(
		sa_client_ask(&f.c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire, sizeof(wire)), 0);
	group(&f, 0xffff, 4, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 2);
	info.lid_begin = 0x4001;
	info.lid_end = 0; /* 0: the range is only LIDRangeBegin */
	mad_inform_info_encode(wire, &info);
	assert_int_equal(
		sa_client_ask(&f.c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire, sizeof(wire)), 0);
	info.lid_end = 0x4000; /* the range ends before it begins */
	mad_inform_info_encode(wire, &info);
	assert_int_equal(
		sa_client_ask(&f.c, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, wire, sizeof(wire)),
		SA_STATUS_REQ_INVALID);
	fix_fini(&f);
}

static void test_I25_groups_of_other_partitions_are_not_reported(void **state)
{
	struct fix f;

	fix_init(&f, "Default=0x7fff, ipoib : ALL=full;\n"
		     "A=0x0001, ipoib : \"Hca2\"=full, \"Hca3\"=full;\n");
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	assert_int_equal(sa_client_inform(&f.d, MAD_TRAP_MC_CREATED, true), 0);
	group(&f, 0x8001, 1, MAD_METHOD_SET);
	assert_int_equal(f.c.nreports, 0);
	assert_int_equal(f.d.nreports, 1);
	fix_fini(&f);
}

static void test_I26_a_removed_partition_is_reported(void **state)
{
	struct fix f;
	ib_gid mgid, about;

	fix_init(&f, "Default=0x7fff, ipoib : ALL=full;\n"
		     "A=0x0001, ipoib : \"Hca1\"=full, \"Hca2\"=full;\n");
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_DELETED, true), 0);
	mgid = group(&f, 0x8001, 1, MAD_METHOD_SET);
	sa_rig_partitions(&f.r, "Default=0x7fff, ipoib : ALL=full;\n");
	assert_null(sm_group_find(f.r.sm, &mgid));
	assert_int_equal(f.c.nreports, 2); /* one of them is about the broadcast group */
	about = mad_notice_get_gid(&f.c.report[1]);
	if (!ib_gid_equal(&about, &mgid))
		about = mad_notice_get_gid(&f.c.report[0]);
	assert_true(ib_gid_equal(&about, &mgid));
	fix_fini(&f);
}

static void test_I25_traps_of_others_are_forwarded(void **state)
{
	struct fix f;
	struct fabric_port *p;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_LINK_STATE, true), 0);
	assert_int_equal(fabric_port_find(f.r.f, "Hca4/1", &p), 0);
	assert_int_equal(fabric_link_set(p, false, f.r.now), 0);
	sa_rig_pass(&f.r, NS_SEC(1));
	assert_true(f.c.nreports >= 1);
	assert_int_equal(f.c.report[0].trap, MAD_TRAP_LINK_STATE);
	assert_int_equal(f.c.report[0].producer, IB_NODE_SWITCH);
	assert_false(ib_gid_is_zero(&f.c.report[0].issuer_gid));
	fix_fini(&f);
}

static void test_I25_a_port_has_a_bounded_number(void **state)
{
	struct fix f;
	int status = 0;
	unsigned int n = 0;

	fix_init(&f, NULL);
	while (!status && n < 1000)
		status = sa_client_inform(&f.c, (uint16_t)(1000 + n++), true);
	assert_int_equal(status, SA_STATUS_NO_RESOURCES);
	assert_int_equal(n, SA_MAX_SUBSCRIPTIONS_PORT + 1);
	assert_int_equal(sa_client_inform(&f.d, MAD_TRAP_MC_CREATED, true), 0);
	fix_fini(&f);
}

/* --- ServiceRecord */

static int service(struct sa_client *c, uint8_t method, uint64_t mask,
		   const struct ib_service_rec *rec, struct ib_service_rec *ret)
{
	uint8_t wire[SERVICE_REC_LEN];

	ib_service_rec_encode(wire, rec);
	sa_client_ask(c, method, SA_ATTR_SERVICE_RECORD, mask, wire, sizeof(wire));
	if (ret && !c->status)
		assert_int_equal(ib_service_rec_decode(ret, c->resp.data, c->resp.data_len), 0);
	return c->status;
}

#define RID (SERVICE_COMP_ID | SERVICE_COMP_GID)

static void test_services_live_for_their_lease(void **state)
{
	struct ib_service_rec rec = { .id = 0x1000000000000001ull, .lease = 30, .name = "sidr" };
	struct ib_service_rec got;
	struct fix f;

	fix_init(&f, NULL);
	rec.gid = sa_rig_gid(&f.r, "Hca1/1");
	memset(rec.data, 0xa5, sizeof(rec.data));
	assert_int_equal(service(&f.c, MAD_METHOD_SET, SERVICE_COMP_ID, &rec, NULL),
			 SA_STATUS_INSUF_COMPONENTS);
	assert_int_equal(service(&f.c, MAD_METHOD_SET, RID | SERVICE_COMP_LEASE | SERVICE_COMP_NAME,
				 &rec, NULL),
			 0);
	sa_rig_pass(&f.r, NS_SEC(10));
	assert_int_equal(service(&f.d, MAD_METHOD_GET, SERVICE_COMP_NAME, &rec, &got), 0);
	assert_true(got.id == rec.id);
	assert_true(got.lease <= 20 && got.lease >= 19);
	assert_memory_equal(got.data, rec.data, sizeof(rec.data));
	/* A second Set of the same record renews its lease, and does not make a second record. */
	assert_int_equal(service(&f.c, MAD_METHOD_SET, RID | SERVICE_COMP_LEASE, &rec, NULL), 0);
	sa_rig_pass(&f.r, NS_SEC(25));
	assert_int_equal(service(&f.d, MAD_METHOD_GET_TABLE, 0, &rec, NULL), 0);
	assert_int_equal(sa_client_count(&f.d), 1);
	sa_rig_pass(&f.r, NS_SEC(6));
	assert_int_equal(service(&f.d, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, NULL),
			 SA_STATUS_NO_RECORDS);
	assert_int_equal(sa_stats(f.r.sa)->leases_expired, 1);
	fix_fini(&f);
}

static void test_services_with_keys_and_without_lease(void **state)
{
	struct ib_service_rec rec = { .id = 5, .key = "secret" }, got;
	struct fix f;

	fix_init(&f, NULL);
	rec.gid = sa_rig_gid(&f.r, "Hca1/1");
	assert_int_equal(service(&f.c, MAD_METHOD_SET, RID | SERVICE_COMP_KEY, &rec, NULL), 0);
	sa_rig_pass(&f.r, NS_SEC(100000));
	assert_int_equal(service(&f.d, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, &got), 0);
	assert_int_equal(got.lease, 0xffffffffu);
	assert_int_equal(got.key[0], 0); /* an untrusted client gets no ServiceKey */
	f.d.sm_key = 7;
	assert_int_equal(service(&f.d, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, &got), 0);
	assert_memory_equal(got.key, rec.key, sizeof(rec.key));
	f.d.sm_key = 0;
	assert_int_equal(service(&f.d, MAD_METHOD_DELETE, RID, &rec, NULL), SA_STATUS_DENIED);
	assert_int_equal(service(&f.d, MAD_METHOD_SET, RID, &rec, NULL), SA_STATUS_DENIED);
	assert_int_equal(service(&f.d, MAD_METHOD_DELETE, RID | SERVICE_COMP_KEY, &rec, NULL), 0);
	assert_int_equal(service(&f.d, MAD_METHOD_DELETE, RID | SERVICE_COMP_KEY, &rec, NULL),
			 SA_STATUS_NO_RECORDS);
	assert_null(sa_service_next(f.r.sa, NULL));
	fix_fini(&f);
}

static void test_services_of_other_partitions_are_hidden(void **state)
{
	struct ib_service_rec rec = { .id = 5, .pkey = 0x8001 };
	struct fix f;

	fix_init(&f, "Default=0x7fff, ipoib : ALL=full;\nA=0x0001 : \"Hca2\"=full;\n");
	rec.gid = sa_rig_gid(&f.r, "Hca2/1");
	assert_int_equal(service(&f.c, MAD_METHOD_SET, RID | SERVICE_COMP_PKEY, &rec, NULL),
			 SA_STATUS_REQ_INVALID);
	assert_int_equal(service(&f.d, MAD_METHOD_SET, RID | SERVICE_COMP_PKEY, &rec, NULL), 0);
	assert_int_equal(service(&f.d, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, NULL), 0);
	assert_int_equal(service(&f.c, MAD_METHOD_GET, SERVICE_COMP_ID, &rec, NULL),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_services_are_selected_by_their_data(void **state)
{
	struct ib_service_rec rec = { .id = 5 };
	struct fix f;

	fix_init(&f, NULL);
	rec.gid = sa_rig_gid(&f.r, "Hca2/1");
	for (unsigned int i = 0; i < 64; i++)
		rec.data[i] = (uint8_t)(i + 1);
	assert_int_equal(service(&f.d, MAD_METHOD_SET, RID, &rec, NULL), 0);
	/* Data8.1-16, Data16.1-8, Data32.1-4, Data64.1-2 */
	for (unsigned int bit = 7; bit < 37; bit++)
		assert_int_equal(service(&f.c, MAD_METHOD_GET, 1ull << bit, &rec, NULL), 0);
	memset(rec.data, 0, sizeof(rec.data));
	for (unsigned int bit = 7; bit < 37; bit++)
		assert_int_equal(service(&f.c, MAD_METHOD_GET, 1ull << bit, &rec, NULL),
				 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

/* --- the SA ends and starts */

static void test_an_sa_that_goes_leaves_nothing_behind(void **state)
{
	struct ib_mcmember_rec rec;
	uint8_t wire[MCMEMBER_REC_LEN];
	struct fix f;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, 0xffff, true), 0);
	f.c.answer_reports = false;
	rec = (struct ib_mcmember_rec){ .port_gid = sa_rig_gid(&f.r, "Hca2/1"),
					.pkey = 0xffff,
					.join_state = MCM_JOIN_FULL };
	mgid_broadcast(&rec.mgid, 0xffff, 2);
	ib_mcmember_rec_encode(wire, &rec);
	/* This join causes a Report, which stays pending: the client does not acknowledge it. */
	group(&f, 0xffff, 1, MAD_METHOD_SET);
	sa_client_send(&f.d, MAD_METHOD_SET, SA_ATTR_MCMEMBER_RECORD, LINUX_BROADCAST, wire,
		       sizeof(wire));
	/*
	 * fabric_run() brings the join to the SA. The join causes a Set of an MFT. The SA is
	 * destroyed before the answer to this Set arrives.
	 */
	fabric_run(f.r.f, f.r.now);
	sa_destroy(f.r.sa);
	f.r.sa = NULL;
	sa_rig_pass(&f.r, NS_SEC(5));
	/*
	 * There is no SA any more, so the client's repeated request is answered by the port itself,
	 * with the status "attribute not supported".
	 */
	assert_int_equal(f.d.status, MAD_STATUS_BAD_ATTR);
	/* A new SA at the same SM must have no subscription, and must answer requests. */
	assert_int_equal(sa_create(&f.r.sa, f.r.sm), 0);
	assert_null(sa_subscription_next(f.r.sa, NULL));
	assert_int_equal(sa_client_ask(&f.d, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0),
			 0);
	fix_fini(&f);
}

/*
 * A new master SM sets ClientReregister, so that all ports subscribe again at the SA of this SM. So
 * the SA of the old master must forget its subscriptions. Otherwise clients would get each Report
 * twice.
 */
static void test_subscriptions_end_when_another_becomes_master(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct node_port *at;
	struct sm *other;
	struct fix f;

	fix_init(&f, NULL);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_MC_CREATED, true), 0);
	assert_non_null(sa_subscription_next(f.r.sa, NULL));
	at = sa_rig_port(&f.r, "Switch2/0");
	cfg.sm_key = 7;
	cfg.priority = 15;
	assert_int_equal(sm_create(&other, at->ep, &cfg, &f.r.ts, NULL), 0);
	node_set_cap(at->node, 0, SMP_CAP_IS_SM, true, f.r.now);
	sm_start(other, f.r.now);
	sa_rig_pass(&f.r, NS_SEC(30));
	assert_null(sa_subscription_next(f.r.sa, NULL));
	sm_destroy(other);
	fix_fini(&f);
}

static void test_silence_before_the_first_database(void **state)
{
	struct mad_addr from = mad_addr_gmp(5, 0);
	const struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = MAD_METHOD_GET,
		.attr_id = SA_ATTR_CLASS_PORT_INFO,
	};
	const struct sa_hdr hdr = { 0 };
	struct sm_cfg cfg = sm_cfg_default();
	struct node_port *at;
	uint8_t mad[MAD_LEN];
	struct fix f;
	struct sm *sm;
	struct sa *sa;

	fix_init(&f, NULL);
	at = sa_rig_port(&f.r, "Switch2/0");
	assert_int_equal(sm_create(&sm, at->ep, &cfg, &f.r.ts, NULL), 0);
	assert_int_equal(sa_create(&sa, sm), 0);
	sa_mad_encode(mad, &h, &hdr);
	assert_int_equal(mad_ep_recv(at->ep, &from, mad, f.r.now), 0);
	assert_int_equal(sa_stats(sa)->drop_not_master, 1);
	/* The second SM is a standby, so its SA must send nothing. */
	node_set_cap(at->node, 0, SMP_CAP_IS_SM, true, f.r.now);
	sm_start(sm, f.r.now);
	sa_rig_pass(&f.r, NS_SEC(2));
	assert_int_equal(mad_ep_recv(at->ep, &from, mad, f.r.now), 0);
	assert_int_equal(sa_stats(sa)->drop_not_master, 2);
	assert_int_equal(sa_stats(sa)->answers, 0);
	sa_destroy(sa);
	sm_destroy(sm);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R65_I25_traps_66_and_67_carry_the_mgid),
		cmocka_unit_test(test_I25_unsubscribing_and_subscribing_twice),
		cmocka_unit_test(test_I25_a_report_is_repeated_then_dropped),
		cmocka_unit_test(test_I25_silent_subscribers_do_not_hold_up_others),
		cmocka_unit_test(test_I25_hundreds_of_silent_subscriptions_hold_up_nobody),
		cmocka_unit_test(test_I25_a_report_waits_for_room_at_the_endpoint),
		cmocka_unit_test(test_I25_traps_64_and_65_carry_the_gid),
		cmocka_unit_test(test_I25_a_subscriber_that_left_is_forgotten),
		cmocka_unit_test(test_I25_selection_by_gid_and_lid),
		cmocka_unit_test(test_I25_groups_of_other_partitions_are_not_reported),
		cmocka_unit_test(test_I26_a_removed_partition_is_reported),
		cmocka_unit_test(test_I25_traps_of_others_are_forwarded),
		cmocka_unit_test(test_I25_a_port_has_a_bounded_number),
		cmocka_unit_test(test_services_live_for_their_lease),
		cmocka_unit_test(test_services_with_keys_and_without_lease),
		cmocka_unit_test(test_services_of_other_partitions_are_hidden),
		cmocka_unit_test(test_services_are_selected_by_their_data),
		cmocka_unit_test(test_an_sa_that_goes_leaves_nothing_behind),
		cmocka_unit_test(test_subscriptions_end_when_another_becomes_master),
		cmocka_unit_test(test_silence_before_the_first_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
