/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_sa.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

/*
 * Tests of the rules for all requests (rows I18, I19 and I20 of CONFORMANCE.md), and of records of
 * nodes and ports.
 */

static void test_I18_replies_go_to_the_asker_and_unknown_keys_are_dropped(void **state)
{
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 3, .switches = 2, .sm_key = 0x1234 });
	sa_client_init(&c, &r, "Hca2/1");
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0), 0);
	assert_int_equal(c.resp.mad.method, MAD_METHOD_GET_RESP);
	c.sm_key = 0x1234;
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0), 0);
	c.sm_key = 0x4321;
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0),
			 -ETIMEDOUT);
	assert_int_equal(sa_stats(r.sa)->drop_sm_key, 2);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_class_port_info_says_send_only_full_member(void **state)
{
	struct mad_class_port_info info;
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 });
	sa_client_init(&c, &r, "Hca1/1");
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0), 0);
	assert_int_equal(mad_class_port_info_decode(&info, c.resp.data, c.resp.data_len), 0);
	assert_int_equal(info.class_version, 2);
	assert_true(info.cap_mask2 & 1u << 12);
	assert_true(info.cap_mask & SA_CAP_UD_MCAST);
	assert_int_equal(
		sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0),
		MAD_STATUS_BAD_ATTR);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_I19_unknown_methods_and_attributes(void **state)
{
	static const uint16_t attrs[] = { 0x0000, SA_ATTR_RFT_RECORD, 0x0032,
					  SA_ATTR_MULTI_PATH_RECORD, 0xffff };
	struct sa_rig r;
	struct sa_client c;
	uint8_t data[SA_DATA_LEN];

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 });
	sa_client_init(&c, &r, "Hca1/1");
	memset(data, 0x5a, sizeof(data));
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, attrs[i], 0, NULL, 0), 0x0c);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_SET, SA_ATTR_NODE_RECORD, 0, NULL, 0), 0x0c);
	assert_int_equal(
		sa_client_ask(&c, MAD_METHOD_GET_MULTI, SA_ATTR_PATH_RECORD, 5, data, sizeof(data)),
		0x0c);
	assert_int_equal(c.resp.mad.method, MAD_METHOD_GET_MULTI_RESP);
	assert_int_equal(c.resp.sa.comp_mask, 5);
	/* the answer contains the data of the request */
	assert_memory_equal(c.resp.data, data, sizeof(data));
	assert_int_equal(sa_client_ask(&c, 0x3f, SA_ATTR_PATH_RECORD, 0, NULL, 0), 0x08);
	assert_int_equal(sa_stats(r.sa)->errors, 8);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void node_wire(uint8_t wire[NODE_REC_LEN], const struct ib_node_rec *rec)
{
	ib_node_rec_encode(wire, rec);
}

