/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests of clauses that need a whole fabric: the tests look at the packets on the fabric's links,
 * and check which hosts reach each other.
 */

#include <stdio.h>
#include <string.h>

#include "unit/all_lab.h"
#include "check.h"
#include "fabric/trace.h"
#include "wire/ib_hdr.h"
#include "wire/ipoib_hdr.h"
#include "wire/mgid.h"

#define HOSTS 4

/* Counts of packets that CAs have sent since the variable seen was last set to zeros. */
static struct {
	unsigned int data, ucast, mcast, mads;
	unsigned int wrong;
	const struct lab *l;
	uint16_t pkey;
} seen;
static unsigned int got[HOSTS], last_len;

static bool any(void *ctx, const struct pkt *p)
{
	return true;
}

static void look(const struct fabric_trace_event *ev)
{
	const struct pkt *p = ev->pkt;
	struct ib_ud_hdr h;
	uint8_t encap[4];
	int hlen = ib_ud_hdr_decode(&h, p->hdr + p->head, pkt_hdr_len(p));

	if (hlen < 0) { /* not UD SEND-only, the only BTH opcode that clause R1 allows */
		seen.wrong++;
		return;
	}
	if (h.bth.dest_qp <= IB_QP1) {
		seen.mads++;
		return;
	}
	seen.data++;
	pkt_copy_out(p, (uint32_t)hlen, encap, sizeof(encap));
	/*
	 * Clauses R4, R29 and R30: the payload begins with an encapsulation header, whose reserved
	 * octets are zero
	 */
	seen.wrong += be16_at(encap) != ETH_P_IPV4 || be16_at(encap + 2) != 0;
	seen.wrong += h.bth.pkey != seen.pkey;
	if (ib_lid_is_mcast(h.lrh.dlid)) {
		seen.mcast++;
		/* R33: multicast packets have a GRH */
		seen.wrong += !h.has_grh || h.bth.dest_qp != IB_QPN_MCAST;
		return;
	}
	seen.ucast++;
	/*
	 * Clause R48: the destination QPN must be the QPN in the link-layer address of an
	 * interface.
	 */
	for (unsigned int i = 0; i < seen.l->nhosts; i++)
		if (seen.l->host[i].addr.qpn == h.bth.dest_qp)
			return;
	seen.wrong++;
}

static void on_trace(void *ctx, const struct fabric_trace_event *ev)
{
	if (ev->kind == FABRIC_TRACE_SENT && fabric_node_hca(ev->node))
		look(ev);
}

static void on_rx(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		  const uint8_t *data, size_t len)
{
	got[to->index]++;
	last_len = (unsigned int)len;
}

static void start(struct lab *l, const char *partitions, uint16_t pkey)
{
	const struct fabric_trace t = { .match = any, .event = on_trace };
	struct topo *topo = topo_gen_demo(HOSTS, 3);

	lab_create(l, &(struct lab_cfg){ .topo = topo,
					 .seed = 1,
					 .crc = HCA_CRC_FULL,
					 .pkey = pkey,
					 .partitions = partitions });
	topo_free(topo);
	memset(&seen, 0, sizeof(seen));
	memset(got, 0, sizeof(got));
	seen.l = l;
	seen.pkey = pkey | 0x8000;
	l->rx = on_rx;
	fabric_trace_set(l->f, &t);
	lab_run(l, NS_SEC(5));
}

static void broadcast(struct lab_host *from, const char *text)
{
	static const uint8_t all[4] = { 255, 255, 255, 255 };

	memset(got, 0, sizeof(got));
	lab_send_group(from, all, text, strlen(text));
	lab_run(from->lab, NS_SEC(1));
}

static void test_R1_R33_R48_everything_is_ud_and_multicast_has_a_grh(void **state)
{
	struct lab l;

	start(&l, NULL, 0xffff);
	assert_true(lab_all_up(&l, NULL));
	for (unsigned int a = 0; a < HOSTS; a++)
		for (unsigned int b = 0; b < HOSTS; b++)
			if (a != b)
				lab_send(&l.host[a], &l.host[b], "unicast", 8);
	lab_run(&l, NS_SEC(1));
	broadcast(&l.host[0], "broadcast");
	assert_int_equal(seen.ucast, HOSTS * (HOSTS - 1));
	assert_int_equal(seen.mcast, 1);
	assert_true(seen.mads > 0);
	assert_int_equal(seen.wrong, 0);
	lab_destroy(&l);
}

