/* SPDX-License-Identifier: BSD-2-Clause */

/* Tests of the service level on whole paths through a fabric, and of changes while packets flow. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/all_lab_check.h"
#include "check.h"
#include "fabric/trace.h"
#include "sm/group.h"
#include "wire/ib_hdr.h"

#define HOSTS 6
#define SL 5

static const char conf[] = "Default=0x7fff, ipoib : ALL=full;\n"
			   "Lab=0x0001, ipoib, sl=5 : ALL=full;\n";
static const char other[] = "Default=0x7fff, ipoib : ALL=full;\n"
			    "Lab=0x0001, ipoib, sl=3, Q_Key=0x80004242, mtu=3 : ALL=full;\n";

/* Numbers of data packets on the links, by fields of their LRH. */
static struct {
	unsigned int ucast[16], mcast[16]; /* indexed by SL */
	unsigned int vl[16];
	unsigned int wrong; /* number of packets in whose LRH the VL differs from pkt.vl */
} seen;

static bool any(void *ctx, const struct pkt *p)
{
	return true;
}

static void on_trace(void *ctx, const struct fabric_trace_event *ev)
{
	const struct pkt *p = ev->pkt;
	struct ib_ud_hdr h;

	if (ev->kind != FABRIC_TRACE_SENT && ev->kind != FABRIC_TRACE_DELIVERED)
		return;
	if (pkt_hdr_len(p) < IB_LRH_LEN ||
	    ib_ud_hdr_decode(&h, p->hdr + p->head, pkt_hdr_len(p)) < 0 || h.bth.dest_qp <= IB_QP1)
		return;
	seen.vl[h.lrh.vl]++;
	seen.wrong += h.lrh.vl != p->vl;
	if (ib_lid_is_mcast(h.lrh.dlid))
		seen.mcast[h.lrh.sl]++;
	else
		seen.ucast[h.lrh.sl]++;
}

/* Let each hop map SL 5 to another VL, as an administrator may do to avoid deadlocks. */
static void turn_vls(struct lab *l)
{
	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++) {
		struct node *n = fabric_node_node(fabric_node_at(l->f, i));
		unsigned int ports = n->info.nports + 1u;

		if (!node_is_switch(n))
			continue;
		for (unsigned int in = 0; in < ports; in++)
			for (unsigned int out = 0; out < ports; out++)
				node_sltovl_own(n)[in * ports + out][SL] =
					(uint8_t)((in + out + i) % 4);
	}
}

static unsigned int vls_used(void)
{
	unsigned int n = 0;

	for (int vl = 0; vl < 16; vl++)
		n += seen.vl[vl] != 0;
	return n;
}

struct fix {
	struct lab l;
	struct lab_count c;
	bool want[HOSTS];
};

static void fix_init(struct fix *f, enum hca_crc crc)
{
	const struct fabric_trace t = { .match = any, .event = on_trace };
	struct topo *topo = topo_gen_demo(HOSTS, 3);

	memset(&seen, 0, sizeof(seen));
	lab_create(
		&f->l,
		&(struct lab_cfg){
			.topo = topo, .seed = 1, .crc = crc, .pkey = 0x8001, .partitions = conf });
	topo_free(topo);
	lab_count_init(&f->c, &f->l);
	memset(f->want, true, sizeof(f->want));
	for (unsigned int i = 0; i < HOSTS; i++)
		assert_int_equal(
			ipoib_mcast_add(f->l.host[i].link, IPOIB_IPV4, lab_group, f->l.now), 0);
	lab_wait_up(&f->l, f->want, NS_SEC(10), 1, "at the start");
	lab_run(&f->l, NS_SEC(2));
	fabric_trace_set(f->l.f, &t);
}

static void fix_fini(struct fix *f)
{
	lab_destroy(&f->l);
	lab_count_fini(&f->c);
}

static void check_all(struct fix *f)
{
	lab_check_pairs(&f->l, &f->c, f->want, 1);
	lab_check_group(&f->l, &f->c, f->want, f->want, 1);
	lab_check_beliefs(&f->l, f->want, 1);
}

static unsigned int bad_crcs(const struct lab *l)
{
	uint64_t n = fabric_stats(l->f)->drops[FABRIC_DROP_VCRC] +
		     fabric_stats(l->f)->drops[FABRIC_DROP_ICRC];

	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct hca *h = fabric_node_hca(l->host[i].node);

		n += hca_drops(h, HCA_DROP_VCRC) + hca_drops(h, HCA_DROP_ICRC);
	}
	return (unsigned int)n;
}

static void test_R19_R54_traffic_has_the_partitions_sl(void **state)
{
	struct fix f;

	fix_init(&f, HCA_CRC_LAZY);
	check_all(&f);
	for (int sl = 0; sl < 16; sl++) {
		assert_int_equal(seen.ucast[sl] != 0, sl == SL);
		assert_int_equal(seen.mcast[sl] != 0, sl == SL);
	}
	/*
	 * All ports operate VL0 to VL7, so with the default SLtoVL tables SL 5 uses VL 5, at HCAs
	 * and switches alike.
	 */
	for (int vl = 0; vl < 16; vl++)
		assert_int_equal(seen.vl[vl] != 0, vl == SL);
	assert_int_equal(seen.wrong, 0);
	fix_fini(&f);
}

static void test_I12_vcrc_is_right_after_every_change_of_vl(void **state)
{
	struct fix f;

	fix_init(&f, HCA_CRC_FULL);
	turn_vls(&f.l);
	check_all(&f);
	assert_true(vls_used() > 1);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(bad_crcs(&f.l), 0);
	fix_fini(&f);
}

static void test_R24_I26_links_follow_a_partition_whose_parameters_change(void **state)
{
	struct ipoib_link_info info;
	struct fix f;

	fix_init(&f, HCA_CRC_LAZY);
	check_all(&f);
	memset(&seen, 0, sizeof(seen));
	lab_partitions(&f.l, other);
	lab_run(&f.l, NS_SEC(5));
	for (unsigned int i = 0; i < HOSTS; i++) {
		ipoib_link_info(f.l.host[i].link, &info);
		assert_int_equal(info.state, IPOIB_LINK_UP);
		assert_int_equal(info.group.qkey, 0x80004242);
		assert_int_equal(info.ip_mtu, 1020);
	}
	lab_warm_up(&f.l, &f.c, f.want);
	memset(&seen, 0, sizeof(seen));
	check_all(&f);
	assert_int_equal(seen.ucast[SL] + seen.mcast[SL], 0);
	assert_true(seen.ucast[3] && seen.mcast[3]);
	fix_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R19_R54_traffic_has_the_partitions_sl),
		cmocka_unit_test(test_I12_vcrc_is_right_after_every_change_of_vl),
		cmocka_unit_test(test_R24_I26_links_follow_a_partition_whose_parameters_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
