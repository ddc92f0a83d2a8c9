/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mon_trap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "inst_rig.h"
#include "inst/fab.h"
#include "inst/inst.h"
#include "sm/sm.h"
#include "subnet/db.h"
#include "wire/notice.h"
#include "wire/smp.h"

/*
 * Tests what `uipoib monitor` prints about each kind of trap. The instance has no interfaces. Its
 * fabric has four CAs, and two switches that two cables connect. The SM runs on Switch1. Time is
 * virtual.
 */

struct rig {
	struct inst in;
	const struct inst_sm *sm;
	const struct sm_db *db;
	ns_t now;
};

static void sweep(struct rig *r)
{
	ns_t end = r->now + NS_SEC(1);

	while (r->now < end) {
		for (int i = 0; i < 10000 && inst_work(&r->in, r->now); i++)
			;
		r->now = ns_max(r->now + 1, ns_min(end, timers_next(&r->in.loop.timers)));
	}
}

static int setup(void **state)
{
	const struct conf_fabric cfg = { .name = "lab", .crc = CONF_CRC_FULL, .sm_embedded = true };
	struct rig *r = calloc(1, sizeof(*r));
	struct topo *t = topo_gen_demo(4, 2);
	char err[INST_ERR_MAX];

	if (!r || !t)
		return -1;
	*state = r;
	if (inst_rig_init(&r->in))
		return -1;
	r->now = r->in.loop.now;
	if (fab_add(&r->in, &cfg, t, err))
		return -1;
	topo_free(t);
	sweep(r);
	r->sm = fab_sm(r->in.fab[0]);
	r->db = sm_db(r->sm->sm);
	return r->db && r->db->nnodes == 6 ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	fab_destroy(r->in.fab[0]);
	free(r->in.fab);
	pkt_pool_destroy(r->in.pool);
	loop_fini(&r->in.loop);
	free(r);
	return 0;
}

static struct sm_node *node(const struct rig *r, const char *desc)
{
	for (uint32_t k = 0; k < r->db->nnodes; k++)
		if (!strcmp(r->db->node[k]->desc, desc))
			return r->db->node[k];
	fail_msg("no node %s", desc);
	return NULL;
}

/* Return the LID of a node of the fabric; each CA has one port */
static uint16_t lid(const struct rig *r, const char *desc)
{
	const struct sm_node *n = node(r, desc);

	return n->port[n->sw ? 0 : 1].lid;
}

static struct mad_notice notice(const struct rig *r, uint16_t trap, const char *issuer)
{
	struct mad_notice n = { .generic = true, .trap = trap, .issuer_lid = lid(r, issuer) };

	mad_notice_lid(&n, n.issuer_lid);
	return n;
}

/* Return the row about a trap, and check that it is the only row; the caller releases the row */
static json_t *row(const struct rig *r, const struct mad_notice *n)
{
	json_t *all = mon_trap(r->sm, n), *one;

	assert_int_equal(json_array_size(all), 1);
	one = json_incref(json_array_get(all, 0));
	json_decref(all);
	return one;
}

static void says(const json_t *row, const char *key, const char *want)
{
	const json_t *v = json_object_get(row, key);

	if (!want)
		assert_true(json_is_null(v));
	else if (!json_is_string(v) || strcmp(json_string_value(v), want))
		fail_msg("%s: '%s', expected '%s'", key, json_string_value(v), want);
}

static ib_gid gid(const struct rig *r, const char *desc)
{
	return ib_gid_of(r->db->prefix, node(r, desc)->port[1].guid);
}

/*
 * --- traps about a packet with a wrong P_Key or Q_Key: the monitor must name both ends of the
 * packet
 */

static struct notice_violation violation(const struct rig *r)
{
	return (struct notice_violation){
		.slid = lid(r, "Hca1"),
		.dlid = lid(r, "Hca4"),
		.src_qp = 0x48,
		.dest_qp = 0x123456,
		.key = 0x8123,
	};
}

static void test_bad_pkey_at_a_ca_names_both_ends(void **state)
{
	struct rig *r = *state;
	struct mad_notice n = notice(r, MAD_TRAP_BAD_PKEY, "Hca4");
	struct notice_violation v = violation(r);
	json_t *t;

	notice_violation_encode(&n, &v);
	t = row(r, &n);
	says(t, "what", "bad P_Key at an HCA");
	says(t, "issuer", "Hca4/1");
	says(t, "pkey", "0x8123");
	says(t, "from", "Hca1/1");
	says(t, "from_qp", "0x000048");
	says(t, "from_gid", NULL);
	says(t, "to", "Hca4/1");
	says(t, "to_qp", "0x123456");
	assert_int_equal(json_integer_value(json_object_get(t, "from_lid")), v.slid);
	assert_int_equal(json_integer_value(json_object_get(t, "to_lid")), v.dlid);
	assert_null(json_object_get(t, "qkey"));
	assert_null(json_object_get(t, "port"));
	json_decref(t);
}

