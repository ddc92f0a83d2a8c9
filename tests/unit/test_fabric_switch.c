/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests one switch with four external ends: by which ports a packet leaves the switch, depending on
 * the port by which it enters, and what the counters count.
 */
#include "check.h"

#include <string.h>

#include "fabric_rig.h"
#include "fabric_wire.h"
#include "udp_train.h"
#include "util/list.h"
#include "crc/crc.h"
#include "wire/pma.h"

static struct rig r;
static struct rig_end *e1, *e2, *e3, *e4;

#define LID(n) ((uint16_t)(0x100 + (n))) /* LID of the end at port n */

static int setup(void **state)
{
	struct node *sw;

	memset(&r, 0, sizeof(r));
	rig_init(&r, "Switch 70 \"s\"\n");
	e1 = rig_attach(&r, "s/1");
	e2 = rig_attach(&r, "s/2");
	e3 = rig_attach(&r, "s/3");
	e4 = rig_attach(&r, "s/70");
	rig_configure(&r);
	sw = rig_sw(&r, "s");
	sw->sw->si.lft_top = 0x200;
	for (unsigned int i = 1; i <= 70; i++)
		sw->sw->lft[LID(i)] = (uint8_t)i;
	return 0;
}

static int teardown(void **state)
{
	rig_fini(&r);
	return 0;
}

static uint64_t drops(enum fabric_drop d)
{
	return fabric_node_drops(rig_node(&r, "s"), d);
}

static struct node_counters *cnt(unsigned int port)
{
	return &rig_sw(&r, "s")->port[port].cnt;
}

/* Return a packet from LID(1), which is at port 1, to the LID of the end at port @to. */
static struct rig_pkt to_port(unsigned int to)
{
	return (struct rig_pkt){ .slid = LID(1),
				 .dlid = LID(to),
				 .dest_qp = 0x48,
				 .src_qp = 0x49,
				 .qkey = 0x0b1b,
				 .len = 100 };
}

static void send1(struct rig_pkt s)
{
	rig_send(e1, &s);
}

static void test_I10_unicast_follows_the_LFT(void **state)
{
	send1(to_port(2));
	send1(to_port(70));
	assert_int_equal(e1->n, 0);
	assert_int_equal(e2->n, 1);
	assert_int_equal(e3->n, 0);
	assert_int_equal(e4->n, 1);
	assert_int_equal(crc_pkt_check(e2->got[0]), CRC_OK);
	assert_int_equal(e2->got[0]->hops, PKT_HOPS - 2);
	/*
	 * PortRcvData counts words of 4 octets: 2 packets * (28 octets of headers + 100 + 4 of
	 * ICRC) / 4
	 */
	assert_int_equal(cnt(1)->rcv_pkts, 2);
	assert_int_equal(cnt(1)->rcv_data, 66);
	assert_int_equal(cnt(1)->ucast_rcv, 2);
	assert_int_equal(cnt(1)->mcast_rcv, 0);
	assert_int_equal(cnt(2)->xmit_pkts, 1);
	assert_int_equal(cnt(2)->xmit_data, 33);
	assert_int_equal(cnt(2)->ucast_xmit, 1);
	assert_int_equal(fabric_stats(r.f)->hops, 4);
}

static void test_I10_no_route_discards(void **state)
{
	struct node_switch *s = rig_sw(&r, "s")->sw;
	struct rig_pkt p = to_port(2);

	s->lft[LID(2)] = SMP_LFT_NONE;
	send1(p);
	s->lft[LID(2)] = 71; /* the switch has no port 71 */
	send1(p);
	s->lft[0x201] = 2; /* LID above LinearFDBTop */
	p.dlid = 0x201;
	send1(p);
	p.dlid = 0;
	send1(p);
	p.dlid = IB_LID_PERMISSIVE; /* the permissive LID is for SMPs only */
	send1(p);
	assert_int_equal(drops(FABRIC_DROP_DLID), 5);
	assert_int_equal(cnt(1)->rcv_switch_relay_errors, 5);
	assert_int_equal(cnt(1)->rcv_by_reason[NODE_RCV_DLID_MAPPING], 5);
	assert_int_equal(cnt(1)->rcv_pkts, 5);
	assert_int_equal(e2->n, 0);
}

