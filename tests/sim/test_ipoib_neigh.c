/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "ipoib_rig.h"
#include "util/frame.h"

/*
 * Tests of neighbours and paths: held packets and their order, the back-off, the renewal of a path
 * without loss of packets, and ageing.
 */

static struct ipoib_rig r;

static void test_R48_R50_first_packet_asks_and_is_held(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	assert_int_equal(r.sent[0].tag, 1);
	assert_int_equal(r.sent[0].type, 0x0800); /* R29: type IPv4 */
	assert_int_equal(r.sent[0].len, 68);
	assert_int_equal(r.sent[0].dest_qpn, 0x77); /* R48: QPN of the address */
	assert_int_equal(r.sent[0].qkey, 0x80000b1b); /* Clause R52: Q_Key of the broadcast group */
	assert_int_equal(r.sent[0].attr.dlid, 9);
	/* Clauses R45 and R55: the address handle has the rate of the path */
	assert_int_equal(r.sent[0].attr.rate_code, 3);
	assert_false(r.sent[0].attr.has_grh); /* Clause R33: no GRH within the subnet */
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_SEND);
	assert_int_equal(r.s.sa.path_asks, 1);
	assert_int_equal(r.s.sa.last_path.pkey, RIG_PKEY); /* R53: configured P_Key */
	rig_fini(&r);
}

static void test_I32_held_packets_leave_in_order_before_newer_ones(void **state)
{
	struct ipoib_neigh *n;
	unsigned int tag = 0;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	r.s.sa.delay = NS_MSEC(3);
	r.ah_slow = true;
	n = rig_neigh(&r, 9, 0x77);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(rig_tx_neigh(&r, n, tag++), IPOIB_HELD);
		rig_run(&r, NS_USEC(500));
	}
	/*
	 * The SA has answered, but the CA has not made the address handle yet, so packets are still
	 * held.
	 */
	assert_int_equal(r.nsent, 0);
	assert_int_equal(r.nslow, 1);
	rig_tx_neigh(&r, n, tag++);
	/* The address handle is ready; rig_tx_neigh() must send the held packets first. */
	rig_ah_release(&r);
	for (int i = 0; i < 10; i++)
		assert_int_equal(rig_tx_neigh(&r, n, tag++), IPOIB_SEND);
	assert_int_equal(r.nsent, tag);
	for (unsigned int i = 0; i < tag; i++)
		assert_int_equal(r.sent[i].tag, i);
	rig_fini(&r);
}

static void test_held_packets_are_bounded_and_counted(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	n = rig_neigh(&r, 9, 0x77);
	for (int i = 0; i < IPOIB_HELD_NEIGH; i++)
		assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_HELD);
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_HELD_FULL), 1);
	/* The SA answers that it has no record of this port, so the link drops all held packets. */
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_PATH), IPOIB_HELD_NEIGH);
	assert_int_equal(pkt_pool_pkts_used(r.pool), 0);
	rig_fini(&r);
}

static void test_held_packets_are_bounded_per_link(void **state)
{
	struct ipoib_link_info i;
	int held = 0;

	rig_init_up(&r, 1);
	r.s.sa.deaf = true;
	for (unsigned int p = 0; p < 40; p++)
		for (int k = 0; k < IPOIB_HELD_NEIGH; k++)
			held += rig_tx_neigh(&r, rig_neigh(&r, 100 + p, 0x77), 1) == IPOIB_HELD;
	assert_int_equal(held, IPOIB_HELD_LINK);
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.held, IPOIB_HELD_LINK);
	rig_fini(&r);
}

/*
 * The SA is silent. A held packet must be copied out of its large buffer, and the held packets of
 * one link must not use more than half of the pool.
 */
