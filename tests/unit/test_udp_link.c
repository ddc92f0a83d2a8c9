/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <string.h>

#include "udp/link.h"
#include "crc/crc.h"
#include "wire/ib_hdr.h"

/* Tests the state machine of a link over UDP, on virtual time (doc/udp-link.md). */

#define T0 NS_SEC(1000)

static const struct ip_endpoint peer = { .family = 4, .port = 5001, .addr = { 127, 0, 0, 1 } };
static const struct ip_endpoint other_port = { .family = 4,
					       .port = 5002,
					       .addr = { 127, 0, 0, 1 } };
static const struct ip_endpoint other_addr = { .family = 4,
					       .port = 5001,
					       .addr = { 127, 0, 0, 2 } };
static const struct ip_endpoint v6 = { .family = 6, .port = 5001, .addr = { 127, 0, 0, 1 } };

struct rig {
	struct udp_link l;
	struct timers ts;
	ns_t now;
	unsigned int keepalives, carriers;
	ns_t last_keepalive;
	struct ip_endpoint to;
	bool up, stop_on_up;
};

static void on_keepalive(void *ctx, const struct ip_endpoint *to, ns_t now)
{
	struct rig *r = ctx;

	r->keepalives++;
	r->last_keepalive = now;
	r->to = *to;
}

static void on_carrier(void *ctx, bool up, ns_t now)
{
	struct rig *r = ctx;

	assert_int_not_equal(r->up, up);
	r->up = up;
	r->carriers++;
	if (up && r->stop_on_up)
		udp_link_want(&r->l, false, now);
}

static const struct udp_link_ops ops = { .keepalive = on_keepalive, .carrier = on_carrier };

static void start(struct rig *r, const struct ip_endpoint *p, ns_t now)
{
	memset(r, 0, sizeof(*r));
	timers_init(&r->ts);
	r->now = now;
	udp_link_init(&r->l, &r->ts, p, &ops, r, now);
}

static void finish(struct rig *r)
{
	udp_link_fini(&r->l);
	assert_int_equal(timers_next(&r->ts), NS_NEVER);
	timers_fini(&r->ts);
}

/* Let time pass until @t, and run each timer at its own deadline. */
static void until(struct rig *r, ns_t t)
{
	ns_t next;

	while ((next = timers_next(&r->ts)) <= t) {
		r->now = next;
		timers_run(&r->ts, next);
	}
	r->now = t;
}

static size_t packet(uint8_t *b, size_t payload)
{
	size_t len = IB_LRH_LEN + IB_BTH_LEN + payload + IB_ICRC_LEN + IB_VCRC_LEN;
	uint16_t crc;

	memset(b, 0x5a, len);
	b[0] = 0;
	b[1] = IB_LNH_LOCAL;
	be16_put(b + 4, (uint16_t)((len - IB_VCRC_LEN) / 4));
	crc = crc_vcrc(b, len - IB_VCRC_LEN);
	b[len - 2] = (uint8_t)crc;
	b[len - 1] = (uint8_t)(crc >> 8);
	return len;
}

static enum udp_drop hear(struct rig *r, const struct ip_endpoint *from)
{
	return udp_link_rx(&r->l, from, NULL, 0, r->now);
}

static void start_up(struct rig *r)
{
	start(r, &peer, T0);
	until(r, T0 + UDP_LINK_SILENCE);
	assert_int_equal(hear(r, &peer), UDP_DROP_NONE);
	assert_int_equal(r->l.state, UDP_LINK_UP);
}

static void test_silent_and_deaf_for_4_s_after_its_start(void **state)
{
	struct rig r;

	start(&r, &peer, T0);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	until(&r, T0 + NS_SEC(4) - 1);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	assert_int_equal(hear(&r, &peer), UDP_DROP_SILENT);
	assert_int_equal(r.keepalives, 0);
	until(&r, T0 + NS_SEC(4));
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	assert_int_equal(r.keepalives, 1);
	assert_false(r.up);
	assert_int_equal(r.l.stats.drops[UDP_DROP_SILENT], 1);
	finish(&r);
}

