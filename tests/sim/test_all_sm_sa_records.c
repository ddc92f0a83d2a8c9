/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_sa.h"
#include "wire/records_sm.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

/* Tests of records of links, SMs, switches and tables, which saquery and osmtest request. */

#define TRUSTED 7

struct fix {
	struct sa_rig r;
	struct sa_client c;
};

static void fix_init(struct fix *f, unsigned int hosts, unsigned int switches)
{
	sa_rig_init(&f->r, &(struct sa_rig_cfg){
				   .hosts = hosts, .switches = switches, .sm_key = TRUSTED });
	sa_client_init(&f->c, &f->r, "Hca1/1");
}

static void fix_fini(struct fix *f)
{
	sa_client_fini(&f->c);
	sa_rig_fini(&f->r);
}

static uint16_t lid_of(struct fix *f, const char *port)
{
	return sa_rig_port(&f->r, port)->pi.lid;
}

static uint64_t smps(const struct fix *f)
{
	struct sm_status st;

	sm_status(f->r.sm, &st);
	return st.smps;
}

static int ask(struct fix *f, uint8_t method, uint16_t attr, uint64_t mask, const void *rec,
	       size_t len)
{
	return sa_client_ask(&f->c, method, attr, mask, rec, len);
}

/* --- LinkRecord */

static int links(struct fix *f, uint8_t method, uint64_t mask, struct ib_link_rec want)
{
	uint8_t wire[LINK_REC_LEN];

	ib_link_rec_encode(wire, &want);
	return ask(f, method, SA_ATTR_LINK_RECORD, mask, wire, sizeof(wire));
}

static void test_links_both_ways_by_every_component(void **state)
{
	struct ib_link_rec rec, back;
	struct fix f;

	fix_init(&f, 4, 2);
	assert_int_equal(links(&f, MAD_METHOD_GET_TABLE, 0, (struct ib_link_rec){ 0 }), 0);
	assert_int_equal(f.c.resp.sa.attr_offset, 1);
	/*
	 * Each cable has two records, one from each end, whether it leads to one of the four hosts
	 * or connects two switches.
	 */
	assert_int_equal(sa_client_count(&f.c), 2 * sm_db(f.r.sm)->nlinks);
	assert_true(sm_db(f.r.sm)->nlinks >= 5);
	for (unsigned int i = 0; i < sa_client_count(&f.c); i++) {
		const struct sm_port *p;

		assert_int_equal(ib_link_rec_decode(&rec, sa_client_rec(&f.c, i), LINK_REC_LEN), 0);
		p = sm_db_port_by_lid(sm_db(f.r.sm), rec.from_lid);
		assert_non_null(p);
		p = &p->node->port[rec.from_port];
		assert_non_null(p->peer);
		assert_int_equal(rec.to_port, p->peer->num);
		assert_int_equal(rec.to_lid, sm_port_lid(p->peer));
	}
	assert_int_equal(links(&f, MAD_METHOD_GET_TABLE, LINK_COMP_FROM_LID,
			       (struct ib_link_rec){ .from_lid = lid_of(&f, "Hca2/1") }),
			 0);
	assert_int_equal(sa_client_count(&f.c), 1);
	assert_int_equal(ib_link_rec_decode(&rec, sa_client_rec(&f.c, 0), LINK_REC_LEN), 0);
	assert_int_equal(links(&f, MAD_METHOD_GET, 0xf, rec), 0);
	assert_int_equal(ib_link_rec_decode(&back, f.c.resp.data, f.c.resp.data_len), 0);
	assert_memory_equal(&back, &rec, sizeof(rec));
	for (unsigned int bit = 0; bit < 4; bit++) {
		struct ib_link_rec other = rec;

		other.from_lid += bit == 0;
		other.from_port += bit == 1;
		other.to_port += bit == 2;
		other.to_lid += bit == 3;
		assert_int_equal(links(&f, MAD_METHOD_GET, 0xf, other), SA_STATUS_NO_RECORDS);
		/* A component whose bit is not in the mask may have any value. */
		assert_int_equal(links(&f, MAD_METHOD_GET, LINK_COMP_FROM_LID, bit ? other : rec),
				 0);
	}
	fix_fini(&f);
}

