/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests SMPs whose directed route leads through a switch or ends at it. If the packet of an SMP has
 * no CRCs, the switch uses this packet again for the forwarded SMP or for its own answer. Otherwise
 * the switch makes a new packet. The tests give the same random SMPs to two equal switches: to one
 * switch in packets with CRCs, and to the other in packets without CRCs. The packets that leave the
 * two switches must not differ.
 */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "crc/crc.h"
#include "fabric_rig.h"
#include "node/mad_pkt.h"
#include "util/list.h"
#include "util/prng.h"

#define PORTS 4 /* ports with a link: 1 and 2 Active, 3 Init, 4 Down; port 5 has no link */
#define OCTETS (28 + 256)

struct side {
	struct rig r;
	struct rig_end *end[PORTS];
};

static struct side with_crc, without;

static void side_init(struct side *s)
{
	memset(s, 0, sizeof(*s));
	s->r.cfg.crc = HCA_CRC_LAZY;
	rig_init(&s->r, "Switch 5 \"s\"\n");
	for (unsigned int i = 0; i < PORTS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "s/%u", i + 1);
		s->end[i] = rig_attach(&s->r, name);
	}
	rig_configure(&s->r);
	rig_set_state(&s->r, "s/3", IB_PORT_INIT);
	rig_set_state(&s->r, "s/4", IB_PORT_DOWN);
}

static int setup(void **state)
{
	side_init(&with_crc);
	side_init(&without);
	return 0;
}

static int teardown(void **state)
{
	rig_fini(&with_crc.r);
	rig_fini(&without.r);
	return 0;
}

static uint8_t one_of(struct prng *rnd, const uint8_t *v, unsigned int n)
{
	return v[prng_below(rnd, n)];
}

/*
 * Write a random SMP. In most cases its hop pointer is inside the route, and most ports of its path
 * exist, but other values occur, too.
 */
static void random_smp(struct prng *rnd, uint8_t mad[256])
{
	static const uint8_t ports[] = { 1, 1, 2, 2, 3, 3, 4, 5, 0, 6, 255 };
	static const uint8_t counts[] = { 0, 1, 2, 3, 4, 5, 6, 63, 64, 255 };
	unsigned int cnt = one_of(rnd, counts, ARRAY_SIZE(counts));

	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL, 0, NULL);
	memset(mad + MAD_OFF_TID, 7, 8); /* a fixed TID, not the next TID of rig_smp() */
	mad[SMP_OFF_HOP_CNT] = (uint8_t)cnt;
	mad[SMP_OFF_HOP_PTR] = (uint8_t)prng_below(rnd, cnt + 3 > 255 ? 256 : cnt + 3);
	for (unsigned int i = 1; i < 64; i++) {
		mad[SMP_OFF_INITIAL_PATH + i] = one_of(rnd, ports, ARRAY_SIZE(ports));
		mad[SMP_OFF_RETURN_PATH + i] = one_of(rnd, ports, ARRAY_SIZE(ports));
	}
	if (prng_below(rnd, 2)) {
		mad[MAD_OFF_METHOD] = MAD_METHOD_GET_RESP;
		mad[MAD_OFF_STATUS] = 0x80; /* the D bit */
	}
	if (!prng_below(rnd, 8))
		mad[SMP_OFF_DR_SLID] = mad[SMP_OFF_DR_SLID + 1] = 1;
	if (!prng_below(rnd, 8))
		mad[SMP_OFF_DR_DLID] = mad[SMP_OFF_DR_DLID + 1] = 1;
}

static void give(struct side *s, unsigned int port, const struct rig_pkt *d, bool crc)
{
	struct pkt *p = rig_make(&s->r, d);

	if (!crc)
		crc_pkt_pad(p);
	rig_send_pkt(s->end[port], p);
}

static void same_packet(struct pkt *a, struct pkt *b)
{
	uint8_t x[OCTETS], y[OCTETS];

	assert_int_equal(a->len, OCTETS);
	assert_int_equal(b->len, OCTETS);
	pkt_copy_out(a, 0, x, sizeof(x));
	pkt_copy_out(b, 0, y, sizeof(y));
	assert_memory_equal(x, y, OCTETS);
	assert_int_equal(a->tail_len, b->tail_len);
	assert_memory_equal(a->tail, b->tail, sizeof(a->tail));
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->hops, b->hops);
	assert_int_equal(a->vl, b->vl);
}

static void same_counters(void)
{
	const struct node *a = rig_sw(&with_crc.r, "s"), *b = rig_sw(&without.r, "s");

	assert_int_equal(a->smps, b->smps);
	assert_int_equal(a->dropped, b->dropped);
	for (unsigned int i = 0; i <= 5; i++)
		assert_memory_equal(&a->port[i].cnt, &b->port[i].cnt, sizeof(a->port[i].cnt));
}

