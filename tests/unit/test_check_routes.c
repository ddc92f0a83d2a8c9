/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the findings of src/check about unicast routes: loops, holes, dead ends and credit loops.
 * Most tests change entries of LFTs.
 */
#include "check_rig.h"

static void test_two_switches_send_to_each_other(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_route(f, "s1", "h3", 1);
	rig_route(f, "s2", "h3", 2);
	rig_finds(f, CHK_LFT_LOOP, "s1/1 > s2/2: packets to 1 LID go round in a circle: 6 (h3/1)");
}

static void test_loop_of_three_for_several_lids_is_one_finding(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	for (int i = 1; i <= 3; i++) {
		char sw[] = { 's', (char)('0' + i), 0 };

		rig_route(f, sw, "h3", 1);
		rig_route(f, sw, "s3", 1);
	}
	rig_finds(f, CHK_LFT_LOOP, "packets to 2 LIDs go round in a circle: 3 (s3), ...");
}

static void test_loop_with_a_tail_is_found_once(void **state)
{
	struct chk_fabric *f = rig_fabric(
		"Switch 3 \"a\"\n[1] \"b\"[1]\n\nSwitch 3 \"b\"\n[2] \"c\"[1]\n\n"
		"Switch 3 \"c\"\n[2] \"d\"[1]\n\nSwitch 3 \"d\"\n[2] \"h\"[1]\n\nHca 1 \"h\"\n");

	(void)state;
	/*
	 * c sends packets for h back to b, so b and c form a loop. Packets from a get into this
	 * loop. The loop does not contain d, which delivers packets to h.
	 */
	rig_route(f, "c", "h", 1);
	rig_finds(f, CHK_LFT_LOOP, "b/2 > c/1: packets to 1 LID");
}

static void test_no_entry(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_route(f, "s1", "h3", SMP_LFT_NONE);
	rig_finds(f, CHK_LFT_HOLE, "s1: has no route to 1 LID: 6 (h3/1)");

	f = rig_ring(3);
	/* the LFT ends before LID 4; the fabric has LIDs 1 to 6 */
	rig_node(f, "s2")->sw->lft_len = 4;
	rig_finds(f, CHK_LFT_HOLE, "s2: has no route to 3 LIDs: 4 (h1/1), 5 (h2/1), 6 (h3/1)");
}

/* Switch x has no CA, and no packet between CAs passes x. */
static const char star[] = "Switch 4 \"a\"\n[1] \"b\"[1]\n[2] \"x\"[1]\n[3] \"h1\"[1]\n\n"
			   "Switch 4 \"b\"\n[3] \"h2\"[1]\n\nSwitch 4 \"x\"\n\n"
			   "Hca 1 \"h1\"\n\nHca 1 \"h2\"\n";

static void test_hole_between_switches_is_a_note(void **state)
{
	struct chk_fabric *f = rig_fabric(star);

	(void)state;
	rig_route(f, "x", "b", SMP_LFT_NONE);
	rig_finds(f, CHK_LFT_HOLE_APART, "x: has no route to 1 LID: 2 (b)");

	f = rig_fabric(star);
	rig_route(f, "x", "h2", SMP_LFT_NONE); /* the switch x could not answer the CA h2 */
	rig_finds(f, CHK_LFT_HOLE, "x: has no route to 1 LID: 5 (h2/1)");

	f = rig_fabric(star);
	rig_route(f, "a", "x", SMP_LFT_NONE); /* CAs could not reach x */
	rig_finds(f, CHK_LFT_HOLE, "a: has no route to 1 LID: 3 (x)");
}

static void test_other_part_of_the_fabric_needs_no_route(void **state)
{
	struct chk_fabric *f = rig_ring(2);

	(void)state;
	rig_node(f, "s1")->port[1].peer = rig_node(f, "s1")->port[2].peer = CHK_NO_NODE;
	rig_node(f, "s2")->port[1].peer = rig_node(f, "s2")->port[2].peer = CHK_NO_NODE;
	for (unsigned int i = 1; i <= 2; i++) {
		rig_route(f, "s1", i == 1 ? "s2" : "h2", SMP_LFT_NONE);
		rig_route(f, "s2", i == 1 ? "s1" : "h1", SMP_LFT_NONE);
	}
	rig_healthy(f);
}

static void test_table_that_was_not_read_says_nothing(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_switch *sw = rig_node(f, "s2")->sw;

	(void)state;
	f->octets -= sw->lft_len;
	free(sw->lft);
	sw->lft = NULL;
	sw->lft_len = 0;
	rig_healthy(f);
}

static void dead_end(uint8_t port, const char *words)
{
	struct chk_fabric *f = rig_ring(3);

	rig_route(f, "s1", "h3", port);
	rig_finds(f, CHK_LFT_DEAD_END, words);
}

static void test_dead_ends(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	dead_end(4, "s1: sends packets to 1 LID to a wrong place, the first of them to port 4, "
		    "which has no link: 6 (h3/1)");
	dead_end(99, "port 99, which the switch does not have");
	dead_end(0, "port 0, the switch itself, which has another LID");
	dead_end(3, "port 3, where a CA is that has another LID");

	/* s3, the last switch on the way to h3, sends packets for h3 to a wrong port. */
	rig_route(f, "s3", "h3", 4);
	rig_finds(f, CHK_LFT_DEAD_END, "s3: sends packets to 1 LID");
}

