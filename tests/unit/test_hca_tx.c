/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests hca_post_send(): how the attributes of a send become headers, which packets do not leave
 * the HCA, and which packets are refused.
 */

#include "unit/hca_rig.h"
#include "util/frame.h"

#define QPN 0x48

/*
 * A packet has the flag for a partial checksum. The HCA must keep the flag, so that the receiver
 * knows that the checksum is still partial.
 */
static void test_partial_checksum_flag_is_kept(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_qp *peer = rig_qp(r, 2, QPN + 1, 0);
	struct pkt *p = rig_payload(r, 60);
	struct hca_wc wc;

	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	frame_info(p)->csum_start = 20;
	frame_info(p)->csum_offset = 16;
	rig_send(r, qp, rig_ucast_ah(r, RIG_LID2), p, QPN + 1);
	r->nout = 0;
	wc = rig_expect_rx(r, 2, p, peer);
	assert_int_equal(frame_info(wc.pkt)->csum, FRAME_CSUM_PARTIAL);
	assert_int_equal(frame_info(wc.pkt)->csum_start, 20);
	assert_int_equal(frame_info(wc.pkt)->csum_offset, 16);
	pkt_free(wc.pkt);
}

static void test_psn_counts_24_bits(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).bth.psn, i);
	assert_int_equal(hca_qp_modify(qp, 0, RIG_QKEY), 0);
	assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).bth.psn, 0);
}

static void test_qkey_with_high_bit_means_the_qps_own(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	static const uint32_t keys[][2] = {
		{ 0x80000000, 0x80010b1b },
		{ 0xffffffff, 0x80010b1b },
		{ 0x7fffffff, 0x7fffffff },
		{ 0, 0 },
	};

	assert_int_equal(hca_qp_modify(qp, 0, 0x80010b1b), 0);
	for (unsigned int i = 0; i < 4; i++) {
		struct hca_send s = { rig_payload(r, 4), rig_ucast_ah(r, RIG_FAR_LID), 5,
				      keys[i][0] };

		rig_forget(r);
		hca_post_send(qp, &s, 1, r->now);
		assert_int_equal(rig_header_of(r->out[0]).deth.qkey, keys[i][1]);
	}
}

static void test_headers_follow_the_port(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct smp_port_info *pi = &rig_port(r, 1)->pi;
	struct hca_ah *ah = rig_ah(r, &(struct hca_ah_attr){
					      .port = 1,
					      .sl = 5,
					      .src_path_bits = 1,
					      .dlid = RIG_FAR_LID,
					      .has_grh = true,
					      .sgid_index = 1,
					      .dgid = ib_gid_of(RIG_PREFIX, RIG_FAR_GUID),
				      });

	struct ib_ud_hdr h;

	assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).lrh.slid, RIG_LID1);
	pi->lmc = 1;
	assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).lrh.slid, RIG_LID1 + 1);
	pi->lid = 0x0100;
	assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).lrh.slid, 0x0101);
	pi->gid_prefix = 0x1234;
	h = rig_header_of(rig_sent(r, qp, ah, 4));
	assert_int_equal(ib_gid_prefix(&h.grh.sgid), 0x1234);
	rig_port(r, 1)->guids[1] = 0x5678;
	h = rig_header_of(rig_sent(r, qp, ah, 4));
	assert_int_equal(ib_gid_guid(&h.grh.sgid), 0x5678);
	/*
	 * SL 5 must use VL5 if VL5 is operational, and otherwise a lower VL, which depends on
	 * OperationalVLs.
	 */
	for (unsigned int vls = 1; vls <= 5; vls++) {
		static const uint8_t vl[] = { 0, 0, 1, 1, 5, 5 };

		pi->oper_vls = (uint8_t)vls;
		assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).lrh.vl, vl[vls]);
		assert_int_equal(r->out[0]->vl, vl[vls]);
	}
	rig_port(r, 1)->sltovl[5] = 2;
	assert_int_equal(rig_header_of(rig_sent(r, qp, ah, 4)).lrh.vl, 2);
}

static void test_I12_an_sl_on_vl15_is_discarded(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);

	rig_port(r, 1)->sltovl[0] = IB_VL15;
	rig_send(r, qp, ah, rig_payload(r, 4), RIG_FAR_QPN);
	assert_int_equal(r->nout, 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_VL15), 1);
	rig_port(r, 1)->sltovl[0] = 0;
	rig_sent(r, qp, ah, 4);
}

