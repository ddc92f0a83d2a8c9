/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A capture of a port shows the packets of its queue pairs with headers, although libibverbs does
 * not provide the headers. The captured headers must be those that the simulated HCAs put on the
 * wire, except the PSN, which only the adapter knows.
 */

#include "verbs/verbs.h"

#include <errno.h>

#include "unit/verbs_rig.h"
#include "util/frame.h"
#include "wire/ib_hdr.h"

#define QKEY 0x0b1b
#define MCAST_QKEY 0x80010b1b
#define PAYLOAD 101

struct seen {
	unsigned int n;
	bool sent, no_csum, has_grh;
	uint8_t octets[VERBS_HDR_MAX + PAYLOAD];
	size_t len;
};

static struct {
	struct ca_suite_env env;
	struct ca_port_attr port[2];
	struct ca_qp *a, *b;
	struct verbs_tap tap[2];
	struct seen seen[2];
	uint8_t wire[VERBS_HDR_MAX + PAYLOAD];
	size_t wire_len;
} t;

static void on_seen(struct verbs_tap *tap, const struct verbs_seen *s)
{
	struct seen *v = &t.seen[tap - t.tap];

	assert_true(s->hdr_len <= VERBS_HDR_MAX);
	v->n++;
	v->sent = s->sent;
	v->no_csum = s->no_csum;
	v->has_grh = s->has_grh;
	memcpy(v->octets, s->hdr, s->hdr_len);
	v->len = s->hdr_len + pkt_copy_out(s->payload, 0, v->octets + s->hdr_len, PAYLOAD);
}

static void on_carried(struct wire_end *e, const struct pkt *p)
{
	t.wire_len = pkt_copy_out(p, 0, t.wire, sizeof(t.wire));
}

static struct ca_qp *make_qp(unsigned int side)
{
	struct ca_qp_attr a = {
		.pkey_index = 1, .qkey = MCAST_QKEY, .rx_depth = 64, .tx_depth = 16
	};
	struct ca_qp *qp = NULL;

	assert_int_equal(ca_qp_create(t.env.ca[side], &a, &t, &qp), 0);
	return qp;
}

static int setup(void **state)
{
	static const struct ca_notify notify;
	void *ctx[2] = { &t, &t };

	memset(&t, 0, sizeof(t));
	verbs_rig_open(&t.env, &notify, ctx);
	((struct wire *)t.env.priv)->end[0].carried = on_carried;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(ca_port_query(t.env.ca[i], &t.port[i]), 0);
		t.tap[i].seen = on_seen;
		verbs_tap_add(t.env.ca[i], &t.tap[i]);
	}
	t.a = make_qp(0);
	t.b = make_qp(1);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		list_del(&t.tap[i].link);
	verbs_rig_close(&t.env);
	return 0;
}

static void send(const struct ca_ah_attr *a, uint32_t dest_qp, uint32_t qkey)
{
	struct ca_send s = { .dest_qp = dest_qp, .qkey = qkey };
	uint8_t b[PAYLOAD];
	struct ca_wc wc;

	for (unsigned int i = 0; i < PAYLOAD; i++)
		b[i] = (uint8_t)(i + 3);
	s.pkt = pkt_from_data(t.env.pool, b, PAYLOAD);
	assert_int_equal(ca_ah_create(t.env.ca[0], a, &s.ah), 0);
	assert_int_equal(ca_post_send(t.a, &s, 1, t.env.now), 1);
	verbs_rig_run(&t.env);
	while (ca_poll(t.b, &wc, 1))
		pkt_free(wc.pkt);
	ca_ah_destroy(s.ah);
}

/* Compare the packet that the capture at @side saw with the packet on the wire. */
static void check(unsigned int side)
{
	const struct seen *v = &t.seen[side];
	size_t psn = ib_bth_off(t.wire) + IB_BTH_OFF_PSN;

	assert_int_equal(v->n, 1);
	assert_true(v->sent == !side);
	assert_int_equal(v->len, t.wire_len);
	assert_memory_equal(v->octets, t.wire, psn);
	assert_int_equal(be32_at(v->octets + psn), 0);
	assert_memory_equal(v->octets + psn + 4, t.wire + psn + 4, v->len - psn - 4);
}