/* --- SMInfoRecord */

static void test_sm_info_of_the_master(void **state)
{
	struct ib_sm_info_rec rec = { .info = { .guid = 1 } };
	uint8_t wire[SM_INFO_REC_LEN] = { 0 };
	struct sm_status st;
	struct fix f;

	fix_init(&f, 2, 1);
	sm_status(f.r.sm, &st);
	assert_int_equal(
		ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_SM_INFO_RECORD, 0, wire, sizeof(wire)), 0);
	assert_int_equal(f.c.resp.sa.attr_offset, 4);
	assert_int_equal(sa_client_count(&f.c), 1);
	assert_int_equal(ib_sm_info_rec_decode(&rec, sa_client_rec(&f.c, 0), SM_INFO_REC_LEN), 0);
	assert_int_equal(rec.lid, f.c.np->pi.sm_lid);
	assert_true(rec.info.guid == sm_db(f.r.sm)->self->guid);
	assert_true(rec.info.sm_key == 0);
	assert_int_equal(rec.info.state, SMP_SM_MASTER);
	/* ActCount is the number of SMPs that the SM has sent, so it grows between two answers. */
	assert_true(rec.info.act_count >= st.smps);
	ib_sm_info_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SM_INFO_RECORD,
			     SM_INFO_COMP_LID | SM_INFO_COMP_GUID | SM_INFO_COMP_PRIORITY |
				     SM_INFO_COMP_STATE,
			     wire, sizeof(wire)),
			 0);
	rec.info.priority++;
	ib_sm_info_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SM_INFO_RECORD, SM_INFO_COMP_PRIORITY,
			     wire, sizeof(wire)),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

/* --- switches */