static void test_I32_held_packets_leave_most_buffers_free(void **state)
{
	static uint8_t data[9000];

	rig_init_up(&r, 1);
	r.s.sa.loss_ppm = 1000000;
	for (unsigned int i = 0; i < 40; i++) {
		struct pkt *p = pkt_from_data(r.pool, data, i < 20 ? 1400 : 9000);
		struct ipoib_tx v = { .pkt = p, .ethertype = 0x0800, .dst = IPOIB_DST_NEIGH };

		assert_non_null(p); /* a buffer is still free */
		frame_info(p)->gso = i < 20 ? FRAME_GSO_NONE : FRAME_GSO_TCP4;
		v.neigh = rig_neigh(&r, 9, 0x77);
		assert_int_equal(rig_tx(&r, &v), i < 28 ? IPOIB_HELD : IPOIB_DROP);
		if (i < 20)
			assert_int_equal(pkt_pool_bufs_used(r.pool), 0);
	}
	assert_int_equal(pkt_pool_bufs_used(r.pool), 8); /* half of the pool's 16 buffers */
	rig_fini(&r);
}

static void test_I32_failed_path_backs_off_not_a_query_per_packet(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	n = rig_neigh(&r, 9, 0x77);
	for (int i = 0; i < 3000; i++) {
		rig_tx_neigh(&r, n, 1);
		rig_run(&r, NS_MSEC(10));
	}
	/*
	 * Four to six requests are sent in 30 s, because the pauses between them are 1, 2, 4, 8,
	 * ... s.
	 */
	assert_in_range(r.s.sa.path_asks, 4, 6);
	assert_true(rig_drops(&r, IPOIB_DROP_NO_PATH) == 3000);
	/* The peer's port comes up. Trap 64 (GID in service) must end the back-off. */
	rig_peer(&r, 9);
	sa_report(&r.s.sa, MAD_TRAP_GID_IN_SERVICE, &n->lladdr.gid, r.s.now);
	assert_int_equal(rig_tx_neigh(&r, n, 7), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	rig_fini(&r);
}

static unsigned int lines;
static bool left_out; /* true: a log line has given the number of lines that were left out */

static void count_line(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (lvl > LOG_LVL_INFO || !strstr(text, "path to"))
		return;
	lines++;
	left_out |= strstr(text, "such lines were left out") != NULL;
}

/*
 * An attacker can send from ever new GIDs, to which the SA has no path. Without -v, the refused
 * paths must not fill the log.
 */
static void test_paths_that_are_refused_do_not_fill_the_log(void **state)
{
	struct log_sink sink = { .emit = count_line, .max = LOG_LVL_INFO };
	struct ipoib_link_cfg cfg = { .log = &sink };

	lines = 0;
	rig_init_cfg(&r, &cfg, 1);
	rig_up(&r);
	for (unsigned int i = 0; i < 1000; i++) {
		rig_tx_neigh(&r, rig_neigh(&r, 100 + i, 0x77), 1);
		rig_run(&r, NS_MSEC(20));
	}
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_PATH), 1000);
	assert_in_range(lines, IPOIB_PATH_LINES + 1,
			IPOIB_PATH_LINES + NS_SEC(20) / IPOIB_PATH_LINES_EVERY + 1);
	assert_true(left_out);
	rig_fini(&r);
}

/*
 * The packets that a link holds back use at most IPOIB_HELD_OCTETS octets of large buffers, however
 * large the pool is.
 */
static void test_I32_held_octets_are_bounded(void **state)
{
	static uint8_t data[60000];
	struct pkt_pool *big = pkt_pool_create(4096, 256);
	unsigned int held = 0;

	rig_init_up(&r, 1);
	r.s.sa.loss_ppm = 1000000;
	for (unsigned int i = 0; i < 100; i++) {
		struct ipoib_tx v = { .ethertype = 0x0800, .dst = IPOIB_DST_NEIGH };

		v.pkt = pkt_from_data(big, data, sizeof(data));
		assert_non_null(v.pkt);
		frame_info(v.pkt)->gso = FRAME_GSO_TCP4;
		v.neigh = rig_neigh(&r, 100 + i, 0x77);
		held += rig_tx(&r, &v) == IPOIB_HELD;
	}
	assert_true(held > 0 && held * (uint64_t)PKT_BUF_SIZE <= IPOIB_HELD_OCTETS);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_HELD_FULL), 100 - held);
	rig_fini(&r);
	pkt_pool_destroy(big);
}