static void test_no_buffer_for_head_room_is_counted(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct pkt *p = pkt_alloc(r->pool);
	struct pkt_buf *hog[64];
	unsigned int n = 0;

	memset(pkt_push(p, PKT_HDR_MAX), 0, PKT_HDR_MAX);
	while (n < 64 && (hog[n] = pkt_buf_alloc(r->pool)))
		n++;
	rig_send(r, qp, rig_ucast_ah(r, RIG_FAR_LID), p, 5);
	assert_int_equal(hca_drops(r->h, HCA_DROP_NO_MEM), 1);
	assert_int_equal(r->nout, 0);
	while (n)
		pkt_buf_put(hog[--n]);
}

static void test_counters_of_sent_packets(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct node_counters *c = &rig_port(r, 1)->cnt;
	ib_gid mgid = rig_mgid(1);

	rig_sent(r, qp, rig_ucast_ah(r, RIG_FAR_LID), 1032);
	assert_int_equal(c->xmit_data, 266);
	assert_int_equal(c->xmit_pkts, 1);
	assert_int_equal(c->ucast_xmit, 1);
	rig_sent(r, qp, rig_mcast_ah(r, &mgid), 1032);
	assert_int_equal(c->xmit_data, 266 + 276);
	assert_int_equal(c->mcast_xmit, 1);
	assert_int_equal(c->ucast_xmit, 1);
}

/* --- refusals */

static void expect_refusal(struct rig *r, struct hca_qp *qp, unsigned int len, enum hca_drop why)
{
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);
	uint64_t before = hca_drops(r->h, why), all = rig_drops(r);

	rig_forget(r);
	rig_send(r, qp, ah, rig_payload(r, len), RIG_FAR_QPN);
	hca_ah_destroy(ah);
	assert_int_equal(hca_drops(r->h, why), before + 1);
	assert_int_equal(rig_drops(r), all + 1);
	assert_int_equal(r->nout, 0);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
}

static void test_I4_sends_need_an_active_port(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	for (uint8_t s = IB_PORT_DOWN; s < IB_PORT_ACTIVE; s++) {
		rig_port(r, 1)->pi.port_state = s;
		expect_refusal(r, qp, 4, HCA_DROP_TX_STATE);
	}
	assert_int_equal(rig_port(r, 1)->cnt.xmit_pkts, 0);
}

static void test_sends_above_the_link_mtu_are_dropped(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	expect_refusal(r, qp, 2049, HCA_DROP_MTU);
	assert_int_equal(rig_sent(r, qp, rig_ucast_ah(r, RIG_FAR_LID), 2048)->len, 28 + 2048);
}

static void test_I7_sends_with_an_empty_pkey_entry_are_dropped(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	rig_port(r, 1)->pkeys[0] = 0;
	expect_refusal(r, qp, 4, HCA_DROP_PKEY);
	rig_port(r, 1)->pkeys[0] = 0x8000;
	expect_refusal(r, qp, 4, HCA_DROP_PKEY);
}

/* --- packets that stay inside the HCA */

static void test_I8_own_lids_loop_inside(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0), *b = rig_qp(r, 1, QPN + 1, 0);
	struct hca_wc wc;

	rig_port(r, 1)->pi.lmc = 2;
	assert_true(hca_arm(b));
	rig_send(r, a, rig_ucast_ah(r, RIG_LID1 + 3), rig_payload(r, 99), QPN + 1);
	assert_int_equal(r->ready, 1);
	assert_int_equal(hca_poll(b, &wc, 1), 1);
	assert_int_equal(wc.src_qp, QPN);
	assert_int_equal(wc.slid, RIG_LID1);
	assert_int_equal(wc.dlid_path_bits, 3);
	rig_check_payload(wc.pkt, 99);
	pkt_free(wc.pkt);
	assert_int_equal(r->nout, 0);
	assert_int_equal(rig_port(r, 1)->cnt.xmit_pkts, 0);
	assert_int_equal(rig_port(r, 1)->cnt.rcv_pkts, 0);
}

