/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests trains of packets at a soft HCA: which trains are sent as trains, which trains are cut into
 * packets, and that all packets of trains are counted.
 */

#include "train/train.h"

#include <string.h>

#include "unit/hca_rig.h"
#include "unit/udp_train.h"

#define QPN 0x48
#define IP_UDP 28 /* octets of the IP and UDP headers */
#define ENCAP UDP_TRAIN_ENCAP
#define LAST 100 /* octets of payload in the last packet */

static struct pkt *train(struct rig *r, unsigned int n, unsigned int size)
{
	return udp_train(r->pool, n, size, LAST);
}

/* Return the length, from LRH to ICRC, of a packet without GRH, in words of 4 octets */
static unsigned int words(unsigned int payload)
{
	return (28 + ENCAP + IP_UDP + payload + 3 + 4) / 4;
}

static unsigned int psn_of(struct pkt *p)
{
	return be32_at(pkt_hdr(p) + ib_bth_off(pkt_hdr(p)) + IB_BTH_OFF_PSN) & IB_QPN_MASK;
}

static void test_a_train_leaves_whole_and_counts_as_packets(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);
	struct node_counters *c = &rig_port(r, 1)->cnt;

	rig_send(r, qp, ah, train(r, 5, 1001), RIG_FAR_QPN);
	assert_int_equal(r->nout, 1);
	assert_int_equal(pkt_count(r->out[0]), 5);
	assert_int_equal(psn_of(r->out[0]), 0);
	assert_int_equal(c->xmit_pkts, 5);
	assert_int_equal(c->ucast_xmit, 5);
	assert_int_equal(c->xmit_data, 4 * words(1001) + words(LAST));
	assert_int_equal(psn_of(rig_sent(r, qp, ah, 4)), 5);
}

/* Check that @n single packets were sent, with ascending PSNs from @first_psn on */
static void check_cut(struct rig *r, unsigned int n, unsigned int first_psn)
{
	assert_int_equal(r->nout, n);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(pkt_count(r->out[i]), 1);
		assert_int_equal(psn_of(r->out[i]), first_psn + i);
	}
}

static void test_a_train_to_a_group_or_to_qp1_is_cut(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(7);

	rig_send(r, qp, rig_mcast_ah(r, &mgid), train(r, 3, 1000), IB_QPN_MCAST);
	check_cut(r, 3, 0);
	rig_forget(r);
	rig_send(r, qp, rig_ucast_ah(r, RIG_FAR_LID), train(r, 3, 1000), IB_QP1);
	check_cut(r, 3, 3);
}

/* Take the packets out of train @t one by one, and check their CRCs. */
static void check_crcs(struct rig *r, struct pkt *t, unsigned int n, uint32_t flag)
{
	static uint8_t b[4096];

	for (unsigned int i = 0; i < n; i++) {
		struct pkt *p = i + 1 < n ? train_split_link(t, 1) : t;

		assert_non_null(p);
		assert_int_equal(pkt_count(p), 1);
		assert_int_equal(p->flags & (PKT_CRC | PKT_ICRC), flag);
		assert_int_equal(psn_of(p), i);
		if (flag == PKT_CRC)
			rig_check_crcs(b, rig_flatten(p, b, sizeof(b)));
		else
			assert_int_equal(crc_pkt_check_icrc(p), CRC_OK);
		if (p != t)
			pkt_free(p);
	}
}

static void whole_with_crcs(struct rig *r, uint32_t flag)
{
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	rig_send(r, qp, rig_ucast_ah(r, RIG_FAR_LID), train(r, 3, 1001), RIG_FAR_QPN);
	assert_int_equal(r->nout, 1);
	assert_int_equal(pkt_count(r->out[0]), 3);
	assert_int_equal(r->out[0]->flags & (PKT_CRC | PKT_ICRC), flag);
	check_crcs(r, r->out[0], 3, flag);
}

static void test_both_crcs_of_a_train(void **state)
{
	whole_with_crcs(*state, PKT_CRC);
}

static void test_icrcs_of_a_train(void **state)
{
	whole_with_crcs(*state, PKT_ICRC);
}

/*
 * All small buffers of the pool are in use (a pool has one small buffer for every four
 * descriptors). So there is no memory for the CRCs of a train, and the train must be cut.
 */
static void test_without_memory_for_crcs_a_train_is_cut(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct pkt_buf *b[RIG_PKTS / 4];

	for (unsigned int i = 0; i < RIG_PKTS / 4; i++)
		assert_non_null(b[i] = pkt_buf_alloc_small(r->pool));
	rig_send(r, qp, rig_ucast_ah(r, RIG_FAR_LID), train(r, 3, 1000), RIG_FAR_QPN);
	check_cut(r, 3, 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(crc_pkt_check(r->out[i]), CRC_OK);
	for (unsigned int i = 0; i < RIG_PKTS / 4; i++)
		pkt_buf_put(b[i]);
}

/* The third of five packets of a train is damaged. The other four must arrive. */
static void test_a_damaged_packet_of_a_train(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0), *peer = rig_qp(r, 2, QPN + 1, 0);
	struct hca_wc wc[8];
	struct pkt *t;

	rig_send(r, qp, rig_ucast_ah(r, RIG_LID2), train(r, 5, 1000), QPN + 1);
	assert_int_equal(r->nout, 1);
	t = r->out[0];
	t->slice[0].buf->data[2500] ^= 1;
	r->nout = 0;
	hca_rx(r->h, 2, &t, 1, r->now);
	assert_int_equal(hca_drops(r->h, HCA_DROP_VCRC), 1);
	assert_int_equal(rig_port(r, 2)->cnt.rcv_errors, 1);
	assert_int_equal(rig_port(r, 2)->cnt.rcv_pkts, 5);
	assert_int_equal(hca_poll(peer, wc, 8), 4);
	for (unsigned int i = 0; i < 4; i++)
		pkt_free(wc[i].pkt);
}

