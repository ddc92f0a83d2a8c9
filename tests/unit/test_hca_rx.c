/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests hca_rx(): the reasons for which it drops packets, each with a packet that has only one
 * fault, and the packets that a receiver gets.
 */

#include "unit/hca_rig.h"

#define QPN 0x48

/* --- delivery */

static void test_unicast_without_grh_is_delivered(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);

	for (unsigned int len = 0; len <= 9; len++) {
		struct hca_wc wc = rig_expect_rx(r, 1, rig_pkt(r, &h, len), qp);

		assert_null(wc.grh);
		assert_int_equal(wc.src_qp, RIG_FAR_QPN);
		assert_int_equal(wc.slid, RIG_FAR_LID);
		assert_int_equal(wc.sl, 3);
		assert_int_equal(wc.pkey_index, 0);
		assert_int_equal(wc.dlid_path_bits, 0);
		assert_int_equal(wc.pkt->tail_len, 0);
		assert_int_equal(wc.pkt->flags & PKT_CRC, 0);
		rig_check_payload(wc.pkt, len);
		pkt_free(wc.pkt);
	}
}

static void test_I8_grh_is_handed_over(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr_grh(QPN);
	struct hca_wc wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 300), qp);
	struct ib_grh grh;

	assert_non_null(wc.grh);
	assert_int_equal(ib_grh_decode(&grh, wc.grh, IB_GRH_LEN), 0);
	assert_memory_equal(&grh.sgid, &h.grh.sgid, sizeof(ib_gid));
	assert_memory_equal(&grh.dgid, &h.grh.dgid, sizeof(ib_gid));
	assert_int_equal(grh.flow_label, 0x12345);
	assert_int_equal(grh.tclass, 0x5a);
	assert_int_equal(grh.hop_limit, 7);
	rig_check_payload(wc.pkt, 300);
	pkt_free(wc.pkt);
}

/*
 * Return a packet like one that was received from a socket, with the octets of @p: the first
 * @in_hdr octets are in hdr[], and the other octets are in one buffer. @p is freed.
 */
static struct pkt *in_one_slice(struct rig *r, struct pkt *p, unsigned int in_hdr)
{
	struct pkt *s = pkt_alloc(r->pool);
	struct pkt_buf *b = pkt_buf_alloc(r->pool);

	assert_non_null(s);
	assert_non_null(b);
	pkt_copy_out(p, 0, b->data, p->len);
	if (in_hdr)
		memcpy(pkt_push(s, in_hdr), b->data, in_hdr);
	pkt_add_slice(s, b, b->data + in_hdr, p->len - in_hdr);
	pkt_buf_put(b);
	memcpy(s->tail, p->tail, sizeof(s->tail));
	s->tail_len = p->tail_len;
	s->flags = p->flags;
	pkt_free(p);
	return s;
}

static void test_headers_in_a_slice_are_gathered(void **state)
{
	static const unsigned int in_hdr[] = { 0, 4, 8, 27, 28, 60 };
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h[] = { rig_hdr(QPN), rig_hdr_grh(QPN) };

	for (unsigned int i = 0; i < 2 * sizeof(in_hdr) / sizeof(*in_hdr); i++) {
		const struct ib_ud_hdr *u = &h[i & 1];
		struct pkt *p = in_one_slice(r, rig_pkt(r, u, 40), in_hdr[i / 2]);
		struct hca_wc wc = rig_expect_rx(r, 1, p, qp);

		rig_check_payload(wc.pkt, 40);
		if (u->has_grh)
			assert_memory_equal(wc.grh + 24, u->grh.dgid.raw, 16);
		else
			assert_null(wc.grh);
		pkt_free(wc.pkt);
	}
}

/*
 * A ping of 1000 octets has 1028 octets of IP, 4 of IPoIB header, 28 of IB headers and 4 of ICRC,
 * which are 266 words of 4 octets (IBTA volume 1, 16.1.3.5).
 */
static void test_counters_count_266_words_for_1032_octets(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct node_counters *c = &rig_port(r, 1)->cnt;
	struct hca_wc wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 1032), qp);

	assert_int_equal(c->rcv_data, 266);
	assert_int_equal(c->rcv_pkts, 1);
	assert_int_equal(c->ucast_rcv, 1);
	assert_int_equal(c->mcast_rcv, 0);
	assert_int_equal(c->rcv_errors, 0);
	assert_int_equal(rig_port(r, 2)->cnt.rcv_pkts, 0);
	pkt_free(wc.pkt);
}

/* --- format */

static void test_short_packets_are_dropped(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr_grh(QPN);

	rig_qp(r, 1, QPN, 0);
	for (unsigned int len = 0; len < ib_ud_hdr_len(true); len++) {
		struct pkt *p = rig_pkt(r, &h, 0);

		pkt_trim(p, len);
		rig_expect_drop(r, 1, p, HCA_DROP_LEN);
	}
	assert_int_equal(rig_port(r, 1)->cnt.rcv_errors, ib_ud_hdr_len(true));
}