static void test_route_over_a_port_that_is_not_active(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "s1")->port[1].pi.port_state = IB_PORT_DOWN;
	rig_node(f, "s2")->port[2].pi.port_state = IB_PORT_DOWN;
	rig_route(f, "s2", "s1", 1);
	rig_route(f, "s2", "h1", 1);
	rig_route(f, "s1", "s2", 2);
	/*
	 * The test has moved all routes but one to other ports. Only the route from s1 to h2 still
	 * uses the port that is not Active.
	 */
	rig_finds(f, CHK_LFT_DEAD_END,
		  "s1: sends packets to 1 LID to a wrong place, the first of "
		  "them to port 1, which is not Active: 5 (h2/1)");
}

static void test_mute_port_is_no_dead_end(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "s1")->port[4].mute = true;
	rig_route(f, "s1", "h3", 4);
	rig_healthy(f);
}

/* --- credit loops */

/*
 * Route all packets clockwise (port 1) round the ring. Then packets on each link of the ring can
 * wait for credits of the next link, which is a credit loop.
 */
static struct chk_fabric *send_clockwise(struct chk_fabric *f, unsigned int switches)
{
	for (unsigned int i = 1; i <= switches; i++)
		for (unsigned int k = 1; k <= switches; k++) {
			char sw[8], to[8];

			snprintf(sw, sizeof(sw), "s%u", i);
			snprintf(to, sizeof(to), "h%u", k);
			if (i != k)
				rig_route(f, sw, to, 1);
		}
	return f;
}

static struct chk_fabric *clockwise(unsigned int switches)
{
	return send_clockwise(rig_ring(switches), switches);
}

/*
 * Packets on a link of the ring can also wait for credits of the link to switch t, but packets on
 * the link to t wait for no link of the ring. So the link to t must not count as a part of the
 * credit loop.
 */
static void test_link_behind_a_credit_loop_is_not_in_it(void **state)
{
	static const char text[] = "Switch 4 \"s1\"\n[1] \"s2\"[2]\n[3] \"h1\"[1]\n[4] \"t\"[1]\n\n"
				   "Switch 4 \"s2\"\n[1] \"s3\"[2]\n[3] \"h2\"[1]\n\n"
				   "Switch 4 \"s3\"\n[1] \"s4\"[2]\n[3] \"h3\"[1]\n\n"
				   "Switch 4 \"s4\"\n[1] \"s1\"[2]\n[3] \"h4\"[1]\n\n"
				   "Switch 2 \"t\"\n[2] \"h5\"[1]\n\n"
				   "Hca 1 \"h1\"\n\nHca 1 \"h2\"\n\nHca 1 \"h3\"\n\n"
				   "Hca 1 \"h4\"\n\nHca 1 \"h5\"\n\n";

	(void)state;
	rig_finds(send_clockwise(rig_fabric(text), 4), CHK_CREDIT_LOOP,
		  "routes between CAs make 4 links wait for each other in a circle; 4 links");
}

static void test_credit_loop(void **state)
{
	(void)state;
	rig_finds(clockwise(3), CHK_CREDIT_LOOP,
		  "routes between CAs make 3 links wait for each other in a circle; 3 links");
	rig_finds(clockwise(4), CHK_CREDIT_LOOP, "make 4 links wait");
}

/*
 * Routes are up to 39 links long. The number of steps must not grow with this length: for each LID,
 * the check must visit each switch only once, and not once for each route through the switch.
 */
static void test_work_does_not_grow_with_the_length_of_routes(void **state)
{
	const unsigned int switches = 40;
	const struct chk_opts o = { 0 };
	struct chk_fabric *f = clockwise(switches);
	struct chk_report r;

	(void)state;
	assert_int_equal(chk_run(f, &o, &r), 0);
	assert_int_equal(r.faults, 1);
	assert_int_equal(r.steps, switches * switches);
	chk_report_fini(&r);
	chk_fabric_free(f);
}

static void test_line_has_no_credit_loop(void **state)
{
	struct chk_fabric *f = clockwise(3);

	(void)state;
	/* No packet passes the clockwise link from s3 to s1, so the ring has no credit loop. */
	rig_route(f, "s3", "h1", 2);
	rig_route(f, "s3", "h2", 2);
	rig_route(f, "s2", "h1", 2);
	rig_healthy(f);
}

static void test_lanes_may_open_the_circle(void **state)
{
	struct chk_fabric *f = clockwise(3);

	(void)state;
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++)
			f->node[i]->port[p].pi.oper_vls = 2;
	rig_finds(f, CHK_CREDIT_LOOP_BY_VL, "make 3 links wait");
}

static void test_lanes_that_are_not_known(void **state)
{
	struct chk_fabric *f = clockwise(3);

	(void)state;
	/* PortInfo is not known, as if the fabric came from a file without PortInfo. */
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++)
			f->node[i]->port[p].known = false;
	rig_finds(f, CHK_CREDIT_LOOP_BY_VL, "make 3 links wait");
}

