/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * intel-ipoib-linux-hld-2002, 2.6: interfaces appear and disappear with the P_Keys that the SM
 * writes into the table of their port, even while packets are lost. An interface joins its
 * broadcast group but never creates it. When its P_Key leaves the table, the interface frees all
 * its resources.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ifc/pkeys.h"
#include "unit/all_held.h"
#include "unit/all_lab_check.h"

#define HOSTS 3
#define MEMBERS 16

#define DEFAULT "Default=0x7fff, ipoib : ALL=full;\n"
/*
 * Lines of a partition file; all ports are members of each partition. BARE has no broadcast group,
 * all other partitions have one.
 */
#define BLUE "A=0x0014, ipoib : ALL=full;\nB=0x0015, ipoib : ALL=full;\n"
#define RED "C=0x0016, ipoib : ALL=full;\nD=0x0017, ipoib : ALL=full;\n"
#define BARE "E=0x0018 : ALL=full;\n"
#define NOT_BARE "E=0x0018, ipoib : ALL=full;\n"

static const bool all[HOSTS] = { true, true, true };
static struct lab lab;

/* The interface of one P_Key, with the data that its owner (this test) stores about it */
struct member {
	struct ifc ifc;
	/*
	 * .was_up: .carrier has been true at least once; a real owner creates the device when
	 * .carrier becomes true for the first time
	 */
	bool carrier, was_up;
	unsigned int frames; /* frames received */
	struct pkt_queue tap;
};

struct owner {
	struct lab_host *host;
	struct ifc_pkeys pkeys;
	struct member *m[MEMBERS];
	unsigned int came, gone;
};

static struct owner owner[HOSTS];

static int on_read(void *ctx, struct pkt **ret)
{
	struct member *m = ctx;

	*ret = pkt_queue_pop(&m->tap);
	return *ret ? 0 : -EAGAIN;
}

static void on_deliver(void *ctx, struct eth_frame *f)
{
	struct member *m = ctx;

	m->frames++;
	eth_frame_free(f);
}

static void on_mac(void *ctx, const uint8_t mac[6])
{
}

static void on_mtu(void *ctx, unsigned int mtu)
{
}

static void on_carrier(void *ctx, bool up)
{
	struct member *m = ctx;

	m->carrier = up;
	m->was_up |= up;
}

static const struct ifc_ops ops = {
	.read = on_read,
	.deliver = on_deliver,
	.neigh_gone = on_mac,
	.set_mac = on_mac,
	.set_mtu = on_mtu,
	.set_carrier = on_carrier,
};

static struct member **slot(struct owner *o, uint16_t pkey)
{
	for (unsigned int k = 0; k < MEMBERS; k++)
		if (pkey ? o->m[k] && o->m[k]->ifc.pkey == pkey : !o->m[k])
			return &o->m[k];
	return NULL;
}

static struct member *of(unsigned int host, uint16_t pkey)
{
	struct member **m = slot(&owner[host], pkey | IB_PKEY_FULL);

	return m ? *m : NULL;
}

static int on_came(void *ctx, uint16_t pkey, ns_t now)
{
	struct owner *o = ctx;
	struct member **m = slot(o, 0);
	char name[IPOIB_IFNAME_LEN];
	struct ifc_cfg cfg = {
		.name = name,
		.link_name = name,
		.pkey = pkey,
		.profile = ipoib_profile_find("hld2002"),
	};

	assert_non_null(m);
	assert_null(slot(o, pkey));
	cfg.profile->ifname(name, 0, 1, pkey);
	*m = calloc(1, sizeof(**m));
	ifc_init(&(*m)->ifc, &o->host->ca_port, &cfg, &ops, *m);
	assert_int_equal(ifc_start(&(*m)->ifc, &cfg), 0);
	ifc_set_up(&(*m)->ifc, true, now);
	o->came++;
	return 0;
}

static void on_gone(void *ctx, uint16_t pkey, ns_t now)
{
	struct owner *o = ctx;
	struct member **m = slot(o, pkey);

	assert_non_null(m);
	ifc_set_up(&(*m)->ifc, false, now);
	ifc_actions(&(*m)->ifc, now);
	ifc_destroy(&(*m)->ifc);
	pkt_queue_purge(&(*m)->tap);
	free(*m);
	*m = NULL;
	o->gone++;
}

