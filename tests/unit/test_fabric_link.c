/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests links, egress queues, and the loop that moves packets. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "fabric_rig.h"
#include "fabric_wire.h"
#include "util/list.h"

static struct rig r;

static const char triangle[] =
	"Switch 8 \"s1\"\n[1] \"s2\"[2]\n[2] \"s3\"[1]\n[3] \"h1\"[1]\n\n"
	"Switch 8 \"s2\"\n[1] \"s3\"[2]\n\nSwitch 8 \"s3\"\n[4] \"h2\"[2]\n\n"
	"Hca 1 \"h1\" # \"host one\"\n\nHca 2 \"h2\" # \"host\"\n\n"
	"Hca 1 \"h3\" # \"host\"\n";

static int setup(void **state)
{
	memset(&r, 0, sizeof(r));
	rig_init(&r, triangle);
	return 0;
}

static int teardown(void **state)
{
	rig_fini(&r);
	return 0;
}

static void test_names(void **state)
{
	struct fabric_port *p;
	char buf[FABRIC_NAME_MAX + 1];

	assert_int_equal(fabric_nnodes(r.f), 6);
	assert_string_equal(fabric_node_name(fabric_node_at(r.f, 1)), "s2");
	assert_null(fabric_node_at(r.f, 6));
	assert_ptr_equal(fabric_node_find(r.f, "host one"), fabric_node_find(r.f, "h1"));
	assert_null(fabric_node_find(r.f, "host")); /* two nodes have the description "host" */
	assert_null(fabric_node_find(r.f, "h9"));
	assert_int_equal(fabric_port_find(r.f, "s1/3", &p), 0);
	assert_string_equal(fabric_port_name(p, buf, sizeof(buf)), "s1/3");
	assert_string_equal(fabric_port_name(fabric_port_peer(p), buf, sizeof(buf)), "h1/1");
	assert_int_equal(fabric_port_find(r.f, "host one/1", &p), 0);
	assert_int_equal(fabric_port_find(r.f, "s1/0", &p), 0);
	assert_null(fabric_port_peer(p));
	assert_int_equal(fabric_port_find(r.f, "h1/0", &p), -ERANGE);
	assert_int_equal(fabric_port_find(r.f, "s1/9", &p), -ERANGE);
	assert_int_equal(fabric_port_find(r.f, "s1/99999999999999999999", &p), -ERANGE);
	assert_int_equal(fabric_port_find(r.f, "s4/1", &p), -ENOENT);
	assert_int_equal(fabric_port_find(r.f, "s1", &p), -EINVAL);
	assert_int_equal(fabric_port_find(r.f, "s1/", &p), -EINVAL);
	assert_int_equal(fabric_port_find(r.f, "s1/1x", &p), -EINVAL);
	assert_int_equal(fabric_port_find(r.f, "s1/-1", &p), -EINVAL);
	assert_int_equal(fabric_port_find(r.f, "s1/1", &p), 0);
	assert_non_null(fabric_node_hca(rig_node(&r, "h1")));
	assert_null(fabric_node_hca(rig_node(&r, "s1")));
}

static void test_I13_links_come_up_with_their_rates(void **state)
{
	struct topo *t = topo_create();
	const struct smp_port_info *pi;
	struct rig r2;
	uint32_t s, h;

	memset(&r2, 0, sizeof(r2));
	assert_int_equal(topo_add_node(t, IB_NODE_SWITCH, 4, "s", NULL, &s), 0);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 1, "h", NULL, &h), 0);
	assert_int_equal(topo_link(t, s, 2, h, 1), 0);
	t->node[s]->port[2].rate = (struct topo_rate){ .width = 11, .speed = 7, .ext = 3 };
	t->node[h]->port[1].rate = (struct topo_rate){ .width = 3, .speed = 7, .ext = 1 };
	rig_init_topo(&r2, t);
	pi = &rig_np(&r2, "s/2")->pi;
	assert_int_equal(pi->port_state, IB_PORT_INIT);
	assert_int_equal(pi->phys_state, IB_PHYS_LINK_UP);
	assert_int_equal(pi->width_active, 2);
	assert_int_equal(pi->speed_active, 4);
	assert_int_equal(pi->speed_ext_active, 1);
	assert_int_equal(pi->mtu_cap, IB_MTU_4096);
	assert_true(pi->vl_cap >= 3); /* code 3: VL0 to VL3 */
	assert_int_equal(rig_np(&r2, "s/1")->pi.port_state, IB_PORT_DOWN);
	assert_int_equal(rig_np(&r2, "h/1")->pi.port_state, IB_PORT_INIT);
	assert_int_equal(fabric_link_state(rig_port(&r2, "s/1")), FABRIC_LINK_NONE);
	rig_fini(&r2);
}