static void test_I10_not_back_to_the_ingress_port(void **state)
{
	send1(to_port(1));
	assert_int_equal(e1->n, 0);
	assert_int_equal(drops(FABRIC_DROP_LOOP), 1);
	assert_int_equal(cnt(1)->rcv_switch_relay_errors, 1);
	assert_int_equal(cnt(1)->rcv_by_reason[NODE_RCV_LOOPING], 1);
}

/* --- trains */

/* Return a train of 5 datagrams with both CRCs, from LID(1) to LID(@to) */
static struct pkt *sealed_train(unsigned int to)
{
	const struct ib_ud_hdr h = {
		.lrh = { .lnh = IB_LNH_LOCAL, .dlid = LID(to), .slid = LID(1) },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = IB_PKEY_DEFAULT, .dest_qp = 0x48 },
		.deth = { .qkey = 0x0b1b, .src_qp = 0x49 },
	};
	struct pkt *t = udp_train(r.pool, 5, 1000, 100);

	ib_ud_hdr_encode(pkt_push(t, ib_ud_hdr_len(false)), &h, train_first_len(t));
	assert_int_equal(train_take_seals(t), 0);
	train_seal(t, true);
	return t;
}

/*
 * The switch must verify the VCRC of each packet of a train. The external end e2 accepts no trains,
 * so it gets the packets one by one.
 */
static void test_I10_packets_of_a_train_with_CRCs(void **state)
{
	node_sltovl_own(rig_sw(&r, "s"))[1 * 71 + 2][0] = 1;
	rig_sw(&r, "s")->port[2].pi.oper_vls = 2; /* VL0 and VL1 */
	rig_send_pkt(e1, sealed_train(2));
	assert_int_equal(e2->n, 5);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(pkt_count(e2->got[i]), 1);
		assert_int_equal(ib_lrh_vl(pkt_hdr(e2->got[i])), 1);
		assert_true(e2->got[i]->flags & PKT_CRC);
		assert_int_equal(crc_pkt_check(e2->got[i]), CRC_OK);
	}
	assert_int_equal(cnt(1)->rcv_pkts, 5);
	assert_int_equal(cnt(2)->xmit_pkts, 5);
	assert_int_equal(cnt(1)->rcv_errors, 0);
}

static void test_I10_a_damaged_packet_of_a_train_with_CRCs(void **state)
{
	struct pkt *t = sealed_train(2);

	t->slice[0].buf->data[2500] ^= 1;
	rig_send_pkt(e1, t);
	assert_int_equal(e2->n, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(crc_pkt_check(e2->got[i]), CRC_OK);
	assert_int_equal(drops(FABRIC_DROP_VCRC), 1);
	assert_int_equal(cnt(1)->rcv_errors, 1);
	assert_int_equal(cnt(1)->rcv_by_reason[NODE_RCV_LOCAL_PHYSICAL], 1);
	assert_int_equal(cnt(1)->rcv_pkts, 5);
}

/* --- multicast */

static const ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 5 } };

static struct rig_pkt to_group(uint16_t mlid)
{
	struct rig_pkt p = to_port(2);

	p.dlid = mlid;
	p.dest_qp = IB_QPN_MCAST;
	p.dgid = &mgid;
	return p;
}

static void set_mft(uint16_t mlid, uint64_t w0, uint64_t w1)
{
	uint64_t *m = node_mft_own(rig_sw(&r, "s")->sw)[mlid - IB_LID_MCAST_MIN];

	m[0] = w0;
	m[1] = w1;
}

static void test_I10_multicast_not_back_and_not_to_inactive_ports(void **state)
{
	set_mft(0xc003, 1ull << 1 | 1ull << 2 | 1ull << 3 | 1ull << 9, 1ull << (70 - 64));
	send1(to_group(0xc003));
	assert_int_equal(e1->n, 0);
	assert_int_equal(e2->n, 1);
	assert_int_equal(e3->n, 1);
	assert_int_equal(e4->n, 1);
	assert_int_equal(crc_pkt_check(e2->got[0]), CRC_OK);
	assert_int_equal(crc_pkt_check(e4->got[0]), CRC_OK);
	assert_int_equal(cnt(1)->mcast_rcv, 1);
	assert_int_equal(cnt(1)->ucast_rcv, 0);
	assert_int_equal(cnt(2)->mcast_xmit, 1);
	/*
	 * port 9 is in the MFT entry but has no link, so no packet is sent by this port, and
	 * nothing is counted
	 */
	assert_int_equal(cnt(9)->xmit_discards, 0);
	rig_set_state(&r, "s/3", IB_PORT_ARMED);
	send1(to_group(0xc003));
	assert_int_equal(e3->n, 1);
	assert_int_equal(e2->n, 2);
	assert_int_equal(cnt(3)->xmit_discards, 0);
}

