/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests packets that enter the fabric at external ends: packets with forged source LIDs, and
 * packets on loops that lead through other fabrics.
 */
#include "check.h"

#include <string.h>

#include "fabric_rig.h"
#include "fabric_wire.h"
#include "crc/crc.h"

static struct rig r;

/*
 * An external end, like that of a link over UDP. Packets that leave the fabric here enter it again
 * at the external end .other. If .other is NULL, .got is the last of these packets.
 */
struct outside {
	struct fabric_port *end;
	struct outside *other;
	struct pkt *got;
	unsigned int n;
};
static struct outside o[3];

static void on_tx(void *ctx, struct pkt **v, unsigned int n, ns_t now)
{
	struct outside *x = ctx;
	uint8_t wire[IB_PKT_MAX];

	x->n += n;
	for (unsigned int i = 0; i < n; i++) {
		struct pkt *copy;
		size_t len;

		fabric_pkt_seal(v[i]);
		len = fabric_pkt_to_wire(v[i], wire, sizeof(wire));
		assert_int_equal(crc_pkt_check(v[i]), CRC_OK);
		if (x->other) {
			/*
			 * Pass on only the octets of the packet, as a real link does, and nothing
			 * of its descriptor.
			 */
			assert_int_equal(pkt_from_wire(&copy, r.pool, wire, len), 0);
			fabric_ext_rx(x->other->end, &copy, 1, now);
			pkt_free(v[i]);
			continue;
		}
		pkt_free(x->got);
		x->got = v[i];
	}
}

static const struct fabric_ext_ops ops = { .tx = on_tx };

static void attach(struct outside *x, const char *port)
{
	assert_int_equal(fabric_ext_attach(rig_port(&r, port), "udp", &ops, x, &x->end), 0);
	fabric_ext_carrier(x->end, true, r.now);
}

/*
 * Make a fabric of two switches, s1 and s2, with a CA each. External ends are at the ports s1/5,
 * s1/6 and s2/5.
 */
static int setup(void **state)
{
	memset(&r, 0, sizeof(r));
	memset(o, 0, sizeof(o));
	rig_init(&r, "Switch 8 \"s1\"\n[1] \"h1\"[1]\n[2] \"s2\"[2]\n\n"
		     "Switch 8 \"s2\"\n[1] \"h2\"[1]\n\nHca 1 \"h1\"\n\nHca 1 \"h2\"\n");
	attach(&o[0], "s1/5");
	attach(&o[1], "s1/6");
	attach(&o[2], "s2/5");
	rig_configure(&r);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		pkt_free(o[i].got);
	rig_fini(&r);
	return 0;
}

#define LID_5 20 /* LID of an end port in another fabric, reached by s1/5 */
#define LID_6 21 /* LID of an end port in another fabric, reached by s1/6 */
#define LID_S2 22 /* LID of an end port in another fabric, reached by s2/5 */

static void route(const char *sw, uint16_t lid, uint8_t port)
{
	rig_sw(&r, sw)->sw->lft[lid] = port;
	if (rig_sw(&r, sw)->sw->si.lft_top < lid)
		rig_sw(&r, sw)->sw->si.lft_top = lid;
}

static void route_all(void)
{
	route("s1", LID_5, 5);
	route("s1", LID_6, 6);
	route("s1", LID_S2, 2);
	route("s2", LID_5, 2);
	route("s2", LID_6, 2);
	route("s2", LID_S2, 5);
}

static void enter(struct outside *x, const struct rig_pkt *s)
{
	struct pkt *p = rig_make(&r, s);

	fabric_ext_rx(x->end, &p, 1, r.now);
	rig_settle(&r);
}

/*
 * Tell whether the fabric forwards, and does not drop, a packet with the source LID @slid that
 * enters at @from. The packet is for s1/6, or for s1/5 if it enters at s1/6.
 */
static bool passes(struct outside *from, uint16_t slid)
{
	struct outside *to = from == &o[1] ? &o[0] : &o[1];
	struct rig_pkt s = { .slid = slid, .dest_qp = 5, .src_qp = 6, .len = 20 };
	unsigned int n = to->n;
	uint64_t drops = fabric_stats(r.f)->drops[FABRIC_DROP_SLID];

	s.dlid = to == &o[1] ? LID_6 : LID_5;
	enter(from, &s);
	assert_int_equal(to->n - n + fabric_stats(r.f)->drops[FABRIC_DROP_SLID] - drops, 1);
	return to->n != n;
}

static void test_a_slid_of_this_side_is_a_forgery(void **state)
{
	route_all();
	assert_true(passes(&o[0], LID_5));
	assert_false(passes(&o[0], rig_lid(&r, "h1/1")));
	assert_false(passes(&o[0], rig_lid(&r, "h2/1")));
	assert_false(passes(&o[0], rig_np(&r, "s1/0")->pi.lid));
	assert_false(passes(&o[0], rig_np(&r, "s2/0")->pi.lid));
	assert_false(passes(&o[0], 0));
	assert_false(passes(&o[0], 30)); /* above LinearFDBTop */
	assert_false(passes(&o[0], 0xc001));
	assert_false(passes(&o[0], IB_LID_PERMISSIVE));
	assert_int_equal(fabric_node_drops(rig_node(&r, "s1"), FABRIC_DROP_SLID), 8);
}