static void test_lengths_that_disagree_are_dropped(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr_grh(QPN);
	struct pkt *p;

	rig_qp(r, 1, QPN, 0);
	p = rig_pkt(r, &h, 8);
	be16_put(pkt_hdr(p) + 4, be16_at(pkt_hdr(p) + 4) + 1); /* PktLen */
	crc_pkt_seal(p);
	rig_expect_drop(r, 1, p, HCA_DROP_LEN);
	p = rig_pkt(r, &h, 8);
	be16_put(pkt_hdr(p) + 12, be16_at(pkt_hdr(p) + 12) - 4); /* PayLen */
	crc_pkt_seal(p);
	rig_expect_drop(r, 1, p, HCA_DROP_LEN);
	p = rig_pkt(r, &h, 8);
	pkt_hdr(p)[49] |= 1 << 4; /* PadCnt 1 in a payload of 8 octets */
	crc_pkt_seal(p);
	rig_expect_drop(r, 1, p, HCA_DROP_LEN);
	p = rig_pkt(r, &h, 8);
	p->tail_len -= 2; /* the VCRC is missing */
	rig_expect_drop(r, 1, p, HCA_DROP_LEN);
	p = rig_pkt(r, &h, 8);
	p->tail_len = 0;
	rig_expect_drop(r, 1, p, HCA_DROP_LEN);
}

/*
 * Set the octet at @off of a packet with a GRH to @val, compute the CRCs again, and check that the
 * packet is dropped for the reason @why.
 */
static void expect_drop_if(struct rig *r, unsigned int off, uint8_t val, enum hca_drop why)
{
	struct ib_ud_hdr h = rig_hdr_grh(QPN);
	struct pkt *p = rig_pkt(r, &h, 8);

	assert_int_not_equal(pkt_hdr(p)[off], val);
	pkt_hdr(p)[off] = val;
	crc_pkt_seal(p);
	rig_expect_drop(r, 1, p, why);
}

static void test_versions_are_checked(void **state)
{
	struct rig *r = *state;

	rig_qp(r, 1, QPN, 0);
	expect_drop_if(r, 0, 0x01, HCA_DROP_VERSION); /* LVer 1 */
	expect_drop_if(r, 1, 0x30, HCA_DROP_VERSION); /* LNH 0: raw packet */
	expect_drop_if(r, 1, 0x31, HCA_DROP_VERSION); /* LNH 1: raw packet with an IPv6 header */
	expect_drop_if(r, 49, 0x01, HCA_DROP_VERSION); /* transport version 1 */
	expect_drop_if(r, 48, 0x65, HCA_DROP_VERSION); /* UD SEND only with immediate */
	expect_drop_if(r, 48, 0x04, HCA_DROP_VERSION); /* RC SEND only */
	expect_drop_if(r, 48, 0xe4, HCA_DROP_VERSION);
}

static void test_I8_grh_version_and_next_header(void **state)
{
	struct rig *r = *state;

	rig_qp(r, 1, QPN, 0);
	expect_drop_if(r, 8, 0x45, HCA_DROP_VERSION); /* IPVer 4 */
	expect_drop_if(r, 14, 0x11, HCA_DROP_VERSION); /* NxtHdr UDP */
}

static void test_bad_crcs_are_dropped(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct pkt *p;
	unsigned int pad = 3;

	rig_qp(r, 1, QPN, 0);
	p = rig_pkt(r, &h, 5);
	p->tail[pad + 5] ^= 0x80;
	rig_expect_drop(r, 1, p, HCA_DROP_VCRC);
	/* Damage inside a switch leaves the VCRC right and the ICRC wrong. */
	p = rig_pkt(r, &h, 5);
	pkt_hdr(p)[ib_ud_hdr_len(false)] ^= 0x01;
	uint8_t whole[64];
	size_t n = pkt_copy_out(p, 0, whole, sizeof(whole));

	memcpy(whole + n, p->tail, pad + 4);
	uint16_t vcrc = crc_vcrc(whole, n + pad + 4);

	p->tail[pad + 4] = (uint8_t)vcrc;
	p->tail[pad + 5] = (uint8_t)(vcrc >> 8);
	rig_expect_drop(r, 1, p, HCA_DROP_ICRC);
	assert_int_equal(rig_port(r, 1)->cnt.rcv_errors, 2);
	assert_int_equal(rig_port(r, 1)->cnt.rcv_pkts, 2);
}

static void test_crcs_that_are_not_there_are_not_checked(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct pkt *p = rig_pkt(r, &h, 5);
	struct hca_wc wc;

	crc_pkt_pad(p);
	wc = rig_expect_rx(r, 1, p, qp);
	rig_check_payload(wc.pkt, 5);
	pkt_free(wc.pkt);
}

/* --- port state and VL15 */