static void test_two_qpns_of_a_port_share_path_and_handle(void **state)
{
	struct ipoib_neigh *a, *b;
	unsigned int ahs;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	ahs = r.nah;
	a = rig_neigh(&r, 9, 0x77);
	b = rig_neigh(&r, 9, 0x78);
	assert_ptr_not_equal(a, b);
	rig_tx_neigh(&r, a, 1);
	rig_tx_neigh(&r, b, 2);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.s.sa.path_asks, 1);
	assert_int_equal(r.nah, ahs + 1);
	assert_int_equal(r.sent[0].dest_qpn, 0x77);
	assert_int_equal(r.sent[1].dest_qpn, 0x78);
	rig_fini(&r);
}

static void test_path_is_renewed_without_loss_after_sm_restart(void **state)
{
	struct ipoib_neigh *n;
	struct sa_path *p;

	rig_init_up(&r, 1);
	p = rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	p->dlid = 19; /* the SM gives the peer another LID */
	sac_reregister(r.s.sac, r.s.now);
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_SEND); /* with the old address handle */
	assert_int_equal(r.sent[1].attr.dlid, 9);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_SEND);
	assert_int_equal(r.sent[2].attr.dlid, 19);
	assert_int_equal(r.s.sa.path_asks, 2);
	assert_int_equal(ipoib_link_stats(r.link)->paths_refreshed, 1);
	rig_fini(&r);
}

static void test_path_is_verified_when_it_expires(void **state)
{
	struct ipoib_neigh *n;
	unsigned int ahs;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	ahs = r.nah;
	for (int i = 0; i < 700; i++) { /* one iteration for each second */
		assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_SEND);
		rig_run(&r, NS_SEC(1));
	}
	assert_int_equal(r.s.sa.path_asks, 3);
	/* the SA gave the same answer, so the link keeps the address handle */
	assert_int_equal(r.nah, ahs);
	rig_fini(&r);
}

static void test_silent_sa_does_not_end_what_works(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	r.s.sa.deaf = true;
	sac_reregister(r.s.sac, r.s.now);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_SEND);
		rig_run(&r, NS_SEC(1));
	}
	rig_fini(&r);
}

static void test_trap_65_and_refusal_end_a_path(void **state)
{
	struct ipoib_neigh *n;
	struct sa_path *p;

	rig_init_up(&r, 1);
	p = rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	p->refuse = SA_STATUS_NO_RECORDS;
	sa_report(&r.s.sa, MAD_TRAP_GID_OUT_OF_SERVICE, &n->lladdr.gid, r.s.now);
	rig_tx_neigh(&r, n, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_DROP);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_PATH), 1);
	rig_fini(&r);
}

static void test_port_down_resets_paths(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	r.s.sa.deaf = true;
	rig_tx_neigh(&r, rig_neigh(&r, 10, 0x77), 1);
	r.port.state = IB_PORT_DOWN;
	rig_port(&r);
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_PATH), 1); /* the held packet */
	r.s.sa.deaf = false;
	r.port.state = IB_PORT_ACTIVE;
	rig_port(&r);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sent[1].tag, 2);
	rig_fini(&r);
}

static void test_refused_address_handle_drops_and_backs_off(void **state)
{
	struct ipoib_neigh *n;
	unsigned int asked;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	r.ah_err = -ENOMEM;
	asked = r.acts[IPOIB_ACT_AH_CREATE];
	for (int i = 0; i < 3000; i++) {
		rig_tx_neigh(&r, n, 1);
		rig_run(&r, NS_MSEC(10));
	}
	assert_int_equal(rig_drops(&r, IPOIB_DROP_NO_AH), 3000);
	assert_in_range(r.acts[IPOIB_ACT_AH_CREATE] - asked, 4, 6);
	r.ah_err = 0;
	rig_run(&r, NS_SEC(17));
	rig_tx_neigh(&r, n, 2);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	rig_fini(&r);
}

