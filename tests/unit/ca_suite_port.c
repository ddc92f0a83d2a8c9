/* SPDX-License-Identifier: BSD-2-Clause */

/* Cases of the conformance suite for ca.h: ports, objects, MADs and events. */

#include <errno.h>

#include "unit/ca_suite_priv.h"

void test_ca_port_attributes(void **state)
{
	struct suite *s = *state;

	for (unsigned int i = 0; i < 2; i++) {
		const struct ca_port_attr *p = &s->port[i];

		assert_int_equal(p->state, IB_PORT_ACTIVE);
		assert_true(ib_lid_is_unicast(p->lid));
		assert_true(ib_mtu_octets(p->active_mtu_code) >= 256);
		assert_true(p->active_mtu_code <= p->max_mtu_code);
		assert_true(ib_rate_mbps(p->rate_code) >= 2500);
		assert_true(p->pkey_tbl_len >= 2);
		assert_false(ib_gid_is_mcast(&p->gid));
		assert_true(ib_gid_guid(&p->gid) != 0);
	}
	assert_int_not_equal(s->port[0].lid, s->port[1].lid);
	assert_true(ib_gid_guid(&s->port[0].gid) != ib_gid_guid(&s->port[1].gid));
}

void test_ca_pkey_table(void **state)
{
	struct suite *s = *state;
	uint16_t pkey = 0;

	assert_int_equal(ca_pkey_query(s->e.ca[0], 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ca_pkey_query(s->e.ca[0], 1, &pkey), 0);
	assert_int_equal(pkey, CA_SUITE_PKEY);
	assert_int_equal(ca_pkey_query(s->e.ca[0], s->port[0].pkey_tbl_len - 1, &pkey), 0);
	assert_int_equal(ca_pkey_query(s->e.ca[0], s->port[0].pkey_tbl_len, &pkey), -EINVAL);
	assert_int_equal(ca_pkey_find(s->e.ca[0], 0xffff), 0);
	assert_int_equal(ca_pkey_find(s->e.ca[0], CA_SUITE_PKEY), 1);
	assert_int_equal(ca_pkey_find(s->e.ca[0], CA_SUITE_PKEY & 0x7fff), 1);
	assert_int_equal(ca_pkey_find(s->e.ca[0], 0x8123), -ENOENT);
	/* Values 0 and 0x8000 mark empty entries of a P_Key table, so a search for them fails. */
	assert_int_equal(ca_pkey_find(s->e.ca[0], 0x8000), -ENOENT);
	assert_int_equal(ca_pkey_find(s->e.ca[0], 0), -ENOENT);
}

void test_ca_event_names(void **state)
{
	for (unsigned int a = 0; a <= CA_EVENT_DEVICE_BACK; a++)
		for (unsigned int b = 0; b < a; b++)
			assert_string_not_equal(ca_event_name(a), ca_event_name(b));
}

void test_ca_qpns_are_usable_and_different(void **state)
{
	struct suite *s = *state;
	struct ca_qp *qp[4];

	for (unsigned int i = 0; i < 4; i++) {
		uint32_t n;

		qp[i] = suite_qp(s, 0, 0, QKEY);
		assert_ptr_equal(qp[i]->ca, s->e.ca[0]);
		assert_ptr_equal(qp[i]->ctx, s);
		n = ca_qp_num(qp[i]);
		assert_true(n > IB_QP1 && n < IB_QPN_MCAST);
		for (unsigned int j = 0; j < i; j++)
			assert_int_not_equal(n, ca_qp_num(qp[j]));
	}
	for (unsigned int i = 0; i < 4; i++)
		ca_qp_destroy(qp[i]);
	ca_qp_destroy(NULL);
}

void test_ca_bad_objects_are_refused(void **state)
{
	struct suite *s = *state;
	struct ca_qp_attr q = { .pkey_index = s->port[0].pkey_tbl_len };
	struct ca_ah_attr a = { .dlid = 0 };
	struct ca_qp *qp = NULL;
	struct ca_ah *ah = NULL;
	ib_gid mgid = suite_group();

	assert_int_equal(ca_qp_create(s->e.ca[0], &q, NULL, &qp), -EINVAL);
	assert_null(qp);
	assert_int_equal(ca_ah_create(s->e.ca[0], &a, &ah), -EINVAL);
	a.dlid = CA_SUITE_MLID; /* a multicast destination needs a GRH */
	assert_int_equal(ca_ah_create(s->e.ca[0], &a, &ah), -EINVAL);
	assert_null(ah);
	ca_ah_destroy(NULL);
	qp = suite_qp(s, 0, 0, QKEY);
	assert_int_equal(ca_attach(qp, &s->port[0].gid, CA_SUITE_MLID), -EINVAL);
	assert_int_equal(ca_attach(qp, &mgid, 1), -EINVAL);
	assert_true(ca_detach(qp, &mgid, CA_SUITE_MLID) < 0);
	assert_int_equal(ca_qp_modify(qp, s->port[0].pkey_tbl_len, QKEY), -EINVAL);
	ca_qp_destroy(qp);
}

struct reply {
	unsigned int n;
	int status;
	uint16_t from_lid;
	uint8_t method;
};

static void on_reply(void *ctx, int status, const struct mad_addr *from, const void *mad,
		     size_t len, ns_t now)
{
	struct reply *re = ctx;

	re->n++;
	re->status = status;
	re->from_lid = from ? from->lid : 0;
	re->method = mad ? mad_method(mad) : 0;
}

void test_ca_mads_are_answered(void **state)
{
	struct suite *s = *state;
	struct mad_agent_cfg c = { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 };
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.attr_id = MAD_ATTR_CLASS_PORT_INFO,
	};
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_agent *agent = NULL;
	struct reply re = { 0 };
	struct mad_req q = {
		.to = mad_addr_gmp(s->port[1].lid, 0),
		.mad = mad,
		.len = MAD_LEN,
		.timeout_ms = 1000,
		.retries = 2,
		.done = on_reply,
		.ctx = &re,
	};

	mad_hdr_encode(mad, &h);
	assert_non_null(ca_mad_ep(s->e.ca[0]));
	assert_int_equal(mad_agent_add(ca_mad_ep(s->e.ca[0]), &c, &agent), 0);
	assert_int_equal(mad_request(agent, &q, NULL, s->e.now), 0);
	assert_int_equal(re.n, 0);
	suite_backend->run(&s->e);
	assert_int_equal(re.n, 1);
	assert_int_equal(re.status, 0);
	assert_int_equal(re.from_lid, s->port[1].lid);
	assert_int_equal(re.method, MAD_METHOD_GET_RESP);
	mad_agent_del(agent);
}

