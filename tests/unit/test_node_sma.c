/* SPDX-License-Identifier: BSD-2-Clause */
#define SW_PORTS 20
#include "unit/node_pair.h"

static void test_node_info(void **state)
{
	struct smp_node_info i;

	(void)state;
	assert_int_equal(node_rig_get(&ca, 2, SMP_ATTR_NODE_INFO, 0), 0);
	assert_int_equal(smp_node_info_decode(&i, ca.data, 64), 0);
	assert_int_equal(i.base_version, 1);
	assert_int_equal(i.class_version, 1);
	assert_int_equal(i.node_type, IB_NODE_CA);
	assert_int_equal(i.nports, 2);
	assert_int_equal(i.sys_guid, RIG_GUID + 0x10);
	assert_int_equal(i.node_guid, RIG_GUID);
	assert_int_equal(i.port_guid, RIG_GUID + 2);
	assert_int_equal(i.pkey_cap, NODE_PKEYS);
	assert_int_equal(i.local_port, 2);
	assert_int_equal(i.vendor_id, 0x0002c9);
	assert_int_equal(i.device_id, 0x1234);
	assert_int_equal(i.revision, 7);
	assert_int_equal(node_rig_get(&sw, 3, SMP_ATTR_NODE_INFO, 0), 0);
	assert_int_equal(smp_node_info_decode(&i, sw.data, 64), 0);
	assert_int_equal(i.node_type, IB_NODE_SWITCH);
	assert_int_equal(i.port_guid, RIG_GUID + 1);
	assert_int_equal(i.local_port, 3);
}

static void test_node_description(void **state)
{
	static const char want[64] = "rig node";

	(void)state;
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_NODE_DESC, 0), 0);
	assert_memory_equal(ca.data, want, sizeof(want));
}

static void test_long_description_is_cut_at_64(void **state)
{
	static const char name[] =
		"0123456789012345678901234567890123456789012345678901234567890123"
		"beyond";
	struct node_cfg cfg = node_rig_cfg(IB_NODE_CA, 1);
	static struct node_rig r;

	(void)state;
	cfg.desc = name;
	node_rig_init_cfg(&r, &cfg);
	assert_int_equal(node_rig_get(&r, 1, SMP_ATTR_NODE_DESC, 0), 0);
	assert_memory_equal(r.data, name, 64);
	node_rig_fini(&r);
}

static void test_init_refuses_nonsense(void **state)
{
	struct node_cfg cfg = node_rig_cfg(IB_NODE_CA, 0);
	struct node n;

	(void)state;
	assert_int_equal(node_init(&n, &cfg, &node_rig_ops, NULL, &ca.timers, &ca.log), -EINVAL);
	cfg.nports = 255;
	assert_int_equal(node_init(&n, &cfg, &node_rig_ops, NULL, &ca.timers, &ca.log), -EINVAL);
	cfg.nports = 1;
	cfg.type = IB_NODE_ROUTER;
	assert_int_equal(node_init(&n, &cfg, &node_rig_ops, NULL, &ca.timers, &ca.log), -EINVAL);
}

