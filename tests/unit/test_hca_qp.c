/* SPDX-License-Identifier: BSD-2-Clause */

/* Tests the objects of an HCA: queue pairs, address handles, and attachments to groups. */

#include <errno.h>

#include "unit/hca_rig.h"

#define QPN 0x48

static void test_every_drop_reason_has_its_name(void **state)
{
	for (unsigned int a = 0; a < HCA_DROP_MAX; a++)
		for (unsigned int b = 0; b < a; b++)
			assert_string_not_equal(hca_drop_name(a), hca_drop_name(b));
	assert_string_equal(hca_drop_name(HCA_DROP_MAX), "?");
}

static void test_create_refuses_what_is_not_a_ca(void **state)
{
	static const uint64_t guids[] = { 1 };
	static const struct hca_ops ops;
	struct rig *r = *state;
	struct hca_cfg good = { .node = { .type = IB_NODE_CA,
					  .nports = 1,
					  .port_guids = guids,
					  .desc = "x" } },
		       c = good;
	struct hca *h = (struct hca *)1;

	c.node.type = IB_NODE_SWITCH;
	assert_int_equal(hca_create(&h, &c, &ops, NULL, &r->timers, r->pool, &r->log), -EINVAL);
	c = good;
	c.crc = 7;
	assert_int_equal(hca_create(&h, &c, &ops, NULL, &r->timers, r->pool, &r->log), -EINVAL);
	c = good;
	c.node.nports = 0;
	assert_int_equal(hca_create(&h, &c, &ops, NULL, &r->timers, r->pool, &r->log), -EINVAL);
	assert_ptr_equal(h, (struct hca *)1);
	hca_destroy(NULL);
}

static void test_qpn_hint_is_taken_if_free(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, 0xabcdef, 0), *b = rig_qp(r, 1, 0xabcdef, 0);

	assert_int_equal(hca_qp_num(a), 0xabcdef);
	assert_int_not_equal(hca_qp_num(b), 0xabcdef);
	hca_qp_destroy(a);
	a = rig_qp(r, 1, 0xabcdef, 0);
	assert_int_equal(hca_qp_num(a), 0xabcdef);
}

static void test_qpn_is_never_a_reserved_one(void **state)
{
	static const uint32_t hints[] = { 0, 1, 0xffffff, 0x1000000, 0xffffffff };
	struct rig *r = *state;

	for (unsigned int i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		struct hca_qp *qp = rig_qp(r, 1, hints[i], 0);

		assert_int_equal(hca_qp_num(qp), QPN + i);
	}
}

/*
 * The QPN of a destroyed QP must not be given to the next QP, because the next QP would get packets
 * that arrive late for the destroyed QP.
 */
static void test_qpn_is_not_reused_at_once(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, 0, 0);
	uint32_t first = hca_qp_num(qp);

	hca_qp_destroy(qp);
	assert_int_not_equal(hca_qp_num(rig_qp(r, 1, 0, 0)), first);
}

static void test_qps_are_limited(void **state)
{
	struct rig *r = *state;
	struct hca_qp_attr a = { .port = 1 };
	struct hca_qp *qp[8], *more = NULL;

	for (unsigned int i = 0; i < 8; i++)
		qp[i] = rig_qp(r, 1, 0, 4);
	assert_int_equal(hca_qp_create(r->h, &a, NULL, &more), -ENOSPC);
	assert_null(more);
	hca_qp_destroy(qp[3]);
	assert_int_equal(hca_qp_create(r->h, &a, r, &more), 0);
	assert_ptr_equal(hca_qp_ctx(more), r);
}