/*
 * A LID in the topology file must be the LID of its port at the start, as with ibsim. (An SM can
 * change the LID later.)
 */
static void test_lids_of_the_file(void **state)
{
	struct rig r2;

	memset(&r2, 0, sizeof(r2));
	rig_init(&r2, "Switch 4 \"s\" # \"s\" base port 0 lid 7 lmc 0\n"
		      "[1] \"h\"[2] # \"h\" lid 9 4xQDR\n\nCa 2 \"h\"\n"
		      "[2](33) \"s\"[1] # lid 9 lmc 1 \"s\" lid 7 4xQDR\n");
	assert_int_equal(rig_lid(&r2, "s/0"), 7);
	assert_int_equal(rig_lid(&r2, "s/1"), 0);
	assert_int_equal(rig_lid(&r2, "h/1"), 0);
	assert_int_equal(rig_lid(&r2, "h/2"), 9);
	assert_int_equal(rig_np(&r2, "h/2")->pi.lmc, 1);
	assert_int_equal(rig_np(&r2, "h/2")->guids[0], 0x33);
	rig_fini(&r2);
}

static enum fabric_link_state state_of(const char *port)
{
	return fabric_link_state(rig_port(&r, port));
}

static void test_link_set_down_and_up_trains(void **state)
{
	rig_watch(&r, "h1");
	rig_configure(&r);
	assert_int_equal(state_of("s1/3"), FABRIC_LINK_UP);
	assert_int_equal(fabric_link_set(rig_port(&r, "s1/3"), false, r.now), 0);
	assert_int_equal(state_of("h1/1"), FABRIC_LINK_DISABLED);
	assert_int_equal(rig_np(&r, "h1/1")->pi.port_state, IB_PORT_DOWN);
	assert_int_equal(rig_np(&r, "s1/3")->pi.port_state, IB_PORT_DOWN);
	assert_int_equal(r.events[NODE_EV_PORT_ERR], 1);
	rig_pass(&r, NS_SEC(1));
	assert_int_equal(state_of("h1/1"), FABRIC_LINK_DISABLED);
	assert_int_equal(fabric_link_set(rig_port(&r, "h1/1"), true, r.now), 0);
	assert_int_equal(state_of("h1/1"), FABRIC_LINK_TRAINING);
	rig_pass(&r, FABRIC_RETRAIN / 2);
	assert_int_equal(fabric_link_set(rig_port(&r, "h1/1"), true, r.now),
			 0); /* setting the same state again changes nothing */
	rig_pass(&r, FABRIC_RETRAIN / 2 - 1);
	assert_int_equal(state_of("h1/1"), FABRIC_LINK_TRAINING);
	rig_pass(&r, 1);
	assert_int_equal(state_of("h1/1"), FABRIC_LINK_UP);
	assert_int_equal(rig_np(&r, "h1/1")->pi.port_state, IB_PORT_INIT);
	assert_int_equal(rig_np(&r, "s1/3")->cnt.link_downed, 1);
	/* a link that trains can be disabled again */
	fabric_link_set(rig_port(&r, "h1/1"), false, r.now);
	fabric_link_set(rig_port(&r, "h1/1"), true, r.now);
	fabric_link_set(rig_port(&r, "h1/1"), false, r.now);
	rig_pass(&r, NS_SEC(1));
	assert_int_equal(state_of("h1/1"), FABRIC_LINK_DISABLED);
	assert_int_equal(fabric_link_set(rig_port(&r, "s1/8"), true, r.now), -ENOTCONN);
}