static void test_switch_info_by_lid(void **state)
{
	struct ib_switch_info_rec rec;
	uint8_t wire[SWITCH_INFO_REC_LEN] = { 0 };
	struct fix f;

	fix_init(&f, 4, 2);
	assert_int_equal(
		ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_SWITCH_INFO_RECORD, 0, wire, sizeof(wire)),
		0);
	assert_int_equal(f.c.resp.sa.attr_offset, 3);
	assert_int_equal(sa_client_count(&f.c), 2);
	be16_put(wire, lid_of(&f, "Switch2/0"));
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SWITCH_INFO_RECORD, SWITCH_INFO_COMP_LID,
			     wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_switch_info_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.lid, lid_of(&f, "Switch2/0"));
	/*
	 * SwitchInfo must have the values that the SM has set, not those that it found at
	 * discovery.
	 */
	assert_int_equal(rec.info.lft_top, sm_db(f.r.sm)->top_lid);
	be16_put(wire, lid_of(&f, "Hca1/1"));
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SWITCH_INFO_RECORD, SWITCH_INFO_COMP_LID,
			     wire, sizeof(wire)),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_lft_is_what_the_switch_has(void **state)
{
	struct ib_table_rec rec = { 0 };
	uint8_t wire[TABLE_REC_LEN];
	struct fix f;

	fix_init(&f, 70, 3);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_LFT_RECORD, 0, NULL, 0), 0);
	assert_int_equal(f.c.resp.sa.attr_offset, 9);
	/* The LFTs of 73 LIDs have two blocks in each switch. */
	assert_int_equal(sa_client_count(&f.c), 3 * 2);
	rec.lid = lid_of(&f, "Switch2/0");
	rec.block = 1;
	ib_lft_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_LFT_RECORD, LFT_COMP_LID | LFT_COMP_BLOCK,
			     wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_lft_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.block, 1);
	assert_memory_equal(rec.data, sa_rig_port(&f.r, "Switch2/0")->node->sw->lft + 64, 64);
	rec.block = 2;
	ib_lft_rec_encode(wire, &rec);
	assert_int_equal(
		ask(&f, MAD_METHOD_GET, SA_ATTR_LFT_RECORD, LFT_COMP_BLOCK, wire, sizeof(wire)),
		SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_mft_is_what_the_switch_has(void **state)
{
	struct ib_mcmember_rec mc = { .port_gid = { { 0 } }, .pkey = 0xffff, .join_state = 1 };
	struct ib_table_rec rec = { 0 };
	uint16_t masks[SMP_MFT_PER_BLOCK];
	uint8_t wire[TABLE_REC_LEN];
	struct sm_group *g;
	struct fix f;

	fix_init(&f, 3, 1);
	g = sm_group_next(f.r.sm, NULL);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_MFT_RECORD, 0, NULL, 0), 0);
	mc.mgid = g->rec.mgid;
	mc.port_gid = sa_rig_gid(&f.r, "Hca1/1");
	assert_int_equal(sa_client_mcm(&f.c, MAD_METHOD_SET,
				       MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE, &mc,
				       NULL),
			 0);
	rec.lid = lid_of(&f, "Switch1/0");
	ib_mft_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_MFT_RECORD,
			     MFT_COMP_LID | MFT_COMP_BLOCK | MFT_COMP_POSITION, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_mft_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	smp_mft_block_decode(masks, rec.data, sizeof(rec.data));
	assert_int_equal(masks[g->rec.mlid - IB_LID_MCAST_MIN],
			 1u << sm_db_port_by_lid(sm_db(f.r.sm), f.c.np->pi.lid)->peer->num);
	rec.block = 5;
	ib_mft_rec_encode(wire, &rec);
	assert_int_equal(
		ask(&f, MAD_METHOD_GET, SA_ATTR_MFT_RECORD, MFT_COMP_BLOCK, wire, sizeof(wire)),
		SA_STATUS_NO_RECORDS);
	rec.block = 0;
	rec.position = 9;
	ib_mft_rec_encode(wire, &rec);
	assert_int_equal(
		ask(&f, MAD_METHOD_GET, SA_ATTR_MFT_RECORD, MFT_COMP_POSITION, wire, sizeof(wire)),
		SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

/* --- tables that the SA reads from the nodes when a request needs them for the first time */

static void test_pkey_tables_are_for_trusted_requests(void **state)
{
	struct ib_table_rec rec = { 0 };
	uint8_t wire[TABLE_REC_LEN];
	uint64_t before;
	struct fix f;

	fix_init(&f, 3, 1);
	rec.lid = lid_of(&f, "Hca2/1");
	ib_pkey_table_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_PKEY_TABLE_RECORD,
			     PKEY_TABLE_COMP_LID, wire, sizeof(wire)),
			 SA_STATUS_REQ_INVALID);
	f.c.sm_key = TRUSTED;
	before = smps(&f);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_PKEY_TABLE_RECORD,
			     PKEY_TABLE_COMP_LID | PKEY_TABLE_COMP_BLOCK, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_pkey_table_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.port, 1);
	assert_int_equal(be16_at(rec.data), 0xffff);
	assert_int_equal(smps(&f), before); /* the sweep has read this table already */
	/*
	 * A request with the LID of a switch, but without a port number, gets records of all ports
	 * of the switch, including port 0. The sweep has not read the tables of ports that lead to
	 * no CA, so the SA reads these tables now.
	 */
	rec.lid = lid_of(&f, "Switch1/0");
	ib_pkey_table_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_PKEY_TABLE_RECORD,
			     PKEY_TABLE_COMP_LID | PKEY_TABLE_COMP_BLOCK, wire, sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&f.c),
			 sa_rig_port(&f.r, "Switch1/0")->node->info.nports + 1);
	assert_true(smps(&f) > before);
	rec.port = 200;
	ib_pkey_table_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_PKEY_TABLE_RECORD,
			     PKEY_TABLE_COMP_LID | PKEY_TABLE_COMP_PORT, wire, sizeof(wire)),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_tables_are_read_once_for_a_database(void **state)
{
	struct ib_sltovl_rec rec = { .in_port = 1, .out_port = 2 };
	uint8_t wire[SLTOVL_REC_LEN], want[8];
	struct node_port *p;
	uint64_t before, after;
	struct fix f;

	fix_init(&f, 3, 1);
	p = sa_rig_port(&f.r, "Switch1/2");
	rec.lid = lid_of(&f, "Switch1/0");
	ib_sltovl_rec_encode(wire, &rec);
	before = smps(&f);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SLTOVL_RECORD, 7, wire, sizeof(wire)), 0);
	after = smps(&f);
	/* There is one SLtoVL table for each pair of the switch's ports, including port 0. */
	assert_int_equal(after - before, (p->node->info.nports + 1u) * (p->node->info.nports + 1u));
	assert_int_equal(ib_sltovl_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.in_port, 1);
	assert_int_equal(rec.out_port, 2);
	smp_sltovl_encode(want, node_switch_vl(p->node, 1, 2));
	assert_memory_equal(rec.data, want, 8);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_SLTOVL_RECORD, SLTOVL_COMP_LID, wire,
			     sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&f.c),
			 (p->node->info.nports + 1) * (p->node->info.nports + 1));
	assert_int_equal(smps(&f), after);
	/* After another sweep the SM has a new database, so the SA has to read the tables again. */
	sm_kick(f.r.sm, "test", f.r.now);
	sa_rig_pass(&f.r, NS_SEC(1));
	after = smps(&f);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SLTOVL_RECORD, 7, wire, sizeof(wire)), 0);
	assert_true(smps(&f) > after);
	fix_fini(&f);
}

