/* SPDX-License-Identifier: BSD-2-Clause */

/* Cases of the conformance suite for ca.h: a packet arrives at its destination and nowhere else. */

#include "unit/ca_suite_priv.h"
#include "wire/ib_hdr.h"

void test_ca_unicast_without_grh(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	struct ca_wc wc;

	suite_send(s, a, ah, suite_payload(s, 101, 3), ca_qp_num(b), QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(ca_poll(b, &wc, 1), 1);
	assert_null(wc.grh);
	assert_int_equal(wc.slid, s->port[0].lid);
	assert_int_equal(wc.src_qp, ca_qp_num(a));
	assert_int_equal(wc.pkey_index, 0);
	assert_int_equal(wc.sl, 0);
	assert_int_equal(wc.dlid_path_bits, 0);
	suite_check_payload(wc.pkt, 101, 3);
	pkt_free(wc.pkt);
	assert_int_equal(suite_drain(a), 0);
	ca_ah_destroy(ah);
}

void test_ca_unicast_with_grh(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_wc wc;
	struct ib_grh grh;

	suite_send(s, a, suite_peer_ah(s, 0, true), suite_payload(s, 64, 3), ca_qp_num(b), QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(ca_poll(b, &wc, 1), 1);
	assert_non_null(wc.grh);
	assert_int_equal(ib_grh_decode(&grh, wc.grh, IB_GRH_LEN), 0);
	assert_memory_equal(&grh.sgid, &s->port[0].gid, sizeof(ib_gid));
	assert_memory_equal(&grh.dgid, &s->port[1].gid, sizeof(ib_gid));
	suite_check_payload(wc.pkt, 64, 3);
	pkt_free(wc.pkt);
}

void test_ca_payloads_of_any_shape(void **state)
{
	static const unsigned int in_hdr[] = { 0, 1, 24, 64, 124 };
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, true);

	for (unsigned int i = 0; i < 5; i++) {
		struct pkt *whole = suite_payload(s, 777, 1), *p = pkt_alloc(s->e.pool);
		const uint8_t *data = whole->slice[0].data;
		struct ca_wc wc;

		if (in_hdr[i])
			memcpy(pkt_push(p, in_hdr[i]), data, in_hdr[i]);
		pkt_add_slice(p, whole->slice[0].buf, data + in_hdr[i], 300);
		pkt_add_slice(p, whole->slice[0].buf, data + in_hdr[i] + 300, 477 - in_hdr[i]);
		pkt_free(whole);
		suite_send(s, a, ah, p, ca_qp_num(b), QKEY);
		suite_backend->run(&s->e);
		assert_int_equal(ca_poll(b, &wc, 1), 1);
		suite_check_payload(wc.pkt, 777, 1);
		pkt_free(wc.pkt);
	}
}

void test_ca_up_to_the_mtu(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	unsigned int mtu = ib_mtu_octets(s->port[0].active_mtu_code);
	struct ca_wc wc;

	suite_send(s, a, ah, suite_payload(s, mtu, 0), ca_qp_num(b), QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(ca_poll(b, &wc, 1), 1);
	suite_check_payload(wc.pkt, mtu, 0);
	pkt_free(wc.pkt);
	if (mtu == 4096)
		return;
	/*
	 * ca_post_send() accepts a packet that is longer than the MTU, and the CA then drops it.
	 * The QP must still work afterwards.
	 */
	suite_send(s, a, ah, suite_payload(s, mtu + 1, 0), ca_qp_num(b), QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(suite_drain(b), 0);
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
}

void test_ca_batches_keep_their_order(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	struct ca_send v[100];
	struct ca_wc wc[7];
	unsigned int n, seen = 0;

	for (unsigned int i = 0; i < 100; i++)
		v[i] = (struct ca_send){ suite_payload(s, 20 + i, (uint8_t)i), ah, ca_qp_num(b),
					 QKEY };
	for (unsigned int done = 0; done < 100; done += n) {
		n = ca_post_send(a, v + done, 100 - done, s->e.now);
		suite_backend->run(&s->e);
	}
	while ((n = ca_poll(b, wc, 7))) {
		for (unsigned int i = 0; i < n; i++, seen++) {
			suite_check_payload(wc[i].pkt, 20 + seen, (uint8_t)seen);
			pkt_free(wc[i].pkt);
		}
	}
	assert_int_equal(seen, 100);
}

void test_ca_overflow_costs_nothing_else(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = NULL;
	struct ca_qp_attr attr = { .qkey = QKEY, .rx_depth = 8, .tx_depth = 8 };
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	unsigned int n;

	assert_int_equal(ca_qp_create(s->e.ca[1], &attr, NULL, &b), 0);
	for (unsigned int i = 0; i < 40; i++) {
		suite_send(s, a, ah, suite_payload(s, 32, 9), ca_qp_num(b), QKEY);
		suite_backend->run(&s->e);
	}
	n = suite_drain(b);
	assert_true(n >= 8 && n < 40);
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
}

void test_ca_ah_is_destroyed_behind_its_sends(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, true);

	suite_send(s, a, ah, suite_payload(s, 32, 9), ca_qp_num(b), QKEY);
	ca_ah_destroy(ah);
	suite_backend->run(&s->e);
	assert_int_equal(suite_drain(b), 1);
}

void test_ca_R43_qkeys_must_match(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);

	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
	assert_false(suite_reaches(s, a, ah, ca_qp_num(b), QKEY + 1, b));
	assert_false(suite_reaches(s, a, ah, ca_qp_num(b), 0, b));
}

void test_ca_qkey_with_high_bit_means_the_qps_own(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, MCAST_QKEY), *b = suite_qp(s, 1, 0, MCAST_QKEY);
	struct ca_qp *c = suite_qp(s, 0, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);

	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), MCAST_QKEY, b));
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), IB_QKEY_CONTROLLED, b));
	/*
	 * A QP with another Q_Key cannot send with MCAST_QKEY, even if its owner knows this value.
	 * Bit 31 of MCAST_QKEY is set, so the CA puts the QP's own Q_Key into the packet.
	 */
	assert_false(suite_reaches(s, c, ah, ca_qp_num(b), MCAST_QKEY, b));
}