/*
 * Check that the same packets have left both switches, and free them. Returns the number of packets
 * that have left one switch.
 */
static unsigned int same_output(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < PORTS; i++) {
		struct rig_end *a = with_crc.end[i], *b = without.end[i];

		assert_int_equal(a->n, b->n);
		for (unsigned int k = 0; k < a->n; k++)
			same_packet(a->got[k], b->got[k]);
		n += a->n;
		rig_end_clear(a);
		rig_end_clear(b);
	}
	return n;
}

static void test_I1_an_SMP_that_passes_is_as_if_made_anew(void **state)
{
	unsigned int out = 0;
	struct prng rnd;
	uint8_t mad[256];

	prng_seed(&rnd, 1);
	for (unsigned int i = 0; i < 5000; i++) {
		unsigned int port = prng_below(&rnd, 3);
		struct rig_pkt d = { .slid = 0xffff, .dlid = 0xffff, .vl = IB_VL15, .mad = mad };

		random_smp(&rnd, mad);
		if (!prng_below(&rnd, 10))
			/*
			 * The switch does not copy the P_Key of a packet that it receives, so an
			 * unusual P_Key must not appear in the packet that it sends.
			 */
			d.pkey = 0x7fff;
		if (!prng_below(&rnd, 10))
			d.slid = 3;
		give(&with_crc, port, &d, true);
		give(&without, port, &d, false);
		out += same_output();
	}
	same_counters();
	assert_in_range(out, 1000, 5000);
	assert_in_range(rig_sw(&without.r, "s")->dropped, 500, 4000);
}

/* Write the data of a Set: the data that the switch has at present, with up to two random octets */
static void set_data(struct prng *rnd, uint8_t mad[256], uint16_t attr, unsigned int mod)
{
	struct node *n = rig_sw(&without.r, "s");

	if (attr == SMP_ATTR_PORT_INFO && mod <= n->info.nports)
		smp_port_info_encode(mad + SMP_DATA_OFF, &n->port[mod].pi);
	if (attr == SMP_ATTR_SWITCH_INFO)
		smp_switch_info_encode(mad + SMP_DATA_OFF, &n->sw->si);
	for (unsigned int i = prng_below(rnd, 3); i; i--)
		mad[SMP_DATA_OFF + prng_below(rnd, SMP_DATA_LEN)] = (uint8_t)prng_below(rnd, 256);
}

/*
 * Write a request whose route ends at the switch, and whose last hop led to the switch's port
 * @port. In one of 30 requests, the hop pointer is one too high. The attribute need not exist, and
 * the M_Key can be wrong.
 */
static void random_request(struct prng *rnd, unsigned int port, uint8_t mad[256])
{
	static const uint16_t attrs[] = {
		SMP_ATTR_NOTICE,      SMP_ATTR_NODE_DESC,   SMP_ATTR_NODE_INFO,
		SMP_ATTR_SWITCH_INFO, SMP_ATTR_GUID_INFO,   SMP_ATTR_PORT_INFO,
		SMP_ATTR_PORT_INFO,   SMP_ATTR_PKEY_TABLE,  SMP_ATTR_SLTOVL,
		SMP_ATTR_VLARB,	      SMP_ATTR_LFT,	    SMP_ATTR_MFT,
		SMP_ATTR_SM_INFO,     SMP_ATTR_SWITCH_INFO, 0x77,
	};
	static const uint8_t mods[] = { 0, 0, 1, 2, 3, 4, 5, 6, 255 };
	static const uint8_t methods[] = { MAD_METHOD_GET, MAD_METHOD_GET, MAD_METHOD_SET,
					   MAD_METHOD_SET, 0x05 };
	uint16_t attr = attrs[prng_below(rnd, ARRAY_SIZE(attrs))];
	uint8_t mod = one_of(rnd, mods, ARRAY_SIZE(mods)), path[3] = { 1, 2, 1 };
	uint8_t method = one_of(rnd, methods, ARRAY_SIZE(methods));
	unsigned int hops = 1 + prng_below(rnd, 3);

	rig_smp(mad, method, attr, mod, path, hops, NULL);
	memset(mad + MAD_OFF_TID, 7, 8);
	if (method == MAD_METHOD_SET)
		set_data(rnd, mad, attr, mod);
	mad[SMP_OFF_HOP_PTR] = (uint8_t)(hops + !prng_below(rnd, 30));
	mad[SMP_OFF_RETURN_PATH + hops] = (uint8_t)port;
	if (!prng_below(rnd, 4))
		mad[SMP_OFF_MKEY + 7] = (uint8_t)prng_below(rnd, 3);
	if (!prng_below(rnd, 50))
		mad[2] = 2; /* ClassVersion */
	if (!prng_below(rnd, 20))
		mad[SMP_OFF_DR_DLID] = mad[SMP_OFF_DR_DLID + 1] = 1;
}

