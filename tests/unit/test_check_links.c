/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the findings of src/check about identities (GUIDs, LIDs) and links. Each test causes the
 * fault that one kind of finding reports. A healthy fabric must have no finding.
 */
#include "check_rig.h"

#include <errno.h>

static void test_healthy_fabrics_have_no_finding(void **state)
{
	(void)state;
	rig_healthy(rig_ring(1));
	rig_healthy(rig_ring(2));
	rig_healthy(rig_ring(3));
	rig_healthy(rig_fabric("Hca 1 \"a\"\n[1] \"s\"[1]\n\nSwitch 2 \"s\"\n"));
}

static void test_two_nodes_with_one_guid(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	assert_int_equal(chk_add_twin(f, rig_node(f, "h1")->index, rig_node(f, "s2")->index, 4), 0);
	rig_finds(f, CHK_SAME_NODE_GUID, "h1: another node with the node GUID 0x0000000000100000");
}

static void test_two_ports_with_one_guid(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "h2")->port[1].guid = rig_node(f, "h1")->port[1].guid;
	rig_finds(f, CHK_SAME_PORT_GUID, "which h1/1 has, too");
}

static void test_two_ports_with_one_lid(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	unsigned int lid = rig_lid(f, "h1");

	(void)state;
	/*
	 * h3 gets the LID of h1. The routes to this LID still lead to h1, and none leads to h3, but
	 * this must not be a second finding.
	 */
	rig_node(f, "h3")->port[1].lid = (uint16_t)lid;
	rig_finds(f, CHK_SAME_LID, "h3/1: has LID 4, which h1/1 has, too");
}

static void test_ranges_of_lids_overlap(void **state)
{
	struct chk_fabric *f = rig_ring(1);

	(void)state;
	rig_node(f, "s1")->port[0].lid = 1;
	rig_node(f, "s1")->port[0].lmc = 1; /* LMC 1: the port has LIDs 1 and 2 */
	assert_int_equal(chk_set_lft(f, rig_node(f, "s1")->sw, 1, 0), 0);
	assert_int_equal(chk_set_lft(f, rig_node(f, "s1")->sw, 2, 0), 0);
	rig_finds(f, CHK_SAME_LID, "h1/1: has LID 2, which s1 has, too");
}

static void test_multicast_lid_as_a_ports_own(void **state)
{
	struct chk_fabric *f = rig_ring(1);

	(void)state;
	rig_node(f, "h1")->port[1].lid = 0xc000;
	rig_finds(f, CHK_SAME_LID, "is no unicast LID");
}

static void test_active_without_a_lid(void **state)
{
	struct chk_fabric *f = rig_ring(2);

	(void)state;
	rig_node(f, "h2")->port[1].lid = 0;
	rig_finds(f, CHK_NO_LID, "h2/1: is Active, but has no LID");
}

static void test_link_that_no_manager_made_active(void **state)
{
	struct chk_fabric *f = rig_fabric("Switch 3 \"s1\"\n[1] \"h1\"[1]\n[2] \"h2\"[1]\n\n"
					  "Hca 1 \"h1\"\n\nHca 1 \"h2\"\n");

	(void)state;
	rig_node(f, "h2")->port[1].pi.port_state = IB_PORT_INIT;
	rig_finds(f, CHK_NOT_ACTIVE, "h2/1: has a link, but its state is Initialize");
}

static void test_slow_and_narrow_links(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "h1")->port[1].pi.speed_ext_active = 0;
	rig_node(f, "h1")->port[1].pi.speed_active = 1;
	rig_node(f, "s1")->port[3].pi.speed_ext_active = 0;
	rig_node(f, "s1")->port[3].pi.speed_active = 1;
	rig_finds(f, CHK_SLOW, "s1/3 to h1/1: runs at SDR, but both ends support and enable EDR");

	f = rig_ring(3);
	rig_node(f, "s1")->port[1].pi.width_active = 1;
	rig_node(f, "s2")->port[2].pi.width_active = 1;
	rig_finds(f, CHK_NARROW, "s1/1 to s2/2: is 1x wide, but both ends support and enable 4x");
}

static void test_older_end_decides_the_speed(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct smp_port_info *h = &rig_node(f, "h1")->port[1].pi;
	struct smp_port_info *s = &rig_node(f, "s1")->port[3].pi;

	(void)state;
	/*
	 * h1 has no capability bit for extended speeds, so the values of extended speeds must be
	 * ignored
	 */
	h->cap_mask = 0;
	h->speed_active = s->speed_active = 4;
	s->speed_ext_active = 0;
	rig_healthy(f);
}