static void test_I8_looped_packets_are_checked(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0), *b = rig_qp(r, 1, QPN + 1, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_LID1);
	struct hca_wc wc;

	rig_send(r, a, ah, rig_payload(r, 4), QPN + 2);
	assert_int_equal(hca_drops(r->h, HCA_DROP_QPN), 1);
	assert_int_equal(hca_qp_modify(b, 0, RIG_QKEY + 1), 0);
	rig_send(r, a, ah, rig_payload(r, 4), QPN + 1);
	assert_int_equal(hca_drops(r->h, HCA_DROP_QKEY), 1);
	assert_int_equal(hca_qp_modify(b, 1, RIG_QKEY), 0);
	rig_send(r, a, ah, rig_payload(r, 4), QPN + 1);
	assert_int_equal(hca_drops(r->h, HCA_DROP_PKEY), 1);
	ah = rig_ah(r, &(struct hca_ah_attr){ .port = 1,
					      .dlid = RIG_LID1,
					      .has_grh = true,
					      .dgid = ib_gid_of(RIG_PREFIX, RIG_FAR_GUID) });
	rig_send(r, a, ah, rig_payload(r, 4), QPN + 1);
	assert_int_equal(hca_drops(r->h, HCA_DROP_DGID), 1);
	assert_int_equal(rig_drops(r), 4);
	assert_int_equal(hca_poll(b, &wc, 1), 0);
	assert_int_equal(r->nout, 0);
	/*
	 * The P_Key and Q_Key violation counters in PortInfo, and the traps about violations, are
	 * for packets from the link. These packets came from the HCA itself, so the counters must
	 * not change.
	 */
	assert_int_equal(rig_port(r, 1)->pi.qkey_violations, 0);
	assert_int_equal(rig_port(r, 1)->pi.pkey_violations, 0);
}

static void test_I9_multicast_returns_to_attached_own_qps(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0), *b = rig_qp(r, 1, QPN + 1, 0);
	struct hca_qp *other = rig_qp(r, 2, QPN + 2, 0), *idle = rig_qp(r, 1, QPN + 3, 0);
	ib_gid mgid = rig_mgid(1);
	struct hca_ah *ah = rig_mcast_ah(r, &mgid);
	struct hca_qp *got[] = { a, b };
	struct hca_wc wc;

	assert_int_equal(hca_attach(a, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(b, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(other, &mgid, RIG_MLID), 0);
	rig_send(r, a, ah, rig_payload(r, 150), IB_QPN_MCAST);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(hca_poll(got[i], &wc, 1), 1);
		assert_memory_equal(wc.grh + 24, mgid.raw, 16);
		assert_int_equal(wc.slid, RIG_LID1);
		assert_int_equal(wc.src_qp, QPN);
		rig_check_payload(wc.pkt, 150);
		pkt_free(wc.pkt);
	}
	assert_int_equal(hca_poll(other, &wc, 1), 0);
	assert_int_equal(hca_poll(idle, &wc, 1), 0);
	/* The packet must also be sent to the link, with its CRCs. */
	assert_int_equal(r->nout, 1);
	assert_int_equal(crc_pkt_check(r->out[0]), CRC_OK);
	assert_int_equal(r->out[0]->flags & PKT_CRC, PKT_CRC);
	assert_int_equal(rig_port(r, 1)->cnt.mcast_xmit, 1);
	assert_int_equal(rig_port(r, 1)->cnt.mcast_rcv, 0);
}

static void test_I9_nothing_is_copied_without_attachment(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1);

	rig_send(r, a, rig_mcast_ah(r, &mgid), rig_payload(r, 150), IB_QPN_MCAST);
	assert_int_equal(rig_drops(r), 0);
	assert_int_equal(r->nout, 1);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 1);
}

static void test_a_batch_is_taken_whole(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);
	struct hca_send v[PKT_BATCH];

	for (unsigned int i = 0; i < PKT_BATCH; i++)
		v[i] = (struct hca_send){ rig_payload(r, i == 9 ? 2049 : i), ah, i, RIG_QKEY };
	assert_int_equal(hca_post_send(qp, v, PKT_BATCH, r->now), PKT_BATCH);
	assert_int_equal(r->nout, PKT_BATCH - 1);
	assert_int_equal(hca_drops(r->h, HCA_DROP_MTU), 1);
	for (unsigned int i = 0; i < r->nout; i++)
		assert_int_equal(rig_header_of(r->out[i]).bth.dest_qp, i + (i >= 9));
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_partial_checksum_flag_is_kept, rig_setup_off,
						rig_teardown),
		T(test_psn_counts_24_bits),
		T(test_qkey_with_high_bit_means_the_qps_own),
		T(test_headers_follow_the_port),
		T(test_I12_an_sl_on_vl15_is_discarded),
		T(test_no_buffer_for_head_room_is_counted),
		T(test_counters_of_sent_packets),
		T(test_I4_sends_need_an_active_port),
		T(test_sends_above_the_link_mtu_are_dropped),
		T(test_I7_sends_with_an_empty_pkey_entry_are_dropped),
		T(test_I8_own_lids_loop_inside),
		T(test_I8_looped_packets_are_checked),
		T(test_I9_multicast_returns_to_attached_own_qps),
		T(test_I9_nothing_is_copied_without_attachment),
		T(test_a_batch_is_taken_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