static void test_I10_multicast_to_the_sender_alone_vanishes(void **state)
{
	set_mft(0xc003, 1ull << 1, 0);
	send1(to_group(0xc003));
	assert_int_equal(e1->n + e2->n, 0);
	assert_int_equal(cnt(1)->rcv_switch_relay_errors, 0);
}

static void test_I10_mlid_never_uses_the_LFT(void **state)
{
	struct node_switch *s = rig_sw(&r, "s")->sw;

	s->si.lft_top = 0xbfff;
	memset(s->lft, 2, sizeof(s->lft));
	send1(to_group(0xc005)); /* a group without members */
	send1(to_group(0xc000 + NODE_MCAST_LIDS)); /* an MLID above the MFT */
	send1(to_group(0xfffe));
	assert_int_equal(e2->n, 0);
	assert_int_equal(drops(FABRIC_DROP_MLID), 3);
	assert_int_equal(cnt(1)->rcv_switch_relay_errors, 3);
}

static void test_I11_port_0_counts_its_groups(void **state)
{
	set_mft(0xc001, 1 | 1ull << 2, 0);
	send1(to_group(0xc001));
	assert_int_equal(e2->n, 1);
	assert_int_equal(cnt(0)->mcast_rcv, 1);
	assert_int_equal(cnt(0)->rcv_pkts, 1);
}

/*
 * The MFT entry contains all ports, among them port 70, whose bit is in the second 64-bit word of
 * the entry. Each port with a link, except the ingress port, must send one copy of each packet.
 */
static void test_I11_every_member_gets_one_copy(void **state)
{
	set_mft(0xc002, ~0ull, ~0ull); /* all bits are set, also those of ports that do not exist */
	for (unsigned int i = 0; i < 3; i++)
		send1(to_group(0xc002));
	assert_int_equal(e1->n, 0);
	assert_int_equal(e2->n, 3);
	assert_int_equal(e3->n, 3);
	assert_int_equal(e4->n, 3);
}

/* --- port states */

static void test_I4_data_needs_active(void **state)
{
	rig_set_state(&r, "s/1", IB_PORT_INIT);
	send1(to_port(2));
	assert_int_equal(drops(FABRIC_DROP_STATE_IN), 1);
	rig_set_state(&r, "s/1", IB_PORT_ACTIVE);
	rig_set_state(&r, "s/2", IB_PORT_ARMED);
	send1(to_port(2));
	assert_int_equal(drops(FABRIC_DROP_STATE_OUT), 1);
	assert_int_equal(cnt(2)->xmit_discards, 1);
	assert_int_equal(cnt(2)->xmit_by_reason[NODE_XMIT_INACTIVE], 1);
	assert_int_equal(e2->n, 0);
}

static void test_I4_data_makes_an_armed_port_active(void **state)
{
	rig_watch(&r, "s");
	rig_set_state(&r, "s/1", IB_PORT_ARMED);
	send1(to_port(2));
	assert_int_equal(rig_np(&r, "s/1")->pi.port_state, IB_PORT_ACTIVE);
	assert_int_equal(r.events[NODE_EV_PORT_ACTIVE], 1);
	assert_int_equal(e2->n, 1);
}

