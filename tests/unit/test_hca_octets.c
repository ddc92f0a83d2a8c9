/* SPDX-License-Identifier: BSD-2-Clause */

/* Tests the octets that hca_post_send() sends to the link, under each of the three CRC settings. */

#include "unit/hca_rig.h"

#define QPN 0x48

/*
 * Check that the bitwise CRC routines of the rig give the ICRC and the VCRC of the sample packet in
 * IBTA volume 1, 7.8.3.
 */
static void test_I33_slow_crcs_give_the_sample_packets(void **state)
{
	static const uint8_t sample[] = {
		0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87,
		0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c,
		0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
		0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69,
		0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
	};

	rig_check_crcs(sample, sizeof(sample));
}

/* Tests the octets of a unicast packet, computed by hand (IBTA volume 1, 7.7, 9.2 and 9.3.3). */
static void test_I7_unicast_octets(void **state)
{
	/* clang-format off: each line is one header */
	static const uint8_t want[] = {
		/* LRH: VL 0, LVer 0 | SL 0, LNH 2 | DLID | PktLen 9 | SLID */
		0x00,
		0x02,
		0x00,
		0x44,
		0x00,
		0x09,
		0x00,
		0x20,
		/* BTH: UD SEND only | PadCnt 3 | P_Key of index 2 | DestQP | PSN 0 */
		0x64,
		0x30,
		0x00,
		0x02,
		0x00,
		0x00,
		0x07,
		0x77,
		0x00,
		0x00,
		0x00,
		0x00,
		/* DETH: Q_Key | SrcQP */
		0x00,
		0x00,
		0x0b,
		0x1b,
		0x00,
		0x00,
		0x00,
		0x48,
		/* payload, pad */
		0x00,
		0x00,
		0x00,
		0x00,
	};
	/* clang-format on */
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);
	uint8_t buf[128];
	struct pkt *p;
	unsigned int n;

	/*
	 * Now the QP uses the P_Key at index 2, which is a limited one, so the packet must have
	 * this limited P_Key.
	 */
	assert_int_equal(hca_qp_modify(qp, 2, RIG_QKEY), 0);
	p = rig_payload(r, 1);
	/*
	 * like a packet that was received before, this one has few hops left in its descriptor; the
	 * HCA must send it with all PKT_HOPS hops
	 */
	p->hops = 1;
	rig_send(r, qp, ah, p, RIG_FAR_QPN);
	assert_int_equal(r->nout, 1);
	n = rig_flatten(p, buf, sizeof(buf));
	assert_int_equal(n, sizeof(want) + 6);
	assert_memory_equal(buf, want, sizeof(want));
	rig_check_crcs(buf, n);
	assert_int_equal(r->out[0]->flags & (PKT_CRC | PKT_ICRC), PKT_CRC);
	assert_int_equal(r->out[0]->vl, 0);
	assert_int_equal(r->out[0]->hops, PKT_HOPS);
}

static void test_I9_multicast_octets(void **state)
{
	/* clang-format off: each line is one header, or half of one */
	static const uint8_t want[] = {
		/* LRH: VL 1, LVer 0 | SL 5, LNH 3 | MLID | PktLen 20 | SLID with path bit 1 */
		0x10,
		0x53,
		0xc0,
		0x05,
		0x00,
		0x14,
		0x00,
		0x21,
		/* GRH: IPVer 6, TClass 0xa5, FlowLabel 0x54321 | PayLen 32 | NxtHdr | HopLmt */
		0x6a,
		0x55,
		0x43,
		0x21,
		0x00,
		0x20,
		0x1b,
		0x09,
		/* SGID */
		0xfe,
		0xc0,
		0x00,
		0x00,
		0x00,
		0x00,
		0x00,
		0x01,
		0x00,
		0x02,
		0xc9,
		0x03,
		0x00,
		0x00,
		0x00,
		0x11,
		/* DGID */
		0xff,
		0x12,
		0x40,
		0x1b,
		0xff,
		0xff,
		0x00,
		0x00,
		0x00,
		0x00,
		0x00,
		0x00,
		0x00,
		0x00,
		0x00,
		0x01,
		/* BTH */
		0x64,
		0x00,
		0xff,
		0xff,
		0x00,
		0xff,
		0xff,
		0xff,
		0x00,
		0x00,
		0x00,
		0x00,
		/* DETH: Q_Key of the QP, because the Q_Key in the send has bit 31 set */
		0x00,
		0x00,
		0x0b,
		0x1b,
		0x00,
		0x00,
		0x00,
		0x48,
		/* payload */
		0x00,
		0x01,
		0x02,
		0x03,
		0x04,
		0x05,
		0x06,
		0x07,
	};
	/* clang-format on */
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_send s = { .dest_qp = IB_QPN_MCAST, .qkey = IB_QKEY_CONTROLLED };
	uint8_t buf[128];
	unsigned int n;

	rig_port(r, 1)->pi.lmc = 1;
	rig_port(r, 1)->pi.oper_vls = 3; /* code 3: VL0 to VL3 */
	s.pkt = rig_payload(r, 8);
	s.ah = rig_ah(r, &(struct hca_ah_attr){
				 .port = 1,
				 .sl = 5,
				 /* with LMC 1, only the lowest of these bits counts */
				 .src_path_bits = 3,
				 .dlid = RIG_MLID,
				 .has_grh = true,
				 .tclass = 0xa5,
				 .flow_label = 0x54321,
				 .hop_limit = 9,
				 .dgid = rig_mgid(1),
			 });
	assert_int_equal(hca_post_send(qp, &s, 1, r->now), 1);
	assert_int_equal(r->nout, 1);
	n = rig_flatten(r->out[0], buf, sizeof(buf));
	assert_int_equal(n, sizeof(want) + 6);
	assert_memory_equal(buf, want, sizeof(want));
	rig_check_crcs(buf, n);
	assert_int_equal(r->out[0]->vl, 1);
}