static void test_what_is_not_supported_gets_its_status(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	assert_int_equal(node_rig_get(&ca, 1, 0x00ff, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_VENDOR_DIAG, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_set(&ca, 1, SMP_ATTR_NODE_INFO, 0, zeros), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_set(&ca, 1, SMP_ATTR_NODE_DESC, 0, zeros), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_SWITCH_INFO, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_LFT, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_MFT, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_SM_INFO, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(node_rig_ask(&ca, 1, MAD_METHOD_SEND, SMP_ATTR_NODE_INFO, 0, NULL),
			 MAD_STATUS_BAD_METHOD);
}

static void version_smp(uint8_t base, uint8_t version)
{
	struct mad_addr from = mad_addr_smp_lid(RIG_SM_LID);
	struct mad_hdr h = {
		.base_version = base,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = version,
		.method = MAD_METHOD_GET,
		.attr_id = SMP_ATTR_NODE_INFO,
	};
	struct smp_dr dr = { 0 };
	uint8_t mad[MAD_LEN];

	smp_encode(mad, &h, &dr, NULL);
	node_mad_rx(&ca.n, 1, &from, mad, ca.now);
}

static void test_unknown_versions_get_status_4(void **state)
{
	(void)state;
	version_smp(2, 1);
	version_smp(1, 2);
	assert_int_equal(ca.nsent, 2);
	assert_int_equal(mad_status(ca.sent[0].mad), MAD_STATUS_BAD_VERSION);
	assert_int_equal(mad_status(ca.sent[1].mad), MAD_STATUS_BAD_VERSION);
	version_smp(1, 1);
	assert_int_equal(mad_status(ca.sent[2].mad), 0);
}

static void test_responses_and_traps_are_not_answered(void **state)
{
	(void)state;
	node_rig_smp(&ca, 1, MAD_METHOD_GET_RESP, SMP_ATTR_NODE_INFO, 0, NULL);
	node_rig_smp(&ca, 1, MAD_METHOD_TRAP, MAD_ATTR_NOTICE, 0, NULL);
	node_rig_smp(&ca, 1, MAD_METHOD_TRAP_REPRESS, MAD_ATTR_NOTICE, 0, NULL);
	assert_int_equal(ca.nsent, 0);
	assert_int_equal(ca.n.dropped, 3);
	assert_int_equal(ca.n.smps, 3);
}

static void test_classes_and_queue_pairs_belong_together(void **state)
{
	struct mad_addr smp = mad_addr_smp_lid(RIG_SM_LID), gmp = mad_addr_gmp(RIG_SM_LID, 0);
	struct mad_hdr h = { .base_version = 1, .class_version = 1, .method = MAD_METHOD_GET };
	uint8_t mad[MAD_LEN] = { 0 };

	(void)state;
	h.mgmt_class = MAD_CLASS_PERF;
	mad_hdr_encode(mad, &h);
	node_mad_rx(&ca.n, 1, &smp, mad, ca.now);
	h.mgmt_class = MAD_CLASS_SM_LID;
	h.attr_id = SMP_ATTR_NODE_INFO;
	mad_hdr_encode(mad, &h);
	node_mad_rx(&ca.n, 1, &gmp, mad, ca.now);
	assert_int_equal(ca.nsent, 0);
	assert_int_equal(ca.n.dropped, 2);
	/* Requests at ports that do not exist must be dropped. */
	node_mad_rx(&ca.n, 0, &smp, mad, ca.now);
	node_mad_rx(&ca.n, 3, &smp, mad, ca.now);
	assert_int_equal(ca.nsent, 0);
	assert_int_equal(ca.n.dropped, 4);
}

/* --- SMInfo */

static unsigned int sm_heard;

static void sm_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	(void)ctx;
	(void)from;
	(void)len;
	(void)now;
	assert_int_equal(mad_attr(mad), SMP_ATTR_SM_INFO);
	sm_heard++;
}

static void test_sm_info_is_for_the_sm_of_the_port(void **state)
{
	struct mad_agent_cfg c = {
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.recv = sm_recv,
	};
	struct mad_agent *a;

	(void)state;
	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	assert_int_equal(mad_agent_add(ca.n.port[1].ep, &c, &a), 0);
	sm_heard = 0;
	node_rig_smp(&ca, 1, MAD_METHOD_GET, SMP_ATTR_SM_INFO, 0, NULL);
	assert_int_equal(sm_heard, 1);
	assert_int_equal(ca.nsent, 0);
	assert_int_equal(node_rig_get(&ca, 2, SMP_ATTR_SM_INFO, 0), MAD_STATUS_BAD_ATTR);
	/* The SMA itself answers Gets of all other attributes. */
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_NODE_INFO, 0), 0);
	assert_int_equal(sm_heard, 1);
	mad_agent_del(a);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_SM_INFO, 0), MAD_STATUS_BAD_ATTR);
}

/* --- M_Keys */

#define KEY 0x1122334455667788ull

static void set_mkey(struct node_rig *r, uint8_t protect, uint16_t lease)
{
	struct smp_port_info pi = node_rig_nop(r, 1, 0);

	pi.mkey = KEY;
	pi.mkey_protect = protect;
	pi.mkey_lease = lease;
	assert_int_equal(node_rig_set_port_info(r, 1, 0, &pi), 0);
}

/*
 * Send a Get of PortInfo. Returns true if the node answers; @ret_key then gets the M_Key in the
 * answer.
 */
static bool get_answered(struct node_rig *r, uint64_t *ret_key)
{
	unsigned int n = r->nsent;
	struct smp_port_info pi;

	node_rig_smp(r, 1, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, 0, NULL);
	if (r->nsent == n)
		return false;
	smp_port_info_decode(&pi, r->sent[n].mad + SMP_DATA_OFF, 64);
	*ret_key = pi.mkey;
	return true;
}