static void test_bad_qkey_shows_the_whole_key(void **state)
{
	struct rig *r = *state;
	struct mad_notice n = notice(r, MAD_TRAP_BAD_QKEY, "Hca4");
	struct notice_violation v = violation(r);
	json_t *t;

	v.key = 0x80010001;
	notice_violation_encode(&n, &v);
	t = row(r, &n);
	says(t, "qkey", "0x80010001");
	says(t, "from", "Hca1/1");
	assert_null(json_object_get(t, "pkey"));
	json_decref(t);
}

/*
 * No port has the SLID that the notice contains. So the row must name the sender's port, which the
 * SGID in the notice identifies. The destination is a multicast group: the row must contain the LID
 * and the GID of the group, and name no port.
 */
static void test_ends_are_named_by_gid_if_the_lid_names_none(void **state)
{
	struct rig *r = *state;
	struct mad_notice n = notice(r, MAD_TRAP_BAD_PKEY, "Hca4");
	struct notice_violation v = violation(r);
	json_t *t;

	v.slid = 0xbf00;
	v.dlid = 0xc000;
	v.has_gids = true;
	v.sgid = gid(r, "Hca2");
	v.dgid = ib_gid_of(0xff12401bffff0000ull, 0xffffffff);
	notice_violation_encode(&n, &v);
	t = row(r, &n);
	says(t, "from", "Hca2/1");
	says(t, "to", NULL);
	says(t, "to_gid", "ff12:401b:ffff::ffff:ffff");
	assert_int_equal(json_integer_value(json_object_get(t, "to_lid")), 0xc000);
	json_decref(t);
}

static void test_bad_pkey_at_a_switch_names_the_cable_too(void **state)
{
	struct rig *r = *state;
	struct mad_notice n = notice(r, MAD_TRAP_SWITCH_BAD_PKEY, "Switch2");
	const struct sm_port *in = node(r, "Hca4")->port[1].peer;
	struct notice_violation v = violation(r);
	char want[32];
	json_t *t;

	v.slid = lid(r, "Hca4");
	v.dlid = lid(r, "Hca1");
	v.switch_lid = lid(r, "Switch2");
	v.port = in->num;
	notice_violation_encode(&n, &v);
	t = row(r, &n);
	snprintf(want, sizeof(want), "Switch2/%u", in->num);
	says(t, "port", want);
	says(t, "peer", "Hca4/1");
	says(t, "from", "Hca4/1");
	says(t, "to", "Hca1/1");
	says(t, "pkey", "0x8123");
	json_decref(t);
	/*
	 * The notice has a port number that the switch does not have, and its flags mark the
	 * packet's LIDs as unknown.
	 */
	n.details[50] = 200;
	n.details[1] = 0xfc;
	t = row(r, &n);
	says(t, "port", NULL);
	says(t, "peer", NULL);
	says(t, "from", NULL);
	says(t, "from_lid", NULL);
	json_decref(t);
}

/* --- traps about a request that has a wrong M_Key */

/* Return the details of Hca4's trap about a request from Hca1 that came on a directed route */
static struct notice_mkey request(const struct rig *r)
{
	const struct sm_port *p = node(r, "Hca1")->port[1].peer;
	struct notice_mkey k = {
		.dr_slid = IB_LID_PERMISSIVE,
		.method = MAD_METHOD_SET,
		.attr = SMP_ATTR_PORT_INFO,
		.mod = 1,
		.mkey = 0xbad,
		.directed = true,
	};

	k.path[k.hops++] = p->num;
	for (unsigned int i = 1; k.hops == 1; i++) {
		const struct sm_port *to = node(r, "Switch1")->port[i].peer;

		if (to && !strcmp(to->node->desc, "Switch2"))
			k.path[k.hops++] = to->num;
	}
	k.path[k.hops++] = 1;
	return k;
}

static json_t *bad_mkey(const struct rig *r, const struct notice_mkey *k, uint16_t lidaddr)
{
	struct mad_notice n = notice(r, MAD_TRAP_BAD_MKEY, "Hca4");

	mad_notice_lid(&n, lidaddr);
	notice_mkey_encode(&n, k);
	return row(r, &n);
}

static void test_bad_mkey_names_the_sender_by_the_way_back(void **state)
{
	struct rig *r = *state;
	struct notice_mkey k = request(r);
	json_t *t = bad_mkey(r, &k, lid(r, "Hca4"));

	says(t, "from", "Hca1/1");
	says(t, "request", "SubnSet PortInfo");
	says(t, "modifier", "0x00000001");
	assert_null(json_object_get(t, "mkey"));
	json_decref(t);

	k.path[1] = 200; /* Switch2 has no such port */
	t = bad_mkey(r, &k, lid(r, "Hca4"));
	says(t, "from", NULL);
	json_decref(t);

	k = request(r);
	k.truncated = true;
	t = bad_mkey(r, &k, lid(r, "Hca4"));
	says(t, "from", NULL);
	json_decref(t);
}