static void test_I19_node_records_none_one_several(void **state)
{
	struct ib_node_rec rec = { .info.node_type = IB_NODE_CA };
	uint8_t wire[NODE_REC_LEN];
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 5, .switches = 2 });
	sa_client_init(&c, &r, "Hca1/1");
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_NODE_RECORD, 0, NULL, 0),
			 0);
	assert_int_equal(sa_client_count(&c), 7);
	/*
	 * AttributeOffset is in units of 8 octets. The 108 octets of a NodeRecord are rounded up to
	 * 14 units.
	 */
	assert_int_equal(c.resp.sa.attr_offset, 14);

	node_wire(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, NODE_COMP_NODE_TYPE,
				       wire, sizeof(wire)),
			 SA_STATUS_TOO_MANY_RECORDS);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_NODE_RECORD,
				       NODE_COMP_NODE_TYPE, wire, sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&c), 5);

	rec.info.port_guid = sa_rig_port(&r, "Hca3/1")->guids[0];
	node_wire(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_NODE_RECORD,
				       NODE_COMP_NODE_TYPE | NODE_COMP_PORT_GUID, wire,
				       sizeof(wire)),
			 0);
	assert_int_equal(ib_node_rec_decode(&rec, c.resp.data, c.resp.data_len), 0);
	assert_int_equal(rec.lid, sa_rig_port(&r, "Hca3/1")->pi.lid);
	assert_string_equal(rec.desc, "Hca3");
	assert_int_equal(rec.info.local_port, 1);

	rec.info.port_guid = 0x777;
	node_wire(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, NODE_COMP_PORT_GUID,
				       wire, sizeof(wire)),
			 SA_STATUS_NO_RECORDS);
	/*
	 * A GetTable that matches no record succeeds (I19), and is answered by an RMPP message
	 * (I20).
	 */
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_NODE_RECORD,
				       NODE_COMP_PORT_GUID, wire, sizeof(wire)),
			 0);
	assert_true(c.resp_len == SA_DATA_OFF);
	/*
	 * The answer has no record, so its AttributeOffset must be 0. Otherwise a client could take
	 * the padding of the MAD for records.
	 */
	assert_int_equal(c.resp.sa.attr_offset, 0);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_node_record_selects_by_every_component(void **state)
{
	struct sa_rig r;
	struct sa_client c;
	uint8_t wire[NODE_REC_LEN], whole[NODE_REC_LEN];
	struct ib_node_rec rec = { 0 };

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 3, .switches = 1 });
	sa_client_init(&c, &r, "Hca1/1");
	rec.lid = sa_rig_port(&r, "Hca2/1")->pi.lid;
	node_wire(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, NODE_COMP_LID, wire,
				       sizeof(wire)),
			 0);
	memcpy(whole, c.resp.data, sizeof(whole));
	/*
	 * A query that gives all components of a record must find the record. If one component of
	 * the query differs from the record, the query must not find the record.
	 */
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, 0x7fff, whole,
				       sizeof(whole)),
			 0);
	for (unsigned int octet = 4; octet < NODE_REC_LEN; octet++) {
		memcpy(wire, whole, sizeof(wire));
		wire[octet] ^= 0x10;
		assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_NODE_RECORD, 0x7fff,
					       wire, sizeof(wire)),
				 SA_STATUS_NO_RECORDS);
	}
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_I20_large_tables_arrive_whole(void **state)
{
	struct sa_rig r;
	struct sa_client c;
	struct ib_node_rec rec;
	uint64_t seen = 0;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 60, .switches = 3 });
	sa_client_init(&c, &r, "Hca7/1");
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_NODE_RECORD, 0, NULL, 0),
			 0);
	assert_int_equal(sa_client_count(&c), 63);
	assert_int_equal(sa_stats(r.sa)->tables, 1);
	for (unsigned int i = 0; i < 63; i++) {
		assert_int_equal(ib_node_rec_decode(&rec, sa_client_rec(&c, i), NODE_REC_LEN), 0);
		assert_true(rec.lid > 0 && rec.lid < 64);
		seen |= 1ull << rec.lid;
	}
	assert_int_equal(seen, ~1ull); /* every LID occurred once */
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_port_info_records_of_switch_ports(void **state)
{
	struct ib_port_info_rec rec = { 0 };
	uint8_t wire[PORT_INFO_REC_LEN];
	const struct node_port *p0;
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 4, .switches = 1 });
	sa_client_init(&c, &r, "Hca1/1");
	p0 = sa_rig_port(&r, "Switch1/0");
	rec.lid = p0->pi.lid;
	ib_port_info_rec_encode(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_PORT_INFO_RECORD,
				       PORT_INFO_COMP_LID, wire, sizeof(wire)),
			 0);
	assert_int_equal(c.resp.sa.attr_offset, 9);
	/*
	 * The switch has a record for port 0 and for every external port, with or without a cable.
	 */
	assert_int_equal(sa_client_count(&c), p0->node->info.nports + 1);
	rec.port_num = 2;
	ib_port_info_rec_encode(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_PORT_INFO_RECORD,
				       PORT_INFO_COMP_LID | PORT_INFO_COMP_PORT_NUM, wire,
				       sizeof(wire)),
			 0);
	assert_int_equal(ib_port_info_rec_decode(&rec, c.resp.data, c.resp.data_len), 0);
	assert_int_equal(rec.port_num, 2);
	assert_int_equal(rec.info.port_state, IB_PORT_ACTIVE);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_port_info_record_by_capability(void **state)
{
	struct ib_port_info_rec rec = { .info.cap_mask = SMP_CAP_IS_SM };
	uint8_t wire[PORT_INFO_REC_LEN];
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 4, .switches = 1 });
	sa_client_init(&c, &r, "Hca1/1");
	ib_port_info_rec_encode(wire, &rec);
	/* No port has only the capability IsSM. */
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_PORT_INFO_RECORD,
				       1ull << 7, wire, sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&c), 0);
	/* A query for ports that have at least the capability IsSM finds only the SM's port. */
	c.attr_mod = 1u << 31;
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_PORT_INFO_RECORD,
				       1ull << 7, wire, sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&c), 1);
	assert_int_equal(ib_port_info_rec_decode(&rec, c.resp.data, c.resp.data_len), 0);
	assert_int_equal(rec.lid, c.np->pi.sm_lid);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_port_info_record_hides_mkeys(void **state)
{
	struct ib_port_info_rec rec = { 0 };
	uint8_t wire[PORT_INFO_REC_LEN];
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r,
		    &(struct sa_rig_cfg){
			    .hosts = 2, .switches = 1, .sm_key = 7, .mkey = 0x1122334455667788 });
	sa_client_init(&c, &r, "Hca1/1");
	rec.lid = c.np->pi.lid;
	ib_port_info_rec_encode(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_PORT_INFO_RECORD,
				       PORT_INFO_COMP_LID, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_port_info_rec_decode(&rec, c.resp.data, c.resp.data_len), 0);
	assert_true(rec.info.mkey == 0);
	c.sm_key = 7;
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_PORT_INFO_RECORD,
				       PORT_INFO_COMP_LID, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_port_info_rec_decode(&rec, c.resp.data, c.resp.data_len), 0);
	assert_true(rec.info.mkey == 0x1122334455667788);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