static bool set_answered(struct node_rig *r)
{
	unsigned int n = r->nsent;
	uint8_t data[64] = { 0 };

	node_rig_smp(r, 1, MAD_METHOD_SET, SMP_ATTR_GUID_INFO, 0, data);
	return r->nsent > n;
}

static void test_I6_wrong_key_on_set_is_ignored_and_counted(void **state)
{
	(void)state;
	for (uint8_t protect = 0; protect < 4; protect++) {
		ca.mkey = KEY;
		set_mkey(&ca, protect, 0);
		ca.mkey = KEY + 1;
		assert_false(set_answered(&ca));
		assert_int_equal(ca.n.port[1].pi.mkey_violations, protect + 1);
		ca.mkey = KEY;
		assert_true(set_answered(&ca));
		assert_int_equal(ca.n.port[1].pi.mkey_violations, protect + 1);
	}
}

static void test_I6_wrong_key_on_get(void **state)
{
	uint64_t key;

	(void)state;
	for (uint8_t protect = 0; protect < 4; protect++) {
		ca.mkey = KEY;
		set_mkey(&ca, protect, 0);
		assert_true(get_answered(&ca, &key));
		assert_int_equal(key, KEY);
		ca.mkey = 0;
		if (protect >= 2) {
			assert_false(get_answered(&ca, &key));
			assert_int_equal(ca.n.port[1].pi.mkey_violations, protect - 1);
			continue;
		}
		assert_true(get_answered(&ca, &key));
		assert_int_equal(key, protect ? 0 : KEY);
		assert_int_equal(ca.n.port[1].pi.mkey_violations, 0);
	}
}

static void test_I6_key_of_a_port_is_its_own(void **state)
{
	(void)state;
	set_mkey(&ca, 2, 0);
	ca.mkey = 0;
	assert_int_equal(node_rig_get(&ca, 2, SMP_ATTR_NODE_INFO, 0), 0);
	/* A switch has one M_Key, at port 0. */
	set_mkey(&sw, 2, 0);
	node_rig_smp(&sw, 7, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
	sw.mkey = KEY;
	assert_int_equal(node_rig_get(&sw, 7, SMP_ATTR_NODE_INFO, 0), 0);
	assert_int_equal(sw.n.port[0].pi.mkey_violations, 1);
}

static void test_I6_lease_expires_protection(void **state)
{
	uint64_t key;

	(void)state;
	set_mkey(&ca, 2, 10);
	ca.mkey = 0;
	node_rig_run(&ca, NS_SEC(100));
	/* This is the first request with a wrong M_Key, so the lease period begins. */
	assert_false(get_answered(&ca, &key));
	node_rig_run(&ca, NS_SEC(9));
	assert_false(get_answered(&ca, &key));
	node_rig_run(&ca, NS_SEC(1));
	assert_true(get_answered(&ca, &key));
	assert_int_equal(key, KEY);
	assert_int_equal(ca.n.port[1].pi.mkey_protect, 0);
}

static void test_I6_right_key_stops_the_lease(void **state)
{
	uint64_t key;

	(void)state;
	set_mkey(&ca, 2, 10);
	ca.mkey = 0;
	assert_false(get_answered(&ca, &key));
	node_rig_run(&ca, NS_SEC(9));
	ca.mkey = KEY;
	assert_true(get_answered(&ca, &key));
	node_rig_run(&ca, NS_SEC(100));
	ca.mkey = 0;
	assert_false(get_answered(&ca, &key));
}

static void test_I6_lease_of_0_never_expires(void **state)
{
	uint64_t key;

	(void)state;
	set_mkey(&ca, 3, 0);
	ca.mkey = 0;
	assert_false(get_answered(&ca, &key));
	node_rig_run(&ca, NS_SEC(100000));
	assert_false(get_answered(&ca, &key));
}

static void test_I6_trap_256(void **state)
{
	struct mad_notice n;

	(void)state;
	node_rig_lids(&ca, 1);
	set_mkey(&ca, 2, 0);
	ca.mkey = 0xbad;
	ca.nsent = 0;
	node_rig_smp(&ca, 1, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, 0x80000001, NULL);
	node_rig_run(&ca, NS_MSEC(10));
	assert_int_equal(ca.nsent, 1);
	assert_int_equal(mad_method(ca.sent[0].mad), MAD_METHOD_TRAP);
	assert_int_equal(mad_notice_decode(&n, ca.sent[0].mad + SMP_DATA_OFF, 64), 0);
	assert_int_equal(n.trap, MAD_TRAP_BAD_MKEY);
	assert_int_equal(n.type, MAD_NOTICE_TYPE_SECURITY);
	assert_int_equal(be16_at(n.details + 2), 5);
	assert_int_equal(n.details[6], MAD_METHOD_SET);
	assert_int_equal(be16_at(n.details + 8), SMP_ATTR_PORT_INFO);
	assert_int_equal(be32_at(n.details + 10), 0x80000001);
	assert_int_equal(be64_at(n.details + 14), 0xbad);
}

/* --- Tables */

static void test_I7_pkey_table_at_power_up(void **state)
{
	uint16_t v[32];

	(void)state;
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_PKEY_TABLE, 0), 0);
	smp_pkey_block_decode(v, ca.data, 64);
	assert_int_equal(v[0], 0xffff);
	for (unsigned int i = 1; i < 32; i++)
		assert_int_equal(v[i], 0);
}