/*
 * Let the neighbour of s1/5 send a Set(PortInfo) for this port, with the port state @state and the
 * physical state @phys.
 */
static void set_port_info(struct rig_end *e, uint8_t state, uint8_t phys)
{
	uint8_t data[64];
	struct smp_port_info pi = rig_np(&r, "s1/5")->pi;

	pi.port_state = state;
	pi.phys_state = phys;
	smp_port_info_encode(data, &pi);
	rig_send_smp(e, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, 5, data);
}

static void test_I5_port_state_down_retrains_the_link(void **state)
{
	struct rig_end *e = rig_attach(&r, "s1/5"), *other = rig_attach(&r, "s1/6");
	uint8_t mad[256];

	assert_int_equal(e->state, FABRIC_LINK_UP);
	set_port_info(other, IB_PORT_DOWN, 0);
	assert_int_equal(other->n, 1);
	rig_mad_of(other->got[0], mad);
	assert_int_equal(mad[3], MAD_METHOD_GET_RESP);
	assert_int_equal(mad[5], 0);
	rig_pass(&r, NS_MSEC(2));
	assert_int_equal(e->state, FABRIC_LINK_TRAINING);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_DOWN);
	rig_pass(&r, FABRIC_RETRAIN);
	assert_int_equal(e->state, FABRIC_LINK_UP);
	assert_int_equal(other->states, 1);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_INIT);
}

static void enable_width(struct rig_end *e, uint8_t width, uint8_t state)
{
	struct smp_port_info pi = rig_np(&r, "s1/3")->pi;
	uint8_t data[64];

	pi.width_enabled = width;
	pi.port_state = state;
	pi.phys_state = IB_PHYS_NOP;
	smp_port_info_encode(data, &pi);
	rig_send_smp(e, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, 3, data);
	rig_pass(&r, NS_MSEC(2) + FABRIC_RETRAIN);
}

/*
 * A link must retrain to a width that both ends have enabled, and must stay down if there is no
 * such width.
 */
static void test_I13_links_train_to_a_common_width(void **state)
{
	struct rig_end *e = rig_attach(&r, "s1/5");
	const struct node_port *a = rig_np(&r, "s1/3"), *b = rig_np(&r, "h1/1");

	assert_int_equal(a->pi.width_active, 2); /* 4x */
	node_port_rate(b->node, 1, (struct node_rate){ 3, 7, 0 });
	enable_width(e, 1, IB_PORT_DOWN);
	assert_int_equal(state_of("s1/3"), FABRIC_LINK_UP);
	assert_int_equal(a->pi.width_active, 1);
	assert_int_equal(b->pi.width_active, 1);
	assert_int_equal(b->pi.speed_active, 1); /* the switch port supports only SDR */
	node_port_rate(b->node, 1, (struct node_rate){ 2, 7, 0 });
	/* a changed set of widths takes effect only when the link retrains */
	assert_int_equal(state_of("s1/3"), FABRIC_LINK_UP);
	enable_width(e, 1, IB_PORT_DOWN);
	assert_int_equal(state_of("s1/3"), FABRIC_LINK_DOWN);
	assert_int_equal(a->pi.phys_state, IB_PHYS_POLLING);
	/*
	 * the port is in Polling, so the link retrains by itself as soon as there is a common width
	 */
	enable_width(e, 3, IB_PORT_NOP);
	assert_int_equal(state_of("s1/3"), FABRIC_LINK_UP);
	assert_int_equal(b->pi.width_active, 2);
}