static void test_I4_smps_pass_in_init(void **state)
{
	uint8_t mad[256];

	rig_set_state(&r, "s/1", IB_PORT_INIT);
	rig_send_smp(e1, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
	assert_int_equal(e1->n, 1);
	assert_int_equal(crc_pkt_check(e1->got[0]), CRC_OK);
	assert_int_equal(e1->got[0]->vl, IB_VL15);
	rig_mad_of(e1->got[0], mad);
	assert_int_equal(mad[3], MAD_METHOD_GET_RESP);
	assert_int_equal(mad[SMP_DATA_OFF + 2], IB_NODE_SWITCH);
	/* LocalPortNum is the ingress port (IBTA 14.2.5.3). */
	assert_int_equal(mad[SMP_DATA_OFF + 36], 1);
}

static void test_I1_directed_route_through_the_switch(void **state)
{
	static const uint8_t path[] = { 1, 70 };
	uint8_t mad[256];

	rig_set_state(&r, "s/1", IB_PORT_INIT);
	rig_set_state(&r, "s/70", IB_PORT_INIT);
	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, path, 2, NULL);
	mad[SMP_OFF_HOP_PTR] = 1;
	rig_send(e1, &(struct rig_pkt){ .slid = 0xffff, .dlid = 0xffff, .vl = 15, .mad = mad });
	assert_int_equal(e4->n, 1);
	rig_mad_of(e4->got[0], mad);
	assert_int_equal(mad[SMP_OFF_HOP_PTR], 2);
	assert_int_equal(mad[SMP_OFF_RETURN_PATH + 1], 1);
}

static void test_I2_lid_routed_smps(void **state)
{
	uint8_t mad[256];

	rig_set_state(&r, "s/1", IB_PORT_INIT);
	rig_set_state(&r, "s/2", IB_PORT_INIT);
	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL, 0, NULL);
	mad[1] = MAD_CLASS_SM_LID;
	rig_send(e1, &(struct rig_pkt){ .slid = LID(1), .dlid = LID(2), .vl = 15, .mad = mad });
	assert_int_equal(e2->n, 1); /* The SMP has passed through the switch. */
	rig_np(&r, "s/0")->pi.lid = 0x42;
	rig_sw(&r, "s")->sw->lft[0x42] = 0;
	rig_send(e1, &(struct rig_pkt){ .slid = LID(1), .dlid = 0x42, .vl = 15, .mad = mad });
	/* the LFT entry of LID 0x42 leads to port 0, so the switch's own SMA has answered */
	assert_int_equal(e1->n, 1);
	rig_mad_of(e1->got[0], mad);
	assert_int_equal(mad[3], MAD_METHOD_GET_RESP);
	assert_int_equal(be16_at(e1->got[0]->hdr + e1->got[0]->head + 2), LID(1));
}

static void test_I3_vl15_is_for_qp0_alone(void **state)
{
	struct rig_pkt p = to_port(2);
	uint8_t mad[256];

	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL, 0, NULL);
	p.vl = 15;
	p.dlid = 0xc001;
	set_mft(0xc001, 1ull << 2, 0);
	send1(p); /* a multicast DLID */
	assert_int_equal(drops(FABRIC_DROP_VL15), 1);
	rig_sw(&r, "s")->sw->lft[0x42] = 0;
	rig_np(&r, "s/0")->pi.lid = 0x42;
	p = (struct rig_pkt){ .slid = LID(1), .dlid = 0x42, .vl = 15, .dest_qp = 1, .mad = mad };
	send1(p); /* a packet for QP1 on VL15 */
	p.vl = 0;
	p.dest_qp = 0;
	send1(p); /* a packet for QP0 on another VL */
	p.vl = 15;
	p.dgid = &mgid;
	send1(p); /* an SMP with a GRH */
	assert_int_equal(drops(FABRIC_DROP_VL15), 4);
	assert_int_equal(e1->n + e2->n, 0);
}

/* --- SLtoVL, MTU, filters, P_Keys */