/* An undamaged train must arrive as a train, after its CRCs have been verified and removed. */
static void test_a_sealed_train_arrives_whole(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0), *peer = rig_qp(r, 2, QPN + 1, 0);
	struct hca_wc wc[8];

	rig_send(r, qp, rig_ucast_ah(r, RIG_LID2), train(r, 5, 1000), QPN + 1);
	r->nout = 0;
	hca_rx(r->h, 2, &r->out[0], 1, r->now);
	assert_int_equal(hca_poll(peer, wc, 8), 1);
	assert_int_equal(pkt_count(wc[0].pkt), 5);
	assert_null(wc[0].pkt->seals);
	assert_int_equal(wc[0].pkt->flags & (PKT_CRC | PKT_ICRC), 0);
	pkt_free(wc[0].pkt);
}

/*
 * The MTU of the port is too small for the first four packets of the train, but not for the last
 * one. Only these four packets must be dropped.
 */
static void test_mtu_of_the_port(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	rig_port(r, 1)->pi.neighbor_mtu = IB_MTU_256;
	rig_send(r, qp, rig_ucast_ah(r, RIG_FAR_LID), train(r, 5, 1000), RIG_FAR_QPN);
	check_cut(r, 1, 0);
	assert_int_equal(r->out[0]->len, 28 + ENCAP + IP_UDP + LAST);
	assert_int_equal(hca_drops(r->h, HCA_DROP_MTU), 4);

	rig_port(r, 1)->pi.neighbor_mtu = IB_MTU_2048;
	rig_port(r, 2)->pi.mtu_cap = IB_MTU_256;
	rig_qp(r, 2, QPN + 1, 0);
	rig_forget(r);
	rig_send(r, qp, rig_ucast_ah(r, RIG_LID2), train(r, 5, 1000), QPN + 1);
	r->nout = 0;
	hca_rx(r->h, 2, &r->out[0], 1, r->now);
	assert_int_equal(hca_drops(r->h, HCA_DROP_MTU), 8);
	assert_int_equal(rig_port(r, 2)->cnt.rcv_pkts, 5);
}

static void test_a_port_that_is_not_active_drops_packets(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);

	rig_port(r, 1)->pi.port_state = IB_PORT_INIT;
	rig_send(r, qp, ah, train(r, 6, 1000), RIG_FAR_QPN);
	assert_int_equal(r->nout, 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_TX_STATE), 6);
}

/*
 * Two trains of 5 packets are sent to a queue pair whose receive ring has 8 places. The test takes
 * two packets at a time out of the ring.
 */
static void test_receive_ring_holds_packets(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0), *peer = rig_qp(r, 2, QPN + 1, 8);
	struct hca_ah_attr a = { .port = 1,
				 .dlid = RIG_LID2,
				 .has_grh = true,
				 .dgid = ib_gid_of(RIG_PREFIX, RIG_GUID2) };
	struct hca_ah *ah = rig_ah(r, &a);
	struct hca_wc wc[8];
	unsigned int got = 0;

	for (int i = 0; i < 2; i++) {
		rig_send(r, qp, ah, train(r, 5, 1000), QPN + 1);
		assert_int_equal(r->nout, 1);
		r->nout = 0;
		hca_rx(r->h, 2, &r->out[0], 1, r->now);
	}
	assert_int_equal(rig_port(r, 2)->cnt.rcv_pkts, 10);
	assert_int_equal(hca_drops(r->h, HCA_DROP_NO_RX), 2);
	while (got < 8) {
		unsigned int n = hca_poll(peer, wc, 2), packets = 0;

		for (unsigned int i = 0; i < n; i++) {
			packets += pkt_count(wc[i].pkt);
			assert_non_null(wc[i].grh);
			assert_int_equal(be64_at(wc[i].grh + 32), RIG_GUID2);
			assert_int_equal(wc[i].src_qp, QPN);
			pkt_free(wc[i].pkt);
		}
		assert_int_equal(packets, 2);
		got += packets;
	}
	assert_int_equal(hca_poll(peer, wc, 8), 0);
}

/*
 * The pool has not enough descriptors to cut the whole train into packets. The packets without a
 * descriptor must be dropped and counted.
 */
static void test_no_descriptors(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);
	struct pkt *t = train(r, 6, 1000), *p;
	struct pkt_queue all = { 0 };

	while ((p = pkt_alloc(r->pool)))
		pkt_queue_add(&all, p);
	pkt_free(pkt_queue_pop(&all));
	pkt_free(pkt_queue_pop(&all));
	rig_send(r, qp, ah, t, IB_QP1);
	check_cut(r, 2, 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_NO_MEM), 4);
	pkt_queue_purge(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_train_leaves_whole_and_counts_as_packets,
						rig_setup_off, rig_teardown),
		cmocka_unit_test_setup_teardown(test_a_train_to_a_group_or_to_qp1_is_cut,
						rig_setup_off, rig_teardown),
		cmocka_unit_test_setup_teardown(test_both_crcs_of_a_train, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_icrcs_of_a_train, rig_setup_icrc,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_without_memory_for_crcs_a_train_is_cut,
						rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_packet_of_a_train, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_a_sealed_train_arrives_whole, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_mtu_of_the_port, rig_setup_off, rig_teardown),
		cmocka_unit_test_setup_teardown(test_a_port_that_is_not_active_drops_packets,
						rig_setup_off, rig_teardown),
		cmocka_unit_test_setup_teardown(test_receive_ring_holds_packets, rig_setup_off,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptors, rig_setup_off, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