static void test_I5_phys_disabled_stays_down_until_polling(void **state)
{
	struct rig_end *e = rig_attach(&r, "s1/5"), *other = rig_attach(&r, "s1/6");
	uint8_t data[64];
	struct smp_port_info pi;

	set_port_info(e, IB_PORT_DOWN, IB_PHYS_DISABLED);
	rig_pass(&r, NS_SEC(5));
	assert_int_equal(e->state, FABRIC_LINK_DOWN);
	assert_int_equal(rig_np(&r, "s1/5")->pi.phys_state, IB_PHYS_DISABLED);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_DOWN);
	/* `fabric link set up` must not bring up a port that an SMP has disabled */
	assert_int_equal(fabric_link_set(e->end, true, r.now), 0);
	assert_int_equal(e->state, FABRIC_LINK_DOWN);
	/* an SMP that arrives at another port sets the disabled port to Polling */
	pi = rig_np(&r, "s1/5")->pi;
	pi.port_state = 0;
	pi.phys_state = IB_PHYS_POLLING;
	smp_port_info_encode(data, &pi);
	rig_send_smp(other, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, 5, data);
	rig_pass(&r, NS_MSEC(1) + FABRIC_RETRAIN);
	assert_int_equal(e->state, FABRIC_LINK_UP);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_INIT);
}

static void test_external_end_and_its_carrier(void **state)
{
	static const struct fabric_ext_ops ops = { 0 };
	struct rig_end *e = rig_attach(&r, "s1/5");
	struct fabric_port *x;

	assert_int_equal(fabric_ext_attach(rig_port(&r, "s1/5"), "x", &ops, NULL, &x), -EBUSY);
	assert_int_equal(fabric_ext_attach(rig_port(&r, "s1/1"), "x", &ops, NULL, &x), -EBUSY);
	assert_int_equal(fabric_ext_attach(rig_port(&r, "s1/0"), "x", &ops, NULL, &x), -EINVAL);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_INIT);
	fabric_ext_carrier(e->end, false, r.now);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_DOWN);
	assert_int_equal(e->state, FABRIC_LINK_DOWN);
	fabric_ext_carrier(e->end, true, r.now);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_INIT);
	fabric_ext_detach(e->end, r.now);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_DOWN);
	assert_int_equal(state_of("s1/5"), FABRIC_LINK_NONE);
	rig_attach(&r, "s1/5"); /* a detached port can be attached again */
	assert_int_equal(state_of("s1/5"), FABRIC_LINK_UP);
}

/* --- queues */

static struct rig_pkt between(uint16_t dlid)
{
	return (struct rig_pkt){
		.slid = 0x80, .dlid = dlid, .dest_qp = 0x48, .qkey = 1, .len = 40
	};
}

static void test_queued_packets_are_lost_with_the_link(void **state)
{
	struct rig_end *in = rig_attach(&r, "s1/5"), *out = rig_attach(&r, "s1/6");
	struct rig_pkt s = between(0x90);
	struct pkt *p[10];

	rig_configure(&r);
	rig_sw(&r, "s1")->sw->lft[0x90] = 6;
	rig_sw(&r, "s1")->sw->si.lft_top = 0x90;
	for (unsigned int i = 0; i < 10; i++)
		p[i] = rig_make(&r, &s);
	fabric_ext_rx(in->end, p, 10, r.now);
	/* the fabric has not processed the ten packets yet */
	fabric_ext_carrier(in->end, false, r.now);
	rig_settle(&r);
	assert_int_equal(out->n, 0);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_LINK_DOWN], 10);
	fabric_ext_carrier(in->end, true, r.now);
	rig_set_state(&r, "s1/5", IB_PORT_ACTIVE);
	fabric_ext_carrier(out->end, false, r.now);
	rig_set_state(&r, "s1/6", IB_PORT_ACTIVE); /* Active, although the link is down */
	rig_send(in, &s);
	assert_int_equal(out->n, 0);
	assert_int_equal(rig_np(&r, "s1/6")->cnt.xmit_discards, 1);
}