/*
 * LinkSpeedExtEnabled 30 means that the extended speeds are disabled. The value must not be read as
 * a mask of speeds.
 */
static void test_extended_speeds_that_are_disabled(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct smp_port_info *h = &rig_node(f, "h1")->port[1].pi;
	struct smp_port_info *s = &rig_node(f, "s1")->port[3].pi;

	(void)state;
	h->speed_ext_supported = s->speed_ext_supported = 15;
	h->speed_ext_enabled = 30;
	s->speed_ext_enabled = 31;
	h->speed_supported = s->speed_supported = h->speed_enabled = s->speed_enabled = 7;
	h->speed_active = s->speed_active = 4;
	h->speed_ext_active = s->speed_ext_active = 0;
	rig_finds(f, CHK_LIMITED, "s1/3 to h1/1: runs at QDR; both ends support");
}

static void test_limited_link_is_a_note(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct smp_port_info *h = &rig_node(f, "h1")->port[1].pi;
	struct smp_port_info *s = &rig_node(f, "s1")->port[3].pi;

	(void)state;
	h->speed_enabled = 1;
	h->speed_ext_enabled = 0;
	h->speed_active = s->speed_active = 1;
	h->speed_ext_active = s->speed_ext_active = 0;
	rig_finds(f, CHK_LIMITED, "s1/3 to h1/1: runs at SDR; both ends support EDR");

	f = rig_ring(3);
	h = &rig_node(f, "h1")->port[1].pi;
	h->width_enabled = 1;
	h->width_active = rig_node(f, "s1")->port[3].pi.width_active = 1;
	rig_finds(f, CHK_LIMITED, "s1/3 to h1/1: is 1x wide; both ends support 4x");
}

static void test_mtus_of_a_link_differ(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "s3")->port[3].pi.neighbor_mtu = IB_MTU_2048;
	rig_finds(f, CHK_MTU_DIFFERS, "s3/3 to h3/1: NeighborMTU is 2048 octets at the first end");
}

static void test_port_of_another_manager(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "h2")->port[1].pi.sm_lid = 5;
	rig_finds(f, CHK_OTHER_SM, "h2/1: has LID 5 as that of its subnet manager");
}

static void test_silence_is_named(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_silence s = { .node = rig_node(f, "s2")->index, .attr = SMP_ATTR_LFT };

	(void)state;
	assert_int_equal(chk_add_silence(f, &s), 0);
	assert_int_equal(chk_add_silence(f, &s), 0);
	rig_finds(f, CHK_NO_ANSWER,
		  "s2: does not answer 2 requests for attribute 0x0019 of subnet management");

	f = rig_ring(3);
	s.status = 0x000c;
	assert_int_equal(chk_add_silence(f, &s), 0);
	rig_finds(f, CHK_REFUSED, "s2: refuses 1 requests for attribute 0x0019");

	f = rig_ring(3);
	s = (struct chk_silence){ .node = rig_node(f, "s2")->index, .port = 4, .behind = true };
	assert_int_equal(chk_add_silence(f, &s), 0);
	rig_finds(f, CHK_NO_ANSWER, "s2/4: the link is up, but what is behind it");
}