static void test_bad_mkey_names_the_sender_by_its_lid(void **state)
{
	struct rig *r = *state;
	struct notice_mkey k = request(r);
	json_t *t;

	/* The request was LID-routed first, so DrSLID is the LID of its sender. */
	k.dr_slid = lid(r, "Hca2");
	t = bad_mkey(r, &k, lid(r, "Hca4"));
	says(t, "from", "Hca2/1");
	json_decref(t);

	/*
	 * The request had no directed route, so the LID in the notice names its sender. But an SMA
	 * may put its own LID there. So if the LID is that of the reporting port (Hca4), the sender
	 * must count as unknown.
	 */
	k.directed = false;
	t = bad_mkey(r, &k, lid(r, "Hca3"));
	says(t, "from", "Hca3/1");
	json_decref(t);
	t = bad_mkey(r, &k, lid(r, "Hca4"));
	says(t, "from", NULL);
	json_decref(t);
}

/* --- ports */

static void test_errors_of_a_port_name_the_cable(void **state)
{
	static const uint16_t traps[] = { MAD_TRAP_LINK_INTEGRITY, MAD_TRAP_BUFFER_OVERRUN,
					  MAD_TRAP_FLOW_WATCHDOG };
	static const char *const what[] = { "local link integrity errors reached the threshold",
					    "excessive buffer overruns reached the threshold",
					    "flow control update watchdog timer expired" };
	struct rig *r = *state;
	const struct sm_port *p = node(r, "Hca3")->port[1].peer;
	char want[32];

	snprintf(want, sizeof(want), "Switch2/%u", p->num);
	for (unsigned int i = 0; i < ARRAY_SIZE(traps); i++) {
		struct mad_notice n = notice(r, traps[i], "Switch2");
		json_t *t;

		n.details[4] = p->num;
		t = row(r, &n);
		says(t, "what", what[i]);
		says(t, "port", want);
		says(t, "peer", "Hca3/1");
		json_decref(t);
	}
}

static void test_change_of_capabilities_says_which(void **state)
{
	struct rig *r = *state;
	struct mad_notice n = notice(r, MAD_TRAP_CAP_CHANGE, "Hca2");
	uint32_t had = node(r, "Hca2")->port[1].pi.cap_mask;
	json_t *t;

	assert_false(had & SMP_CAP_IS_SM);
	assert_true(had & SMP_CAP_IS_TRAP);
	mad_notice_cap_mask(&n, (had | SMP_CAP_IS_SM) & ~SMP_CAP_IS_TRAP);
	n.details[5] = 1;
	n.details[11] = NOTICE_CHANGED_NODE_DESC | NOTICE_CHANGED_SPEED;
	t = row(r, &n);
	says(t, "issuer", "Hca2/1");
	says(t, "changed", "IsSM set, IsTrapSupported cleared, NodeDescription, LinkSpeedEnabled");
	json_decref(t);

	/*
	 * The notice marks its flags (OtherLocalChanges) as not valid, and its capability mask is
	 * the one that the SM already knows. So the notice reports no change.
	 */
	mad_notice_cap_mask(&n, had);
	n.details[5] = 0;
	t = row(r, &n);
	says(t, "changed", NULL);
	json_decref(t);
}

static void test_other_traps_name_port_or_value(void **state)
{
	struct rig *r = *state;
	struct mad_notice n = notice(r, MAD_TRAP_SYSGUID_CHANGE, "Switch2");
	ib_gid g = gid(r, "Hca3");
	json_t *t;

	be64_put(n.details + 6, 0x0002c90300000042ull);
	t = row(r, &n);
	says(t, "system_guid", "0x0002c90300000042");
	assert_null(json_object_get(t, "about"));
	json_decref(t);
	mad_notice_lid(&n, lid(r, "Hca1"));
	t = row(r, &n);
	says(t, "about", "Hca1/1");
	json_decref(t);

	n = notice(r, MAD_TRAP_GID_OUT_OF_SERVICE, "Switch1");
	mad_notice_gid(&n, &g);
	t = row(r, &n);
	says(t, "about", "Hca3/1");
	json_decref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_pkey_at_a_ca_names_both_ends),
		cmocka_unit_test(test_bad_qkey_shows_the_whole_key),
		cmocka_unit_test(test_ends_are_named_by_gid_if_the_lid_names_none),
		cmocka_unit_test(test_bad_pkey_at_a_switch_names_the_cable_too),
		cmocka_unit_test(test_bad_mkey_names_the_sender_by_the_way_back),
		cmocka_unit_test(test_bad_mkey_names_the_sender_by_its_lid),
		cmocka_unit_test(test_errors_of_a_port_name_the_cable),
		cmocka_unit_test(test_change_of_capabilities_says_which),
		cmocka_unit_test(test_other_traps_name_port_or_value),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