static void test_I12_sltovl_by_ingress_and_egress(void **state)
{
	uint8_t(*map)[16] = node_sltovl_own(rig_sw(&r, "s"));
	struct rig_pkt p = to_port(2);

	map[1 * 71 + 2][5] = 3;
	map[1 * 71 + 3][5] = 1;
	p.sl = 5;
	p.vl = 5;
	send1(p);
	p.dlid = LID(3);
	send1(p);
	assert_int_equal(e2->got[0]->vl, 3);
	assert_int_equal(e2->got[0]->hdr[e2->got[0]->head] >> 4, 3);
	/* the switch has changed the VL of the packet, so it must also have corrected the VCRC */
	assert_int_equal(crc_pkt_check(e2->got[0]), CRC_OK);
	assert_int_equal(e3->got[0]->vl, 1);
	assert_int_equal(crc_pkt_check(e3->got[0]), CRC_OK);
	map[1 * 71 + 2][5] = 15;
	p.dlid = LID(2);
	send1(p);
	assert_int_equal(e2->n, 1);
	assert_int_equal(drops(FABRIC_DROP_VL), 1);
	assert_int_equal(cnt(2)->xmit_discards, 0);
	assert_int_equal(cnt(1)->rcv_by_reason[NODE_RCV_VL_MAPPING], 1);
	assert_int_equal(cnt(1)->rcv_switch_relay_errors, 1);
}

static void test_I12_no_vl_above_those_in_operation(void **state)
{
	static const uint8_t count[] = { 0, 1, 2, 4, 8, 15 };
	uint8_t(*map)[16] = node_sltovl_own(rig_sw(&r, "s"));

	for (uint8_t code = 1; code < sizeof(count); code++) {
		rig_np(&r, "s/2")->pi.oper_vls = code;
		for (uint8_t vl = 0; vl < IB_VL15; vl++) {
			struct rig_pkt p = to_port(2);

			p.sl = 6;
			map[1 * 71 + 2][6] = vl;
			rig_end_clear(e2);
			send1(p);
			assert_int_equal(e2->n, 1);
			assert_int_equal(e2->got[0]->vl, vl % count[code]);
			assert_int_equal(crc_pkt_check(e2->got[0]), CRC_OK);
		}
	}
	map[1 * 71 + 2][6] = IB_VL15; /* VL 15 in the SLtoVL table means that packets are dropped */
	rig_end_clear(e2);
	send1((struct rig_pkt){
		.slid = to_port(2).slid, .dlid = LID(2), .sl = 6, .dest_qp = 0x48 });
	assert_int_equal(e2->n, 0);
	assert_int_equal(drops(FABRIC_DROP_VL), 1);
}

static void test_I13_neighbor_mtu_limits_the_payload(void **state)
{
	struct rig_pkt p = to_port(2);

	rig_np(&r, "s/2")->pi.neighbor_mtu = IB_MTU_512;
	p.len = 512;
	send1(p);
	p.dgid = &mgid; /* a GRH makes the packet longer, but the MTU limits only the payload */
	send1(p);
	assert_int_equal(e2->n, 2);
	p.len = 513;
	send1(p);
	p.dgid = NULL;
	send1(p);
	assert_int_equal(e2->n, 2);
	assert_int_equal(drops(FABRIC_DROP_MTU), 2);
	assert_int_equal(cnt(2)->xmit_discards, 2);
	p = to_port(3);
	p.len = 4096;
	send1(p);
	assert_int_equal(e3->n, 1);
}

static void set_pkeys(unsigned int port, uint16_t a, uint16_t b)
{
	uint16_t *t = rig_sw(&r, "s")->port[port].pkeys;

	memset(t, 0, NODE_PKEYS * sizeof(*t));
	t[0] = a;
	t[1] = b;
}

static void test_I7_enforcement_in(void **state)
{
	struct rig_pkt p = to_port(2);

	set_pkeys(1, 0x8001, 0x0002);
	p.pkey = 0x8007;
	send1(p);
	assert_int_equal(e2->n, 1); /* enforcement is off */
	rig_np(&r, "s/1")->pi.part_enforce_in = true;
	send1(p); /* the P_Key is not in the table of port 1, so the packet must be dropped */
	p.pkey = 0x0007;
	send1(p);
	assert_int_equal(e2->n, 1);
	assert_int_equal(drops(FABRIC_DROP_PKEY_IN), 2);
	assert_int_equal(cnt(1)->rcv_constraint_errors, 2);
	assert_int_equal(rig_np(&r, "s/1")->pi.pkey_violations, 2);
	p.pkey = 0x8002;
	send1(p);
	p.pkey = 0x0001;
	send1(p);
	p.pkey = 0x0002;
	/* a limited P_Key in packet and table; the ingress port compares only the low 15 bits */
	send1(p);
	assert_int_equal(e2->n, 4);
	rig_np(&r, "s/1")->pi.part_enforce_in = false;
}

