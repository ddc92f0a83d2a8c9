/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests the checks by which hca_rx() decides whether a packet is for this port, queue pair and
 * partition (LIDs, GIDs, QPNs, P_Keys, Q_Keys).
 */

#include "unit/hca_rig.h"

#define QPN 0x48

/* --- addresses */

static void test_foreign_dlids_are_dropped(void **state)
{
	static const uint16_t dlids[] = { 0, 1, RIG_LID1 + 1, RIG_LID2, 0xbfff, 0xffff };
	struct rig *r = *state;

	rig_qp(r, 1, QPN, 0);
	for (unsigned int i = 0; i < sizeof(dlids) / sizeof(*dlids); i++) {
		struct ib_ud_hdr h = rig_hdr(QPN);

		h.lrh.dlid = dlids[i];
		rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DLID);
	}
	/* A packet with the LID of one port arrives at the other port, and must be dropped. */
	struct ib_ud_hdr h = rig_hdr(QPN);

	rig_expect_drop(r, 2, rig_pkt(r, &h, 4), HCA_DROP_DLID);
	/* DLID 0 is never valid, not even at a port without a LID. */
	rig_port(r, 1)->pi.lid = 0;
	h.lrh.dlid = 0;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DLID);
}

static void test_I8_lids_of_the_lmc_range_are_own(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	rig_port(r, 1)->pi.lmc = 2;
	for (uint16_t bits = 0; bits < 4; bits++) {
		struct ib_ud_hdr h = rig_hdr(QPN);
		struct hca_wc wc;

		h.lrh.dlid = RIG_LID1 + bits;
		wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp);
		assert_int_equal(wc.dlid_path_bits, bits);
		pkt_free(wc.pkt);
	}
	struct ib_ud_hdr h = rig_hdr(QPN);

	h.lrh.dlid = RIG_LID1 + 4;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DLID);
	h.lrh.dlid = RIG_LID1 - 1;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DLID);
}

static void expect_dgid(struct rig *r, struct hca_qp *qp, ib_gid dgid, bool ok)
{
	struct ib_ud_hdr h = rig_hdr_grh(QPN);

	h.grh.dgid = dgid;
	if (ok)
		pkt_free(rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp).pkt);
	else
		rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DGID);
}

static void test_I8_dgid_is_one_of_the_ports(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	const uint64_t extra = 0x0203040506070809ull;

	expect_dgid(r, qp, ib_gid_of(RIG_PREFIX, RIG_GUID1), true);
	expect_dgid(r, qp, ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, RIG_GUID1), true);
	expect_dgid(r, qp, ib_gid_of(RIG_PREFIX + 1, RIG_GUID1), false);
	expect_dgid(r, qp, ib_gid_of(RIG_PREFIX, RIG_GUID2), false); /* GID of the other port */
	/* GUID 0 marks an empty entry of the GUID table */
	expect_dgid(r, qp, ib_gid_of(RIG_PREFIX, 0), false);
	/* the DLID is a unicast LID, but the DGID is an MGID */
	expect_dgid(r, qp, rig_mgid(1), false);
	expect_dgid(r, qp, ib_gid_of(RIG_PREFIX, extra), false);
	rig_port(r, 1)->guids[1] = extra;
	expect_dgid(r, qp, ib_gid_of(RIG_PREFIX, extra), true);
	expect_dgid(r, qp, ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, extra), true);
}

static void test_unknown_qps_are_dropped(void **state)
{
	static const uint32_t qpns[] = { 2, QPN + 1, 0x800000, 0xfffffe, 0xffffff };
	struct rig *r = *state;

	rig_qp(r, 1, QPN, 0);
	for (unsigned int i = 0; i < sizeof(qpns) / sizeof(*qpns); i++) {
		struct ib_ud_hdr h = rig_hdr(qpns[i]);

		rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QPN);
	}
}

static void test_a_qp_of_another_port_is_not_reached(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(QPN);

	rig_qp(r, 2, QPN, 0);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QPN);
}

/* --- keys */

/*
 * Tests all pairs of a packet's P_Key and the receiver's P_Key. Indices in pkeys[]: 0 full member,
 * 1 limited member, 2 full member of another partition, 3 and 4 values of empty entries.
 */
static void test_I7_R44_pkey_full_and_limited_matrix(void **state)
{
	static const uint16_t pkeys[] = { 0x8005, 0x0005, 0x8006, 0x0000, 0x8000 };
	static const bool match[5][5] = {
		{ true, true, false, false, false },   { true, false, false, false, false },
		{ false, false, true, false, false },  { false, false, false, false, false },
		{ false, false, false, false, false },
	};
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);

	assert_int_equal(hca_qp_modify(qp, 5, RIG_QKEY), 0);
	for (unsigned int t = 0; t < 5; t++) {
		for (unsigned int k = 0; k < 5; k++) {
			struct ib_ud_hdr h = rig_hdr(QPN);

			rig_port(r, 1)->pkeys[5] = pkeys[t];
			h.bth.pkey = pkeys[k];
			if (!match[t][k]) {
				rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_PKEY);
				continue;
			}
			struct hca_wc wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp);

			assert_int_equal(wc.pkey_index, 5);
			pkt_free(wc.pkt);
		}
	}
}

/*
 * The P_Key table of the port has the packet's P_Key, but not at the index that the queue pair
 * uses. The packet must be dropped.
 */
static void test_R44_pkey_is_compared_with_the_qps_entry(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(QPN);

	rig_qp(r, 1, QPN, 0);
	h.bth.pkey = 0x8001;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_PKEY);
	assert_int_equal(rig_port(r, 1)->pi.pkey_violations, 1);
	assert_int_equal(rig_port(r, 1)->pi.qkey_violations, 0);
}

static void test_R43_qkey_must_be_the_qps(void **state)
{
	struct rig *r = *state;
	struct ib_ud_hdr h = rig_hdr(QPN);

	rig_qp(r, 1, QPN, 0);
	h.deth.qkey = RIG_QKEY ^ 0x80000000;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QKEY);
	h.deth.qkey = 0;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QKEY);
	assert_int_equal(rig_port(r, 1)->pi.qkey_violations, 2);
	assert_int_equal(rig_port(r, 1)->pi.pkey_violations, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_foreign_dlids_are_dropped),
		T(test_I8_lids_of_the_lmc_range_are_own),
		T(test_I8_dgid_is_one_of_the_ports),
		T(test_unknown_qps_are_dropped),
		T(test_a_qp_of_another_port_is_not_reached),
		T(test_I7_R44_pkey_full_and_limited_matrix),
		T(test_R44_pkey_is_compared_with_the_qps_entry),
		T(test_R43_qkey_must_be_the_qps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