void test_ca_link_down_is_told(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 0, QKEY), *b = suite_qp(s, 1, 0, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	struct ca_port_attr attr;

	if (!suite_backend->link_down)
		skip();
	suite_backend->link_down(&s->e);
	suite_backend->run(&s->e);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(s->side[i].events[CA_EVENT_PORT_ERR], 1);
		assert_int_equal(s->side[i].events[CA_EVENT_PORT_ACTIVE], 0);
		assert_int_equal(ca_port_query(s->e.ca[i], &attr), 0);
		assert_int_not_equal(attr.state, IB_PORT_ACTIVE);
	}
	/* While the link is down, sends are accepted and lost. */
	assert_false(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
}

void test_ca_pkey_change_is_told(void **state)
{
	struct suite *s = *state;
	struct ca_qp *a = suite_qp(s, 0, 1, QKEY), *b = suite_qp(s, 1, 1, QKEY);
	struct ca_ah *ah = suite_peer_ah(s, 0, false);
	uint16_t pkey = 0;

	if (!suite_backend->set_pkey)
		skip();
	assert_true(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
	suite_backend->set_pkey(&s->e, 1, 1, 0x8009);
	suite_backend->run(&s->e);
	assert_int_equal(s->side[1].events[CA_EVENT_PKEY_CHANGE], 1);
	assert_int_equal(s->side[0].events[CA_EVENT_PKEY_CHANGE], 0);
	assert_int_equal(ca_pkey_query(s->e.ca[1], 1, &pkey), 0);
	assert_int_equal(pkey, 0x8009);
	assert_false(suite_reaches(s, a, ah, ca_qp_num(b), QKEY, b));
	/*
	 * The P_Key table gets a limited entry and then a full entry with the same key.
	 * ca_pkey_find() must find the full entry, whichever comes first in the table.
	 */
	suite_backend->set_pkey(&s->e, 1, 1, CA_SUITE_PKEY & 0x7fff);
	suite_backend->run(&s->e);
	assert_int_equal(ca_pkey_find(s->e.ca[1], CA_SUITE_PKEY), 1);
	suite_backend->set_pkey(&s->e, 1, 3, CA_SUITE_PKEY);
	suite_backend->run(&s->e);
	assert_int_equal(ca_pkey_find(s->e.ca[1], CA_SUITE_PKEY), 3);
}