/*
 * If both ends have just started, the link omits its first silence, because no peer has to notice
 * that the link has dropped. The link does not omit later silences.
 */
static void test_fresh_listens_at_once_and_is_silent_for_4_s_later(void **state)
{
	struct rig r;

	start(&r, &peer, T0);
	udp_link_fresh(&r.l, r.now);
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	assert_int_equal(r.keepalives, 1);
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	assert_true(r.up);
	until(&r, T0 + NS_SEC(3));
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	assert_true(r.l.timed_out);
	until(&r, T0 + NS_SEC(7) - 1);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	until(&r, T0 + NS_SEC(7));
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	finish(&r);
}

static void test_keepalive_every_second_to_a_configured_peer(void **state)
{
	struct rig r;

	start(&r, &peer, T0);
	for (unsigned int i = 0; i < 10; i++) {
		until(&r, T0 + NS_SEC(4 + i));
		assert_int_equal(r.keepalives, i + 1);
		assert_int_equal(r.last_keepalive, T0 + NS_SEC(4 + i));
		assert_true(ip_endpoint_equal(&r.to, &peer));
		until(&r, T0 + NS_SEC(5 + i) - 1);
		assert_int_equal(r.keepalives, i + 1);
	}
	assert_int_equal(r.l.stats.tx_keepalives, 10);
	finish(&r);
}

static void test_traffic_replaces_no_keepalive(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, 64);
	unsigned int before;
	struct rig r;

	start_up(&r);
	before = r.keepalives;
	for (unsigned int i = 1; i <= 50; i++) {
		until(&r, T0 + NS_SEC(4) + i * NS_MSEC(100));
		assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
		udp_link_sent(&r.l, 1, len);
	}
	assert_int_equal(r.keepalives, before + 5);
	assert_int_equal(r.l.stats.tx_packets, 50);
	assert_int_equal(r.l.stats.rx_packets, 50);
	assert_int_equal(r.l.stats.rx_octets, 50 * len);
	finish(&r);
}

static void test_up_by_the_first_valid_thing_and_says_so_at_once(void **state)
{
	struct rig r;

	start(&r, &peer, T0);
	until(&r, T0 + NS_MSEC(4300));
	assert_int_equal(r.keepalives, 1);
	assert_null(udp_link_peer(&r.l));
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	assert_true(r.up);
	assert_true(ip_endpoint_equal(udp_link_peer(&r.l), &peer));
	assert_int_equal(r.keepalives, 2);
	assert_int_equal(r.last_keepalive, T0 + NS_MSEC(4300));
	finish(&r);
}

static void test_down_exactly_3_s_after_the_last_was_heard(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, 0);
	struct rig r;

	start_up(&r);
	until(&r, T0 + NS_SEC(7) - 1);
	assert_true(r.up);
	/*
	 * A packet that arrives one nanosecond before the time-out must restart the time-out, as a
	 * keepalive does.
	 */
	assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
	until(&r, T0 + NS_SEC(10) - 2);
	assert_true(r.up);
	until(&r, T0 + NS_SEC(10) - 1);
	assert_false(r.up);
	assert_int_equal(r.l.stats.ups, 1);
	assert_int_equal(r.l.stats.downs, 1);
	assert_null(udp_link_peer(&r.l));
	finish(&r);
}

static void test_silent_and_deaf_for_4_s_after_a_time_out(void **state)
{
	unsigned int before;
	struct rig r;

	/*
	 * Perhaps the peer still receives this end's datagrams. This end is silent for 4 s, so that
	 * the peer notices that the link has dropped.
	 */
	start_up(&r);
	until(&r, T0 + NS_SEC(7));
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	before = r.keepalives;
	until(&r, T0 + NS_SEC(11) - 1);
	assert_int_equal(hear(&r, &peer), UDP_DROP_SILENT);
	assert_int_equal(r.keepalives, before);
	until(&r, T0 + NS_SEC(11));
	assert_int_equal(r.keepalives, before + 1);
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	assert_true(r.up);
	finish(&r);
}