static void test_sltovl_of_a_ca_has_no_ports(void **state)
{
	struct ib_sltovl_rec rec = { .in_port = 5, .out_port = 6 };
	uint8_t wire[SLTOVL_REC_LEN];
	struct fix f;

	fix_init(&f, 2, 1);
	rec.lid = lid_of(&f, "Hca2/1");
	ib_sltovl_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_SLTOVL_RECORD, 7, wire, sizeof(wire)), 0);
	assert_int_equal(ib_sltovl_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.lid, lid_of(&f, "Hca2/1"));
	assert_int_equal(rec.in_port, 0);
	assert_int_equal(rec.out_port, 0);
	fix_fini(&f);
}

static void test_vlarb_blocks_count_from_one(void **state)
{
	struct ib_table_rec rec = { 0 };
	struct smp_vlarb_entry e[32];
	uint8_t wire[TABLE_REC_LEN];
	struct node_port *p;
	struct fix f;

	fix_init(&f, 2, 1);
	p = sa_rig_port(&f.r, "Hca2/1");
	node_rare_own(p)->vlarb[2][1] = (struct smp_vlarb_entry){ .vl = 3, .weight = 77 };
	rec.lid = p->pi.lid;
	rec.block = 3;
	ib_vlarb_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_VLARB_RECORD, VLARB_COMP_LID, wire,
			     sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&f.c), 4);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_VLARB_RECORD,
			     VLARB_COMP_LID | VLARB_COMP_BLOCK, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_vlarb_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.block, 3);
	assert_int_equal(rec.port, 1);
	smp_vlarb_decode(e, rec.data, sizeof(rec.data));
	assert_int_equal(e[1].vl, 3);
	assert_int_equal(e[1].weight, 77);
	rec.block = 0;
	ib_vlarb_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_VLARB_RECORD,
			     VLARB_COMP_LID | VLARB_COMP_BLOCK, wire, sizeof(wire)),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_guid_info_by_block_and_by_what_is_in_it(void **state)
{
	struct ib_table_rec rec = { 0 };
	uint8_t wire[TABLE_REC_LEN];
	struct node_port *p;
	struct fix f;

	fix_init(&f, 3, 1);
	p = sa_rig_port(&f.r, "Hca3/1");
	be64_put(rec.data, p->guids[0]);
	ib_guid_info_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_GUID_INFO_RECORD, GUID_INFO_COMP_GUID0,
			     wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_guid_info_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.lid, p->pi.lid);
	assert_int_equal(rec.block, 0);
	ib_guid_info_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_GUID_INFO_RECORD, GUID_INFO_COMP_LID,
			     wire, sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&f.c), (p->pi.guid_cap + 7u) / 8);
	rec.block = 200;
	ib_guid_info_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_GUID_INFO_RECORD, GUID_INFO_COMP_BLOCK,
			     wire, sizeof(wire)),
			 SA_STATUS_NO_RECORDS);
	fix_fini(&f);
}

