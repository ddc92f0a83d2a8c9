/* SPDX-License-Identifier: BSD-2-Clause */

/* Tests hca_rx() with multicast packets. */

#include "hca/priv.h"
#include "unit/hca_rig.h"

#define QPN 0x48

static void test_I9_multicast_needs_an_attachment(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	struct hca_qp *other = rig_qp(r, 2, QPN + 1, 0);
	ib_gid mgid = rig_mgid(1), mgid2 = rig_mgid(2);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);
	struct hca_wc wc;

	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_MGID);
	assert_int_equal(hca_attach(other, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(qp, &mgid2, RIG_MLID), 0);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_MGID);
	assert_int_equal(hca_attach(qp, &mgid, RIG_MLID), 0);
	wc = rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp);
	assert_memory_equal(wc.grh + 24, mgid.raw, 16);
	assert_int_equal(wc.dlid_path_bits, 0);
	pkt_free(wc.pkt);
	assert_int_equal(hca_poll(other, &wc, 1), 0);
	assert_int_equal(rig_port(r, 1)->cnt.mcast_rcv, 3);
	assert_int_equal(rig_port(r, 1)->cnt.ucast_rcv, 0);
}

static void test_I9_each_attached_qp_gets_one_copy(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp[3];
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);
	struct hca_wc wc[4];

	for (unsigned int i = 0; i < 3; i++) {
		qp[i] = rig_qp(r, 1, QPN + i, 0);
		assert_int_equal(hca_attach(qp[i], &mgid, RIG_MLID), 0);
	}
	rig_rx(r, 1, rig_pkt(r, &h, 200));
	assert_int_equal(rig_drops(r), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(hca_poll(qp[i], wc, 4), 1);
		assert_memory_equal(wc[0].grh + 24, mgid.raw, 16);
		assert_true(wc[0].grh >= wc[0].pkt->hdr &&
			    wc[0].grh < wc[0].pkt->hdr + PKT_HDR_MAX);
		rig_check_payload(wc[0].pkt, 200);
		pkt_free(wc[0].pkt);
	}
}

/*
 * Two queue pairs are attached to a group. If one queue pair refuses a packet because of the
 * packet's keys, the other one must still get the packet. If both queue pairs refuse the packet, it
 * must be dropped and counted once.
 */
static void test_I9_keys_are_checked_per_attached_qp(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0), *b = rig_qp(r, 1, QPN + 1, 0);
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);
	struct hca_wc wc;

	assert_int_equal(hca_attach(a, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(b, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_qp_modify(b, 0, RIG_QKEY + 1), 0);
	pkt_free(rig_expect_rx(r, 1, rig_pkt(r, &h, 4), a).pkt);
	assert_int_equal(hca_poll(b, &wc, 1), 0);
	assert_int_equal(rig_port(r, 1)->pi.qkey_violations, 0);
	assert_int_equal(hca_qp_modify(a, 0, RIG_QKEY + 1), 0);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QKEY);
	assert_int_equal(rig_port(r, 1)->pi.qkey_violations, 1);
}

static void test_I9_multicast_needs_grh_and_its_qpn(void **state)
{
	struct rig *r = *state;
	struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);

	assert_int_equal(hca_attach(qp, &mgid, RIG_MLID), 0);
	h.has_grh = false;
	h.lrh.lnh = IB_LNH_LOCAL;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_NO_GRH);
	h = rig_hdr_mcast(&mgid);
	h.bth.dest_qp = QPN;
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_QPN);
	h = rig_hdr_mcast(&mgid);
	h.grh.dgid = ib_gid_of(RIG_PREFIX, RIG_GUID1);
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DGID);
	h = rig_hdr_mcast(&mgid);
	h.lrh.dlid = IB_LID_PERMISSIVE; /* the permissive LID is no multicast LID */
	rig_expect_drop(r, 1, rig_pkt(r, &h, 4), HCA_DROP_DLID);
	h.lrh.dlid = IB_LID_MCAST_MAX;
	pkt_free(rig_expect_rx(r, 1, rig_pkt(r, &h, 4), qp).pkt);
}

static void test_multicast_survives_an_exhausted_pool(void **state)
{
	struct rig *r = *state;
	struct hca_qp *a = rig_qp(r, 1, QPN, 0), *b = rig_qp(r, 1, QPN + 1, 0);
	ib_gid mgid = rig_mgid(1);
	struct ib_ud_hdr h = rig_hdr_mcast(&mgid);
	struct pkt *p = rig_pkt(r, &h, 4), *hog[RIG_PKTS];
	struct hca_wc wc;
	unsigned int n = 0;

	assert_int_equal(hca_attach(a, &mgid, RIG_MLID), 0);
	assert_int_equal(hca_attach(b, &mgid, RIG_MLID), 0);
	while ((hog[n] = pkt_alloc(r->pool)))
		n++;
	rig_rx(r, 1, p);
	assert_int_equal(hca_poll(b, &wc, 1), 1);
	pkt_free(wc.pkt);
	assert_int_equal(hca_poll(a, &wc, 1), 0);
	assert_int_equal(hca_drops(r->h, HCA_DROP_NO_MEM), 1);
	pkt_free_batch(hog, n);
}

static unsigned int longest_chain(const struct htab *t)
{
	unsigned int longest = 0;

	for (size_t i = 0; i < t->nbuckets; i++) {
		unsigned int n = 0;

		for (const struct hlink *l = t->bucket[i]; l; l = l->next)
			n++;
		longest = n > longest ? n : longest;
	}
	return longest;
}

/*
 * Groups often differ in one octet of the MGID only. A packet to one of them must not cost more than a packet to the only
 * group.
 */
static void test_groups_that_differ_in_one_octet_do_not_share_buckets(void **state)
{
	struct rig *r = *state;

	for (unsigned int octet = 2; octet < 16; octet++) {
		struct hca_qp *qp = rig_qp(r, 1, QPN, 0);
		ib_gid mgid = rig_mgid(1);

		for (unsigned int i = 0; i < 128; i++) {
			mgid.raw[octet] = (uint8_t)i;
			assert_int_equal(hca_attach(qp, &mgid, RIG_MLID), 0);
		}
		assert_null(r->h->groups.old); /* the table does not grow now */
		assert_in_range(longest_chain(&r->h->groups), 1, 8);
		hca_qp_destroy(qp);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_I9_multicast_needs_an_attachment),
		T(test_I9_each_attached_qp_gets_one_copy),
		T(test_I9_keys_are_checked_per_attached_qp),
		T(test_I9_multicast_needs_grh_and_its_qpn),
		T(test_multicast_survives_an_exhausted_pool),
		T(test_groups_that_differ_in_one_octet_do_not_share_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
