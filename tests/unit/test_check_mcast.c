/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the findings of src/check about multicast trees: loops, separate parts, dead ends, and
 * members that receive nothing. Each test causes one fault by changed port masks in the MFTs.
 */
#include "check_rig.h"

#define MLID 0xc003

static void mask(struct chk_fabric *f, const char *sw, uint16_t ports)
{
	struct chk_switch *s = rig_node(f, sw)->sw;

	for (unsigned int i = 0; i < s->mft_len; i++)
		if (i == MLID - IB_LID_MCAST_MIN)
			memset(s->mft[i], 0, sizeof(s->mft[i]));
	assert_int_equal(chk_set_mft(f, s, MLID, 0, ports), 0);
}

/*
 * Return a ring of three switches whose multicast tree is the line s1 - s2 - s3, over the links
 * s1/1 - s2/2 and s2/1 - s3/2. The tree leads to all CAs
 */
static struct chk_fabric *line(void)
{
	struct chk_fabric *f = rig_ring(3);

	mask(f, "s1", 1 << 1 | 1 << 3);
	mask(f, "s2", 1 << 1 | 1 << 2 | 1 << 3);
	mask(f, "s3", 1 << 2 | 1 << 3);
	return f;
}

static void join(struct chk_fabric *f, const char *node, uint8_t join_state)
{
	struct chk_node *n = rig_node(f, node);
	struct chk_member m = { .mlid = MLID,
				.port_guid = n->port[n->sw ? 0 : 1].guid,
				.join_state = join_state,
				.mgid = { { 0xff, 0x12, 0x40, 0x1b } } };

	assert_int_equal(chk_add_member(f, &m), 0);
}

static void test_trees_are_healthy(void **state)
{
	struct chk_fabric *f;

	(void)state;
	rig_healthy(line());

	f = line();
	join(f, "h1", 1);
	join(f, "h3", 3);
	rig_healthy(f);

	f = rig_ring(3); /* two members at one switch */
	mask(f, "s2", 1 << 3 | 1);
	rig_healthy(f);
}

static void test_circle_of_links(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	mask(f, "s1", 1 << 1 | 1 << 2 | 1 << 3);
	mask(f, "s3", 1 << 1 | 1 << 2 | 1 << 3);
	rig_finds(f, CHK_MFT_LOOP, "the links for MLID 0xc003 are no tree");
}

static void test_parallel_links(void **state)
{
	struct chk_fabric *f = rig_ring(2); /* s1 and s2 are connected by two links */

	(void)state;
	mask(f, "s1", 1 << 1 | 1 << 2 | 1 << 3);
	mask(f, "s2", 1 << 1 | 1 << 2 | 1 << 3);
	rig_finds(f, CHK_MFT_LOOP, "s1/2 to s2/1: the links for MLID 0xc003 are no tree");
}

static void test_circle_of_one_way_links(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	mask(f, "s1", 1 << 1 | 1 << 3);
	mask(f, "s2", 1 << 1);
	mask(f, "s3", 1 << 1);
	rig_finds(f, CHK_MFT_LOOP, "are no tree");
}

static void test_members_in_two_parts(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	mask(f, "s1", 1 << 3);
	mask(f, "s2", 0);
	mask(f, "s3", 1 << 3);
	rig_finds(f, CHK_MFT_SPLIT,
		  "s3/3: gets packets with MLID 0xc003, but none of those that come in at s1/3");
}

static void test_way_back_is_missing(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	/* s2 does not forward packets to s1, but s1 forwards packets to s2 */
	mask(f, "s2", 1 << 1 | 1 << 3);
	rig_finds(f, CHK_MFT_SPLIT, "MLID 0xc003, but none of those that come in at");
}

static void test_switch_with_senders_only(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	/* h1 only sends and never receives, so s2 need not forward packets to s1 */
	mask(f, "s1", 1 << 1);
	mask(f, "s2", 1 << 1 | 1 << 3);
	join(f, "h1", 4);
	join(f, "h2", 1);
	rig_healthy(f);
}

static void dead_end(uint16_t ports, const char *words)
{
	struct chk_fabric *f = line();

	mask(f, "s1", (uint16_t)(1 << 1 | 1 << 3 | ports));
	rig_finds(f, CHK_MFT_DEAD_END, words);
}

static void test_dead_ends(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	dead_end(1 << 4, "s1: sends MLID 0xc003 to port 4, which has no link");
	dead_end(1 << 9, "s1: sends MLID 0xc003 to port 9, which the switch does not have");

	mask(f, "s3", 0);
	rig_finds(f, CHK_MFT_DEAD_END,
		  "s2: sends MLID 0xc003 to port 1, where a switch is that does not forward it");

	f = line();
	rig_node(f, "s3")->port[3].pi.port_state = IB_PORT_ARMED;
	/*
	 * h3 has no LID, so no unicast route leads to port 3 of s3, and only the MFT causes a
	 * finding
	 */
	rig_node(f, "h3")->port[1].lid = 0;
	rig_node(f, "h3")->port[1].pi.port_state = IB_PORT_DOWN;
	f->node[rig_node(f, "s3")->index]->port[3].pi.port_state = IB_PORT_DOWN;
	rig_finds(f, CHK_MFT_DEAD_END, "s3: sends MLID 0xc003 to port 3, which is not Active");
}

static void test_members_that_get_nothing(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	mask(f, "s3", 1 << 2);
	join(f, "h3", 1);
	/* h3 is the only member, so no other port sends packets that h3 could miss */
	rig_healthy(f);

	f = line();
	mask(f, "s3", 1 << 2);
	join(f, "h2", 1);
	join(f, "h3", 1);
	rig_finds(f, CHK_MFT_MISSES, "h3/1: is a member of");

	f = line();
	join(f, "h1", 4);
	join(f, "s2", 1);
	rig_finds(f, CHK_MFT_MISSES, "s2: is a member of");
}

static void test_table_with_gaps_says_nothing(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	mask(f, "s3", 0);
	rig_node(f, "s3")->sw->mft_gaps = true;
	join(f, "h3", 1);
	rig_healthy(f);
}

/*
 * The MFTs of s1 and s3, at the two ends of the line, were read only in part. In the unread parts
 * s1 and s3 may well forward packets to s2, as in a healthy tree, so the check must not report a
 * loop.
 */
static void test_gaps_behind_two_links_are_no_loop(void **state)
{
	struct chk_fabric *f = line();

	(void)state;
	mask(f, "s1", 1 << 3);
	mask(f, "s3", 1 << 3);
	rig_node(f, "s1")->sw->mft_gaps = true;
	rig_node(f, "s3")->sw->mft_gaps = true;
	rig_healthy(f);

	f = line();
	mask(f, "s1", 1 << 3);
	mask(f, "s3", 1 << 3);
	rig_finds(f, CHK_MFT_LOOP, "closes a circle");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees_are_healthy),
		cmocka_unit_test(test_circle_of_links),
		cmocka_unit_test(test_parallel_links),
		cmocka_unit_test(test_circle_of_one_way_links),
		cmocka_unit_test(test_members_in_two_parts),
		cmocka_unit_test(test_way_back_is_missing),
		cmocka_unit_test(test_switch_with_senders_only),
		cmocka_unit_test(test_dead_ends),
		cmocka_unit_test(test_members_that_get_nothing),
		cmocka_unit_test(test_table_with_gaps_says_nothing),
		cmocka_unit_test(test_gaps_behind_two_links_are_no_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