static void test_a_port_that_does_not_answer_has_empty_tables(void **state)
{
	struct ib_table_rec rec = { 0 };
	uint8_t wire[TABLE_REC_LEN], zero[64] = { 0 };
	struct fabric_node *n;
	struct fix f;

	fix_init(&f, 3, 1);
	rec.lid = lid_of(&f, "Hca3/1");
	rec.block = 1;
	ib_vlarb_rec_encode(wire, &rec);
	n = fabric_node_find(f.r.f, "Hca3");
	assert_int_equal(fabric_link_set(fabric_node_port(n, 1), false, f.r.now), 0);
	/*
	 * The cable was pulled, but the trap about it has not arrived yet, so the SA still has the
	 * port in its database.
	 */
	sa_client_send(&f.c, MAD_METHOD_GET, SA_ATTR_VLARB_RECORD,
		       VLARB_COMP_LID | VLARB_COMP_BLOCK, wire, sizeof(wire));
	sa_rig_pass(&f.r, NS_SEC(3));
	assert_true(f.c.done);
	/* The SA may answer with the table or with an error, but it must answer. */
	if (f.c.status == 0) {
		assert_int_equal(ib_vlarb_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
		assert_memory_equal(rec.data, zero, sizeof(zero));
	} else {
		assert_int_equal(f.c.status, SA_STATUS_NO_RECORDS);
	}
	fix_fini(&f);
}

/* --- InformInfoRecord */

static void test_I25_inform_records_hide_qpns(void **state)
{
	struct ib_inform_rec rec = { 0 };
	uint8_t wire[INFORM_REC_LEN];
	struct sa_client d;
	struct fix f;

	fix_init(&f, 3, 1);
	sa_client_init(&d, &f.r, "Hca2/1");
	assert_int_equal(sa_client_inform(&f.c, 64, true), 0);
	assert_int_equal(sa_client_inform(&f.c, 65, true), 0);
	assert_int_equal(sa_client_inform(&d, 64, true), 0);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_INFORM_INFO_RECORD, 0, NULL, 0), 0);
	assert_int_equal(f.c.resp.sa.attr_offset, 8);
	assert_int_equal(sa_client_count(&f.c), 3);
	rec.subscriber = sa_rig_gid(&f.r, "Hca1/1");
	rec.number = 1;
	ib_inform_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, SA_ATTR_INFORM_INFO_RECORD,
			     INFORM_COMP_SUBSCRIBER, wire, sizeof(wire)),
			 0);
	assert_int_equal(sa_client_count(&f.c), 2);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_INFORM_INFO_RECORD,
			     INFORM_COMP_SUBSCRIBER | INFORM_COMP_ENUM, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_inform_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.info.trap, 65);
	assert_int_equal(rec.info.qpn, 0);
	f.c.sm_key = TRUSTED;
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_INFORM_INFO_RECORD,
			     INFORM_COMP_SUBSCRIBER | INFORM_COMP_ENUM, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_inform_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.info.qpn, 1);
	/* The number of a subscription that has ended is given to the next subscription. */
	f.c.sm_key = 0;
	assert_int_equal(sa_client_inform(&f.c, 64, false), 0);
	assert_int_equal(sa_client_inform(&f.c, 66, true), 0);
	rec.number = 0;
	ib_inform_rec_encode(wire, &rec);
	assert_int_equal(ask(&f, MAD_METHOD_GET, SA_ATTR_INFORM_INFO_RECORD,
			     INFORM_COMP_SUBSCRIBER | INFORM_COMP_ENUM, wire, sizeof(wire)),
			 0);
	assert_int_equal(ib_inform_rec_decode(&rec, f.c.resp.data, f.c.resp.data_len), 0);
	assert_int_equal(rec.info.trap, 66);
	sa_client_fini(&d);
	fix_fini(&f);
}