/*
 * The port s1/5 enforces partitions. An SM sets partition enforcement only at ports whose link
 * leads to an end port. So the fabric must assume that an end port is behind s1/5, and that only
 * packets with a source LID of this end port may enter by s1/5.
 */
static void test_an_end_port_has_the_lids_behind_its_port_alone(void **state)
{
	route_all();
	rig_np(&r, "s1/5")->pi.part_enforce_in = 1;
	rig_np(&r, "s1/5")->pkeys[0] = 0xffff;
	assert_true(passes(&o[0], LID_5));
	assert_false(passes(&o[0], LID_6));
	assert_false(passes(&o[0], LID_S2));
	/* The end port behind s1/5 has LID_5. Packets from LID_5 must not enter by another link. */
	assert_false(passes(&o[1], LID_5));
	assert_true(passes(&o[1], LID_6));
}

/*
 * Several links can join two fabrics. A packet may enter by any of these links, even if the LFTs
 * route its source LID to another link.
 */
static void test_switches_outside_may_use_another_of_their_links(void **state)
{
	route_all();
	assert_true(passes(&o[0], LID_6));
	assert_true(passes(&o[0], LID_S2));
	route("s1", 19, 2);
	/*
	 * the LFTs route LID 19 in a loop, so no port can have this LID, and packets with this
	 * source LID must not enter
	 */
	route("s2", 19, 2);
	assert_false(passes(&o[0], 19));
}

static void test_management_without_a_lid_comes_in(void **state)
{
	struct rig_pkt s = { .vl = 15, .sl = 0, .dlid = LID_6, .dest_qp = 0, .len = 256 };

	route_all();
	s.slid = 0;
	enter(&o[0], &s);
	s.slid = LID_5;
	enter(&o[0], &s);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_SLID], 0);
	s.slid = rig_lid(&r, "h1/1");
	enter(&o[0], &s);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_SLID], 1);
}

static unsigned int transits(const struct pkt *p)
{
	return p->hdr[p->head + IB_LRH_LEN + 4];
}

/*
 * The LFTs make a loop over two links of s1: packets that leave the fabric by s1/5 enter it again
 * by s1/6. The loop must end after FABRIC_TRANSITS_MAX rounds.
 */
static void test_a_loop_through_the_outside_ends(void **state)
{
	struct rig_pkt s = { .slid = LID_6, .dlid = LID_5, .dest_qp = 5, .src_qp = 6, .len = 20 };

	route_all();
	o[0].other = &o[1];
	enter(&o[1], &s);
	assert_int_equal(o[0].n, FABRIC_TRANSITS_MAX);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_HOPS], 1);
	/*
	 * A packet that starts inside the fabric may make one more round, because its rounds are
	 * counted only from its first return to the fabric.
	 */
	o[0].n = 0;
	s.slid = LID_6;
	rig_send_pkt(rig_attach(&r, "s1/7"), rig_make(&r, &s));
	assert_true(o[0].n <= FABRIC_TRANSITS_MAX + 1);
}

static void test_a_transit_counts_and_keeps_the_crcs_right(void **state)
{
	struct rig_pkt s = { .slid = LID_5, .dlid = LID_6, .dest_qp = 5, .src_qp = 6, .len = 2044 };
	struct pkt *p = rig_make(&r, &s);

	route_all();
	p->hdr[p->head + IB_LRH_LEN + 4] = 0xc0 | 3; /* FECN, BECN */
	fabric_pkt_seal(p);
	crc_pkt_mend_vcrc(p);
	fabric_ext_rx(o[0].end, &p, 1, r.now);
	rig_settle(&r);
	assert_non_null(o[1].got);
	assert_int_equal(transits(o[1].got), 0xc0 | 4);
	assert_int_equal(crc_pkt_check(o[1].got), CRC_OK);
}

/*
 * Many identical packets enter. They must not be taken for one packet in a loop, because a sender
 * need not increase its PSN.
 */
static void test_packets_that_are_all_the_same_pass(void **state)
{
	route_all();
	for (unsigned int i = 0; i < 1000; i++)
		assert_true(passes(&o[0], LID_5));
	assert_int_equal(transits(o[1].got), 1);
}

static void test_raw_packets_do_not_leave_again(void **state)
{
	struct rig_pkt s = { .slid = LID_5, .dlid = LID_6, .len = 60 };
	struct pkt *p = rig_make(&r, &s);

	route_all();
	p->hdr[p->head + 1] &= 0xfc; /* LNH 0 */
	crc_pkt_mend_vcrc(p);
	fabric_ext_rx(o[0].end, &p, 1, r.now);
	rig_settle(&r);
	assert_int_equal(o[1].n, 0);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_HOPS], 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_slid_of_this_side_is_a_forgery),
		CASE(test_an_end_port_has_the_lids_behind_its_port_alone),
		CASE(test_switches_outside_may_use_another_of_their_links),
		CASE(test_management_without_a_lid_comes_in),
		CASE(test_a_loop_through_the_outside_ends),
		CASE(test_a_transit_counts_and_keeps_the_crcs_right),
		CASE(test_packets_that_are_all_the_same_pass),
		CASE(test_raw_packets_do_not_leave_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