void test_ca_R44_partitions_are_apart(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *a1 = suite_qp(s, 0, 1, QKEY);
	struct ca_qp *b = suite_qp(s, 1, 0, QKEY), *b1 = suite_qp(s, 1, 1, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	struct ca_wc wc;

	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
	assert_false(suite_reaches(s, a, ah, ca_qp_num(b1), QKEY, b1));
	assert_false(suite_reaches(s, a1, ah, ca_qp_num(b), QKEY, b));
	suite_send(s, a1, ah, suite_payload(s, 8, 0), ca_qp_num(b1), QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(ca_poll(b1, &wc, 1), 1);
	assert_int_equal(wc.pkey_index, 1);
	pkt_free(wc.pkt);
}

void test_ca_unknown_qp_gets_nothing(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	uint32_t n = ca_qp_num(b);

	ca_qp_destroy(b);
	suite_send(s, a, ah, suite_payload(s, 32, 9), n, QKEY);
	suite_backend->run(&s->e);
	b = suite_qp(s, 1, 0, QKEY);
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
}

void test_ca_I9_multicast_reaches_the_attached(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, MCAST_QKEY), *b = suite_qp(s, 1, 0, MCAST_QKEY);
	struct ca_ah *ah = suite_group_ah(s, 0);
	ib_gid mgid = suite_group();
	struct ca_wc wc;

	assert_false(suite_reaches(s, a, ah, IB_QPN_MCAST, IB_QKEY_CONTROLLED, b));
	assert_int_equal(ca_attach(b, &mgid, CA_SUITE_MLID), 0);
	suite_send(s, a, ah, suite_payload(s, 55, 4), IB_QPN_MCAST, IB_QKEY_CONTROLLED);
	suite_backend->run(&s->e);
	assert_int_equal(ca_poll(b, &wc, 1), 1);
	assert_non_null(wc.grh);
	assert_memory_equal(wc.grh + 24, mgid.raw, 16);
	assert_memory_equal(wc.grh + 8, s->port[0].gid.raw, 16);
	assert_int_equal(wc.src_qp, ca_qp_num(a));
	suite_check_payload(wc.pkt, 55, 4);
	pkt_free(wc.pkt);
	assert_int_equal(suite_drain(a), 0); /* the sender is not attached to the group */
	assert_int_equal(ca_detach(b, &mgid, CA_SUITE_MLID), 0);
	assert_false(suite_reaches(s, a, ah, IB_QPN_MCAST, IB_QKEY_CONTROLLED, b));
}

void test_ca_I9_an_attached_sender_hears_itself_once(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, MCAST_QKEY), *b = suite_qp(s, 1, 0, MCAST_QKEY);
	struct ca_qp *a2 = suite_qp(s, 0, 0, MCAST_QKEY);
	struct ca_qp *all[] = { a, a2, b };
	ib_gid mgid = suite_group();

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ca_attach(all[i], &mgid, CA_SUITE_MLID), 0);
	suite_send(s, a, suite_group_ah(s, 0), suite_payload(s, 300, 4), IB_QPN_MCAST,
		   IB_QKEY_CONTROLLED);
	suite_backend->run(&s->e);
	for (unsigned int i = 0; i < 3; i++) {
		struct ca_wc wc[2];

		assert_int_equal(ca_poll(all[i], wc, 2), 1);
		assert_int_equal(wc[0].slid, s->port[0].lid);
		assert_int_equal(wc[0].src_qp, ca_qp_num(a));
		suite_check_payload(wc[0].pkt, 300, 4);
		pkt_free(wc[0].pkt);
	}
}