static void test_I25_key_violations_are_for_trusted_subscribers(void **state)
{
	struct fix f;

	fix_init(&f, 2, 1);
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_BAD_PKEY, true), SA_STATUS_REQ_INVALID);
	/*
	 * o13-13.1.1: the Subscribe field in the answer to the refused subscription must be 0,
	 * because the port is not subscribed.
	 */
	assert_int_equal(f.c.resp.data[MAD_INFORM_SUBSCRIBE_OFF], 0);
	f.c.sm_key = TRUSTED;
	assert_int_equal(sa_client_inform(&f.c, MAD_TRAP_BAD_PKEY, true), 0);
	assert_int_equal(f.c.resp.data[MAD_INFORM_SUBSCRIBE_OFF], 1);
	fix_fini(&f);
}

/* --- details of the SA's behaviour on which its clients rely */

static void test_short_and_reserved_requests(void **state)
{
	static const uint16_t attrs[] = {
		SA_ATTR_LINK_RECORD,	    SA_ATTR_SM_INFO_RECORD, SA_ATTR_SWITCH_INFO_RECORD,
		SA_ATTR_LFT_RECORD,	    SA_ATTR_MFT_RECORD,	    SA_ATTR_PKEY_TABLE_RECORD,
		SA_ATTR_SLTOVL_RECORD,	    SA_ATTR_VLARB_RECORD,   SA_ATTR_GUID_INFO_RECORD,
		SA_ATTR_INFORM_INFO_RECORD,
	};
	uint8_t ff[SA_DATA_LEN];
	struct fix f;

	fix_init(&f, 3, 1);
	f.c.sm_key = TRUSTED;
	memset(ff, 0xff, sizeof(ff));
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		assert_int_equal(ask(&f, MAD_METHOD_SET, attrs[i], 0, ff, sizeof(ff)), 0x0c);
		assert_int_equal(ask(&f, MAD_METHOD_DELETE, attrs[i], 0, ff, sizeof(ff)), 0x0c);
		/*
		 * Requests with values that no port has, such as LID 0xffff, match no record, and
		 * must do no harm.
		 */
		assert_int_equal(ask(&f, MAD_METHOD_GET, attrs[i], ~0ull, ff, sizeof(ff)),
				 SA_STATUS_NO_RECORDS);
		assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, attrs[i], 0, ff, sizeof(ff)), 0);
	}
	fix_fini(&f);
}

static void test_other_partitions_are_not_shown(void **state)
{
	static const uint16_t attrs[] = { SA_ATTR_VLARB_RECORD, SA_ATTR_GUID_INFO_RECORD };
	struct ib_table_rec rec = { 0 };
	uint8_t wire[TABLE_REC_LEN];
	struct fix f;

	/*
	 * Only the SM's port is a full member of the default partition. Two limited members share
	 * no P_Key (clause I7).
	 */
	sa_rig_init(&f.r, &(struct sa_rig_cfg){
				  .hosts = 3,
				  .switches = 1,
				  .sm_key = TRUSTED,
				  .partitions = "Default=0x7fff : ALL=limited, SELF=full;\n" });
	sa_client_init(&f.c, &f.r, "Hca1/1");
	rec.lid = lid_of(&f, "Hca2/1");
	rec.block = 1;
	ib_vlarb_rec_encode(wire, &rec);
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		f.c.sm_key = 0;
		assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, attrs[i], 1, wire, sizeof(wire)), 0);
		assert_int_equal(sa_client_count(&f.c), 0);
		f.c.sm_key = TRUSTED;
		assert_int_equal(ask(&f, MAD_METHOD_GET_TABLE, attrs[i], 1, wire, sizeof(wire)), 0);
		assert_true(sa_client_count(&f.c) > 0);
	}
	f.c.sm_key = 0;
	assert_int_equal(links(&f, MAD_METHOD_GET_TABLE, 0, (struct ib_link_rec){ 0 }), 0);
	assert_int_equal(sa_client_count(&f.c), 2); /* the cable of the host, from both ends */
	fix_fini(&f);
}