static void test_late_answer_to_an_old_handle_request_is_given_back(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	r.ah_slow = true;
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nslow, 1);
	ipoib_link_set_admin(r.link, false, r.s.now);
	rig_drain(&r);
	rig_ah_release(&r);
	rig_drain(&r);
	rig_fini(&r); /* asserts that the address handle was destroyed */
}

static void test_handle_of_an_overtaken_answer_is_not_taken(void **state)
{
	struct ipoib_neigh *n;
	struct sa_path *p;

	rig_init_up(&r, 1);
	p = rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	r.ah_slow = true;
	p->dlid = 19;
	sac_reregister(r.s.sac, r.s.now);
	rig_tx_neigh(&r, n, 1);
	rig_run(&r, NS_MSEC(1)); /* the address handle for LID 19 is requested */
	p->dlid = 29;
	sac_reregister(r.s.sac, r.s.now);
	rig_ah_release(&r); /* the answer comes too late */
	rig_drain(&r);
	r.ah_slow = false;
	rig_tx_neigh(&r, n, 2);
	rig_run(&r, NS_MSEC(1));
	rig_tx_neigh(&r, n, 3);
	assert_int_equal(r.nsent, 4);
	assert_int_equal(r.sent[3].attr.dlid, 29);
	rig_fini(&r);
}

static void test_changed_path_replaces_one_that_waits_for_its_handle(void **state)
{
	struct ipoib_neigh *n;
	struct sa_path *p;

	rig_init_up(&r, 1);
	p = rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	r.ah_slow = true;
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1)); /* the address handle for LID 9 is requested */
	p->dlid = 19;
	sa_report(&r.s.sa, MAD_TRAP_GID_IN_SERVICE, &n->lladdr.gid, r.s.now);
	rig_drain(&r);
	r.ah_slow = false;
	rig_ah_release(&r);
	rig_run(&r, NS_MSEC(1));
	rig_tx_neigh(&r, n, 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 2);
	assert_int_equal(r.sent[0].attr.dlid, 19);
	assert_int_equal(r.sent[1].attr.dlid, 19);
	rig_fini(&r);
}

static void test_R33_other_subnet_gets_a_grh(void **state)
{
	struct ipoib_lladdr a = { .qpn = 0x77, .gid = ib_gid_of(0xfec0000000000001ull, 0x1234) };
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	sa_path_add(&r.s.sa, &a.gid, 30);
	n = ipoib_neigh_get(r.link, &a, r.s.now);
	rig_tx_neigh(&r, n, 0);
	rig_run(&r, NS_MSEC(1));
	assert_true(r.sent[0].attr.has_grh);
	assert_memory_equal(&r.sent[0].attr.dgid, &a.gid, 16);
	rig_fini(&r);
}

static void test_addresses_that_are_none_make_no_neighbour(void **state)
{
	struct ipoib_lladdr a = { .qpn = 0x77, .gid = rig_bcast() };

	rig_init_up(&r, 1);
	assert_null(ipoib_neigh_get(r.link, &a, r.s.now));
	a.gid = peer_gid(9);
	a.qpn = 1;
	assert_null(ipoib_neigh_get(r.link, &a, r.s.now));
	a.qpn = 0xffffff;
	assert_null(ipoib_neigh_get(r.link, &a, r.s.now));
	a.qpn = 0x77;
	/*
	 * Clauses C1 and R74: a link-layer address that differs only in its flag bits (RFC 4755)
	 * belongs to the same neighbour.
	 */
	a.flags = 0x80;
	assert_ptr_equal(ipoib_neigh_get(r.link, &a, r.s.now), rig_neigh(&r, 9, 0x77));
	rig_fini(&r);
}