static void test_invalid_and_stray_datagrams_keep_no_link_up(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, 8);
	struct rig r;

	b[9] ^= 1;
	start_up(&r);
	for (unsigned int i = 1; i < 30; i++) {
		until(&r, T0 + NS_SEC(4) + i * NS_MSEC(100));
		assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_VCRC);
		assert_int_equal(hear(&r, &other_port), UDP_DROP_STRAY_PORT);
	}
	until(&r, T0 + NS_SEC(7));
	assert_false(r.up);
	assert_int_equal(r.l.stats.drops[UDP_DROP_VCRC], 29);
	assert_int_equal(r.l.stats.drops[UDP_DROP_STRAY_PORT], 29);
	finish(&r);
}

static void test_strays_by_address_port_and_family(void **state)
{
	struct rig r;

	start(&r, &peer, T0);
	until(&r, T0 + NS_SEC(4));
	assert_int_equal(hear(&r, &other_addr), UDP_DROP_STRAY_ADDR);
	assert_int_equal(hear(&r, &other_port), UDP_DROP_STRAY_PORT);
	assert_int_equal(hear(&r, &v6), UDP_DROP_STRAY_ADDR);
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	assert_int_equal(hear(&r, &other_addr), UDP_DROP_STRAY_ADDR);
	assert_int_equal(hear(&r, &other_port), UDP_DROP_STRAY_PORT);
	assert_true(ip_endpoint_equal(udp_link_peer(&r.l), &peer));
	assert_int_equal(r.l.stats.drops[UDP_DROP_STRAY_ADDR], 3);
	assert_int_equal(r.l.stats.drops[UDP_DROP_STRAY_PORT], 2);
	finish(&r);
}

static void test_peer_is_learnt_from_the_first_valid_and_forgotten_with_the_link(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, 8);
	struct rig r;

	start(&r, NULL, T0);
	until(&r, T0 + NS_SEC(20));
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	assert_int_equal(r.keepalives, 0);
	/* Until a peer is known, the link needs no timer. */
	assert_int_equal(timers_next(&r.ts), NS_NEVER);
	b[20] ^= 1;
	assert_int_equal(udp_link_rx(&r.l, &other_addr, b, len, r.now), UDP_DROP_VCRC);
	assert_false(r.up);
	b[20] ^= 1;
	assert_int_equal(udp_link_rx(&r.l, &other_port, b, len, r.now), UDP_DROP_NONE);
	assert_true(ip_endpoint_equal(udp_link_peer(&r.l), &other_port));
	assert_int_equal(r.keepalives, 1);
	assert_int_equal(hear(&r, &peer), UDP_DROP_STRAY_PORT);
	until(&r, T0 + NS_SEC(23));
	assert_false(r.up);
	until(&r, T0 + NS_SEC(27));
	assert_int_equal(timers_next(&r.ts), NS_NEVER);
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	assert_true(ip_endpoint_equal(udp_link_peer(&r.l), &peer));
	finish(&r);
}

static void test_told_down_it_is_silent_and_deaf_for_4_s(void **state)
{
	struct rig r;
	unsigned int before;

	start_up(&r);
	until(&r, T0 + NS_MSEC(5500));
	before = r.keepalives;
	udp_link_want(&r.l, false, r.now);
	assert_int_equal(r.l.state, UDP_LINK_OFF);
	assert_false(r.up);
	assert_false(r.l.timed_out);
	udp_link_want(&r.l, true, r.now);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	assert_int_equal(hear(&r, &peer), UDP_DROP_SILENT);
	until(&r, T0 + NS_MSEC(9500) - 1);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	assert_int_equal(r.keepalives, before);
	until(&r, T0 + NS_MSEC(9500));
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	assert_int_equal(r.keepalives, before + 1);
	finish(&r);
}