static void test_bad_qp_attributes_are_refused(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = NULL;
	struct hca_qp_attr bad[] = {
		{ .port = 0 },
		{ .port = 3 },
		{ .port = 1, .pkey_index = NODE_PKEYS },
		{ .port = 1, .rx_depth = 65537 },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(hca_qp_create(r->h, &bad[i], NULL, &qp), -EINVAL);
	assert_null(qp);
	qp = rig_qp(r, 1, 0, 0);
	assert_int_equal(hca_qp_modify(qp, NODE_PKEYS, 0), -EINVAL);
	hca_qp_destroy(NULL);
}

static void test_bad_ah_attributes_are_refused(void **state)
{
	struct rig *r = *state;
	struct hca_ah *ah = NULL;
	ib_gid mgid = rig_mgid(1);
	struct hca_ah_attr bad[] = {
		{ .port = 0, .dlid = 1 },
		{ .port = 3, .dlid = 1 },
		{ .port = 1, .dlid = 0 },
		{ .port = 1, .dlid = 0xffff },
		{ .port = 1, .dlid = 1, .sl = 16 },
		{ .port = 1, .dlid = 1, .has_grh = true, .sgid_index = NODE_GUIDS },
		{ .port = 1, .dlid = RIG_MLID },
		{ .port = 1, .dlid = RIG_MLID, .has_grh = true },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(hca_ah_create(r->h, &bad[i], &ah), -EINVAL);
	assert_null(ah);
	bad[7].dgid = mgid;
	assert_int_equal(hca_ah_create(r->h, &bad[7], &ah), 0);
	hca_ah_destroy(ah);
	hca_ah_destroy(NULL);
}

/* --- notification */

static void rx_one(struct rig *r, uint32_t qpn)
{
	struct ib_ud_hdr h = rig_hdr(qpn);

	rig_rx(r, 1, rig_pkt(r, &h, 4));
}

static unsigned int drain(struct hca_qp *qp)
{
	struct hca_wc wc[PKT_BATCH];
	unsigned int n = hca_poll(qp, wc, PKT_BATCH);

	for (unsigned int i = 0; i < n; i++)
		pkt_free(wc[i].pkt);
	return n;
}

static void test_ready_comes_once_per_arming(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	rx_one(r, QPN);
	assert_int_equal(r->ready, 0); /* the QP was not armed */
	assert_false(hca_arm(qp)); /* returns false, because a completion waits */
	assert_int_equal(drain(qp), 1);
	assert_true(hca_arm(qp));
	assert_int_equal(r->ready, 0);
	rx_one(r, QPN);
	assert_int_equal(r->ready, 1);
	rx_one(r, QPN);
	assert_int_equal(r->ready, 1);
	assert_int_equal(drain(qp), 2);
	assert_true(hca_arm(qp));
	rx_one(r, QPN);
	assert_int_equal(r->ready, 2);
}

static void drain_all(struct rig *r, struct hca_qp *qp)
{
	assert_int_equal(drain(qp), 5);
}

/*
 * A batch of packets arrives. The receiver must be notified once, after all packets of the batch
 * have been queued.
 */
static void test_ready_comes_after_the_batch(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct pkt *v[5];

	r->on_ready = drain_all;
	assert_true(hca_arm(qp));
	for (unsigned int i = 0; i < 5; i++)
		v[i] = rig_pkt(r, &h, 4);
	hca_rx(r->h, 1, v, 5, r->now);
	assert_int_equal(r->ready, 1);
}

static struct hca_ah *self_ah;
static unsigned int nested, max_nested, rounds;

static void send_to_self(struct rig *r, struct hca_qp *qp)
{
	struct hca_send s = { .ah = self_ah, .dest_qp = hca_qp_num(qp), .qkey = RIG_QKEY };

	if (++nested > max_nested)
		max_nested = nested;
	drain(qp);
	assert_true(hca_arm(qp));
	if (rounds++ < 1000) {
		s.pkt = pkt_from_data(r->pool, "x", 1);
		assert_int_equal(hca_post_send(qp, &s, 1, r->now), 1);
	}
	nested--;
}

static void test_sends_from_ready_do_not_recurse(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah_attr a = { .port = 1, .dlid = RIG_LID1 };

	rounds = nested = max_nested = 0;
	assert_int_equal(hca_ah_create(r->h, &a, &self_ah), 0);
	r->on_ready = send_to_self;
	assert_true(hca_arm(qp));
	rx_one(r, QPN);
	assert_int_equal(rounds, 1001);
	assert_int_equal(max_nested, 1);
}

static struct hca_qp *victim;

static void destroy_both(struct rig *r, struct hca_qp *qp)
{
	if (victim != qp)
		hca_qp_destroy(victim);
	hca_qp_destroy(qp);
}

/*
 * Two QPs get a packet. The receiver that is notified for the first QP destroys both QPs, although
 * the second QP is still in the list of QPs to notify. Nothing may use a destroyed QP.
 */
static void test_ready_may_destroy_qps(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);

	victim = rig_qp(r, 1, QPN + 1, 0);
	assert_int_equal(hca_attach(a, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(victim, &mgid, RIG_MLID), 0);
	assert_true(hca_arm(a));
	assert_true(hca_arm(victim));
	r->on_ready = destroy_both;
	rig_rx(r, 1, rig_pkt(r, &h, 4));
	assert_int_equal(r->ready, 1);
	assert_int_equal(hca_drops(r->h, HCA_DROP_QP_STATE), 2);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_MGID);
}

/* --- reset and attachments */

static void test_modify_drops_what_is_queued_and_keeps_attachments(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);

	assert_int_equal(hca_attach(qp, &mgid, RIG_MLID), 0);
	rig_rx(r, 1, rig_pkt(r, &h, 4));
	rig_rx(r, 1, rig_pkt(r, &h, 4));
	assert_int_equal(hca_qp_modify(qp, 1, RIG_QKEY + 7), 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_QP_STATE), 2);
	assert_int_equal(drain(qp), 0);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_PKEY);
	h.bth.pkey = 0x8001;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QKEY);
	h.deth.qkey = RIG_QKEY + 7;
	struct hca_wc wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp);

	assert_int_equal(wc.pkey_index, 1);
	pkt_free(wc.pkt);
}