static void test_idle_neighbours_expire_held_ones_by_consent(void **state)
{
	struct ipoib_neigh *free_one, *held, *busy;
	struct ipoib_link_info i;

	rig_init_up(&r, 1);
	rig_peer(&r, 11);
	free_one = rig_neigh(&r, 9, 0x77);
	held = rig_neigh(&r, 10, 0x77);
	busy = rig_neigh(&r, 11, 0x77);
	(void)free_one;
	ipoib_neigh_hold(held);
	for (int s = 0; s < 620; s++) {
		rig_tx_neigh(&r, busy, 1);
		r.nsent = 0;
		rig_run(&r, NS_SEC(1));
	}
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.neighs, 2);
	assert_ptr_equal(r.gone, held);
	assert_int_equal(r.acts[IPOIB_ACT_NEIGH_GONE], 1);
	ipoib_neigh_put(held);
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.neighs, 1);
	assert_int_equal(i.paths, 1);
	rig_fini(&r);
}

static void test_neighbour_used_again_is_not_given_up(void **state)
{
	struct ipoib_action a;
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	n = rig_neigh(&r, 10, 0x77);
	ipoib_neigh_hold(n);
	rig_run(&r, IPOIB_NEIGH_IDLE - NS_SEC(1));
	/*
	 * The periodic sweep of old neighbours has queued the action NEIGH_GONE. Before the owner
	 * fetches this action, the neighbour is used again, so it must stay.
	 */
	while (!n->dying) {
		r.s.now = timers_next(&r.s.timers);
		timers_run(&r.s.timers, r.s.now);
	}
	assert_ptr_equal(rig_neigh(&r, 10, 0x77), n);
	while (!ipoib_next_action(r.link, &a))
		assert_int_not_equal(a.type, IPOIB_ACT_NEIGH_GONE);
	assert_false(n->dying);
	ipoib_neigh_put(n);
	rig_fini(&r);
}

static void test_full_table_makes_room_by_the_unused(void **state)
{
	struct ipoib_link_info i;
	struct ipoib_lladdr a;

	rig_init_up(&r, 1);
	for (unsigned int k = 0; k < IPOIB_NEIGH_DEFAULT; k++)
		rig_neigh(&r, 100 + k, 0x77);
	a = (struct ipoib_lladdr){ .qpn = 0x77, .gid = peer_gid(50) };
	/* No entry can be replaced, because all of them were just used. */
	assert_null(ipoib_neigh_get(r.link, &a, r.s.now));
	assert_int_equal(ipoib_link_stats(r.link)->neigh_full, 1);
	rig_run(&r, 2 * IPOIB_SWEEP);
	assert_non_null(ipoib_neigh_get(r.link, &a, r.s.now));
	ipoib_link_info(r.link, &i);
	assert_int_equal(i.neighs, IPOIB_NEIGH_DEFAULT);
	rig_fini(&r);
}

static void test_H24_probe_asks_before_the_first_packet(void **state)
{
	struct ipoib_neigh *n;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	n = rig_neigh(&r, 9, 0x77);
	ipoib_neigh_probe(n, r.s.now);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_SEND);
	rig_fini(&r);
}

static int listed;

static void list_one(void *ctx, const struct ipoib_neigh_info *i)
{
	listed++;
	assert_int_equal(i->state, IPOIB_PATH_READY);
	assert_int_equal(i->rec.dlid, 9);
	assert_string_equal(ipoib_path_state_name(i->state), "ready");
}

static void count_one(void *ctx, const struct ipoib_neigh_info *i)
{
	++*(unsigned int *)ctx;
}

static void test_neighbours_are_listed_in_pieces(void **state)
{
	unsigned int n = 0;
	uint32_t at = 0;

	rig_init_up(&r, 1);
	assert_false(ipoib_neigh_some(r.link, &at, 10, count_one, &n));
	for (unsigned int k = 0; k < 25; k++)
		rig_neigh(&r, 100 + k, 0x77);
	assert_true(ipoib_neigh_some(r.link, &at, 10, count_one, &n));
	assert_int_equal(n, 10);
	assert_true(ipoib_neigh_some(r.link, &at, 10, count_one, &n));
	assert_false(ipoib_neigh_some(r.link, &at, 10, count_one, &n));
	assert_int_equal(n, 25);
	assert_false(ipoib_neigh_some(r.link, &at, 10, count_one, &n));
	assert_int_equal(n, 25);
	rig_fini(&r);
}

