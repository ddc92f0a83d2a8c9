/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <string.h>

#include "udp/link.h"
#include "util/prng.h"

/*
 * The two ends of a link over UDP, joined by a network that loses, delays and duplicates datagrams,
 * on virtual time.
 */

#define DELAY_MAX NS_MSEC(50)
#define FLIGHTS 256

struct end {
	struct udp_link l;
	struct net *net;
	struct ip_endpoint addr, peer;
	bool up, running;
	unsigned int sent;
	ns_t up_at, down_at;
};

struct flight {
	ns_t at;
	struct ip_endpoint from;
	struct end *to;
};

struct net {
	struct timers ts;
	struct end end[2];
	struct flight flight[FLIGHTS];
	unsigned int nflights;
	struct prng rng;
	unsigned int loss, dup; /* percentage of datagrams lost, and duplicated */
	bool lose_every_other;
	ns_t now;
};

static void send_to(struct net *n, struct end *from, struct end *to)
{
	unsigned int copies = 1 + (prng_below(&n->rng, 100) < n->dup);

	if (from->sent++ % 2 && n->lose_every_other)
		return;
	for (; copies; copies--) {
		if (prng_below(&n->rng, 100) < n->loss)
			continue;
		assert_true(n->nflights < FLIGHTS);
		n->flight[n->nflights++] = (struct flight){
			.at = n->now + prng_below(&n->rng, (uint32_t)DELAY_MAX),
			.from = from->addr,
			.to = to,
		};
	}
}

static void on_keepalive(void *ctx, const struct ip_endpoint *to, ns_t now)
{
	struct end *e = ctx;

	for (unsigned int i = 0; i < 2; i++)
		if (ip_endpoint_equal(to, &e->net->end[i].addr))
			send_to(e->net, e, &e->net->end[i]);
}

static void on_carrier(void *ctx, bool up, ns_t now)
{
	struct end *e = ctx;

	e->up = up;
	*(up ? &e->up_at : &e->down_at) = now;
}

static const struct udp_link_ops ops = { .keepalive = on_keepalive, .carrier = on_carrier };

static struct flight *first_flight(struct net *n)
{
	struct flight *f = NULL;

	for (unsigned int i = 0; i < n->nflights; i++)
		if (!f || n->flight[i].at < f->at)
			f = &n->flight[i];
	return f;
}

static void until(struct net *n, ns_t t)
{
	for (;;) {
		struct flight *f = first_flight(n), land;
		ns_t timer = timers_next(&n->ts), next = f ? ns_min(f->at, timer) : timer;

		if (next > t)
			break;
		n->now = next;
		if (!f || timer <= f->at) {
			timers_run(&n->ts, next);
			continue;
		}
		land = *f;
		*f = n->flight[--n->nflights];
		if (land.to->running)
			udp_link_rx(&land.to->l, &land.from, NULL, 0, next);
	}
	n->now = t;
}

/*
 * Start an end of the link. End 1 is configured with the address of end 0, and end 0 learns its
 * peer's address.
 */
static void boot(struct net *n, unsigned int i)
{
	struct end *e = &n->end[i];

	e->net = n;
	e->running = true;
	e->addr = (struct ip_endpoint){ .family = 4,
					.port = (uint16_t)(5000 + i),
					.addr = { 127, 0, 0, 1 } };
	e->peer = (struct ip_endpoint){ .family = 4, .port = 5000, .addr = { 127, 0, 0, 1 } };
	udp_link_init(&e->l, &n->ts, i ? &e->peer : NULL, &ops, e, n->now);
}

/* End a process as kill -9 does, so that the peer gets no notice. */
static void kill_end(struct net *n, unsigned int i)
{
	udp_link_fini(&n->end[i].l);
	n->end[i].running = n->end[i].up = false;
}

static void begin(struct net *n, uint64_t seed, unsigned int loss, unsigned int dup)
{
	memset(n, 0, sizeof(*n));
	timers_init(&n->ts);
	prng_seed(&n->rng, seed);
	n->loss = loss;
	n->dup = dup;
	n->now = NS_SEC(10);
}

static void end(struct net *n)
{
	kill_end(n, 0);
	kill_end(n, 1);
	timers_fini(&n->ts);
}

static bool both(const struct net *n)
{
	return n->end[0].up && n->end[1].up;
}

static void test_both_ends_come_up_within_a_round_trip_of_the_silence(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct net n;

		begin(&n, seed, 0, 0);
		boot(&n, 0);
		boot(&n, 1);
		until(&n, NS_SEC(14) + 2 * DELAY_MAX);
		assert_true(both(&n));
		end(&n);
	}
}