static void test_memory_has_a_bound(void **state)
{
	struct smp_node_info i = { .node_type = IB_NODE_CA, .nports = 200 };
	struct chk_fabric *f = chk_fabric_create(1 << 20);
	struct chk_node *n;
	int err = 0;

	(void)state;
	for (unsigned int k = 1; !err && k < CHK_NODES_MAX; k++) {
		i.node_guid = k;
		err = chk_add_node(f, &i, "", &n);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(f->octets <= f->octets_max && f->octets > f->octets_max / 2);
	rig_finds(f, CHK_CUT, "is larger than this program reads");
}

static void test_findings_have_a_bound(void **state)
{
	struct chk_fabric *f = rig_ring(1);
	const struct chk_opts o = { 0 };
	struct chk_report r;

	(void)state;
	for (unsigned int k = 0; k < CHK_FINDINGS_MAX + 5; k++)
		assert_int_equal(chk_add_twin(f, 0, 0, (uint8_t)(1 + k % 4)), 0);
	assert_int_equal(chk_run(f, &o, &r), 0);
	assert_int_equal(r.n, CHK_FINDINGS_MAX);
	assert_int_equal(r.left_out, 5);
	assert_int_equal(r.faults, CHK_FINDINGS_MAX + 5);
	chk_report_fini(&r);
	chk_fabric_free(f);
}

static void test_second_reading_confirms(void **state)
{
	struct chk_fabric *f = rig_ring(3), *g = rig_ring(3);
	struct chk_report r, again;
	const struct chk_opts o = { 0 };

	(void)state;
	rig_node(f, "s3")->port[3].pi.neighbor_mtu = IB_MTU_2048;
	rig_node(f, "s2")->port[3].pi.neighbor_mtu = IB_MTU_2048;
	rig_node(f, "h1")->port[1].pi.width_enabled = rig_node(f, "h1")->port[1].pi.width_active =
		1;
	rig_node(f, "s1")->port[3].pi.width_active = 1;
	rig_node(f, "s1")->port[1].counters = chk_alloc(f, 1, sizeof(struct chk_counters));
	rig_node(f, "s1")->port[1].counters->nread = 2;
	rig_node(f, "s1")->port[1].counters->last.rcv_errors = 1;
	rig_node(g, "s3")->port[3].pi.neighbor_mtu = IB_MTU_1024;
	assert_int_equal(chk_run(f, &o, &r), 0);
	assert_int_equal(chk_run(g, &o, &again), 0);
	assert_int_equal(r.n, 4);
	chk_report_confirm(&r, &again);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.faults, 2);
	assert_int_equal(r.notes, 0);
	assert_string_equal(r.finding[0].where, "s3/3 to h3/1");
	assert_int_equal(r.finding[1].kind, CHK_COUNTER_GROWS);
	/* the second report is incomplete, so a finding that it lacks must not be removed */
	again.left_out = 1;
	again.n = 0;
	chk_report_confirm(&r, &again);
	assert_int_equal(r.n, 2);
	chk_report_fini(&r);
	chk_report_fini(&again);
	chk_fabric_free(f);
	chk_fabric_free(g);
}

/*
 * While an SM changes the fabric, two readings can have findings of the same kind about different
 * parts of the fabric. These findings must not confirm each other.
 */
static void test_two_findings_of_a_kind_do_not_confirm_each_other(void **state)
{
	struct chk_fabric *f = rig_ring(3), *g = rig_ring(3);
	struct chk_report r, again;
	const struct chk_opts o = { 0 };

	(void)state;
	assert_int_equal(chk_set_mft(f, rig_node(f, "s1")->sw, 0xc001, 0, 1 << 4), 0);
	assert_int_equal(chk_set_mft(f, rig_node(f, "s1")->sw, 0xc003, 0, 1 << 4), 0);
	assert_int_equal(chk_set_mft(g, rig_node(g, "s1")->sw, 0xc002, 0, 1 << 4), 0);
	assert_int_equal(chk_set_mft(g, rig_node(g, "s1")->sw, 0xc003, 0, 1 << 4), 0);
	assert_int_equal(chk_run(f, &o, &r), 0);
	assert_int_equal(chk_run(g, &o, &again), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(again.n, 2);
	chk_report_confirm(&r, &again);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.faults, 1);
	assert_non_null(strstr(r.finding[0].what, "0xc003"));
	chk_report_fini(&r);
	chk_report_fini(&again);
	chk_fabric_free(f);
	chk_fabric_free(g);
}

static void test_every_kind_is_explained(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < CHK_KINDS; k++) {
		const struct chk_kind_info *i = chk_kind_info(k);

		assert_non_null(i->name);
		assert_non_null(i->why);
		assert_non_null(i->todo);
		for (unsigned int j = 0; j < k; j++)
			assert_string_not_equal(i->name, chk_kind_info(j)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy_fabrics_have_no_finding),
		cmocka_unit_test(test_two_nodes_with_one_guid),
		cmocka_unit_test(test_two_ports_with_one_guid),
		cmocka_unit_test(test_two_ports_with_one_lid),
		cmocka_unit_test(test_ranges_of_lids_overlap),
		cmocka_unit_test(test_multicast_lid_as_a_ports_own),
		cmocka_unit_test(test_active_without_a_lid),
		cmocka_unit_test(test_link_that_no_manager_made_active),
		cmocka_unit_test(test_slow_and_narrow_links),
		cmocka_unit_test(test_older_end_decides_the_speed),
		cmocka_unit_test(test_extended_speeds_that_are_disabled),
		cmocka_unit_test(test_limited_link_is_a_note),
		cmocka_unit_test(test_mtus_of_a_link_differ),
		cmocka_unit_test(test_port_of_another_manager),
		cmocka_unit_test(test_silence_is_named),
		cmocka_unit_test(test_memory_has_a_bound),
		cmocka_unit_test(test_findings_have_a_bound),
		cmocka_unit_test(test_second_reading_confirms),
		cmocka_unit_test(test_two_findings_of_a_kind_do_not_confirm_each_other),
		cmocka_unit_test(test_every_kind_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