static const struct ifc_pkeys_ops pkeys_ops = { .came = on_came, .gone = on_gone };

static const uint16_t not_default[] = { 0x0014, 0x0015, 0x0016, 0x0017, 0x0018 };

static void begin(uint64_t seed, const char *partitions)
{
	struct topo *t = topo_gen_demo(HOSTS, 2);

	lab_create(&lab, &(struct lab_cfg){ .topo = t,
					    .seed = seed,
					    .partitions = partitions,
					    .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	for (unsigned int i = 0; i < HOSTS; i++) {
		owner[i] = (struct owner){ .host = &lab.host[i] };
		owner[i].pkeys = (struct ifc_pkeys){
			.ops = &pkeys_ops, .ctx = &owner[i], .only = not_default, .nonly = 5
		};
		assert_int_equal(ifc_pkeys_start(&owner[i].pkeys, &lab.host[i].ca_port), 0);
	}
	lab_wait_up(&lab, all, NS_SEC(60), seed, "the default partition");
}

static void end(void)
{
	for (unsigned int i = 0; i < HOSTS; i++) {
		ifc_pkeys_stop(&owner[i].pkeys);
		for (unsigned int k = 0; k < MEMBERS; k++)
			if (owner[i].m[k])
				on_gone(&owner[i], owner[i].m[k]->ifc.pkey, lab.now);
	}
	lab_destroy(&lab);
}

/* Send an IPv4 broadcast from the interface. */
static void say(struct member *m)
{
	static const uint8_t ip[] = {
		0x45, 0, 0,   28,  0,	0,   0, 0, 64, 253, 0x7a, 0xd5, 10, 0,
		0,    1, 255, 255, 255, 255, 1, 2, 3,  4,   5,	  6,	7,  8
	};
	uint8_t frame[14 + sizeof(ip)] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	memcpy(frame + 6, m->ifc.mac, 6);
	frame[12] = 8;
	memcpy(frame + 14, ip, sizeof(ip));
	pkt_queue_add(&m->tap, pkt_from_data(lab.pool, frame, sizeof(frame)));
	ifc_readable(&m->ifc);
}

/*
 * Check that every host has the interface of @pkey, that it is up, and that a broadcast of one host
 * arrives at all other hosts.
 */
static void check_link(uint16_t pkey)
{
	for (unsigned int i = 0; i < HOSTS; i++) {
		assert_non_null(of(i, pkey));
		assert_true(of(i, pkey)->carrier);
		of(i, pkey)->frames = 0;
	}
	if (of(0, pkey)) /* always true, but the compiler cannot see this */
		say(of(0, pkey));
	lab_run(&lab, NS_SEC(1));
	for (unsigned int i = 0; i < HOSTS; i++)
		assert_int_equal(of(i, pkey)->frames, i > 0);
}

static void check_none(uint16_t pkey)
{
	for (unsigned int i = 0; i < HOSTS; i++)
		assert_null(of(i, pkey));
}

static unsigned int arrived;

static void on_data(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		    const uint8_t *data, size_t len)
{
	arrived += len == 4 && !memcmp(data, "keep", 4);
}

/*
 * Let the time @d pass while host 0 sends to host 1 in the default partition, and check that none
 * of these packets is lost.
 */
static void run_with_traffic(ns_t d)
{
	ns_t until = lab.now + d;
	unsigned int sent = 0;

	lab.rx = on_data;
	lab_send(&lab.host[0], &lab.host[1], "warm", 4);
	lab_run(&lab, NS_MSEC(50));
	arrived = 0;
	while (lab.now < until) {
		lab_send(&lab.host[0], &lab.host[1], "keep", 4);
		lab_run(&lab, NS_MSEC(7));
		sent++;
	}
	assert_int_equal(arrived, sent);
}

#define SAME(m) assert_int_equal(now.m, before.m)

static void check_released(struct held before, const struct held now)
{
	SAME(pkts);
	SAME(bufs);
	SAME(timers);
	SAME(qps);
	SAME(groups);
	SAME(ahs);
	SAME(members);
	SAME(subscriptions);
}

static void test_H30_interfaces_come_and_go_with_pkeys_and_release_everything(void **state)
{
	struct held before;

	begin(1, DEFAULT);
	run_with_traffic(NS_SEC(70));
	before = held(&lab);
	check_none(0x14);
	for (unsigned int round = 0; round < 3; round++) {
		lab_partitions(&lab, DEFAULT BLUE);
		run_with_traffic(NS_SEC(5));
		check_link(0x14);
		check_link(0x15);
		check_none(0x16);
		assert_true(held(&lab).qps >= before.qps + 2u * HOSTS);
		lab_partitions(&lab, DEFAULT RED);
		run_with_traffic(NS_SEC(5));
		check_none(0x14);
		check_none(0x15);
		check_link(0x16);
		check_link(0x17);
		lab_partitions(&lab, DEFAULT);
		run_with_traffic(NS_SEC(70));
		check_none(0x16);
		check_released(before, held(&lab));
	}
	for (unsigned int i = 0; i < HOSTS; i++) {
		assert_int_equal(owner[i].came, 12);
		assert_int_equal(owner[i].gone, 12);
	}
	end();
}

static void one_seed_with_loss(uint64_t seed)
{
	static const char *const texts[] = { DEFAULT BLUE, DEFAULT RED, DEFAULT, DEFAULT RED BLUE };
	struct held before;

	begin(seed, DEFAULT);
	lab_run(&lab, NS_SEC(70));
	before = held(&lab);
	lab_faults_on(&lab);
	for (unsigned int k = 0; k < 8; k++) {
		lab_partitions(&lab, texts[(seed + 3 * k) % 4]);
		/*
		 * After two of every three changes, the next change comes before all effects of the
		 * previous change have ended.
		 */
		lab_run(&lab, (seed + k) % 3 ? NS_MSEC(20) : NS_SEC(10));
	}
	lab_partitions(&lab, DEFAULT BLUE);
	lab_run(&lab, NS_SEC(5));
	lab_faults_off(&lab);
	lab_run(&lab, NS_SEC(90));
	check_link(0x14);
	check_link(0x15);
	check_none(0x16);
	lab_partitions(&lab, DEFAULT);
	lab_run(&lab, NS_SEC(120));
	check_none(0x14);
	check_released(before, held(&lab));
	end();
}

static void test_H30_pkeys_that_come_and_go_while_packets_are_lost(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		one_seed_with_loss(seed);
}

/*
 * HLD 2.6: the driver joins the broadcast group but does not create it, so in a partition without a
 * broadcast group no device may appear. The device appears after trap 66 reports that the group was
 * created.
 */
static void test_H30_no_device_before_trap_66_tells_of_the_broadcast_group(void **state)
{
	const struct sm_group *g = NULL;

	begin(1, DEFAULT BARE);
	lab_run(&lab, NS_SEC(40));
	for (unsigned int i = 0; i < HOSTS; i++) {
		assert_non_null(of(i, 0x18));
		assert_false(of(i, 0x18)->was_up);
	}
	while ((g = sm_group_next(lab.sm, g)))
		assert_int_not_equal(g->rec.pkey & 0x7fff, 0x18);
	lab_partitions(&lab, DEFAULT NOT_BARE);
	lab_run(&lab, NS_MSEC(900)); /* less than the back-off before the next attempt to join */
	check_link(0x18);
	end();
}

static void test_H31_pkeys_outside_of_the_list_have_no_interface(void **state)
{
	begin(1, DEFAULT BLUE "F=0x0019, ipoib : ALL=full;\n");
	lab_run(&lab, NS_SEC(5));
	check_link(0x14);
	check_none(0x19);
	check_none(0x7fff);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H30_interfaces_come_and_go_with_pkeys_and_release_everything),
		cmocka_unit_test(test_H30_pkeys_that_come_and_go_while_packets_are_lost),
		cmocka_unit_test(test_H30_no_device_before_trap_66_tells_of_the_broadcast_group),
		cmocka_unit_test(test_H31_pkeys_outside_of_the_list_have_no_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