static void test_I7_enforcement_out(void **state)
{
	struct rig_pkt p = to_port(2);

	set_pkeys(2, 0x8001, 0);
	rig_np(&r, "s/2")->pi.part_enforce_out = true;
	p.pkey = 0x8007;
	send1(p);
	set_mft(0xc001, 1ull << 2 | 1ull << 3, 0);
	p = to_group(0xc001);
	p.pkey = 0x8007;
	send1(p); /* the filter of egress port 2 does not apply to port 3 */
	assert_int_equal(e2->n, 0);
	assert_int_equal(e3->n, 1);
	assert_int_equal(drops(FABRIC_DROP_PKEY_OUT), 2);
	assert_int_equal(cnt(2)->xmit_constraint_errors, 2);
	assert_int_equal(rig_np(&r, "s/2")->pi.pkey_violations, 2);
	p.pkey = 0x8001;
	send1(p);
	assert_int_equal(e2->n, 1);
}

static void test_I7_smps_have_no_partition(void **state)
{
	set_pkeys(1, 0x8001, 0);
	rig_np(&r, "s/1")->pi.part_enforce_in = true;
	rig_np(&r, "s/1")->pi.part_enforce_out = true;
	rig_send_smp(e1, MAD_METHOD_GET, SMP_ATTR_NODE_DESC, 0, NULL);
	assert_int_equal(e1->n, 1);
}

static struct pkt *raw_packet(unsigned int to)
{
	uint8_t octets[64] = { 0x00, IB_LNH_RAW, 0x01, (uint8_t)to, 0x00, 15, 0x01, 0x01 };
	struct pkt *p;
	uint16_t vcrc = crc_vcrc(octets, 60);

	octets[60] = (uint8_t)vcrc;
	octets[61] = (uint8_t)(vcrc >> 8);
	assert_int_equal(pkt_from_wire(&p, r.pool, octets, 62), 0);
	return p;
}

static void test_raw_packets_and_their_filter(void **state)
{
	rig_send_pkt(e1, raw_packet(2));
	assert_int_equal(e2->n, 1);
	rig_np(&r, "s/1")->pi.filter_raw_in = true;
	rig_send_pkt(e1, raw_packet(2));
	assert_int_equal(drops(FABRIC_DROP_RAW_IN), 1);
	assert_int_equal(cnt(1)->rcv_constraint_errors, 1);
	rig_np(&r, "s/1")->pi.filter_raw_in = false;
	rig_np(&r, "s/2")->pi.filter_raw_out = true;
	rig_send_pkt(e1, raw_packet(2));
	assert_int_equal(drops(FABRIC_DROP_RAW_OUT), 1);
	assert_int_equal(cnt(2)->xmit_constraint_errors, 1);
	send1(to_port(2)); /* packets to other ports pass */
	assert_int_equal(e2->n, 2);
}

/* --- damaged packets */

/* Change the packet so that its ICRC is wrong but its VCRC is right */
static void spoil_icrc(struct pkt *p)
{
	uint8_t buf[512];
	size_t n = pkt_copy_out(p, 0, buf, sizeof(buf));
	uint16_t vcrc;

	p->tail[p->tail_len - 6] ^= 1;
	memcpy(buf + n, p->tail, p->tail_len);
	vcrc = crc_vcrc(buf, n + p->tail_len - 2u);
	p->tail[p->tail_len - 2] = (uint8_t)vcrc;
	p->tail[p->tail_len - 1] = (uint8_t)(vcrc >> 8);
}

static void test_vcrc_is_verified_icrc_is_not(void **state)
{
	struct rig_pkt s = to_port(2);
	struct pkt *p = rig_make(&r, &s);

	p->tail[p->tail_len - 1] ^= 1;
	rig_send_pkt(e1, p);
	assert_int_equal(e2->n, 0);
	assert_int_equal(drops(FABRIC_DROP_VCRC), 1);
	assert_int_equal(cnt(1)->rcv_errors, 1);

	/* A switch does not check the ICRC, so the packet is forwarded with its wrong ICRC. */
	p = rig_make(&r, &s);
	spoil_icrc(p);
	rig_send_pkt(e1, p);
	assert_int_equal(e2->n, 1);
	assert_int_equal(crc_pkt_check(e2->got[0]), CRC_BAD_ICRC);
}