void test_ca_ready_comes_once_per_arming(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);

	suite_send(s, a, ah, suite_payload(s, 32, 9), ca_qp_num(b), QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(s->side[1].ready, 0);
	assert_false(ca_arm(b)); /* returns false, because a completion waits */
	assert_int_equal(suite_drain(b), 1);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_true(ca_arm(b));
		assert_int_equal(s->side[1].ready, i - 1);
		for (unsigned int k = 0; k < 3; k++) {
			suite_send(s, a, ah, suite_payload(s, 32, 9), ca_qp_num(b), QKEY);
			suite_backend->run(&s->e);
		}
		assert_int_equal(s->side[1].ready, i);
		assert_ptr_equal(s->side[1].ready_qp, b);
		assert_int_equal(suite_drain(b), 3);
	}
	assert_int_equal(s->side[0].ready, 0);
}

/*
 * The CA may send posted packets at once or later. At any time the counters of the send queue must
 * count every posted packet, either as waiting or as sent. In the end no packet may be waiting.
 */
void test_ca_send_queue_empties(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	struct ca_send_queue before = ca_send_queue(s->e.ca[0]), q;

	assert_int_equal(before.waiting, 0);
	for (unsigned int i = 1; i <= 5; i++) {
		suite_send(s, a, ah, suite_payload(s, 32, 1), ca_qp_num(b), QKEY);
		q = ca_send_queue(s->e.ca[0]);
		assert_int_equal(q.waiting + (q.sent - before.sent), i);
		assert_true(ca_queued(s->e.ca[0]) >= q.waiting);
	}
	assert_false(q.stalled);
	suite_backend->run(&s->e);
	q = ca_send_queue(s->e.ca[0]);
	assert_int_equal(q.waiting, 0);
	assert_int_equal(q.sent - before.sent, 5);
	assert_int_equal(ca_queued(s->e.ca[0]), 0);
	assert_int_equal(suite_drain(b), 5);
}

void test_ca_flushed_sends_do_not_arrive(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	unsigned int n, waiting;

	for (unsigned int i = 0; i < 5; i++)
		suite_send(s, a, ah, suite_payload(s, 32, 1), ca_qp_num(b), QKEY);
	waiting = ca_send_queue(s->e.ca[0]).waiting;
	n = ca_send_flush(s->e.ca[0], s->e.now);
	assert_true(n <= waiting);
	assert_int_equal(ca_send_queue(s->e.ca[0]).waiting, 0);
	suite_backend->run(&s->e);
	assert_int_equal(suite_drain(b), 5 - n);
	/* The queue pair must still be able to send packets. */
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
}

void test_ca_modify_resets_and_keeps_attachments(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 1, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	struct ca_qp *a0 = suite_qp(s, 0, 0, QKEY);
	uint32_t n = ca_qp_num(b);
	ib_gid mgid = suite_group();

	assert_int_equal(ca_attach(b, &mgid, CA_SUITE_MLID), 0);
	suite_send(s, a0, ah, suite_payload(s, 32, 9), n, QKEY);
	suite_backend->run(&s->e);
	assert_int_equal(ca_qp_modify(b, 1, QKEY + 5), 0);
	assert_int_equal(suite_drain(b), 0);
	assert_int_equal(ca_qp_num(b), n);
	assert_false(suite_reaches(s, a, ah, n, QKEY, b));
	assert_false(suite_reaches(s, a0, ah, n, QKEY + 5, b));
	assert_true(suite_reaches(s, a, ah, n, QKEY + 5, b));
	assert_true(suite_reaches(s, a, suite_group_ah(s, 0), IB_QPN_MCAST, QKEY + 5, b));
}

void test_ca_two_qps_are_told_apart(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY);
	struct ca_qp *b = suite_qp(s, 1, 0, QKEY), *b2 = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);

	assert_true(ca_arm(b));
	assert_true(ca_arm(b2));
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b2), QKEY, b2));
	assert_int_equal(s->side[1].ready, 1);
	assert_ptr_equal(s->side[1].ready_qp, b2);
	assert_int_equal(suite_drain(b), 0);
}