static void test_pkey_table_of_a_ca(void **state)
{
	uint16_t v[32] = { 0xffff, 0x8001, 0x0002 };
	uint8_t data[64];

	(void)state;
	smp_pkey_block_encode(data, v);
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_PKEY_TABLE, 0, data), 0);
	assert_int_equal(node_rig_events(&ca, 2, NODE_EV_PKEY_CHANGE), 1);
	assert_memory_equal(ca.data, data, 64);
	/* A Set of the values that the table already has must raise no event. */
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_PKEY_TABLE, 0, data), 0);
	assert_int_equal(ca.nevents, 1);
	assert_int_equal(ca.n.port[2].pkeys[1], 0x8001);
	assert_int_equal(ca.n.port[1].pkeys[1], 0);
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_PKEY_TABLE, 1, data), 0);
	assert_int_equal(ca.n.port[2].pkeys[33], 0x8001);
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_PKEY_TABLE, 2, data), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&ca, 2, SMP_ATTR_PKEY_TABLE, 3u << 16), MAD_STATUS_BAD_VALUE);
}

static void test_I12_pkey_table_of_a_switch_port(void **state)
{
	uint16_t v[32] = { 0x8005 };
	uint8_t data[64];

	(void)state;
	smp_pkey_block_encode(data, v);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_PKEY_TABLE, 7u << 16 | 1, data), 0);
	assert_int_equal(sw.n.port[7].pkeys[32], 0x8005);
	assert_int_equal(sw.n.port[7].pkeys[0], 0xffff);
	assert_int_equal(sw.n.port[0].pkeys[32], 0);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_PKEY_TABLE, 0, data), 0);
	assert_int_equal(sw.n.port[0].pkeys[0], 0x8005);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_PKEY_TABLE, 21u << 16),
			 MAD_STATUS_BAD_VALUE);
}

static void test_I7_pkey_lookup_prefers_the_full_form(void **state)
{
	struct node_port *p = &ca.n.port[1];

	(void)state;
	p->pkeys[0] = 0x7fff;
	p->pkeys[1] = 0x0003;
	p->pkeys[2] = 0x8003;
	assert_int_equal(node_pkey_find(p, 0x8003), 2);
	assert_int_equal(node_pkey_find(p, 0x0003), 2);
	assert_int_equal(node_pkey_find(p, 0xffff), 0);
	/* Two limited P_Keys do not match each other, and P_Key 0 matches nothing. */
	assert_int_equal(node_pkey_find(p, 0x7fff), -ENOENT);
	assert_int_equal(node_pkey_find(p, 0x0000), -ENOENT);
	assert_int_equal(node_pkey_find(p, 0x8000), -ENOENT);
	assert_true(node_pkey_ok(p, 0xffff));
	assert_false(node_pkey_ok(p, 0x7fff));
	assert_false(node_pkey_ok(p, 0x8004));
	p->pkeys[3] = 0x8000;
	assert_false(node_pkey_ok(p, 0x8000));
}