static void test_disabled_it_stays_silent_and_deaf(void **state)
{
	struct rig r;
	unsigned int before;

	start_up(&r);
	before = r.keepalives;
	udp_link_want(&r.l, false, r.now);
	until(&r, T0 + NS_SEC(100));
	assert_int_equal(r.keepalives, before);
	assert_int_equal(hear(&r, &peer), UDP_DROP_SILENT);
	assert_int_equal(timers_next(&r.ts), NS_NEVER);
	/* The peer has noticed long ago that the link has dropped, so this end needs no silence. */
	udp_link_want(&r.l, true, r.now);
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	assert_int_equal(r.keepalives, before + 1);
	finish(&r);
}

static void test_silence_is_counted_from_when_it_began(void **state)
{
	struct rig r;

	start_up(&r);
	udp_link_want(&r.l, false, r.now);
	until(&r, r.now + NS_MSEC(1500));
	udp_link_want(&r.l, true, r.now);
	until(&r, T0 + NS_SEC(8) - 1);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	/*
	 * If the link is switched off and on during the silence, the silence must not become longer
	 * or shorter.
	 */
	udp_link_want(&r.l, false, r.now);
	udp_link_want(&r.l, true, r.now);
	assert_int_equal(r.l.state, UDP_LINK_SILENT);
	until(&r, T0 + NS_SEC(8));
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	/* A second identical call has no effect. */
	udp_link_want(&r.l, true, r.now);
	assert_int_equal(r.l.state, UDP_LINK_POLLING);
	finish(&r);
}

static void test_an_owner_may_end_the_link_while_it_comes_up(void **state)
{
	struct rig r;

	start(&r, NULL, T0);
	r.stop_on_up = true;
	until(&r, T0 + NS_SEC(4));
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	assert_int_equal(r.l.state, UDP_LINK_OFF);
	assert_false(r.up);
	assert_int_equal(r.keepalives, 0);
	assert_int_equal(timers_next(&r.ts), NS_NEVER);
	finish(&r);
}

static void expect_drop(struct rig *r, const uint8_t *b, size_t len, enum udp_drop why)
{
	uint64_t before = r->l.stats.drops[why];

	assert_int_equal(udp_link_rx(&r->l, &peer, b, len, r->now), why);
	assert_int_equal(r->l.stats.drops[why], before + 1);
}

static void test_every_wrong_length_has_its_reason(void **state)
{
	uint8_t b[IB_PKT_MAX + 64];
	size_t len = packet(b, 100);
	struct rig r;

	start_up(&r);
	for (size_t n = 1; n < len; n++)
		expect_drop(&r, b, n,
			    n < IB_LRH_LEN + IB_ICRC_LEN + IB_VCRC_LEN ? UDP_DROP_SHORT
								       : UDP_DROP_TRUNCATED);
	assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
	for (size_t n = len + 1; n <= IB_PKT_MAX; n++)
		expect_drop(&r, b, n, UDP_DROP_LEN);
	expect_drop(&r, b, IB_PKT_MAX + 1, UDP_DROP_OVERSIZED);
	assert_int_equal(r.l.stats.rx_packets, 1);
	finish(&r);
}

static void test_the_longest_packet_passes(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, IB_PKT_MAX - IB_LRH_LEN - IB_BTH_LEN - IB_ICRC_LEN - IB_VCRC_LEN);
	struct rig r;

	start_up(&r);
	assert_int_equal(len, IB_PKT_MAX);
	assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
	finish(&r);
}

/*
 * The link must deliver a packet with a wrong ICRC, together with the result of the ICRC check
 * (doc/udp-link.md, "Datagrams").
 */