/*
 * Longest time until an end that learns its peer's address receives a datagram; the peer sends a
 * datagram every second
 */
#define CALL (UDP_LINK_KEEPALIVE + 2 * DELAY_MAX)

static void test_order_and_time_of_the_starts_do_not_matter(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct net n;
		unsigned int first = seed & 1;

		begin(&n, seed, 0, 20);
		boot(&n, first);
		until(&n, n.now + seed * NS_MSEC(137));
		boot(&n, !first);
		until(&n, n.now + UDP_LINK_SILENCE + CALL);
		assert_true(both(&n));
		end(&n);
	}
}

static void test_a_killed_end_is_seen_and_comes_back(void **state)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		unsigned int victim = seed & 1;
		struct net n;
		ns_t killed;

		begin(&n, seed, 0, 10);
		boot(&n, 0);
		boot(&n, 1);
		until(&n, NS_SEC(20) + seed * NS_MSEC(77));
		assert_true(both(&n));
		killed = n.now;
		kill_end(&n, victim);
		/*
		 * Restart the end at a random time: while the peer still has the link up, while the
		 * peer is silent, or later.
		 */
		until(&n, n.now + seed % 10 * NS_MSEC(900));
		boot(&n, victim);
		until(&n, n.now + UDP_LINK_TIMEOUT + UDP_LINK_SILENCE + CALL);
		assert_true(both(&n));
		/* The peer must have seen the link go down, whatever the time of the restart is. */
		assert_int_equal(n.end[!victim].l.stats.downs, 1);
		assert_true(n.end[!victim].down_at >= killed);
		assert_true(n.end[!victim].down_at <= killed + UDP_LINK_TIMEOUT + DELAY_MAX);
		end(&n);
	}
}

static void test_a_retrain_is_seen_at_both_ends(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct net n;
		unsigned int who = seed & 1;

		begin(&n, seed, 0, 0);
		boot(&n, 0);
		boot(&n, 1);
		until(&n, NS_SEC(20) + seed * NS_MSEC(77));
		udp_link_want(&n.end[who].l, false, n.now);
		udp_link_want(&n.end[who].l, true, n.now);
		until(&n, n.now + UDP_LINK_TIMEOUT + UDP_LINK_SILENCE + CALL);
		assert_true(both(&n));
		assert_int_equal(n.end[0].l.stats.downs, 1);
		assert_int_equal(n.end[1].l.stats.downs, 1);
		end(&n);
	}
}

static void test_a_loss_in_one_direction_takes_both_down(void **state)
{
	for (unsigned int deaf = 0; deaf < 2; deaf++) {
		struct net n;

		begin(&n, 7, 0, 0);
		boot(&n, 0);
		boot(&n, 1);
		until(&n, NS_SEC(20));
		n.end[deaf].running = false; /* all datagrams to this end are lost */
		until(&n, NS_SEC(20) + 2 * UDP_LINK_TIMEOUT + DELAY_MAX);
		assert_int_equal(n.end[0].l.stats.downs, 1);
		assert_int_equal(n.end[1].l.stats.downs, 1);
		n.end[deaf].running = true;
		until(&n, NS_SEC(40));
		assert_true(both(&n));
		end(&n);
	}
}

static void test_every_other_keepalive_keeps_the_link_up(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct net n;

		begin(&n, seed, 0, 1);
		n.lose_every_other = true;
		boot(&n, 0);
		boot(&n, 1);
		until(&n, NS_SEC(600));
		assert_true(both(&n));
		assert_int_equal(n.end[0].l.stats.downs + n.end[1].l.stats.downs, 0);
		end(&n);
	}
}

static void test_under_heavy_loss_it_flaps_and_recovers(void **state)
{
	uint64_t downs = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct net n;

		begin(&n, seed, 60, 5);
		boot(&n, 0);
		boot(&n, 1);
		until(&n, NS_SEC(600));
		downs += n.end[0].l.stats.downs + n.end[1].l.stats.downs;
		n.loss = 0;
		until(&n, n.now + UDP_LINK_TIMEOUT + UDP_LINK_SILENCE + CALL);
		assert_true(both(&n));
		end(&n);
	}
	assert_true(downs > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends_come_up_within_a_round_trip_of_the_silence),
		cmocka_unit_test(test_order_and_time_of_the_starts_do_not_matter),
		cmocka_unit_test(test_a_killed_end_is_seen_and_comes_back),
		cmocka_unit_test(test_a_retrain_is_seen_at_both_ends),
		cmocka_unit_test(test_a_loss_in_one_direction_takes_both_down),
		cmocka_unit_test(test_every_other_keepalive_keeps_the_link_up),
		cmocka_unit_test(test_under_heavy_loss_it_flaps_and_recovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
