/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_rig.h"

#include "node/mad_pkt.h"
#include "crc/crc.h"

static struct node_rig ca;
static struct pkt_pool *pool;
static uint8_t mad[MAD_LEN];

static int setup(void **state)
{
	(void)state;
	node_rig_init(&ca, IB_NODE_CA, 1);
	pool = pkt_pool_create(4, 4);
	assert_non_null(pool);
	for (unsigned int i = 0; i < sizeof(mad); i++)
		mad[i] = (uint8_t)i;
	ca.n.port[1].pi.lid = 0x20;
	ca.n.port[1].pi.lmc = 2;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	assert_int_equal(pkt_pool_bufs_used(pool), 0);
	pkt_pool_destroy(pool);
	node_rig_fini(&ca);
	return 0;
}

static struct pkt *build(const struct mad_addr *to, uint8_t vl)
{
	return mad_pkt_build(pool, &ca.n.port[1], to, mad, vl, true);
}

/* Decode @p, check its length, payload and CRCs, and free it. */
static struct ib_ud_hdr opened(struct pkt *p)
{
	struct ib_ud_hdr h;
	uint8_t payload[MAD_LEN];
	int n;

	assert_non_null(p);
	assert_int_equal(crc_pkt_check(p), CRC_OK);
	assert_true(p->flags & PKT_CRC);
	n = ib_ud_hdr_decode(&h, pkt_hdr(p), pkt_hdr_len(p));
	assert_int_equal(n, ib_ud_hdr_len(h.has_grh));
	assert_int_equal(p->len, n + MAD_LEN);
	assert_int_equal(p->tail_len, 6);
	assert_int_equal(h.lrh.pkt_len * 4, p->len + 4);
	assert_int_equal(h.lrh.vl, p->vl);
	assert_int_equal(pkt_copy_out(p, (uint32_t)n, payload, sizeof(payload)), MAD_LEN);
	assert_memory_equal(payload, mad, MAD_LEN);
	pkt_free(p);
	return h;
}

/*
 * The SMP must have the form that a trace of OpenSM shows: VL15, LRH F0 02 FFFF 0048 FFFF, P_Key
 * 0xFFFF, Q_Key 0, QP0, and 290 octets.
 */
static void test_directed_route_smp(void **state)
{
	static const uint8_t lrh[] = { 0xf0, 0x02, 0xff, 0xff, 0x00, 0x48, 0xff, 0xff };
	struct mad_addr to = mad_addr_smp_dr();
	struct pkt *p = build(&to, 3);
	struct ib_ud_hdr h;

	(void)state;
	assert_non_null(p);
	assert_memory_equal(pkt_hdr(p), lrh, sizeof(lrh));
	assert_int_equal(p->len + p->tail_len, 290);
	h = opened(p);
	assert_int_equal(h.lrh.vl, 15);
	assert_int_equal(h.bth.pkey, 0xffff);
	assert_int_equal(h.bth.dest_qp, 0);
	assert_int_equal(h.deth.qkey, 0);
	assert_int_equal(h.deth.src_qp, 0);
	assert_int_equal(h.bth.opcode, IB_OP_UD_SEND_ONLY);
}

static void test_lid_routed_smp(void **state)
{
	struct mad_addr to = mad_addr_smp_lid(0x77);
	struct ib_ud_hdr h;

	(void)state;
	to.sl = 5;
	h = opened(build(&to, 3));
	assert_int_equal(h.lrh.vl, 15);
	assert_int_equal(h.lrh.sl, 0);
	assert_int_equal(h.lrh.dlid, 0x77);
	assert_int_equal(h.lrh.slid, 0x20);
}

static void test_gmp(void **state)
{
	struct mad_addr to = mad_addr_gmp(0x77, 5);
	struct ib_ud_hdr h;

	(void)state;
	to.qpn = 0x123456;
	to.path_bits = 0x7f; /* with LMC 2 only the low two bits count */
	h = opened(build(&to, 3));
	assert_int_equal(h.lrh.vl, 3);
	assert_int_equal(h.lrh.sl, 5);
	assert_int_equal(h.lrh.dlid, 0x77);
	assert_int_equal(h.lrh.slid, 0x23);
	assert_int_equal(h.bth.dest_qp, 0x123456);
	assert_int_equal(h.bth.pkey, 0xffff);
	assert_int_equal(h.deth.qkey, 0x80010000);
	assert_int_equal(h.deth.src_qp, 1);
	assert_false(h.has_grh);
}

static void test_I7_bth_carries_the_table_entry(void **state)
{
	struct mad_addr to = mad_addr_gmp(0x77, 0);
	struct ib_ud_hdr h;

	(void)state;
	ca.n.port[1].pkeys[0] = 0x7fff;
	to.pkey = 0xffff;
	h = opened(build(&to, 0));
	assert_int_equal(h.bth.pkey, 0x7fff);
	/*
	 * This port is a full member. If it answers a limited member, the answer has the full
	 * P_Key.
	 */
	ca.n.port[1].pkeys[0] = 0xffff;
	to.pkey = 0x7fff;
	h = opened(build(&to, 0));
	assert_int_equal(h.bth.pkey, 0xffff);
}