/* --- MultiPathRecord */

static int multi(struct fix *f, uint64_t mask, const struct ib_multi_path_rec *rec)
{
	uint8_t wire[SA_DATA_LEN];

	memset(wire, 0, sizeof(wire));
	ib_multi_path_rec_encode(wire, rec);
	return ask(f, MAD_METHOD_GET_MULTI, SA_ATTR_MULTI_PATH_RECORD,
		   MULTI_PATH_COMP_SGID_COUNT | MULTI_PATH_COMP_DGID_COUNT | mask, wire,
		   sizeof(wire));
}

static void test_multi_path_has_every_pair(void **state)
{
	struct ib_multi_path_rec rec = { .nsgid = 2, .ndgid = 3 };
	struct ib_path_rec p;
	struct fix f;

	fix_init(&f, 5, 2);
	f.c.rmpp = true;
	rec.gid[0] = sa_rig_gid(&f.r, "Hca1/1");
	rec.gid[1] = sa_rig_gid(&f.r, "Hca2/1");
	rec.gid[2] = sa_rig_gid(&f.r, "Hca3/1");
	rec.gid[3] = sa_rig_gid(&f.r, "Hca4/1");
	rec.gid[4] = sa_rig_gid(&f.r, "Hca5/1");
	assert_int_equal(multi(&f, 0, &rec), 0);
	assert_int_equal(f.c.resp.mad.method, MAD_METHOD_GET_MULTI_RESP);
	assert_int_equal(f.c.resp.mad.attr_id, SA_ATTR_PATH_RECORD);
	assert_int_equal(sa_client_count(&f.c), 6);
	for (unsigned int i = 0; i < 6; i++) {
		assert_int_equal(ib_path_rec_decode(&p, sa_client_rec(&f.c, i), PATH_REC_LEN), 0);
		assert_true(ib_gid_equal(&p.sgid, &rec.gid[i / 3]));
		assert_true(ib_gid_equal(&p.dgid, &rec.gid[2 + i % 3]));
		assert_true(p.dlid && p.slid && p.reversible);
	}
	rec.path.numb_path = 4;
	assert_int_equal(multi(&f, MULTI_PATH_COMP_NUMB_PATH, &rec), 0);
	assert_int_equal(sa_client_count(&f.c), 4);
	/* Ask for an MTU above 4096; no path has one. */
	rec.path.mtu_sel = SA_SEL_GT;
	rec.path.mtu_code = IB_MTU_4096;
	assert_int_equal(multi(&f, MULTI_PATH_COMP_MTU_SEL * 3, &rec), 0);
	assert_int_equal(sa_client_count(&f.c), 0);
	fix_fini(&f);
}