static void test_the_ICRC_is_judged_by_others(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, 12), body = len - IB_ICRC_LEN - IB_VCRC_LEN;
	struct rig r;

	memset(b + IB_LRH_LEN, 0, 32);
	b[4] = 0;
	b[5] = (uint8_t)((len - IB_VCRC_LEN) / 4);
	crc_put(b, body);
	start_up(&r);
	assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
	assert_true(r.l.icrc_right);
	b[body] ^= 1;
	b[len - 2] = (uint8_t)crc_vcrc(b, len - IB_VCRC_LEN);
	b[len - 1] = (uint8_t)(crc_vcrc(b, len - IB_VCRC_LEN) >> 8);
	assert_int_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
	assert_false(r.l.icrc_right);
	finish(&r);
}

static void test_every_bit_matters(void **state)
{
	uint8_t b[IB_PKT_MAX];
	size_t len = packet(b, 12);
	struct rig r;

	start_up(&r);
	for (size_t bit = 0; bit < len * 8; bit++) {
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(udp_link_rx(&r.l, &peer, b, len, r.now), UDP_DROP_NONE);
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	b[0] |= 1;
	expect_drop(&r, b, len, UDP_DROP_LVER);
	assert_int_equal(r.l.stats.rx_packets, 0);
	finish(&r);
}

static void test_names_are_there_and_differ(void **state)
{
	for (int i = 0; i < UDP_DROP_MAX; i++) {
		assert_non_null(udp_drop_name((enum udp_drop)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(udp_drop_name((enum udp_drop)i),
						udp_drop_name((enum udp_drop)k));
	}
	assert_string_equal(udp_drop_name(UDP_DROP_MAX), "?");
	assert_string_equal(udp_link_state_name(UDP_LINK_UP), "up");
	assert_string_equal(udp_link_state_name((enum udp_link_state)9), "?");
}

static void test_late_clocks_do_not_wrap(void **state)
{
	/* The clock shows a time of 500 years, and a timer runs late. No time may overflow. */
	ns_t t = NS_SEC(500ull * 365 * 86400);
	struct rig r;

	start(&r, &peer, t);
	until(&r, t + NS_SEC(4));
	assert_int_equal(hear(&r, &peer), UDP_DROP_NONE);
	timers_run(&r.ts, t + NS_SEC(60));
	assert_false(r.up);
	assert_int_equal(r.l.changed, t + NS_SEC(60));
	finish(&r);
}

static void test_fini_takes_what_was_never_begun(void **state)
{
	struct udp_link l = { 0 };

	udp_link_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_and_deaf_for_4_s_after_its_start),
		cmocka_unit_test(test_fresh_listens_at_once_and_is_silent_for_4_s_later),
		cmocka_unit_test(test_keepalive_every_second_to_a_configured_peer),
		cmocka_unit_test(test_traffic_replaces_no_keepalive),
		cmocka_unit_test(test_up_by_the_first_valid_thing_and_says_so_at_once),
		cmocka_unit_test(test_down_exactly_3_s_after_the_last_was_heard),
		cmocka_unit_test(test_silent_and_deaf_for_4_s_after_a_time_out),
		cmocka_unit_test(test_invalid_and_stray_datagrams_keep_no_link_up),
		cmocka_unit_test(test_strays_by_address_port_and_family),
		cmocka_unit_test(
			test_peer_is_learnt_from_the_first_valid_and_forgotten_with_the_link),
		cmocka_unit_test(test_told_down_it_is_silent_and_deaf_for_4_s),
		cmocka_unit_test(test_disabled_it_stays_silent_and_deaf),
		cmocka_unit_test(test_silence_is_counted_from_when_it_began),
		cmocka_unit_test(test_an_owner_may_end_the_link_while_it_comes_up),
		cmocka_unit_test(test_every_wrong_length_has_its_reason),
		cmocka_unit_test(test_the_longest_packet_passes),
		cmocka_unit_test(test_the_ICRC_is_judged_by_others),
		cmocka_unit_test(test_every_bit_matters),
		cmocka_unit_test(test_names_are_there_and_differ),
		cmocka_unit_test(test_late_clocks_do_not_wrap),
		cmocka_unit_test(test_fini_takes_what_was_never_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