static void test_guid_info(void **state)
{
	uint64_t v[8] = { 0x1, 0x2, 0x3 };
	uint8_t data[64];

	(void)state;
	smp_guid_block_encode(data, v);
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_GUID_INFO, 0, data), 0);
	smp_guid_block_decode(v, ca.data, 64);
	assert_int_equal(v[0], RIG_GUID + 2); /* entry 0 is read-only */
	assert_int_equal(v[1], 2);
	assert_int_equal(v[2], 3);
	assert_int_equal(node_rig_events(&ca, 2, NODE_EV_GID_CHANGE), 1);
	assert_int_equal(ca.n.port[1].guids[1], 0);
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_GUID_INFO, 0, data), 0);
	assert_int_equal(ca.nevents, 1);
	assert_int_equal(node_rig_set(&ca, 2, SMP_ATTR_GUID_INFO, 3, data), 0);
	assert_int_equal(ca.n.port[2].guids[24], 1);
	assert_int_equal(node_rig_get(&ca, 2, SMP_ATTR_GUID_INFO, 4), MAD_STATUS_BAD_VALUE);
}

/*
 * A request must be refused if the block number in its attribute modifier does not exist. This must
 * hold even if block number times block size, computed with 32 bits, would wrap to the number of a
 * valid entry.
 */
static void test_block_numbers_do_not_wrap(void **state)
{
	static const struct {
		uint16_t attr;
		uint32_t mod;
	} of_ca[] = {
		{ SMP_ATTR_GUID_INFO, 0x20000000 },
		{ SMP_ATTR_GUID_INFO, 0x20000001 },
		{ SMP_ATTR_GUID_INFO, 0xffffffff },
		{ SMP_ATTR_PKEY_TABLE, 0x00010800 },
		{ SMP_ATTR_PKEY_TABLE, 0x0001ffff },
	}, of_switch[] = {
		{ SMP_ATTR_GUID_INFO, 0x20000000 },
		{ SMP_ATTR_LFT, 0x04000000 },
		{ SMP_ATTR_LFT, 0xffffffff },
		{ SMP_ATTR_MFT, 0x08000000 },
		{ SMP_ATTR_MFT, 0x00000800 },
	};
	struct node_port before = ca.n.port[1];
	uint64_t sw_guid = sw.n.port[0].guids[0];
	uint8_t data[64];

	(void)state;
	memset(data, 0x5a, sizeof(data));
	for (unsigned int i = 0; i < ARRAY_SIZE(of_ca); i++) {
		assert_int_equal(node_rig_set(&ca, 1, of_ca[i].attr, of_ca[i].mod, data),
				 MAD_STATUS_BAD_VALUE);
		assert_int_equal(node_rig_get(&ca, 1, of_ca[i].attr, of_ca[i].mod),
				 MAD_STATUS_BAD_VALUE);
	}
	assert_memory_equal(ca.n.port[1].guids, before.guids, sizeof(before.guids));
	assert_memory_equal(ca.n.port[1].pkeys, before.pkeys, sizeof(before.pkeys));
	for (unsigned int i = 0; i < ARRAY_SIZE(of_switch); i++)
		assert_int_equal(node_rig_set(&sw, 1, of_switch[i].attr, of_switch[i].mod, data),
				 MAD_STATUS_BAD_VALUE);
	assert_int_equal(sw.n.port[0].guids[0], sw_guid);
}

static void test_sltovl_of_a_ca(void **state)
{
	uint8_t map[16], data[8 + 56] = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 16; i++)
		map[i] = i % 4;
	smp_sltovl_encode(data, map);
	assert_int_equal(node_rig_set(&ca, 1, SMP_ATTR_SLTOVL, 0, data), 0);
	assert_memory_equal(ca.n.port[1].sltovl, map, 16);
	assert_memory_equal(ca.data, data, 8);
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_SLTOVL, 3), MAD_STATUS_BAD_VALUE);
}

static void test_I12_sltovl_by_in_and_out(void **state)
{
	uint8_t map[16] = { 1, 2, 3 }, data[64] = { 0 };

	(void)state;
	smp_sltovl_encode(data, map);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_SLTOVL, 3u << 8 | 7, data), 0);
	assert_memory_equal(node_switch_vl(&sw.n, 3, 7), map, 16);
	assert_int_equal(node_switch_vl(&sw.n, 7, 3)[0], 0);
	assert_int_equal(node_switch_vl(&sw.n, 7, 3)[1], 1);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SLTOVL, 20u << 8 | 0), 0);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SLTOVL, 21u << 8), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SLTOVL, 21), MAD_STATUS_BAD_VALUE);
}