/*
 * SM_Key 1 is the default, which everyone knows, so the answer to a request with this key must not
 * show M_Keys.
 */
static void test_the_default_sm_key_opens_no_mkeys(void **state)
{
	struct ib_port_info_rec rec = { 0 };
	uint8_t wire[PORT_INFO_REC_LEN];
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 2,
					      .switches = 1,
					      .sm_key = SM_KEY_DEFAULT,
					      .mkey = 0x1122334455667788 });
	sa_client_init(&c, &r, "Hca1/1");
	c.sm_key = SM_KEY_DEFAULT;
	rec.lid = c.np->pi.lid;
	ib_port_info_rec_encode(wire, &rec);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_PORT_INFO_RECORD,
				       PORT_INFO_COMP_LID, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_port_info_rec_decode(&rec, c.resp.data, c.resp.data_len), 0);
	assert_true(rec.info.mkey == 0);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_requests_of_unknown_ports_stay_unanswered(void **state)
{
	struct sa_rig r;
	struct sa_client c;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 2, .switches = 1 });
	sa_client_init(&c, &r, "Hca1/1");
	c.np->pi.lid = 0x999; /* a LID that the SM did not assign */
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, NULL, 0),
			 -ETIMEDOUT);
	assert_int_equal(sa_stats(r.sa)->drop_requester, 2);
	assert_int_equal(sa_stats(r.sa)->answers, 0);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_nobody_sees_ports_of_other_partitions(void **state)
{
	struct sa_rig r;
	struct sa_client c;

	/*
	 * All hosts are limited members of the default partition. Two limited members of a
	 * partition share no P_Key (clause I7). So Hca1 must not see Hca3 and Hca4, with which it
	 * shares only the default partition.
	 */
	sa_rig_init(&r, &(struct sa_rig_cfg){
				.hosts = 4,
				.switches = 1,
				.sm_key = 7,
				.partitions = "Default=0x7fff : ALL=limited, SELF=full;\n"
					      "A=0x0001 : \"Hca1\"=full, \"Hca2\"=limited;\n" });
	sa_client_init(&c, &r, "Hca1/1");
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_NODE_RECORD, 0, NULL, 0),
			 0);
	/* Three records: the asking port itself, Hca2, and the switch on which the SM runs. */
	assert_int_equal(sa_client_count(&c), 3);
	c.sm_key = 7;
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_NODE_RECORD, 0, NULL, 0),
			 0);
	assert_int_equal(sa_client_count(&c), 5);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_a_second_agent_is_refused(void **state)
{
	struct sa_rig r;
	struct sa *other = NULL;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .hosts = 1, .switches = 1 });
	assert_int_equal(sa_create(&other, r.sm), -EBUSY);
	assert_null(other);
	sa_rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I18_replies_go_to_the_asker_and_unknown_keys_are_dropped),
		cmocka_unit_test(test_class_port_info_says_send_only_full_member),
		cmocka_unit_test(test_I19_unknown_methods_and_attributes),
		cmocka_unit_test(test_I19_node_records_none_one_several),
		cmocka_unit_test(test_node_record_selects_by_every_component),
		cmocka_unit_test(test_I20_large_tables_arrive_whole),
		cmocka_unit_test(test_port_info_records_of_switch_ports),
		cmocka_unit_test(test_port_info_record_by_capability),
		cmocka_unit_test(test_port_info_record_hides_mkeys),
		cmocka_unit_test(test_the_default_sm_key_opens_no_mkeys),
		cmocka_unit_test(test_requests_of_unknown_ports_stay_unanswered),
		cmocka_unit_test(test_nobody_sees_ports_of_other_partitions),
		cmocka_unit_test(test_a_second_agent_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