static void test_queue_is_bounded(void **state)
{
	struct rig r2;
	struct rig_end *in;
	struct rig_pkt s = between(0x90);
	struct pkt *p[20];

	memset(&r2, 0, sizeof(r2));
	r2.cfg.data_depth = 8;
	rig_init(&r2, "Switch 8 \"s\"\n");
	in = rig_attach(&r2, "s/1");
	for (unsigned int i = 0; i < 20; i++)
		p[i] = rig_make(&r2, &s);
	fabric_ext_rx(in->end, p, 20, r2.now);
	assert_int_equal(fabric_stats(r2.f)->drops[FABRIC_DROP_QUEUE], 12);
	rig_settle(&r2);
	rig_fini(&r2);
}

/*
 * fabric_queued() must return the number of packets that are queued on their way through the
 * fabric.
 */
static void test_queued_packets_are_counted_until_they_leave(void **state)
{
	struct rig r2;
	struct rig_end *in, *out;
	struct rig_pkt s = between(0x90);
	struct pkt *p[20];

	memset(&r2, 0, sizeof(r2));
	rig_init(&r2, "Switch 8 \"s\"\n");
	in = rig_attach(&r2, "s/1");
	out = rig_attach(&r2, "s/3");
	rig_configure(&r2);
	rig_sw(&r2, "s")->sw->lft[0x90] = 3;
	rig_sw(&r2, "s")->sw->si.lft_top = 0x90;
	for (unsigned int i = 0; i < 20; i++)
		p[i] = rig_make(&r2, &s);
	fabric_ext_rx(in->end, p, 10, r2.now);
	assert_int_equal(fabric_queued(r2.f), 10);
	rig_settle(&r2);
	assert_int_equal(fabric_queued(r2.f), 0);
	assert_int_equal(out->n, 10);
	fabric_ext_rx(in->end, p + 10, 10, r2.now);
	fabric_link_set(fabric_node_port(fabric_node_find(r2.f, "s"), 1), false, r2.now);
	fabric_link_set(fabric_node_port(fabric_node_find(r2.f, "s"), 3), false, r2.now);
	assert_int_equal(fabric_queued(r2.f), 0);
	rig_fini(&r2);
}

/*
 * Packets that are dropped because the egress queue of a port is full must be counted in
 * PortXmitDiscards of this port.
 */
static void test_queue_overflow_is_xmit_discards(void **state)
{
	struct rig r2;
	struct rig_end *a, *b, *out;
	struct rig_pkt s = between(0x90);
	struct pkt *p[64], *q[64];

	memset(&r2, 0, sizeof(r2));
	r2.cfg.data_depth = 64;
	rig_init(&r2, "Switch 8 \"s\"\n");
	a = rig_attach(&r2, "s/1");
	b = rig_attach(&r2, "s/2");
	out = rig_attach(&r2, "s/3");
	rig_configure(&r2);
	rig_sw(&r2, "s")->sw->lft[0x90] = 3;
	rig_sw(&r2, "s")->sw->si.lft_top = 0x90;
	for (unsigned int i = 0; i < 64; i++) {
		p[i] = rig_make(&r2, &s);
		q[i] = rig_make(&r2, &s);
	}
	fabric_ext_rx(a->end, p, 64, r2.now);
	fabric_ext_rx(b->end, q, 64, r2.now);
	rig_settle(&r2);
	assert_int_equal(out->n, 64);
	assert_int_equal(rig_np(&r2, "s/3")->cnt.xmit_discards, 64);
	assert_int_equal(rig_np(&r2, "s/3")->cnt.xmit_by_reason[NODE_XMIT_HOQ_LIFETIME], 64);
	assert_int_equal(fabric_node_drops(rig_node(&r2, "s"), FABRIC_DROP_QUEUE), 64);
	rig_fini(&r2);
}