/*
 * The VL settings at power-up are those of ibsim. SL n uses VL n, but SL 15 uses VL 7. In the
 * VLArbitration table of high priority, only VL0 has a weight. In the table of low priority, only
 * VLs 1 to 7 have a weight.
 */
static void test_vls_at_power_up(void **state)
{
	struct smp_vlarb_entry low[32], high[32];
	uint8_t map[16];

	(void)state;
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SLTOVL, 3u << 8 | 7), 0);
	smp_sltovl_decode(map, sw.data, sizeof(sw.data));
	for (unsigned int sl = 0; sl < 15; sl++)
		assert_int_equal(map[sl], sl);
	assert_int_equal(map[15], 7); /* not VL 15, which would mean discard */
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_VLARB, 1u << 16), 0);
	smp_vlarb_decode(low, ca.data, sizeof(ca.data));
	assert_int_equal(node_rig_get(&ca, 1, SMP_ATTR_VLARB, 3u << 16), 0);
	smp_vlarb_decode(high, ca.data, sizeof(ca.data));
	for (unsigned int i = 0; i < 32; i++) {
		assert_int_equal(low[i].vl, i < 8 ? i : 0);
		assert_int_equal(low[i].weight, i && i < 8 ? 4 : 0);
		assert_int_equal(high[i].vl, i < 8 ? i : 0);
		assert_int_equal(high[i].weight, i ? 0 : 4);
	}
}

/*
 * Each port of a CA has its own M_Key. So an SMP that arrives at one port must not change another
 * port.
 */
static void test_I6_a_ca_port_writes_to_itself_only(void **state)
{
	struct smp_port_info pi = node_rig_nop(&ca, 1, 2);

	(void)state;
	assert_int_equal(node_rig_set_port_info(&ca, 1, 2, &pi), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_set_port_info(&ca, 2, 2, &pi), 0);
	assert_int_equal(node_rig_set_port_info(&ca, 2, 0, &pi), 0);
}

/* A switch has GuidCap 1, thus one block of GUIDs with one entry. */
static void test_guids_of_a_switch(void **state)
{
	uint64_t guids[SMP_GUIDS_PER_BLOCK] = { 1, 2, 3 };
	uint8_t data[64];

	(void)state;
	smp_guid_block_encode(data, guids);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_GUID_INFO, 0, data), 0);
	smp_guid_block_decode(guids, sw.data, sizeof(sw.data));
	assert_true(guids[0] == sw.n.port[0].guids[0] && guids[0] > 1);
	assert_true(guids[1] == 0 && guids[2] == 0);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_GUID_INFO, 1), MAD_STATUS_BAD_VALUE);
}

/*
 * Optional, vendor-specific and retired attributes (LedInfo, VendorDiag, RFT, PortInfoExtended,
 * MlnxExtPortInfo, 0xff00) must be refused.
 */
static void test_I19_other_attributes_are_refused(void **state)
{
	static const uint16_t attrs[] = { 0x0001, 0x0013, 0x001a, 0x0020, 0x0030, 0x0031,
					  0x0033, 0x0036, 0xff00, 0xff90, 0xffff };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(attrs); i++) {
		assert_int_equal(node_rig_get(&ca, 1, attrs[i], 0), MAD_STATUS_BAD_ATTR);
		assert_int_equal(node_rig_set(&sw, 1, attrs[i], 0, ca.data), MAD_STATUS_BAD_ATTR);
	}
}

/*
 * A process with 200,000 ports does not have enough memory for all tables of all ports. So a table
 * must use memory only after it was changed.
 */
static void test_tables_take_memory_when_they_are_changed(void **state)
{
	uint8_t data[64] = { 0 }, map[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7 };
	struct node_rig n;

	(void)state;
	node_rig_init(&n, IB_NODE_SWITCH, 20);
	smp_sltovl_encode(data, map);
	assert_int_equal(node_rig_set(&n, 1, SMP_ATTR_SLTOVL, 3u << 8 | 7, data), 0);
	assert_int_equal(node_rig_get(&n, 1, SMP_ATTR_VLARB, 3u << 16 | 7), 0);
	assert_null(n.n.sw->sltovl);
	assert_null(n.n.port[7].rare);
	assert_null(n.n.port[0].traps);
	map[0] = 1;
	smp_sltovl_encode(data, map);
	assert_int_equal(node_rig_set(&n, 1, SMP_ATTR_SLTOVL, 3u << 8 | 7, data), 0);
	assert_non_null(n.n.sw->sltovl);
	assert_int_equal(node_switch_vl(&n.n, 3, 7)[0], 1);
	assert_int_equal(node_switch_vl(&n.n, 7, 3)[0], 0);
	node_rig_fini(&n);
}

