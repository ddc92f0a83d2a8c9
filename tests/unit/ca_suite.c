/* SPDX-License-Identifier: BSD-2-Clause */

#include "unit/ca_suite_priv.h"

const struct ca_suite_backend *suite_backend;

static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	struct side *s = ctx;

	s->events[ev]++;
}

static void on_ready(void *ctx, struct ca_qp *qp)
{
	struct side *s = ctx;

	s->ready++;
	s->ready_qp = qp;
}

static const struct ca_notify notify = { on_event, on_ready };

static int setup(void **state)
{
	static struct suite s;
	void *ctx[2] = { &s.side[0], &s.side[1] };

	memset(&s, 0, sizeof(s));
	assert_int_equal(suite_backend->open(&s.e, &notify, ctx), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_non_null(s.e.ca[i]);
		assert_int_equal(ca_port_query(s.e.ca[i], &s.port[i]), 0);
	}
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct suite *s = *state;

	suite_backend->close(&s->e);
	return 0;
}

struct ca_qp *suite_qp(struct suite *s, unsigned int side, uint16_t pkey_index, uint32_t qkey)
{
	struct ca_qp_attr a = {
		.pkey_index = pkey_index,
		.qkey = qkey,
		.rx_depth = 128,
		.tx_depth = 128,
	};
	struct ca_qp *qp = NULL;

	assert_int_equal(ca_qp_create(s->e.ca[side], &a, s, &qp), 0);
	assert_non_null(qp);
	return qp;
}

struct ca_ah *suite_ah(struct suite *s, unsigned int side, const struct ca_ah_attr *a)
{
	struct ca_ah *ah = NULL;

	assert_int_equal(ca_ah_create(s->e.ca[side], a, &ah), 0);
	assert_non_null(ah);
	return ah;
}

struct ca_ah *suite_peer_ah(struct suite *s, unsigned int side, bool grh)
{
	struct ca_ah_attr a = {
		.dlid = s->port[!side].lid,
		.has_grh = grh,
		.hop_limit = 1,
		.dgid = s->port[!side].gid,
	};

	return suite_ah(s, side, &a);
}

ib_gid suite_group(void)
{
	return (ib_gid){ { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 0x77 } };
}

struct ca_ah *suite_group_ah(struct suite *s, unsigned int side)
{
	struct ca_ah_attr a = { .dlid = CA_SUITE_MLID, .has_grh = true, .dgid = suite_group() };

	return suite_ah(s, side, &a);
}

struct pkt *suite_payload(struct suite *s, unsigned int len, uint8_t seed)
{
	uint8_t buf[4096];
	struct pkt *p;

	for (unsigned int i = 0; i < len; i++)
		buf[i] = (uint8_t)(seed + i);
	p = pkt_from_data(s->e.pool, buf, len);
	assert_non_null(p);
	return p;
}

void suite_check_payload(const struct pkt *p, unsigned int len, uint8_t seed)
{
	uint8_t buf[4096];

	assert_int_equal(p->len, len);
	assert_int_equal(pkt_copy_out(p, 0, buf, sizeof(buf)), len);
	for (unsigned int i = 0; i < len; i++)
		assert_int_equal(buf[i], (uint8_t)(seed + i));
}

void suite_send(struct suite *s, struct ca_qp *qp, struct ca_ah *ah, struct pkt *p,
		uint32_t dest_qp, uint32_t qkey)
{
	struct ca_send v = { .pkt = p, .ah = ah, .dest_qp = dest_qp, .qkey = qkey };

	assert_int_equal(ca_post_send(qp, &v, 1, s->e.now), 1);
}

bool suite_reaches(struct suite *s, struct ca_qp *qp, struct ca_ah *ah, uint32_t dest_qp,
		   uint32_t qkey, struct ca_qp *to)
{
	struct ca_wc wc[2];
	unsigned int n;

	suite_send(s, qp, ah, suite_payload(s, 32, 9), dest_qp, qkey);
	suite_backend->run(&s->e);
	n = ca_poll(to, wc, 2);
	assert_true(n <= 1);
	for (unsigned int i = 0; i < n; i++) {
		suite_check_payload(wc[i].pkt, 32, 9);
		pkt_free(wc[i].pkt);
	}
	return n == 1;
}

unsigned int suite_drain(struct ca_qp *qp)
{
	struct ca_wc wc[16];
	unsigned int n, sum = 0;

	while ((n = ca_poll(qp, wc, 16))) {
		for (unsigned int i = 0; i < n; i++)
			pkt_free(wc[i].pkt);
		sum += n;
	}
	return sum;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int ca_suite_run(const struct ca_suite_backend *b)
{
	static const struct CMUnitTest tests[] = {
		T(test_ca_port_attributes),
		T(test_ca_pkey_table),
		T(test_ca_event_names),
		T(test_ca_qpns_are_usable_and_different),
		T(test_ca_bad_objects_are_refused),
		T(test_ca_unicast_without_grh),
		T(test_ca_unicast_with_grh),
		T(test_ca_payloads_of_any_shape),
		T(test_ca_up_to_the_mtu),
		T(test_ca_batches_keep_their_order),
		T(test_ca_overflow_costs_nothing_else),
		T(test_ca_ah_is_destroyed_behind_its_sends),
		T(test_ca_R43_qkeys_must_match),
		T(test_ca_qkey_with_high_bit_means_the_qps_own),
		T(test_ca_R44_partitions_are_apart),
		T(test_ca_unknown_qp_gets_nothing),
		T(test_ca_I9_multicast_reaches_the_attached),
		T(test_ca_I9_an_attached_sender_hears_itself_once),
		T(test_ca_ready_comes_once_per_arming),
		T(test_ca_send_queue_empties),
		T(test_ca_flushed_sends_do_not_arrive),
		T(test_ca_modify_resets_and_keeps_attachments),
		T(test_ca_two_qps_are_told_apart),
		T(test_ca_mads_are_answered),
		T(test_ca_link_down_is_told),
		T(test_ca_pkey_change_is_told),
	};

	suite_backend = b;
	return cmocka_run_group_tests_name(b->name, tests, NULL, NULL);
}