static void test_multi_path_alternates_share_no_end(void **state)
{
	struct ib_multi_path_rec rec = { .nsgid = 2, .ndgid = 2, .path.numb_path = 2 };
	struct ib_path_rec a, b;
	struct fix f;

	fix_init(&f, 4, 2);
	f.c.rmpp = true;
	rec.gid[0] = sa_rig_gid(&f.r, "Hca1/1");
	rec.gid[1] = sa_rig_gid(&f.r, "Hca2/1");
	rec.gid[2] = sa_rig_gid(&f.r, "Hca3/1");
	rec.gid[3] = sa_rig_gid(&f.r, "Hca4/1");
	assert_int_equal(multi(&f, MULTI_PATH_COMP_NUMB_PATH, &rec), 0);
	assert_int_equal(sa_client_count(&f.c), 2);
	assert_int_equal(ib_path_rec_decode(&a, sa_client_rec(&f.c, 0), PATH_REC_LEN), 0);
	assert_int_equal(ib_path_rec_decode(&b, sa_client_rec(&f.c, 1), PATH_REC_LEN), 0);
	assert_false(ib_gid_equal(&a.sgid, &b.sgid));
	assert_false(ib_gid_equal(&a.dgid, &b.dgid));
	fix_fini(&f);
}

static void test_multi_path_refusals(void **state)
{
	struct ib_multi_path_rec rec = { .nsgid = 1, .ndgid = 1 };
	uint8_t wire[SA_DATA_LEN] = { 0 };
	struct fix f;

	fix_init(&f, 2, 1);
	rec.gid[0] = sa_rig_gid(&f.r, "Hca1/1");
	rec.gid[1] = sa_rig_gid(&f.r, "Hca2/1");
	/*
	 * The SA refuses requests without RMPP, without counts, without GIDs, with GIDs of no port,
	 * and with only one half of the ServiceID.
	 */
	assert_int_equal(multi(&f, 0, &rec), SA_STATUS_REQ_INVALID);
	f.c.rmpp = true;
	assert_int_equal(
		ask(&f, MAD_METHOD_GET_MULTI, SA_ATTR_MULTI_PATH_RECORD, 0, wire, sizeof(wire)),
		SA_STATUS_INSUF_COMPONENTS);
	assert_int_equal(multi(&f, 0, &(struct ib_multi_path_rec){ .nsgid = 0 }),
			 SA_STATUS_REQ_INVALID);
	assert_int_equal(multi(&f, MULTI_PATH_COMP_SERVICE_ID_LSB, &rec),
			 SA_STATUS_INSUF_COMPONENTS);
	rec.gid[1] = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x99999);
	assert_int_equal(multi(&f, 0, &rec), SA_STATUS_INVALID_GID);
	wire[15] = wire[16] = 200; /* more GIDs than the MAD contains */
	assert_int_equal(ask(&f, MAD_METHOD_GET_MULTI, SA_ATTR_MULTI_PATH_RECORD,
			     MULTI_PATH_COMP_SGID_COUNT | MULTI_PATH_COMP_DGID_COUNT, wire,
			     sizeof(wire)),
			 SA_STATUS_REQ_INVALID);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_both_ways_by_every_component),
		cmocka_unit_test(test_sm_info_of_the_master),
		cmocka_unit_test(test_switch_info_by_lid),
		cmocka_unit_test(test_lft_is_what_the_switch_has),
		cmocka_unit_test(test_mft_is_what_the_switch_has),
		cmocka_unit_test(test_pkey_tables_are_for_trusted_requests),
		cmocka_unit_test(test_tables_are_read_once_for_a_database),
		cmocka_unit_test(test_sltovl_of_a_ca_has_no_ports),
		cmocka_unit_test(test_vlarb_blocks_count_from_one),
		cmocka_unit_test(test_guid_info_by_block_and_by_what_is_in_it),
		cmocka_unit_test(test_a_port_that_does_not_answer_has_empty_tables),
		cmocka_unit_test(test_I25_inform_records_hide_qpns),
		cmocka_unit_test(test_I25_key_violations_are_for_trusted_subscribers),
		cmocka_unit_test(test_short_and_reserved_requests),
		cmocka_unit_test(test_other_partitions_are_not_shown),
		cmocka_unit_test(test_multi_path_has_every_pair),
		cmocka_unit_test(test_multi_path_alternates_share_no_end),
		cmocka_unit_test(test_multi_path_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