static void test_vl_arbitration(void **state)
{
	struct smp_vlarb_entry e[32] = { { 1, 10 }, { 2, 20 } };
	uint8_t data[64];

	(void)state;
	smp_vlarb_encode(data, e);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_VLARB, 3u << 16 | 7, data), 0);
	assert_int_equal(node_rare_get(&sw.n.port[7])->vlarb[2][1].weight, 20);
	/* the low-priority table is unchanged */
	assert_int_equal(node_rare_get(&sw.n.port[7])->vlarb[0][1].weight, 4);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_VLARB, 7), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_VLARB, 5u << 16 | 7), MAD_STATUS_BAD_VALUE);
	/* Each table has eight entries, so a request for a second block is refused. */
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_VLARB, 2u << 16 | 7), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_get(&ca, 2, SMP_ATTR_VLARB, 1u << 16), 0);
}

/* --- Switch */

static struct smp_switch_info switch_info(void)
{
	struct smp_switch_info si;

	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_SWITCH_INFO, 0), 0);
	smp_switch_info_decode(&si, sw.data, 64);
	return si;
}

static uint16_t set_switch_info(const struct smp_switch_info *si)
{
	uint8_t data[64] = { 0 };

	smp_switch_info_encode(data, si);
	return node_rig_set(&sw, 1, SMP_ATTR_SWITCH_INFO, 0, data);
}

static void test_switch_info(void **state)
{
	struct smp_switch_info si = switch_info();

	(void)state;
	assert_int_equal(si.lft_cap, 0xc000);
	assert_int_equal(si.mft_cap, NODE_MCAST_LIDS);
	assert_int_equal(si.enforce_cap, NODE_PKEYS);
	assert_true(si.inbound_enforce && si.outbound_enforce);
	assert_false(si.enhanced_port0);
	si.lft_top = 0xbfff;
	si.life_time = 18;
	si.mft_top = 0xc000 + NODE_MCAST_LIDS - 1;
	si.lft_cap = 1;
	assert_int_equal(set_switch_info(&si), 0);
	si = switch_info();
	assert_int_equal(si.lft_cap, 0xc000);
	assert_int_equal(si.lft_top, 0xbfff);
	assert_int_equal(si.life_time, 18);
	assert_int_equal(si.mft_top, 0xc3ff);
	si.lft_top = 0xc000;
	assert_int_equal(set_switch_info(&si), MAD_STATUS_BAD_VALUE);
	si.lft_top = 1;
	si.mft_top = 0xc000 + NODE_MCAST_LIDS;
	assert_int_equal(set_switch_info(&si), MAD_STATUS_BAD_VALUE);
	si.mft_top = 0xbffe;
	assert_int_equal(set_switch_info(&si), MAD_STATUS_BAD_VALUE);
	assert_int_equal(switch_info().lft_top, 0xbfff);
	si.mft_top = 0xbfff;
	assert_int_equal(set_switch_info(&si), 0);
}

static void test_lft(void **state)
{
	uint8_t block[64];

	(void)state;
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_LFT, 767), 0);
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(sw.data[i], SMP_LFT_NONE);
		block[i] = (uint8_t)(i % 21);
	}
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_LFT, 2, block), 0);
	assert_int_equal(sw.n.sw->lft[128 + 20], 20);
	assert_int_equal(sw.n.sw->lft[127], SMP_LFT_NONE);
	assert_int_equal(sw.n.sw->lft[192], SMP_LFT_NONE);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_LFT, 768, block), MAD_STATUS_BAD_VALUE);
}