static void test_lanes_are_of_no_use_if_all_sls_have_the_same(void **state)
{
	struct chk_fabric *f = clockwise(3);

	(void)state;
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++) {
			struct chk_port *q = &f->node[i]->port[p];

			q->pi.oper_vls = 2;
			q->sltovl = chk_alloc(f, f->node[i]->nports + 1u, sizeof(*q->sltovl));
		}
	rig_finds(f, CHK_CREDIT_LOOP, "make 3 links wait");
}

/*
 * Return a fabric with two VLs, where SL n is on VL n. The credit loop consists of three waits of a
 * link for the next link. For each wait the SA has returned one path that causes it. The paths of
 * the first two waits have SL 1, and the path of the last wait has SL @sl_of_last.
 */
static struct chk_fabric *with_lanes(uint8_t sl_of_last)
{
	struct chk_fabric *f = clockwise(3);
	struct chk_wait w[CHK_WAITS_MAX];
	uint32_t n;

	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++) {
			struct chk_port *q = &f->node[i]->port[p];

			q->pi.oper_vls = 2;
			q->sltovl = chk_alloc(f, f->node[i]->nports + 1u, sizeof(*q->sltovl));
			for (unsigned int in = 0; in <= f->node[i]->nports; in++)
				for (uint8_t sl = 0; sl < 16; sl++)
					q->sltovl[in][sl] = sl;
		}
	n = chk_credit_waits(f, w);
	assert_int_equal(n, 3);
	for (uint32_t i = 0; i < n; i++) {
		const struct chk_path path = { w[i].slid, w[i].dlid, i + 1 < n ? 1 : sl_of_last };

		assert_int_equal(w[i].hold.out, 1);
		assert_int_equal(w[i].want.in, 2);
		assert_int_equal(chk_add_path(f, &path), 0);
	}
	return f;
}

static void test_lanes_of_the_paths_decide(void **state)
{
	struct chk_fabric *f;
	struct chk_wait w[CHK_WAITS_MAX];

	(void)state;
	rig_finds(with_lanes(1), CHK_CREDIT_LOOP, "make 3 links wait");
	rig_finds(with_lanes(2), CHK_CREDIT_LOOP_BY_VL, "make 3 links wait");

	f = with_lanes(1);
	memset(rig_node(f, "s1")->port[1].sltovl, CHK_NO_VL,
	       5 * 16); /* the SLtoVL table of one port was not read */
	rig_finds(f, CHK_CREDIT_LOOP_BY_VL, "make 3 links wait");

	f = with_lanes(1);
	f->npaths = 2; /* the SA did not return all paths */
	rig_finds(f, CHK_CREDIT_LOOP_BY_VL, "make 3 links wait");

	f = clockwise(3); /* if all ports have one operational VL, no SLtoVL table has to be read */
	assert_int_equal(chk_credit_waits(f, w), 0);
	chk_fabric_free(f);
	f = rig_ring(3);
	assert_int_equal(chk_credit_waits(f, w), 0);
	chk_fabric_free(f);
}

static void test_switches_alone_make_no_credit_loop(void **state)
{
	struct chk_fabric *f = clockwise(3);

	(void)state;
	for (unsigned int i = 1; i <= 3; i++) {
		char h[] = { 'h', (char)('0' + i), 0 };
		char s[] = { 's', (char)('0' + i), 0 };

		rig_node(f, h)->port[1].peer = rig_node(f, s)->port[3].peer = CHK_NO_NODE;
		rig_node(f, h)->port[1].pi.port_state = IB_PORT_DOWN;
		rig_node(f, s)->port[3].pi.port_state = IB_PORT_DOWN;
	}
	rig_healthy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_switches_send_to_each_other),
		cmocka_unit_test(test_loop_of_three_for_several_lids_is_one_finding),
		cmocka_unit_test(test_loop_with_a_tail_is_found_once),
		cmocka_unit_test(test_no_entry),
		cmocka_unit_test(test_hole_between_switches_is_a_note),
		cmocka_unit_test(test_other_part_of_the_fabric_needs_no_route),
		cmocka_unit_test(test_table_that_was_not_read_says_nothing),
		cmocka_unit_test(test_dead_ends),
		cmocka_unit_test(test_route_over_a_port_that_is_not_active),
		cmocka_unit_test(test_mute_port_is_no_dead_end),
		cmocka_unit_test(test_credit_loop),
		cmocka_unit_test(test_work_does_not_grow_with_the_length_of_routes),
		cmocka_unit_test(test_link_behind_a_credit_loop_is_not_in_it),
		cmocka_unit_test(test_line_has_no_credit_loop),
		cmocka_unit_test(test_lanes_may_open_the_circle),
		cmocka_unit_test(test_lanes_that_are_not_known),
		cmocka_unit_test(test_lanes_are_of_no_use_if_all_sls_have_the_same),
		cmocka_unit_test(test_lanes_of_the_paths_decide),
		cmocka_unit_test(test_switches_alone_make_no_credit_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