static void test_gmp_with_grh(void **state)
{
	struct mad_addr to = mad_addr_gmp(0x77, 0);
	ib_gid own = node_gid(&ca.n.port[1], 2);
	struct ib_ud_hdr h;

	(void)state;
	ca.n.port[1].guids[2] = 0x4242;
	own = node_gid(&ca.n.port[1], 2);
	to.has_grh = true;
	to.gid = ib_gid_of(7, 8);
	to.gid_index = 2;
	to.tclass = 9;
	to.flow_label = 0x12345;
	to.hop_limit = 3;
	h = opened(build(&to, 0));
	assert_true(h.has_grh);
	assert_memory_equal(&h.grh.sgid, &own, sizeof(own));
	assert_memory_equal(&h.grh.dgid, &to.gid, sizeof(own));
	assert_int_equal(h.grh.tclass, 9);
	assert_int_equal(h.grh.flow_label, 0x12345);
	assert_int_equal(h.grh.hop_limit, 3);
	assert_int_equal(h.grh.ip_ver, 6);
	assert_int_equal(h.grh.nxt_hdr, 0x1b);
	assert_int_equal(h.grh.pay_len, 12 + 8 + 256 + 4);
}

static void test_smps_have_no_grh(void **state)
{
	struct mad_addr to = mad_addr_smp_lid(0x77);

	(void)state;
	to.has_grh = true;
	assert_false(opened(build(&to, 0)).has_grh);
}

static void test_pool_that_is_empty(void **state)
{
	struct mad_addr to = mad_addr_smp_dr();
	struct pkt *p[4];

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		p[i] = build(&to, 0);
		assert_non_null(p[i]);
	}
	assert_null(build(&to, 0));
	for (unsigned int i = 0; i < 4; i++)
		pkt_free(p[i]);
}

static void test_parse_tells_where_an_answer_goes(void **state)
{
	struct ib_ud_hdr h = {
		.lrh = { .sl = 4, .dlid = 0x22, .slid = 0x99 },
		.bth = { .dest_qp = 1, .pkey = 0x8001 },
		.deth = { .qkey = 0x80010000, .src_qp = 0x1234 },
		.has_grh = true,
		.grh = { .tclass = 1, .flow_label = 2, .hop_limit = 3, .sgid = ib_gid_of(5, 6) },
	};
	uint8_t got[MAD_LEN];
	struct mad_addr a;

	(void)state;
	assert_int_equal(mad_pkt_parse(&a, got, &h, &ca.n.port[1], 2, mad, MAD_LEN), 0);
	assert_memory_equal(got, mad, MAD_LEN);
	assert_int_equal(a.qp, 1);
	assert_int_equal(a.port, 2);
	assert_int_equal(a.sl, 4);
	assert_int_equal(a.lid, 0x99);
	assert_int_equal(a.pkey, 0x8001);
	assert_int_equal(a.qpn, 0x1234);
	assert_int_equal(a.qkey, 0x80010000);
	assert_true(a.has_grh);
	assert_int_equal(ib_gid_guid(&a.gid), 6);
	assert_int_equal(a.tclass, 1);
	assert_int_equal(a.flow_label, 2);
	/*
	 * The SLID of the answer must be the LID to which the request was sent. The hop limit of
	 * the answer must be the maximum, so that the answer reaches a distant subnet, too.
	 */
	h = opened(build(&a, 0));
	assert_int_equal(h.lrh.slid, 0x22);
	assert_int_equal(h.lrh.dlid, 0x99);
	assert_int_equal(h.grh.hop_limit, 255);
	h.bth.dest_qp = 0;
	assert_int_equal(mad_pkt_parse(&a, got, &h, &ca.n.port[1], 2, mad, MAD_LEN), 0);
	assert_int_equal(a.qp, 0);
}

/*
 * The parser must store the index of the GID to which the request was sent, so that the answer can
 * have this GID as its source.
 */
static void test_I8_parse_tells_which_gid_was_asked(void **state)
{
	const uint64_t prefixes[] = { IB_SUBNET_PREFIX_DEFAULT, 0xfec0000000000001ull };
	struct node_port *p = &ca.n.port[1];
	struct ib_ud_hdr h = { .bth.dest_qp = 1, .has_grh = true };
	uint8_t got[MAD_LEN];
	struct mad_addr a;

	(void)state;
	p->guids[5] = 0x4242;
	p->pi.gid_prefix = prefixes[1];
	for (unsigned int i = 0; i < ARRAY_SIZE(prefixes); i++) {
		h.grh.dgid = ib_gid_of(prefixes[i], 0x4242);
		assert_int_equal(mad_pkt_parse(&a, got, &h, p, 1, mad, MAD_LEN), 0);
		assert_int_equal(a.gid_index, 5);
		h.grh.dgid = ib_gid_of(prefixes[i], p->guids[0]);
		assert_int_equal(mad_pkt_parse(&a, got, &h, p, 1, mad, MAD_LEN), 0);
		assert_int_equal(a.gid_index, 0);
	}
	h.grh.dgid = ib_gid_of(0, 0); /* GUID 0 must match no empty GUID entry */
	assert_int_equal(mad_pkt_parse(&a, got, &h, p, 1, mad, MAD_LEN), 0);
	assert_int_equal(a.gid_index, 0);
}

static void test_parse_every_wrong_length(void **state)
{
	struct ib_ud_hdr h = { 0 };
	uint8_t long_mad[MAD_LEN + 4] = { 0 }, got[MAD_LEN];
	struct mad_addr a;

	(void)state;
	for (size_t n = 0; n <= sizeof(long_mad); n++)
		assert_int_equal(mad_pkt_parse(&a, got, &h, &ca.n.port[1], 1, long_mad, n),
				 n == MAD_LEN ? 0 : -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_directed_route_smp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lid_routed_smp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gmp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I7_bth_carries_the_table_entry, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_gmp_with_grh, setup, teardown),
		cmocka_unit_test_setup_teardown(test_smps_have_no_grh, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pool_that_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I8_parse_tells_which_gid_was_asked, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_parse_tells_where_an_answer_goes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_parse_every_wrong_length, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