static void same_tables(void)
{
	const struct node *a = rig_sw(&with_crc.r, "s"), *b = rig_sw(&without.r, "s");

	for (unsigned int i = 0; i <= 5; i++) {
		assert_memory_equal(&a->port[i].pi, &b->port[i].pi, sizeof(a->port[i].pi));
		assert_memory_equal(a->port[i].pkeys, b->port[i].pkeys, sizeof(a->port[i].pkeys));
	}
	assert_memory_equal(&a->sw->si, &b->sw->si, sizeof(a->sw->si));
	assert_memory_equal(a->sw->lft, b->sw->lft, sizeof(a->sw->lft));
	for (unsigned int i = 0; i < NODE_MCAST_LIDS; i++)
		assert_memory_equal(node_mft_mask(a->sw, i), node_mft_mask(b->sw, i),
				    sizeof(uint64_t[4]));
}

static void test_I1_an_SMP_that_the_SMA_answers_is_as_if_made_anew(void **state)
{
	unsigned int out = 0;
	struct prng rnd;
	uint8_t mad[256];

	prng_seed(&rnd, 2);
	for (unsigned int i = 0; i < 5000; i++) {
		unsigned int port = prng_below(&rnd, 3);
		struct rig_pkt d = { .slid = 0xffff, .dlid = 0xffff, .vl = IB_VL15, .mad = mad };

		random_request(&rnd, port + 1, mad);
		give(&with_crc, port, &d, true);
		give(&without, port, &d, false);
		out += same_output();
		same_tables();
	}
	same_counters();
	assert_in_range(out, 1500, 4900);
}

/* Return a packet without CRCs whose SMP passes through the switch, from port 1 to port 2 */
static struct pkt *passing(uint8_t mad[256])
{
	static const uint8_t path[] = { 1, 2, 1 };
	struct pkt *p;

	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, path, 3, NULL);
	mad[SMP_OFF_HOP_PTR] = 1;
	p = rig_make(
		&without.r,
		&(struct rig_pkt){ .slid = 0xffff, .dlid = 0xffff, .vl = IB_VL15, .mad = mad });
	crc_pkt_pad(p);
	return p;
}

/* A clone shares the octets of the packet. The switch must not change the clone. */
static void test_I1_octets_that_are_shared_stay(void **state)
{
	uint8_t mad[256], then[256];
	struct pkt *p = passing(mad), *held = pkt_clone(p);

	assert_non_null(held);
	rig_send_pkt(without.end[0], p);
	assert_int_equal(without.end[1]->n, 1);
	rig_mad_of(without.end[1]->got[0], then);
	assert_int_equal(then[SMP_OFF_HOP_PTR], 2);
	rig_mad_of(held, then);
	assert_memory_equal(then, mad, 256);
	pkt_free(held);
}

/* --- the switch takes no new packet from the pool */

static void test_I1_an_SMP_that_passes_keeps_its_packet(void **state)
{
	uint8_t mad[256];
	struct pkt *p = passing(mad);

	rig_send_pkt(without.end[0], p);
	assert_int_equal(without.end[1]->n, 1);
	assert_ptr_equal(without.end[1]->got[0], p);
}

static void test_I1_an_answer_keeps_the_packet_of_its_request(void **state)
{
	uint8_t mad[256];
	struct pkt *p;

	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, (const uint8_t[]){ 1 }, 1, NULL);
	mad[SMP_OFF_HOP_PTR] = 1;
	p = rig_make(
		&without.r,
		&(struct rig_pkt){ .slid = 0xffff, .dlid = 0xffff, .vl = IB_VL15, .mad = mad });
	crc_pkt_pad(p);
	rig_send_pkt(without.end[0], p);
	assert_int_equal(without.end[0]->n, 1);
	assert_ptr_equal(without.end[0]->got[0], p);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_I1_an_SMP_that_passes_is_as_if_made_anew),
		CASE(test_I1_an_SMP_that_the_SMA_answers_is_as_if_made_anew),
		CASE(test_I1_octets_that_are_shared_stay),
		CASE(test_I1_an_SMP_that_passes_keeps_its_packet),
		CASE(test_I1_an_answer_keeps_the_packet_of_its_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