static void test_I4_data_passes_in_active_only(void **state)
{
	static const uint8_t states[] = { IB_PORT_DOWN, IB_PORT_INIT };
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(QPN);

	rig_qp(r, 1, QPN, 0);
	for (unsigned int i = 0; i < 2; i++) {
		rig_port(r, 1)->pi.port_state = states[i];
		rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_PORT_STATE);
	}
}

static void test_I4_data_in_armed_makes_the_port_active(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct hca_wc wc;

	rig_port(r, 1)->pi.port_state = IB_PORT_ARMED;
	wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp);
	pkt_free(wc.pkt);
	assert_int_equal(rig_port(r, 1)->pi.port_state, IB_PORT_ACTIVE);
	assert_int_equal(r->events[NODE_EV_PORT_ACTIVE], 1);
}

static void test_I3_vl15_is_for_qp0_alone(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(QPN), g = rig_hdr_grh(IB_QP0);

	rig_qp(r, 1, QPN, 0);
	h.lrh.vl = IB_VL15;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 256), HCA_DROP_VL15);
	h.bth.dest_qp = IB_QP1;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 256), HCA_DROP_VL15);
	h.bth.dest_qp = IB_QP0;
	h.lrh.vl = 0; /* a packet for QP0 that is on a data VL and not on VL15 */
	rig_expect_drop(r, 1, rig_pkt(r, &h, 256), HCA_DROP_VL15);
	g.lrh.vl = IB_VL15; /* a packet for QP0 that has a GRH */
	rig_expect_drop(r, 1, rig_pkt(r, &g, 256), HCA_DROP_VL15);
	h.lrh.vl = IB_VL15;
	h.lrh.dlid = RIG_MLID; /* a packet for QP0, to a multicast LID */
	rig_expect_drop(r, 1, rig_pkt(r, &h, 256), HCA_DROP_VL15);
	h.lrh.dlid = RIG_LID1;
	rig_port(r, 1)->pi.port_state = IB_PORT_DOWN;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 256), HCA_DROP_PORT_STATE);
}

/* --- resources */

static void test_a_full_receive_queue_drops(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 3);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct hca_wc wc[4];

	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < 3; i++)
			rig_rx(r, 1, rig_pkt(r, &h, 4 + i));
		rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_NO_RX);
		assert_int_equal(hca_poll(qp, wc, 4), 3);
		for (unsigned int i = 0; i < 3; i++) {
			rig_check_payload(wc[i].pkt, 4 + i);
			pkt_free(wc[i].pkt);
		}
	}
	assert_int_equal(hca_drops(r->h, HCA_DROP_NO_RX), 5);
}

static void test_payload_above_the_mtu_is_dropped(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct hca_wc wc;

	rig_port(r, 1)->pi.mtu_cap = IB_MTU_1024;
	wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 1024), qp);
	rig_check_payload(wc.pkt, 1024);
	pkt_free(wc.pkt);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 1025), HCA_DROP_MTU);
}

static void test_what_waits_in_a_destroyed_qp_is_counted(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);

	rig_rx(r, 1, rig_pkt(r, &h, 4));
	rig_rx(r, 1, rig_pkt(r, &h, 400));
	hca_qp_destroy(qp);
	assert_int_equal(hca_drops(r->h, HCA_DROP_QP_STATE), 2);
	assert_int_equal(rig_drops(r), 2);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
}

static void test_a_batch_keeps_its_order(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct ib_ud_hdr h = rig_hdr(QPN);
	struct pkt *v[PKT_BATCH];
	struct hca_wc wc[PKT_BATCH];

	for (unsigned int i = 0; i < PKT_BATCH; i++)
		v[i] = rig_pkt(r, &h, i);
	hca_rx(r->h, 1, v, PKT_BATCH, r->now);
	assert_int_equal(hca_poll(qp, wc, PKT_BATCH), PKT_BATCH);
	for (unsigned int i = 0; i < PKT_BATCH; i++) {
		rig_check_payload(wc[i].pkt, i);
		pkt_free(wc[i].pkt);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_unicast_without_grh_is_delivered),
		T(test_I8_grh_is_handed_over),
		T(test_headers_in_a_slice_are_gathered),
		T(test_counters_count_266_words_for_1032_octets),
		T(test_short_packets_are_dropped),
		T(test_lengths_that_disagree_are_dropped),
		T(test_versions_are_checked),
		T(test_I8_grh_version_and_next_header),
		T(test_bad_crcs_are_dropped),
		T(test_crcs_that_are_not_there_are_not_checked),
		T(test_I4_data_passes_in_active_only),
		T(test_I4_data_in_armed_makes_the_port_active),
		T(test_I3_vl15_is_for_qp0_alone),
		T(test_a_full_receive_queue_drops),
		T(test_payload_above_the_mtu_is_dropped),
		T(test_what_waits_in_a_destroyed_qp_is_counted),
		T(test_a_batch_keeps_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