static void test_lengths_and_version(void **state)
{
	struct rig_pkt s = to_port(2);
	struct pkt *p = rig_make(&r, &s);

	pkt_hdr(p)[5]++; /* PktLen */
	rig_send_pkt(e1, p);
	p = rig_make(&r, &s);
	pkt_trim(p, 12); /* ends within the BTH */
	be16_put(pkt_hdr(p) + 4, 4);
	rig_send_pkt(e1, p);
	p = rig_make(&r, &s);
	pkt_trim(p, 0);
	rig_send_pkt(e1, p);
	assert_int_equal(drops(FABRIC_DROP_LEN), 3);
	p = rig_make(&r, &s);
	pkt_hdr(p)[0] |= 1;
	rig_send_pkt(e1, p);
	assert_int_equal(drops(FABRIC_DROP_VERSION), 1);
	assert_int_equal(cnt(1)->rcv_errors, 4);
	assert_int_equal(e2->n, 0);
}

/* --- port 0 */

static void pma_get(uint8_t mad[256], uint16_t attr)
{
	struct mad_hdr h = { .base_version = 1,
			     .mgmt_class = MAD_CLASS_PERF,
			     .class_version = 1,
			     .method = MAD_METHOD_GET,
			     .tid = 9,
			     .attr_id = attr };

	memset(mad, 0, 256);
	mad_hdr_encode(mad, &h);
}

static void port0_is(uint16_t lid)
{
	rig_np(&r, "s/0")->pi.lid = lid;
	rig_sw(&r, "s")->sw->lft[lid] = 0;
}

static void test_port_0_answers_gmps(void **state)
{
	uint8_t mad[256];
	struct rig_pkt p = {
		.slid = LID(1), .dlid = 0x42, .dest_qp = 1, .src_qp = 1, .qkey = IB_QP1_QKEY
	};

	port0_is(0x42);
	pma_get(mad, MAD_ATTR_CLASS_PORT_INFO);
	p.mad = mad;
	send1(p);
	assert_int_equal(e1->n, 1);
	assert_int_equal(crc_pkt_check(e1->got[0]), CRC_OK);
	rig_mad_of(e1->got[0], mad);
	assert_int_equal(mad[3], MAD_METHOD_GET_RESP);
	assert_int_equal(cnt(0)->ucast_rcv, 1);
	assert_int_equal(cnt(0)->xmit_pkts, 1);
	assert_int_equal(cnt(1)->xmit_pkts, 1);
}

static void test_port_0_checks_keys(void **state)
{
	struct smp_port_info *pi = &rig_np(&r, "s/0")->pi;
	uint8_t mad[256];
	struct rig_pkt p = {
		.slid = LID(1), .dlid = 0x42, .dest_qp = 1, .src_qp = 1, .qkey = IB_QP1_QKEY
	};

	port0_is(0x42);
	set_pkeys(0, 0x8001, 0x8002);
	pma_get(mad, MAD_ATTR_CLASS_PORT_INFO);
	p.mad = mad;
	p.pkey = 0x8003;
	send1(p);
	assert_int_equal(pi->pkey_violations, 1);
	/*
	 * QP1 accepts any P_Key in the port's table, so this P_Key is right, but the Q_Key is wrong
	 */
	p.pkey = 0x8002;
	p.qkey = 0x11;
	send1(p);
	assert_int_equal(pi->qkey_violations, 1);
	assert_int_equal(drops(FABRIC_DROP_PORT0_KEY), 2);
	assert_int_equal(e1->n, 0);
	p.qkey = IB_QP1_QKEY;
	send1(p);
	assert_int_equal(e1->n, 1);
}