static void test_I9_attaching_twice_needs_detaching_twice(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);

	assert_int_equal(hca_detach(qp, &mgid, RIG_MLID), -ENOENT);
	assert_int_equal(hca_attach(qp, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(qp, &mgid, RIG_MLID), 0);
	/* the QP is attached to the group twice, but must get only one copy of the packet */
	pkt_free(rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp).pkt);
	assert_int_equal(hca_detach(qp, &mgid, RIG_MLID), 0);
	pkt_free(rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp).pkt);
	assert_int_equal(hca_detach(qp, &mgid, RIG_MLID), 0);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_MGID);
	assert_int_equal(hca_detach(qp, &mgid, RIG_MLID), -ENOENT);
}

static void test_I9_attach_wants_mgid_and_mlid(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1), gid = ib_gid_of(RIG_PREFIX, RIG_GUID1);

	assert_int_equal(hca_attach(qp, &gid, RIG_MLID), -EINVAL);
	assert_int_equal(hca_attach(qp, &mgid, 0xbfff), -EINVAL);
	assert_int_equal(hca_attach(qp, &mgid, 0xffff), -EINVAL);
	assert_int_equal(hca_detach(qp, &mgid, 0xffff), -EINVAL);
	assert_int_equal(hca_attach(qp, &mgid, 0xc000), 0);
	assert_int_equal(hca_detach(qp, &mgid, 0xc000), 0);
}

static void test_many_groups_are_told_apart(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp[4];

	for (unsigned int i = 0; i < 4; i++)
		qp[i] = rig_qp(r, 1 + i / 2, QPN + i, 0);
	for (unsigned int g = 0; g < 200; g++) {
		ib_gid mgid = rig_mgid((uint8_t)g);

		assert_int_equal(hca_attach(qp[g & 3], &mgid, RIG_MLID), 0);
	}
	/* Destroying one QP must remove its attachments to groups, and no others. */
	hca_qp_destroy(qp[2]);
	for (unsigned int g = 0; g < 200; g++) {
		ib_gid mgid = rig_mgid((uint8_t)g);
		struct ib_ud_hdr h = rig_hdr_mcast(&mgid);
		struct pkt *p = rig_pkt(r, &h, 4);
		uint8_t port = (uint8_t)(1 + (g & 3) / 2);

		if ((g & 3) == 2)
			rig_expect_drop(r, port, p, HCA_DROP_MGID);
		else
			pkt_free(rig_expect_rx(r, port, p, qp[g & 3]).pkt);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_every_drop_reason_has_its_name),
		T(test_create_refuses_what_is_not_a_ca),
		T(test_qpn_hint_is_taken_if_free),
		T(test_qpn_is_never_a_reserved_one),
		T(test_qpn_is_not_reused_at_once),
		T(test_qps_are_limited),
		T(test_bad_qp_attributes_are_refused),
		T(test_bad_ah_attributes_are_refused),
		T(test_ready_comes_once_per_arming),
		T(test_ready_comes_after_the_batch),
		T(test_sends_from_ready_do_not_recurse),
		T(test_ready_may_destroy_qps),
		T(test_modify_drops_what_is_queued_and_keeps_attachments),
		T(test_I9_attaching_twice_needs_detaching_twice),
		T(test_I9_attach_wants_mgid_and_mlid),
		T(test_many_groups_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
