/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Row H35 of CONFORMANCE.md: when an interface ends, it frees all its resources, whatever it did
 * before and however it ends. The tests count the packets and buffers of the pool, timers, and the
 * HCA's queue pairs, address handles and attachments to groups. If the interface ends in good
 * order, they also count memberships and subscriptions at the SA.
 */

#include <string.h>

#include "check.h"
#include "unit/all_held.h"
#include "unit/all_lab_check.h"
#include "wire/arp.h"

#define HOSTS 3
#define STATIONS 3

static const bool all[HOSTS] = { true, true, true };
static struct lab lab;

#define SAME(m)                                                                       \
	do {                                                                          \
		if (now.m != before->m)                                               \
			fail_msg("%s: %zu " #m ", expected %zu", what, (size_t)now.m, \
				 (size_t)before->m);                                  \
	} while (0)

static void assert_released(const struct held *before, bool at_the_sa, const char *what)
{
	const struct held now = held(&lab);

	SAME(pkts);
	SAME(bufs);
	SAME(timers);
	SAME(qps);
	SAME(groups);
	SAME(ahs);
	if (at_the_sa) {
		SAME(members);
		SAME(subscriptions);
	}
}

/*
 * Close all interfaces. Each interface must free its HCA objects before its port is closed, because
 * the end of the port would free leaked objects, too, and so hide the leak.
 */
static void close_all(const struct held *before, const char *what)
{
	struct held now;

	for (unsigned int i = 0; i < HOSTS; i++)
		ifc_destroy(&lab.host[i].ifc);
	now = held(&lab);
	SAME(qps);
	SAME(groups);
	SAME(ahs);
	for (unsigned int i = 0; i < HOSTS; i++)
		lab_host_close(&lab.host[i]);
}

/*
 * Send an ARP request from another MAC behind the TAP, so that this MAC becomes a station, with a
 * queue pair of its own.
 */
static void station_asks(struct lab_host *h, uint8_t number)
{
	uint8_t frame[14 + ARP_ETHER_LEN] = { 0xff, 0xff, 0xff, 0xff, 0xff,   0xff, 2,
					      0,    0,	  0,	0,    number, 8,    6 };
	struct arp_pkt a = {
		.hrd = ARP_HRD_ETHER, .pro = 0x0800, .hln = 6, .pln = 4, .op = ARP_OP_REQUEST
	};

	memcpy(a.sha, frame + 6, 6);
	be32_put(a.spa, 0x0a000100u + number);
	be32_put(a.tpa, 0x0a000001u);
	arp_encode(frame + 14, &a);
	lab_frame(h, pkt_from_data(lab.pool, frame, sizeof(frame)));
}

/*
 * Let each interface create every kind of object. When the function returns, the last packets are
 * still held or under way.
 */
static void use_all(void)
{
	uint8_t group[4] = { 239, 1, 1, 0 };

	for (unsigned int i = 0; i < HOSTS; i++) {
		struct lab_host *h = &lab.host[i];

		group[3] = (uint8_t)(i + 1);
		assert_int_equal(ipoib_mcast_add(h->link, IPOIB_IPV4, group, lab.now), 0);
		for (uint8_t n = 0; n < STATIONS; n++)
			station_asks(h, (uint8_t)(16 * i + n));
		lab_send(h, &lab.host[(i + 1) % HOSTS], "x", 1);
	}
	assert_int_equal(ipoib_link_set_router(lab.host[0].link, true, lab.now), 0);
	lab_run(&lab, NS_SEC(10));
	for (unsigned int i = 0; i < HOSTS; i++) {
		for (uint8_t n = 1; n < 20; n++) {
			group[3] = n; /* some of these groups exist, others do not */
			lab_send_group(&lab.host[i], group, "x", 1);
		}
		lab_send(&lab.host[i], &lab.host[(i + 1) % HOSTS], "x", 1);
	}
}

static void end_in_good_order(void)
{
	for (unsigned int i = 0; i < HOSTS; i++) {
		ifc_set_up(&lab.host[i].ifc, false, lab.now);
		ifc_actions(&lab.host[i].ifc, lab.now);
		sac_shutdown(lab.host[i].sac, lab.now);
	}
	lab_run(&lab, NS_SEC(5));
	for (unsigned int i = 0; i < HOSTS; i++)
		assert_true(sac_idle(lab.host[i].sac));
}

static void end_at_once(void)
{
}

static void end_without_sa(void)
{
	lab_sm_stop(&lab);
	for (unsigned int i = 0; i < HOSTS; i++)
		lab_send(&lab.host[i], &lab.host[(i + 2) % HOSTS], "x", 1);
	lab_run(&lab, NS_SEC(1));
}

static void test_H35_every_end_releases_everything(void **state)
{
	static const struct {
		const char *name;
		void (*end)(void);
		bool at_the_sa;
	} ends[] = {
		{ "in good order", end_in_good_order, true },
		{ "at once", end_at_once, false },
		{ "without an SA", end_without_sa, false },
		{ "in good order, again", end_in_good_order, true },
	};
	struct topo *t = topo_gen_demo(HOSTS, 2);
	struct held before, used;

	lab_create(&lab, &(struct lab_cfg){ .topo = t, .seed = 1, .stations = STATIONS });
	topo_free(t);
	for (unsigned int i = 0; i < HOSTS; i++)
		lab_host_close(&lab.host[i]);
	lab_run(&lab, NS_SEC(60));
	before = held(&lab);
	for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
		for (unsigned int i = 0; i < HOSTS; i++)
			lab_host_open(&lab.host[i]);
		lab_wait_up(&lab, all, NS_SEC(60), 0, ends[k].name);
		use_all();
		used = held(&lab);
		assert_true(used.qps >= before.qps + HOSTS * (1 + STATIONS));
		assert_true(used.ahs > before.ahs);
		assert_true(used.groups > before.groups);
		assert_true(used.timers > before.timers);
		assert_true(used.pkts > before.pkts);
		assert_true(used.members > before.members + HOSTS);
		assert_true(used.subscriptions > before.subscriptions);
		ends[k].end();
		close_all(&before, ends[k].name);
		if (!lab.sm)
			lab_sm_start(&lab, NULL, NULL);
		lab_run(&lab, NS_SEC(60));
		assert_released(&before, ends[k].at_the_sa, ends[k].name);
	}
	for (unsigned int i = 0; i < HOSTS; i++)
		lab_host_open(&lab.host[i]);
	lab_destroy(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H35_every_end_releases_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