static void test_neighbours_are_listed(void **state)
{
	uint32_t at = 0;

	rig_init_up(&r, 1);
	rig_peer(&r, 9);
	rig_tx_neigh(&r, rig_neigh(&r, 9, 0x77), 1);
	rig_run(&r, NS_MSEC(1));
	listed = 0;
	assert_false(ipoib_neigh_some(r.link, &at, UINT32_MAX, list_one, NULL));
	assert_int_equal(listed, 1);
	rig_fini(&r);
}

static void test_lossy_sa_loses_no_packet_and_keeps_order(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct ipoib_neigh *n[4];
		unsigned int tags[4] = { 0 }, next[4] = { 0 };
		struct prng rng;

		prng_seed(&rng, seed);
		rig_init(&r, seed);
		r.s.sa.loss_ppm = 200000;
		ipoib_link_set_admin(r.link, true, r.s.now);
		rig_run(&r, NS_SEC(20));
		for (unsigned int i = 0; i < 4; i++) {
			rig_peer(&r, 20 + i);
			n[i] = rig_neigh(&r, 20 + i, 0x100);
		}
		for (int step = 0; step < 200; step++) {
			unsigned int i = prng_below(&rng, 4);

			rig_tx_neigh(&r, n[i], i << 24 | tags[i]++);
			if (prng_below(&rng, 40) == 0)
				sac_reregister(r.s.sac, r.s.now);
			rig_run(&r, NS_MSEC(prng_below(&rng, 5)));
		}
		rig_run(&r, NS_SEC(60));
		for (unsigned int k = 0; k < r.nsent; k++) {
			unsigned int i = r.sent[k].tag >> 24;

			if ((r.sent[k].tag & 0xffffff) != next[i]++)
				fail_msg("seed %llu: order", (unsigned long long)seed);
		}
		assert_int_equal(r.nsent + rig_drops(&r, IPOIB_DROP_HELD_FULL) +
					 rig_drops(&r, IPOIB_DROP_NO_PATH),
				 200);
		if (r.nsent != 200)
			fail_msg("seed %llu: %u of 200", (unsigned long long)seed, r.nsent);
		rig_fini(&r);
	}
}

static void says_qkey(struct ipoib_neigh *n, uint32_t qkey)
{
	const struct nd_port a = { .has_qkey = true, .qkey = qkey };

	assert_int_equal(ipoib_neigh_said(n, n, &a), 0);
}

/*
 * In some profiles neighbours advertise a Q_Key. If a neighbour has not advertised a Q_Key, packets
 * to it have the Q_Key of the link.
 */
static void test_packets_have_the_qkey_that_the_neighbour_has_said(void **state)
{
	struct ipoib_neigh *n, *other;

	rig_init_up(&r, 1);
	rig_peer(&r, 7);
	n = rig_neigh(&r, 7, 0x77);
	other = rig_neigh(&r, 7, 0x78);
	says_qkey(n, 0x1234);
	assert_int_equal(rig_tx_neigh(&r, n, 1), IPOIB_HELD);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(rig_tx_neigh(&r, n, 2), IPOIB_SEND);
	assert_int_equal(rig_tx_neigh(&r, other, 3), IPOIB_SEND);
	says_qkey(n, 0);
	assert_int_equal(rig_tx_neigh(&r, n, 4), IPOIB_SEND);
	assert_int_equal(r.nsent, 4);
	assert_int_equal(r.sent[0].qkey, 0x1234);
	assert_int_equal(r.sent[1].qkey, 0x1234);
	assert_int_equal(r.sent[2].qkey, r.qp_qkey);
	assert_int_equal(r.sent[3].qkey, 0);
	rig_fini(&r);
}

/*
 * The administrator creates the broadcast group again with another Q_Key. A neighbour that
 * advertised the group's former Q_Key must get packets with the new Q_Key. A neighbour that
 * advertised a different Q_Key must get packets with this advertised Q_Key as before.
 */