static void test_port_0_has_no_other_qps(void **state)
{
	struct rig_pkt p = to_port(2);
	uint8_t mad[256];

	port0_is(0x42);
	p.dlid = 0x42;
	send1(p);
	p.dest_qp = 1;
	/* the packet is for QP1, but its payload does not have the 256 octets of a MAD */
	p.qkey = IB_QP1_QKEY;
	send1(p);
	pma_get(mad, MAD_ATTR_CLASS_PORT_INFO);
	p.mad = mad;
	p.dlid = 0x43; /* the LFT entry of LID 0x43 leads to port 0, which has LID 0x42 */
	rig_sw(&r, "s")->sw->lft[0x43] = 0;
	send1(p);
	assert_int_equal(drops(FABRIC_DROP_PORT0), 3);
	assert_int_equal(e1->n, 0);
}

static void test_port_0_checks_the_icrc(void **state)
{
	uint8_t mad[256];
	struct rig_pkt s = {
		.slid = LID(1), .dlid = 0x42, .dest_qp = 1, .src_qp = 1, .qkey = IB_QP1_QKEY
	};
	struct pkt *p;

	port0_is(0x42);
	pma_get(mad, MAD_ATTR_CLASS_PORT_INFO);
	s.mad = mad;
	p = rig_make(&r, &s);
	spoil_icrc(p);
	rig_send_pkt(e1, p);
	assert_int_equal(e1->n, 0);
	assert_int_equal(drops(FABRIC_DROP_ICRC), 1);
	assert_int_equal(cnt(0)->rcv_errors, 1);
}

/*
 * --- the switch sends a request to its own LID. The request must arrive although the LFT has no
 * entry for this LID yet.
 */
static unsigned int answers;

static void on_answer(void *ctx, int status, const struct mad_addr *from, const void *mad,
		      size_t len, ns_t now)
{
	assert_int_equal(status, 0);
	assert_int_equal(len, 256);
	answers++;
}

static void test_port_0_reaches_itself(void **state)
{
	struct mad_agent_cfg cfg = { .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1 };
	struct mad_ep *ep = rig_np(&r, "s/0")->ep;
	struct mad_agent *a;
	uint8_t mad[256];
	struct mad_req req = { .to = mad_addr_gmp(0x42, 0),
			       .mad = mad,
			       .len = 256,
			       .timeout_ms = 100,
			       .done = on_answer };

	answers = 0;
	rig_np(&r, "s/0")->pi.lid = 0x42; /* the LFT has no entry for this LID */
	assert_int_equal(mad_agent_add(ep, &cfg, &a), 0);
	pma_get(mad, MAD_ATTR_CLASS_PORT_INFO);
	assert_int_equal(mad_request(a, &req, NULL, r.now), 0);
	assert_int_equal(answers, 0);
	rig_settle(&r);
	assert_int_equal(answers, 1);
	mad_agent_del(a);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_I10_unicast_follows_the_LFT),
		CASE(test_I10_no_route_discards),
		CASE(test_I10_not_back_to_the_ingress_port),
		CASE(test_I10_packets_of_a_train_with_CRCs),
		CASE(test_I10_a_damaged_packet_of_a_train_with_CRCs),
		CASE(test_I10_multicast_not_back_and_not_to_inactive_ports),
		CASE(test_I10_multicast_to_the_sender_alone_vanishes),
		CASE(test_I10_mlid_never_uses_the_LFT),
		CASE(test_I11_port_0_counts_its_groups),
		CASE(test_I11_every_member_gets_one_copy),
		CASE(test_I4_data_needs_active),
		CASE(test_I4_data_makes_an_armed_port_active),
		CASE(test_I4_smps_pass_in_init),
		CASE(test_I1_directed_route_through_the_switch),
		CASE(test_I2_lid_routed_smps),
		CASE(test_I3_vl15_is_for_qp0_alone),
		CASE(test_I12_sltovl_by_ingress_and_egress),
		CASE(test_I12_no_vl_above_those_in_operation),
		CASE(test_I13_neighbor_mtu_limits_the_payload),
		CASE(test_I7_enforcement_in),
		CASE(test_I7_enforcement_out),
		CASE(test_I7_smps_have_no_partition),
		CASE(test_raw_packets_and_their_filter),
		CASE(test_vcrc_is_verified_icrc_is_not),
		CASE(test_lengths_and_version),
		CASE(test_port_0_answers_gmps),
		CASE(test_port_0_checks_keys),
		CASE(test_port_0_has_no_other_qps),
		CASE(test_port_0_checks_the_icrc),
		CASE(test_port_0_reaches_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