static void test_padding_and_crcs_of_all_lengths(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah[2] = { rig_ucast_ah(r, RIG_FAR_LID), NULL };
	ib_gid mgid = rig_mgid(1);
	uint8_t buf[4200];

	ah[1] = rig_mcast_ah(r, &mgid);
	for (unsigned int i = 0; i < 2 * 300; i++) {
		unsigned int len = i / 2 < 290 ? i / 2 : 2048 - (300 - 1 - i / 2);
		struct pkt *p = rig_sent(r, qp, ah[i & 1], len);
		unsigned int n = rig_flatten(p, buf, sizeof(buf));
		struct ib_ud_hdr h = rig_header_of(p);

		assert_int_equal(h.bth.pad, -len & 3);
		assert_int_equal(p->tail_len, h.bth.pad + 6);
		assert_int_equal(h.lrh.pkt_len * 4, n - 2);
		rig_check_crcs(buf, n);
	}
}

static void test_icrc_only(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_ah *ah = rig_ucast_ah(r, RIG_FAR_LID);

	for (unsigned int len = 0; len < 260; len += 13) {
		struct pkt *p = rig_sent(r, qp, ah, len);
		uint8_t buf[400];
		unsigned int n = rig_flatten(p, buf, sizeof(buf));
		uint32_t icrc = rig_slow_icrc(buf, n - 6);

		assert_int_equal(p->flags & (PKT_CRC | PKT_ICRC), PKT_ICRC);
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(buf[n - 6 + i], (uint8_t)(icrc >> 8 * i));
	}
}

static void test_icrc_only_is_verified(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	/* packets from port 1 to port 2 of the same HCA, over the link */
	struct hca_ah *ah = rig_ucast_ah(r, RIG_LID2);
	struct hca_qp *peer = rig_qp(r, 2, QPN + 1, 0);

	for (unsigned int len = 0; len < 300; len += 37) {
		struct pkt *good, *bad;

		rig_send(r, qp, ah, rig_payload(r, len), QPN + 1);
		assert_int_equal(r->nout, 1);
		good = r->out[0];
		r->nout = 0;
		bad = pkt_clone(good);
		bad->tail[bad->tail_len - 3] ^= 0x10;
		rig_expect_drop(r, 2, bad, HCA_DROP_ICRC);
		/*
		 * The VL is a variant field, because switches can change it. The ICRC does not
		 * cover variant fields, so the packet must be accepted.
		 */
		pkt_hdr(good)[0] ^= 0x20;
		pkt_free(rig_expect_rx(r, 2, good, peer).pkt);
	}
}

static void test_crc_off(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct pkt *p = rig_sent(r, qp, rig_ucast_ah(r, RIG_FAR_LID), 7);

	assert_int_equal(p->flags & (PKT_CRC | PKT_ICRC), 0);
	assert_int_equal(p->tail_len, 1 + 6);
	assert_int_equal(rig_header_of(p).lrh.pkt_len * 4, p->len + 1 + 4);
}

/*
 * The headers of upper layers fill hdr[], so hdr[] has no room for the IB headers. The packet must
 * be sent nevertheless, with its payload unchanged.
 */
static void test_payload_without_head_room(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1);
	struct hca_ah *ah = rig_mcast_ah(r, &mgid);

	for (unsigned int in_hdr = 120; in_hdr <= PKT_HDR_MAX; in_hdr += 4) {
		struct pkt *p = rig_payload(r, 256), *q = pkt_alloc(r->pool);
		uint8_t buf[400];

		pkt_copy_out(p, 0, pkt_push(q, in_hdr), in_hdr);
		pkt_add_slice(q, p->slice[0].buf, p->slice[0].data + in_hdr, 256 - in_hdr);
		pkt_free(p);
		rig_forget(r);
		rig_send(r, qp, ah, q, IB_QPN_MCAST);
		assert_int_equal(r->nout, 1);
		assert_int_equal(rig_flatten(q, buf, sizeof(buf)), 68 + 256 + 6);
		rig_check_crcs(buf, 68 + 256 + 6);
		for (unsigned int i = 0; i < 256; i++)
			assert_int_equal(buf[68 + i], i);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I33_slow_crcs_give_the_sample_packets),
		T(test_I7_unicast_octets),
		T(test_I9_multicast_octets),
		T(test_padding_and_crcs_of_all_lengths),
		cmocka_unit_test_setup_teardown(test_icrc_only, rig_setup_icrc, rig_teardown),
		cmocka_unit_test_setup_teardown(test_icrc_only_is_verified, rig_setup_icrc,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_crc_off, rig_setup_off, rig_teardown),
		T(test_payload_without_head_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