static void test_vl15_goes_first(void **state)
{
	struct rig_end *in = rig_attach(&r, "s1/5"), *out = rig_attach(&r, "s1/6");
	struct rig_pkt s = between(0x90), smp = { .slid = 1, .dlid = 0x90, .vl = IB_VL15 };
	uint8_t mad[256];
	struct pkt *p[101];

	rig_configure(&r);
	rig_sw(&r, "s1")->sw->lft[0x90] = 6;
	rig_sw(&r, "s1")->sw->si.lft_top = 0x90;
	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL, 0, NULL);
	mad[1] = MAD_CLASS_SM_LID;
	smp.mad = mad;
	for (unsigned int i = 0; i < 100; i++)
		p[i] = rig_make(&r, &s);
	p[100] = rig_make(&r, &smp);
	fabric_ext_rx(in->end, p, 101, r.now);
	rig_settle(&r);
	assert_int_equal(out->n, 101);
	assert_int_equal(out->got[0]->vl, IB_VL15);
}

/* --- the run loop */

/* Change the LFTs so that packets to LID 0x90 go round the triangle of the switches for ever. */
static void make_loop(void)
{
	rig_configure(&r);
	rig_sw(&r, "s1")->sw->lft[0x90] = 1;
	rig_sw(&r, "s2")->sw->lft[0x90] = 1;
	rig_sw(&r, "s3")->sw->lft[0x90] = 1;
	for (unsigned int i = 1; i <= 3; i++) {
		const char *const names[] = { "s1", "s2", "s3" };

		rig_sw(&r, names[i - 1])->sw->si.lft_top = 0x90;
	}
}

static void test_forwarding_loop_ends_in_xmit_discards(void **state)
{
	struct rig_end *in = rig_attach(&r, "s1/5");
	struct rig_pkt s = between(0x90);
	uint64_t hops = fabric_stats(r.f)->hops, discards = 0;
	struct pkt *p = rig_make(&r, &s);

	make_loop();
	/*
	 * a packet that enters the fabric must get the whole budget of hops, even if its descriptor
	 * has only one hop left
	 */
	p->hops = 1;
	rig_send_pkt(in, p);
	assert_int_equal(fabric_stats(r.f)->hops - hops, PKT_HOPS);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_HOPS], 1);
	discards += rig_np(&r, "s1/1")->cnt.xmit_discards + rig_np(&r, "s2/1")->cnt.xmit_discards +
		    rig_np(&r, "s3/1")->cnt.xmit_discards;
	assert_int_equal(discards, 1);
	assert_int_equal(rig_np(&r, "s1/1")->cnt.xmit_by_reason[NODE_XMIT_LIFETIME] +
				 rig_np(&r, "s2/1")->cnt.xmit_by_reason[NODE_XMIT_LIFETIME] +
				 rig_np(&r, "s3/1")->cnt.xmit_by_reason[NODE_XMIT_LIFETIME],
			 1);
	/*
	 * the packet has gone round the triangle on 63 of its hops, so each of the three switches
	 * has sent it 21 times
	 */
	assert_int_equal(rig_np(&r, "s1/1")->cnt.xmit_pkts, 21);
}

/*
 * A multicast tree has a cycle. A packet must make no more hops than its budget allows, so that it
 * does not circle for ever.
 */
static void test_multicast_loop_ends(void **state)
{
	struct rig_end *in = rig_attach(&r, "s1/5");
	struct rig_pkt s = between(0xc001);

	make_loop();
	node_mft_own(rig_sw(&r, "s1")->sw)[1][0] = 1ull << 1 | 1ull << 2;
	node_mft_own(rig_sw(&r, "s2")->sw)[1][0] = 1ull << 1 | 1ull << 2;
	node_mft_own(rig_sw(&r, "s3")->sw)[1][0] = 1ull << 1 | 1ull << 2;
	rig_send(in, &s);
	/* two copies of the packet circled, one in each direction */
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_HOPS], 2);
}