static void test_V14_qkey_of_the_group_that_was_said_before_it_changed_is_forgotten(void **state)
{
	static const uint32_t former[] = { 0x80000b1b, 0x0b1b };
	ib_gid bcast = rig_bcast();

	for (unsigned int i = 0; i < 2; i++) {
		struct ipoib_neigh *n, *own;

		rig_init(&r, 1);
		sa_group_find(&r.s.sa, &bcast)->rec.qkey = former[i];
		rig_up(&r);
		rig_peer(&r, 7);
		n = rig_neigh(&r, 7, 0x77);
		own = rig_neigh(&r, 7, 0x78);
		says_qkey(n, former[i]);
		says_qkey(own, 0x5678);
		sa_group_find(&r.s.sa, &bcast)->rec.qkey = 0x80001234;
		sa_group_find(&r.s.sa, &bcast)->have = 0;
		sa_report(&r.s.sa, MAD_TRAP_MC_DELETED, &bcast, r.s.now);
		rig_run(&r, NS_SEC(3));
		assert_int_equal(r.qp_qkey, 0x80001234);
		rig_tx_neigh(&r, n, 1);
		rig_run(&r, NS_MSEC(1));
		rig_tx_neigh(&r, own, 2);
		rig_run(&r, NS_MSEC(1));
		assert_int_equal(r.nsent, 2);
		assert_int_equal(r.sent[0].qkey, 0x80001234);
		assert_int_equal(r.sent[1].qkey, 0x5678);
		rig_fini(&r);
	}
}

static void test_what_a_neighbour_discovery_option_can_say(void **state)
{
	struct ipoib_lladdr own = { .qpn = 0x1000, .gid = peer_gid(RIG_LID) };
	struct ipoib_lladdr peer = { .qpn = 0x77, .gid = peer_gid(7) };
	struct ipoib_neigh *n;
	struct nd_port p;

	rig_init_up(&r, 1);
	rig_peer(&r, 7);
	p = ipoib_nd_port(r.link, &own); /* a station's address */
	assert_int_equal(p.lid, RIG_LID);
	assert_int_equal(p.lladdr.qpn, 0x1000);
	assert_true(p.has_qkey);
	assert_int_equal(p.qkey, r.qp_qkey);
	p = ipoib_nd_port(r.link, &peer);
	assert_int_equal(p.lid, 0); /* not known yet */
	n = rig_neigh(&r, 7, 0x77);
	says_qkey(n, 0x1234);
	rig_tx_neigh(&r, n, 1);
	rig_run(&r, NS_MSEC(1));
	p = ipoib_nd_port(r.link, &peer);
	assert_int_equal(p.lid, 7);
	assert_int_equal(p.qkey, 0x1234);
	rig_fini(&r);
}

/*
 * Bring a link up, with a path of SL 3 and a broadcast group of SL 5. Returns the SL of a unicast
 * packet.
 */
static uint8_t begin_with_sl(enum ipoib_sl_from from)
{
	struct ipoib_link_cfg cfg = { .sl_from = from, .sl = 9 };
	ib_gid bcast = rig_bcast();

	rig_init_cfg(&r, &cfg, 1);
	sa_group_find(&r.s.sa, &bcast)->rec.sl = 5;
	rig_up(&r);
	rig_peer(&r, 7)->sl = 3;
	rig_tx_neigh(&r, rig_neigh(&r, 7, 0x77), 1);
	rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.nsent, 1);
	return r.sent[0].attr.sl;
}