static void test_R2_R25_a_broadcast_reaches_every_interface_but_its_sender(void **state)
{
	struct lab l;

	start(&l, NULL, 0xffff);
	for (unsigned int from = 0; from < HOSTS; from++) {
		broadcast(&l.host[from], "to all");
		for (unsigned int i = 0; i < HOSTS; i++)
			assert_int_equal(got[i], i != from);
		assert_int_equal(last_len, 6);
	}
	lab_destroy(&l);
}

/*
 * The interfaces of all hosts use P_Key 0x8001, but only two of the hosts are members of the
 * partition of this P_Key. These two form the link; the interfaces of the other hosts must not come
 * up, and these hosts must not get packets of the link.
 */
static void test_R3_H9_a_link_is_who_shares_the_partition(void **state)
{
	struct ipoib_link_info in = { 0 }, out;
	bool member[HOSTS];
	struct lab l;
	char conf[256];
	struct topo *topo = topo_gen_demo(HOSTS, 3);
	uint64_t guid[2] = { 0 };
	unsigned int n = 0;

	for (uint32_t i = 0; i < topo->n && n < 2; i++)
		if (topo->node[i]->type == IB_NODE_CA)
			guid[n++] = topo->node[i]->port[1].guid;
	topo_free(topo);
	snprintf(conf, sizeof(conf),
		 "Default=0x7fff, ipoib : ALL=full;\nLab=0x0001, ipoib : 0x%llx=full, "
		 "0x%llx=full;\n",
		 (unsigned long long)guid[0], (unsigned long long)guid[1]);
	start(&l, conf, 0x8001);
	for (unsigned int i = 0; i < HOSTS; i++) {
		uint64_t g = fabric_node_node(l.host[i].node)->port[1].guids[0];

		member[i] = g == guid[0] || g == guid[1];
		assert_int_equal(l.host[i].carrier, member[i]);
	}
	for (unsigned int from = 0; from < HOSTS; from++) {
		if (!member[from])
			continue;
		broadcast(&l.host[from], "lab");
		for (unsigned int i = 0; i < HOSTS; i++)
			assert_int_equal(got[i], member[i] && i != from);
	}
	/*
	 * Clause R27: while a port does not have the P_Key of its interface, the interface waits,
	 * and its state shows that it waits for the P_Key.
	 */
	for (unsigned int i = 0; i < HOSTS; i++) {
		ipoib_link_info(l.host[i].link, &out);
		assert_int_equal(out.state, member[i] ? IPOIB_LINK_UP : IPOIB_LINK_WAIT_PKEY);
		if (member[i])
			in = out;
	}
	assert_int_equal(in.group.pkey, 0x8001);
	assert_int_equal(mgid_scope(&in.mgid), 2);
	assert_int_equal(seen.wrong, 0);
	lab_destroy(&l);
}

static void test_R27_I26_an_interface_goes_down_with_its_partition(void **state)
{
	static const char with[] =
		"Default=0x7fff, ipoib : ALL=full;\nLab=0x0001, ipoib : ALL=full;\n";
	static const char without[] = "Default=0x7fff, ipoib : ALL=full;\n";
	struct ipoib_link_info info;
	struct sm_partitions *ps;
	char err[256];
	struct lab l;

	start(&l, with, 0x8001);
	assert_true(lab_all_up(&l, NULL));
	assert_int_equal(
		sm_partitions_parse(&ps, "test", without, sizeof(without) - 1, err, sizeof(err)),
		0);
	sm_set_partitions(l.sm, ps, l.now);
	lab_run(&l, NS_SEC(5));
	for (unsigned int i = 0; i < HOSTS; i++) {
		assert_false(l.host[i].carrier);
		ipoib_link_info(l.host[i].link, &info);
		assert_int_equal(info.state, IPOIB_LINK_WAIT_PKEY);
	}
	assert_int_equal(sm_partitions_parse(&ps, "test", with, sizeof(with) - 1, err, sizeof(err)),
			 0);
	sm_set_partitions(l.sm, ps, l.now);
	lab_run(&l, NS_SEC(20));
	assert_true(lab_all_up(&l, NULL));
	broadcast(&l.host[1], "back");
	assert_int_equal(got[0] + got[1] + got[2] + got[3], HOSTS - 1);
	lab_destroy(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R1_R33_R48_everything_is_ud_and_multicast_has_a_grh),
		cmocka_unit_test(test_R2_R25_a_broadcast_reaches_every_interface_but_its_sender),
		cmocka_unit_test(test_R3_H9_a_link_is_who_shares_the_partition),
		cmocka_unit_test(test_R27_I26_an_interface_goes_down_with_its_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