static void test_one_run_has_a_budget(void **state)
{
	struct rig_end *in = rig_attach(&r, "s1/5");
	struct rig_pkt s = between(0x90);
	struct pkt *p[1000];
	unsigned int runs = 1;

	make_loop();
	for (unsigned int i = 0; i < 1000; i++)
		p[i] = rig_make(&r, &s);
	fabric_ext_rx(in->end, p, 1000, r.now);
	while (fabric_run(r.f, r.now))
		runs++;
	assert_true(runs > 10); /* the 64,000 hops must take several bounded runs */
	assert_true(runs < 20);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_HOPS], 1000);
}

static void test_destroy_with_packets_under_way(void **state)
{
	struct rig_end *in = rig_attach(&r, "s1/5");
	struct rig_pkt s = between(0x90);
	struct pkt *p[100];

	make_loop();
	for (unsigned int i = 0; i < 100; i++)
		p[i] = rig_make(&r, &s);
	fabric_ext_rx(in->end, p, 100, r.now);
	fabric_run(r.f, r.now);
	/* rig_fini() checks that no packet is still in use */
}

/* --- octets */

static void test_packet_octets_round_trip(void **state)
{
	ib_gid g = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 5);
	uint8_t a[IB_PKT_MAX], b[IB_PKT_MAX];

	for (unsigned int len = 0; len <= 4096; len = len < 300 ? len + 1 : len + 101) {
		struct rig_pkt s = { .slid = 1, .dlid = 2, .len = len, .sl = 3, .vl = 3 };
		struct pkt *p, *q;
		size_t n;

		s.dgid = len & 1 ? &g : NULL;
		p = rig_make(&r, &s);
		n = fabric_pkt_to_wire(p, a, sizeof(a));
		assert_int_equal(n, p->len + p->tail_len);
		assert_int_equal(pkt_from_wire(&q, r.pool, a, n), 0);
		assert_int_equal(q->len, p->len);
		assert_int_equal(q->tail_len, p->tail_len);
		assert_int_equal(q->vl, 3);
		assert_true(pkt_hdr_len(q) >= (s.dgid ? 68 : 28));
		assert_int_equal(fabric_pkt_to_wire(q, b, sizeof(b)), n);
		assert_memory_equal(a, b, n);
		assert_int_equal(fabric_pkt_to_wire(q, b, n - 1), 0);
		pkt_free(q);
		/* PktLen must agree with the length */
		assert_int_equal(pkt_from_wire(&q, r.pool, a, n - 4), -EBADMSG);
		pkt_free(p);
	}
}

static void test_every_short_packet_is_refused(void **state)
{
	uint8_t a[IB_PKT_MAX + 4] = { 0 };
	struct pkt *p;

	for (size_t n = 0; n < 14; n++) {
		be16_put(a + 4, (uint16_t)((n - 2) / 4));
		assert_int_equal(pkt_from_wire(&p, r.pool, a, n), -EBADMSG);
	}
	be16_put(a + 4, (IB_PKT_MAX + 2) / 4);
	assert_int_equal(pkt_from_wire(&p, r.pool, a, IB_PKT_MAX + 4), -EBADMSG);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_names),
		CASE(test_I13_links_come_up_with_their_rates),
		CASE(test_lids_of_the_file),
		CASE(test_link_set_down_and_up_trains),
		CASE(test_I5_port_state_down_retrains_the_link),
		CASE(test_I13_links_train_to_a_common_width),
		CASE(test_I5_phys_disabled_stays_down_until_polling),
		CASE(test_external_end_and_its_carrier),
		CASE(test_queued_packets_are_lost_with_the_link),
		CASE(test_queue_is_bounded),
		CASE(test_queued_packets_are_counted_until_they_leave),
		CASE(test_queue_overflow_is_xmit_discards),
		CASE(test_vl15_goes_first),
		CASE(test_forwarding_loop_ends_in_xmit_discards),
		CASE(test_multicast_loop_ends),
		CASE(test_one_run_has_a_budget),
		CASE(test_destroy_with_packets_under_way),
		CASE(test_packet_octets_round_trip),
		CASE(test_every_short_packet_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