static void test_I11_mft_block_and_position(void **state)
{
	uint16_t masks[32] = { 0x0001, 0x8000, 0, 0x0012 }, got[32];
	uint8_t data[64];

	(void)state;
	smp_mft_block_encode(data, masks);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 3, data), 0);
	/* Block 3 begins at MLID 0xc000 + 3 * 32. Bit 0 of position 0 stands for port 0. */
	assert_int_equal(sw.n.sw->mft[96][0], 1);
	assert_int_equal(sw.n.sw->mft[97][0], 0x8000);
	assert_int_equal(sw.n.sw->mft[99][0], 0x12);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 1u << 28 | 3, data), 0);
	assert_int_equal(sw.n.sw->mft[96][0], 0x10001); /* bit 16: port 16 */
	assert_int_equal(sw.n.sw->mft[99][0], 0x120012);
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_MFT, 3), 0);
	smp_mft_block_decode(got, sw.data, 64);
	assert_memory_equal(got, masks, sizeof(masks));
	/* A Set of one position of the MFT must not change the other positions. */
	memset(data, 0, sizeof(data));
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 3, data), 0);
	assert_int_equal(sw.n.sw->mft[99][0], 0x120000);
}

static void test_an_mft_that_was_never_written_is_empty(void **state)
{
	uint8_t zeros[64] = { 0 };

	(void)state;
	assert_int_equal(node_rig_get(&sw, 1, SMP_ATTR_MFT, 3), 0);
	assert_memory_equal(sw.data, zeros, sizeof(zeros));
	/* Zeros in an empty table change nothing, so the switch needs no memory for them. */
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 3, zeros), 0);
	assert_null(sw.n.sw->mft);
	assert_memory_equal(node_mft_mask(sw.n.sw, 96), zeros, sizeof(uint64_t[4]));
}

static void test_I11_mft_of_ports_and_groups_that_do_not_exist(void **state)
{
	uint8_t ones[64];

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	/* In position 1, a switch with twenty ports uses only the bits for ports 16 .. 20. */
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 1u << 28, ones), 0);
	assert_int_equal(sw.n.sw->mft[0][0], 0x1f0000);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 2u << 28, ones), MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, NODE_MCAST_LIDS / 32 - 1, ones), 0);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, NODE_MCAST_LIDS / 32, ones),
			 MAD_STATUS_BAD_VALUE);
	assert_int_equal(node_rig_set(&sw, 1, SMP_ATTR_MFT, 1u << 9, ones), MAD_STATUS_BAD_VALUE);
}

static void test_I11_mft_of_a_switch_with_254_ports(void **state)
{
	static struct node_rig big;
	uint8_t ones[64];

	(void)state;
	node_rig_init(&big, IB_NODE_SWITCH, 254);
	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(node_rig_set(&big, 1, SMP_ATTR_MFT, 15u << 28, ones), 0);
	assert_true(big.n.sw->mft[0][3] == 0x7fffull << 48);
	assert_int_equal(node_rig_set(&big, 1, SMP_ATTR_MFT, 4u << 28, ones), 0);
	assert_true(big.n.sw->mft[31][1] == 0xffff);
	node_rig_fini(&big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_node_info, setup, teardown),
		cmocka_unit_test_setup_teardown(test_node_description, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_description_is_cut_at_64, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_init_refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_supported_gets_its_status, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_unknown_versions_get_status_4, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_responses_and_traps_are_not_answered, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_classes_and_queue_pairs_belong_together, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_sm_info_is_for_the_sm_of_the_port, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I6_wrong_key_on_set_is_ignored_and_counted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_wrong_key_on_get, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_key_of_a_port_is_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_lease_expires_protection, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_right_key_stops_the_lease, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_lease_of_0_never_expires, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_trap_256, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I7_pkey_table_at_power_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pkey_table_of_a_ca, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I12_pkey_table_of_a_switch_port, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I7_pkey_lookup_prefers_the_full_form, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_guid_info, setup, teardown),
		cmocka_unit_test_setup_teardown(test_block_numbers_do_not_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vls_at_power_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I6_a_ca_port_writes_to_itself_only, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_guids_of_a_switch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I19_other_attributes_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_sltovl_of_a_ca, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I12_sltovl_by_in_and_out, setup, teardown),
		cmocka_unit_test(test_tables_take_memory_when_they_are_changed),
		cmocka_unit_test_setup_teardown(test_vl_arbitration, setup, teardown),
		cmocka_unit_test_setup_teardown(test_switch_info, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lft, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_mft_that_was_never_written_is_empty, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_I11_mft_block_and_position, setup, teardown),
		cmocka_unit_test_setup_teardown(test_I11_mft_of_ports_and_groups_that_do_not_exist,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_I11_mft_of_a_switch_with_254_ports, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