static void test_unicast(void **state)
{
	const struct ca_ah_attr a = { .dlid = t.port[1].lid };

	send(&a, ca_qp_num(t.b), MCAST_QKEY);
	check(0);
	check(1);
	assert_false(t.seen[1].has_grh);
}

static void test_unicast_with_grh(void **state)
{
	const struct ca_ah_attr a = {
		.dlid = t.port[1].lid,
		.has_grh = true,
		.tclass = 0x21,
		.flow_label = 0xabcde,
		.hop_limit = 9,
		.dgid = t.port[1].gid,
	};

	send(&a, ca_qp_num(t.b), IB_QKEY_CONTROLLED);
	check(0);
	check(1);
	assert_true(t.seen[1].has_grh);
}

/*
 * The completion of a multicast packet has no DLID. So the captured DLID must be the MLID with
 * which the queue pair is attached to the group.
 */
static void test_multicast(void **state)
{
	const struct ca_ah_attr a = {
		.dlid = CA_SUITE_MLID,
		.has_grh = true,
		.dgid = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 0x77 } },
	};
	ib_gid other = a.dgid;

	other.raw[15]++;
	assert_int_equal(ca_attach(t.b, &other, CA_SUITE_MLID + 1), 0);
	assert_int_equal(ca_attach(t.b, &a.dgid, CA_SUITE_MLID), 0);
	send(&a, IB_QPN_MCAST, MCAST_QKEY);
	check(0);
	check(1);
}

static void test_only_what_is_sent_is_shown(void **state)
{
	const struct ca_ah_attr a = { .dlid = t.port[1].lid };
	struct ca_send s = { .dest_qp = ca_qp_num(t.b), .qkey = QKEY };
	static const uint8_t octets[4096];
	struct ca_send v[3];

	assert_int_equal(ca_ah_create(t.env.ca[0], &a, &s.ah), 0);
	for (unsigned int i = 0; i < 3; i++) {
		v[i] = s;
		/* the second packet is longer than the MTU */
		v[i].pkt = pkt_from_data(t.env.pool, octets, i == 1 ? 3000 : 50);
	}
	fake.take = 1;
	assert_int_equal(ca_post_send(t.a, v, 3, t.env.now), 2);
	pkt_free(v[2].pkt);
	fake.take = FAKE_FOR_EVER;
	assert_int_equal(t.seen[0].n, 1);
	verbs_rig_run(&t.env);
	assert_int_equal(t.seen[1].n, 0); /* B dropped the packet because of its Q_Key */
	ca_ah_destroy(s.ah);
}

static void test_a_checksum_that_the_adapter_makes(void **state)
{
	const struct ca_ah_attr attr = { .dlid = t.port[1].lid };
	struct ca_send s = { .dest_qp = ca_qp_num(t.b), .qkey = MCAST_QKEY };

	t.env.ca[0]->csum = true;
	fake.csum = true;
	assert_int_equal(ca_ah_create(t.env.ca[0], &attr, &s.ah), 0);
	for (unsigned int i = 0; i < 2; i++) {
		s.pkt = pkt_from_data(t.env.pool, "abcd", 4);
		frame_info(s.pkt)->csum = i ? FRAME_CSUM_PARTIAL : FRAME_CSUM_OK;
		assert_int_equal(ca_post_send(t.a, &s, 1, t.env.now), 1);
		assert_int_equal(t.seen[0].n, i + 1);
		assert_true(t.seen[0].no_csum == i);
	}
	assert_int_equal(ca_send_flush(t.env.ca[0], t.env.now), 2);
	ca_ah_destroy(s.ah);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_unicast),
		T(test_unicast_with_grh),
		T(test_multicast),
		T(test_only_what_is_sent_is_shown),
		T(test_a_checksum_that_the_adapter_makes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