static void test_sl_of_unicasts_is_from_where_the_configuration_says(void **state)
{
	static const struct {
		enum ipoib_sl_from from;
		uint8_t sl;
	} c[] = {
		{ IPOIB_SL_DEFAULT, 3 },
		{ IPOIB_SL_PATH, 3 },
		{ IPOIB_SL_GROUP, 5 },
		{ IPOIB_SL_FIXED, 9 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		assert_int_equal(begin_with_sl(c[i].from), c[i].sl);
		/*
		 * Multicast packets must have the SL of their group, whatever the SL of unicasts
		 * comes from.
		 */
		assert_int_equal(rig_tx_group(&r, 0xffffffff, 2), IPOIB_SEND);
		assert_int_equal(r.sent[1].attr.sl, 5);
		rig_fini(&r);
	}
}

static void test_sl_of_unicasts_follows_the_groups(void **state)
{
	ib_gid bcast = rig_bcast();
	struct ipoib_neigh *n;

	assert_int_equal(begin_with_sl(IPOIB_SL_GROUP), 5);
	n = rig_neigh(&r, 7, 0x77);
	sa_group_find(&r.s.sa, &bcast)->rec.sl = 6;
	/*
	 * The SM deletes the broadcast group and creates it again with another SL, so the link
	 * joins again.
	 */
	sa_report(&r.s.sa, MAD_TRAP_MC_DELETED, &bcast, r.s.now);
	rig_run(&r, NS_SEC(1));
	/*
	 * This packet makes the link ask the SA for the path again, but is sent at once, by the old
	 * path.
	 */
	rig_tx_neigh(&r, n, 2);
	rig_run(&r, NS_SEC(1));
	rig_tx_neigh(&r, n, 3);
	assert_int_equal(r.sent[r.nsent - 1].attr.sl, 6);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R48_R50_first_packet_asks_and_is_held),
		cmocka_unit_test(test_I32_held_packets_leave_in_order_before_newer_ones),
		cmocka_unit_test(test_held_packets_are_bounded_and_counted),
		cmocka_unit_test(test_held_packets_are_bounded_per_link),
		cmocka_unit_test(test_I32_held_packets_leave_most_buffers_free),
		cmocka_unit_test(test_I32_failed_path_backs_off_not_a_query_per_packet),
		cmocka_unit_test(test_paths_that_are_refused_do_not_fill_the_log),
		cmocka_unit_test(test_I32_held_octets_are_bounded),
		cmocka_unit_test(test_two_qpns_of_a_port_share_path_and_handle),
		cmocka_unit_test(test_path_is_renewed_without_loss_after_sm_restart),
		cmocka_unit_test(test_path_is_verified_when_it_expires),
		cmocka_unit_test(test_silent_sa_does_not_end_what_works),
		cmocka_unit_test(test_trap_65_and_refusal_end_a_path),
		cmocka_unit_test(test_port_down_resets_paths),
		cmocka_unit_test(test_refused_address_handle_drops_and_backs_off),
		cmocka_unit_test(test_late_answer_to_an_old_handle_request_is_given_back),
		cmocka_unit_test(test_handle_of_an_overtaken_answer_is_not_taken),
		cmocka_unit_test(test_changed_path_replaces_one_that_waits_for_its_handle),
		cmocka_unit_test(test_R33_other_subnet_gets_a_grh),
		cmocka_unit_test(test_addresses_that_are_none_make_no_neighbour),
		cmocka_unit_test(test_idle_neighbours_expire_held_ones_by_consent),
		cmocka_unit_test(test_neighbour_used_again_is_not_given_up),
		cmocka_unit_test(test_full_table_makes_room_by_the_unused),
		cmocka_unit_test(test_H24_probe_asks_before_the_first_packet),
		cmocka_unit_test(test_neighbours_are_listed_in_pieces),
		cmocka_unit_test(test_neighbours_are_listed),
		cmocka_unit_test(test_lossy_sa_loses_no_packet_and_keeps_order),
		cmocka_unit_test(test_packets_have_the_qkey_that_the_neighbour_has_said),
		cmocka_unit_test(
			test_V14_qkey_of_the_group_that_was_said_before_it_changed_is_forgotten),
		cmocka_unit_test(test_what_a_neighbour_discovery_option_can_say),
		cmocka_unit_test(test_sl_of_unicasts_is_from_where_the_configuration_says),
		cmocka_unit_test(test_sl_of_unicasts_follows_the_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
